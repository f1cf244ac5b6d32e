"""Matrices as a product of triangular ones, rows exchanged."""

from __future__ import annotations

import builtins
from typing import Any, NamedTuple

import numpy as np

from ..noting import noted
from ..primitive import primitive
from .compare import cast, eq
from .index import _beside, gather, take
from .linalg import _matrices, _packed, _parts, _t, solve_triangular
from .matmul import matmul
from .shape import cat, expand, reshape, tril, triu


class LU(NamedTuple):
    """What `lu` gives."""

    P: Any
    L: Any
    U: Any


def _eliminated(x: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
    """L below the diagonal and U from there on, of every matrix, which is changed; `rows` follow if they may move."""
    for j in range(builtins.min(x.shape[-2:])):
        if rows is not None:
            of = np.abs(x[..., j:, j]).argmax(-1)[..., None] + j
            for a in (x, rows):
                here, there = a[..., j, :].copy(), np.take_along_axis(a, of[..., None], -2)[..., 0, :]
                np.put_along_axis(a, of[..., None], here[..., None, :], -2)
                a[..., j, :] = there
        pivot = x[..., j, None, j]
        x[..., j + 1:, j] /= np.where(pivot == 0, 1, pivot)  # nothing but zeros stands below a pivot of 0
        x[..., j + 1:, j + 1:] -= x[..., j + 1:, j, None] * x[..., j, None, j + 1:]
    return x


@noted
def _order(x):
    """Which row of x comes to each place, so that every pivot is the largest in its column."""
    rows = np.broadcast_to(np.arange(x.shape[-2])[:, None], (*x.shape[:-1], 1)).copy()
    _eliminated(np.array(x), rows)
    return rows[..., 0]


@primitive
def _lu(x):
    packed = _eliminated(np.array(x))
    return _packed(np.tril(packed, -1) + np.eye(x.shape[-1], dtype=x.dtype), np.triu(packed))


def _lu_vjp(g, x_shape, out):
    n = x_shape[-1]
    (lower, upper), (gl, gu) = (_parts(y, (n, n), (n, n)) for y in (out, g))
    s = tril(matmul(_t(lower), gl), diagonal=-1) + triu(matmul(gu, _t(upper)))
    s = solve_triangular(_t(lower), s, upper=True, unitriangular=True)
    return _t(solve_triangular(upper, _t(s), upper=True))


_lu.vjp(x=_lu_vjp)


def lu(x, *, pivot=True):
    """P, L and U with P L U = x: rows in another order, unit lower and upper triangular, (m, m), (m, k), (k, n).

    k = min(m, n). pivot: whether rows are exchanged; if not, P is the identity. The gradient needs the first k rows, in
    the new order, and columns to be an invertible block. Raises ValueError where it is not, or for other shapes.
    """
    m, n = _matrices("lu", x).shape[-2:]
    k, shape = builtins.min(m, n), (*x.shape[:-2], m)
    array = getattr(x, "_data", x)
    order = _order(array) if pivot else np.broadcast_to(np.arange(m), shape)
    places = expand(reshape(_beside(x, order), shape=(*shape, 1)), shape=x.shape)
    y = gather(x, places, axis=-2) if x.size else x
    lower, upper = _parts(_lu(take(y, index=(..., slice(0, k), slice(0, k)))), (k, k), (k, k))
    if m > n:
        lower = cat(lower, solve_triangular(upper, take(y, index=(..., slice(n, m), slice(None))), upper=True,
                                            left=False), axis=-2)
    if n > m:
        rest = take(y, index=(..., slice(None), slice(m, n)))
        upper = cat(upper, solve_triangular(lower, rest, upper=False, unitriangular=True), axis=-1)
    exchanged = eq(np.arange(m)[:, None], reshape(_beside(x, order), shape=(*shape[:-1], 1, m)))
    return LU(cast(exchanged, dtype=x.dtype), lower, upper)
