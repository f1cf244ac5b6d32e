"""Stochastic gradient descent, and Muon, which orthogonalizes its momentum."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from .optimizer import Optimizer


class SGD(Optimizer):
    """Gradient descent, optionally with momentum, Nesterov's look-ahead and L2 weight decay.

        g <- g + weight_decay x
        b <- momentum b + (1 - dampening) g        (b <- g at the first step)
        x <- x - lr b                              (nesterov: x - lr (g + momentum b); no momentum: x - lr g)

    maximize: climb instead, g <- -g. Source: Sutskever et al. 2013, in PyTorch's form.
    """

    state_names = {"momentum_buffer": "momentum"}

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-3, momentum: float = 0.0,
                 dampening: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False, maximize: bool = False):
        super().__init__(params, lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                         nesterov=nesterov, maximize=maximize)

    def check(self, group):
        self.require(not group["nesterov"] or group["momentum"] > 0 == group["dampening"], "nesterov", True,
                     "used with momentum > 0 and dampening=0")

    def begin(self, name, x, dampening, **options):
        return None if dampening else super().begin(name, x)  # b starts as g, which zeros would dampen

    def update(self, x, g, state, lr, momentum, dampening, weight_decay, nesterov):
        g = g + weight_decay * x
        if momentum:
            b = momentum * state["momentum_buffer"] + (1 - dampening) * g if "momentum_buffer" in state else g
            state["momentum_buffer"] = b
            g = g + momentum * b if nesterov else b
        x -= lr * g


class Muon(Optimizer):
    """For matrices: a step along the momentum after bringing all its singular values close to 1.

        m <- momentum m + (1 - momentum) g
        u  = g + momentum (m - g)                             (nesterov; otherwise u = m)
        u <- u / max(|u|, eps);    then ns_steps times, with (a, b, c) = ns_coefficients:
             s = u u^T;    u <- a u + (b s + c s s) u         (on the side of u that is shorter)
        x <- x - lr weight_decay x - lr r u

    adjust_lr_fn: None or "original" for r = sqrt(max(1, rows / columns)), "match_rms_adamw" for r = 0.2 sqrt(max(rows,
    columns)), which suits AdamW's learning rates. Products are computed in the dtype of x, while PyTorch rounds them to
    bfloat16. Raises ValueError for a parameter that is not a matrix. Source: Jordan 2024.
    """

    state_names = {"momentum_buffer": ""}

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-3, weight_decay: float = 0.1,
                 momentum: float = 0.95, nesterov: bool = True,
                 ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315), eps: float = 1e-7,
                 ns_steps: int = 5, adjust_lr_fn: str | None = None):
        super().__init__(params, lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov,
                         ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn)

    def check(self, group):
        self.require(0 <= group["ns_steps"] < 100 and int(group["ns_steps"]) == group["ns_steps"], "ns_steps",
                     group["ns_steps"], "an integer from 0 to 99")
        self.require(group["adjust_lr_fn"] in (None, "original", "match_rms_adamw"), "adjust_lr_fn",
                     group["adjust_lr_fn"], "'original', 'match_rms_adamw' or None")
        for p in group["params"]:
            if getattr(p, "ndim", 2) != 2:
                raise ValueError(f"{self.name}: a parameter of shape {p.shape} is not a matrix; pass those with other "
                                 "axes, such as biases and filters, to another optimizer, such as AdamW")

    def update(self, x, g, state, lr, weight_decay, momentum, nesterov, ns_coefficients, eps, ns_steps, adjust_lr_fn):
        m, (a, b, c), (rows, columns) = state["momentum_buffer"], ns_coefficients, x.shape
        m += (1 - momentum) * (g - m)
        u = g + momentum * (m - g) if nesterov else m
        u = u.T if rows > columns else u
        u = u / max(float(np.linalg.norm(u)), eps)
        for _ in range(int(ns_steps)):
            s = u @ u.T
            u = a * u + (b * s + c * (s @ s)) @ u
        ratio = 0.2 * math.sqrt(max(rows, columns)) if adjust_lr_fn == "match_rms_adamw" else (
            math.sqrt(max(1, rows / max(columns, 1))))
        x *= 1 - lr * weight_decay
        x -= lr * ratio * (u.T if rows > columns else u)
