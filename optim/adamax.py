"""Adamax: Adam by the largest gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from .adam import Adam
from .optimizer import Optimizer


class Adamax(Optimizer):
    """Adam with the largest gradient so far, which fades, in place of the root of the mean square.

        m <- beta1 m + (1 - beta1) g
        u <- max(beta2 u, |g| + eps)
        x <- x - lr / (1 - beta1^t) m / u        at the t-th step, from 1

    weight_decay: g <- g + weight_decay x first. maximize: climb instead, g <- -g. Source: Kingma and Ba 2015.
    """

    state_names = ("exp_avg", "exp_inf")
    kernel = "adamax"

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 2e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0,
                 maximize: bool = False):
        super().__init__(params, lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)

    check = Adam.check

    def update(self, x, g, state, lr, group):
        (x, g, m, u), (lr, beta1, beta2, eps, decay, sign) = self.arguments(x, g, state, lr, group)
        g = sign * g
        if decay:
            g = g + decay * x
        m += (1 - beta1) * (g - m)
        np.maximum(beta2 * u, np.abs(g) + eps, out=u)
        x -= lr * m / u

    def arguments(self, x, g, state, lr, group):
        beta1, beta2 = group["betas"]
        state["step"] += 1
        return (x, g, state["exp_avg"], state["exp_inf"]), (lr / (1 - beta1 ** state["step"]), beta1, beta2,
                                                            group["eps"], group["weight_decay"],
                                                            -1.0 if group["maximize"] else 1.0)
