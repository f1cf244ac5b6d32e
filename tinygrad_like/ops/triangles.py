"""LU factorization with row exchanges."""

from __future__ import annotations

import math
from collections import namedtuple

import numpy as np

from ..core.primitive import primitive
from ..core.tensor import Tensor
from ..errors import checked
from .contracts import fits
from .matmul import matmul
from .matrices import _eye, _solve_triangular, _t, _upper_solved, square_matrices
from .shape import tril, triu

LU = namedtuple("LU", "P L U")
Factors = namedtuple("Factors", "LU pivots")


def _eliminated(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L and U of every matrix packed in one, and the pivots: the row, with the largest element, that each was swapped
    with."""
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
def _exchanges(pivots, *, dtype):
    """Matrices that perform these row exchanges, one after the other, by multiplication."""
    n = pivots.shape[-1]
    found = np.tile(np.eye(n, dtype=dtype), (math.prod(pivots.shape[:-1]), 1, 1))
    for rows, places in zip(found, pivots.reshape(len(found), n), strict=True):
        for j, p in enumerate(places):
            rows[[j, p]] = rows[[p, j]]
    return found.reshape(*pivots.shape, n)


@primitive
def _lu(x):
    """L and U with L U = x packed in one matrix, for square matrices that need no row exchanges."""
    return _eliminated(x)[0]


def _lu_vjp(g, out):
    lower = tril(out, diagonal=-1) + _eye(out)
    s = tril(matmul(_t(lower), tril(g, diagonal=-1)), diagonal=-1) + triu(matmul(triu(g), _t(triu(out))))
    return _t(_upper_solved(out, _t(_solve_triangular(_t(lower), s, upper=True, unit=True))))


_lu.vjp(x=_lu_vjp)


@checked
def lu_factor(x) -> tuple[Tensor, ...]:
    """L and U of `lu` packed in one matrix (..., n, n), with U's diagonal, and the pivots (..., n).

    pivots: row i was exchanged with row pivots[i], counted from 1; they have no gradient.
    """
    pivots = _pivots(x)
    return Factors(_lu(matmul(_exchanges(pivots, dtype=x.dtype), x)), pivots + 1)


lu_factor.requires(square_matrices)


def lu(x) -> tuple[Tensor, ...]:
    """P, L and U with P L U = x, for square matrices (..., n, n).

    P: a permutation, without a gradient; L: lower triangular with ones on its diagonal; U: upper triangular. The
    gradient exists where all columns but the last are independent. Errors are those of `lu_factor`.
    """
    return lu_unpack(*lu_factor(x))


@checked
def lu_unpack(factors, pivots) -> tuple[Tensor, ...]:
    """P, L and U of `lu` from the result of `lu_factor`."""
    lower = tril(factors, diagonal=-1) + _eye(factors)
    return LU(_t(_exchanges(pivots - 1, dtype=factors.dtype)), lower, triu(factors))


lu_unpack.requires(fits("float factors (..., n, n), int pivots (..., n)"))
