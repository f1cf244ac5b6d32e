"""Arithmetic of float32 arrays on all threads. Functions of one number are formulas, too: formula.py."""

import numpy as np

from ..dtypes import BOOL, FLOAT32
from . import vectormath
from .formula import pointwise
from .kinds import READ, WRITE
from .program import kernel
from .vectormath import where

_COST = 0.06  # nanoseconds of a number: bound by memory, not by computing


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
