"""Sorting along an axis: stable, with NaN as the largest value.

The indices have no gradient. Values are gathered by index, so each cotangent returns to its element.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.primitive import primitive
from ..core.tensor import Tensor
from ..dtypes import FLOAT32
from ..errors import checked
from .along import gather, take_along
from .axes import is_integer, one_axis
from .shape import reshape, unsqueeze

_SMALL = 1024  # up to this size NumPy's sort is faster than `_ranks`


class Found(NamedTuple):
    """A named pair of values and their indices, for `x.sort().indices`."""

    values: Tensor
    indices: Tensor

    def __repr__(self) -> str:
        return tuple.__repr__(self)


@primitive
def argsort(x, *, axis=-1, descending=False):
    """The indices that sort x along `axis`; equal values keep their order."""
    axis = one_axis("argsort", axis, x.ndim, scalar=True)
    if not x.ndim:
        return np.zeros((), np.int64)
    if x.dtype is FLOAT32 and x.size > _SMALL:
        return _places(_sorted(_ranks(x, axis, descending)), axis)
    if descending:  # sort the reversed array, then reverse the result: equal values keep their order
        reverse = (slice(None),) * axis + (slice(None, None, -1),)
        return (x.shape[axis] - 1 - x[reverse].argsort(axis, "stable"))[reverse]
    return x.argsort(axis, "stable")


def _ranks(x, axis, descending):
    """int64 keys that sort as x does along `axis`, moved to the end; the lower 32 bits of each hold its index.

    No two keys are equal, so any sort is stable. The upper 32 bits hold the float's bits: for positive floats these
    sort like the floats, for negative ones in reverse.
    """
    x = x if axis == x.ndim - 1 else np.moveaxis(x, axis, -1)
    bits = np.add(x, 0, order="C").view(np.int32)  # -0 + 0 is 0
    bits ^= (bits >> 31) & 0x7FFFFFFF
    if x.size and np.isnan(x.max()):
        bits[np.isnan(x)] = 0x7FFFFFFF
    if descending:
        np.invert(bits, out=bits)
    ranks = np.left_shift(bits, 32, dtype=np.int64)
    ranks |= np.arange(x.shape[-1])
    return ranks


def _sorted(ranks):
    ranks.sort(axis=-1)
    return ranks


def _places(ranks, axis):
    places = ranks & 0xFFFFFFFF
    return places if axis == places.ndim - 1 else np.moveaxis(places, -1, axis)


@primitive
def first_places(x, *, k, axis, largest):
    """The indices of the k largest (or smallest) values along `axis`, in order."""
    if x.dtype is not FLOAT32 or x.size <= _SMALL or not 0 < k < x.shape[axis] // 8:  # else a full sort is faster
        return argsort.forward(x, axis=axis, descending=largest)[(slice(None),) * axis + (slice(0, k),)]
    ranks = np.partition(_ranks(x, axis, largest), k - 1, axis=-1)[..., :k]
    return _places(_sorted(ranks), axis)


@primitive
def searchsorted(x, values, *, right=False, side=None):
    """Where to insert `values` into the sorted last axis of x so that it stays sorted: int64.

    x (n) for values of any shape, or x (..., n) and values (..., m), row by row. The place is before equal values, or
    after them with right=True or side="right". Raises ValueError for rows that do not fit.
    """
    right = right or side == "right"
    if x.ndim == 1:
        return np.asarray(np.searchsorted(x, values, "right" if right else "left"))
    before, n, count = np.less_equal if right else np.less, x.shape[-1], np.zeros(values.shape, np.int64)
    for step in (1 << k for k in reversed(range(n.bit_length()))):  # binary search: how much further the place lies
        more = np.minimum(count + step, n)
        last = np.take_along_axis(x, more - 1, -1)
        earlier = before(last, values) | (values != values) & (right | (last == last))  # NaN is the largest
        count = np.where(earlier, more, count)
    return count


@searchsorted.requires
def _(x, values, side):
    if side not in (None, "left", "right"):
        return f'side must be "left" or "right", got {side!r}'
    if x.ndim != 1 and (not x.ndim or not np.ndim(values) or x.shape[:-1] != values.shape[:-1]):
        return (f"x of shape {x.shape} and values of shape {np.shape(values)} do not fit; all axes must agree "
                "except the last, unless x has one axis")


def sort(x, axis=-1, descending=False) -> Found:
    """x sorted along `axis`, and the indices that sort it: (values, indices)."""
    axis = one_axis("sort", axis, x.ndim, scalar=True)
    order = argsort(x, axis=axis, descending=descending)
    return Found(take_along(x, order, axis=axis) if x.ndim else gather(x, order, axis=axis), order)


@checked
def topk(x, k: int, axis=-1, largest=True, sorted=True) -> Found:
    """The k largest (or smallest) values along `axis`, always in order, and their indices: (values, indices)."""
    if not x.ndim:
        return sort(x)
    axis = one_axis("topk", axis, x.ndim)
    first = first_places(x, k=k, axis=axis, largest=largest)
    return Found(take_along(x, first, axis=axis), first)


@topk.requires
def _(x, k, axis):
    if not is_integer(k):
        return TypeError(f"k must be an integer, got {k!r}")
    n = x.shape[axis] if (axis := one_axis("topk", axis, x.ndim, scalar=True)) < x.ndim else 1
    return None if 0 <= k <= n else f"k={k} must be between 0 and {n}, the size of axis {axis} of shape {x.shape}"


@primitive
def middle_places(x, *, axis):
    """The index of the median along `axis`, the lower of two middle values; or of the last NaN, if there is one."""
    order, before, n = argsort.forward(x, axis=axis), (slice(None),) * axis, x.shape[axis]
    index = order[(*before, (n - 1) // 2)]
    if x.dtype.kind == "f" and x.size and np.isnan(np.maximum.reduce(x, axis=None)):
        return np.where(np.isnan(x).any(axis), order[(*before, n - 1)], index)
    return index.copy()


@checked
def median(x, axis=None, keepdim=False) -> Any:
    """The median, the lower of two middle values, NaN if any is NaN; along an axis, with indices: (values, indices)."""
    if axis is None:
        return median(reshape(x, shape=(-1,)), 0)[0]
    axis = one_axis("median", axis, x.ndim, scalar=True)
    if not x.ndim:
        return sort(x)
    index = middle_places(x, axis=axis)
    values = take_along(x, index, axis=axis, keepdim=False)
    return Found(unsqueeze(values, axis), unsqueeze(index, axis)) if keepdim else Found(values, index)


@median.requires
def _(x, axis):
    if not (x.shape[axis := one_axis("median", axis, x.ndim)] if x.ndim and axis is not None else x.size):
        return f"no median along the empty axis {axis or 0} of shape {x.shape}"
