"""Gather along one axis, and its adjoint."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..core.listener import pure
from ..core.primitive import fresh, primitive
from ..core.tensor import Tensor, wrap
from ..dtypes import FLOAT32, FLOAT64, INT64
from ..errors import refusal
from .axes import one_axis
from .compare import cast
from .elementwise import add
from .index import copied
from .parts import take
from .shape import reshape


@primitive
def take_along(x, index, *, axis, keepdim=True):
    """out[i, j] = x[i, index[i, j]] for axis=1, and likewise for any axis; all other axes match. With keepdim=False,
    out[i] = x[i, index[i]]: index and out lack the axis. Indices are not negative.
    """
    index = index if keepdim else np.expand_dims(index, axis)
    y = x.reshape(-1).take(flat_along(index, x.shape, axis))  # twice as fast as np.take_along_axis
    return y if keepdim else y.reshape((*y.shape[:axis], *y.shape[axis + 1 :]))


@primitive
def add_along(x, index, *, size, axis, keepdim=True):
    """Zeros of this size along `axis`, plus x: out[i, index[i, j]] += x[i, j] for axis=1; see `take_along`."""
    if not keepdim:
        x, index = (np.expand_dims(y, axis) for y in (x, index))
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    flat, count = flat_along(index, shape, axis).ravel(), math.prod(shape)
    if x.dtype is FLOAT32 or x.dtype is FLOAT64:  # in float64
        return np.bincount(flat, x.ravel(), count).astype(x.dtype, copy=False).reshape(shape)
    out = np.zeros(count, x.dtype)
    np.add.at(out, flat, x.ravel())
    return out.reshape(shape)


take_along.vjp(x=fresh(lambda g, index, x_shape, axis, keepdim: add_along(
    g, index, size=x_shape[axis], axis=axis, keepdim=keepdim)))
add_along.vjp(x=fresh(lambda g, index, axis, keepdim: take_along(g, index, axis=axis, keepdim=keepdim)))


take_along.called = "gather"


@take_along.explains
def _(x, index, axis):
    return out_of_range(x.shape, index, axis)


def gather(x, index, *, axis) -> Tensor:
    """out[i, j] = x[i, index[i, j]] for axis=1, and likewise for any axis.

    index has as many axes as x; only `axis` may be longer. Raises IndexError for an index out of range or below 0.
    """
    if not x.ndim:
        return reshape(gather(reshape(x, shape=(1,)), reshape(index, shape=(1,)), axis=axis), shape=index.shape)
    axis, index, row, whole = index_along("gather", x.shape, index, axis)
    if row is not None:
        return take(x, index=(*(slice(None),) * axis, row.reshape(-1)))
    if not whole:
        x = take(x, index=tuple([slice(None) if a == axis else slice(0, n) for a, n in enumerate(index.shape)]))
    return take_along(x, beside(x, index), axis=axis)


def index_along(who: str, shape: tuple[int, ...], index, axis) -> tuple[int, np.ndarray, np.ndarray | None, bool]:
    """(axis, index, row, whole): the axis counted from the front, and a copy of an index along it. row: a copy of the
    vector that the index expands, if it does, and so selects whole slices; else None. whole: whether its other axes
    match `shape`. Raises if it does not fit `shape`."""
    axis, array = one_axis(who, axis, len(shape)), as_index(index)
    if array.dtype.kind not in "iu":
        raise refusal(who, TypeError(f"index must hold integers, got {array.dtype}; cast with .long()"))
    whole = array.ndim == len(shape) and array.shape[:axis] == shape[:axis] and (
        array.shape[axis + 1 :] == shape[axis + 1 :])
    if not whole and (array.ndim != len(shape) or any(
            [n > m for a, (n, m) in enumerate(zip(array.shape, shape, strict=True)) if a != axis])):
        raise refusal(who, f"index of shape {array.shape} does not fit shape {shape}: it needs as many axes, and only "
                           f"axis {axis} may be longer")
    if whole and 0 in array.strides and array.size and not any(array.strides[:axis] + array.strides[axis + 1 :]):
        row = array[tuple([slice(None) if a == axis else slice(1) for a in range(array.ndim)])]
        return axis, array, in_range(who, shape, row, axis), True
    return axis, copied(array, INT64), None, whole


def as_index(index) -> np.ndarray:
    """An index as an array."""
    array = getattr(index, "_data", index)
    return array if type(array) is np.ndarray else np.asarray(array)


def beside(x, index):
    """An index, already copied; a Tensor if x is one, since an op on x would copy an array again."""
    return wrap(index) if hasattr(x, "_data") else index


def filled(x, shape, number):
    """This shape filled with a number, in x's dtype, and a Tensor if x is one."""
    return cast(add(beside(x, np.zeros(shape, x.dtype)), number), dtype=x.dtype)


def out_of_range(shape: tuple[int, ...], index: np.ndarray, axis: int, wraps: bool = False) -> IndexError | None:
    """The error for an index along an axis of `shape`, or None. wraps: negative entries count from the end."""
    n, least = shape[axis], -shape[axis] if wraps else 0
    if not index.size or (low := index.min()) >= least and index.max() < n:
        return None
    hint = "; only x[index] counts from the end" if -n <= low < least else ""
    return IndexError(f"index {low if low < least else index.max()} is out of range for axis {axis} of size {n} "
                      f"(shape {shape}){hint}")


@pure
def in_range(who: str, shape: tuple[int, ...], index: np.ndarray, axis: int, wraps: bool = False) -> np.ndarray:
    """A copy of an index along an axis of `shape`, with entries counted from 0. Raises IndexError, in the name of
    `who`, if one is out of range."""
    if (why := out_of_range(shape, index, axis, wraps)) is not None:
        raise refusal(who, why)
    return np.where(index < 0, index + shape[axis], index).astype(INT64) if wraps else np.array(index, INT64)


def flat_along(index: np.ndarray, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """The positions in the flattened array of this shape that an index along an axis selects."""
    if index.size and (index.min() < 0 or index.max() >= shape[axis]):  # NumPy would take -1 as the last
        raise IndexError(f"index {index.min() if index.min() < 0 else index.max()} is out of range for axis {axis} of "
                         f"size {shape[axis]}; indices count from 0")
    starts, step = _starts(index.shape, shape, axis)
    return starts + (index if step == 1 else index * step)


@lru_cache(64)
def _starts(of: tuple[int, ...], shape: tuple[int, ...], axis: int) -> tuple[np.ndarray, int]:
    """For each element of an index of shape `of`, the flat position of entry 0 along the axis; and the distance between
    entries. Cached, so never written to."""
    steps = [math.prod(shape[a + 1 :]) for a in range(len(shape))]
    grid = np.indices([1 if a == axis else n for a, n in enumerate(of)], sparse=True)
    return sum([i * step for i, step in zip(grid, steps, strict=True)], np.zeros((1,) * len(of), INT64)), steps[axis]
