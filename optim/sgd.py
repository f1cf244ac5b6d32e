"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable, Iterable

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
        for name in ("momentum", "weight_decay"):
            self.require(group[name] >= 0, name, group[name], ">= 0")
        self.require(not group["nesterov"] or group["momentum"] > 0 == group["dampening"], "nesterov", True,
                     "used with momentum > 0 and dampening=0")

    def begin(self, name, x, dampening, **options):
        return None if dampening else super().begin(name, x)  # which the first gradient is not

    def update(self, x, g, state, lr, momentum, dampening, weight_decay, nesterov):
        g = g + weight_decay * x
        if momentum:
            b = momentum * state["momentum_buffer"] + (1 - dampening) * g if "momentum_buffer" in state else g
            state["momentum_buffer"] = b
            g = g + momentum * b if nesterov else b
        x -= lr * g
