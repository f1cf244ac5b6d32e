"""Updates of float32 parameters by their gradients, in place and in one pass over memory.

Each is the formula of the optimizer of that name in `optim`; NumPy would pass over memory once for every arithmetic
operation. `scale` multiplies the gradient: 1, -1 to climb, or a factor that clips it.

One call updates all parameters, since to start the threads for each would cost more than many an update. `Rows` has the
arrays of one parameter in each row, in the order of the formula; one that is not used is EMPTY.
"""

from collections.abc import Callable

import numpy as np

from .kinds import REAL, TABLE
from .program import kernel
from .simd import inner
from .table import Table
from .vectormath import ONE, F, clip, maximum, sign
from .views import count_of, data_of, floats_at

ZERO = F(0)
_COST = 0.18  # nanoseconds of a number


@inner
def _work(table, *numbers):
    """Nanoseconds of an update."""
    count = 0
    for row in table[:-1]:
        count += count_of(row[0])
    return int(count * _COST)


@inner
def _share(array, task, tasks):
    """This task's part of the array at an address; of none, nothing."""
    n = count_of(array) if array else 0
    first, last = task * n // tasks, (task + 1) * n // tasks
    return floats_at((data_of(array) if array else 0) + 4 * first, last - first)


@kernel(table=TABLE, lr=REAL, momentum=REAL, fresh=REAL, decay=REAL, scale=REAL, keep=REAL,
        work=_work, tasks=1, fastmath={"contract"})
def _sgd(table, lr, momentum, fresh, decay, nesterov, scale, keep, task, tasks):
    lr, momentum, fresh, decay, scale, keep = F(lr), F(momentum), F(fresh), F(decay), F(scale), F(keep)
    table[-1, 0] = 1
    for row in table[:-1]:
        x, g, b = _share(row[0], task, tasks), _share(row[1], task, tasks), _share(row[2], task, tasks)
        if b.size == 0:
            for i in range(x.size):
                x[i] = keep * x[i] - lr * (scale * g[i] + decay * x[i])
        elif nesterov:
            for i in range(x.size):
                d = scale * g[i] + decay * x[i]
                b[i] = momentum * b[i] + fresh * d
                x[i] = keep * x[i] - lr * (d + momentum * b[i])
        else:
            for i in range(x.size):
                b[i] = momentum * b[i] + fresh * (scale * g[i] + decay * x[i])
                x[i] = keep * x[i] - lr * b[i]


@kernel(table=TABLE, lr=REAL, ahead=REAL, beta1=REAL, beta2=REAL, root=REAL, eps=REAL, decay=REAL, keep=REAL,
        scale=REAL, work=_work, tasks=1, fastmath={"contract"})
def _adam(table, lr, ahead, beta1, beta2, root, eps, decay, keep, scale, task, tasks):
    new1, new2 = F(1.0 - beta1), F(1.0 - beta2)  # of doubles: in float32, 1 - 0.999 has lost four digits
    lr, ahead, beta2, root, eps = F(lr), F(ahead), F(beta2), F(root), F(eps)
    decay, keep, scale = F(decay), F(keep), F(scale)
    table[-1, 0] = 1
    for row in table[:-1]:
        x, g = _share(row[0], task, tasks), _share(row[1], task, tasks)
        m, v = _share(row[2], task, tasks), _share(row[3], task, tasks)
        largest = _share(row[4], task, tasks)
        for i in range(x.size):
            p = keep * x[i]
            d = scale * g[i] + decay * p
            m[i] += new1 * (d - m[i])
            v[i] = beta2 * v[i] + new2 * d * d
            square = v[i]
            if largest.size:
                square = largest[i] if largest[i] >= square or largest[i] != largest[i] else square  # NaN stays
                largest[i] = square
            x[i] = p - (lr * m[i] + ahead * d) / (np.sqrt(square) * root + eps)


