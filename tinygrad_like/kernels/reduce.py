"""Sums and extremes of float32 arrays, over any axes.

A float32 sum loses a digit for every factor of ten in the number of terms added one after another. Here, these are at
most sixteen: a piece is summed in many lanes at once (which also makes it fast), and pieces are summed in float64. The
order of summation depends only on the shape, so the result does not change with the number of threads.
"""

import math
from functools import partial

import numpy as np

from ..core.graph import mode
from ..dtypes import FLOAT32
from .formula import pointwise
from .kinds import READ, REAL, WRITE
from .late import njit
from .program import in_order, kernel
from .simd import inner, put
from .vectormath import F, I

_COST = 0.03  # nanoseconds per element
SUM, SUM_SQUARES, MAX, MIN = range(4)
UP, DOWN = F(1), F(-1)
PIECE = 1024  # elements summed in float32, in 64 lanes or so
NAN_BITS, LOWEST = I(0x7FFFFFFF), I(-0x80000000)  # the first, read as a float, is a NaN
SHORT = 64  # shorter rows are summed several at a time
STRIP, BLOCK = 1024, 128  # columns and rows of a part of a matrix whose columns are summed
UNDIVIDED = 65536  # a smaller matrix is one part: it is summed before several threads have started
LOW = 16  # rows summed in float32
_FEW, _MANY = 64, 16384  # inputs and outputs of a broadcast that are worth a kernel
_AXES = tuple(range(64))  # NumPy's arrays have no more


@njit(fastmath={"reassoc", "contract"}, forceinline=True)
def _sum(x):
    total = F(0)
    for i in range(x.size):
        total += x[i]
    return total


@njit(fastmath={"reassoc", "contract"}, forceinline=True)
def _dot(a, b):
    total = F(0)
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit
def _max(x, sign=UP):
    """The largest number; for a sign of -1, the smallest."""
    # On integers, since LLVM does not vectorise the maximum of floats, with its rules for NaN. The bits of positive
    # floats are ordered like the floats, those of negative ones in reverse.
    top = LOWEST
    for i in range(x.size):
        bits = F(sign * x[i]).view(I)
        bits = I(bits ^ ((bits >> I(31)) & NAN_BITS))
        bits = NAN_BITS if x[i] != x[i] else bits
        top = bits if bits > top else top
    return sign * I(top ^ ((top >> I(31)) & NAN_BITS)).view(F)


@njit(forceinline=True)
def _reduced(op, x):
    """The sum of x or of its squares, its maximum or its minimum."""
    if op >= MAX:
        return np.float64(_max(x, UP if op == MAX else DOWN))
    total = 0.0
    for i in range(0, x.size, PIECE):
        piece = x[i : min(i + PIECE, x.size)]
        total += _sum(piece) if op == SUM else _dot(piece, piece)
    return total


