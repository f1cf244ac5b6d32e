"""Joining, splitting, turning and indexing arrays: compositions of shape.py, index.py and movement.py."""

from __future__ import annotations

import numpy as np

from ..errors import checked, refusal
from .along import as_index, beside, in_range
from .axes import axes, broadcast, one_axis, plain_shape
from .parts import take
from .scatter import scatter_last
from .shape import expand, getitem, permute, reshape, unsqueeze


def atleast_1d(*xs):
    """x with at least one axis; of several, a tuple."""
    return _each(xs, lambda x: x if x.ndim else reshape(x, shape=(1,)))


def atleast_2d(*xs):
    """x with at least two axes, new ones in front; of several, a tuple."""
    return _each(xs, lambda x: x if x.ndim > 1 else reshape(x, shape=(1, x.size)))


def atleast_3d(*xs):
    """x with at least three axes: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1); of several, a tuple."""
    return _each(xs, lambda x: x if x.ndim > 2 else unsqueeze(atleast_2d(x), 2))


def _each(xs, f):
    found = tuple([f(x) for x in plain_shape(xs)])
    return found[0] if len(found) == 1 and not isinstance(xs[0], list | tuple) else found


@checked
def broadcast_tensors(*xs):
    """All expanded to their common shape, a tuple. Raises ValueError if they do not broadcast."""
    xs = plain_shape(xs)
    shape = np.broadcast_shapes(*[x.shape for x in xs])
    return tuple([expand(x, shape=shape) for x in xs])


@broadcast_tensors.requires
def _(xs):
    shapes = [x.shape for x in plain_shape(xs)]
    return None if broadcast(*shapes) else f"shapes {shapes} do not broadcast"


@checked
def movedim(x, source, destination):
    """The axes `source`, a number or several, moved to the places `destination`; the others keep their order."""
    there = dict(zip(axes("movedim", destination, x.ndim), axes("movedim", source, x.ndim), strict=True))
    rest = iter([a for a in range(x.ndim) if a not in there.values()])
    return permute(x, axes=tuple([there[a] if a in there else next(rest) for a in range(x.ndim)]))


@movedim.requires
def _(x, source, destination):
    if len(axes("movedim", source, x.ndim)) != len(axes("movedim", destination, x.ndim)):
        return f"source {source} and destination {destination} name different numbers of axes"


def slices_named(who: str, shape: tuple[int, ...], axis: int, index, wraps: bool = False) -> np.ndarray:
    """A copy of an index of slices along the axis: a row of integers, or a single one. wraps: see `in_range`."""
    array = as_index(index)
    if array.dtype.kind not in "iu" and array.size:
        raise refusal(who, TypeError(f"index must hold integers, got {array.dtype}; cast with .long()"))
    if array.ndim > 1:
        raise refusal(who, f"index must be a row of integers, got shape {array.shape}")
    return in_range(who, shape, array, axis, wraps).reshape(-1)


def with_slices(x, axis: int, index: np.ndarray, values):
    """x with the slices at these indices along the axis replaced."""
    values = expand(values, shape=(*x.shape[:axis], index.size, *x.shape[axis + 1:]))
    index = reshape(beside(x, index), shape=tuple([-1 if a == axis else 1 for a in range(x.ndim)]))
    return scatter_last(x, values, index, axis=axis)


def index_select(x, axis, index):
    """The slices of x at these non-negative indices along the axis."""
    if not x.ndim:
        return reshape(index_select(reshape(x, shape=(1,)), axis, index), shape=())
    axis = one_axis("index_select", axis, x.ndim)
    return take(x, index=(*(slice(None),) * axis, slices_named("index_select", x.shape, axis, index)))


def take_flat(x, index):
    """Elements of the flattened x, in the shape of the index."""
    return getitem(reshape(x, shape=(-1,)), index)
