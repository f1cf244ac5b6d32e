"""Steps of optimizers on float32 parameters, in place and in one pass over memory.

Each computes the formula of the optimizer of that name in `optim`, and is tested against it; NumPy would pass over
memory once for every arithmetic operation. One call updates all parameters, since starting the threads for each would
often take longer than its update, and so that no interrupt comes between them.

A row of a `Table` has the arrays of a parameter: x, its gradient, its state in the order of the optimizer's
`state_names`, its count of steps or None, and the numbers of its group: lr, then the options in order, a pair as two
numbers, False as 0.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np

from .kinds import TABLE, WRITE, Table
from .program import Kernel, kernel, play
from .simd import inner
from .vectormath import F, maximum
from .views import count_of, data_of, floats_at, integer_at, integers_at, real_at

ZERO = F(0)
_COST = 0.18  # nanoseconds per element


@inner
def _work(table, *numbers):
    """Nanoseconds of an update."""
    count = 0
    for row in table:
        count += count_of(row[0])
    return int(count * _COST)


@inner
def _share(array, task, tasks):
    """This task's part of the array at an address; empty if there is none."""
    n = count_of(array) if array else 0
    first, last = task * n // tasks, (task + 1) * n // tasks
    return floats_at((data_of(array) if array else 0) + 4 * first, last - first)


@inner
def _number(row, i):
    """The i-th number of the group of a row."""
    return real_at(data_of(row[-1]), i)


@inner
def _step(row):
    """The number of steps, with this one."""
    return integer_at(data_of(row[-2]), 0) + 1


@inner
def _sign(row, i):
    """The sign of the gradient: -1 if option i, `maximize`, is set."""
    return F(-1.0) if _number(row, i) != 0 else F(1.0)


@kernel(table=TABLE, count=WRITE.of(np.int64), cost=0, tasks=1)
def _count(table, count, task, tasks):
    count[0] += 1
    for row in table:
        if row[-2]:
            step = integers_at(data_of(row[-2]), 1)
            step[0] += 1


@kernel(table=TABLE, work=_work, tasks=1, fastmath={"contract"})
def _sgd(table, task, tasks):
    for row in table:
        x, g, b = _share(row[0], task, tasks), _share(row[1], task, tasks), _share(row[2], task, tasks)
        lr, momentum, fresh = F(_number(row, 0)), F(_number(row, 1)), F(1.0 - _number(row, 2))
        decay, nesterov, scale = F(_number(row, 3)), _number(row, 4) != 0, _sign(row, 5)
        if b.size == 0 or momentum == ZERO:
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


@kernel(table=TABLE, work=_work, tasks=1, fastmath={"contract"})
def _adam(table, decoupled, task, tasks):
    for row in table:
        x, g = _share(row[0], task, tasks), _share(row[1], task, tasks)
        m, v, largest = _share(row[2], task, tasks), _share(row[3], task, tasks), _share(row[4], task, tasks)
        t, b1, b2 = _step(row), _number(row, 1), _number(row, 2)
        lr, root = F(_number(row, 0) / (1 - b1**t)), F(1 / np.sqrt(1 - b2**t))
        new1, new2, beta2 = F(1.0 - b1), F(1.0 - b2), F(b2)  # in float32, 1 - 0.999 would lose four digits
        eps, decay, scale = F(_number(row, 3)), F(_number(row, 4)), _sign(row, 6)
        keep = F(1.0 - _number(row, 0) * _number(row, 4)) if decoupled else F(1.0)
        decay = ZERO if decoupled else decay
        if largest.size > 0 and _number(row, 5) != 0:  # amsgrad
            for i in range(x.size):
                p = keep * x[i]
                d = scale * g[i] + decay * p
                m[i] += new1 * (d - m[i])
                square = v[i] = beta2 * v[i] + new2 * d * d
                square = largest[i] = maximum(largest[i], square)
                x[i] = p - lr * m[i] / (np.sqrt(square) * root + eps)
        else:
            for i in range(x.size):
                p = keep * x[i]
                d = scale * g[i] + decay * p
                m[i] += new1 * (d - m[i])
                v[i] = beta2 * v[i] + new2 * d * d
                x[i] = p - lr * m[i] / (np.sqrt(v[i]) * root + eps)


@kernel(table=TABLE, work=_work, tasks=1, fastmath={"contract"})
def _rmsprop(table, task, tasks):
    for row in table:
        x, g, v = _share(row[0], task, tasks), _share(row[1], task, tasks), _share(row[2], task, tasks)
        a, b = _share(row[3], task, tasks), _share(row[4], task, tasks)
        lr, alpha, new, eps = F(_number(row, 0)), F(_number(row, 1)), F(1.0 - _number(row, 1)), F(_number(row, 2))
        decay, momentum, scale = F(_number(row, 3)), F(_number(row, 4)), _sign(row, 6)
        centered, moves = a.size > 0 and _number(row, 5) != 0, b.size > 0 and momentum != ZERO
        if not (centered or moves):  # a loop of its own, since a loop with two conditions is not vectorised
            for i in range(x.size):
                d = scale * g[i] + decay * x[i]
                v[i] = alpha * v[i] + new * d * d
                x[i] -= lr * d / (np.sqrt(v[i]) + eps)
            continue
        for i in range(x.size):
            d = scale * g[i] + decay * x[i]
            v[i] = alpha * v[i] + new * d * d
            variance = v[i]
            if centered:
                a[i] += new * (d - a[i])
                variance -= a[i] * a[i]
                variance = ZERO if variance < ZERO else variance
            d /= np.sqrt(variance) + eps
            if moves:
                b[i] = momentum * b[i] + d
                d = b[i]
            x[i] -= lr * d


_KERNELS: dict[str, tuple] = {"SGD": (_sgd,), "Adam": (_adam, 0), "AdamW": (_adam, 1), "RMSProp": (_rmsprop,)}


@lru_cache
def fused_update(formula: Callable) -> tuple[type[Table], Callable] | None:
    """The function that makes a table of rows, and the function of the table and the optimizer's step count that
    applies a formula of `optim` to all rows, and counts the step; None if the formula has no kernel."""
    name, _, method = formula.__qualname__.partition(".")
    if name not in _KERNELS or method != "update" or formula.__module__.split(".")[-2:-1] != ["optim"]:
        return None
    return Table, partial(step, *_KERNELS[name])


def step(update: Kernel, *rest: Any) -> None:
    """Update all rows of a table, with the options of the kernel, and count the step: (update, *options, table, count).

    No interrupt comes between the two: threads are woken before, if necessary.
    """
    *options, table, count = rest
    first, last = (table, *options), (table, count)
    play([(update, update.pack(*first), first), (_count, _count.pack(*last), last)])
