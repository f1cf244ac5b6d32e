"""MAML (Finn et al. 2017): initial weights from which one step of gradient descent fits a new sine wave."""

import math

import numpy as np

from . import Program, layers

TASKS, SHOTS = 4, 10


def weights(rng):
    return layers(rng, "", 1, 40, 40, 1)


def inputs(rng):
    """For each task, training points and test points: x, y, x, y."""
    phase, height = rng.uniform(0, math.pi, (TASKS, 1, 1)), rng.uniform(0.1, 5, (TASKS, 1, 1))
    points = [rng.uniform(-5, 5, (TASKS, SHOTS, 1)) for _ in range(2)]
    return tuple(a.astype(np.float32) for x in points for a in (x, height * np.sin(x + phase)))


def forward(w, x):
    h = (x @ w["w1"] + w["b1"]).relu()
    h = (h @ w["w2"] + w["b2"]).relu()
    return h @ w["w3"] + w["b3"]


def ours(w):
    import optim

    optimizer = optim.Adam(w.values(), lr=1e-3)

    def step(x, y, x_query, y_query):
        total = 0
        for task in range(TASKS):
            loss = ((forward(w, x[task]) - y[task]) ** 2).mean()
            gradients = loss.gradient(*w.values(), create_graph=True)
            adapted = {name: p - 0.01 * g for (name, p), g in zip(w.items(), gradients, strict=True)}
            total = total + ((forward(adapted, x_query[task]) - y_query[task]) ** 2).mean()
        loss = total / TASKS
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def torch(w):
    import torch

    optimizer = torch.optim.Adam(w.values(), lr=1e-3, fused=True)

    def step(x, y, x_query, y_query):
        total = 0
        for task in range(TASKS):
            loss = ((forward(w, x[task]) - y[task]) ** 2).mean()
            gradients = torch.autograd.grad(loss, list(w.values()), create_graph=True)
            adapted = {name: p - 0.01 * g for (name, p), g in zip(w.items(), gradients, strict=True)}
            total = total + ((forward(adapted, x_query[task]) - y_query[task]) ** 2).mean()
        loss = total / TASKS
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


PROGRAMS = {"maml": Program(f"MAML of sine waves, MLP 1-40-40-1, {TASKS} tasks of {SHOTS} points, second order, Adam",
                            weights, inputs, ours, torch)}
