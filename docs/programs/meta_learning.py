"""Model-agnostic meta-learning of sine waves: gradients through steps of gradient descent."""

import math
from copy import deepcopy

import numpy as np
import torch
from torch import nn, autograd
from torch.nn import functional as F


class Regressor(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x)


def forward_with(params, x):
    for i, (w, b) in enumerate(zip(params[::2], params[1::2])):
        x = F.linear(x, w, b)
        if i < len(params) // 2 - 1:
            x = F.relu(x, inplace=True)
    return x


class Sine:
    def __init__(self, rng):
        self.phase, self.amplitude, self.rng = rng.uniform(0, math.pi), rng.uniform(0.1, 5), rng

    def sample(self, k):
        x = torch.FloatTensor(self.rng.uniform(-5, 5, size=(k, 1)))
        return x, self.amplitude * torch.sin(x + self.phase)


def build():
    return {"model": Regressor()}


def train(modules):
    rng = np.random.RandomState(1)
    model, losses = modules["model"], []
    meta_opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
    for it in range(4):
        meta_opt.zero_grad()
        outer = torch.tensor(0.)
        for _ in range(3):
            task = Sine(rng)
            x, y = task.sample(10)
            fast = list(model.parameters())
            for k in range(2):
                loss = F.mse_loss(forward_with(fast, x), y)
                grads = autograd.grad(loss, fast, create_graph=True)
                fast = [w - 0.01 * g for w, g in zip(fast, grads)]
            x, y = task.sample(10)
            outer += F.mse_loss(forward_with(fast, x), y) / 3
        outer.backward()
        losses.append(outer.item())
        losses.append(math.sqrt(sum(p.grad.data.norm(2).item() ** 2 for p in model.parameters() if p.grad is not None)))
        meta_opt.step()
    adapted = deepcopy(model)
    opt = torch.optim.SGD(adapted.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    x, y = Sine(rng).sample(10)
    for _ in range(5):
        opt.zero_grad()
        loss = nn.MSELoss()(adapted(x), y)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    assert all((a != b).any() for a, b in zip(adapted.state_dict().values(), model.state_dict().values()))
    return losses
