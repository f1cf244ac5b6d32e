"""Stable fluids (Stam 1999) on a torus: which velocity turns a spot of ink into a ring? Gradients through all steps."""

import numpy as np

from . import Program, normal

N, STEPS, ITERATIONS, DT = 48, 6, 8, 1.0


def weights(rng):
    return {"vx": normal(rng, N, N, scale=0.1), "vy": normal(rng, N, N, scale=0.1)}


def inputs(rng):
    y, x = np.mgrid[:N, :N].astype(np.float32)
    distance = np.hypot(x - N / 2 + rng.random(), y - N / 2)
    return np.exp(-distance**2 / 50).astype(np.float32), np.exp(-(distance - 12)**2 / 10).astype(np.float32)


def ours(w):
    import optim
    from tinygrad_like import Tensor

    optimizer = optim.Adam(w.values(), lr=0.05)
    rows, columns = Tensor.arange(N).reshape(N, 1).float(), Tensor.arange(N).reshape(1, N).float()

    def advect(field, vx, vy):
        """The value that flows to each point: bilinear interpolation at its origin."""
        x, y = columns - DT * vx, rows - DT * vy
        left, top = x.floor(), y.floor()
        right_share, bottom_share = x - left, y - top
        j, i = left.long() % N, top.long() % N
        j_next, i_next = (j + 1) % N, (i + 1) % N
        above = (1 - right_share) * field[i, j] + right_share * field[i, j_next]
        below = (1 - right_share) * field[i_next, j] + right_share * field[i_next, j_next]
        return (1 - bottom_share) * above + bottom_share * below

    def project(vx, vy):
        """Make the flow divergence-free: subtract the gradient of a pressure, found by Jacobi's iteration."""
        divergence = 0.5 * (vx.roll(-1, axis=1) - vx.roll(1, axis=1) + vy.roll(-1, axis=0) - vy.roll(1, axis=0))
        p = Tensor.zeros(N, N)
        for _ in range(ITERATIONS):
            p = (p.roll(1, axis=0) + p.roll(-1, axis=0) + p.roll(1, axis=1) + p.roll(-1, axis=1) - divergence) / 4
        return (vx - 0.5 * (p.roll(-1, axis=1) - p.roll(1, axis=1)),
                vy - 0.5 * (p.roll(-1, axis=0) - p.roll(1, axis=0)))

    def step(ink, target):
        vx, vy = project(w["vx"], w["vy"])
        for _ in range(STEPS):
            vx, vy = project(advect(vx, vx, vy), advect(vy, vx, vy))
            ink = advect(ink, vx, vy)
        loss = ((ink - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def torch(w):
    import torch

    optimizer = torch.optim.Adam(w.values(), lr=0.05, fused=True)
    rows, columns = torch.arange(N).reshape(N, 1).float(), torch.arange(N).reshape(1, N).float()

    def advect(field, vx, vy):
        x, y = columns - DT * vx, rows - DT * vy
        left, top = x.floor(), y.floor()
        right_share, bottom_share = x - left, y - top
        j, i = left.long() % N, top.long() % N
        j_next, i_next = (j + 1) % N, (i + 1) % N
        above = (1 - right_share) * field[i, j] + right_share * field[i, j_next]
        below = (1 - right_share) * field[i_next, j] + right_share * field[i_next, j_next]
        return (1 - bottom_share) * above + bottom_share * below

    def project(vx, vy):
        divergence = 0.5 * (vx.roll(-1, dims=1) - vx.roll(1, dims=1) + vy.roll(-1, dims=0) - vy.roll(1, dims=0))
        p = torch.zeros(N, N)
        for _ in range(ITERATIONS):
            p = (p.roll(1, dims=0) + p.roll(-1, dims=0) + p.roll(1, dims=1) + p.roll(-1, dims=1) - divergence) / 4
        return (vx - 0.5 * (p.roll(-1, dims=1) - p.roll(1, dims=1)),
                vy - 0.5 * (p.roll(-1, dims=0) - p.roll(1, dims=0)))

    def step(ink, target):
        vx, vy = project(w["vx"], w["vy"])
        for _ in range(STEPS):
            vx, vy = project(advect(vx, vx, vy), advect(vy, vx, vy))
            ink = advect(ink, vx, vy)
        loss = ((ink - target) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


PROGRAMS = {"fluids": Program(f"stable fluids on {N}x{N}, {STEPS} steps with {ITERATIONS} Jacobi iterations, Adam",
                              weights, inputs, ours, torch)}
