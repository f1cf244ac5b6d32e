"""Kin of Adam: by the largest gradient, with Nesterov's look-ahead, and without a warmup."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tinygrad_like.core.listener import value

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


class NAdam(Adam):
    """Adam with Nesterov's look-ahead, and a beta1 that grows: mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2).

        m, v as in Adam;    r = sqrt(v / (1 - beta2^t)) + eps
        x <- x - lr ((1 - mu_t) / (1 - mu_1 ... mu_t) g + mu_(t+1) / (1 - mu_1 ... mu_(t+1)) m) / r

    decoupled_weight_decay: as in AdamW. maximize: climb instead, g <- -g. Source: Dozat 2016.
    """

    state_names = ("exp_avg", "exp_avg_sq")
    number_names = ("mu_product",)

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 2e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0,
                 momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, maximize: bool = False):
        Optimizer.__init__(self, params, lr, betas=betas, eps=eps, weight_decay=weight_decay,
                           momentum_decay=momentum_decay, decoupled_weight_decay=decoupled_weight_decay,
                           maximize=maximize)

    def check(self, group):
        super().check(group)
        self.require(group["momentum_decay"] >= 0, "momentum_decay", group["momentum_decay"], ">= 0")

    def arguments(self, x, g, state, lr, group):
        row, (_, _, beta1, *others) = super().arguments(x, g, state, lr, group)
        t, decay = state["step"], group["momentum_decay"]
        now, ahead = (beta1 * (1 - 0.5 * 0.96 ** (n * decay)) for n in (t, t + 1))
        product = state["mu_product"] = value(state.get("mu_product", 1.0) * now)
        return row, (lr * ahead / (1 - product * ahead), lr * (1 - now) / (1 - product), beta1, *others)


class RAdam(Adam):
    """Adam whose first steps, while the mean square is known too badly to divide by, follow the mean gradient alone.

        m, v as in Adam;    rho = 2 / (1 - beta2) - 1;    rho_t = rho - 2 t beta2^t / (1 - beta2^t)
        x <- x - lr m / (1 - beta1^t)                                                        if rho_t <= 5, else
        x <- x - lr m / (1 - beta1^t) s sqrt(1 - beta2^t) / (sqrt(v) + eps)
        with s^2 = (rho_t - 4) (rho_t - 2) rho / ((rho - 4) (rho - 2) rho_t)

    decoupled_weight_decay: as in AdamW. maximize: climb instead, g <- -g. Source: Liu et al. 2020.
    """

    state_names = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0,
                 decoupled_weight_decay: bool = False, maximize: bool = False):
        Optimizer.__init__(self, params, lr, betas=betas, eps=eps, weight_decay=weight_decay,
                           decoupled_weight_decay=decoupled_weight_decay, maximize=maximize)

    def arguments(self, x, g, state, lr, group):
        row, (lr, ahead, beta1, beta2, root, eps, *others) = super().arguments(x, g, state, lr, group)
        t, rho = state["step"], 2 / (1 - beta2) - 1
        now = rho - 2 * t * beta2**t / (1 - beta2**t)
        if now > 5:
            s = ((now - 4) * (now - 2) * rho / ((rho - 4) * (rho - 2) * now)) ** 0.5
            lr, root = lr * s / root, 1.0
        else:
            root, eps = 0.0, 1.0  # of what m is divided by, 1 is left
        return row, (lr, ahead, beta1, beta2, root, eps, *others)


class SparseAdam(Optimizer):
    """Adam for embeddings of which a batch has a few: rows whose gradient is all 0, and their m and v, stay.

        m <- m + (1 - beta1) (g - m);    v <- v + (1 - beta2) (g^2 - v)                          in the other rows
        x <- x - lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)

    Rows are those of axis 0. Gradients are dense here, where PyTorch takes sparse ones: a row that a batch has, but
    with a gradient of exact zeros, stays too. maximize: climb instead, g <- -g. Source: PyTorch.
    """

    state_names = ("exp_avg", "exp_avg_sq")

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False):
        super().__init__(params, lr, betas=betas, eps=eps, maximize=maximize)

    def check(self, group):
        betas = group["betas"]
        self.require(len(betas) == 2 and all(0 <= beta < 1 for beta in betas), "betas", betas, "two numbers in [0, 1)")
        self.require(group["eps"] > 0, "eps", group["eps"], "> 0")

    def update(self, x, g, state, lr, group):
        beta1, beta2 = group["betas"]
        state["step"] += 1
        t, m, v = state["step"], state["exp_avg"], state["exp_avg_sq"]
        rows = (g != 0).any(axis=tuple(range(1, g.ndim)))
        g = -g[rows] if group["maximize"] else g[rows]
        m[rows] += (1 - beta1) * (g - m[rows])
        v[rows] += (1 - beta2) * (g * g - v[rows])
        x[rows] -= lr * (1 - beta2**t) ** 0.5 / (1 - beta1**t) * m[rows] / (np.sqrt(v[rows]) + group["eps"])
