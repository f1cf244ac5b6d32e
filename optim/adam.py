"""Adam, and AdamW, whose weight decay stays out of the moments."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from .optimizer import Optimizer


class Adam(Optimizer):
    """The step size follows running means of the gradient (m) and of its square (v), corrected for starting at 0.

        g <- g + weight_decay x
        m <- beta1 m + (1 - beta1) g
        v <- beta2 v + (1 - beta2) g^2
        x <- x - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps)        at the t-th step, from 1

    amsgrad: in place of v the largest v so far (Reddi et al. 2018). maximize: climb instead, g <- -g.
    Source: Kingma and Ba 2015.
    """

    state_names: tuple[str, ...] = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    kernel = "adam"
    decoupled = False

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0,
                 amsgrad: bool = False, maximize: bool = False):
        super().__init__(params, lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                         maximize=maximize)

    def check(self, group):
        betas = group["betas"]
        self.require(len(betas) == 2 and all(0 <= beta < 1 for beta in betas), "betas", betas, "two numbers in [0, 1)")
        for name in ("eps", "weight_decay"):
            self.require(group[name] >= 0, name, group[name], ">= 0")

    def update(self, x, g, state, lr, group):
        (x, g, m, v, largest), numbers = self.arguments(x, g, state, lr, group)
        lr, ahead, beta1, beta2, root, eps, decay, retained, sign = numbers
        x *= retained
        g = sign * g
        if decay:
            g = g + decay * x
        m += (1 - beta1) * (g - m)
        v *= beta2
        v += (1 - beta2) * g * g
        if largest is not None:
            v = np.maximum(v, largest, out=largest)
        x -= (lr * m + ahead * g if ahead else lr * m) / (np.sqrt(v) * root + eps)

    def arguments(self, x, g, state, lr, group):
        beta1, beta2 = group["betas"]
        state["step"] += 1
        t, decay = state["step"], group["weight_decay"]
        decoupled = group.get("decoupled_weight_decay", self.decoupled)
        decay, retained = (0.0, 1.0 - lr * decay) if decoupled else (decay, 1.0)
        largest = state["max_exp_avg_sq"] if group.get("amsgrad") else None
        return ((x, g, state["exp_avg"], state["exp_avg_sq"], largest),
                (lr / (1 - beta1**t), 0.0, beta1, beta2, (1 - beta2**t) ** -0.5, group["eps"], decay, retained,
                 -1.0 if group["maximize"] else 1.0))


class AdamW(Adam):
    """Adam with decoupled weight decay: x <- x - lr weight_decay x first, and m and v see only the gradient.

    Source: Loshchilov and Hutter 2019, in PyTorch's form, where the decay is scaled by the learning rate.
    """

    decoupled = True

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
                 amsgrad: bool = False, maximize: bool = False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize)
