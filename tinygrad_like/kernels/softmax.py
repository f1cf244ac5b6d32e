"""Softmax over the rows of a float32 matrix, its logarithm, and logsumexp.

Along any other axis than the last, it works on a copy with that axis last.

exp is the expensive part. Over short rows it runs a block of rows at a time, as if they were one, so that rows of 10
cost no more per number than rows of 1000. A row is first shifted by its maximum m, which keeps e^(x - m) in [0, 1].
"""

import numpy as np

from ..dtypes import FLOAT32
from .kinds import READ, WRITE
from .late import njit
from .program import Kernel, in_order, kernel
from .reduce import PIECE, _dot, _max, _sum
from .simd import inner
from .vectormath import INF, F, exp, log

_COST = 0.36  # nanoseconds per element
BLOCK = 2048  # elements in a block of rows; a block is at least one row
LONG = 256  # elements of a row that fills the vectors by itself


@njit
def _shift_twice(x, top, log_total, y):
    for i in range(x.size):
        y[i] = (x[i] - top) - log_total  # next to a large `top`, log_total would be lost


@njit
def _exp(x):
    for i in range(x.size):
        x[i] = exp(x[i])


@njit(fastmath={"reassoc", "contract"})
def _exp_and_sum(x, top, y):
    if x.size < 8:  # in one loop, the order of the sum depends on whether y lies close behind x
        _shift_twice(x, top, F(0), y)
        _exp(y)
        return _sum(y)
    total = F(0)
    for i in range(x.size):
        e = exp(x[i] - top)
        y[i] = e
        total += e
    return total


@njit
def _scale_all(x, factor):
    for i in range(x.size):
        x[i] *= factor