@kernel(x=READ, out=WRITE, cost=_COST)
def _rows(op, x, n, out, task, tasks):
    """Reduce every n elements of x to one."""
    for row in range(task * out.size // tasks, (task + 1) * out.size // tasks):
        out[row] = _reduced(op, x[row * n : min((row + 1) * n, x.size)])


@kernel(x=READ, scale=REAL, total=WRITE.of(np.float64), rounded=WRITE, tasks=1, cost=0)
def _whole(op, x, scale, total, rounded, task, tasks):
    """total = scale * the sum of x, or of its squares"""
    whole = 0.0
    for i in range(0, x.size, 4 * PIECE):
        whole += F(_reduced(op, x[i : min(i + 4 * PIECE, x.size)]))
    total[0] = rounded[0] = whole * scale


@njit
def _add_rows(total, a, b, c, d, e, f, g, h):
    for j in range(total.size):
        total[j] += ((a[j] + b[j]) + (c[j] + d[j])) + ((e[j] + f[j]) + (g[j] + h[j]))


@njit
def add_to(x, total):
    for j in range(x.size):
        total[j] += x[j]


@inner
def _columns_work(x, m, n, block, strip, out):
    blocks = max(1, -(-m // max(1, block)))
    return int(x.size * _COST) if out.size * m == x.size * blocks and out.size % (n * blocks) == 0 else -1


@kernel(x=READ, out=WRITE, work=_columns_work, tasks=1)
def columns(x, m, n, block, strip, out, task, tasks):
    """out[k, b] = the sum of block b of the rows of matrix k of x, (..., m, n). Short rows are added in groups, each as
    one long row; long ones are cut into strips."""
    group, block, strip = min(512 // n, m // LOW) if n < SHORT and m > LOW else 1, max(1, block), min(n, strip)
    blocks, strips = max(1, -(-m // block)), -(-n // strip)
    low, high = np.empty(group * strip, np.float32), np.empty(group * strip)
    units = out.size // n * strips
    for unit in range(task * units // tasks, (task + 1) * units // tasks):
        part, left = unit // strips, unit % strips * strip
        row, width, matrix = part % blocks * block, min(strip, n - left), part // blocks * m * n + left
        end, wide = min(row + block, m), width * group
        total, sums = low[:wide], high[:wide]
        sums[:] = 0
        while row < end:
            total[:] = 0
            stop = min(row + LOW * group, end)
            # Whole rows load fastest one after another, parts of rows eight at a time.
            while strips > 1 and row + 8 <= stop:
                i = matrix + row * n
                _add_rows(total, x[i : i + width], x[i + n : i + n + width], x[i + 2 * n : i + 2 * n + width],
                          x[i + 3 * n : i + 3 * n + width], x[i + 4 * n : i + 4 * n + width],
                          x[i + 5 * n : i + 5 * n + width], x[i + 6 * n : i + 6 * n + width],
                          x[i + 7 * n : i + 7 * n + width])  # fmt: skip
                row += 8
            while row + group <= stop:
                add_to(x[matrix + row * n : matrix + row * n + wide], total)
                row += group
            add_to(total, sums)
            while stop == end and row < end:  # fewer than a group
                add_to(x[matrix + row * n : matrix + row * n + width], sums[:width])
                row += 1
        for i in range(width, wide, width):
            add_to(sums[i : i + width], sums[:width])
        put(out[part * n + left : part * n + left + width], sums)


def over_rows(op: int, x: np.ndarray) -> np.ndarray:
    """Reduce every row of x (m, n), as `_reduced` does."""
    out = np.empty(len(x), FLOAT32)
    _rows(op, x, x.shape[1], out)
    return out


def sum_columns(x: np.ndarray, outer: int, m: int, n: int) -> np.ndarray:
    """x.reshape(outer, m, n).sum(1), for a contiguous x"""
    block = BLOCK * (512 // n if 0 < n < SHORT else 1) if m * n > UNDIVIDED else m
    out, blocks = np.empty((outer, n), np.float32), max(1, -(-m // max(1, block)))
    if blocks == 1 and out.size:
        columns(x, m, n, m, STRIP, out)
    elif out.size:
        partial = np.empty((outer, blocks, n), np.float32)
        columns(x, m, n, block, STRIP, partial)
        columns(partial, blocks, n, blocks, STRIP, out)
    return out


def sum_over(x: np.ndarray, axis: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """np.sum(x, axis, keepdims=keepdim), for x of any strides; to some 1e-7 of the sum of |x|."""
    least = 16384 if len(axis) == x.ndim else 2048
    small = x.size < least and not mode.compiled
    if not axis or small and x.flags.c_contiguous and (
            axis[-1] == x.ndim - 1 and (x.size <= 256 * x.shape[-1] or len(axis) == x.ndim)
            or axis == (0,) and x.shape[0] <= 2 * LOW):
        return NotImplemented  # NumPy sums contiguous elements pairwise; for a few, any order will do
    shape, first, last = x.shape, axis[0], axis[0] + len(axis)
    if not x.flags.c_contiguous or axis != _AXES[first:last]:
        y = total(x) if len(axis) == len(shape) and 0 not in x.strides else _over_axes(x, axis)
    else:  # adjacent axes of a contiguous array
        outer, m, n = math.prod(shape[:first]), math.prod(shape[first:last]), math.prod(shape[last:])
        if small and n > 1 and m <= 2 * LOW:
            return NotImplemented
        y = sum_columns(x, outer, m, n) if n != 1 else over_rows(SUM, x.reshape(outer, m)) if outer != 1 else total(x)
        y = y.reshape(shape[:first] + shape[last:])
    return y.reshape([1 if a in axis else n for a, n in enumerate(x.shape)]) if keepdim else y


def sum_of_squares(x: np.ndarray, axis: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """np.sum(x * x, axis, keepdims=keepdim) over the last axes of an x in C order."""
    if not axis or axis != _AXES[axis[0] : x.ndim] or not x.flags.c_contiguous or not x.size:
        return NotImplemented
    kept = x.shape[: axis[0]]
    rows = x.reshape(math.prod(kept), -1)
    out = over_rows(SUM_SQUARES, rows).reshape(kept) if kept else _over_everything(SUM_SQUARES, x)[1]
    return out.reshape(kept + (1,) * len(axis)) if keepdim else out


def _extreme(op: int, x: np.ndarray, axis: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """The maximum or minimum over the last axes, none of them empty; over others, NumPy vectorises, too."""
    if not axis or axis != _AXES[axis[0] : x.ndim] or not x.size or x.size < 1 << 18 and len(axis) == x.ndim and (
            not mode.compiled):
        return NotImplemented
    out = np.empty(x.shape[: axis[0]] + (1,) * (len(axis) if keepdim else 0), FLOAT32)
    _rows(op, in_order(x), math.prod(x.shape[axis[0] :]), out)
    return out


max_over, min_over = partial(_extreme, MAX), partial(_extreme, MIN)
_divided = pointwise(lambda x, divisor: x / divisor, "spread", ("divisor",))


def mean_over(x: np.ndarray, axis: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """np.mean(x, axis, keepdims=keepdim), for x of any strides"""
    y = sum_over(x, axis, keepdim)
    if y is NotImplemented:
        return y
    out = np.empty(y.shape, FLOAT32)
    _divided.each(y, y, y, x.size / (y.size or 1), 0.0, out)
    return out


def spread_over(x: np.ndarray, shape: tuple[int, ...], axis: tuple[int, ...], keepdim: bool,
                divisor: float) -> np.ndarray:
    """x / divisor, repeated along some axes to a shape."""
    if x.size < _FEW and math.prod(shape) < _MANY and not mode.compiled:
        return NotImplemented
    if x.ndim and not keepdim:
        x = x.reshape([1 if a in axis else n for a, n in enumerate(shape)])
    out = np.empty(shape, np.float32)
    _divided.each(x, x, x, float(divisor), 0.0, out)
    return out


def _over_axes(x: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    """The sum over some axes, by a copy with those last."""
    kept = [a for a in range(x.ndim) if a not in axis]
    rows = in_order(x.transpose(*kept, *axis)).reshape([math.prod([x.shape[a] for a in each]) for each in (kept, axis)])
    return over_rows(SUM, rows).reshape([x.shape[a] for a in kept])


def sum_squares(x: np.ndarray) -> np.ndarray:
    """(x * x).sum(), the squared Euclidean norm, in float64"""
    return _over_everything(SUM_SQUARES, x)[0]


def total(x: np.ndarray, mean: bool = False) -> np.ndarray:
    """x.sum(), or x.mean()"""
    return _over_everything(SUM, x, 1 / x.size if mean else 1.0)[1]


def _over_everything(op: int, x: np.ndarray, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """scale times the sum, as float64 and as float32."""
    x = x.ravel(order="K")  # any order will do, and this one copies less
    total, rounded = np.empty(()), np.empty((), FLOAT32)
    if x.size <= UNDIVIDED:
        _whole(op, x, scale, total, rounded)
        return total, rounded
    partial = np.empty(-(-x.size // (4 * PIECE)), FLOAT32)
    _rows(op, x, 4 * PIECE, partial)
    _whole(SUM, partial, scale, total, rounded)
    return total, rounded
