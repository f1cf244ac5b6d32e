"""Linear algebra with NumPy's LAPACK: matrices are the last two axes, the axes before them batches.

Rules follow Giles (2008) and Seeger et al. (2017). A decomposition has several results, but an op returns one array, so
it packs them side by side; `_parts` unpacks them.

Raises ValueError for a matrix that is singular, or not positive definite, or for which LAPACK does not converge.
"""

from __future__ import annotations

import builtins
import math
from collections import namedtuple

import numpy as np

from ..core.primitive import primitive
from ..core.tensor import Tensor
from ..dtypes import finfo
from ..errors import checked, refusal
from .compare import eq, logical_and
from .contracts import fits
from .elementwise import mul, where
from .matmul import matmul
from .parts import take
from .reduce import sum
from .shape import cat, reshape, transpose, tril, triu


def _t(x):
    return transpose(x, -1, -2)


matrices = fits("float x (..., m, n)")
square_matrices = fits("float x (..., n, n)")


def _lapack(who: str, function, *arrays, **options):
    try:
        return function(*arrays, **options)
    except np.linalg.LinAlgError as error:
        shapes = " and ".join(str(a.shape) for a in arrays)
        raise refusal(who, f"{str(error)[0].lower()}{str(error)[1:]}, in shape {shapes}") from None


def _column(x):
    return reshape(x, shape=(*x.shape, 1))


def _eye(x) -> np.ndarray:
    return np.eye(x.shape[-1], dtype=x.dtype)


# Solving and inverses -------------------------------------------------------------------------------------------------


@primitive
def solve_matrices(a, b):
    """X with a X = b: a (..., n, n), b (..., n, k)."""
    return _lapack("solve", np.linalg.solve, a, b)


solve_matrices.vjp(a=lambda g, a, out: -matmul(solve_matrices(_t(a), g), _t(out)),
                   b=lambda g, a: solve_matrices(_t(a), g))


@checked
def solve(a, b, left=True) -> Tensor:
    """x with a x = b: a (..., n, n), b (n) or (..., n) of the same batch, or (..., n, k); or x a = b, unless left.

    Raises ValueError for shapes that do not fit, or a singular matrix.
    """
    if not left:
        return _t(solve(_t(a), _t(b)))
    if not _is_vector(a, b):
        return solve_matrices(a, b)
    x = solve_matrices(a, _column(b))
    return reshape(x, shape=x.shape[:-1])


solve.requires(fits("float a (..., n, n), b (...)"))


@solve.requires
def _(a, b, left):
    if left and (b.ndim == 0 or b.shape[-1 if _is_vector(a, b) else -2] != a.shape[-1]):
        return f"b must be a vector or matrix with {a.shape[-1]} rows for a of shape {a.shape}, got shape {b.shape}"


def _is_vector(a, b) -> bool:
    return b.ndim == 1 or b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]


@checked
def inv(x) -> Tensor:
    """The inverse of every matrix. Raises ValueError for a singular one."""
    return solve_matrices(x, _eye(x))


inv.requires(square_matrices)


# Triangular systems ---------------------------------------------------------------------------------------------------

def _solve_triangular(a, b, *, upper, unit):
    """X with tri(a) X = b, where tri(a) is the lower or upper triangle, with ones on the diagonal if unit."""
    if not unit:
        return solve_matrices((triu if upper else tril)(a), b)
    return solve_matrices((triu(a, diagonal=1) if upper else tril(a, diagonal=-1)) + _eye(a), b)


def _upper_solved(a, b):
    return _solve_triangular(a, b, upper=True, unit=False)


@checked
def solve_triangular(a, b, *, upper, left=True, unitriangular=False) -> Tensor:
    """X with a X = b (X a = b, if not left), reading one triangle of a: a (..., n, n), b (..., n, k) or (..., k, n).

    upper: which triangle; unitriangular: its diagonal counts as ones. The batch axes broadcast.
    Raises ValueError for shapes that do not fit, or a zero on the diagonal.
    """
    if left:
        return _solve_triangular(a, b, upper=upper, unit=unitriangular)
    return _t(_solve_triangular(_t(a), _t(b), upper=not upper, unit=unitriangular))


_LEFT, _RIGHT = fits("float a (..., n, n), b (..., n, k)"), fits("float a (..., n, n), b (..., k, n)")


@solve_triangular.requires
def _(a, b, left, unitriangular):
    if (why := (_LEFT if left else _RIGHT)(a, b)) is not None:
        return why
    if not unitriangular and not getattr(a, "_data", a).diagonal(0, -2, -1).all():
        return f"a of shape {a.shape} has a zero on the diagonal, so it is singular"


# Decompositions -------------------------------------------------------------------------------------------------------


