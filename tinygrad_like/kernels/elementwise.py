"""Arithmetic of float32 arrays on all threads. Functions of one number are formulas, too: formula.py."""

import numpy as np

from ..dtypes import FLOAT32
from . import vectormath
from .formula import pointwise
from .kinds import READ, WRITE
from .program import kernel
from .simd import inner

_COST = 0.06  # nanoseconds of a number: bound by memory, not by computing


@inner
def _range(n, task, tasks):
    return task * n // tasks, (task + 1) * n // tasks


# They broadcast as NumPy does.
add = pointwise(lambda a, b: a + b, "add")
sub = pointwise(lambda a, b: a - b, "sub")
mul = pointwise(lambda a, b: a * b, "mul")
div = pointwise(lambda a, b: a / b, "div")
hypot = pointwise(vectormath.hypot, "hypot")
logaddexp = pointwise(vectormath.logaddexp, "logaddexp")
fmod = pointwise(vectormath.fmod, "fmod", exact=vectormath.fmod_of_any)
mod = pointwise(vectormath.mod, "mod", exact=vectormath.mod_of_any)
floordiv = pointwise(vectormath.floordiv, "floordiv", exact=vectormath.floordiv_of_any)


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
