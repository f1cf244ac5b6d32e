"""Ops that move elements without changing them. The adjoint of a move is the move back."""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from itertools import accumulate

import numpy as np

from ..core.graph import mode
from ..core.primitive import fresh, primitive
from ..core.replaceable import replaceable
from ..dtypes import FLOAT32
from .axes import axes as all_axes
from .axes import one_axis
from .compare import clone, copied
from .index import take

_MANY = 8192  # numbers for which `copied` is worth the call

# Views --------------------------------------------------------------------------------------------------------------


@primitive
def reshape(x, *, shape):
    """The same elements, in C order, in another shape; one size may be -1, to be worked out."""
    try:
        if x.flags.c_contiguous or x.size < _MANY:
            return x.reshape(shape)
        try:
            return x.reshape(shape, copy=False)
        except ValueError:
            return copied(x).reshape(shape)
    except (ValueError, TypeError):
        raise ValueError(f"reshape: {np.size(x)} elements of shape {np.shape(x)} "
                         f"do not fill shape {tuple(shape)}") from None


reshape.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))


@primitive
def permute(x, *, axes):
    """The axes in another order: out.shape[i] = x.shape[axes[i]]."""
    try:
        return x.transpose(axes)
    except (ValueError, TypeError) as error:
        why = error
    if len(axes) != x.ndim:
        raise ValueError(f"permute: {len(axes)} axes {tuple(axes)} for a Tensor of shape {x.shape}; "
                         "give each axis once")
    all_axes("permute", tuple(axes), x.ndim)  # which says more
    raise why


permute.vjp(x=lambda g, axes: permute(g, axes=inverse(axes)))


def inverse(axes) -> tuple[int, ...]:
    """The permutation that undoes `axes`."""
    return tuple(sorted(range(len(axes)), key=lambda i: axes[i] % len(axes)))


def transpose(x, axis0=1, axis1=0):
    """Swap two axes."""
    if type(axis0) is type(axis1) is int:
        return permute(x, axes=_swapped(x.ndim, axis0, axis1))
    return permute(x, axes=_swapped.__wrapped__(x.ndim, axis0, axis1))


@lru_cache(64)
def _swapped(ndim: int, axis0: int, axis1: int) -> tuple[int, ...]:
    order = list(range(ndim or 1))
    a, b = one_axis("transpose", axis0, ndim, scalar=True), one_axis("transpose", axis1, ndim, scalar=True)
    order[a], order[b] = order[b], order[a]
    return tuple(order[:ndim])


@primitive
def expand(x, *, shape):
    """Broadcast to `shape`; -1 keeps a size. A view, which can be written to if no element is shown twice."""
    shape = tuple(shape)
    try:  # np.broadcast_to, which takes four times as long, and does not know -1
        y = np.nditer(x, ["multi_index", "zerosize_ok"], ["readonly"], itershape=shape, order="C").itviews[0]
    except ValueError:
        raise ValueError(f"expand: shape {x.shape} does not broadcast to {shape}; "
                         "only axes of size 1 stretch") from None
    below = {n for n in shape if n < 0}
    if below and (below != {-1} or -1 in shape[: len(shape) - x.ndim]):
        raise ValueError(f"expand: shape {x.shape} does not broadcast to {shape}; -1 keeps the size of an axis that is "
                         "there")
    return x[(*(None,) * (y.ndim - x.ndim), ...)] if y.size == x.size > 0 else y


expand.vjp(x=lambda g: g)  # the engine sums over what was broadcast


def unsqueeze(x, axis):
    """Insert an axis of size 1 at `axis` of the result."""
    shape = x.shape
    axis = one_axis("unsqueeze", axis, len(shape) + 1)
    return reshape(x, shape=(*shape[:axis], 1, *shape[axis:]))


def squeeze(x, axis=None):
    """Remove the axes of size 1, or those of `axis` that have size 1."""
    drop = all_axes("squeeze", axis, x.ndim)
    return reshape(x, shape=tuple([n for a, n in enumerate(x.shape) if n != 1 or a not in drop]))


