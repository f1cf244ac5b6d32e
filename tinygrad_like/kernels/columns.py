"""Softmax and its logarithm along an axis that others follow, and logsumexp along any axes that lie side by side.

An array is (outer, n, width), and n what is normalised. A task has strips of columns: for each column of a strip it
keeps the maximum and the sum of e^(x - maximum), and goes over the rows of the strip in vectors. Where the width is 1,
a column is a row of the array, and its own numbers fill the vectors.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from ..dtypes import FLOAT32
from .kinds import READ, WRITE
from .matrix import ceil_div
from .program import in_order, kernel
from .reduce import PIECE, _max
from .simd import inner
from .vectormath import INF, INNER, F, exp, log

_COST = 0.4  # nanoseconds of a number
_CACHED, _NARROW, _WIDE = 2**14, 64, 512  # numbers of a strip that stay in the cache; columns that it has
_SUMMED = 64  # numbers of a column added up in float32; more of them in float64


class _Strip(NamedTuple):
    """Some columns: how many, and where they begin in an array, and in one that has a number for each column."""

    columns: int
    first: int
    place: int


@inner
def _most(n, width):
    """Columns of a strip."""
    return min(width, max(_NARROW, min(_WIDE, _CACHED // max(n, 1) // 16 * 16)))


@inner
def _strip(unit, n, width):
    most = _most(n, width)
    outer, left = unit // ceil_div(width, most), unit % ceil_div(width, most) * most
    return _Strip(min(most, width - left), outer * n * width + left, outer * width + left)


@inner
def _memory(n, width):
    """For each column of a strip: a number, its maximum, a sum of a few numbers, and of all."""
    most = _most(n, width)
    floats = np.empty((3, most), np.float32)
    return floats[0], floats[1], floats[2], np.empty(most)


@njit(**INNER)
def _raise(top, x):
    for i in range(top.size):
        top[i] = x[i] if x[i] > top[i] else top[i]


@njit(**INNER)
def _finite(top):
    for i in range(top.size):
        top[i] = top[i] if abs(top[i]) < INF else F(0)  # inf - inf would be NaN


@njit(**INNER)
def _exp_of(x, top, y):
    for i in range(top.size):
        y[i] = exp(x[i] - top[i])


@njit(**INNER)
def _add(total, x):
    for i in range(total.size):
        total[i] += x[i]


@njit(**INNER)
def _add_products(total, x, y):
    for i in range(total.size):
        total[i] += x[i] * y[i]


@njit(**INNER)
def _collect(whole, total):
    for i in range(total.size):
        whole[i] += total[i]
        total[i] = F(0)


@inner
def _find_top(x, strip, n, width, top):
    top[:] = -INF
    for j in range(n):
        at = strip.first + j * width
        _raise(top, x[at : at + top.size])


@inner
def _exponentials(x, strip, n, width, top, y, first, step, total, whole):
    """y = e^(x - top), and its sum. The rows of y are `step` numbers apart; a step of 0 keeps none of them."""
    total[:], whole[:] = 0, 0
    for j in range(n):
        at, to = strip.first + j * width, first + j * step
        _exp_of(x[at : at + top.size], top, y[to : to + top.size])
        _add(total, y[to : to + top.size])
        if j % _SUMMED == _SUMMED - 1 or j == n - 1:
            _collect(whole, total)


@kernel(x=READ, y=WRITE, cost=_COST)
def _softmax_of_columns(x, n, width, log_of_it, y, task, tasks):
    units = x.size // (n * width) * ceil_div(width, _most(n, width))
    e, tops, totals, wholes = _memory(n, width)
    for unit in range(task * units // tasks, (task + 1) * units // tasks):
        strip = _strip(unit, n, width)
        top, total, whole = tops[: strip.columns], totals[: strip.columns], wholes[: strip.columns]
        _find_top(x, strip, n, width, top)
        if log_of_it:
            _exponentials(x, strip, n, width, top, e, 0, 0, total, whole)
        else:
            _exponentials(x, strip, n, width, top, y, strip.first, width, total, whole)
        for i in range(strip.columns):
            total[i] = log(F(whole[i])) if log_of_it else F(1) / F(whole[i])
        for j in range(n):
            at = strip.first + j * width
            here = y[at : at + strip.columns]
            if log_of_it:
                _shift_twice(x[at : at + strip.columns], top, total, here)
            else:
                _scale(here, total)


@njit(**INNER)
def _shift_twice(x, top, log_total, y):
    for i in range(top.size):
        y[i] = (x[i] - top[i]) - log_total[i]  # next to a large `top`, log_total would be lost


@njit(**INNER)
def _scale(x, factor):
    for i in range(x.size):
        x[i] *= factor[i]


@kernel(g=READ, y=READ, dx=WRITE, cost=_COST)
def _softmax_vjp_of_columns(g, y, n, width, log_of_it, dx, task, tasks):
    units = g.size // (n * width) * ceil_div(width, _most(n, width))
    _, _, totals, wholes = _memory(n, width)
    for unit in range(task * units // tasks, (task + 1) * units // tasks):
        strip = _strip(unit, n, width)
        total, whole = totals[: strip.columns], wholes[: strip.columns]
        total[:], whole[:] = 0, 0
        for j in range(n):
            at = strip.first + j * width
            if log_of_it:
                _add(total, g[at : at + strip.columns])
            else:
                _add_products(total, g[at : at + strip.columns], y[at : at + strip.columns])
            if j % _SUMMED == _SUMMED - 1 or j == n - 1:
                _collect(whole, total)
        for i in range(strip.columns):
            total[i] = whole[i]
        for j in range(n):
            at = strip.first + j * width
            end = at + strip.columns
            _pull(g[at:end], y[at:end], total, log_of_it, dx[at:end])


@njit(**INNER)
def _pull(g, y, total, log_of_it, dx):
    if log_of_it:
        for i in range(total.size):
            dx[i] = g[i] - exp(y[i]) * total[i]
    else:
        for i in range(total.size):
            dx[i] = y[i] * (g[i] - total[i])


def _place(shape: tuple[int, ...], over: tuple[int, ...]) -> tuple[int, int]:
    """How many numbers some axes side by side have, and those after them."""
    return math.prod(shape[over[0] : over[-1] + 1]), math.prod(shape[over[-1] + 1 :])


def of_columns(x: np.ndarray, axis: int, log_of_it: bool) -> np.ndarray:
    """Softmax along an axis, or its logarithm."""
    if type(axis) is not int or not -x.ndim <= axis < x.ndim or not x.size:
        return NotImplemented
    y = np.empty(x.shape, np.float32)
    _softmax_of_columns(in_order(x), *_place(x.shape, (axis % x.ndim,)), log_of_it, y)
    return y


def vjp_of_columns(g: np.ndarray, y: np.ndarray, axis: int, log_of_it: bool) -> np.ndarray:
    """y * (g - (g * y).sum(axis, keepdims=True)) or, of the logarithm, g - np.exp(y) * g.sum(axis, keepdims=True)"""
    if not g.size:
        return NotImplemented
    dx = np.empty(g.shape, np.float32)
    _softmax_vjp_of_columns(in_order(g), in_order(y), *_place(g.shape, (axis % y.ndim,)), log_of_it, dx)
    return dx


# logsumexp ------------------------------------------------------------------------------------------------------------


@njit(fastmath={"reassoc", "contract"}, **INNER)
def _sum_of_exp(x, top):
    total = F(0)
    for i in range(x.size):
        total += exp(x[i] - top)
    return total


@njit(fastmath={"reassoc", "contract"}, **INNER)
def _exp_and_sum(x, top, y):
    total = F(0)
    for i in range(x.size):
        e = exp(x[i] - top)
        y[i] = e
        total += e
    return total


@njit(**INNER)
def _scale_all(x, factor):
    for i in range(x.size):
        x[i] *= factor


@inner
def _work(x, n, width, out):
    return int(x.size * _COST) if n > 0 and x.size == n * out.size and out.size % width == 0 else -1


@kernel(x=READ, out=WRITE, work=_work)
def _logsumexp(x, n, width, out, task, tasks):
    units = out.size // width * ceil_div(width, _most(n, width))
    e, tops, totals, wholes = _memory(n, width)
    for unit in range(task * units // tasks, (task + 1) * units // tasks):
        if width == 1:
            numbers, total = x[unit * n : (unit + 1) * n], 0.0
            top = _max(numbers)
            top = top if abs(top) < INF else F(0)
            for i in range(0, n, PIECE):
                total += _sum_of_exp(numbers[i : i + PIECE], top)
            out[unit] = top + log(F(total))
            continue
        strip = _strip(unit, n, width)
        top, total, whole = tops[: strip.columns], totals[: strip.columns], wholes[: strip.columns]
        _find_top(x, strip, n, width, top)
        _finite(top)
        _exponentials(x, strip, n, width, top, e, 0, 0, total, whole)
        for i in range(strip.columns):
            out[strip.place + i] = top[i] + log(F(whole[i]))


@inner
def _work_of_vjp(x, out, g, n, width, dx):
    return _work(x, n, width, out) if g.size == out.size and dx.size == x.size else -1


@kernel(x=READ, out=READ, g=READ, dx=WRITE, work=_work_of_vjp)
def _logsumexp_vjp(x, out, g, n, width, dx, task, tasks):
    """The softmax of x is e^(x - out), but for the rounding of out, which the sum of these makes good."""
    units = out.size // width * ceil_div(width, _most(n, width))
    _, _, totals, wholes = _memory(n, width)
    for unit in range(task * units // tasks, (task + 1) * units // tasks):
        if width == 1:
            numbers, target, total = x[unit * n : (unit + 1) * n], dx[unit * n : (unit + 1) * n], 0.0
            for i in range(0, n, PIECE):
                total += _exp_and_sum(numbers[i : i + PIECE], out[unit], target[i : i + PIECE])
            _share(target, F(1) if out[unit] == INF else F(total), g[unit])
            continue
        strip = _strip(unit, n, width)
        total, whole = totals[: strip.columns], wholes[: strip.columns]
        _exponentials(x, strip, n, width, out[strip.place : strip.place + strip.columns], dx, strip.first, width, total,
                      whole)
        for i in range(strip.columns):
            total[i] = F(1) if out[strip.place + i] == INF else F(whole[i])  # beside it numbers have no share
        for j in range(n):
            at = strip.first + j * width
            _shares(dx[at : at + strip.columns], total, g[strip.place : strip.place + strip.columns])


@njit(**INNER)
def _share(e, total, g):
    for i in range(e.size):
        e[i] = e[i] / total * g  # a factor g / total would be rounded, and equal numbers have equal shares


@njit(**INNER)
def _shares(e, total, g):
    for i in range(e.size):
        e[i] = e[i] / total[i] * g[i]


def logsumexp_over(x: np.ndarray, over: tuple[int, ...]) -> np.ndarray:
    """m = x.max(over, keepdims=True); np.log(np.exp(x - m).sum(over, keepdims=True)) + m"""
    if not (x.size and over) or over != tuple(range(over[0], over[-1] + 1)):
        return NotImplemented
    out = np.empty([1 if i in over else n for i, n in enumerate(x.shape)], np.float32)
    _logsumexp(in_order(x), *_place(x.shape, over), out)
    return out


def logsumexp_vjp(x: np.ndarray, out: np.ndarray, g: np.ndarray, over: tuple[int, ...]) -> np.ndarray:
    """p = np.exp(x - out); g * p / p.sum(over, keepdims=True)"""
    if not (x.size and over) or g.dtype is not FLOAT32 or over != tuple(range(over[0], over[-1] + 1)):
        return NotImplemented
    dx = np.empty(x.shape, np.float32)
    _logsumexp_vjp(in_order(x), in_order(out), in_order(g), *_place(x.shape, over), dx)
    return dx
