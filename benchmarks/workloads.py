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
    sizes: tuple[int, ...]  # of the MLP; resnet_s: input, width, blocks, classes; gpt: T, d, heads, layers, vocabulary
    batch: int
    optimizer: str


WORKLOADS = {
    "tiny": Workload("MLP 2-16-16-1, batch 100, SGD", (2, 16, 16, 1), 100, "sgd"),
    "mlp_small": Workload("MLP 64-128-128-10, batch 64, AdamW", (64, 128, 128, 10), 64, "adamw"),
    "mlp": Workload("MLP 784-512-512-10, batch 128, AdamW", (784, 512, 512, 10), 128, "adamw"),
    "resnet_s": Workload("ResNet-S 784-256, 8 Res blocks, 10, batch 128, SGD with momentum",
                         (784, 256, 8, 10), 128, "momentum"),
    "gpt": Workload("GPT of 4 layers, d=128, 4 heads, T=64, GELU FFN 512, vocabulary 65, batch 32, AdamW",
                    (64, 128, 4, 4, 65), 32, "adamw"),
}


def _data(w: Workload):
    rng = np.random.default_rng(0)
    if w is WORKLOADS["gpt"]:
        tokens = rng.integers(0, w.sizes[-1], (w.batch, w.sizes[0] + 1))
        return tokens[:, :-1].copy(), tokens[:, 1:].copy()
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
    if name == "gpt":
        length, width, heads, layers, vocabulary = w.sizes
        model = nn.LanguageModel(vocabulary, width, layers, heads, max_length=length)
    else:
        model = (nn.ResNetS(w.sizes[0], w.sizes[1], w.sizes[2], w.sizes[3]) if name == "resnet_s"
                 else nn.MLP(list(w.sizes), activation=nn.ReLU))
    x, y = map(Tensor, _data(w))
    loss_function = nn.BCEWithLogitsLoss() if w.sizes[-1] == 1 else nn.CrossEntropyLoss()
    if name == "gpt":
        y = y.reshape(-1)
    parameters = model.parameters()
    optimizer = {"sgd": lambda: optim.SGD(parameters, lr=0.05),
                 "momentum": lambda: optim.SGD(parameters, lr=0.01, momentum=0.9),
                 "adamw": lambda: optim.AdamW(parameters, lr=1e-3)}[w.optimizer]()

    def step() -> float:
        optimizer.zero_grad()
        scores = model(x)
        loss = loss_function(scores.reshape(-1, scores.shape[-1]), y)
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
    elif name == "resnet_s":
        d, width, blocks, classes = w.sizes
        model = nn.Sequential(nn.Linear(d, width), *[Res(width) for _ in range(blocks)], nn.Linear(width, classes))
    else:
        layers = [m for a, b in zip(w.sizes, w.sizes[1:], strict=False) for m in (nn.Linear(a, b), nn.ReLU())]
        model = nn.Sequential(*layers[:-1])
    x, y = map(torch.from_numpy, _data(w))
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
