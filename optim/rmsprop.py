"""RMSProp."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from .optimizer import Optimizer


class RMSProp(Optimizer):
    """The gradient divided by the root of a running mean of its square.

        g <- g + weight_decay x
        v <- alpha v + (1 - alpha) g^2
        a <- alpha a + (1 - alpha) g               (centered only; otherwise a = 0)
        d  = g / (sqrt(v - a^2) + eps)
        b <- momentum b + d
        x <- x - lr b

    maximize: climb instead, g <- -g. Source: Hinton's lecture 6e of 2012; centered: Graves 2013.
    """

    state_names = {"square_avg": "", "grad_avg": "centered", "momentum_buffer": "momentum", "step": ""}

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-2, alpha: float = 0.99,
                 eps: float = 1e-8, weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False,
                 maximize: bool = False):
        super().__init__(params, lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum,
                         centered=centered, maximize=maximize)

    def check(self, group):
        self.require(0 <= group["alpha"] <= 1, "alpha", group["alpha"], "in [0, 1]")
        for name in ("eps", "weight_decay", "momentum"):
            self.require(group[name] >= 0, name, group[name], ">= 0")

    def update(self, x, g, state, lr, alpha, eps, weight_decay, momentum, centered):
        v = state["square_avg"]
        g = g + weight_decay * x
        v += (1 - alpha) * (g * g - v)
        if centered:
            a = state["grad_avg"]
            a += (1 - alpha) * (g - a)
            v = np.maximum(v - a * a, 0)  # rounding may make it negative
        d = g / (np.sqrt(v) + eps)
        if momentum:
            d = state["momentum_buffer"] = momentum * state["momentum_buffer"] + d
        x -= lr * d
