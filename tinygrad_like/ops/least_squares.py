"""Least squares and pseudo-inverses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.primitive import primitive
from ..dtypes import finfo
from ..errors import checked
from .compare import cast
from .matmul import matmul
from .matrices import _lapack, _t, matrices, square_matrices, svdvals
from .reduce import sum
from .shape import reshape, tril


@primitive
def _pinv(x, *, rtol):
    u, s, vh = _lapack("pinv", np.linalg.svd, x, full_matrices=False)
    there = s > rtol * s.max(-1, keepdims=True, initial=0.0)
    return np.matmul(np.swapaxes(vh, -1, -2) * (there / np.where(there, s, 1))[..., None, :], np.swapaxes(u, -1, -2))


def _pinv_vjp(g, x, out):
    """Golub, Pereyra (1973): the rule of an inverse, and terms for the rotation of the column and row spaces."""
    if x.shape[-2] < x.shape[-1]:  # so that products of two are small and square
        return _t(_pinv_vjp(_t(g), _t(x), _t(out)))
    columns, inner = matmul(_t(g), matmul(out, _t(out))), matmul(out, _t(g))
    rows = inner - matmul(inner, matmul(out, x)) - _t(inner)
    return columns - matmul(x, matmul(out, columns)) + matmul(_t(out), rows)


_pinv.vjp(x=_pinv_vjp)


@checked
def pinv(x, rtol=None, hermitian=False):
    """The pseudo-inverse of every matrix (m, n) -> (n, m): x^+ b is the least-squares solution of least norm.

    Singular values up to rtol times the largest, by default max(m, n) eps, count as 0. The gradient assumes that the
    rank stays; singular values may be equal.
    """
    if hermitian:  # the lower triangle counts
        x = tril(x) + _t(tril(x, diagonal=-1))
    return _pinv(x, rtol=max(x.shape[-2:]) * float(finfo(x.dtype).eps) if rtol is None else rtol)


@pinv.requires
def _(x, hermitian):
    return square_matrices(x) if hermitian else matrices(x)


class LeastSquares(NamedTuple):
    """What `lstsq` gives."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


@checked
def lstsq(a, b, rcond=None, *, driver=None):
    """x of least |a x - b|, and of those of least norm: a (..., m, n), b (..., m, k) -> solution (..., n, k).

    As in PyTorch, the driver decides what else is returned, or empty: the rank, but for "gels"; the singular values,
    for "gelsd" and "gelss"; and for these three, of more equations than unknowns, the squares of a x - b.
    Raises ValueError for other shapes.
    """
    solution, values = matmul(pinv(a, rcond), b), svdvals(a)
    nothing = residuals = reshape(values, shape=(-1,))[:0]
    if a.shape[-2] > a.shape[-1] and driver in ("gels", "gelsd", "gelss"):
        missed = matmul(a, solution) - b
        residuals = sum(missed * missed, axis=-2)
    rank = cast(nothing, dtype=np.dtype("int64"))
    if driver != "gels":
        rtol = max(a.shape[-2:]) * float(finfo(a.dtype).eps) if rcond is None else rcond
        rank = sum(values > values[..., :1] * rtol, axis=-1)
    return LeastSquares(solution, residuals, rank, values if driver in ("gelsd", "gelss") else nothing)


@lstsq.requires
def _(a, b):
    if (why := matrices(a)) is not None or b.ndim == a.ndim and b.shape[-2] == a.shape[-2]:
        return why
    return f"takes a (..., m, n) and b (..., m, k), got shapes {a.shape} and {b.shape}"
