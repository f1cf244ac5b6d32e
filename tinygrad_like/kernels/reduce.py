"""Sums and maxima of float32 arrays, over rows, columns or everything.

A float32 sum loses a digit for every factor of ten in the number of terms added one after the other. Here these are at
most a few hundred: a piece is added up in many lanes at once (which is also what makes it fast), and pieces in float64.
The order of the additions depends on the shape alone, so the result does not change with the number of threads.
"""

import numpy as np
from numba import njit

from .simd import kernel
from .tasks import flat, flat_out, run
from .vectormath import INNER, F, I

PARALLEL_FROM = 98304
SUM, SUM_SQUARES, MAX = range(3)
PIECE = 4096  # numbers added up in float32
NAN_BITS, LOWEST = I(0x7FFFFFFF), I(-0x80000000)  # the first, read as a float, is a NaN
SHORT = 64  # rows of fewer numbers are taken several together
STRIP, BLOCK = 512, 128  # columns and rows of a part of a matrix whose columns are added up in float32


@njit(fastmath={"reassoc", "contract"}, **INNER)
def _sum(x):
    total = F(0)
    for i in range(x.size):
        total += x[i]
    return total


@njit(fastmath={"reassoc", "contract"}, **INNER)
def _sum_squares(x):
    total = F(0)
    for i in range(x.size):
        total += x[i] * x[i]
    return total


@njit(**INNER)
def _max(x):
    # Of integers, since the maximum of floats, with its rules for NaN, is no reduction that LLVM vectorises. The bits
    # of a positive float are ordered as the float is, those of a negative one the other way round.
    top = LOWEST
    for i in range(x.size):
        bits = F(x[i]).view(I)
        bits = I(bits ^ ((bits >> I(31)) & NAN_BITS))
        bits = NAN_BITS if x[i] != x[i] else bits
        top = bits if bits > top else top
    return I(top ^ ((top >> I(31)) & NAN_BITS)).view(F)


@kernel()
def _rows_task(op, x, n, out, task, tasks):
    """One number for every n of x."""
    for row in range(task * out.size // tasks, (task + 1) * out.size // tasks):
        stop = min((row + 1) * n, x.size)
        if op == MAX:
            out[row] = _max(x[row * n : stop])
        else:
            total = 0.0
            for i in range(row * n, stop, PIECE):
                piece = x[i : min(i + PIECE, stop)]
                total += _sum(piece) if op == SUM else _sum_squares(piece)
            out[row] = total


@njit(**INNER)
def _add_rows(total, a, b, c, d, e, f, g, h):
    for j in range(total.size):
        total[j] += ((a[j] + b[j]) + (c[j] + d[j])) + ((e[j] + f[j]) + (g[j] + h[j]))


@kernel()
def _columns_task(x, partial, task, tasks):
    m, n = x.shape
    strips = -(-n // STRIP)
    parts = len(partial) * strips
    for part in range(task * parts // tasks, (task + 1) * parts // tasks):
        block, j = part // strips, part % strips * STRIP
        k = min(j + STRIP, n)
        total, end = partial[block, j:k], min((block + 1) * BLOCK, m)
        i = block * BLOCK
        while i + 8 <= end:  # eight rows at a time, for a pass over `total` costs as much as one over a row
            _add_rows(total, x[i, j:k], x[i + 1, j:k], x[i + 2, j:k], x[i + 3, j:k],
                      x[i + 4, j:k], x[i + 5, j:k], x[i + 6, j:k], x[i + 7, j:k])  # fmt: skip
            i += 8
        for row in range(i, end):
            for c in range(k - j):
                total[c] += x[row, j + c]


@kernel()
def _combine(partial, rest, out):
    total = np.zeros(out.size)
    for rows in (partial, rest):
        for k in range(len(rows)):
            for j in range(total.size):
                total[j] += rows[k, j]
    for j in range(total.size):
        out[j] = total[j]


def _over_rows(op: int, x: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    m, n = x.shape
    y, row = flat_out(out, (m,))
    run(_rows_task, x.size >= PARALLEL_FROM, op, flat(x), n, row)
    return y


def sum_rows(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """x.sum(1), for x (m, n)"""
    return _over_rows(SUM, x, out)


def max_rows(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """x.max(1), for x (m, n), n > 0; NaN where the row has one"""
    if x.shape[1] == 0:
        raise ValueError(f"max_rows: the rows of shape {x.shape} are empty")
    return _over_rows(MAX, x, out)


def sum_columns(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """x.sum(0), for x (m, n)"""
    m, n = x.shape
    x = flat(x)
    group = STRIP // n if 0 < n < SHORT and m > BLOCK else 1
    rows = m // group
    partial = np.zeros((-(-rows // BLOCK), group * n), np.float32)
    run(_columns_task, x.size >= PARALLEL_FROM, x[: rows * group * n].reshape(rows, group * n), partial)
    if out is None and group == len(partial) == 1:
        return partial[0]
    y, row = flat_out(out, (n,))
    _combine(partial.reshape(len(partial) * group, n), x[rows * group * n :].reshape(m - rows * group, n), row)
    return y


def sum_all(x: np.ndarray) -> float:
    """x.sum()"""
    return _over_everything(SUM, x)


def sum_squares(x: np.ndarray) -> float:
    """(x * x).sum(), the squared Euclidean norm"""
    return _over_everything(SUM_SQUARES, x)


def _over_everything(op: int, x: np.ndarray) -> float:
    partial = np.empty(-(-x.size // PIECE), np.float32)
    run(_rows_task, x.size >= PARALLEL_FROM, op, flat(x), PIECE, partial)
    return float(partial.sum(dtype=np.float64))
