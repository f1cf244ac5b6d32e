"""Reductions into places that an index names, and what a mask selects."""

from __future__ import annotations

import numpy as np

from ..dtypes import FLOATS
from ..primitive import primitive
from .compare import cast, eq, isnan, logical_and, logical_or
from .elementwise import mul, where
from .index import getitem, place_along, put, scatter, source, take, values_of, varying
from .shape import expand, reshape

__all__ = ["extreme_at", "masked_select", "nonzero", "scatter", "scatter_reduce"]
REDUCTIONS = "sum", "prod", "mean", "amax", "amin"


def scatter_reduce(x, index, src, *, axis, reduce, include_self=True):
    """x with src reduced into it at index: for axis=1, out[i, index[i, j]] = reduce of x there and all src[i, j].

    reduce: "sum", "prod", "mean", "amax" or "amin". Without include_self, x does not count where anything is
    reduced into it. Extremes that tie share the cotangent evenly; products are exact with zeros.

    Raises ValueError for another reduce, or an index that does not fit.
    """
    if reduce not in REDUCTIONS:
        raise ValueError(f"scatter_reduce: reduce must be one of {', '.join(REDUCTIONS)}, got {reduce!r}")
    if hasattr(index, "_data") and not (reduce == "sum" and include_self):
        varying("scatter_reduce works out in NumPy which elements of the index are equal")
    place = place_along("scatter_reduce", x.shape, index, axis, src)
    src = source(src, x, index)
    if not include_self:
        touched = np.zeros(x.shape, bool)
        touched[place] = True
        x = where(touched, _neutral(reduce, x.dtype), x)
    if reduce == "prod":
        return mul(x, _products(src, place, x.shape))
    if reduce in ("amax", "amin"):
        return extreme_at(x, src, place=place, largest=reduce == "amax")
    total = x + put(src, shape=x.shape, index=place)
    if reduce == "sum":
        return total
    count = np.full(x.shape, int(include_self))
    np.add.at(count, place, 1)
    count = np.maximum(count, 1).astype(x.dtype)
    return total / count if x.dtype.kind in FLOATS else total // count


def _neutral(reduce: str, dtype: np.dtype):
    if reduce in ("amax", "amin"):
        sign = -1 if reduce == "amax" else 1
        return sign * np.inf if dtype.kind in FLOATS else getattr(np.iinfo(dtype), "min" if sign < 0 else "max")
    return 1 if reduce == "prod" else 0


def _products(src, place, shape):
    """The product of all of src that comes to a place, 1 where nothing does: of neighbours, until one is left."""
    to = np.arange(np.prod(shape, dtype=int)).reshape(shape)[place].ravel()
    order = np.argsort(to, kind="stable")
    to, factors = to[order], take(reshape(src, shape=(-1,)), index=(order,))
    while len(to) > 1 and (same := to[1:] == to[:-1]).any():
        i = np.arange(len(to))
        first = np.maximum.accumulate(np.where(np.append(False, same), 0, i))  # of the factors of the same place
        left = np.flatnonzero((i - first) % 2 == 0)
        right = np.minimum(left + 1, len(to) - 1)
        paired = (right > left) & (to[right] == to[left])
        factors = mul(take(factors, index=(left,)), where(paired, take(factors, index=(right,)), 1))
        to = to[left]
    touched = np.zeros(int(np.prod(shape)), bool)
    touched[to] = True
    return reshape(where(touched, put(factors, shape=touched.shape, index=(to,)), 1), shape=shape)


@primitive
def extreme_at(x, src, *, place, largest):
    """The larger (smaller) of x and all of src that comes to a place; those that tie share the cotangent evenly."""
    out = np.array(x)
    (np.maximum if largest else np.minimum).at(out, place, src)
    return out


extreme_at.vjp(x=lambda g, x, src, out, place: g * _shares(x, src, out, place)[0],
               src=lambda g, x, src, out, place: take(g, index=place) * _shares(x, src, out, place)[1])


def _shares(x, src, out, place):
    """1 / (number of ties) where x, and where src, is the extreme, else 0."""
    mine, theirs = _same(x, out), _same(src, take(out, index=place))
    ties = cast(mine, dtype=x.dtype) + put(cast(theirs, dtype=x.dtype), shape=x.shape, index=place)
    return where(mine, 1 / ties, 0.0), where(theirs, 1 / take(ties, index=place), 0.0)


def _same(a, b):
    return logical_or(eq(a, b), logical_and(isnan(a), isnan(b)))


# Masks ----------------------------------------------------------------------------------------------------------------


def masked_select(x, mask):
    """The elements of x where the mask is true, in a row; the two broadcast. Raises TypeError unless it is boolean."""
    mask = values_of("masked_select", mask, "gives a number of elements that depends on its mask; use where")
    if mask.dtype.kind != "b":
        raise TypeError(f"masked_select: the mask must be boolean, got {mask.dtype}; compare, or cast with .bool()")
    try:
        shape = np.broadcast_shapes(x.shape, mask.shape)
    except ValueError:
        raise ValueError(f"masked_select: shapes {x.shape} and {mask.shape} do not broadcast") from None
    return getitem(expand(x, shape=shape), np.broadcast_to(mask, shape))


@primitive
def nonzero(x):
    """The indices of all elements that are not 0, one in each row: (number, x.ndim)."""
    varying("nonzero gives a number of elements that depends on values")
    return np.argwhere(x)
