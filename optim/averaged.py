"""Rprop, which looks at signs alone, and ASGD, which averages what it went through."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tinygrad_like.core.listener import value

from .optimizer import Optimizer


class Rprop(Optimizer):
    """Each number has a step of its own, which grows while its gradient keeps its sign and shrinks when that changes.

        s <- s etas[1] if g keeps its sign, s etas[0] if not, limited to step_sizes     (s starts at lr)
        g <- 0 where the sign has changed
        x <- x - sign(g) s

    For gradients of the whole data set. maximize: climb instead, g <- -g. Source: Riedmiller and Braun 1993.
    """

    state_names = ("prev", "step_size")
    kernel = "rprop"

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-2,
                 etas: tuple[float, float] = (0.5, 1.2), step_sizes: tuple[float, float] = (1e-6, 50.0),
                 maximize: bool = False):
        super().__init__(params, lr, etas=etas, step_sizes=step_sizes, maximize=maximize)

    def check(self, group):
        shrink, grow = group["etas"]
        self.require(0 < shrink < 1 < grow, "etas", group["etas"], "a factor in (0, 1) and one > 1")
        self.require(group["step_sizes"][0] <= group["step_sizes"][1], "step_sizes", group["step_sizes"],
                     "the least and the largest step")

    def update(self, x, g, state, lr, group):
        (x, g, prev, s), (shrink, grow, least, most, sign) = self.arguments(x, g, state, lr, group)
        g = sign * g
        same = np.sign(g * prev)
        s *= np.where(same > 0, grow, np.where(same < 0, shrink, 1.0)).astype(s.dtype)
        np.clip(s, least, most, out=s)
        g = np.where(same < 0, np.zeros_like(g), g)
        x -= np.sign(g) * s
        prev[...] = g

    def arguments(self, x, g, state, lr, group):
        state["step"] += 1
        if "step_size" not in state:
            state["step_size"] = np.full_like(x, lr)
        return (x, g, state["prev"], state["step_size"]), (*group["etas"], *group["step_sizes"],
                                                           -1.0 if group["maximize"] else 1.0)


class ASGD(Optimizer):
    """Gradient descent with a falling rate, and in the state, as `ax`, the average of the weights from step t0 on.

        g <- g + weight_decay x
        x <- (1 - lambd eta) x - eta g
        a <- a + mu (x - a)                       with mu = 1 / max(1, t - t0)
        eta <- lr / (1 + lambd lr t)^alpha        (eta starts at lr)

    maximize: climb instead, g <- -g. Source: Polyak and Juditsky 1992, in PyTorch's form.
    """

    state_names = ("ax",)
    kernel = "asgd"
    number_names = ("eta", "mu")

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-2, lambd: float = 1e-4,
                 alpha: float = 0.75, t0: float = 1e6, weight_decay: float = 0.0, maximize: bool = False):
        super().__init__(params, lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, maximize=maximize)

    def check(self, group):
        for name in ("weight_decay", "lambd"):
            self.require(group[name] >= 0, name, group[name], ">= 0")
        self.require(abs(group["alpha"]) < 100, "alpha", group["alpha"], "an exponent between -100 and 100")

    def update(self, x, g, state, lr, group):
        (x, g, a), (eta, keep, mu, decay, sign) = self.arguments(x, g, state, lr, group)
        g = sign * g
        if decay:
            g = g + decay * x
        x *= keep
        x -= eta * g
        if mu == 1:
            a[...] = x
        else:
            a += mu * (x - a)

    def arguments(self, x, g, state, lr, group):
        state["step"] += 1
        eta, mu, lambd, t = state.get("eta", lr), state.get("mu", 1.0), group["lambd"], state["step"]
        state["eta"] = value(lr / (1 + lambd * lr * t) ** group["alpha"])
        state["mu"] = value(1 / max(1, t - group["t0"]))
        return (x, g, state["ax"]), (eta, 1 - lambd * eta, mu, group["weight_decay"],
                                     -1.0 if group["maximize"] else 1.0)
