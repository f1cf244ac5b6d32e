"""Scatter reductions, and selection by a mask."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..core.listener import pure
from ..core.primitive import fresh, primitive
from ..core.tensor import Tensor
from ..dtypes import FLOATS
from ..errors import checked, refusal
from .along import add_along, as_index, beside, filled, flat_along, index_along, out_of_range, take_along
from .axes import broadcast
from .compare import cast, clone, eq, gt, isnan, logical_and, logical_or
from .composite import composite
from .elementwise import add, maximum, mul, where
from .index import looked_at, values_of
from .parts import put_onto, set_at, take
from .shape import expand, getitem, reshape

__all__ = ["extreme_at", "masked_select", "nonzero", "scatter", "scatter_add",
           "scatter_reduce"]
REDUCTIONS = "sum", "prod", "mean", "amax", "amin"
_PUT, _MULTIPLY, _MAX, _MIN = range(4)  # how src changes x
_UFUNCS = {_MULTIPLY: np.multiply, _MAX: np.maximum, _MIN: np.minimum}


def scattered(x, op, src, index, axis):
    """x with src written at an index along the axis, or multiplied by or compared with x there. The index has src's
    shape, or size 1 along all other axes."""
    out = np.array(x, np.result_type(x, src), order="C")
    row, place = out.reshape(-1), flat_along(np.broadcast_to(index, src.shape), x.shape, axis)
    if op == _PUT:
        row[place] = src
    else:
        _UFUNCS[op].at(row, place, src)
    return out


@primitive
def scatter_last(x, src, index, *, axis):
    """x with src written at an index along the axis; for a repeated index, the last one wins."""
    return scattered(x, _PUT, src, index, axis)


@primitive
def take_last(x, index, *, shape, axis):
    """The values at an index along the axis, in an array of this shape; 0 for entries that a later one repeats."""
    place, order = flat_along(np.broadcast_to(index, shape), x.shape, axis), np.arange(math.prod(shape)).reshape(shape)
    last = np.zeros(x.size, np.int64)
    last[place] = order
    return np.where(last[place] == order, x.reshape(-1)[place], np.zeros((), x.dtype))


scatter_last.vjp(x=fresh(lambda g, src_shape, index, axis: scatter_last(
                     g, np.zeros(src_shape, g.dtype), index, axis=axis)),
                 src=fresh(lambda g, src_shape, index, axis: take_last(g, index, shape=src_shape, axis=axis)))
take_last.vjp(x=fresh(lambda g, x_shape, index, axis: scatter_last(np.zeros(x_shape, g.dtype), g, index, axis=axis)))


def _to_places(who, x, index, src, axis, what):
    """Replace the part of x that the index reaches by what(part, src, index, axis=axis). A number as src fills it; a
    src larger than the index is cut to its size."""
    if not hasattr(src, "shape"):
        src = filled(x, as_index(index).shape, src)
    elif type(src) is np.ndarray:  # else the result would not be recorded
        src = beside(x, src)
    if not x.ndim:
        return reshape(_to_places(who, *[reshape(y, shape=(1,)) for y in (x, index, src)], axis, what), shape=())
    axis, index, row, whole = index_along(who, x.shape, index, axis)
    if src.shape != index.shape:
        if src.ndim != index.ndim or any([n < m for n, m in zip(src.shape, index.shape, strict=True)]):
            raise refusal(who, f"src has shape {src.shape} but index has shape {index.shape}; src must be no smaller")
        src = take(src, index=tuple([slice(0, n) for n in index.shape]))
    if not src.size:
        return clone(x)
    cut = () if whole else tuple([slice(None) if a == axis else slice(n) for a, n in enumerate(src.shape)])
    try:
        y = what(x if whole else take(x, index=cut), src, beside(x, index if row is None else row), axis=axis)
    except IndexError as error:
        raise refusal(who, out_of_range(x.shape, index, axis) or error) from None
    return y if whole else set_at(y, x, index=cut)


def scatter(x, index, src, *, axis) -> Tensor:
    """x with src written at index: out[i, index[i, j]] = src[i, j] for axis=1.

    For a repeated index, the last one wins. The gradient reaches what remains of x and of src.
    """
    return _to_places("scatter", x, index, src, axis, scatter_last)


def scatter_add(x, index, src, *, axis) -> Tensor:
    """x with src added at index: out[i, index[i, j]] += src[i, j] for axis=1. The adjoint of gather."""
    return _to_places("scatter_add", x, index, src, axis, add_at_places)


@checked
def scatter_reduce(x, index, src, *, axis, reduce, include_self=True) -> Tensor:
    """x with src reduced into it at index: for axis=1, out[i, index[i, j]] = reduce(x there, all src[i, j] for it).

    reduce: "sum", "prod", "mean", "amax" or "amin". Without include_self, the result ignores x wherever src
    contributes. Tied extremes share the cotangent evenly; gradients of products are exact with zeros.

    Raises ValueError for another `reduce`, or an index that does not fit.
    """
    return _to_places("scatter_reduce", x, index, src, axis, partial(_reduced, reduce, include_self))


@scatter_reduce.requires
def _(reduce):
    return None if reduce in REDUCTIONS else f"reduce must be one of {', '.join(REDUCTIONS)}, got {reduce!r}"


def _reduced(reduce, include_self, x, src, index, *, axis):
    if reduce == "mean" or not include_self:  # the number of src values per place
        zeros, ones = (beside(x, y) for y in (np.zeros(x.shape), np.ones(src.shape)))
        count = add_at_places(zeros, ones, index, axis)
    if not include_self:
        x = where(gt(count, 0), _neutral(reduce, x.dtype), x)
    if reduce == "prod":
        return product_at(x, src, index, axis=axis)
    if reduce in ("amax", "amin"):
        return extreme_at(x, src, index, axis=axis, largest=reduce == "amax")
    total = add_at_places(x, src, index, axis)
    if reduce == "sum":
        return total
    count = cast(maximum(count + int(include_self), 1), dtype=x.dtype)
    return total / count if x.dtype.kind in FLOATS else total // count


def add_at_places(x, src, index, axis):
    """x with src added at an index along the axis, which may have size 1 along all other axes."""
    if index.shape == src.shape:
        return add(x, add_along(src, index, size=x.shape[axis], axis=axis))
    place = (*(slice(None),) * axis, getattr(index, "_data", index).reshape(-1))
    return put_onto(x, src, index=place)


def _neutral(reduce: str, dtype: np.dtype):
    if reduce in ("amax", "amin"):
        sign = -1 if reduce == "amax" else 1
        return sign * np.inf if dtype.kind in FLOATS else getattr(np.iinfo(dtype), "min" if sign < 0 else "max")
    return 1 if reduce == "prod" else 0


# Products and extremes ------------------------------------------------------------------------------------------------


@composite
def product_at(x, src, index, *, axis):
    """The product, per place, of x and all src that go there; its gradient is exact where factors are 0."""
    place = flat_along(np.broadcast_to(getattr(index, "_data", index), src.shape), x.shape, axis)
    return mul(x, _products(src, place, x.shape))


def _products(src, place, shape):
    """The product of all src per place, 1 where there is none: a tree of pairwise products."""
    order, turn, touched, first = _sorted(place, shape)
    factors, apart = take(reshape(src, shape=(-1,)), index=(order,)), 1
    while apart < len(turn):
        paired, right = _pairs(turn, apart)
        factors = mul(factors, where(paired, take(factors, index=(right,)), 1))
        apart *= 2
    return where(touched, take(factors, index=(first,)), 1) if len(turn) else np.ones(shape, src.dtype)


@pure
def _sorted(place, shape):
    """(order, turn, touched, first): the entries sorted by place; each one's number within its place; whether a place
    has entries; where they begin."""
    to = place.ravel()
    order = np.argsort(to, kind="stable")
    to, i = to[order], np.arange(len(to))
    begins = np.append(True, to[1:] != to[:-1])[:len(to)]
    first = np.full(int(np.prod(shape)), -1)
    first[to[begins]] = i[begins]
    return order, i - first[to], (first >= 0).reshape(shape), np.maximum(first, 0).reshape(shape)


@pure
def _pairs(turn, apart):
    """Whether to multiply each entry by the one `apart` further on, and the index of that one."""
    right = np.minimum(np.arange(len(turn)) + apart, len(turn) - 1)
    return (turn % (2 * apart) == 0) & (turn[right] == turn + apart), right


@primitive
def extreme_at(x, src, index, *, axis, largest):
    """The largest (smallest), per place, of x and all src that go there; ties share the cotangent evenly."""
    return scattered(x, _MAX if largest else _MIN, src, index, axis)


@extreme_at.joint_vjp
@fresh
def _(g, x, src, index, out, axis):
    index = expand(index, shape=src.shape)
    mine, theirs = _same(x, out), _same(src, take_along(out, index, axis=axis))
    ties = cast(mine, dtype=x.dtype) + add_along(cast(theirs, dtype=x.dtype), index, size=x.shape[axis], axis=axis)
    share = g / ties
    return [where(mine, share, 0.0), where(theirs, take_along(share, index, axis=axis), 0.0), None]


def _same(a, b):
    return logical_or(eq(a, b), logical_and(isnan(a), isnan(b)))


# Masks ----------------------------------------------------------------------------------------------------------------


@checked
def masked_select(x, mask) -> Tensor:
    """The elements of x where the mask is True, as a vector; x and mask broadcast. Raises TypeError unless it is
    boolean."""
    mask = values_of("masked_select", mask, "returns a number of elements that depends on its mask",
                     "use where, or multiply by the mask")
    shape = np.broadcast_shapes(x.shape, mask.shape)
    return getitem(expand(x, shape=shape), np.broadcast_to(mask, shape))


@masked_select.requires
def _(x, mask):
    if (mask := as_index(mask)).dtype.kind != "b":
        return TypeError(f"the mask must be boolean, got {mask.dtype}; compare, or cast with .bool()")
    return None if broadcast(x.shape, mask.shape) else f"shapes {x.shape} and {mask.shape} do not broadcast"


@primitive
def nonzero(x):
    """The indices of all nonzero elements, one per row: (number, x.ndim)."""
    looked_at(x, "nonzero returns a number of elements that depends on values", "use where, or multiply by a mask")
    return np.argwhere(x)
