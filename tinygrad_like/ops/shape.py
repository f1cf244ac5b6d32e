"""Ops that move elements without changing them; the adjoint moves them back."""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from itertools import accumulate

import numpy as np

from ..core.primitive import fresh, primitive
from ..core.tensor import Tensor
from ..errors import checked, refusal
from ..rings import replaceable
from .axes import axes as all_axes
from .axes import is_integer, one_axis
from .compare import clone, copied
from .contracts import fits
from .index import plain_index, torch_order
from .parts import take

# Views --------------------------------------------------------------------------------------------------------------


@primitive
def reshape(x, *, shape):
    """The same elements, in C order, in another shape; one size may be -1, and is then inferred."""
    return x.reshape(shape) if x.flags.c_contiguous else in_c_order(x, shape)


@reshape.explains
def _(x, shape):
    return f"{np.size(x)} elements of shape {np.shape(x)} do not fill shape {tuple(shape)}"


@replaceable
def in_c_order(x, shape):
    return x.reshape(shape)


reshape.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))


@primitive
def permute(x, *, axes):
    """The axes in another order: out.shape[i] = x.shape[axes[i]]."""
    return x.transpose(axes)


@permute.explains
def _(x, axes):
    if len(axes) != x.ndim:
        return f"{len(axes)} axes {tuple(axes)} for a Tensor of shape {x.shape}; give each axis once"
    all_axes("permute", tuple(axes), x.ndim)


permute.vjp(x=lambda g, axes: permute(g, axes=inverse(axes)))


def inverse(axes) -> tuple[int, ...]:
    """The permutation that undoes `axes`."""
    return tuple(sorted(range(len(axes)), key=lambda i: axes[i] % len(axes)))


def transpose(x, axis0=1, axis1=0) -> Tensor:
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
    """Broadcast to `shape`; -1 keeps a size. A view, writable if it shows no element twice."""
    # Four times as fast as np.broadcast_to, which does not accept -1.
    y = np.nditer(x, ["multi_index", "zerosize_ok"], ["readonly"], itershape=tuple(shape), order="C").itviews[0]
    return x[(*(None,) * (y.ndim - x.ndim), ...)] if y.size == x.size > 0 else y


@expand.requires
def _(x, shape):
    if min(shape, default=0) < 0 and (min(shape) < -1 or -1 in shape[: len(shape) - x.ndim]):
        return f"shape {x.shape} does not broadcast to {tuple(shape)}; -1 keeps the size of an existing axis"


@expand.explains
def _(x, shape):
    return f"shape {x.shape} does not broadcast to {tuple(shape)}; only axes of size 1 stretch"


expand.vjp(x=lambda g: g)  # the engine sums over the broadcast axes


def unsqueeze(x, axis) -> Tensor:
    """Insert an axis of size 1 at `axis` of the result."""
    shape = x.shape
    axis = one_axis("unsqueeze", axis, len(shape) + 1)
    return reshape(x, shape=(*shape[:axis], 1, *shape[axis:]))


def squeeze(x, axis=None) -> Tensor:
    """Remove all axes of size 1, or those among `axis`."""
    drop = all_axes("squeeze", axis, x.ndim)
    return reshape(x, shape=tuple([n for a, n in enumerate(x.shape) if n != 1 or a not in drop]))


def flatten(x, start_axis=0, end_axis=-1) -> Tensor:
    """Merge the axes from start_axis to end_axis into one."""
    if x.ndim == 0:
        return reshape(x, shape=(1,))
    start, end = one_axis("flatten", start_axis, x.ndim), one_axis("flatten", end_axis, x.ndim)
    if start == end:
        return x
    if start > end:
        raise refusal("flatten", f"start_axis {start_axis} comes after end_axis {end_axis}")
    return reshape(x, shape=(*x.shape[:start], math.prod(x.shape[start : end + 1]), *x.shape[end + 1 :]))


@checked
def unflatten(x, axis, sizes) -> Tensor:
    """Split one axis into several, whose sizes multiply to its size (one may be -1)."""
    axis = one_axis("unflatten", axis, x.ndim)
    return reshape(x, shape=(*x.shape[:axis], *sizes, *x.shape[axis + 1 :]))


@unflatten.requires
def _(x, axis, sizes):
    axis, sizes = one_axis("unflatten", axis, x.ndim), tuple(sizes)
    if -1 not in sizes and math.prod(sizes) != x.shape[axis]:
        return f"sizes {sizes} do not multiply to {x.shape[axis]}, the size of axis {axis} of shape {x.shape}"


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
    """Shift elements along `axis`, wrapping around; of the flattened Tensor if axis is None."""
    if axis is None or not x.size:
        return np.roll(x, shifts, axis)
    y, axes = x, all_axes("roll", axis, x.ndim)
    for i, shift in enumerate(_several(shifts)):
        y = _rolled(y, shift, axes[i])
    return y.copy() if y is x else y


