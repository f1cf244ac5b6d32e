"""Language models: an embedding MLP with hand-written batch norm, and a Transformer with hand-written attention."""

import math

import numpy as np

from . import Program, normal

LENGTH, WIDTH, HEADS, LAYERS = 64, 64, 4, 2


def mlp_weights(rng):
    return {"table": normal(rng, 27, 10, scale=1), "w1": normal(rng, 80, 200), "gain": np.ones((1, 200), np.float32),
            "bias": np.zeros((1, 200), np.float32), "w2": 0.1 * normal(rng, 200, 27), "b2": np.zeros(27, np.float32)}


def mlp_inputs(rng):
    return rng.integers(0, 27, (64, 8)), rng.integers(0, 27, 64)


def mlp_ours(w):
    import nn.functional as F
    from tinygrad_like import Tensor, no_grad

    parameters = list(w.values())
    running_mean, running_std = Tensor.zeros(1, 200), Tensor.ones(1, 200)

    def step(x, y):
        embedded = w["table"][x]
        h = embedded.reshape(embedded.shape[0], -1) @ w["w1"]
        mean, std = h.mean(0, keepdim=True), h.std(0, keepdim=True)
        h = w["gain"] * (h - mean) / (std + 1e-5) + w["bias"]
        with no_grad():
            running_mean.assign(0.999 * running_mean + 0.001 * mean)
            running_std.assign(0.999 * running_std + 0.001 * std)
        loss = F.cross_entropy(h.tanh() @ w["w2"] + w["b2"], y)
        for p in parameters:
            p.grad = None
        loss.backward()
        with no_grad():
            for p in parameters:
                p.assign(p - 0.1 * p.grad)
        return loss

    return step


def mlp_torch(w):
    import torch
    import torch.nn.functional as F

    parameters = list(w.values())
    running_mean, running_std = torch.zeros(1, 200), torch.ones(1, 200)

    def step(x, y):
        embedded = w["table"][x]
        h = embedded.reshape(embedded.shape[0], -1) @ w["w1"]
        mean, std = h.mean(0, keepdim=True), h.std(0, keepdim=True)
        h = w["gain"] * (h - mean) / (std + 1e-5) + w["bias"]
        with torch.no_grad():
            running_mean.copy_(0.999 * running_mean + 0.001 * mean)
            running_std.copy_(0.999 * running_std + 0.001 * std)
        loss = F.cross_entropy(h.tanh() @ w["w2"] + w["b2"], y)
        for p in parameters:
            p.grad = None
        loss.backward()
        with torch.no_grad():
            for p in parameters:
                p.copy_(p - 0.1 * p.grad)
        return loss

    return step


def gpt_weights(rng):
    made = {"tokens": normal(rng, 65, WIDTH, scale=0.02), "positions": normal(rng, LENGTH, WIDTH, scale=0.02)}
    for i in range(LAYERS):
        made |= {f"{i}.qkv": normal(rng, WIDTH, 3 * WIDTH), f"{i}.out": 0.5 * normal(rng, WIDTH, WIDTH),
                 f"{i}.up": normal(rng, WIDTH, 4 * WIDTH), f"{i}.up_bias": np.zeros(4 * WIDTH, np.float32),
                 f"{i}.down": 0.5 * normal(rng, 4 * WIDTH, WIDTH), f"{i}.down_bias": np.zeros(WIDTH, np.float32)}
        for norm in ("norm1", "norm2"):
            made |= {f"{i}.{norm}": np.ones(WIDTH, np.float32), f"{i}.{norm}_bias": np.zeros(WIDTH, np.float32)}
    return made | {"norm": np.ones(WIDTH, np.float32), "norm_bias": np.zeros(WIDTH, np.float32),
                   "head": normal(rng, WIDTH, 65)}


def gpt_inputs(rng):
    tokens = rng.integers(0, 65, (8, LENGTH + 1))
    return tokens[:, :-1].copy(), tokens[:, 1:].copy()


def gpt_ours(w):
    import nn.functional as F
    import optim
    from tinygrad_like import Tensor

    optimizer = optim.AdamW(w.values(), lr=1e-3)
    mask = Tensor.ones(LENGTH, LENGTH).tril() == 0

    def attention(x, i):
        batch, length, width = x.shape
        q, k, v = (part.reshape(batch, length, HEADS, width // HEADS).transpose(1, 2)
                   for part in (x @ w[f"{i}.qkv"]).split(width, axis=2))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(width // HEADS)
        scores = scores.masked_fill(mask, -math.inf).softmax(-1)
        return (scores @ v).transpose(1, 2).reshape(batch, length, width) @ w[f"{i}.out"]

    def feed_forward(x, i):
        return F.gelu(x @ w[f"{i}.up"] + w[f"{i}.up_bias"]) @ w[f"{i}.down"] + w[f"{i}.down_bias"]

    def norm(x, name):
        return F.layer_norm(x, (WIDTH,), w[name], w[f"{name}_bias"])

    def step(x, y):
        z = w["tokens"][x] + w["positions"][Tensor.arange(LENGTH)]
        for i in range(LAYERS):
            z = z + attention(norm(z, f"{i}.norm1"), i)
            z = z + feed_forward(norm(z, f"{i}.norm2"), i)
        scores = norm(z, "norm") @ w["head"]
        loss = F.cross_entropy(scores.reshape(-1, 65), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def gpt_torch(w):
    import torch
    import torch.nn.functional as F

    optimizer = torch.optim.AdamW(w.values(), lr=1e-3, fused=True)
    mask = torch.ones(LENGTH, LENGTH).tril() == 0

    def attention(x, i):
        batch, length, width = x.shape
        q, k, v = (part.reshape(batch, length, HEADS, width // HEADS).transpose(1, 2)
                   for part in (x @ w[f"{i}.qkv"]).split(width, dim=2))
        scores = (q @ k.transpose(-2, -1)) / math.sqrt(width // HEADS)
        scores = scores.masked_fill(mask, -math.inf).softmax(-1)
        return (scores @ v).transpose(1, 2).reshape(batch, length, width) @ w[f"{i}.out"]

    def feed_forward(x, i):
        return F.gelu(x @ w[f"{i}.up"] + w[f"{i}.up_bias"]) @ w[f"{i}.down"] + w[f"{i}.down_bias"]

    def norm(x, name):
        return F.layer_norm(x, (WIDTH,), w[name], w[f"{name}_bias"])

    def step(x, y):
        z = w["tokens"][x] + w["positions"][torch.arange(LENGTH)]
        for i in range(LAYERS):
            z = z + attention(norm(z, f"{i}.norm1"), i)
            z = z + feed_forward(norm(z, f"{i}.norm2"), i)
        scores = norm(z, "norm") @ w["head"]
        loss = F.cross_entropy(scores.reshape(-1, 65), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


PROGRAMS = {
    "embedding_mlp": Program("embedding MLP 8x10-200-27 with hand-written batch norm and update, batch 64",
                             mlp_weights, mlp_inputs, mlp_ours, mlp_torch),
    "attention": Program("Transformer with hand-written attention, 2 layers, d=64, 4 heads, T=64, batch 8, AdamW",
                         gpt_weights, gpt_inputs, gpt_ours, gpt_torch),
}
