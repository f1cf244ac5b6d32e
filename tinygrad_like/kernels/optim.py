"""Updates of a float32 parameter by its gradient, in place and in one pass over memory.

Each is the formula of the optimizer of that name in `optim`; NumPy would pass over memory once for every arithmetic
operation. `scale` multiplies the gradient: 1, -1 to climb, or a factor that clips it. All arrays are contiguous and of
one shape; one that is not used is EMPTY.
"""

import numpy as np

from .simd import kernel
from .tasks import run
from .vectormath import F

PARALLEL_FROM = 16384
ZERO = F(0)
EMPTY = np.empty(0, np.float32)



@kernel(fastmath={"contract"})
def _sgd_task(x, g, b, lr, momentum, fresh, decay, nesterov, scale, task, tasks):
    start, stop = task * x.size // tasks, (task + 1) * x.size // tasks
    x, g, b = x[start:stop], g[start:stop], b[start:stop]
    lr, momentum, fresh, decay, scale = F(lr), F(momentum), F(fresh), F(decay), F(scale)
    if b.size == 0:
        for i in range(x.size):
            x[i] -= lr * (scale * g[i] + decay * x[i])
    elif nesterov:
        for i in range(x.size):
            d = scale * g[i] + decay * x[i]
            b[i] = momentum * b[i] + fresh * d
            x[i] -= lr * (d + momentum * b[i])
    else:
        for i in range(x.size):
            b[i] = momentum * b[i] + fresh * (scale * g[i] + decay * x[i])
            x[i] -= lr * b[i]


@kernel(fastmath={"contract"})
def _adam_task(x, g, m, v, lr, beta1, beta2, root, eps, decay, keep, scale, task, tasks):
    start, stop = task * x.size // tasks, (task + 1) * x.size // tasks
    x, g, m, v = x[start:stop], g[start:stop], m[start:stop], v[start:stop]
    new1, new2 = F(1.0 - beta1), F(1.0 - beta2)  # of doubles: in float32, 1 - 0.999 has lost four digits
    lr, beta2, root, eps = F(lr), F(beta2), F(root), F(eps)
    decay, keep, scale = F(decay), F(keep), F(scale)
    for i in range(x.size):
        p = keep * x[i]
        d = scale * g[i] + decay * p
        m[i] += new1 * (d - m[i])
        v[i] = beta2 * v[i] + new2 * d * d
        x[i] = p - lr * m[i] / (np.sqrt(v[i]) * root + eps)


@kernel(fastmath={"contract"})
def _rmsprop_task(x, g, v, a, b, lr, alpha, eps, decay, momentum, scale, task, tasks):
    start, stop = task * x.size // tasks, (task + 1) * x.size // tasks
    x, g, v, a, b = x[start:stop], g[start:stop], v[start:stop], a[start:stop], b[start:stop]
    new = F(1.0 - alpha)
    lr, alpha, eps, decay, momentum, scale = F(lr), F(alpha), F(eps), F(decay), F(momentum), F(scale)
    for i in range(x.size):
        d = scale * g[i] + decay * x[i]
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


def sgd(x, g, b, lr: float, momentum: float, fresh: float, weight_decay: float, nesterov: bool, scale: float) -> None:
    """d = scale g + weight_decay x, b = momentum b + fresh d, x -= lr b; or, with Nesterov, x -= lr (d + momentum b).

    Without momentum b is EMPTY, and x -= lr d. `fresh` is 1 - dampening; at the first step, where b is 0, it is 1.
    """
    run(_sgd_task, x.size >= PARALLEL_FROM, x.ravel(), g.ravel(), b.ravel(), lr, momentum, fresh, weight_decay,
        nesterov, scale)


def adam(x, g, m, v, lr: float, beta1: float, beta2: float, root: float, eps: float, weight_decay: float, keep: float,
         scale: float) -> None:
    """d = scale g + weight_decay x, m += (1 - beta1) (d - m), v = beta2 v + (1 - beta2) d^2, and then
    x = keep x - lr m / (root sqrt(v) + eps), where AdamW's keep is 1 - lr weight_decay.

    The corrections of step t are in the last lr, divided by 1 - beta1^t, and in root = (1 - beta2^t)^-1/2.
    """
    run(_adam_task, x.size >= PARALLEL_FROM, x.ravel(), g.ravel(), m.ravel(), v.ravel(), lr, beta1, beta2, root, eps,
        weight_decay, keep, scale)


def rmsprop(x, g, v, a, b, lr: float, alpha: float, eps: float, weight_decay: float, momentum: float,
            scale: float) -> None:
    """d = scale g + weight_decay x, v = alpha v + (1 - alpha) d^2, a += (1 - alpha) (d - a),
    b = momentum b + d / (sqrt(v - a^2) + eps), x -= lr b.

    a is EMPTY, and counts as 0, unless centered; b is EMPTY without momentum.
    """
    run(_rmsprop_task, x.size >= PARALLEL_FROM, x.ravel(), g.ravel(), v.ravel(), a.ravel(), b.ravel(), lr, alpha, eps,
        weight_decay, momentum, scale)
