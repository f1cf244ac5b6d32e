"""Broadcast arithmetic of float32 arrays, on all threads. Functions of one number are made of formulas: formula.py."""

import math
from collections.abc import Callable

import numpy as np
from numba import njit

from ..dtypes import FLOAT32
from .program import READ, WRITE, kernel
from .simd import inner, put
from .vectormath import SCALAR

_COST = 0.06  # nanoseconds of a number: bound by memory, not by computing
_SHORTEST = 32  # numbers in a loop that is worth starting
_FEW = 16  # rows of which each task would get too few for shares to be alike

Operand = np.ndarray | float


@inner
def _range(n, task, tasks):
    return task * n // tasks, (task + 1) * n // tasks


@inner
def _work(a, b, repeat, out):
    """Nanoseconds, if b fits into a."""
    return int(out.size * _COST) if a.size == out.size and out.size % max(b.size * repeat, 1) == 0 else -1


def _arithmetic(name: str, operation: Callable, commutes: bool) -> Callable:
    """a operation b with broadcasting, of arrays or numbers. It returns NotImplemented for what NumPy does better."""
    combine = njit(**SCALAR)(operation)

    def each(a, b, repeat, out, task, tasks):
        """out[i] = a[i] operation b[i // repeat % b.size]"""
        if repeat > 1:  # row k of the matrix a with one number
            m = a.size // repeat
            (first, last), (left, right) = _range(m, task, tasks), (0, repeat)
            if m < _FEW * tasks:
                (first, last), (left, right) = (0, m), _range(repeat, task, tasks)
            for k in range(first, last):
                x, a_k = b[k % b.size], a[k * repeat + left : k * repeat + right]
                out_k = out[k * repeat + left : k * repeat + right]
                for i in range(out_k.size):
                    out_k[i] = combine(a_k[i], x)
            return
        n = b.size
        rows = a.size // n if n else 0
        first, last = _range(rows if rows > 1 else a.size, task, tasks)
        if rows > 1:
            first, last = first * n, last * n
        else:
            b = b[first:last]
        for start in range(first, last, max(b.size, 1)):  # every row of the matrix a with the row b
            a_k, out_k = a[start : start + b.size], out[start : start + b.size]
            for i in range(out_k.size):
                out_k[i] = combine(a_k[i], b[i])

    each.__name__ = each.__qualname__ = name  # numba knows functions by it, also those of other processes
    compiled = kernel(a=READ, b=READ, out=WRITE, work=_work)(each)

    def run(a: Operand, b: Operand) -> np.ndarray:
        if commutes and getattr(a, "size", 1) < getattr(b, "size", 1):
            a, b = b, a
        if type(a) is np.ndarray and a.dtype is FLOAT32 and a.flags.c_contiguous:
            if type(b) in (float, int):
                b = np.array(b, FLOAT32)
            if type(b) is np.ndarray and b.dtype is FLOAT32 and b.flags.c_contiguous:
                repeat = 1 if a.shape == b.shape else _repeat(b.shape, a.shape)
                if repeat == 1 or repeat >= _SHORTEST:
                    out = np.empty(a.shape, np.float32)
                    compiled(a, b, repeat, out)
                    return out
        return NotImplemented

    return run


def _repeat(small: tuple[int, ...], large: tuple[int, ...]) -> int:
    """How often `small`, broadcast to `large` and made flat, repeats each of its numbers, before it starts all over.

    That covers scalars, rows, columns and channels. For the other cases, 0.
    """
    if len(small) > len(large):
        return 0
    start, end, added = 0, len(small), len(large) - len(small)
    while end and small[end - 1] == 1:
        end -= 1
    while start < end and small[start] == 1:
        start += 1
    if start == end:
        return math.prod(large)
    if small[start:end] != large[added + start : added + end]:
        return 0
    return math.prod(large[added + end :])


add = _arithmetic("add", lambda a, b: a + b, True)
sub = _arithmetic("sub", lambda a, b: a - b, False)
mul = _arithmetic("mul", lambda a, b: a * b, True)
div = _arithmetic("div", lambda a, b: a / b, False)


@kernel(total=WRITE, b=READ, cost=_COST)
def _accumulate(total, b, task, tasks):
    first, last = _range(total.size, task, tasks)
    total, b = total[first:last], b[first:last]
    for i in range(total.size):
        total[i] += b[i]


def accumulate(total: np.ndarray, b: np.ndarray) -> np.ndarray:
    """total += b, of one shape."""
    if type(b) is not np.ndarray or b.dtype is not FLOAT32 or b.shape != total.shape or not total.flags.c_contiguous:
        return NotImplemented
    _accumulate(total, b)
    return total


@kernel(x=READ, out=WRITE, cost=_COST)
def _copy(x, out, task, tasks):
    first, last = _range(x.size, task, tasks)
    put(out[first:last], x[first:last])


def copied(x: np.ndarray) -> np.ndarray:
    """A copy of x in C order."""
    if not x.flags.c_contiguous:
        return NotImplemented
    out = np.empty(x.shape, np.float32)
    _copy(x, out)
    return out