@roll.requires
def _(x, shifts, axis):
    if type(shifts) is int and (axis is None or type(axis) is int):
        return None
    given = _several(shifts)
    if not all([is_integer(s) for s in given]):
        return TypeError(f"shifts must be an integer or several, got {shifts!r}")
    if axis is None:
        return None if len(given) == 1 else (f"{len(given)} shifts {given} for the flattened Tensor, which takes one; "
                                             "pass an axis for each")
    if len(given) != len(axes := all_axes("roll", axis, x.ndim)):
        return f"{len(given)} shifts {shifts} for {len(axes)} axes {axes}; pass one for each"


def _several(shifts) -> tuple:
    return tuple(shifts) if isinstance(shifts, tuple | list) else (shifts,)


def _rolled(x, shift, axis):
    """np.roll(x, shift, axis), but three times as fast for a small array; x itself if nothing moves."""
    n = x.shape[axis]
    if not (cut := -shift % n):
        return x
    first, last = _parts_of(n, (cut, n - cut), axis)
    return np.concatenate((x[last], x[first]), axis)


roll.vjp(x=fresh(lambda g, shifts, axis: roll(
    g, shifts=tuple(-s for s in shifts) if isinstance(shifts, tuple | list) else -shifts, axis=axis)))


@primitive
def tril(x, *, diagonal=0):
    """The lower triangle of the last two axes, zeros above the diagonal."""
    return np.tril(x, operator.index(diagonal))


tril.vjp(x=fresh(lambda g, diagonal: tril(g, diagonal=diagonal)))


@primitive
def triu(x, *, diagonal=0):
    """The upper triangle of the last two axes, zeros below the diagonal."""
    return np.triu(x, operator.index(diagonal))


triu.vjp(x=fresh(lambda g, diagonal: triu(g, diagonal=diagonal)))


tril.requires(fits("any x (..., m, n)"))
triu.requires(fits("any x (..., m, n)"))


# Joining and splitting ------------------------------------------------------------------------------------------------


@primitive
def cat(*xs, axis=0):
    """Concatenate Tensors along `axis`; all other axes must agree."""
    return np.concatenate(xs, one_axis("cat", axis, xs[0].ndim))


@cat.explains
def _(xs, axis):
    if not xs:
        return "needs at least one Tensor"
    first, axis = xs[0].shape, one_axis("cat", axis, xs[0].ndim)
    for i, x in enumerate(xs):
        if x.ndim != len(first) or x.shape[:axis] + x.shape[axis + 1 :] != first[:axis] + first[axis + 1 :]:
            return f"Tensor {i} has shape {x.shape} but Tensor 0 has {first}; all axes except axis {axis} must agree"


def _part(g, which, xs_shape, axis):
    axis = axis % g.ndim
    start = sum(s[axis] for s in xs_shape[:which])
    return take(g, index=(slice(None),) * axis + (slice(start, start + xs_shape[which][axis]),))


cat.vjp(xs=_part)


@primitive
def stack(*xs, axis=0):
    """Stack Tensors of one shape along a new axis."""
    first = xs[0].shape
    axis = one_axis("stack", axis, len(first) + 1)
    shape = (*first[:axis], 1, *first[axis:])
    return np.concatenate([x.reshape(shape) for x in xs], axis)


@stack.requires
def _(xs):
    if not xs:
        return "needs at least one Tensor"
    first = xs[0].shape
    for i, x in enumerate(xs):
        if x.shape != first:
            return f"Tensor {i} has shape {x.shape} but Tensor 0 has {first}; all must agree"


stack.vjp(xs=lambda g, which, axis: take(g, index=(slice(None),) * (axis % g.ndim) + (which,)))


@checked
def split(x, sizes, axis=0) -> tuple[Tensor, ...]:
    """A tuple of parts with these sizes along `axis`; an int means equal parts of that size, the last maybe smaller."""
    return _parts(x, sizes, one_axis("split", axis, x.ndim))


def _parts(x, sizes, axis):
    n = x.shape[axis]
    indices = _parts_of(n, sizes, axis) if type(sizes) is int else _parts_of.__wrapped__(n, sizes, axis)
    return tuple([take(x, index=index) for index in indices])


@lru_cache(256)
def _parts_of(n, sizes, axis):
    """The indices of the parts of an axis with n elements."""
    before = (slice(None),) * axis
    ends = [*range(sizes, n, sizes), n] if isinstance(sizes, int) else [*accumulate(sizes)]
    return [(*before, slice(start, end)) for start, end in zip([0, *ends], ends, strict=False)]


