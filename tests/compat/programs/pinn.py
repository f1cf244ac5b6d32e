"""A physics-informed network for Burgers' equation, u_t + u u_x = nu u_xx: Adam first, then L-BFGS."""

import numpy as np
import torch
import torch.nn as nn

device = torch.device('cpu')
nu = 0.01 / np.pi


class MLP(nn.Module):
    def __init__(self, layers):
        super().__init__()
        modules = []
        for i in range(len(layers) - 2):
            modules.append(nn.Linear(layers[i], layers[i + 1]))
            modules.append(nn.Tanh())
        modules.append(nn.Linear(layers[-2], layers[-1]))
        self.net = nn.Sequential(*modules)
        self.net.apply(self.init_weights)
        self.lambda_1 = nn.Parameter(torch.tensor([1.0], device=device))

    @staticmethod
    def init_weights(m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_normal_(m.weight)
            nn.init.zeros_(m.bias)

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


class PINN:
    def __init__(self, net):
        self.net = net
        x = torch.linspace(-1, 1, steps=11, device=device)
        t = torch.linspace(0, 1, steps=7, device=device)
        grid = torch.stack([x.repeat_interleave(7), t.repeat(11)], dim=1)
        self.x_f = grid[:, 0:1].clone().requires_grad_(True)
        self.t_f = grid[:, 1:2].clone().requires_grad_(True)
        self.x_0 = x.unsqueeze(-1)
        self.t_0 = torch.zeros_like(self.x_0)
        self.u_0 = -torch.sin(np.pi * self.x_0)
        self.iter = 0
        self.losses = []

    def net_f(self):
        u = self.net(self.x_f, self.t_f)
        u_t = torch.autograd.grad(u, self.t_f, grad_outputs=torch.ones_like(u), retain_graph=True,
                                  create_graph=True)[0]
        u_x = torch.autograd.grad(u, self.x_f, grad_outputs=torch.ones_like(u), retain_graph=True,
                                  create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, self.x_f, grad_outputs=torch.ones_like(u_x), retain_graph=True,
                                   create_graph=True)[0]
        return u_t + self.net.lambda_1 * u * u_x - nu * u_xx

    def loss(self):
        mse_u = torch.mean((self.net(self.x_0, self.t_0) - self.u_0) ** 2)
        mse_f = torch.mean(self.net_f() ** 2)
        return mse_u + mse_f

    def closure(self):
        self.optimizer.zero_grad()
        loss = self.loss()
        loss.backward()
        self.iter += 1
        self.losses.append(loss.item())
        return loss

    def train(self):
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3, betas=(0.9, 0.999))
        for epoch in range(10):
            self.optimizer.step(self.closure)
        self.optimizer = torch.optim.LBFGS(self.net.parameters(), lr=1.0, max_iter=12, max_eval=15, history_size=50,
                                           tolerance_grad=1e-7, tolerance_change=1.0 * np.finfo(float).eps,
                                           line_search_fn="strong_wolfe")
        self.net.train()
        self.optimizer.step(self.closure)

    def predict(self, x, t):
        x = torch.tensor(x, requires_grad=True).float().to(device)
        t = torch.tensor(t, requires_grad=True).float().to(device)
        self.net.eval()
        u = self.net(x, t)
        return u.detach().cpu().numpy()


def build():
    return {"net": MLP([2, 16, 16, 1]).to(device)}


def train(modules):
    pinn = PINN(modules["net"])
    pinn.train()
    u = pinn.predict(np.linspace(-1, 1, 5)[:, None], np.full((5, 1), 0.5))
    return pinn.losses + [float(np.abs(u).sum())]
