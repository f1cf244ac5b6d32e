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
    sizes: tuple[int, ...]  # of the MLP; for resnet_s (input, width, blocks, classes); else (blocks a stage, classes)
    batch: int
    optimizer: str
    image: tuple[int, ...] = ()  # (channels, height, width), for a net that takes images


WORKLOADS = {
    "tiny": Workload("MLP 2-16-16-1, batch 100, SGD", (2, 16, 16, 1), 100, "sgd"),
    "mlp_small": Workload("MLP 64-128-128-10, batch 64, AdamW", (64, 128, 128, 10), 64, "adamw"),
    "mlp": Workload("MLP 784-512-512-10, batch 128, AdamW", (784, 512, 512, 10), 128, "adamw"),
    "resnet_s": Workload("ResNet-S 784-256, 8 Res blocks, 10, batch 128, SGD with momentum",
                         (784, 256, 8, 10), 128, "momentum"),
    "resnet8": Workload("ResNet-8, 3x32x32, widths 16, 32, 64, batch 64, SGD with momentum",
                        (1, 10), 64, "momentum", (3, 32, 32)),
    "resnet20": Workload("ResNet-20, 3x32x32, widths 16, 32, 64, batch 64, SGD with momentum",
                         (3, 10), 64, "momentum", (3, 32, 32)),
}


def _data(w: Workload):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((w.batch, *(w.image or w.sizes[:1])), np.float32)
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
    if w.image:
        model = {"resnet8": nn.models.resnet8, "resnet20": nn.models.resnet20}[name]()
    elif name == "resnet_s":
        model = nn.ResNetS(w.sizes[0], w.sizes[1], w.sizes[2], w.sizes[3])
    else:
        model = nn.MLP(list(w.sizes), activation=nn.ReLU)
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
    import torch.nn.functional as F
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

    class BasicBlock(nn.Module):
        def __init__(self, before, channels, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(before, channels, 3, stride, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(channels)
            self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(channels)
            self.downsample = None
            if stride != 1 or before != channels:
                self.downsample = nn.Sequential(nn.Conv2d(before, channels, 1, stride, bias=False),
                                                nn.BatchNorm2d(channels))

        def forward(self, x):
            identity = x if self.downsample is None else self.downsample(x)
            out = F.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            out += identity
            return F.relu(out)

    if w.image:
        blocks, classes = w.sizes
        stages = [BasicBlock(a if i == 0 else b, b, 2 if i == 0 and a != b else 1)
                  for a, b in ((16, 16), (16, 32), (32, 64)) for i in range(blocks)]
        model = nn.Sequential(nn.Conv2d(w.image[0], 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                              *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))
    elif name == "resnet_s":
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
