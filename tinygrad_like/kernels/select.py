"""One array where a condition holds, another elsewhere: float32; one may be a single number."""

import numpy as np

from ..dtypes import BOOL, FLOAT32
from .formula import broadcasts, run_of, start_of
from .kinds import READ, STRIDED_WRITE
from .program import kernel
from .simd import inner, put
from .views import bytes_at, count_of, data_of, floats_at, is_contiguous

_COST = 0.08  # nanoseconds per element


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