def flatten(x, start_axis=0, end_axis=-1):
    """Merge the axes from start_axis to end_axis into one."""
    if x.ndim == 0:
        return reshape(x, shape=(1,))
    start, end = one_axis("flatten", start_axis, x.ndim), one_axis("flatten", end_axis, x.ndim)
    if start > end:
        raise ValueError(f"flatten: start_axis {start_axis} comes after end_axis {end_axis}")
    if start == end:
        return x
    return reshape(x, shape=(*x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :]))


def unflatten(x, axis, sizes):
    """Split one axis into several, whose product is its size (one may be -1)."""
    axis, sizes = one_axis("unflatten", axis, x.ndim), tuple(sizes)
    if sizes.count(-1) == 0 and math.prod(sizes) != x.shape[axis]:
        raise ValueError(f"unflatten: sizes {sizes} do not multiply to {x.shape[axis]}, "
                         f"the size of axis {axis} of shape {x.shape}")
    return reshape(x, shape=(*x.shape[:axis], *sizes, *x.shape[axis + 1 :]))


@primitive
def flip(x, *, axis=None):
    """Reverse the order of elements along `axis` (all axes if None). A copy, as in PyTorch."""
    index = [slice(None)] * x.ndim
    for a in all_axes("flip", axis, x.ndim):
        index[a] = slice(None, None, -1)
    return copied(x[tuple(index)])


flip.vjp(x=fresh(lambda g, axis: flip(g, axis=axis)))


@primitive
def roll(x, *, shifts, axis=None):
    """Shift elements along `axis`, re-entering at the other end; of the flattened Tensor if axis is None."""
    if type(shifts) is not int:
        try:
            if isinstance(shifts, bool | np.bool):
                raise TypeError
            shifts = tuple(map(operator.index, shifts)) if isinstance(shifts, tuple | list) else operator.index(shifts)
        except TypeError:
            raise TypeError(f"roll: shifts must be an integer or several, got {shifts!r}") from None
    axis = None if axis is None else all_axes("roll", axis, x.ndim)
    if axis is None and type(shifts) is tuple and len(shifts) != 1:
        raise ValueError(f"roll: {len(shifts)} shifts {shifts} for the flattened Tensor, which takes one; give an axis "
                         "for each")
    if axis is not None and (1 if type(shifts) is int else len(shifts)) != len(axis):
        raise ValueError(f"roll: {np.size(shifts)} shifts {shifts} for {len(axis)} axes {axis}; give one for each")
    if axis is None or not x.size:
        return np.roll(x, shifts, axis)
    each = shifts if type(shifts) is tuple else (shifts,)
    return rolled(x, each, axis)


@replaceable
def rolled(x, shifts, axes):
    """np.roll(x, shifts, axes), which takes three times as long for a small array."""
    y = x
    for shift, a in zip(shifts, axes, strict=True):
        if cut := -shift % x.shape[a]:
            before = (slice(None),) * a
            y = np.concatenate((y[(*before, slice(cut, None))], y[(*before, slice(cut))]), a)
    return y.copy() if y is x else y


roll.vjp(x=fresh(lambda g, shifts, axis: roll(
    g, shifts=tuple(-s for s in shifts) if isinstance(shifts, tuple | list) else -shifts, axis=axis)))


@primitive
def tril(x, *, diagonal=0):
    """The lower triangle of the last two axes, zeros above the diagonal."""
    return _triangle(_matrix("tril", x), operator.index(diagonal), False)


tril.vjp(x=fresh(lambda g, diagonal: tril(g, diagonal=diagonal)))


@primitive
def triu(x, *, diagonal=0):
    """The upper triangle of the last two axes, zeros below the diagonal."""
    return _triangle(_matrix("triu", x), operator.index(diagonal) - 1, True)


triu.vjp(x=fresh(lambda g, diagonal: triu(g, diagonal=diagonal)))


def _triangle(x, diagonal, upper):
    if x.dtype is FLOAT32 and x.size <= _FEW and not mode.compiled:
        return (x.view(np.uint32) & _bits(x.shape[-2], x.shape[-1], diagonal, upper)).view(FLOAT32)
    return triangle(x, diagonal, upper)


_FEW = 1 << 14  # numbers, of which NumPy is sooner there than the kernel


