"""Differential equations: a net trained to satisfy one (PINN), and one whose right-hand side is a net (neural ODE)."""

import math

import numpy as np

from . import Program, layers


def pinn_weights(rng):
    return layers(rng, "", 2, 32, 32, 32, 1)


def pinn_inputs(rng):
    """Points (t, x) inside, where Burgers' equation must hold, and at t = 0, where u = -sin(pi x)."""
    start = np.stack([np.zeros(100), rng.uniform(-1, 1, 100)], 1).astype(np.float32)
    inside = np.stack([rng.uniform(0, 1, 1000), rng.uniform(-1, 1, 1000)], 1).astype(np.float32)
    return inside[:, :1].copy(), inside[:, 1:].copy(), start, -np.sin(math.pi * start[:, 1:])


def pinn_ours(w):
    import optim

    optimizer = optim.Adam(w.values(), lr=1e-3)

    def net(z):
        for i in (1, 2, 3):
            z = (z @ w[f"w{i}"] + w[f"b{i}"]).tanh()
        return z @ w["w4"] + w["b4"]

    def step(t, x, start, u_start):
        t, x = t.detach().requires_grad_(), x.detach().requires_grad_()
        u = net(t.cat(x, axis=1))
        u_t, u_x = u.sum().gradient(t, x, create_graph=True)
        u_xx, = u_x.sum().gradient(x, create_graph=True)
        residual = u_t + u * u_x - 0.01 / math.pi * u_xx
        loss = (residual ** 2).mean() + ((net(start) - u_start) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def pinn_torch(w):
    import torch
    from torch.autograd import grad

    optimizer = torch.optim.Adam(w.values(), lr=1e-3, fused=True)

    def net(z):
        for i in (1, 2, 3):
            z = (z @ w[f"w{i}"] + w[f"b{i}"]).tanh()
        return z @ w["w4"] + w["b4"]

    def step(t, x, start, u_start):
        t, x = t.detach().requires_grad_(), x.detach().requires_grad_()
        u = net(torch.cat([t, x], dim=1))
        u_t, u_x = grad(u.sum(), (t, x), create_graph=True)
        u_xx, = grad(u_x.sum(), x, create_graph=True)
        residual = u_t + u * u_x - 0.01 / math.pi * u_xx
        loss = (residual ** 2).mean() + ((net(start) - u_start) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def ode_weights(rng):
    return layers(rng, "", 2, 50, 2)


def ode_inputs(rng):
    """Initial states of a spiral, and its paths over 10 steps."""
    state, path = rng.uniform(-2, 2, (32, 2)), []
    for _ in range(10):
        path.append(state)
        for _ in range(10):
            state = state + 0.01 * state**3 @ np.array([[-0.1, 2.0], [-2.0, -0.1]])
    return path[0].astype(np.float32), np.stack(path).astype(np.float32)


def ode_ours(w):
    import optim
    from tinygrad_like import Tensor

    optimizer = optim.Adam(w.values(), lr=1e-3)

    def slope(y):
        return ((y ** 3) @ w["w1"] + w["b1"]).tanh() @ w["w2"] + w["b2"]

    def step(y, path):
        found, dt = [y], 0.1
        for _ in range(path.shape[0] - 1):
            k1 = slope(y)
            k2 = slope(y + dt / 2 * k1)
            k3 = slope(y + dt / 2 * k2)
            k4 = slope(y + dt * k3)
            y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            found.append(y)
        loss = (Tensor.stack(*found) - path).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def ode_torch(w):
    import torch

    optimizer = torch.optim.Adam(w.values(), lr=1e-3, fused=True)

    def slope(y):
        return ((y ** 3) @ w["w1"] + w["b1"]).tanh() @ w["w2"] + w["b2"]

    def step(y, path):
        found, dt = [y], 0.1
        for _ in range(path.shape[0] - 1):
            k1 = slope(y)
            k2 = slope(y + dt / 2 * k1)
            k3 = slope(y + dt / 2 * k2)
            k4 = slope(y + dt * k3)
            y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            found.append(y)
        loss = (torch.stack(found) - path).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


PROGRAMS = {
    "pinn": Program("PINN of Burgers' equation, MLP 2-32-32-32-1, 1000 points, second order, Adam",
                    pinn_weights, pinn_inputs, pinn_ours, pinn_torch),
    "neural_ode": Program("neural ODE, 9 Runge-Kutta steps through an MLP 2-50-2, batch 32, Adam",
                          ode_weights, ode_inputs, ode_ours, ode_torch),
}
