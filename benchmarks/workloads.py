"""The same network, data, loss and optimizer in both frameworks.

Each workload gives a function that does one training step. PyTorch runs as its users run it: eager, with fused
optimizers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Workload:
    text: str
    sizes: tuple[int, ...]  # of the MLP; for resnet_s (input, width, blocks, classes)
    batch: int
    optimizer: str


WORKLOADS = {
    "tiny": Workload("MLP 2-16-16-1, batch 100, SGD", (2, 16, 16, 1), 100, "sgd"),
    "mlp_small": Workload("MLP 64-128-128-10, batch 64, AdamW", (64, 128, 128, 10), 64, "adamw"),
    "mlp": Workload("MLP 784-512-512-10, batch 128, AdamW", (784, 512, 512, 10), 128, "adamw"),
    "resnet_s": Workload("ResNet-S 784-256, 8 Res blocks, 10, batch 128, SGD with momentum",
                         (784, 256, 8, 10), 128, "momentum"),
}


def _data(w: Workload):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((w.batch, w.sizes[0]), np.float32)
    if w.sizes[-1] == 1:
        return x, (rng.random((w.batch, 1)) < 0.5).astype(np.float32)
    return x, rng.integers(0, w.sizes[-1], w.batch)


def ours(name: str, threads: int) -> Callable[[], float]:
    import nn
    import optim
    from tinygrad_like import Tensor, manual_seed, set_num_threads

    set_num_threads(threads)
    manual_seed(0)
    w = WORKLOADS[name]
    model = (nn.ResNetS(w.sizes[0], w.sizes[1], w.sizes[2], w.sizes[3]) if name == "resnet_s"
             else nn.MLP(list(w.sizes), activation=nn.ReLU))
    x, y = map(Tensor, _data(w))
    loss_function = nn.BCEWithLogitsLoss() if w.sizes[-1] == 1 else nn.CrossEntropyLoss()
    parameters = model.parameters()
    optimizer = {"sgd": lambda: optim.SGD(parameters, lr=0.05),
                 "momentum": lambda: optim.SGD(parameters, lr=0.01, momentum=0.9),
                 "adamw": lambda: optim.AdamW(parameters, lr=1e-3)}[w.optimizer]()

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_function(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def torch(name: str, threads: int, compiled: bool = False) -> Callable[[], float]:
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    w = WORKLOADS[name]

    class Res(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.inner, self.outer = nn.Linear(width, width), nn.Linear(width, width)

        def forward(self, z):
            return z + torch.relu(self.outer(torch.relu(self.inner(z))))

    if name == "resnet_s":
        d, width, blocks, classes = w.sizes
        model = nn.Sequential(nn.Linear(d, width), *[Res(width) for _ in range(blocks)], nn.Linear(width, classes))
    else:
        layers = [m for a, b in zip(w.sizes, w.sizes[1:], strict=False) for m in (nn.Linear(a, b), nn.ReLU())]
        model = nn.Sequential(*layers[:-1])
    x, y = map(torch.from_numpy, _data(w))
    loss_function = nn.BCEWithLogitsLoss() if w.sizes[-1] == 1 else nn.CrossEntropyLoss()
    parameters = model.parameters()
    optimizer = {"sgd": lambda: torch.optim.SGD(parameters, lr=0.05, fused=True),
                 "momentum": lambda: torch.optim.SGD(parameters, lr=0.01, momentum=0.9, fused=True),
                 "adamw": lambda: torch.optim.AdamW(parameters, lr=1e-3, fused=True)}[w.optimizer]()
    forward = (torch.compile(lambda x, y: loss_function(model(x), y)) if compiled
               else lambda x, y: loss_function(model(x), y))

    def step() -> float:
        optimizer.zero_grad()
        loss = forward(x, y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step
