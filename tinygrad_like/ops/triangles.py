"""LU factorization with row exchanges, and solving linear systems with it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..core.primitive import primitive
from ..errors import checked
from .along import take_along
from .axes import one_axis
from .matmul import matmul
from .matrices import _eye, _solve_triangular, _t, _upper_solved, cholesky_solve, matrices, square_matrices
from .parts import take
from .shape import cat, expand, reshape, tril, triu

_BLOCK = 32  # columns, after which what they change is changed by a product of matrices


class LU(NamedTuple):
    """What `lu` gives."""

    P: Any
    L: Any
    U: Any


class Factors(NamedTuple):
    """What `lu_factor` gives."""

    LU: Any
    pivots: Any


def _eliminated(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both triangles of every matrix in one, and with which row each was exchanged, the one with the largest number."""
    m, n = x.shape[-2:]
    lu, k = np.array(x, order="C").reshape(math.prod(x.shape[:-2]), m, n), min(m, n)
    pivots, every = np.zeros((len(lu), k), np.int32), np.arange(len(lu))
    for begin in range(0, k, _BLOCK):
        end = min(begin + _BLOCK, k)
        for j in range(begin, end):
            p = pivots[:, j] = j + np.abs(lu[:, j:, j]).argmax(axis=1)
            rows = lu[every, p]
            lu[every, p], lu[:, j] = lu[:, j], rows
            pivot = lu[:, j, j, None]
            column = lu[:, j + 1:, j]
            np.divide(column, pivot, out=column, where=pivot != 0)
            lu[:, j + 1:, j + 1:end] -= column[:, :, None] * lu[:, j, None, j + 1:end]
        if end < n:
            corner = np.tril(lu[:, begin:end, begin:end], -1) + np.eye(end - begin, dtype=lu.dtype)
            lu[:, begin:end, end:] = np.linalg.solve(corner, lu[:, begin:end, end:])
            lu[:, end:, end:] -= lu[:, end:, begin:end] @ lu[:, begin:end, end:]
    return lu.reshape(x.shape), pivots.reshape(*x.shape[:-2], k)


@primitive
def _pivots(x):
    return _eliminated(x)[1]


@primitive
def _order(pivots, *, rows):
    """In which order the rows stand after these exchanges."""
    found = np.tile(np.arange(rows), (math.prod(pivots.shape[:-1]), 1))
    flat, every = pivots.reshape(len(found), pivots.shape[-1]), np.arange(len(found))
    for j in range(flat.shape[1]):
        p = flat[:, j]
        there = found[every, p]
        found[every, p], found[:, j] = found[:, j], there
    return found.reshape(*pivots.shape[:-1], rows)


@primitive
def _backwards(order):
    return np.argsort(order, axis=-1)


@primitive
def _lu(x):
    """L and U with L U = x in one matrix, of square matrices whose rows need no exchange."""
    return _eliminated(x)[0]


def _lu_vjp(g, out):
    lower = tril(out, diagonal=-1) + _eye(out)
    s = tril(matmul(_t(lower), tril(g, diagonal=-1)), diagonal=-1) + triu(matmul(triu(g), _t(triu(out))))
    return _t(_upper_solved(out, _t(_solve_triangular(_t(lower), s, upper=True, unit=True))))


_lu.vjp(x=_lu_vjp)


def _rows(x, order):
    """The rows of every matrix in this order; the batches broadcast."""
    batch = np.broadcast_shapes(x.shape[:-2], order.shape[:-1])
    x = x if x.shape[:-2] == batch else expand(x, shape=(*batch, *x.shape[-2:]))
    index = expand(reshape(order, shape=(*order.shape, 1)), shape=x.shape)
    return take_along(x, index, axis=one_axis("lu", -2, x.ndim))


def _factored(x):
    """Both triangles of every matrix in one, whose rows stand in the right order."""
    m, n = x.shape[-2:]
    if m == n:
        return _lu(x)
    k = min(m, n)
    corner = _lu(take(x, index=(..., slice(0, k), slice(0, k))))
    if m < n:
        return cat(corner, _solve_triangular(corner, take(x, index=(..., slice(k, None))), upper=False, unit=True),
                   axis=-1)
    below = take(x, index=(..., slice(k, None), slice(None)))
    return cat(corner, _t(_solve_triangular(_t(corner), _t(below), upper=False, unit=False)), axis=-2)


@checked
def lu_factor(x, *, pivot=True):
    """L and U of `lu` in one matrix (..., m, n), whose diagonal is that of U, and the exchanges (..., min(m, n)).

    pivots: row i was exchanged with row pivots[i], counted from 1; it has no gradient. `lu_solve` takes the pair.
    Raises NotImplementedError for pivot=False.
    """
    pivots = _pivots(x)
    return Factors(_factored(_rows(x, _order(pivots, rows=x.shape[-2]))), pivots + 1)


@lu_factor.requires
def _(x, pivot):
    return matrices(x) if pivot else NotImplementedError(
        "pivot=False is not supported, as in PyTorch on a CPU; leave it out")


def lu(x, *, pivot=True):
    """P, L and U with P L U = x, for matrices (..., m, n): (..., m, m), (..., m, k), (..., k, n), k = min(m, n).

    P: a permutation, without a gradient; L: a lower triangle with ones on its diagonal; U: an upper one. There is a
    gradient where the first k columns are independent. Raises NotImplementedError for pivot=False.
    """
    return lu_unpack(*lu_factor(x, pivot=pivot))


@checked
def lu_unpack(factors, pivots, unpack_data=True, unpack_pivots=True):
    """P, L and U of `lu` from what `lu_factor` gives; None for what is not asked for."""
    m, n = factors.shape[-2:]
    k = min(m, n)
    p = lower = upper = None
    if unpack_pivots:
        order = _order(pivots - 1, rows=m)
        p = _rows(np.eye(m, dtype=factors.dtype), _backwards(order))
    if unpack_data:
        lower = tril(take(factors, index=(..., slice(0, k))), diagonal=-1) + np.eye(m, k, dtype=factors.dtype)
        upper = triu(take(factors, index=(..., slice(0, k), slice(None))))
    return LU(p, lower, upper)


@lu_unpack.requires
def _(factors):
    return matrices(factors)


@checked
def cholesky_inverse(factor, upper=False):
    """The inverse of a, given its Cholesky factor: (..., n, n). Raises ValueError for a zero on the diagonal."""
    return cholesky_solve(_eye(factor), factor, upper)


@cholesky_inverse.requires
def _(factor):
    return square_matrices(factor)
