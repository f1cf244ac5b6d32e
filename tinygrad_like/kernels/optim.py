"""Updates of float32 parameters by their gradients, in place and in one pass over memory.

Each is the formula of the optimizer of that name in `optim`; NumPy would pass over memory once for every arithmetic
operation. `scale` multiplies the gradient: 1, -1 to climb, or a factor that clips it.

One call updates all parameters, since to start the threads for each would cost more than many an update. `Rows` has the
arrays of one parameter in each row, in the order of the formula; one that is not used is EMPTY.
"""

from collections.abc import Sequence
from itertools import chain, repeat

import numpy as np

from . import threads
from .simd import floats_of, inner, is_array, is_contiguous, is_row_by_row, kernel, ndim_of, size_of
from .tasks import run
from .vectormath import F

PARALLEL_FROM = 16384
ZERO = F(0)
EMPTY = np.empty(0, np.float32)

class Rows:
    """The arrays of several parameters, a tuple of them for each, and a table of their ids: what tasks take."""

    def __init__(self, rows: Sequence[tuple[np.ndarray, ...]]):
        self.rows, width = rows, len(rows[0])
        ids = chain(map(id, chain.from_iterable(rows)), repeat(0, width))  # the last row is for `begun`
        self.table = np.fromiter(ids, np.int64, width * (len(rows) + 1)).reshape(-1, width)

    @property
    def suited(self) -> bool:
        """Whether every row is of float32 arrays in C order and of one shape, which may be written but for the second.

        Tasks rely on it. It takes any objects, and so little time that it can be asked at every step.
        """
        return _suited(self.table, id(EMPTY))

    @property
    def begun(self) -> bool:
        """Whether an update of these rows has taken place, or takes place in another thread."""
        return bool(self.table[-1, 0])


@kernel()
def _suited(table, empty):
    for row in table[:-1]:
        x = row[0]
        for i in range(row.size):
            a = row[i]
            if a == empty and i > 1:
                continue
            if not (is_array(a, empty, 1) and is_contiguous(a) and is_row_by_row(a, i != 1)
                    and ndim_of(a) == ndim_of(x)):
                return False
            for axis in range(ndim_of(a)):
                if size_of(a, axis) != size_of(x, axis):
                    return False
    return True


@inner
def _share(array, task, tasks):
    """This task's part of the array with this id."""
    x = floats_of(array)
    return x[task * x.size // tasks : (task + 1) * x.size // tasks]


@kernel(fastmath={"contract"})
def _sgd_task(table, lr, momentum, fresh, decay, nesterov, scale, task, tasks):
    lr, momentum, fresh, decay, scale = F(lr), F(momentum), F(fresh), F(decay), F(scale)
    table[-1, 0] = 1
    for row in table[:-1]:
        x, g, b = _share(row[0], task, tasks), _share(row[1], task, tasks), _share(row[2], task, tasks)
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
def _adam_task(table, lr, beta1, beta2, root, eps, decay, keep, scale, task, tasks):
    new1, new2 = F(1.0 - beta1), F(1.0 - beta2)  # of doubles: in float32, 1 - 0.999 has lost four digits
    lr, beta2, root, eps = F(lr), F(beta2), F(root), F(eps)
    decay, keep, scale = F(decay), F(keep), F(scale)
    table[-1, 0] = 1
    for row in table[:-1]:
        x, g = _share(row[0], task, tasks), _share(row[1], task, tasks)
        m, v = _share(row[2], task, tasks), _share(row[3], task, tasks)
        for i in range(x.size):
            p = keep * x[i]
            d = scale * g[i] + decay * p
            m[i] += new1 * (d - m[i])
            v[i] = beta2 * v[i] + new2 * d * d
            x[i] = p - lr * m[i] / (np.sqrt(v[i]) * root + eps)


@kernel(fastmath={"contract"})
def _rmsprop_task(table, lr, alpha, eps, decay, momentum, scale, task, tasks):
    new = F(1.0 - alpha)
    lr, alpha, eps, decay, momentum, scale = F(lr), F(alpha), F(eps), F(decay), F(momentum), F(scale)
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


def _run(task, rows: Rows, *numbers) -> None:
    large = sum([row[0].size for row in rows.rows]) >= PARALLEL_FROM
    run(task, large, rows.table, *numbers, tasks=threads.count)  # more would cut the many short rows to pieces


def sgd(rows: Rows, lr: float, momentum: float, fresh: float, weight_decay: float, nesterov: bool,
        scale: float) -> None:
    """For rows (x, g, b): d = scale g + weight_decay x, b = momentum b + fresh d, x -= lr b; or, with Nesterov,
    x -= lr (d + momentum b).

    Without momentum b is EMPTY, and x -= lr d. `fresh` is 1 - dampening; at the first step, where b is 0, it is 1.
    """
    _run(_sgd_task, rows, lr, float(momentum), fresh, float(weight_decay), bool(nesterov), scale)


def adam(rows: Rows, lr: float, beta1: float, beta2: float, root: float, eps: float, weight_decay: float, keep: float,
         scale: float) -> None:
    """For rows (x, g, m, v): d = scale g + weight_decay x, m += (1 - beta1) (d - m), v = beta2 v + (1 - beta2) d^2, and
    then x = keep x - lr m / (root sqrt(v) + eps), where AdamW's keep is 1 - lr weight_decay.

    The corrections of step t are in the last lr, divided by 1 - beta1^t, and in root = (1 - beta2^t)^-1/2.
    """
    _run(_adam_task, rows, lr, float(beta1), float(beta2), root, float(eps), float(weight_decay), keep, scale)


def rmsprop(rows: Rows, lr: float, alpha: float, eps: float, weight_decay: float, momentum: float,
            scale: float) -> None:
    """For rows (x, g, v, a, b): d = scale g + weight_decay x, v = alpha v + (1 - alpha) d^2, a += (1 - alpha) (d - a),
    b = momentum b + d / (sqrt(v - a^2) + eps), x -= lr b.

    a is EMPTY, and counts as 0, unless centered; b is EMPTY without momentum.
    """
    _run(_rmsprop_task, rows, lr, float(alpha), float(eps), float(weight_decay), float(momentum), scale)