@primitive
def _cholesky(x):
    """L, lower triangular, with L L^T = x."""
    return _lapack("cholesky", np.linalg.cholesky, x)


def _cholesky_vjp(g, out):
    p = matmul(_t(out), tril(g))
    p = (tril(p) + tril(p, diagonal=-1)) * 0.5  # the lower triangle, with half of the diagonal
    s = _upper_solved(_t(out), _t(_upper_solved(_t(out), _t(p))))
    return (s + _t(s)) * 0.5


_cholesky.vjp(x=_cholesky_vjp)


@checked
def cholesky(x, upper=False) -> Tensor:
    """L, lower triangular, with L L^T = x, for symmetric positive definite matrices; it reads only the lower triangle.

    With upper, L^T. The gradient is symmetric. Raises ValueError for other matrices.
    """
    y = _cholesky(x)
    return _t(y) if upper else y


cholesky.requires(square_matrices)


def cholesky_solve(b, factor, upper=False) -> Tensor:
    """X with a X = b, given the Cholesky factor of a (see `cholesky`): b (..., n, k), factor (..., n, n).

    Raises ValueError for shapes that do not fit, or a factor with a zero on the diagonal.
    """
    lower = _t(factor) if upper else factor
    return solve_triangular(_t(lower), solve_triangular(lower, b, upper=False), upper=True)


def _packed(*matrices):
    """All elements of all matrices in one last axis."""
    return cat(*[reshape(m, shape=(*m.shape[:-2], math.prod(m.shape[-2:]))) for m in matrices], axis=-1)


def _parts(x, *shapes):
    """The matrices of these shapes that `_packed` packed into x."""
    parts, start = [], 0
    for shape in shapes:
        stop = start + math.prod(shape)
        parts.append(reshape(take(x, index=(..., slice(start, stop))), shape=(*x.shape[:-1], *shape)))
        start = stop
    return parts


@primitive
def _qr(x):
    return _packed(*np.linalg.qr(x))


def _qr_vjp(g, x_shape, out):
    m, n = x_shape[-2:]
    (q, r), (gq, gr) = (_parts(y, (m, n), (n, n)) for y in (out, g))
    s = triu(matmul(gr, _t(r)) - matmul(_t(q), gq))
    s = s + _t(triu(s, diagonal=1))
    return _t(_upper_solved(r, _t(gq + matmul(q, s))))


_qr.vjp(x=_qr_vjp)


@checked
def qr(x) -> tuple[Tensor, ...]:
    """Q with orthonormal columns and R, upper triangular, with Q R = x: (..., m, n) -> (..., m, k), (..., k, n).

    k = min(m, n). The gradient needs the first k columns to be independent. Source: Walter, Lehmann (2010).
    """
    m, n = x.shape[-2:]
    q, r = _parts(_qr(take(x, index=(..., slice(0, m)))), (m, builtins.min(m, n)), (builtins.min(m, n),) * 2)
    return q, r if n <= m else cat(r, matmul(_t(q), take(x, index=(..., slice(m, None)))), axis=-1)


qr.requires(matrices)


@primitive
def _eigh(x):
    values, vectors = _lapack("eigh", np.linalg.eigh, x)
    return _packed(values[..., None, :], vectors)


def _eigh_vjp(g, x_shape, out):
    n = x_shape[-1]
    (w, v), (gw, gv) = (_parts(y, (1, n), (n, n)) for y in (out, g))
    turned = matmul(_t(v), gv)  # only the rotation counts: the vectors stay orthonormal
    inner = _quotient((turned - _t(turned)) * 0.5, w - _t(w)) + mul(gw, _eye(v))
    return matmul(matmul(v, inner), _t(v))


def _quotient(a, b):
    """a / b, but 0 where both are 0: vectors without a cotangent need no slope."""
    nothing = logical_and(eq(b, 0), eq(a, 0))
    return where(nothing, 0.0, a / where(nothing, 1.0, b))


_eigh.vjp(x=_eigh_vjp)


@checked
def eigh(x, UPLO="L") -> tuple[Tensor, ...]:
    """Eigenvalues in ascending order, and eigenvectors as columns, of symmetric matrices: (..., n), (..., n, n).

    It reads the lower triangle, or, with UPLO="U", the upper one. The vectors have a gradient only where all
    eigenvalues differ, and it is meaningful only for functions that do not depend on the vectors' signs.
    """
    n = x.shape[-1]
    values, vectors = _parts(_eigh(x if UPLO == "L" else _t(x)), (n,), (n, n))
    return values, vectors


eigh.requires(square_matrices, lambda UPLO: (
    None if UPLO in ("L", "U") else f'UPLO must be "L" or "U", got {UPLO!r}'))


def eigvalsh(x, UPLO="L") -> Tensor:
    """The eigenvalues of symmetric matrices in ascending order: (..., n)."""
    return eigh(x, UPLO)[0]