@kernel(table=TABLE, lr=REAL, alpha=REAL, new=REAL, eps=REAL, decay=REAL, momentum=REAL, scale=REAL,
        work=_work, tasks=1, fastmath={"contract"})
def _rmsprop(table, lr, alpha, new, eps, decay, momentum, scale, task, tasks):
    lr, alpha, new, eps = F(lr), F(alpha), F(new), F(eps)
    decay, momentum, scale = F(decay), F(momentum), F(scale)
    table[-1, 0] = 1
    for row in table[:-1]:
        x, g, v = _share(row[0], task, tasks), _share(row[1], task, tasks), _share(row[2], task, tasks)
        a, b = _share(row[3], task, tasks), _share(row[4], task, tasks)
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


@kernel(table=TABLE, lr=REAL, beta1=REAL, beta2=REAL, eps=REAL, decay=REAL, scale=REAL,
        work=_work, tasks=1, fastmath={"contract"})
def _adamax(table, lr, beta1, beta2, eps, decay, scale, task, tasks):
    new1 = F(1.0 - beta1)
    lr, beta2, eps, decay, scale = F(lr), F(beta2), F(eps), F(decay), F(scale)
    table[-1, 0] = 1
    for row in table[:-1]:
        x, g = _share(row[0], task, tasks), _share(row[1], task, tasks)
        m, u = _share(row[2], task, tasks), _share(row[3], task, tasks)
        for i in range(x.size):
            d = scale * g[i] + decay * x[i]
            m[i] += new1 * (d - m[i])
            u[i] = maximum(beta2 * u[i], abs(d) + eps)
            x[i] -= lr * m[i] / u[i]


@kernel(table=TABLE, lr=REAL, rho=REAL, new=REAL, eps=REAL, decay=REAL, scale=REAL,
        work=_work, tasks=1, fastmath={"contract"})
def _adadelta(table, lr, rho, new, eps, decay, scale, task, tasks):
    lr, rho, new, eps, decay, scale = F(lr), F(rho), F(new), F(eps), F(decay), F(scale)
    table[-1, 0] = 1
    for row in table[:-1]:
        x, g = _share(row[0], task, tasks), _share(row[1], task, tasks)
        v, u = _share(row[2], task, tasks), _share(row[3], task, tasks)
        for i in range(x.size):
            d = scale * g[i] + decay * x[i]
            v[i] = rho * v[i] + new * d * d
            d *= np.sqrt(u[i] + eps) / np.sqrt(v[i] + eps)
            u[i] = rho * u[i] + new * d * d
            x[i] -= lr * d


@kernel(table=TABLE, shrink=REAL, grow=REAL, least=REAL, most=REAL, scale=REAL, work=_work, tasks=1)
def _rprop(table, shrink, grow, least, most, scale, task, tasks):
    shrink, grow, least, most, scale = F(shrink), F(grow), F(least), F(most), F(scale)
    table[-1, 0] = 1
    for row in table[:-1]:
        x, g = _share(row[0], task, tasks), _share(row[1], task, tasks)
        before, s = _share(row[2], task, tasks), _share(row[3], task, tasks)
        for i in range(x.size):
            d = scale * g[i]
            same = d * before[i]
            s[i] = clip(s[i] * (grow if same > ZERO else shrink if same < ZERO else ONE), least, most)
            before[i] = ZERO if same < ZERO else d
            x[i] -= sign(before[i]) * s[i]


@kernel(table=TABLE, eta=REAL, keep=REAL, mu=REAL, decay=REAL, scale=REAL,
        work=_work, tasks=1, fastmath={"contract"})
def _asgd(table, eta, keep, mu, decay, scale, task, tasks):
    eta, keep, mu, decay, scale = F(eta), F(keep), F(mu), F(decay), F(scale)
    table[-1, 0] = 1
    for row in table[:-1]:
        x, g, a = _share(row[0], task, tasks), _share(row[1], task, tasks), _share(row[2], task, tasks)
        for i in range(x.size):
            x[i] = keep * x[i] - eta * (scale * g[i] + decay * x[i])
            a[i] = x[i] if mu == ONE else a[i] + mu * (x[i] - a[i])


