"""Representation learning: SimCLR (Chen et al. 2020) and graph convolution (Kipf and Welling 2017)."""

import math

import numpy as np

from . import Program, layers, normal

NODES, EDGES = 1000, 5000


def simclr_weights(rng):
    return layers(rng, "", 128, 256, 128, 64)


def simclr_inputs(rng):
    x = normal(rng, 96, 128, scale=1)
    return tuple(x + normal(rng, *x.shape, scale=0.3) for _ in range(2))


def simclr_ours(w):
    import nn.functional as F
    import optim
    from tinygrad_like import Tensor

    optimizer = optim.SGD(w.values(), lr=0.1, momentum=0.9)

    def encode(x):
        x = (x @ w["w1"] + w["b1"]).relu()
        x = (x @ w["w2"] + w["b2"]).relu()
        x = x @ w["w3"] + w["b3"]
        return x / (x * x).sum(1, keepdim=True).sqrt()

    def step(a, b):
        n = a.shape[0]
        z = encode(a).cat(encode(b), axis=0)
        scores = (z @ z.T / 0.5).masked_fill(Tensor.eye(2 * n) == 1, -math.inf)
        other = Tensor.arange(n, 2 * n).cat(Tensor.arange(n), axis=0)
        loss = F.cross_entropy(scores, other)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def simclr_torch(w):
    import torch
    import torch.nn.functional as F

    optimizer = torch.optim.SGD(w.values(), lr=0.1, momentum=0.9, fused=True)

    def encode(x):
        x = (x @ w["w1"] + w["b1"]).relu()
        x = (x @ w["w2"] + w["b2"]).relu()
        x = x @ w["w3"] + w["b3"]
        return x / (x * x).sum(1, keepdim=True).sqrt()

    def step(a, b):
        n = a.shape[0]
        z = torch.cat([encode(a), encode(b)], dim=0)
        scores = (z @ z.T / 0.5).masked_fill(torch.eye(2 * n) == 1, -math.inf)
        other = torch.cat([torch.arange(n, 2 * n), torch.arange(n)], dim=0)
        loss = F.cross_entropy(scores, other)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def gcn_weights(rng):
    return layers(rng, "", 64, 32, 7)


def gcn_inputs(rng):
    """Features and labels of the nodes; source, target and weight of the edges, in both directions and to itself."""
    one, other = rng.integers(0, NODES, (2, EDGES))
    source = np.concatenate([one, other, np.arange(NODES)])
    target = np.concatenate([other, one, np.arange(NODES)])
    degree = np.bincount(target, minlength=NODES)
    weight = ((degree[source] * degree[target]) ** -0.5)[:, None].astype(np.float32)
    return normal(rng, NODES, 64, scale=1), rng.integers(0, 7, NODES), source, target, weight


def gcn_ours(w):
    import nn.functional as F
    import optim
    from tinygrad_like import Tensor

    optimizer = optim.Adam(w.values(), lr=0.01)

    def convolve(x, source, target, weight):
        messages = x[source] * weight
        index = target.reshape(-1, 1).expand(messages.shape)
        return Tensor.zeros(*x.shape).scatter_add(0, index, messages)

    def step(x, y, source, target, weight):
        h = (convolve(x @ w["w1"], source, target, weight) + w["b1"]).relu()
        scores = convolve(h @ w["w2"], source, target, weight) + w["b2"]
        loss = F.cross_entropy(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def gcn_torch(w):
    import torch
    import torch.nn.functional as F

    optimizer = torch.optim.Adam(w.values(), lr=0.01, fused=True)

    def convolve(x, source, target, weight):
        messages = x[source] * weight
        return torch.zeros(*x.shape).index_add(0, target, messages)

    def step(x, y, source, target, weight):
        h = (convolve(x @ w["w1"], source, target, weight) + w["b1"]).relu()
        scores = convolve(h @ w["w2"], source, target, weight) + w["b2"]
        loss = F.cross_entropy(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


PROGRAMS = {
    "simclr": Program("SimCLR, MLP 128-256-128-64, two views of 96 examples, SGD with momentum",
                      simclr_weights, simclr_inputs, simclr_ours, simclr_torch),
    "gcn": Program(f"graph convolution, {NODES} nodes, {EDGES} edges, 64-32-7, gather and scatter_add, Adam",
                   gcn_weights, gcn_inputs, gcn_ours, gcn_torch),
}
