"""Adam; AdamW, which keeps weight decay out of the moments; and Adamax, which divides by the largest gradient."""

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

    amsgrad: use the largest v so far in place of v (Reddi et al. 2018). maximize: climb instead, g <- -g.
    Source: Kingma and Ba 2015.
    """

    state_names = {"exp_avg": "", "exp_avg_sq": "", "max_exp_avg_sq": "amsgrad", "step": ""}

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0,
                 amsgrad: bool = False, maximize: bool = False):
        super().__init__(params, lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                         maximize=maximize)

    def update(self, x, g, state, lr, betas, eps, weight_decay, amsgrad):
        m, v, t, (beta1, beta2) = state["exp_avg"], state["exp_avg_sq"], state["step"], betas
        g = g + weight_decay * x
        m += (1 - beta1) * (g - m)
        v += (1 - beta2) * (g * g - v)
        if amsgrad:
            v = np.maximum(v, state["max_exp_avg_sq"], out=state["max_exp_avg_sq"])
        x -= lr / (1 - beta1**t) * m / (np.sqrt(v / (1 - beta2**t)) + eps)


class AdamW(Adam):
    """Adam with decoupled weight decay: x <- x - lr weight_decay x first, and m and v see only the gradient.

    Source: Loshchilov and Hutter 2019, in PyTorch's form, where the decay is scaled by the learning rate.
    """

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 1e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 1e-2,
                 amsgrad: bool = False, maximize: bool = False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize)

    def update(self, x, g, state, lr, weight_decay, **options):
        x *= 1 - lr * weight_decay
        super().update(x, g, state, lr, weight_decay=0.0, **options)


class Adamax(Optimizer):
    """Adam with a decaying maximum of |g| in place of the root mean square.

        m <- beta1 m + (1 - beta1) g
        u <- max(beta2 u, |g| + eps)
        x <- x - lr / (1 - beta1^t) m / u        at the t-th step, from 1

    weight_decay: g <- g + weight_decay x first. maximize: climb instead, g <- -g. Source: Kingma and Ba 2015.
    """

    state_names = {"exp_avg": "", "exp_inf": "", "step": ""}

    def __init__(self, params: Iterable, lr: float | Callable[[int], float] = 2e-3,
                 betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0.0,
                 maximize: bool = False):
        super().__init__(params, lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)

    def update(self, x, g, state, lr, betas, eps, weight_decay):
        m, u, t, (beta1, beta2) = state["exp_avg"], state["exp_inf"], state["step"], betas
        g = g + weight_decay * x
        m += (1 - beta1) * (g - m)
        np.maximum(beta2 * u, np.abs(g) + eps, out=u)
        x -= lr / (1 - beta1**t) * m / u
