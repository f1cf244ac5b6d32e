"""Comparisons, logic, tests, casts and copies: element by element, and without a slope worth a formula."""

from __future__ import annotations

import numpy as np

from ..dtypes import as_dtype
from ..primitive import primitive

# Without a gradient ---------------------------------------------------------------------------------------------------


@primitive
def eq(a, b):
    """a == b."""
    return np.equal(a, b)


@primitive
def ne(a, b):
    """a != b."""
    return np.not_equal(a, b)


@primitive
def lt(a, b):
    """a < b."""
    return np.less(a, b)


@primitive
def le(a, b):
    """a <= b."""
    return np.less_equal(a, b)


@primitive
def gt(a, b):
    """a > b."""
    return np.greater(a, b)


@primitive
def ge(a, b):
    """a >= b."""
    return np.greater_equal(a, b)


@primitive
def logical_and(a, b):
    """a and b of booleans; bit by bit for integers."""
    return np.bitwise_and(a, b)


@primitive
def logical_or(a, b):
    """a or b of booleans; bit by bit for integers."""
    return np.bitwise_or(a, b)


@primitive
def logical_xor(a, b):
    """Either a or b of booleans, not both; bit by bit for integers."""
    return np.bitwise_xor(a, b)


@primitive
def logical_not(x):
    """not x of booleans; bit by bit for integers."""
    return np.bitwise_not(x)


@primitive
def isnan(x):
    """Where x is NaN."""
    return np.isnan(x)


@primitive
def isinf(x):
    """Where x is infinite."""
    return np.isinf(x)


@primitive
def isfinite(x):
    """Where x is neither infinite nor NaN."""
    return np.isfinite(x)

# Type and copies ------------------------------------------------------------------------------------------------------


@primitive
def cast(x, *, dtype):
    """x with another dtype; between floats the gradient passes, cast back by the engine."""
    return x.astype(as_dtype(dtype, "cast"))


cast.vjp(x=lambda g: g)


@primitive
def clone(x):
    """A copy of x, on the graph."""
    return np.array(x, order="C")


clone.vjp(x=lambda g: g)


@primitive
def contiguous(x):
    """x in C order in memory; a copy only if it is not."""
    return x[...] if x.flags.c_contiguous else np.ascontiguousarray(x)


contiguous.vjp(x=lambda g: g)


@primitive
def identity(x):
    """x itself (a view on the same memory), as a new node of the graph."""
    return x[...]


identity.vjp(x=lambda g: g)
