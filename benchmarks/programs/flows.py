"""RealNVP (Dinh et al. 2017): each coupling layer moves one half by amounts that nets compute from the other half."""

import math

import numpy as np

from . import Program, layers

LAYERS, WIDTH = 6, 64


def weights(rng):
    made = {}
    for i in range(LAYERS):
        made |= layers(rng, f"{i}.s_", 2, WIDTH, WIDTH, 2) | layers(rng, f"{i}.t_", 2, WIDTH, WIDTH, 2)
    return made


def inputs(rng):
    """Two moons."""
    angle, upper = rng.uniform(0, math.pi, 256), rng.integers(0, 2, 256)
    x = np.stack([np.cos(angle) * (2 * upper - 1) + 0.5 - upper, np.sin(angle) * (2 * upper - 1) + 0.5 * upper - 0.25])
    return ((x.T + 0.05 * rng.standard_normal((256, 2))).astype(np.float32),)


def ours(w):
    import nn.functional as F
    import optim
    from tinygrad_like import Tensor

    optimizer = optim.Adam(w.values(), lr=1e-3)
    masks = [Tensor([0.0, 1.0]), Tensor([1.0, 0.0])]

    def net(z, name):
        z = F.leaky_relu(z @ w[f"{name}w1"] + w[f"{name}b1"])
        z = F.leaky_relu(z @ w[f"{name}w2"] + w[f"{name}b2"])
        return z @ w[f"{name}w3"] + w[f"{name}b3"]

    def step(x):
        z, log_det = x, 0
        for i in range(LAYERS):
            mask = masks[i % 2]
            kept = mask * z
            s = net(kept, f"{i}.s_").tanh() * (1 - mask)
            t = net(kept, f"{i}.t_") * (1 - mask)
            z = kept + (1 - mask) * (z - t) * (-s).exp()
            log_det = log_det - s.sum(1)
        log_prior = -0.5 * (z ** 2).sum(1) - math.log(2 * math.pi)
        loss = -(log_prior + log_det).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def torch(w):
    import torch
    import torch.nn.functional as F

    optimizer = torch.optim.Adam(w.values(), lr=1e-3, fused=True)
    masks = [torch.tensor([0.0, 1.0]), torch.tensor([1.0, 0.0])]

    def net(z, name):
        z = F.leaky_relu(z @ w[f"{name}w1"] + w[f"{name}b1"])
        z = F.leaky_relu(z @ w[f"{name}w2"] + w[f"{name}b2"])
        return z @ w[f"{name}w3"] + w[f"{name}b3"]

    def step(x):
        z, log_det = x, 0
        for i in range(LAYERS):
            mask = masks[i % 2]
            kept = mask * z
            s = net(kept, f"{i}.s_").tanh() * (1 - mask)
            t = net(kept, f"{i}.t_") * (1 - mask)
            z = kept + (1 - mask) * (z - t) * (-s).exp()
            log_det = log_det - s.sum(1)
        log_prior = -0.5 * (z ** 2).sum(1) - math.log(2 * math.pi)
        loss = -(log_prior + log_det).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


PROGRAMS = {"realnvp": Program(f"RealNVP, {LAYERS} coupling layers of two MLPs 2-{WIDTH}-{WIDTH}-2, batch 256, Adam",
                               weights, inputs, ours, torch)}
