"""Joining, splitting, turning and indexing arrays: compositions of shape.py, index.py and movement.py."""

from __future__ import annotations

import operator

import numpy as np

from ..errors import checked, refusal
from .along import as_index, beside, in_range
from .axes import axes, broadcast, is_integer, one_axis
from .parts import take
from .scatter import scatter_last
from .shape import cat, expand, getitem, permute, reshape, split, unsqueeze


def _several(xs):
    return list(xs[0]) if len(xs) == 1 and isinstance(xs[0], list | tuple) else list(xs)


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
    found = tuple([f(x) for x in _several(xs)])
    return found[0] if len(found) == 1 and not isinstance(xs[0], list | tuple) else found


def hstack(*xs):
    """Joined along the second axis, or vectors along their only one."""
    xs = [atleast_1d(x) for x in _several(xs)]
    return cat(*xs, axis=0 if xs and xs[0].ndim == 1 else 1)


def vstack(*xs):
    """Joined along the first axis; vectors are rows."""
    return cat(*[atleast_2d(x) for x in _several(xs)], axis=0)


@checked
def broadcast_tensors(*xs):
    """All expanded to their common shape, a tuple. Raises ValueError if they do not broadcast."""
    xs = _several(xs)
    shape = np.broadcast_shapes(*[x.shape for x in xs])
    return tuple([expand(x, shape=shape) for x in xs])


@broadcast_tensors.requires
def _(xs):
    shapes = [x.shape for x in _several(xs)]
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


_PARTS = 1 << 16  # empty ones and all, that are worth a list


@checked
def tensor_split(x, indices_or_sections, axis=0):
    """Parts along an axis: a number of parts whose lengths differ by at most one, or parts cut at given indices."""
    axis = one_axis("tensor_split", axis, x.ndim)
    n = x.shape[axis]
    if (parts := _number_of_parts(indices_or_sections)) is not None:
        return tuple(split(x, [n // parts + (i < n % parts) for i in range(parts)], axis))
    bounds = [0, *[operator.index(i) for i in indices_or_sections], n]
    before = (slice(None),) * axis
    return tuple([getitem(x, (*before, slice(start, stop)))
                  for start, stop in zip(bounds[:-1], [*bounds[1:-1], None], strict=True)])


@tensor_split.requires
def _(x, indices_or_sections, axis):
    parts, n = _number_of_parts(indices_or_sections), x.shape[one_axis("tensor_split", axis, x.ndim)]
    if parts is not None and not 1 <= parts <= max(n, _PARTS):
        return (f"into {parts} parts, but there must be at least one, and of {n} elements no more than "
                f"{max(n, _PARTS)}")
    if parts is None and not all([is_integer(i) for i in indices_or_sections]):
        return TypeError("takes a number of parts, or the indices to cut at, which are integers, got "
                         f"{indices_or_sections!r}")


def _number_of_parts(given) -> int | None:
    return int(given) if isinstance(given, int) or getattr(given, "ndim", 1) == 0 else None


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
