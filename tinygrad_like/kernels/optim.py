"""Updates of a float32 parameter by its gradient, in place and in one pass over memory.

Each is the formula of the optimizer of that name in `optim`; NumPy would pass over memory once for every arithmetic
operation. `sign` is -1 to climb, else 1. Arrays are contiguous; one that is not used is EMPTY.
"""

import numpy as np
from numba import njit, prange

from . import threads
from .elementwise import PARALLEL
from .vectormath import INNER, F

PARALLEL_FROM = 16384
ZERO = F(0)
EMPTY = np.empty(0, np.float32)
FUSED = dict(fastmath={"contract"}, **INNER)


@njit(**FUSED)
def _sgd_range(x, g, b, lr, momentum, fresh, decay, nesterov, sign):
    lr, momentum, fresh, decay, sign = F(lr), F(momentum), F(fresh), F(decay), F(sign)
    if b.size == 0:
        for i in range(x.size):
            x[i] -= lr * (sign * g[i] + decay * x[i])
    elif nesterov:
        for i in range(x.size):
            d = sign * g[i] + decay * x[i]
            b[i] = momentum * b[i] + fresh * d
            x[i] -= lr * (d + momentum * b[i])
    else:
        for i in range(x.size):
            b[i] = momentum * b[i] + fresh * (sign * g[i] + decay * x[i])
            x[i] -= lr * b[i]


@njit(**PARALLEL)
def _sgd(x, g, b, lr, momentum, fresh, decay, nesterov, sign, tasks):
    if tasks == 1:
        _sgd_range(x, g, b, lr, momentum, fresh, decay, nesterov, sign)
    else:
        for t in prange(tasks):
            i, j = t * x.size // tasks, (t + 1) * x.size // tasks
            _sgd_range(x[i:j], g[i:j], b[i:j], lr, momentum, fresh, decay, nesterov, sign)


@njit(**FUSED)
def _adam_range(x, g, m, v, lr, beta1, beta2, root, eps, decay, keep, sign):
    new1, new2 = F(1.0 - beta1), F(1.0 - beta2)  # of doubles: in float32, 1 - 0.999 has lost four digits
    lr, beta2, root, eps = F(lr), F(beta2), F(root), F(eps)
    decay, keep, sign = F(decay), F(keep), F(sign)
    for i in range(x.size):
        p = keep * x[i]
        d = sign * g[i] + decay * p
        m[i] += new1 * (d - m[i])
        v[i] = beta2 * v[i] + new2 * d * d
        x[i] = p - lr * m[i] / (np.sqrt(v[i]) * root + eps)


@njit(**PARALLEL)
def _adam(x, g, m, v, lr, beta1, beta2, root, eps, decay, keep, sign, tasks):
    if tasks == 1:
        _adam_range(x, g, m, v, lr, beta1, beta2, root, eps, decay, keep, sign)
    else:
        for t in prange(tasks):
            i, j = t * x.size // tasks, (t + 1) * x.size // tasks
            _adam_range(x[i:j], g[i:j], m[i:j], v[i:j], lr, beta1, beta2, root, eps, decay, keep, sign)


@njit(**FUSED)
def _rmsprop_range(x, g, v, a, b, lr, alpha, eps, decay, momentum, sign):
    new = F(1.0 - alpha)
    lr, alpha, eps, decay, momentum, sign = F(lr), F(alpha), F(eps), F(decay), F(momentum), F(sign)
    for i in range(x.size):
        d = sign * g[i] + decay * x[i]
        v[i] = alpha * v[i] + new * d * d
        variance = v[i]
        if a.size:
            a[i] += new * (d - a[i])
            variance -= a[i] * a[i]
            variance = ZERO if variance < ZERO else variance
        d /= np.sqrt(variance) + eps
        if b.size:
            b[i] = momentum * b[i] + d
            d = b[i]
        x[i] -= lr * d


@njit(**PARALLEL)
def _rmsprop(x, g, v, a, b, lr, alpha, eps, decay, momentum, sign, tasks):
    if tasks == 1:
        _rmsprop_range(x, g, v, a, b, lr, alpha, eps, decay, momentum, sign)
    else:
        for t in prange(tasks):
            i, j = t * x.size // tasks, (t + 1) * x.size // tasks
            _rmsprop_range(x[i:j], g[i:j], v[i:j], a[i:j], b[i:j], lr, alpha, eps, decay, momentum, sign)


def _run(kernel, n, *args):
    if n < PARALLEL_FROM:
        kernel(*args, 1)
    else:
        with threads.pool:
            kernel(*args, threads.count)


def sgd(x, g, b, lr: float, momentum: float, fresh: float, weight_decay: float, nesterov: bool, sign: float) -> None:
    """b = momentum b + fresh (sign g + weight_decay x), x -= lr b; without momentum b is EMPTY."""
    _run(_sgd, x.size, x.ravel(), g.ravel(), b.ravel(), lr, momentum, fresh, weight_decay, nesterov, sign)


def adam(x, g, m, v, lr: float, beta1: float, beta2: float, root: float, eps: float, weight_decay: float, keep: float,
         sign: float) -> None:
    """x = keep x - lr m / (root sqrt(v) + eps), after m and v have seen sign g + weight_decay x."""
    _run(_adam, x.size, x.ravel(), g.ravel(), m.ravel(), v.ravel(), lr, beta1, beta2, root, eps, weight_decay, keep,
         sign)


def rmsprop(x, g, v, a, b, lr: float, alpha: float, eps: float, weight_decay: float, momentum: float,
            sign: float) -> None:
    """x -= lr b, b = momentum b + g / (sqrt(v - a^2) + eps); a is EMPTY unless centered, b without momentum."""
    _run(_rmsprop, x.size, x.ravel(), g.ravel(), v.ravel(), a.ravel(), b.ravel(), lr, alpha, eps, weight_decay,
         momentum, sign)
