"""One array where a condition holds, another elsewhere: float32, of which one may be a single number.

And matrices above or below a diagonal, which need no condition.
"""

import numpy as np

from ..dtypes import BOOL, FLOAT32
from .kinds import READ, WRITE
from .program import in_order, kernel
from .simd import inner

_COST = 0.08  # nanoseconds of a number


@inner
def _work(condition, a, b, out):
    fits = (condition.size > 0 and out.size % condition.size == 0 and (a.size == out.size or a.size == 1)
            and (b.size == out.size or b.size == 1))
    return int(out.size * _COST) if fits else -1


@inner
def _pick(condition, a, b, out):
    if a.size == b.size == out.size:
        for i in range(out.size):
            out[i] = a[i] if condition[i] else b[i]
    elif a.size == out.size:
        x = b[0]
        for i in range(out.size):
            out[i] = a[i] if condition[i] else x
    elif b.size == out.size:
        x = a[0]
        for i in range(out.size):
            out[i] = x if condition[i] else b[i]
    else:
        x, y = a[0], b[0]
        for i in range(out.size):
            out[i] = x if condition[i] else y


@kernel(condition=READ.of(np.uint8), a=READ, b=READ, out=WRITE, work=_work)
def _where(condition, a, b, out, task, tasks):
    """out[i] = a[i] if condition[i % condition.size] else b[i]"""
    n, first, last = condition.size, task * out.size // tasks, (task + 1) * out.size // tasks
    while first < last:
        left = first % n
        end = min(last, first - left + n)
        of_a = a if a.size == 1 else a[first:end]
        of_b = b if b.size == 1 else b[first:end]
        _pick(condition[left : left + end - first], of_a, of_b, out[first:end])
        first = end


def select(like: np.ndarray, condition: np.ndarray, a, b) -> np.ndarray:
    """np.where(condition, a, b) of the shape of `like`, which is a or b; the condition may lack axes in front."""
    shape = like.shape
    if (type(condition) is not np.ndarray or condition.dtype is not BOOL or not condition.flags.c_contiguous
            or condition.size < 64 or condition.shape != shape[len(shape) - condition.ndim :]):
        return NotImplemented
    operands = []
    for x in a, b:
        if type(x) in (float, int):
            x = np.array(x, FLOAT32)
        if type(x) is not np.ndarray or x.dtype is not FLOAT32 or x.ndim and not (
                x.shape == shape and x.flags.c_contiguous):
            return NotImplemented
        operands.append(x)
    out = np.empty(shape, np.float32)
    _where(condition.view(np.uint8), *operands, out)
    return out


@inner
def _triangle_work(x, n, m, diagonal, upper, out):
    return int(out.size * _COST) if x.size == out.size and out.size % (n * m) == 0 else -1


@kernel(x=READ, out=WRITE, work=_triangle_work)
def _triangle(x, n, m, diagonal, upper, out, task, tasks):
    """Of matrices (n, m), in row i what is left of column i + diagonal + 1, or what is not, if upper; else 0."""
    rows = out.size // m
    for row in range(task * rows // tasks, (task + 1) * rows // tasks):
        begin, end = row * m, (row + 1) * m
        middle = begin + min(max(row % n + diagonal + 1, 0), m)
        first, last = (middle, end) if upper else (begin, middle)
        for i in range(begin, first):
            out[i] = 0
        for i in range(first, last):
            out[i] = x[i]
        for i in range(last, end):
            out[i] = 0


def triangle(x: np.ndarray, diagonal: int, upper: bool) -> np.ndarray:
    """np.tril(x, diagonal), or np.triu(x, diagonal + 1), if upper"""
    out = np.empty(x.shape, np.float32)
    n, m = x.shape[-2:]
    if out.size:
        _triangle(in_order(x), n, m, max(-n - 1, min(diagonal, m)), int(upper), out)
    return out
