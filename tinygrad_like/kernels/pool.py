"""Pooling over windows of float32 planes: of images (batch, channels, height, width) every image and channel is one.

The windows of an axis are five integers (kernel, stride, padding, dilation, number): window i of `number` sees the
positions i * stride - padding + a * dilation, a = 0 ... kernel - 1. Its elements are called taps and numbered row by
row. A plane that windows overhang is first copied into a frame of zeros, or -inf, which leaves no edge to care for.
"""

import numpy as np
from numba import njit

from .simd import kernel
from .tasks import flat, run
from .vectormath import INF, INNER, SCALAR, F

PARALLEL_FROM = 32768
MOST_TAPS = 256  # in a window, as numbered by one byte
ZERO, LOWEST, U8 = F(0), F(-INF), np.uint8
UINT8 = np.dtype(U8)

Axis = tuple[int, int, int, int, int]  # kernel, stride, padding, dilation, number


@njit(**INNER)
def _axes(windows):
    """The windows along rows and along columns."""
    r, c = windows[:5], windows[5:]
    return (r[0], r[1], r[2], r[3], r[4]), (c[0], c[1], c[2], c[3], c[4])


@njit(**INNER)
def _extent(axis):
    """How far the windows of an axis reach, from the first position of the first to the last of the last."""
    kernel, stride, _, dilation, number = axis
    return (number - 1) * stride + (kernel - 1) * dilation + 1


@njit(**INNER)
def _bordered(h, w, rows, columns):
    """Whether windows overhang a plane of h rows and w columns."""
    return rows[2] > 0 or columns[2] > 0 or _extent(rows) > h or _extent(columns) > w


@njit(**INNER)
def _into_frame(x, h, w, rows, columns, frame):
    width = _extent(columns)
    n = min(w, width - columns[2])
    for i in range(min(h, _extent(rows) - rows[2])):
        start = (i + rows[2]) * width + columns[2]
        frame[start : start + n] = x[i * w : i * w + n]


@njit(**INNER)
def _out_of_frame(frame, h, w, rows, columns, x):
    width = _extent(columns)
    n = min(w, width - columns[2])
    x[:] = ZERO
    for i in range(min(h, _extent(rows) - rows[2])):
        start = (i + rows[2]) * width + columns[2]
        x[i * w : i * w + n] = frame[start : start + n]


# --- Maxima -----------------------------------------------------------------------------------------------------------


@njit(**SCALAR)
def _larger(x, tap, best, at):
    """The larger of x and best, and its tap. The first of equal numbers stays, and so does the first NaN."""
    wins = (not (x <= best)) & (best == best)
    return (x if wins else best), (U8(tap) if wins else at)


# With the stride a constant, LLVM vectorises: it takes every second number out of two vectors by a shuffle. `first`
# holds bytes, as `index` does: with wider integers in it, the loop would get shorter vectors and be 3 times slower.


@njit(**INNER)
def _max_2x2(p, q, first, row_first, y, index):
    for j in range(y.size):
        best, at = LOWEST, U8(first[j] + row_first)
        best, at = _larger(p[2 * j], 0, best, at)
        best, at = _larger(p[2 * j + 1], 1, best, at)
        best, at = _larger(q[2 * j], 2, best, at)
        best, at = _larger(q[2 * j + 1], 3, best, at)
        y[j], index[j] = best, at


@njit(**INNER)
def _max_3x3(p, q, r, first, row_first, y, index):
    for j in range(y.size):
        best, at = LOWEST, U8(first[j] + row_first)
        best, at = _larger(p[2 * j], 0, best, at)
        best, at = _larger(p[2 * j + 1], 1, best, at)
        best, at = _larger(p[2 * j + 2], 2, best, at)
        best, at = _larger(q[2 * j], 3, best, at)
        best, at = _larger(q[2 * j + 1], 4, best, at)
        best, at = _larger(q[2 * j + 2], 5, best, at)
        best, at = _larger(r[2 * j], 6, best, at)
        best, at = _larger(r[2 * j + 1], 7, best, at)
        best, at = _larger(r[2 * j + 2], 8, best, at)
        y[j], index[j] = best, at


@njit(**INNER)
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


