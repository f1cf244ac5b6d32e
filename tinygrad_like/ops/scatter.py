"""Reductions into places that an index names, and what a mask selects."""

from __future__ import annotations

import numpy as np

from ..autograd import mode
from ..dtypes import FLOAT32, FLOAT64, FLOATS
from ..kernels import accelerated
from ..noting import noted
from ..primitive import primitive
from .compare import cast, eq, isnan, logical_and, logical_or
from .elementwise import mul, where
from .index import (
    _axis_and_index,
    _beside,
    _in_range,
    _padded,
    _places,
    add_along,
    along,
    getitem,
    place_along,
    put,
    source,
    take,
)
from .shape import expand, reshape
from .values import looked_at, values_of

__all__ = ["extreme_at", "masked_select", "nonzero", "scatter", "scatter_reduce"]
REDUCTIONS = "sum", "prod", "mean", "amax", "amin"


def scatter(x, index, src, *, axis):
    """x with src written at index: out[i, index[i, j]] = src[i, j] for axis=1.

    Of several written to one place the last stays. The gradient reaches what is left of x, and of src what was not
    overwritten.
    """
    axis, index, _ = _axis_and_index("scatter", x.shape, index, axis, src)
    src = source(src, x, index)
    if not x.ndim:
        _in_range("scatter", (), index, 0)
        return x * 0 + src
    place = _in_range("scatter", x.shape, index, axis)
    src = where(stays(place, x.shape, axis), src, False)  # False is the zero of every dtype
    added = add_along(src, _beside(src, place), size=x.shape[axis], axis=axis)
    return where(untouched(place, x.shape, axis), x, _padded(added, x.shape))


@noted
def stays(index, shape, axis):
    """Of several entries of an index along `axis` that name one place, which is the last."""
    if not index.size:
        return np.ones(index.shape, bool)
    n = index.shape[axis]
    order = np.arange(n, dtype=FLOAT32 if n <= _COUNTED else FLOAT64).reshape(-1, *(1,) * (index.ndim - axis - 1))
    order = np.ascontiguousarray(np.broadcast_to(order, index.shape))
    return _along(put_along(np.zeros(shape, order.dtype), index, order, axis), index, axis) == order


_COUNTED = 1 << 24  # integers that float32 tells apart


def _along(x, index, axis):
    whole = (x.shape[:axis], x.shape[axis + 1 :]) == (index.shape[:axis], index.shape[axis + 1 :])
    return along(x, index, axis) if whole else x[_places(index, axis)]


@noted
def untouched(index, shape, axis):
    """Which places of an array of this shape no entry of an index along `axis` names."""
    return put_along(np.ones(shape, FLOAT32), index, np.zeros(index.shape, FLOAT32), axis) != 0


@accelerated
def put_along(out, index, x, axis):
    """out, with x written where an index along the axis says; of several the last stays."""
    out[_places(index, axis)] = x
    return out


def scatter_reduce(x, index, src, *, axis, reduce, include_self=True):
    """x with src reduced into it at index: for axis=1, out[i, index[i, j]] = reduce of x there and all src[i, j].

    reduce: "sum", "prod", "mean", "amax" or "amin". Without include_self, x does not count where anything is
    reduced into it. Extremes that tie share the cotangent evenly; products are exact with zeros.

    Raises ValueError for another reduce, or an index that does not fit.
    """
    if reduce not in REDUCTIONS:
        raise ValueError(f"scatter_reduce: reduce must be one of {', '.join(REDUCTIONS)}, got {reduce!r}")
    place = place_along("scatter_reduce", x.shape, index, axis, src)
    src = source(src, x, index)
    if not include_self:
        x = where(_touched(place, x.shape), _neutral(reduce, x.dtype), x)
    if reduce == "prod":
        return mul(x, _products(src, place, x.shape))
    if reduce in ("amax", "amin"):
        return extreme_at(x, src, place=place, largest=reduce == "amax")
    total = x + put(src, shape=x.shape, index=place)
    if reduce == "sum":
        return total
    count = _counts(place, x.shape, int(include_self), x.dtype)
    return total / count if x.dtype.kind in FLOATS else total // count


@noted
def _touched(place, shape):
    out = np.zeros(shape, bool)
    out[place] = True
    return out


@noted
def _counts(place, shape, more, dtype):
    """How many entries come to each place, and more; at least 1."""
    count = np.full(shape, more)
    np.add.at(count, place, 1)
    return np.maximum(count, 1).astype(dtype)


def _neutral(reduce: str, dtype: np.dtype):
    if reduce in ("amax", "amin"):
        sign = -1 if reduce == "amax" else 1
        return sign * np.inf if dtype.kind in FLOATS else getattr(np.iinfo(dtype), "min" if sign < 0 else "max")
    return 1 if reduce == "prod" else 0


def _products(src, place, shape):
    """The product of all of src that comes to a place, 1 where nothing does: of neighbours, of pairs of these, ..."""
    order, turn, touched, first = _sorted(place, shape)
    factors, apart = take(reshape(src, shape=(-1,)), index=(order,)), 1
    while apart < (len(turn) if mode.tape is not None else turn.max(initial=0) + 1):
        paired, right = _pairs(turn, apart)
        factors = mul(factors, where(paired, take(factors, index=(right,)), 1))
        apart *= 2
    return where(touched, take(factors, index=(first,)), 1) if len(turn) else np.ones(shape, src.dtype)


@noted
def _sorted(place, shape):
    """The entries in the order of their places; which of those of its place each is; whether a place has some; where
    they begin."""
    to = np.arange(np.prod(shape, dtype=int)).reshape(shape)[place].ravel()
    order = np.argsort(to, kind="stable")
    to, i = to[order], np.arange(len(to))
    begins = np.append(True, to[1:] != to[:-1])[:len(to)]
    first = np.full(int(np.prod(shape)), -1)
    first[to[begins]] = i[begins]
    return order, i - first[to], (first >= 0).reshape(shape), np.maximum(first, 0).reshape(shape)


@noted
def _pairs(turn, apart):
    """Whether another entry so far apart is multiplied to each, and which that would be."""
    right = np.minimum(np.arange(len(turn)) + apart, len(turn) - 1)
    return (turn % (2 * apart) == 0) & (turn[right] == turn + apart), right


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
    mask = values_of("masked_select", mask, "gives a number of elements that depends on its mask",
                     "use where, or multiply with the mask")
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
    looked_at(x, "nonzero gives a number of elements that depends on values", "use where, or a mask to multiply with")
    return np.argwhere(x)
