"""Norms of vectors over any axes, and of matrices over two."""

from __future__ import annotations

import math

from ..core.tensor import Tensor
from ..errors import checked
from .axes import one_axis
from .compare import cast, eq, ne
from .elementwise import abs, pow, where
from .matrices import matrices, svdvals
from .reduce import any, max, min, sum
from .reduce import norm as euclidean
from .shape import permute, reshape


def vector_norm(x, ord=2, axis=None, keepdim=False) -> Tensor:
    """(sum |x|^ord)^(1 / ord) over `axis`; for ord inf or -inf the largest or smallest |x|, for 0 the number of
    nonzeros.

    At 0 the gradient is 0.
    """
    how = {"axis": axis, "keepdim": keepdim}
    if ord == 2:
        return euclidean(x, **how)
    if ord == 0:
        return sum(cast(ne(x, 0), dtype=x.dtype), **how)
    if math.isinf(ord):
        return (max if ord > 0 else min)(abs(x), **how)
    if ord == 1:
        return sum(abs(x), **how)
    zero = eq(x, 0)
    total = sum(where(zero, 0.0, pow(abs(where(zero, 1.0, x)), ord)), **how)  # so has a slope at 0 for any ord
    at_0 = eq(total, 0) if ord > 0 else any(zero, **how)
    return where(at_0, 0.0, pow(where(at_0, 1.0, total), 1 / ord))


@checked
def norm(x, ord=None, axis=None, keepdim=False) -> Tensor:
    """The norm of vectors along one axis or of matrices in two axes; with neither axis nor ord, of all elements.

    ord: see `vector_norm` and `matrix_norm`. Raises ValueError for ord without axis unless x is a vector or a matrix.
    """
    if ord is None:
        return euclidean(x, axis=axis, keepdim=keepdim)
    axis = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    return (vector_norm if len(axis) == 1 else matrix_norm)(x, ord, axis, keepdim)


@norm.requires
def _(x, ord, axis):
    if ord is not None and axis is None and x.ndim not in (1, 2):
        return f"ord={ord!r} without axis takes a vector or a matrix, got shape {x.shape}"


@checked
def matrix_norm(x, ord="fro", axis=(-2, -1), keepdim=False) -> Tensor:
    """A norm of the matrices in two axes. ord: "fro", "nuc" (the sum of the singular values), 1 or inf (the largest
    absolute column or row sum), 2 (the largest singular value); -1, -inf and -2 take the smallest.
    """
    a, b = (one_axis("matrix_norm", i, x.ndim) for i in axis)
    if ord == "fro":
        return euclidean(x, axis=(a, b), keepdim=keepdim)
    rest = [i for i in range(x.ndim) if i not in (a, b)]
    y = permute(x, axes=(*rest, a, b))
    if ord in ("nuc", 2, -2):
        y = svdvals(y)
        y = sum(y, axis=-1) if ord == "nuc" else max(y, axis=-1) if ord > 0 else min(y, axis=-1)
    else:
        y = (max if ord > 0 else min)(sum(abs(y), axis=-2 if ord in (1, -1) else -1), axis=-1)
    return reshape(y, shape=tuple(1 if i in (a, b) else n for i, n in enumerate(x.shape))) if keepdim else y


@matrix_norm.requires
def _(x, ord, axis):
    a, b = (one_axis("matrix_norm", i, x.ndim) for i in axis)
    if a == b:
        return f"takes two different axes, got {axis}"
    if ord not in ("fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf):
        return f'ord must be "fro", "nuc", 1, 2, inf, -1, -2 or -inf, got {ord!r}'
    return None if ord == "fro" else matrices(x)
