"""Adagrad, Adadelta and RMSProp: a step size per element, from the squares of its past gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from .optimizer import Optimizer


class Adagrad(Optimizer):
    """The gradient divided by the root of the sum of its past squares, so rare features take long steps.

        g <- g + weight_decay x
        s <- s + g^2                               (s starts at initial_accumulator_value)
        x <- x - lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps)        at the t-th step, from 1

    maximize: climb instead, g <- -g. Source: Duchi, Hazan and Singer 2011.
    """

    state_names = {"sum": "", "step": ""}

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-2, lr_decay: float = 0.0,
                 weight_decay: float = 0.0, initial_accumulator_value: float = 0.0, eps: float = 1e-10,
                 maximize: bool = False):
        super().__init__(params, lr, lr_decay=lr_decay, weight_decay=weight_decay,
                         initial_accumulator_value=initial_accumulator_value, eps=eps, maximize=maximize)

    def begin(self, name, x, initial_accumulator_value, **options):
        return np.full_like(x, initial_accumulator_value) if name == "sum" else super().begin(name, x)

    def update(self, x, g, state, lr, lr_decay, weight_decay, initial_accumulator_value, eps):
        s = state["sum"]
        g = g + weight_decay * x
        s += g * g
        x -= lr / (1 + (state["step"] - 1) * lr_decay) * g / (np.sqrt(s) + eps)


class Adadelta(Optimizer):
    """Steps in the units of x: the gradient times the ratio of the running RMS of steps to that of gradients.

        g <- g + weight_decay x
        v <- rho v + (1 - rho) g^2
        d  = g sqrt(u + eps) / sqrt(v + eps)
        u <- rho u + (1 - rho) d^2
        x <- x - lr d

    maximize: climb instead, g <- -g. Source: Zeiler 2012.
    """

    state_names = {"square_avg": "", "acc_delta": "", "step": ""}

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0.0, maximize: bool = False):
        super().__init__(params, lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize)

    def update(self, x, g, state, lr, rho, eps, weight_decay):
        v, u = state["square_avg"], state["acc_delta"]
        g = g + weight_decay * x
        v += (1 - rho) * (g * g - v)
        d = g * np.sqrt(u + eps) / np.sqrt(v + eps)
        u += (1 - rho) * (d * d - u)
        x -= lr * d


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