@kernel()
def _max_task(x, h, w, windows, first_rows, first_columns, y, index, task, tasks):
    rows, columns = _axes(windows)
    kh, sh, _, dh, oh = rows
    kw, sw, _, dw, ow = columns
    bordered = _bordered(h, w, rows, columns)
    width = _extent(columns) if bordered else w
    frame = np.full(_extent(rows) * width if bordered else 0, LOWEST)
    planes = y.size // (oh * ow)
    by_two = sh == sw == 2 and dh == dw == 1 and kh == kw
    for plane in range(task * planes // tasks, (task + 1) * planes // tasks):
        image = x[plane * h * w : (plane + 1) * h * w]
        if bordered:
            _into_frame(image, h, w, rows, columns, frame)
            image = frame
        for i in range(oh):
            here = slice((plane * oh + i) * ow, (plane * oh + i + 1) * ow)
            y_i, index_i, row_first = y[here], index[here], U8(first_rows[i] * kw)
            start = i * sh * width
            if by_two and kh == 2:
                _max_2x2(image[start:], image[start + width :], first_columns, row_first, y_i, index_i)
            elif by_two and kh == 3:
                _max_3x3(image[start:], image[start + width :], image[start + 2 * width :], first_columns, row_first,
                         y_i, index_i)
            else:
                for j in range(ow):
                    y_i[j], index_i[j] = LOWEST, U8(first_columns[j] + row_first)
                for a in range(kh):
                    for b in range(kw):
                        _max_tap(image[start + a * dh * width + b * dw :], sw, a * kw + b, y_i, index_i)


@njit(**INNER)
def _put_2x2(g, index, p, q):
    for j in range(g.size):
        p[2 * j] = g[j] if index[j] == 0 else ZERO
        p[2 * j + 1] = g[j] if index[j] == 1 else ZERO
        q[2 * j] = g[j] if index[j] == 2 else ZERO
        q[2 * j + 1] = g[j] if index[j] == 3 else ZERO


@kernel()
def _put_task(g, index, offsets, h, w, windows, x, task, tasks):
    rows, columns = _axes(windows)
    kh, sh, ph, dh, oh = rows
    kw, sw, pw, dw, ow = columns
    planes = x.size // (h * w)
    tiles = kh == kw == sh == sw == 2 and dh == dw == 1 and not _bordered(h, w, rows, columns)
    for plane in range(task * planes // tasks, (task + 1) * planes // tasks):
        image = x[plane * h * w : (plane + 1) * h * w]
        if not (tiles and h == 2 * oh and w == 2 * ow):
            image[:] = ZERO
        for i in range(oh):
            here = slice((plane * oh + i) * ow, (plane * oh + i + 1) * ow)
            g_i, index_i = g[here], index[here]
            start = (i * sh - ph) * w - pw
            if tiles:
                _put_2x2(g_i, index_i, image[start : start + w], image[start + w : start + 2 * w])
            else:
                for j in range(ow):
                    at = start + j * sw + offsets[index_i[j]]
                    if 0 <= at < image.size:
                        image[at] += g_i[j]


def max_forward(
    x: np.ndarray, rows: Axis, columns: Axis, first_rows: np.ndarray, first_columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The maximum of every window, and its tap (uint8), the first if several tie; NaN if the window has one.

    first_rows, first_columns: uint8, along each axis the first tap of every window that lies on the plane.
    """
    shape = (*x.shape[:-2], rows[4], columns[4])
    y, index = np.empty(shape, np.float32), np.empty(shape, np.uint8)
    run(_max_task, x.size >= PARALLEL_FROM, flat(x), *x.shape[-2:], np.array(rows + columns), first_rows, first_columns,
        y.ravel(), index.ravel())
    return y, index


def _check_gradient(g: np.ndarray, shape: tuple[int, ...], rows: Axis, columns: Axis) -> None:
    if g.shape != (expected := (*shape[:-2], rows[4], columns[4])):
        raise ValueError(f"pooling: the gradient has shape {g.shape}, but images {shape} have windows {expected}")


def max_backward(g: np.ndarray, index: np.ndarray, shape: tuple[int, ...], rows: Axis, columns: Axis) -> np.ndarray:
    """Zeros of `shape`, with every g added where its window has the tap `index`: on the plane, that must be.

    An index that is no tap, or that of another shape, writes nowhere else.
    """
    _check_gradient(g, shape, rows, columns)
    x = np.empty(shape, np.float32)
    h, w = shape[-2:]
    offsets = np.full(256, -(1 << 62))  # for every uint8; what is no tap is far before the plane
    offsets[: rows[0] * columns[0]] = (
        np.arange(rows[0])[:, None] * (rows[3] * w) + np.arange(columns[0]) * columns[3]).ravel()
    run(_put_task, x.size >= PARALLEL_FROM, flat(g), flat(index, UINT8), offsets, h, w, np.array(rows + columns),
        x.ravel())
    return x


# --- Sums -------------------------------------------------------------------------------------------------------------
# The sum over a window is that of its columns' sums: first rows are added up, as vectors, then the taps within a row.


@njit(**INNER)
def _add(x, y):
    for j in range(y.size):
        y[j] += x[j]


@njit(**INNER)
def _add_tap(x, stride, y):
    if stride == 1:
        for j in range(y.size):
            y[j] += x[j]
    elif stride == 2:
        for j in range(y.size):
            y[j] += x[2 * j]
    else:
        for j in range(y.size):
            y[j] += x[j * stride]


@njit(**INNER)
def _spread_tap(g, stride, x):
    if stride == 1:
        for j in range(g.size):
            x[j] += g[j]
    else:
        for j in range(g.size):
            x[j * stride] += g[j]


@njit(**INNER)
def _repeat(g, times, x):
    """x = each number of g several times in a row."""
    if times == 2:
        for j in range(g.size):
            x[2 * j] = g[j]
            x[2 * j + 1] = g[j]
    else:
        for j in range(g.size):
            for k in range(j * times, (j + 1) * times):
                x[k] = g[j]


@kernel()
def _sum_task(x, h, w, windows, y, task, tasks):
    rows, columns = _axes(windows)
    kh, sh, _, dh, oh = rows
    kw, sw, _, dw, ow = columns
    bordered = _bordered(h, w, rows, columns)
    width = _extent(columns) if bordered else w
    frame = np.zeros(_extent(rows) * width if bordered else 0, np.float32)
    line = np.empty(_extent(columns), np.float32)
    planes = y.size // (oh * ow)
    for plane in range(task * planes // tasks, (task + 1) * planes // tasks):
        image = x[plane * h * w : (plane + 1) * h * w]
        if bordered:
            _into_frame(image, h, w, rows, columns, frame)
            image = frame
        for i in range(oh):
            y_i = y[(plane * oh + i) * ow : (plane * oh + i + 1) * ow]
            line[:] = ZERO
            for a in range(kh):
                _add(image[(i * sh + a * dh) * width :], line)
            y_i[:] = ZERO
            for b in range(kw):
                _add_tap(line[b * dw :], sw, y_i)


@kernel()
def _spread_task(g, h, w, windows, x, task, tasks):
    rows, columns = _axes(windows)
    kh, sh, ph, dh, oh = rows
    kw, sw, pw, dw, ow = columns
    planes = x.size // (h * w)
    tiles = kh == sh and kw == sw and ph == pw == 0 and dh == dw == 1 and h == kh * oh and w == kw * ow
    width = _extent(columns)
    frame, line = np.empty(0 if tiles else _extent(rows) * width, np.float32), np.empty(width, np.float32)
    for plane in range(task * planes // tasks, (task + 1) * planes // tasks):
        image = x[plane * h * w : (plane + 1) * h * w]
        frame[:] = ZERO
        for i in range(oh):
            g_i = g[(plane * oh + i) * ow : (plane * oh + i + 1) * ow]
            if tiles:
                first = image[i * kh * w : (i * kh + 1) * w]
                _repeat(g_i, kw, first)
                for a in range(1, kh):
                    image[(i * kh + a) * w : (i * kh + a + 1) * w] = first
            else:
                line[:] = ZERO
                for b in range(kw):
                    _spread_tap(g_i, sw, line[b * dw :])
                for a in range(kh):
                    start = (i * sh + a * dh) * width
                    _add(line, frame[start : start + width])
        if not tiles:
            _out_of_frame(frame, h, w, rows, columns, image)


def sum_forward(x: np.ndarray, rows: Axis, columns: Axis) -> np.ndarray:
    """The sum of every window."""
    y = np.empty((*x.shape[:-2], rows[4], columns[4]), np.float32)
    run(_sum_task, x.size >= PARALLEL_FROM, flat(x), *x.shape[-2:], np.array(rows + columns), y.ravel())
    return y


def sum_backward(g: np.ndarray, shape: tuple[int, ...], rows: Axis, columns: Axis) -> np.ndarray:
    """Zeros of `shape`, with every g added to its whole window."""
    _check_gradient(g, shape, rows, columns)
    x = np.empty(shape, np.float32)
    run(_spread_task, x.size >= PARALLEL_FROM, flat(g), *shape[-2:], np.array(rows + columns), x.ravel())
    return x