@njit
def _exp_shifted(x, n, e, tops, totals):
    """e = e^(x - m), and the sum of e, for a block of rows of length n, with m in `tops`."""
    for row in range(x.size // n):
        start, stop = row * n, (row + 1) * n
        top = _max(x[start:stop])
        top = top if top > -INF else F(0)  # for a row of -inf; in a row with inf, all are NaN, as in PyTorch
        tops[row] = top
        if n >= LONG:
            total = 0.0
            for i in range(start, stop, PIECE):
                j = min(i + PIECE, stop)
                total += _exp_and_sum(x[i:j], top, e[i:j])
            totals[row] = total
        else:
            _shift_twice(x[start:stop], top, F(0), e[start:stop])
    if n < LONG:
        _exp(e[: x.size])
        for row in range(x.size // n):
            totals[row] = _sum(e[row * n : (row + 1) * n])


SOFTMAX, LOGARITHM, LOG_SUM = range(3)  # the results of `_softmax`


@inner
def _work(x, n, result, y):
    return int(x.size * _COST) if n > 0 and x.size == y.size * (n if result == LOG_SUM else 1) else -1


@kernel(x=READ, y=WRITE, work=_work)
def _softmax(x, n, result, y, task, tasks):
    rows, block = x.size // n, max(1, BLOCK // n)
    work, tops, totals = np.empty(block * n, np.float32), np.empty(block, np.float32), np.empty(block, np.float32)
    end = (task + 1) * rows // tasks
    for first in range(task * rows // tasks, end, block):
        last = min(first + block, end)
        e = y[first * n : last * n] if result == SOFTMAX else work
        _exp_shifted(x[first * n : last * n], n, e, tops, totals)
        for row in range(first, last):
            top, total = tops[row - first], totals[row - first]
            if result == LOG_SUM:
                y[row] = top if top == INF else top + log(total)
            elif result == LOGARITHM:
                _shift_twice(x[row * n : (row + 1) * n], top, log(total), y[row * n : (row + 1) * n])
            else:
                _scale_all(y[row * n : (row + 1) * n], F(1) / total)


@njit
def _by_pieces(g, y, logarithm):
    total = 0.0
    for i in range(0, g.size, PIECE):
        piece = g[i : i + PIECE]
        total += _sum(piece) if logarithm else _dot(piece, y[i : i + PIECE])
    return F(total)


@kernel(g=READ, y=READ, dx=WRITE, cost=_COST)
def _softmax_vjp(g, y, n, logarithm, dx, task, tasks):
    rows = g.size // n
    for row in range(task * rows // tasks, (task + 1) * rows // tasks):
        start, stop = row * n, (row + 1) * n
        gr, yr, out = g[start:stop], y[start:stop], dx[start:stop]
        total = _by_pieces(gr, yr, logarithm)
        if logarithm:
            for i in range(n):
                out[i] = gr[i] - exp(yr[i]) * total
        else:
            for i in range(n):
                out[i] = yr[i] * (gr[i] - total)


def _rows(x: np.ndarray, axis: int) -> np.ndarray:
    """x with this axis last, in C order."""
    return in_order(np.moveaxis(x, axis, -1))


def _back(y: np.ndarray, axis: int) -> np.ndarray:
    """Undo `_rows`."""
    return in_order(np.moveaxis(y, -1, axis))


def _along(kernel: Kernel, result: int, axis: int, x: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """Run a kernel along an axis, on arrays of one shape."""
    last = axis in (-1, x.ndim - 1)
    if not last and (type(axis) is not int or not -x.ndim <= axis < x.ndim) or any(
            [a.dtype is not FLOAT32 or a.shape != x.shape for a in others]):
        return NotImplemented
    rows = (x, *others) if last else [_rows(a, axis) for a in (x, *others)]
    y = np.empty(rows[0].shape, np.float32)
    if y.size:
        kernel(*rows, y.shape[-1], result, y)
    return y if last else _back(y, axis)


def softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """e = np.exp(x - x.max(-1, keepdims=True)); e / e.sum(-1, keepdims=True)"""
    return _along(_softmax, SOFTMAX, axis, x)


def log_softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """z = x - x.max(-1, keepdims=True); z - np.log(np.exp(z).sum(-1, keepdims=True))"""
    return _along(_softmax, LOGARITHM, axis, x)


def softmax_vjp(g: np.ndarray, p: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """p * (g - (g * p).sum(-1, keepdims=True)), for p = softmax(x)"""
    return _along(_softmax_vjp, SOFTMAX, axis, g, p)


def log_softmax_vjp(g: np.ndarray, y: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """g - np.exp(y) * g.sum(-1, keepdims=True), for y = log_softmax(x)"""
    return _along(_softmax_vjp, LOGARITHM, axis, g, y)


def logsumexp_over(x: np.ndarray, over: tuple[int, ...]) -> np.ndarray:
    """m = x.max(over, keepdims=True); np.log(np.exp(x - m).sum(over, keepdims=True)) + m"""
    if not (x.size and over):
        return NotImplemented
    out = np.empty([1 if i in over else n for i, n in enumerate(x.shape)], np.float32)
    order = [*[axis for axis in range(x.ndim) if axis not in over], *over]
    _softmax(in_order(x.transpose(order)), x.size // out.size, LOG_SUM, out)
    return out


@kernel(g=READ, x=READ, y=READ, dx=WRITE, cost=_COST)
def _logsumexp_vjp(g, x, y, n, dx, task, tasks):
    for row in range(task * y.size // tasks, (task + 1) * y.size // tasks):
        total, stop = 0.0, (row + 1) * n
        for i in range(row * n, stop, PIECE):
            total += _exp_and_sum(x[i : min(i + PIECE, stop)], y[row], dx[i : min(i + PIECE, stop)])
        _scale_all(dx[row * n : stop], F(g[row] / (1.0 if y[row] == INF else total)))


def logsumexp_vjp(x: np.ndarray, y: np.ndarray, g: np.ndarray, *, over: tuple[int, ...]) -> np.ndarray:
    """g * p / p.sum(over, keepdims=True), for p = np.exp(x - y); finite numbers beside inf get 0"""
    if not (x.size and over) or y.dtype is not FLOAT32 or g.dtype is not FLOAT32 or g.shape != y.shape:
        return NotImplemented
    order = [*[axis for axis in range(x.ndim) if axis not in over], *over]
    rows = in_order(x.transpose(order))
    dx = np.empty(rows.shape, np.float32)
    _logsumexp_vjp(g, rows, y, x.size // y.size, dx)
    return in_order(dx.transpose(np.argsort(order)))
