"""Products over several axes, sums of products, and pairwise distances."""

from __future__ import annotations

from string import ascii_letters

import numpy as np

from ..core.tensor import Tensor
from ..errors import checked
from .axes import axes as normal_axes
from .axes import one_axis
from .contracts import fits
from .einsum import einsum
from .elementwise import clip, sqrt
from .matmul import matmul
from .norms import vector_norm
from .reduce import sum
from .shape import reshape, roll, transpose, unsqueeze


@checked
def tensordot(a, b, axes=2) -> Tensor:
    """Sums of products over several axes: the last `axes` of a and the first of b, or the axes in two lists."""
    first, second = _pairs(a, b, axes)
    left, right = ascii_letters[: a.ndim], [*ascii_letters[a.ndim : a.ndim + b.ndim]]
    for i, j in zip(first, second, strict=True):
        right[j] = left[i]
    kept = [n for n in left if n not in right] + [n for n in right if n not in left]
    return einsum(f"{left},{''.join(right)}->{''.join(kept)}", a, b)


@tensordot.requires
def _(a, b, axes):
    first, second = _pairs(a, b, axes)
    sizes = [a.shape[i] for i in first], [b.shape[j] for j in second]
    if len(first) != len(second) or True in ([m != n and 1 not in (m, n) for m, n in zip(*sizes, strict=True)]):
        return f"axes {tuple(first)} of shape {a.shape} and {tuple(second)} of shape {b.shape} must agree"


def _pairs(a, b, axes):
    """The axes of a, and the matching axes of b."""
    if isinstance(axes, int):
        axes = tuple(range(a.ndim - axes, a.ndim)), tuple(range(axes))
    return [normal_axes("tensordot", tuple(n) if isinstance(n, tuple | list) else (n,), x.ndim)
            for n, x in zip(axes, (a, b), strict=True)]


def inner(a, b) -> Tensor:
    """Sums of products over the last axis of both: (..., n), (*, n) -> (..., *)."""
    return tensordot(a, b, (-1, -1)) if a.ndim and b.ndim else a * b


def kron(a, b) -> Tensor:
    """The Kronecker product: blocks a[i, j] b."""
    n = max(a.ndim, b.ndim)
    a, b = (reshape(x, shape=(1,) * (n - x.ndim) + x.shape) for x in (a, b))
    wide = [reshape(x, shape=tuple(k for pair in pairs for k in pair)) for x, pairs in
            ((a, [(s, 1) for s in a.shape]), (b, [(1, s) for s in b.shape]))]
    return reshape(wide[0] * wide[1], shape=tuple([s * t for s, t in zip(a.shape, b.shape, strict=True)]))


@checked
def cross(a, b, axis=None) -> Tensor:
    """The cross product along an axis of 3 elements, by default the first such axis: out_i = a_j b_k - a_k b_j."""
    axis = _axis_of_3(a, b, axis)
    (aj, ak), (bj, bk) = ([roll(x, shifts=-n, axis=axis) for n in (1, 2)] for x in (a, b))
    return aj * bk - ak * bj


@cross.requires
def _(a, b, axis):
    axis = _axis_of_3(a, b, axis)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        return f"axis {axis} of shapes {a.shape} and {b.shape} must have 3 elements"


def _axis_of_3(a, b, axis) -> int:
    """The axis of a cross product, counted from the last."""
    ndim = max(a.ndim, b.ndim)
    if axis is None:
        axis = next((i for i, n in enumerate(np.broadcast_shapes(a.shape, b.shape)) if n == 3), -1)
    return one_axis("cross", axis, ndim) - ndim


def vecdot(a, b, axis=-1) -> Tensor:
    """Sums of products along an axis."""
    return sum(a * b, axis=axis)


@checked
def cdist(x1, x2, p=2.0, compute_mode=None) -> Tensor:
    """The distances |x1_i - x2_j|_p between all pairs of rows: (..., n, size), (..., m, size) -> (..., n, m).

    Where the distance is 0, its gradient is 0. For a million differences and more, Euclidean distances are computed as
    |a|^2 + |b|^2 - 2 a b, which is less accurate for large numbers.
    """
    if not x1.shape[-1]:
        return sum(unsqueeze(x1, -2) - unsqueeze(x2, -3), axis=-1)
    if p == 2 and x1.size * x2.shape[-2] > 1 << 20:
        squares = [sum(x * x, axis=-1) for x in (x1, x2)]
        mixed = matmul(x1, transpose(x2, -1, -2))
        return sqrt(clip(unsqueeze(squares[0], -1) + unsqueeze(squares[1], -2) - 2.0 * mixed, min=0.0))
    a, b = x1.shape, x2.shape
    d = reshape(x1, shape=(*a[:-1], 1, a[-1])) - reshape(x2, shape=(*b[:-2], 1, *b[-2:]))
    return vector_norm(d, p, axis=-1) if p else vector_norm(d, p, axis=-1) + sum(d * 0.0, axis=-1)


cdist.requires(fits("any x1 (..., n, size), any x2 (..., m, size)"))
