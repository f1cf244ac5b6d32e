"""Arithmetic of float32 arrays on all threads. Functions of one number are formulas, too: formula.py."""

import numpy as np

from ..dtypes import FLOAT32
from .formula import pointwise
from .kinds import READ, WRITE
from .program import kernel
from .simd import inner, put

_COST = 0.06  # nanoseconds of a number: bound by memory, not by computing


@inner
def _range(n, task, tasks):
    return task * n // tasks, (task + 1) * n // tasks


# They broadcast as NumPy does.
add = pointwise(lambda a, b: a + b, "add")
sub = pointwise(lambda a, b: a - b, "sub")
mul = pointwise(lambda a, b: a * b, "mul")
div = pointwise(lambda a, b: a / b, "div")


@kernel(total=WRITE, b=READ, cost=_COST)
def _accumulate(total, b, task, tasks):
    first, last = _range(total.size, task, tasks)
    total, b = total[first:last], b[first:last]
    for i in range(total.size):
        total[i] += b[i]


def accumulate(total: np.ndarray, b: np.ndarray) -> np.ndarray:
    """total += b, of one shape."""
    if type(b) is not np.ndarray or b.dtype is not FLOAT32 or b.shape != total.shape or not total.flags.c_contiguous:
        return NotImplemented
    _accumulate(total, b)
    return total


@kernel(x=READ, out=WRITE, cost=_COST)
def _copy(x, out, task, tasks):
    first, last = _range(x.size, task, tasks)
    put(out[first:last], x[first:last])


def copied(x: np.ndarray) -> np.ndarray:
    """A copy of x in C order."""
    if not x.flags.c_contiguous:
        return NotImplemented
    out = np.empty(x.shape, np.float32)
    _copy(x, out)
    return out