@primitive
def _svd(x, *, full_matrices=False):
    u, s, vh = _lapack("svd", np.linalg.svd, x, full_matrices=full_matrices)
    return _packed(u, s[..., None, :], vh)


def _svd_vjp(g, x_shape, out):
    m, n = x_shape[-2:]
    k = builtins.min(m, n)
    (u, s, vh), (gu, gs, gvh) = (_parts(y, (m, k), (1, k), (k, n)) for y in (out, g))
    squares = s * s
    turned_u, turned_v = matmul(_t(u), gu), matmul(vh, _t(gvh))
    left, right = (_quotient(t - _t(t), squares - _t(squares)) for t in (turned_u, turned_v))
    x = matmul(matmul(u, left * s + _t(s) * right + mul(gs, _eye(left))), vh)
    if m > k:
        x = x + matmul(_quotient(gu - matmul(u, turned_u), s), vh)
    if n > k:
        x = x + matmul(u, _quotient(gvh - matmul(_t(turned_v), vh), _t(s)))
    return x


_svd.vjp(x=_svd_vjp)


@checked
def svd(x, full_matrices=True) -> tuple[Tensor, ...]:
    """U, S and V^T with U diag(S) V^T = x, S in descending order: (..., m, k), (..., k), (..., k, n), k = min(m, n).

    With full_matrices, U and V^T are square, m x m and n x n; there is a gradient only if x is square too. U and V have
    a gradient only where all singular values differ and, unless x is square, none is 0; their signs are arbitrary. The
    gradient of the singular values exists everywhere: U diag(g) V^T.
    """
    m, n = x.shape[-2:]
    k, full = builtins.min(m, n), full_matrices and m != n
    u, s, vh = _parts(_svd(x, full_matrices=full), (m, m if full else k), (k,), (n if full else k, n))
    return u, s, vh


svd.requires(matrices)


@svd.requires
def _(x, full_matrices):
    if full_matrices and x.shape[-1] != x.shape[-2] and getattr(x, "requires_grad", False):
        return "the bases that full_matrices=True completes have no gradient; use full_matrices=False"


def svdvals(x) -> Tensor:
    """The singular values in descending order: (..., min(m, n))."""
    return svd(x, full_matrices=False)[1]


# Least squares --------------------------------------------------------------------------------------------------------


@primitive
def _pinv(x, *, rtol):
    u, s, vh = _lapack("pinv", np.linalg.svd, x, full_matrices=False)
    there = s > rtol * s.max(-1, keepdims=True, initial=0.0)
    return np.matmul(np.swapaxes(vh, -1, -2) * (there / np.where(there, s, 1))[..., None, :], np.swapaxes(u, -1, -2))


def _pinv_vjp(g, x, out):
    """Golub, Pereyra (1973): the rule of an inverse, and terms for the rotation of the column and row spaces."""
    if x.shape[-2] < x.shape[-1]:  # keeps the products of two small and square
        return _t(_pinv_vjp(_t(g), _t(x), _t(out)))
    columns, inner = matmul(_t(g), matmul(out, _t(out))), matmul(out, _t(g))
    rows = inner - matmul(inner, matmul(out, x)) - _t(inner)
    return columns - matmul(x, matmul(out, columns)) + matmul(_t(out), rows)


_pinv.vjp(x=_pinv_vjp)


@checked
def pinv(x, rtol=None) -> Tensor:
    """The pseudo-inverse of every matrix (m, n) -> (n, m): x^+ b is the least-squares solution of least norm.

    Singular values up to rtol times the largest, by default max(m, n) eps, count as 0. The gradient assumes a constant
    rank; singular values may be equal.
    """
    return _pinv(x, rtol=builtins.max(x.shape[-2:]) * float(finfo(x.dtype).eps) if rtol is None else rtol)


pinv.requires(matrices)


# As in PyTorch; residuals and singular_values are empty.
LeastSquares = namedtuple("LeastSquares", "solution residuals rank singular_values")


@checked
def lstsq(a, b, rcond=None) -> tuple[Tensor, ...]:
    """The x of least norm that minimises |a x - b|: a (..., m, n), b (..., m, k) -> solution (..., n, k), and more.

    rank: the number of singular values of a that count as nonzero, see `pinv`. Raises ValueError for other shapes.
    """
    values = svdvals(a)
    rtol = builtins.max(a.shape[-2:]) * float(finfo(a.dtype).eps) if rcond is None else rcond
    nothing = reshape(values, shape=(-1,))[:0]
    return LeastSquares(matmul(pinv(a, rcond), b), nothing, sum(values > values[..., :1] * rtol, axis=-1), nothing)


lstsq.requires(fits("float a (..., m, n), b (..., m, k)"))
