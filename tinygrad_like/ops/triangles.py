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
from .matrices import _eye, _solve_triangular, _t, _upper_solved, square_matrices
from .shape import expand, reshape, tril, triu


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
    n = x.shape[-1]
    lu = np.array(x, order="C").reshape(math.prod(x.shape[:-2]), n, n)
    pivots, every = np.zeros((len(lu), n), np.int32), np.arange(len(lu))
    for j in range(n):
        p = pivots[:, j] = j + np.abs(lu[:, j:, j]).argmax(axis=1)
        rows = lu[every, p]
        lu[every, p], lu[:, j] = lu[:, j], rows
        pivot, column = lu[:, j, j, None], lu[:, j + 1:, j]
        np.divide(column, pivot, out=column, where=pivot != 0)
        lu[:, j + 1:, j + 1:] -= column[:, :, None] * lu[:, j, None, j + 1:]
    return lu.reshape(x.shape), pivots.reshape(x.shape[:-1])


@primitive
def _pivots(x):
    return _eliminated(x)[1]


@primitive
def _order(pivots):
    """In which order the rows stand after these exchanges."""
    found = np.tile(np.arange(pivots.shape[-1]), (math.prod(pivots.shape[:-1]), 1))
    flat, every = pivots.reshape(found.shape), np.arange(len(found))
    for j in range(flat.shape[1]):
        p = flat[:, j]
        there = found[every, p]
        found[every, p], found[:, j] = found[:, j], there
    return found.reshape(pivots.shape)


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


@checked
def lu_factor(x, *, pivot=True):
    """L and U of `lu` in one matrix (..., n, n), whose diagonal is that of U, and the exchanges (..., n).

    pivots: row i was exchanged with row pivots[i], counted from 1; this has no gradient. Raises NotImplementedError for
    pivot=False, and ValueError for a matrix that is not square.
    """
    pivots = _pivots(x)
    return Factors(_lu(_rows(x, _order(pivots))), pivots + 1)


@lu_factor.requires
def _(x, pivot):
    return square_matrices(x) if pivot else NotImplementedError(
        "pivot=False is not supported, as in PyTorch on a CPU; leave it out")


def lu(x, *, pivot=True):
    """P, L and U with P L U = x, for square matrices (..., n, n).

    P: a permutation, without a gradient; L: a lower triangle with ones on its diagonal; U: an upper one. There is a
    gradient where all but the last column are independent. Errors are those of `lu_factor`.
    """
    return lu_unpack(*lu_factor(x, pivot=pivot))


@checked
def lu_unpack(factors, pivots, unpack_data=True, unpack_pivots=True):
    """P, L and U of `lu` from what `lu_factor` gives; None for what is not asked for."""
    one = np.eye(factors.shape[-1], dtype=factors.dtype)
    p = _rows(one, _backwards(_order(pivots - 1))) if unpack_pivots else None
    return LU(p, *(tril(factors, diagonal=-1) + one, triu(factors)) if unpack_data else (None, None))


@lu_unpack.requires
def _(factors):
    return square_matrices(factors)
