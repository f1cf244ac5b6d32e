"""Hand-written recurrent cells: an LSTM with its gates in one product, and a GRU with a product for each gate."""

import numpy as np

from . import Program, normal


def lstm_weights(rng):
    return {"wx": normal(rng, 28, 4 * 128), "wh": normal(rng, 128, 4 * 128), "b": np.zeros(4 * 128, np.float32),
            "wy": normal(rng, 128, 10), "by": np.zeros(10, np.float32)}


def lstm_inputs(rng):
    return normal(rng, 32, 28, 28, scale=1), rng.integers(0, 10, 32)


def lstm_ours(w):
    import nn.functional as F
    import optim
    from tinygrad_like import Tensor

    optimizer = optim.Adam(w.values(), lr=1e-3)

    def step(x, y):
        h = c = Tensor.zeros(x.shape[0], 128)
        for t in range(x.shape[1]):
            i, f, g, o = (x[:, t] @ w["wx"] + h @ w["wh"] + w["b"]).chunk(4, axis=1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        loss = F.cross_entropy(h @ w["wy"] + w["by"], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def lstm_torch(w):
    import torch
    import torch.nn.functional as F

    optimizer = torch.optim.Adam(w.values(), lr=1e-3, fused=True)

    def step(x, y):
        h = c = torch.zeros(x.shape[0], 128)
        for t in range(x.shape[1]):
            i, f, g, o = (x[:, t] @ w["wx"] + h @ w["wh"] + w["b"]).chunk(4, dim=1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
        loss = F.cross_entropy(h @ w["wy"] + w["by"], y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def gru_weights(rng):
    made = {"wy": normal(rng, 64, 1), "by": np.zeros(1, np.float32)}
    for gate in "rzn":
        made |= {f"w{gate}": normal(rng, 2, 64), f"u{gate}": normal(rng, 64, 64), f"b{gate}": np.zeros(64, np.float32)}
    return made


def gru_inputs(rng):
    """The adding problem: the sum of the two marked numbers of a sequence."""
    x = np.zeros((40, 20, 2), np.float32)  # time comes first
    x[..., 0] = rng.random((40, 20))
    for n in range(20):
        x[rng.choice(40, 2, replace=False), n, 1] = 1
    return x, (x[..., 0] * x[..., 1]).sum(0)[:, None]


def gru_ours(w):
    import optim
    from tinygrad_like import Tensor

    optimizer = optim.Adam(w.values(), lr=2e-3)

    def step(x, y):
        h = Tensor.zeros(x.shape[1], 64)
        for x_t in x.unbind(0):
            r = (x_t @ w["wr"] + h @ w["ur"] + w["br"]).sigmoid()
            z = (x_t @ w["wz"] + h @ w["uz"] + w["bz"]).sigmoid()
            n = (x_t @ w["wn"] + r * (h @ w["un"]) + w["bn"]).tanh()
            h = (1 - z) * n + z * h
        loss = ((h @ w["wy"] + w["by"] - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def gru_torch(w):
    import torch

    optimizer = torch.optim.Adam(w.values(), lr=2e-3, fused=True)

    def step(x, y):
        h = torch.zeros(x.shape[1], 64)
        for x_t in x.unbind(0):
            r = (x_t @ w["wr"] + h @ w["ur"] + w["br"]).sigmoid()
            z = (x_t @ w["wz"] + h @ w["uz"] + w["bz"]).sigmoid()
            n = (x_t @ w["wn"] + r * (h @ w["un"]) + w["bn"]).tanh()
            h = (1 - z) * n + z * h
        loss = ((h @ w["wy"] + w["by"] - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


PROGRAMS = {
    "lstm": Program("LSTM cell, 28 steps, 28-128, batch 32, Adam", lstm_weights, lstm_inputs, lstm_ours, lstm_torch),
    "gru": Program("GRU cell, 40 steps, 2-64, batch 20, Adam", gru_weights, gru_inputs, gru_ours, gru_torch),
}