@split.requires
def _(x, sizes, axis):
    if isinstance(sizes, int):
        return f"the size must be positive, got {sizes}" if sizes <= 0 else None
    n = x.shape[axis := one_axis("split", axis, x.ndim)]
    if sum(sizes) != n or min(sizes, default=0) < 0:
        return f"sizes {list(sizes)} do not add up to {n}, the size of axis {axis} of shape {x.shape}"


@checked
def chunk(x, chunks, axis=0) -> tuple[Tensor, ...]:
    """A tuple of `chunks` equal parts along `axis` (if it does not divide, the last is smaller, or there are fewer)."""
    axis = one_axis("chunk", axis, x.ndim)
    return _parts(x, max(1, math.ceil(x.shape[axis] / chunks)), axis)


@chunk.requires
def _(chunks):
    return f"needs at least 1 chunk, got {chunks}" if chunks < 1 else None


def unbind(x, axis=0) -> tuple[Tensor, ...]:
    """A tuple of the slices along `axis`, without that axis."""
    axis = one_axis("unbind", axis, x.ndim)
    before = (slice(None),) * axis
    return tuple([take(x, index=(*before, i)) for i in range(x.shape[axis])])


@checked
def repeat(x, repeats) -> Tensor:
    """Tile the whole Tensor, `repeats[i]` times along axis i; leading axes are added if missing."""
    shape = (1,) * (len(repeats) - x.ndim) + x.shape
    split_ = reshape(x, shape=tuple(m for n in shape for m in (1, n)))
    wide = expand(split_, shape=tuple(m for r, n in zip(repeats, shape, strict=True) for m in (r, n)))
    return _own(reshape(wide, shape=tuple(r * n for r, n in zip(repeats, shape, strict=True))))


@repeat.requires
def _(x, repeats):
    if len(repeats) < x.ndim or min(repeats, default=0) < 0:
        return f"pass a non-negative count for each of the {x.ndim} axes of shape {x.shape}, got {tuple(repeats)}"


def _own(x):
    """x, or a copy if it is a view, so that a change does not reach its base."""
    return clone(x) if getattr(x, "version", None) is not None else x


@checked
def repeat_interleave(x, repeats, axis=None) -> Tensor:
    """Repeat each element, or each slice along `axis`, `repeats` times in a row; `repeats` may differ per element.

    With axis None, the elements of the flattened Tensor.
    """
    x, axis = (flatten(x), 0) if axis is None else (x, one_axis("repeat_interleave", axis, x.ndim))
    if np.ndim(repeats):
        return take(x, index=(*(slice(None),) * axis, np.repeat(np.arange(x.shape[axis]), np.asarray(repeats))))
    wide = expand(unsqueeze(x, axis + 1), shape=(*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :]))
    return _own(reshape(wide, shape=(*x.shape[:axis], x.shape[axis] * repeats, *x.shape[axis + 1 :])))


@repeat_interleave.requires
def _(x, repeats, axis):
    if not np.ndim(repeats):
        return f"the number of repeats must not be negative, got {repeats}" if repeats < 0 else None
    n = math.prod(x.shape) if axis is None else x.shape[axis := one_axis("repeat_interleave", axis, x.ndim)]
    counts = np.asarray(repeats)
    if counts.dtype.kind not in "iu" or counts.shape not in ((1,), (n,)) or counts.min(initial=0) < 0:
        return (f"repeats must be {n} integers, one per entry of axis {axis or 0} of shape {x.shape}, none "
                f"negative, got {counts.dtype} of shape {counts.shape}")


@checked
def shrink(x, ranges) -> Tensor:
    """Keep the elements from start to stop along each axis: `ranges` holds (start, stop) or None per axis."""
    return take(x, index=tuple([slice(None) if r is None else slice(*r) for r in ranges]))


@shrink.requires
def _(x, ranges):
    if len(ranges) != x.ndim:
        return f"{len(ranges)} ranges for {x.ndim} axes of shape {x.shape}"
    for axis, (r, n) in enumerate(zip(ranges, x.shape, strict=True)):
        if r is not None and not 0 <= r[0] <= r[1] <= n:
            return f"range {r} of axis {axis} must lie in 0 <= start <= stop <= {n}"

# Indexed --------------------------------------------------------------------------------------------------------------


def getitem(x, index) -> Tensor:
    """x[index] as in PyTorch: integers, slices with step, None, Ellipsis, integer and boolean arrays, in any mix.

    The rules are NumPy's, except that an integer does not count as an array: x[0, :, [0, 2]] is x[0][:, [0, 2]].
    Raises IndexError for an index out of range or too many indices, TypeError for any other type.
    """
    index = plain_index(index, x.shape)
    axes = torch_order(index, x.ndim)
    return take(x, index=index) if axes is None else permute(take(x, index=index), axes=axes)