@replaceable
def triangle(x, diagonal, upper):
    """What is on and below a diagonal, or above it."""
    return np.triu(x, diagonal + 1) if upper else np.tril(x, diagonal)


@lru_cache(32)
def _bits(rows: int, columns: int, diagonal: int, upper: bool) -> np.ndarray:
    """The bits that are left of a number, all or none, for every place of a matrix; nobody writes to it."""
    return np.where(np.tri(rows, columns, diagonal, bool) == upper, np.uint32(0), ~np.uint32(0))


def _matrix(who, x):
    if x.ndim < 2:
        raise ValueError(f"{who}: needs at least two axes, got shape {x.shape}")
    return x

# Joining and splitting ------------------------------------------------------------------------------------------------


@primitive
def cat(*xs, axis=0):
    """Tensors one after the other along `axis`; their other axes must agree."""
    if not xs:
        raise ValueError("cat: needs at least one Tensor")
    first = xs[0].shape
    axis = one_axis("cat", axis, len(first))
    try:
        return joined(xs, axis)
    except ValueError:
        for i, x in enumerate(xs):
            if x.ndim != len(first) or x.shape[:axis] + x.shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
                raise ValueError(f"cat: Tensor {i} has shape {x.shape} but Tensor 0 has {first}; "
                                 f"all axes except axis {axis} must agree") from None
        raise


@replaceable
def joined(xs, axis):
    """xs, one after the other along an axis."""
    return np.concatenate(xs, axis)


def _part(g, which, xs_shape, axis):
    axis = axis % g.ndim
    start = sum(s[axis] for s in xs_shape[:which])
    return take(g, index=(slice(None),) * axis + (slice(start, start + xs_shape[which][axis]),))


cat.vjp(xs=_part)


@primitive
def stack(*xs, axis=0):
    """Tensors of one shape side by side along a new axis."""
    if not xs:
        raise ValueError("stack: needs at least one Tensor")
    first = xs[0].shape
    axis = one_axis("stack", axis, len(first) + 1)
    for i, x in enumerate(xs):
        if x.shape != first:
            raise ValueError(f"stack: Tensor {i} has shape {x.shape} but Tensor 0 has {first}; all must agree")
    shape = (*first[:axis], 1, *first[axis:])
    return joined([x.reshape(shape) for x in xs], axis)


stack.vjp(xs=lambda g, which, axis: take(g, index=(slice(None),) * (axis % g.ndim) + (which,)))


def split(x, sizes, axis=0):
    """Parts of the given sizes along `axis`; an int gives parts of that size, the last may be smaller. A tuple."""
    axis, shape = one_axis("split", axis, x.ndim), x.shape
    n = shape[axis]
    if isinstance(sizes, int):
        if sizes <= 0:
            raise ValueError(f"split: the size must be positive, got {sizes}")
        ends = [*range(sizes, n, sizes), n]
    else:
        ends = list(accumulate(sizes))
        if (ends or [0])[-1] != n or min(sizes, default=0) < 0:
            raise ValueError(f"split: sizes {list(sizes)} do not add up to {n}, the size of axis {axis} of shape "
                             f"{shape}")
    before = (slice(None),) * axis
    return tuple([take(x, index=(*before, slice(start, end))) for start, end in zip([0, *ends], ends, strict=False)])


def chunk(x, chunks, axis=0):
    """`chunks` parts of equal size along `axis` (the last smaller, or fewer parts, if it does not divide). A tuple."""
    if chunks < 1:
        raise ValueError(f"chunk: needs at least 1 chunk, got {chunks}")
    return split(x, max(1, math.ceil(x.shape[one_axis("chunk", axis, x.ndim)] / chunks)), axis)


def unbind(x, axis=0):
    """The slices along `axis`, without that axis. A tuple."""
    axis = one_axis("unbind", axis, x.ndim)
    before = (slice(None),) * axis
    return tuple([take(x, index=(*before, i)) for i in range(x.shape[axis])])


