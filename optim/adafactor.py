"""Adafactor: Adam, but storing the squares of a matrix only per row and per column."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from .optimizer import Optimizer


class Adafactor(Optimizer):
    """The gradient divided by its root mean square; for a matrix, only the row and column means of the squares are
    stored.

        rho   = min(lr, 1 / sqrt(t));    alpha = max(eps[1], RMS(x)) rho;    b = t^beta2_decay       at the t-th step
        x <- x - lr weight_decay x
        R <- R + b (mean over the columns of g^2 - R);    C <- C + b (mean over the rows of g^2 - C)
        V  = R C / max(mean of R, eps[0])                 (vectors and scalars: V <- V + b (g^2 - V))
        u  = g / max(sqrt(V), eps[0])
        x <- x - alpha u / max(1, RMS(u) / d)

    Matrices are the last two axes. eps[0]=None means the machine epsilon of x's dtype.
    maximize: climb instead, g <- -g. Source: Shazeer and Stern 2018, in PyTorch's form.
    """

    state_names = {"row_var": "", "col_var": "", "variance": "", "step": ""}

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 maximize: bool = False):
        super().__init__(params, lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay,
                         maximize=maximize)

    def check(self, group):
        self.require(group["beta2_decay"] <= 0, "beta2_decay", group["beta2_decay"], "<= 0")
        self.require(all(e is None or e >= 0 for e in group["eps"]), "eps", group["eps"], "two numbers >= 0")
        self.require(group["d"] >= 1, "d", group["d"], ">= 1")

    def state_shape(self, name, shape):
        return {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, *shape[-1:]), "step": ()}.get(name, shape)

    def update(self, x, g, state, lr, beta2_decay, eps, d, weight_decay):
        t, (tiny, floor) = state["step"], eps
        tiny = float(np.finfo(x.dtype).eps) if tiny is None else tiny
        alpha = max(floor, _rms(x)) * min(lr, 1 / math.sqrt(t))
        x *= 1 - lr * weight_decay

        def mean(name, square):
            before = state.get(name, 0)
            state[name] = before + t**beta2_decay * (square - before)
            return state[name]

        if x.ndim > 1:
            row = mean("row_var", (g * g).mean(-1, keepdims=True))
            column = mean("col_var", (g * g).mean(-2, keepdims=True))
            v = row @ column / np.maximum(row.mean(-2, keepdims=True), tiny)
        else:
            v = mean("variance", g * g)
        u = g / np.sqrt(np.maximum(v, tiny * tiny))
        x -= alpha / max(1.0, _rms(u) / d) * u


def _rms(x: np.ndarray) -> float:
    return float(np.linalg.norm(x)) / math.sqrt(max(x.size, 1))
