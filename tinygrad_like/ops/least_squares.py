"""Least squares, pseudo-inverses, ranks and the exponential of matrices: compositions of linalg.py."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.primitive import primitive
from ..dtypes import finfo
from .compare import cast, ne
from .elementwise import where
from .linalg import _eye, _lapack, _matrices, _t, cholesky, inv, matrix_norm, svdvals
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


@primitive
def _pinv(x, *, rtol):
    u, s, vh = _lapack("pinv", np.linalg.svd, x, full_matrices=False)
    there = s > rtol * s.max(-1, keepdims=True, initial=0.0)
    return np.matmul(np.swapaxes(vh, -1, -2) * (there / np.where(there, s, 1))[..., None, :], np.swapaxes(u, -1, -2))


def _pinv_vjp(g, x, out):
    """Golub, Pereyra (1973): the rule of an inverse, and what turns the spaces of columns and rows."""
    if x.shape[-2] < x.shape[-1]:  # so that products of two are small and square
        return _t(_pinv_vjp(_t(g), _t(x), _t(out)))
    columns, inner = matmul(_t(g), matmul(out, _t(out))), matmul(out, _t(g))
    rows = inner - matmul(inner, matmul(out, x)) - _t(inner)
    return columns - matmul(x, matmul(out, columns)) + matmul(_t(out), rows)


_pinv.vjp(x=_pinv_vjp)


def pinv(x, rtol=None, hermitian=False):
    """The pseudo-inverse of every matrix (m, n) -> (n, m): x^+ b is the least-squares solution of least norm.

    Singular values up to rtol times the largest, by default max(m, n) eps, count as 0. The gradient is that of changes
    which keep the rank; singular values may be equal.
    """
    _matrices("pinv", x, square=hermitian)
    if hermitian:  # the lower triangle counts
        x = tril(x) + _t(tril(x, diagonal=-1))
    return _pinv(x, rtol=max(x.shape[-2:]) * float(finfo(x.dtype).eps) if rtol is None else rtol)


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
    rank = cast(nothing, dtype=np.dtype("int64")) if driver == "gels" else matrix_rank(a, rtol=rcond)
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
    """The condition number of matrices in a norm, |x| |x^-1|; by default the ratio of the outermost singular values.

    Infinite for a singular matrix.
    """
    if p in (None, 2, -2):
        values = svdvals(_matrices("cond", x))
        return values[..., 0] / values[..., -1] if p != -2 else values[..., -1] / values[..., 0]
    inverse, info = inv_ex(_matrices("cond", x, square=True))
    singular = ne(info, 0)
    inverse = where(reshape(singular, shape=(*singular.shape, 1, 1)), x, inverse)
    return where(singular, math.inf, matrix_norm(x, p) * matrix_norm(inverse, p))


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
