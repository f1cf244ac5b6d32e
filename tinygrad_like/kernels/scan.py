"""Recurrences along an axis, and products of all factors but one.

Arrays are (outer, n, inner), and n is the axis; a task has some columns of some of them.
"""

import math

import numpy as np

from .kinds import READ, WRITE
from .program import in_order, kernel
from .simd import inner

_COST = 1.0  # nanoseconds of a number
_STRIP = 64
F = np.float32


@inner
def _work(x, decay, n, width, backwards, y):
    return int(y.size * _COST) if x.size == decay.size == y.size and y.size % (n * width) == 0 else -1


@kernel(x=READ, decay=READ, y=WRITE, work=_work)
def _recurrence(x, decay, n, width, backwards, y, task, tasks):
    outer, strips = y.size // (n * width), -(-width // _STRIP)
    state, step = np.empty(_STRIP, np.float64), -width if backwards else width  # in float32 long sums lose their digits
    for unit in range(task * outer * strips // tasks, (task + 1) * outer * strips // tasks):
        left = unit % strips * _STRIP
        columns = min(_STRIP, width - left)
        at = unit // strips * n * width + left + ((n - 1) * width if backwards else 0)
        for i in range(columns):
            y[at + i] = state[i] = x[at + i]
        for _ in range(1, n):
            at += step
            for i in range(columns):
                y[at + i] = state[i] = x[at + i] + decay[at + i] * state[i]


def recur(out: np.ndarray, x: np.ndarray, decay: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    """out[i] = x[i] + decay[i] out[i - 1] along an axis, of arrays of one shape; out[i + 1], if reverse."""
    if decay.dtype != np.float32 or not out.size:
        return NotImplemented
    _recurrence(in_order(x), in_order(decay), x.shape[axis], math.prod(x.shape[axis + 1 :]), int(reverse), out)
    return out


@inner
def _work_of_products(x, g, n, width, y):
    return int(2 * y.size * _COST) if x.size == y.size and x.size == n * g.size and g.size % width == 0 else -1


@kernel(x=READ, g=READ, y=WRITE, work=_work_of_products)
def _other_products(x, g, n, width, y, task, tasks):
    """y[k, i, j] = g[k, j] times the product of all x[k, :, j] but x[k, i, j]."""
    outer, strips, product = y.size // (n * width), -(-width // _STRIP), np.empty(_STRIP, np.float32)
    for unit in range(task * outer * strips // tasks, (task + 1) * outer * strips // tasks):
        k, left = unit // strips, unit % strips * _STRIP
        columns, begin = min(_STRIP, width - left), k * n * width + left
        if columns == 1:  # a number need not be put into memory before the next
            before = after = F(1)
            for at in range(begin, begin + n * width, width):
                y[at] = before
                before *= x[at]
            for at in range(begin + (n - 1) * width, begin - 1, -width):
                y[at] = y[at] * after * g[k * width + left]
                after *= x[at]
            continue
        product[:] = 1
        for at in range(begin, begin + n * width, width):
            for i in range(columns):
                y[at + i] = product[i]
                product[i] *= x[at + i]
        product[:] = 1
        for at in range(begin + (n - 1) * width, begin - 1, -width):
            for i in range(columns):
                y[at + i] = y[at + i] * product[i] * g[k * width + left + i]
                product[i] *= x[at + i]


def other_products(x: np.ndarray, g: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    """g, repeated along neighbouring axes, times the product of all other numbers there."""
    if not x.size or g.dtype != np.float32 or list(axis) != list(range(axis[0], axis[0] + len(axis))):
        return NotImplemented
    y, n = np.empty(x.shape, np.float32), math.prod(x.shape[axis[0] : axis[-1] + 1])
    _other_products(in_order(x), in_order(g), n, math.prod(x.shape[axis[-1] + 1 :]), y)
    return y
