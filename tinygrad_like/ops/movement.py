"""Diagonals, sliding windows, grids, einops' rearrange, and compositions of shape.py and index.py."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.graph import mode
from ..core.primitive import primitive
from ..core.tensor import Tensor
from ..errors import checked, refusal
from .along import as_index, beside, in_range
from .axes import axes as all_axes
from .axes import broadcast, one_axis, plain_shape
from .compare import clone
from .contracts import fits
from .parts import put, take
from .reduce import sum
from .scatter import scatter_last
from .shape import expand, getitem, permute, reshape, unsqueeze


def moved(x, source: int, target: int):
    """x with the axis `source` moved to `target`; the other axes keep their order."""
    order = [a for a in range(x.ndim) if a != source % x.ndim]
    order.insert(target % x.ndim, source % x.ndim)
    return permute(x, axes=tuple(order))


@primitive
def diagonal(x, *, offset=0, axis1=0, axis2=1):
    """The elements x[i, i + offset] of the matrices in two axes, as a last axis. A view: no memory is copied."""
    y = x.diagonal(offset, axis1, axis2)
    if x.flags.writeable:
        y.flags.writeable = True  # NumPy returns a read-only view
    return y


@diagonal.requires
def _(x, axis1, axis2):
    if x.ndim < 2:
        return f"needs at least two axes, got shape {x.shape}"
    if one_axis("diagonal", axis1, x.ndim) == one_axis("diagonal", axis2, x.ndim):
        return f"axis1 and axis2 must differ, got {axis1} and {axis2}"


def _on_diagonal(g, x_shape, offset, axis1, axis2):
    a, b = axis1 % len(x_shape), axis2 % len(x_shape)
    rows = np.arange(max(0, -offset), min(x_shape[a], x_shape[b] - offset))
    order = [axis for axis in range(len(x_shape)) if axis not in (a, b)] + [a, b]
    x = put(g, shape=tuple([x_shape[axis] for axis in order]), index=(..., rows, rows + offset))
    return x if order == sorted(order) else permute(x, axes=tuple([order.index(axis) for axis in range(len(order))]))


diagonal.vjp(x=_on_diagonal)


@checked
def diag(x, offset=0) -> Tensor:
    """A square matrix with the vector x on a diagonal, and zeros elsewhere; or the diagonal of a matrix."""
    if x.ndim == 2:
        return clone(diagonal(x, offset=offset))  # a copy, as in PyTorch and NumPy
    n = x.shape[0] + abs(offset)
    rows = np.arange(max(0, -offset), min(n, n - offset))
    return put(x, shape=(n, n), index=(rows, rows + offset))


diag.requires(fits("any x (n) or (m, n)"))


@checked
def trace(x) -> Tensor:
    """The sum of the diagonal of a matrix."""
    return sum(diagonal(x))


trace.requires(fits("any x (m, n)"))


def taps(x, axis: int, size: int, step: int, dilation: int):
    """The windows along an axis, which becomes two axes: (windows, size). `tap_index` has their positions."""
    return take(x, index=(*[slice(None)] * axis, tap_index(x.shape[axis], size, step, dilation)))


@lru_cache(64)
def tap_index(n: int, size: int, step: int, dilation: int) -> np.ndarray:
    """The indices of the elements of each window along an axis of n elements: (windows, size)."""
    found = np.arange(0, n - dilation * (size - 1), step)[:, None] + dilation * np.arange(size)
    found.flags.writeable = False  # it is cached
    return found


@checked
def sliding_windows(x, axis, size, step=1) -> Tensor:
    """Windows of `size` elements that slide along `axis` by `step`; a new last axis holds each window's elements.

    A view if windows do not overlap and a whole step follows each; else a read-only copy.
    Raises ValueError unless 1 <= size <= the size of the axis and step >= 1.
    """
    axis = one_axis("unfold", axis, x.ndim)
    n, before = x.shape[axis], (slice(None),) * axis
    count = (n - size) // step + 1
    step = step if count > 1 else size
    if step >= size and count * step <= n:
        y = reshape(take(x, index=(*before, slice(count * step))),
                    shape=(*x.shape[:axis], count, step, *x.shape[axis + 1:]))
        return moved(take(y, index=(*before, slice(None), slice(size))), axis + 1, -1)
    y = moved(taps(x, axis, size, step, 1), axis + 1, -1)
    if mode.listener is None and hasattr(y, "_data"):
        y._data.flags.writeable = False  # in PyTorch it is a view, and changing it changes x
    return y


sliding_windows.called = "unfold"


@sliding_windows.requires
def _(x, axis, size, step):
    axis = one_axis("unfold", axis, x.ndim)
    if not 1 <= size <= x.shape[axis] or step < 1:
        return f"windows of size {size} by steps of {step} do not fit axis {axis} of shape {x.shape}"


@checked
def meshgrid(*xs, indexing="ij") -> tuple[Tensor, ...]:
    """The coordinates of a grid spanned by vectors (or numbers, or a list of them): a tuple of Tensors of the grid's
    shape.

    indexing: "ij", or "xy", which swaps the first two axes.
    """
    xs = plain_shape(xs)
    order = list(range(len(xs)))
    if indexing == "xy":
        order[:2] = order[:2][::-1]
    sizes = [math.prod(x.shape) for x in xs]
    shape = tuple(sizes[i] for i in order)
    return tuple(expand(reshape(x, shape=tuple(n if i == j else 1 for j in order)), shape=shape)
                 for i, (x, n) in enumerate(zip(xs, sizes, strict=True)))


@meshgrid.requires
def _(xs, indexing):
    xs = plain_shape(xs)
    if indexing not in ("ij", "xy") or any(x.ndim > 1 for x in xs):
        return f'takes vectors and indexing "ij" or "xy", got shapes {[x.shape for x in xs]} and {indexing!r}'


@checked
def rearrange(x, formula: str, **sizes) -> Tensor:
    """einops' rearrange: split, reorder and merge axes, as in "b (h w) c -> b c h w" with h=8.

    A name stands for an axis; names in parentheses for one axis that holds several, all but one with a given size; 1
    for an axis of size 1; ... for any others. Raises ValueError for a formula that does not fit.
    """
    before, after = _sides(formula, x.ndim)
    for names, n in zip(before, x.shape, strict=True):
        known = math.prod([sizes[name] for name in names if name in sizes])
        sizes |= {name: n // known for name in names if name not in sizes}
    old, new = ([name for names in groups for name in names] for groups in (before, after))
    y = permute(reshape(x, shape=tuple(sizes[name] for name in old)), axes=tuple(old.index(name) for name in new))
    return reshape(y, shape=tuple(math.prod(sizes[name] for name in names) for names in after))


@rearrange.requires
def _(x, formula, sizes):
    for side in formula.split("->"):
        if "".join(_TOKENS.findall(side)).replace(" ", "") != side.replace(" ", ""):
            return f"{side.strip()!r} must be made of names, parentheses and '...'"
    if "->" not in formula or formula.count("...") not in (0, 2):
        return f'{formula!r} must look like "b (h w) -> h b w", with "..." on both sides or neither'
    before, after = _sides(formula, x.ndim)
    if len(before) != x.ndim:
        return f"{formula!r} names {len(before)} axes, but the shape is {x.shape}"
    for names, n in zip(before, x.shape, strict=True):
        unknown = [name for name in names if name not in sizes]
        known = math.prod([sizes[name] for name in names if name in sizes])
        if len(unknown) > 1 or (n % known if unknown and known else n != known):
            return f"({' '.join(names)}) of {formula!r} does not divide an axis of size {n}; given sizes: {sizes}"
    old, new = ([name for names in groups for name in names] for groups in (before, after))
    if sorted(old) != sorted(new) or len(set(old)) != len(old):
        return f"both sides of {formula!r} must have the same names, each once"


_TOKENS = re.compile(r"\([^()]*\)|\.\.\.|\w+")


def _sides(formula: str, ndim: int) -> list[list[list[str]]]:
    """The names in each axis, on both sides of a formula; "..." stands for new names."""
    left, _, right = formula.partition("->")
    hidden = [f"_{i}" for i in range(ndim - len(_groups(left, [])))]
    return [_groups(left, hidden), _groups(right, hidden)]


def _groups(side: str, hidden: list[str]) -> list[list[str]]:
    groups: list[list[str]] = []
    for token in _TOKENS.findall(side):
        inner = token.strip("()").replace("...", " ".join(hidden)).split()
        groups += [[name] for name in inner] if token == "..." else [[name for name in inner if name != "1"]]
    return groups


# Joined and selected --------------------------------------------------------------------------------------------------


def atleast_1d(*xs) -> Any:
    """x with at least one axis; for several arguments, a tuple."""
    return _each(xs, lambda x: x if x.ndim else reshape(x, shape=(1,)))


def atleast_2d(*xs) -> Any:
    """x with at least two axes, new ones in front; for several arguments, a tuple."""
    return _each(xs, lambda x: x if x.ndim > 1 else reshape(x, shape=(1, x.size)))


def atleast_3d(*xs) -> Any:
    """x with at least three axes: (n,) becomes (1, n, 1), (m, n) becomes (m, n, 1); for several, a tuple."""
    return _each(xs, lambda x: x if x.ndim > 2 else unsqueeze(atleast_2d(x), 2))


def _each(xs, f):
    found = tuple([f(x) for x in plain_shape(xs)])
    return found[0] if len(found) == 1 and not isinstance(xs[0], list | tuple) else found


@checked
def broadcast_tensors(*xs) -> tuple[Tensor, ...]:
    """All arguments expanded to their common shape, as a tuple. Raises ValueError if they do not broadcast."""
    xs = plain_shape(xs)
    shape = np.broadcast_shapes(*[x.shape for x in xs])
    return tuple([expand(x, shape=shape) for x in xs])


@broadcast_tensors.requires
def _(xs):
    shapes = [x.shape for x in plain_shape(xs)]
    return None if broadcast(*shapes) else f"shapes {shapes} do not broadcast"


@checked
def movedim(x, source, destination) -> Tensor:
    """x with the axis or axes `source` moved to `destination`; the other axes keep their order."""
    there = dict(zip(all_axes("movedim", destination, x.ndim), all_axes("movedim", source, x.ndim), strict=True))
    rest = iter([a for a in range(x.ndim) if a not in there.values()])
    return permute(x, axes=tuple([there[a] if a in there else next(rest) for a in range(x.ndim)]))


@movedim.requires
def _(x, source, destination):
    if len(all_axes("movedim", source, x.ndim)) != len(all_axes("movedim", destination, x.ndim)):
        return f"source {source} and destination {destination} name different numbers of axes"


def slices_named(who: str, shape: tuple[int, ...], axis: int, index, wraps: bool = False) -> np.ndarray:
    """A copy of an index that selects slices along an axis: an integer or a vector of integers. wraps: see
    `in_range`."""
    array = as_index(index)
    if array.dtype.kind not in "iu" and array.size:
        raise refusal(who, TypeError(f"index must hold integers, got {array.dtype}; cast with .long()"))
    if array.ndim > 1:
        raise refusal(who, f"index must be a vector of integers, got shape {array.shape}")
    return in_range(who, shape, array, axis, wraps).reshape(-1)


def with_slices(x, axis: int, index: Any, values):
    """x with the slices at these indices along the axis replaced by `values`."""
    values = expand(values, shape=(*x.shape[:axis], index.size, *x.shape[axis + 1:]))
    index = reshape(beside(x, index), shape=tuple([-1 if a == axis else 1 for a in range(x.ndim)]))
    return scatter_last(x, values, index, axis=axis)


def index_select(x, axis, index):
    """The slices of x at these non-negative indices along the axis."""
    if not x.ndim:
        return reshape(index_select(reshape(x, shape=(1,)), axis, index), shape=())
    axis = one_axis("index_select", axis, x.ndim)
    return take(x, index=(*(slice(None),) * axis, slices_named("index_select", x.shape, axis, index)))


def take_flat(x, index) -> Tensor:
    """The elements of the flattened x at an index, in the index's shape."""
    return getitem(reshape(x, shape=(-1,)), index)
