"""Comparisons, logic, tests, casts and copies, element by element."""

from __future__ import annotations

import numpy as np

from ..core.primitive import primitive
from ..dtypes import BOOL, as_dtype
from ..rings import replaceable
from .pointwise import ufunc

# Without a gradient ---------------------------------------------------------------------------------------------------

eq = ufunc("eq", "a == b.", lambda a, b: np.equal(a, b))
ne = ufunc("ne", "a != b.", lambda a, b: np.not_equal(a, b))
lt = ufunc("lt", "a < b.", lambda a, b: np.less(a, b))
le = ufunc("le", "a <= b.", lambda a, b: np.less_equal(a, b))
gt = ufunc("gt", "a > b.", lambda a, b: np.greater(a, b))
ge = ufunc("ge", "a >= b.", lambda a, b: np.greater_equal(a, b))
logical_and = ufunc("logical_and", "a and b of booleans; bit by bit for integers.", lambda a, b: np.bitwise_and(a, b))
logical_or = ufunc("logical_or", "a or b of booleans; bit by bit for integers.", lambda a, b: np.bitwise_or(a, b))
logical_xor = ufunc("logical_xor", "Either a or b, but not both, of booleans; bit by bit for integers.",
                    lambda a, b: np.bitwise_xor(a, b))
logical_not = ufunc("logical_not", "not x of booleans; bit by bit for integers.", lambda x: np.bitwise_not(x))


def truth(x):
    """x as booleans, False where it is 0; a number as True or False."""
    if type(x) in (bool, int, float):
        return bool(x)
    x = x if hasattr(x, "dtype") else np.asarray(x)
    return x if x.dtype is BOOL else cast(x, dtype=BOOL)


isnan = ufunc("isnan", "Where x is NaN.", lambda x: np.isnan(x))
isinf = ufunc("isinf", "Where x is infinite.", lambda x: np.isinf(x))
isfinite = ufunc("isfinite", "Where x is neither infinite nor NaN.", lambda x: np.isfinite(x))

# Type and copies ------------------------------------------------------------------------------------------------------


@primitive
def cast(x, *, dtype):
    """x with another dtype; between floats the gradient passes, cast back by the engine."""
    return x.astype(as_dtype(dtype, "cast"))


cast.vjp(x=lambda g: g)


@replaceable
def copied(x):
    """A copy of x in C order."""
    return np.array(x, order="C")


@primitive
def clone(x):
    """A copy of x, on the graph."""
    return copied(x)


clone.vjp(x=lambda g: g)


@primitive
def contiguous(x):
    """x in C order in memory; a copy only if it is not."""
    return x[...] if x.flags.c_contiguous else copied(x)


contiguous.vjp(x=lambda g: g)


@primitive
def identity(x):
    """x itself (a view on the same memory), as a new node of the graph."""
    return x[...]


identity.vjp(x=lambda g: g)
