"""Least squares, pseudo-inverses, ranks and the exponential of matrices: compositions of linalg.py."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import finfo, wide
from .compare import cast, ne
from .elementwise import where
from .linalg import _eye, _matrices, _t, cholesky, inv, matrix_norm, qr, solve, svd, svdvals
from .matmul import matmul
from .products import vander as powers
from .reduce import any, sum
from .shape import reshape, stack, tril
from .values import varying


def matrix_rank(x, tol=None, *, atol=None, rtol=None, hermitian=False):
    """How many singular values are above max(atol, rtol times the largest); rtol is by default max(m, n) eps."""
    values = svdvals(_matrices("matrix_rank", x))
    tol, atol, rtol = (np.asarray(getattr(t, "_data", t)) if t is not None else None for t in (tol, atol, rtol))
    largest = np.asarray(getattr(values, "_data", values)).max(-1, initial=0.0)
    atol = tol if atol is None else atol
    if rtol is None:
        rtol = max(x.shape[-2:]) * finfo(x.dtype).eps if atol is None else 0.0
    varying("matrix_rank compares with the largest singular value in NumPy")
    least = np.maximum(0.0 if atol is None else atol, rtol * largest)
    return sum(values > least[..., None].astype(x.dtype), axis=-1)


def _full_rank(x, rtol) -> bool:
    varying("which formula is used depends on the rank", "use linalg.solve, or do that outside")
    values = np.linalg.svd(np.asarray(getattr(x, "_data", x), wide(x.dtype)), compute_uv=False)
    return bool((values.min(-1, initial=np.inf) > rtol * values.max(-1, initial=0.0)).all())


def pinv(x, rtol=None, hermitian=False):
    """The pseudo-inverse of every matrix (m, n) -> (n, m): x^+ b is the least-squares solution of least norm.

    Singular values up to rtol times the largest, by default max(m, n) eps, count as 0. Where there are none such, the
    gradient is exact for equal singular values too.
    """
    _matrices("pinv", x, square=hermitian)
    if hermitian:  # the lower triangle counts
        x = tril(x) + _t(tril(x, diagonal=-1))
    rtol = max(x.shape[-2:]) * float(finfo(x.dtype).eps) if rtol is None else rtol
    if not x.size:
        return reshape(x, shape=(*x.shape[:-2], x.shape[-1], x.shape[-2]))
    if not _full_rank(x, rtol):
        u, s, vh = svd(x, full_matrices=False)
        values = np.asarray(getattr(s, "_data", s))
        there = values > rtol * values.max(-1, keepdims=True, initial=0.0)
        inverse = where(there, 1.0 / where(there, s, 1.0), 0.0)
        return matmul(_t(vh) * reshape(inverse, shape=(*s.shape[:-1], 1, s.shape[-1])), _t(u))
    if x.shape[-2] < x.shape[-1]:
        return _t(pinv(_t(x), rtol))
    q, r = qr(x)
    return solve(r, _t(q))


def pinverse(x, rcond=1e-15):
    """The pseudo-inverse of every matrix, see `linalg.pinv`."""
    return pinv(x, max(rcond, float(finfo(x.dtype).eps)))


class LeastSquares(NamedTuple):
    """What `lstsq` gives."""

    solution: Any
    residuals: Any
    rank: Any
    singular_values: Any


def lstsq(a, b, rcond=None, *, driver=None):
    """x of least |a x - b|, and of those of least norm: a (..., m, n), b (..., m, k) -> solution (..., n, k).

    As in PyTorch the driver says what comes besides, empty if not: the rank, but for "gels"; the singular values, for
    "gelsd" and "gelss"; and for these three, of more equations than unknowns, the squares of a x - b.
    Raises ValueError for other shapes.
    """
    _matrices("lstsq", a)
    if b.ndim != a.ndim or b.shape[-2] != a.shape[-2]:
        raise ValueError(f"lstsq: takes a (..., m, n) and b (..., m, k), got shapes {a.shape} and {b.shape}")
    solution = matmul(pinv(a, rcond), b)
    nothing = residuals = reshape(svdvals(a), shape=(-1,))[:0]
    if a.shape[-2] > a.shape[-1] and driver in ("gels", "gelsd", "gelss"):
        missed = matmul(a, solution) - b
        residuals = sum(missed * missed, axis=-2)
    rank = cast(nothing, dtype=np.dtype("int64")) if driver == "gels" else matrix_rank(a)
    return LeastSquares(solution, residuals, rank, svdvals(a) if driver in ("gelsd", "gelss") else nothing)


def matrix_exp(x):
    """e^x = 1 + x + x x / 2 + x x x / 6 + ... of every matrix: of x / 2^s by its series, then squared s times."""
    _matrices("matrix_exp", x, square=True)
    varying("how often matrix_exp squares depends on its input")
    norm = np.abs(np.asarray(getattr(x, "_data", x))).sum(-2).max(initial=0.0)
    squarings = max(0, math.ceil(math.log2(norm / 0.5))) if np.isfinite(norm) and norm > 0.5 else 0
    x = x * 0.5**squarings
    y = _eye(x) + x * (1 / 13)
    for k in range(12, 0, -1):  # by Horner's rule
        y = _eye(x) + matmul(x, y) * (1 / k)
    for _ in range(squarings):
        y = matmul(y, y)
    return y


def vander(x, N=None):
    """The powers 0, 1, ..., N - 1 of a vector as columns; N is by default its length."""
    return powers(x, N, increasing=True)


def cond(x, p=None):
    """The condition number of matrices in a norm, |x| |x^-1|; by default the ratio of the outermost singular values."""
    if p in (None, 2, -2):
        values = svdvals(_matrices("cond", x))
        return values[..., 0] / values[..., -1] if p != -2 else values[..., -1] / values[..., 0]
    return matrix_norm(x, p) * matrix_norm(inv(x), p)


class Checked(NamedTuple):
    """Matrices, and for each 0, or 1 where there is none."""

    inverse: Any
    info: Any


class CheckedFactor(NamedTuple):
    """Cholesky factors, and for each 0, or 1 where there is none."""

    L: Any
    info: Any


def inv_ex(x, check_errors=False):
    """The pair (inverse, info): info is 0, or 1 for a singular matrix, whose inverse is NaN; or an error is raised."""
    return Checked(*_where_it_exists(inv, x, check_errors))


def cholesky_ex(x, upper=False, check_errors=False):
    """The pair (L, info): info is 0, or 1 for a matrix that is not positive definite, whose L is NaN; or an error is
    raised."""
    return CheckedFactor(*_where_it_exists(lambda m: cholesky(m, upper), x, check_errors))


def _where_it_exists(f, x, check_errors):
    info = cast(any(ne(x, x), axis=(-2, -1)), dtype=np.dtype("int32"))
    try:
        return f(x), info
    except ValueError:
        if check_errors or x.shape[-2] != x.shape[-1]:
            raise
    if x.ndim == 2:
        return x * math.nan, info * 0 + 1
    parts = [_where_it_exists(f, part, False) for part in x]
    return stack(*[y for y, _ in parts]), stack(*[info for _, info in parts])
