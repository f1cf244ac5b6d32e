"""Arithmetic of float32 arrays, and losses, on all threads. Unary functions are formulas, see formula.py."""

from collections.abc import Callable

import numpy as np

from ..dtypes import BOOL, FLOAT32
from . import vectormath
from .formula import Formula, pointwise
from .kinds import READ, REAL, REALS, WRITE
from .late import njit
from .program import kernel, together
from .simd import inner
from .vectormath import F, where

_COST = 0.06  # nanoseconds per element: bound by memory, not by computing
_PIECE, _BLOCK = 1024, 4096  # elements summed in float32, in many lanes; and in float64, by one task
_adding = njit(fastmath={"reassoc", "contract"})


# They broadcast as NumPy does.
add = pointwise(lambda a, b: a + b, "add")
sub = pointwise(lambda a, b: a - b, "sub")
mul = pointwise(lambda a, b: a * b, "mul")
div = pointwise(lambda a, b: a / b, "div")
logaddexp = pointwise(vectormath.logaddexp, "logaddexp")
_where = pointwise(lambda condition, a, b: where(condition != 0, a, b), "where")


def select(like: np.ndarray, condition: np.ndarray, a, b) -> np.ndarray:
    """np.where(condition, a, b), of numbers and arrays of float32."""
    if type(condition) is not np.ndarray or condition.dtype is not BOOL:
        return NotImplemented
    return _where(condition.astype(FLOAT32), a, b)


@kernel(total=WRITE, b=READ, cost=_COST)
def _accumulate(total, b, task, tasks):
    first, last = task * total.size // tasks, (task + 1) * total.size // tasks
    total, b = total[first:last], b[first:last]
    for i in range(total.size):
        total[i] += b[i]


def accumulate(total: np.ndarray, b: np.ndarray) -> np.ndarray:
    """total += b, of one shape."""
    if type(b) is not np.ndarray or b.dtype is not FLOAT32 or b.shape != total.shape or not total.flags.c_contiguous:
        return NotImplemented
    _accumulate(total, b)
    return total


# --- Losses: the sum of a formula of two arrays, and its VJP ----------------------------------------------------------


@inner
def _write_sum(partial, scale, y):
    total = 0.0
    for part in partial:
        total += part
    y[0] = total * scale


@kernel(partial=REALS, scale=REAL, y=WRITE, tasks=1)
def _add_up(partial, scale, y, task, tasks):
    if task == 0:
        _write_sum(partial, scale, y)


def loss(formula: Callable, name: str) -> Callable:
    """sum_i formula(a[i], b[i]), or the mean, or, if reduction is "none", all of them, as a function of two arrays."""
    f, each = Formula(formula, name), pointwise(formula, name)
    scalar, cost = f.scalar, f.cost

    @_adding
    @f.named
    def add(a, b):
        total = F(0)
        for i in range(a.size):
            total += scalar(a[i], b[i])
        return total

    def sums(a, b, partial, scale, y, task, tasks):
        for block in range(task * partial.size // tasks, (task + 1) * partial.size // tasks):
            total, end = 0.0, min((block + 1) * _BLOCK, a.size)
            for first in range(block * _BLOCK, end, _PIECE):
                last = min(first + _PIECE, end)
                total += add(a[first:last], b[first:last])
            partial[block] = total
        if partial.size == 1 and task == tasks - 1:  # the task that failed
            _write_sum(partial, scale, y)

    def work(a, b, partial, scale, y):
        return int(a.size * cost) if a.size == b.size <= partial.size * _BLOCK else -1

    sums = f.kernel(sums, work, a=READ, b=READ, partial=REALS._replace(writes=True), scale=REAL, y=WRITE)

    def run(a, b, reduction):
        if type(b) is not np.ndarray or b.dtype is not FLOAT32:
            return NotImplemented
        if reduction == "none":
            return each(a, b)
        partial, y = np.empty(-(-a.size // _BLOCK)), np.empty((), FLOAT32)
        scale = 1 / a.size if reduction == "mean" else 1.0
        if partial.size == 1:
            sums(a, b, partial, scale, y)
        else:
            with together():
                sums(a, b, partial, scale, y)
                _add_up(partial, scale, y)
        return y

    return run


def loss_vjp(formula: Callable, name: str) -> Callable:
    """y[i] = formula(g[i], a[i], b[i]), as a function of a, b, g and the reduction: if there was one, g is one number,
    which for a mean is divided by how many there are of a."""
    f = Formula(formula, name)
    scalar, cost = f.scalar, f.cost

    def each(g, a, b, scale, y, task, tasks):
        first, last = task * y.size // tasks, (task + 1) * y.size // tasks
        a, b, y = a[first:last], b[first:last], y[first:last]
        if g.size == 1:
            factor = F(g[0] * scale)
            for i in range(y.size):
                y[i] = scalar(factor, a[i], b[i])
        else:
            g = g[first:last]
            for i in range(y.size):
                y[i] = scalar(g[i], a[i], b[i])

    def work(g, a, b, scale, y):
        return int(y.size * cost) if a.size == b.size == y.size and (g.size == 1 or g.size == y.size) else -1

    each = f.kernel(each, work, g=READ, a=READ, b=READ, scale=REAL, y=WRITE)

    def run(a, b, g, reduction):
        if type(b) is not np.ndarray or b.dtype is not FLOAT32 or g.dtype is not FLOAT32:
            return NotImplemented
        y = np.empty(a.shape, FLOAT32)
        each(np.asarray(g), a, b, 1 / a.size if reduction == "mean" else 1.0, y)
        return y

    return run
