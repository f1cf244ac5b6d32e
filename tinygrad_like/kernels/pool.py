"""Maxima over windows of float32 planes: images (batch, channels, height, width) have one per image and channel.

Window i of an axis sees the positions i * stride - padding + a * dilation, a = 0 ... kernel - 1. Its elements are
called taps and numbered row by row. If windows overhang a plane, it is first copied into a frame of -inf, so that loops
need not handle edges.
"""

from collections import namedtuple

import numpy as np

from .kinds import READ, WRITE, Plan
from .late import njit
from .program import kernel
from .simd import inner, put
from .vectormath import INF, SCALAR, F

MOST_TAPS = 256  # taps of a window, whose numbers fit into one byte
COST = 0.09  # nanoseconds per element
ZERO, LOWEST, U8 = F(0), F(-INF), np.uint8
UINT8 = np.dtype(U8)


Axis = namedtuple("Axis", "kernel stride padding dilation number")
Windows = tuple[Axis, Axis]  # along rows and along columns
AXIS, BYTES, BYTES_WRITE = Plan(Axis, {}), READ.of(UINT8), WRITE.of(UINT8)


@inner
def _work(x, h, w, rows, columns, y, index):
    """Nanoseconds of work on the planes x, or -1 unless y has an element for each of their windows."""
    planes, size = x.size // (h * w), rows.number * columns.number
    fits = planes * h * w == x.size and planes * size == y.size == index.size
    return int(max(x.size, y.size) * COST) if fits else -1


@inner
def _extent(axis):
    """The extent of an axis's windows, from the first position of the first to the last of the last."""
    return (axis.number - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1


@inner
def _overhang(h, w, rows, columns):
    return rows.padding > 0 or columns.padding > 0 or _extent(rows) > h or _extent(columns) > w


@inner
def _frame(h, w, rows, columns):
    """A frame of -inf, empty if no window overhangs; and the length of the rows that windows see."""
    if _overhang(h, w, rows, columns):
        return np.full(_extent(rows) * _extent(columns), LOWEST), _extent(columns)
    return np.full(0, LOWEST), w


@inner
def _row(x, number, length):
    return x[number * length : (number + 1) * length]


@inner
def _plane(x, plane, h, w, rows, columns, frame):
    """The plane that windows see: the plane itself, or a copy in the frame."""
    image = _row(x, plane, h * w)
    if frame.size == 0:
        return image
    width = _extent(columns)
    n = min(w, width - columns.padding)
    for i in range(min(h, _extent(rows) - rows.padding)):
        start = (i + rows.padding) * width + columns.padding
        put(frame[start : start + n], image[i * w : i * w + n])
    return frame


@inner
def _first_tap(axis, i):
    """The first tap of window i that is not in the padding before the plane."""
    return max(0, -((i * axis.stride - axis.padding) // axis.dilation))


@njit(**SCALAR)
def _larger(x, tap, best, at):
    """The larger of x and best, and its tap. The first of equal numbers stays, and so does the first NaN."""
    wins = (not (x <= best)) & (best == best)
    return (x if wins else best), (U8(tap) if wins else at)


# With a constant stride, LLVM vectorises: a shuffle takes every second element of two vectors. `first` holds bytes, as
# `index` does: with wider integers, the loop would have shorter vectors and be 3 times slower.


@inner
def _max_tap(x, stride, tap, y, index):
    if stride == 1:
        for j in range(y.size):
            y[j], index[j] = _larger(x[j], tap, y[j], index[j])
    elif stride == 2:
        for j in range(y.size):
            y[j], index[j] = _larger(x[2 * j], tap, y[j], index[j])
    else:
        for j in range(y.size):
            y[j], index[j] = _larger(x[j * stride], tap, y[j], index[j])


@kernel(x=READ, rows=AXIS, columns=AXIS, y=WRITE, index=BYTES_WRITE, work=_work)
def _max_windows(x, h, w, rows, columns, y, index, task, tasks):
    frame, width = _frame(h, w, rows, columns)
    number, planes, step = columns.number, x.size // (h * w), rows.dilation * width
    first = np.empty(number, U8)
    for j in range(number):
        first[j] = _first_tap(columns, j)
    for plane in range(task * planes // tasks, (task + 1) * planes // tasks):
        image = _plane(x, plane, h, w, rows, columns, frame)
        for i in range(rows.number):
            y_i, index_i = _row(y, plane * rows.number + i, number), _row(index, plane * rows.number + i, number)
            row_first, line = U8(_first_tap(rows, i) * columns.kernel), image[i * rows.stride * width :]
            for j in range(number):
                y_i[j], index_i[j] = LOWEST, U8(first[j] + row_first)
            for a in range(rows.kernel):
                for b in range(columns.kernel):
                    tap = a * columns.kernel + b
                    _max_tap(line[a * step + b * columns.dilation :], columns.stride, tap, y_i, index_i)


@kernel(x=WRITE, rows=AXIS, columns=AXIS, g=READ, index=BYTES, work=_work)
def _put_taps(x, h, w, rows, columns, g, index, task, tasks):
    number, planes = columns.number, x.size // (h * w)
    offsets = np.full(MOST_TAPS, -(1 << 62))  # for every uint8; one that is not a tap leads far before the plane
    for tap in range(rows.kernel * columns.kernel):
        offsets[tap] = tap // columns.kernel * rows.dilation * w + tap % columns.kernel * columns.dilation
    for plane in range(task * planes // tasks, (task + 1) * planes // tasks):
        image = _row(x, plane, h * w)
        image[:] = ZERO
        for i in range(rows.number):
            g_i, index_i = _row(g, plane * rows.number + i, number), _row(index, plane * rows.number + i, number)
            start = (i * rows.stride - rows.padding) * w - columns.padding
            for j in range(number):
                at = start + j * columns.stride + offsets[index_i[j]]
                if 0 <= at < image.size:
                    image[at] += g_i[j]


def max_windows(x: np.ndarray, windows: Windows) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The maximum of every window, NaN if it has one; and as "index" its tap (uint8), the first if several tie."""
    rows, columns = windows
    if rows[0] * columns[0] > MOST_TAPS:
        return NotImplemented
    shape = (*x.shape[:-2], rows[4], columns[4])
    y, index = np.empty(shape, np.float32), np.empty(shape, U8)
    _max_windows(x, *x.shape[-2:], rows, columns, y, index)
    return y, {"index": index}


def _check_gradient(g: np.ndarray, shape: tuple[int, ...], windows: Windows) -> None:
    rows, columns = windows
    if g.shape != (expected := (*shape[:-2], rows[4], columns[4])):
        raise ValueError(f"pooling: the gradient has shape {g.shape}, but images {shape} have windows {expected}")


def put_taps(g: np.ndarray, index: np.ndarray, shape: tuple[int, ...], windows: Windows) -> np.ndarray:
    """Zeros of `shape`, with every g added where its window has the tap `index`, which must be on the plane.

    An index that is not a tap writes nothing.
    """
    if index.dtype != U8:
        return NotImplemented
    _check_gradient(g, shape, windows)
    x = np.empty(shape, np.float32)
    _put_taps(x, *shape[-2:], *windows, g, index)
    return x