def fused_update(name: str) -> tuple[type[Table], Callable]:
    """What packs rows, and one of the functions below, by its name."""
    return Table, globals()[name]


def sgd(rows: Table, lr: float, momentum: float, fresh: float, weight_decay: float, nesterov: bool,
        scale: float, keep: float = 1.0) -> None:
    """For rows (x, g, b): d = scale g + weight_decay x, b = momentum b + fresh d, x = keep x - lr b; or, with Nesterov,
    x = keep x - lr (d + momentum b). SGDW's keep is 1 - lr weight_decay.

    Without momentum b is EMPTY, and x = keep x - lr d. `fresh` is 1 - dampening; at the first step, where b is 0, it
    is 1.
    """
    _sgd(rows, lr, momentum, fresh, weight_decay, nesterov, scale, keep)


def adam(rows: Table, lr: float, ahead: float, beta1: float, beta2: float, root: float, eps: float,
         weight_decay: float, keep: float, scale: float) -> None:
    """For rows (x, g, m, v, w): d = scale g + weight_decay x, m += (1 - beta1) (d - m), v = beta2 v + (1 - beta2) d^2,
    and x = keep x - (lr m + ahead d) / (root sqrt(v) + eps), where AdamW's keep is 1 - lr weight_decay, and ahead is
    0 but for NAdam. w is EMPTY, or the largest v so far, which then takes its place below the root.

    The corrections of step t are in the last lr, divided by 1 - beta1^t, and in root = (1 - beta2^t)^-1/2.
    """
    _adam(rows, lr, ahead, beta1, beta2, root, eps, weight_decay, keep, scale)


def rmsprop(rows: Table, lr: float, alpha: float, new: float, eps: float, weight_decay: float, momentum: float,
            scale: float) -> None:
    """For rows (x, g, v, a, b): d = scale g + weight_decay x, v = alpha v + new d^2, a += new (d - a),
    b = momentum b + d / (sqrt(v - a^2) + eps), x -= lr b.

    a is EMPTY, and counts as 0, unless centered; b is EMPTY without momentum. new is 1 - alpha, or for Adagrad's sum,
    where alpha is 1, it is 1 as well.
    """
    _rmsprop(rows, lr, alpha, new, eps, weight_decay, momentum, scale)


def adamax(rows: Table, lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, scale: float) -> None:
    """For rows (x, g, m, u): d = scale g + weight_decay x, m += (1 - beta1) (d - m), u = max(beta2 u, |d| + eps),
    x -= lr m / u."""
    _adamax(rows, lr, beta1, beta2, eps, weight_decay, scale)


def adadelta(rows: Table, lr: float, rho: float, new: float, eps: float, weight_decay: float, scale: float) -> None:
    """For rows (x, g, v, u): d = scale g + weight_decay x, v = rho v + new d^2, e = d sqrt(u + eps) / sqrt(v + eps),
    u = rho u + new e^2, x -= lr e. new is 1 - rho."""
    _adadelta(rows, lr, rho, new, eps, weight_decay, scale)


def rprop(rows: Table, shrink: float, grow: float, least: float, most: float, scale: float) -> None:
    """For rows (x, g, p, s): d = scale g, s is multiplied by `grow` where d and p have one sign, by `shrink` where they
    have two, and limited to [least, most]; p is 0 in the second case, else d; x -= sign(p) s."""
    _rprop(rows, shrink, grow, least, most, scale)


def asgd(rows: Table, eta: float, keep: float, mu: float, weight_decay: float, scale: float) -> None:
    """For rows (x, g, a): x = keep x - eta (scale g + weight_decay x), a += mu (x - a), where mu = 1 makes a = x."""
    _asgd(rows, eta, keep, mu, weight_decay, scale)
