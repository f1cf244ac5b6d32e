"""Workloads with the same network, data, loss and optimizer in both frameworks; `in_jax.py` has them in JAX.

`ours` and `torch` return a function that does one training step. PyTorch runs in eager mode, with fused optimizers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Workload:
    text: str
    # MLP: features of each layer; resnet_s: input, width, blocks, classes; gpt: T, d, heads, layers, vocabulary;
    # resnet8, resnet20: channels, height and width of the images, classes
    sizes: tuple[int, ...]
    batch: int
    optimizer: str


WORKLOADS = {
    "tiny": Workload("MLP 2-16-16-1, batch 100, SGD", (2, 16, 16, 1), 100, "sgd"),
    "mlp_small": Workload("MLP 64-128-128-10, batch 64, AdamW", (64, 128, 128, 10), 64, "adamw"),
    "mlp": Workload("MLP 784-512-512-10, batch 128, AdamW", (784, 512, 512, 10), 128, "adamw"),
    "resnet_s": Workload("ResNet-S 784-256, 8 Res blocks, 10, batch 128, SGD with momentum",
                         (784, 256, 8, 10), 128, "momentum"),
    "resnet8": Workload("ResNet-8, 3x32x32, widths 16, 32, 64, batch 64, SGD with momentum",
                        (3, 32, 32, 10), 64, "momentum"),
    "resnet20": Workload("ResNet-20, 3x32x32, widths 16, 32, 64, batch 64, SGD with momentum",
                         (3, 32, 32, 10), 64, "momentum"),
    "gpt": Workload("GPT of 4 layers, d=128, 4 heads, T=64, GELU FFN 512, vocabulary 65, batch 32, AdamW",
                    (64, 128, 4, 4, 65), 32, "adamw"),
}
RESNETS = {"resnet8": 1, "resnet20": 3}  # blocks in each stage


def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets."""
    w, rng = WORKLOADS[name], np.random.default_rng(0)
    if name == "gpt":
        tokens = rng.integers(0, w.sizes[-1], (w.batch, w.sizes[0] + 1))
        return tokens[:, :-1].copy(), tokens[:, 1:].copy()
    x = rng.standard_normal((w.batch, *w.sizes[:3 if name in RESNETS else 1]), np.float32)
    if w.sizes[-1] == 1:
        return x, (rng.random((w.batch, 1)) < 0.5).astype(np.float32)
    return x, rng.integers(0, w.sizes[-1], w.batch)


def ours(name: str, threads: int, captured: bool = False) -> Callable[[], float]:
    import nn
    import optim
    from tinygrad_like import Tensor, capture, manual_seed, set_num_threads

    set_num_threads(threads)
    manual_seed(0)
    w = WORKLOADS[name]
    if name == "gpt":
        length, width, heads, layers, vocabulary = w.sizes
        model = nn.LanguageModel(vocabulary, width, layers, heads, max_length=length)
    elif name in RESNETS:
        model = nn.ResNet(nn.BasicBlock, [RESNETS[name]] * 3, (16, 32, 64), num_classes=w.sizes[-1], stem="small")
    else:
        model = (nn.ResNetS(w.sizes[0], w.sizes[1], w.sizes[2], w.sizes[3]) if name == "resnet_s"
                 else nn.MLP(list(w.sizes), activation=nn.ReLU))
    x, y = map(Tensor, data(name))
    loss_function = nn.BCEWithLogitsLoss() if w.sizes[-1] == 1 else nn.CrossEntropyLoss()
    if name == "gpt":
        y = y.reshape(-1)
    parameters = model.parameters()
    optimizer = {"sgd": lambda: optim.SGD(parameters, lr=0.05),
                 "momentum": lambda: optim.SGD(parameters, lr=0.01, momentum=0.9),
                 "adamw": lambda: optim.AdamW(parameters, lr=1e-3)}[w.optimizer]()

    def train(x, y):
        optimizer.zero_grad()
        scores = model(x)
        loss = loss_function(scores.reshape(-1, scores.shape[-1]), y)
        loss.backward()
        optimizer.step()
        return loss

    train = capture(train) if captured else train

    def step() -> float:
        return train(x, y).item()

    step.parts, step.captured = (model, optimizer, x, y), train  # type: ignore[attr-defined]
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

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            batch, length, width = x.shape
            q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                       for part in self.qkv(self.norm1(x)).split(width, dim=2))
            y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.projection(y.transpose(1, 2).reshape(batch, length, width))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self, length, width, heads, layers, vocabulary):
            super().__init__()
            self.embedding, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
            nn.init.normal_(self.embedding.weight, std=0.02)
            nn.init.normal_(self.positions.weight, std=0.02)
            self.head.weight = self.embedding.weight

        def forward(self, tokens):
            x = self.embedding(tokens) + self.positions(torch.arange(tokens.shape[1]))
            return self.head(self.norm(self.blocks(x)))

    if name == "gpt":
        model = GPT(*w.sizes)
    elif name in RESNETS:
        stages = [BasicBlock(a if i == 0 else b, b, 2 if i == 0 and a != b else 1)
                  for a, b in ((16, 16), (16, 32), (32, 64)) for i in range(RESNETS[name])]
        model = nn.Sequential(nn.Conv2d(w.sizes[0], 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                              *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, w.sizes[-1]))
    elif name == "resnet_s":
        d, width, blocks, classes = w.sizes
        model = nn.Sequential(nn.Linear(d, width), *[Res(width) for _ in range(blocks)], nn.Linear(width, classes))
    else:
        layers = [m for a, b in zip(w.sizes, w.sizes[1:], strict=False) for m in (nn.Linear(a, b), nn.ReLU())]
        model = nn.Sequential(*layers[:-1])
    x, y = map(torch.from_numpy, data(name))
    loss_function = nn.BCEWithLogitsLoss() if w.sizes[-1] == 1 else nn.CrossEntropyLoss()
    if name == "gpt":
        y = y.reshape(-1)
    parameters = model.parameters()
    optimizer = {"sgd": lambda: torch.optim.SGD(parameters, lr=0.05, fused=True),
                 "momentum": lambda: torch.optim.SGD(parameters, lr=0.01, momentum=0.9, fused=True),
                 "adamw": lambda: torch.optim.AdamW(parameters, lr=1e-3, fused=True)}[w.optimizer]()

    def forward(x, y):
        scores = model(x)
        return loss_function(scores.view(-1, scores.shape[-1]), y)

    forward = torch.compile(forward) if compiled else forward

    def step() -> float:
        optimizer.zero_grad()
        loss = forward(x, y)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step
