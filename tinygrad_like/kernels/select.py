"""One array where a condition holds, another elsewhere: float32, of which one may be a single number.

And matrices above or below a diagonal, which need no condition.
"""

from functools import lru_cache

import numpy as np

from ..core.graph import mode
from ..dtypes import BOOL, FLOAT32
from .formula import broadcasts, run_of, start_of
from .kinds import OPTIONAL, READ, STRIDED_WRITE, WRITE
from .program import in_order, kernel
from .simd import fill, inner, put
from .vectormath import F
from .views import bytes_at, count_of, data_of, floats_at, is_contiguous

_COST = 0.08  # nanoseconds of a number


@inner
def _work(condition, a, b, out):
    count = count_of(out)
    fits = (broadcasts(condition, out) and is_contiguous(out) and (a.size == count or a.size == 1)
            and (b.size == count or b.size == 1))
    return int(count * _COST) if fits else -1


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


@inner
def _copy(x, out):
    """out[:] = x, an array or a single number."""
    if x.size == out.size:
        put(out, x)
    else:
        out[:] = x[0]


@kernel(condition=READ.of(np.uint8, axes=0), a=READ, b=READ, out=STRIDED_WRITE, work=_work)
def _where(condition, a, b, out, task, tasks):
    """out[i] = a[i] if condition[i] else b[i]; the condition broadcasts."""
    run, count = run_of(condition, condition, condition, out, 0), count_of(out)
    first, last = task * count // tasks, (task + 1) * count // tasks
    while first < last:
        row, left = first // run.n, first % run.n
        end = min(last, first - left + run.n)
        y = floats_at(data_of(out) + 4 * first, end - first)
        of_a = a if a.size == 1 else a[first:end]
        of_b = b if b.size == 1 else b[first:end]
        chosen = start_of(condition, out, run.axes, row) + left * run.a
        if run.a == 1:
            _pick(bytes_at(chosen, y.size), of_a, of_b, y)
        elif run.a == 0:
            _copy(of_a if bytes_at(chosen, 1)[0] else of_b, y)
        else:
            for i in range(y.size):
                yes = bytes_at(chosen + i * run.a, 1)[0]
                y[i] = (a[first + i] if a.size > 1 else a[0]) if yes else (b[first + i] if b.size > 1 else b[0])
        first = end


def select(like: np.ndarray, condition: np.ndarray, a, b) -> np.ndarray:
    """np.where(condition, a, b) of the shape of `like`, which is a or b; the condition broadcasts."""
    shape = like.shape
    if type(condition) is not np.ndarray or condition.dtype is not BOOL or condition.ndim > len(shape) or any(
            [n != m and n != 1 for n, m in zip(condition.shape[::-1], shape[::-1], strict=False)]):
        return NotImplemented
    operands = []
    for x in a, b:
        if type(x) in (float, int, bool):
            x = np.array(x, FLOAT32)
        if type(x) is not np.ndarray or x.dtype is not FLOAT32 or x.ndim and x.shape != shape:
            return NotImplemented
        operands.append(x)
    out = np.empty(shape, np.float32)
    _where(condition.view(np.uint8), *operands, out)
    return out


# --- What a mask selects ----------------------------------------------------------------------------------------------


@inner
def _work_of_chosen(mask, x, chosen):
    return 0 if mask.size == x.size >= chosen.size else -1  # one thread, which counts


@kernel(mask=READ.of(np.uint8), x=READ, chosen=WRITE, work=_work_of_chosen, tasks=1)
def _choose(mask, x, chosen, task, tasks):
    """chosen = the numbers of x where the mask is true, one after the other; it has as many as there are."""
    count = 0
    for i in range(x.size if chosen.size else 0):
        chosen[min(count, chosen.size - 1)] = x[i]  # without a branch, which would go either way
        count += mask[i] != 0
        if count == chosen.size:
            break
    fill(chosen[count:], F(0))


@inner
def _work_of_placed(mask, chosen, base, out):
    return 0 if mask.size == out.size >= chosen.size and base.size in (0, out.size) else -1


@kernel(mask=READ.of(np.uint8), chosen=READ, base=OPTIONAL, out=WRITE, work=_work_of_placed, tasks=1)
def _add_chosen(mask, chosen, base, out, task, tasks):
    """out = base, or zeros, and where the mask is true the next number of those chosen is added."""
    count = 0
    _copy(base if base.size else np.zeros(1, np.float32), out)
    for i in range(out.size if chosen.size else 0):
        yes = mask[i] != 0
        number = chosen[min(count, chosen.size - 1)]
        out[i] += number if yes else F(0)
        count += yes


def chosen(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """x[mask], for a mask of the shape of x."""
    out = np.empty(int(np.count_nonzero(mask)), FLOAT32)
    _choose(in_order(mask).view(np.uint8), in_order(x), out)
    return out


def added_where(x: np.ndarray, mask: np.ndarray, base: np.ndarray | None) -> np.ndarray:
    """Zeros, or base, with x added where a mask is true, for as many x as there are such places."""
    out = np.empty(mask.shape, FLOAT32)
    _add_chosen(in_order(mask).view(np.uint8), in_order(x), base if base is None else in_order(base), out)
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
        fill(out[begin:first], F(0))
        put(out[first:last], x[first:last])
        fill(out[last:end], F(0))


_FEW = 1 << 14  # numbers, of which NumPy is sooner there


@lru_cache(32)
def _bits(rows: int, columns: int, diagonal: int, upper: bool) -> np.ndarray:
    """The bits that are left of a number, all or none, for every place of a matrix; nobody writes to it."""
    return np.where(np.tri(rows, columns, diagonal, bool) == upper, np.uint32(0), ~np.uint32(0))


def triangle(x: np.ndarray, diagonal: int, upper: bool) -> np.ndarray:
    """np.tril(x, diagonal), or np.triu(x, diagonal + 1), if upper"""
    if x.size <= _FEW and not mode.compiled:
        return (x.view(np.uint32) & _bits(x.shape[-2], x.shape[-1], diagonal, upper)).view(np.float32)
    out = np.empty(x.shape, np.float32)
    n, m = x.shape[-2:]
    if out.size:
        _triangle(in_order(x), n, m, max(-n - 1, min(diagonal, m)), int(upper), out)
    return out