def repeat(x, repeats):
    """Tile: the whole Tensor repeated `repeats[i]` times along axis i; missing leading axes are added."""
    if len(repeats) < x.ndim or any(r < 0 for r in repeats):
        raise ValueError(f"repeat: give a non-negative count for each of the {x.ndim} axes of shape {x.shape}, "
                         f"got {tuple(repeats)}")
    shape = (1,) * (len(repeats) - x.ndim) + x.shape
    split_ = reshape(x, shape=tuple(m for n in shape for m in (1, n)))
    wide = expand(split_, shape=tuple(m for r, n in zip(repeats, shape, strict=True) for m in (r, n)))
    return _own(reshape(wide, shape=tuple(r * n for r, n in zip(repeats, shape, strict=True))))


def _own(x):
    """x, or a copy, if it is a view: who changes it does not mean what it was made of."""
    return clone(x) if getattr(x, "version", None) is not None else x


def repeat_interleave(x, repeats, axis=None):
    """Each element (or each slice along `axis`) repeated `repeats` times in place; or each its own number of times.

    Those of the flattened Tensor if axis is None.
    """
    if np.ndim(repeats):
        return _repeat_each(x if axis is not None else flatten(x), np.asarray(repeats), 0 if axis is None else axis)
    if repeats < 0:
        raise ValueError(f"repeat_interleave: the number of repeats must not be negative, got {repeats}")
    x = flatten(x) if axis is None else x
    axis = one_axis("repeat_interleave", 0 if axis is None else axis, x.ndim)
    wide = expand(unsqueeze(x, axis + 1), shape=(*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :]))
    return _own(reshape(wide, shape=(*x.shape[:axis], x.shape[axis] * repeats, *x.shape[axis + 1 :])))


def _repeat_each(x, repeats: np.ndarray, axis):
    axis = one_axis("repeat_interleave", axis, x.ndim)
    if repeats.dtype.kind not in "iu" or repeats.shape not in ((1,), (x.shape[axis],)) or (repeats < 0).any():
        raise ValueError(f"repeat_interleave: repeats must be one integer for each of the {x.shape[axis]} of axis "
                         f"{axis} of shape {x.shape}, none negative, got {repeats.dtype} of shape {repeats.shape}")
    return take(x, index=(*[slice(None)] * axis, np.repeat(np.arange(x.shape[axis]), repeats)))


def shrink(x, ranges):
    """Keep, along each axis, the elements from start to stop: `ranges` holds (start, stop) or None per axis."""
    if len(ranges) != x.ndim:
        raise ValueError(f"shrink: {len(ranges)} ranges for {x.ndim} axes of shape {x.shape}")
    for axis, (r, n) in enumerate(zip(ranges, x.shape, strict=True)):
        if r is not None and not 0 <= r[0] <= r[1] <= n:
            raise ValueError(f"shrink: range {r} of axis {axis} must lie in 0 <= start <= stop <= {n}")
    return take(x, index=tuple(slice(None) if r is None else slice(*r) for r in ranges))

# Written into --------------------------------------------------------------------------------------------------------


@primitive
def surround(x, *, shape, index, value=0.0):
    """A Tensor full of `value`, with x at `index`."""
    if type(value) not in (int, float) and np.iscomplexobj(value):
        raise TypeError(f"pad: value must be a real number, got {value!r}")
    return surrounded(x, shape, index, value)


@replaceable
def surrounded(x, shape, index, value):
    out = np.full(shape, value, x.dtype) if value else np.zeros(shape, x.dtype)
    out[index] = x
    return out


surround.vjp(x=lambda g, index: take(g, index=index))


@primitive
def set_at(value, x, *, index, reuse=False):
    """x with `value`, which broadcasts, at an index as `plain_index` returns it. Nothing may be named twice in it.

    reuse: whether that may be made in the memory of x, which nobody needs any more.
    """
    out = x if reuse else np.array(x)
    try:
        out[index] = value
    except ValueError:
        raise ValueError(f"setitem: a value of shape {np.shape(value)} does not broadcast to {out[index].shape}, the "
                         "shape of x[index]") from None
    return out


set_at.vjp(value=fresh(lambda g, index: clone(take(g, index=index))),  # before g is overwritten, in a captured function
           x=fresh(lambda g, index: set_at(0.0, g, index=index)))
