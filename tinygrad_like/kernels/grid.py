"""Images read at computed places, and what comes back from there to the images and to the places.

x is (images, channels, pixels). At each of some places of an image stand `taps` pixels that an index names, with their
weights; an index below 0 names none. The sum  w g x  over all of them is linear in the weights, in what is read, and in
the images, and these three kernels make each from the other two. Index and weights serve all channels, so several
channels are done at once. A task has some places, for all channels of their image; or, where pixels are added to, some
channels of an image, for all places in their order.

That an index is below 0 or too large is one comparison, of numbers without a sign.
"""

import math
from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.extending import intrinsic

from .kinds import READ, WRITE
from .program import in_order, kernel, together
from .simd import (
    F32,
    broadcast,
    element,
    fill,
    inner,
    integer,
    lanes_before,
    load,
    minimum,
    multiply_add,
    procedure,
    store,
    transposed,
)
from .vectormath import INNER, SCALAR, F

_COST = 0.25  # nanoseconds of a product
_COST_OF_PLACE = 1.0  # of each number of a grid
_STRIP, _ROW = 64, 512  # places that are done at once, for many channels and for none
_INDEX, _INDEX_WRITE = READ.of(np.int32), WRITE.of(np.int32)
U = np.uint64
ZEROS, BORDER, REFLECTION = range(3)
PADDINGS = {"zeros": ZEROS, "border": BORDER, "reflection": REFLECTION}


@inner
def _fit(images, channels, x, at_places, index, weight):
    """Nanoseconds for images of so many channels, and what was read there; -1 if they do not fit the index."""
    rows, places = images * channels, at_places.size // (images * channels) if images > 0 and channels > 0 else 0
    fits = (places > 0 and x.size > 0 and x.size % rows == 0 and at_places.size == rows * places
            and index.size > 0 and index.size == weight.size and index.size % (images * places) == 0)
    return int(rows * index.size // images * _COST) if fits else -1


# --- Weighted sums ----------------------------------------------------------------------------------------------------


@inner
def _work_of_sums(x, weight, index, images, channels, out):
    return _fit(images, channels, x, out, index, weight)


@njit(**SCALAR)  # inlined: to compiled code the number of taps is a constant, where a caller gives one
def _sums_of(x, weight, index, images, channels, out, begin, end, taps):
    pixels, places = x.size // (images * channels), out.size // (images * channels)
    strips = -(-places // _STRIP)
    for unit in range(begin, end):
        n, p = unit // strips, unit % strips * _STRIP
        q = min(p + _STRIP, places)
        at, parts = index[(n * places + p) * taps : (n * places + q) * taps], weight[(n * places + p) * taps :]
        last = (n + 1) * channels - 1
        for a in range(n * channels, last + 1, 4):
            b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)  # the last one several times
            xa, xb = x[a * pixels : (a + 1) * pixels], x[b * pixels : (b + 1) * pixels]
            xc, xd = x[c * pixels : (c + 1) * pixels], x[d * pixels : (d + 1) * pixels]
            ya, yb = out[a * places + p : a * places + q], out[b * places + p : b * places + q]
            yc, yd = out[c * places + p : c * places + q], out[d * places + p : d * places + q]
            j = U(0)
            for i in range(q - p):
                ra = rb = rc = rd = F(0)
                for _ in range(taps):
                    pixel, w = U(at[j]), parts[j]
                    if pixel < U(pixels):
                        ra += w * xa[pixel]
                        rb += w * xb[pixel]
                        rc += w * xc[pixel]
                        rd += w * xd[pixel]
                    else:
                        w *= F(0)  # NaN, where the place is no number
                        ra, rb, rc, rd = ra + w, rb + w, rc + w, rd + w
                    j += U(1)
                ya[i], yb[i], yc[i], yd[i] = ra, rb, rc, rd


@kernel(x=READ, weight=READ, index=_INDEX, out=WRITE, work=_work_of_sums, fastmath={"contract"})
def _sums(x, weight, index, images, channels, out, task, tasks):
    """out[n, c, p] = sum_t weight[n, p, t] x[n, c, index[n, p, t]], for four channels at once."""
    places = out.size // (images * channels)
    taps, units = index.size // (images * places), images * -(-places // _STRIP)
    begin, end = task * units // tasks, (task + 1) * units // tasks
    if taps == 4:
        _sums_of(x, weight, index, images, channels, out, begin, end, 4)
    elif taps == 1:
        _sums_of(x, weight, index, images, channels, out, begin, end, 1)
    else:
        _sums_of(x, weight, index, images, channels, out, begin, end, taps)


def sums_at(x: np.ndarray, weight: np.ndarray, index: np.ndarray) -> np.ndarray:
    """out[n, c, p] = sum_t weight[n, p, t] x[n, c, index[n, p, t]]"""
    out = np.empty((*x.shape[:2], index.shape[1]), np.float32)
    if not out.size or not index.size or weight.dtype != np.float32 or index.dtype != np.int32:
        return NotImplemented
    _sums(in_order(x), in_order(weight), in_order(index), *x.shape[:2], out)
    return out


# --- Channels side by side --------------------------------------------------------------------------------------------


def _turn(lanes: int) -> Callable:
    kind = ir.VectorType(F32, lanes)

    def move(b, source, source_step, rows, target, target_step, columns, inside=None, stored=None):
        def line(first, i, count, step):
            return element(b, first, minimum(b, integer(i), b.sub(count, integer(1))), step)

        found = transposed(b, [load(b, line(source, i, rows, source_step), kind, inside) for i in range(lanes)])
        for i in reversed(range(lanes)):  # so that the last one there is what stays of those at its place
            store(b, found[i], line(target, i, columns, target_step), stored)

    def emit(b, source, source_step, rows, width, target, target_step, columns, height):
        arrays = source, source_step, rows, target, target_step, columns
        with b.if_else(b.icmp_signed("==", b.add(width, height), integer(2 * lanes))) as (whole, part):
            with whole:
                move(b, *arrays)
            with part:
                move(b, *arrays, lanes_before(b, width, lanes), lanes_before(b, height, lanes))

    @intrinsic
    def turn(typing, source, source_step, rows, width, target, target_step, columns, height):
        """target[j, i] = source[i, j] for i < rows and j < columns, at most `lanes` each. From a row of source `width`
        numbers are read, to one of target `height` are written. Steps are those from row to row."""
        return procedure(emit, 8)

    return turn


def _add_scaled(lanes: int) -> Callable:
    kind = ir.VectorType(F32, lanes)

    def emit(context, b, target, source, weight):
        store(b, multiply_add(b, load(b, source, kind), broadcast(b, weight, lanes), load(b, target, kind)), target)
        return context.get_dummy_value()

    @intrinsic
    def add_scaled(typing, target, source, weight):
        """target += weight * source, of so many numbers."""
        signature = types.void(types.intp, types.intp, types.float32)
        return signature, lambda context, b, signature, values: emit(context, b, *values)

    return add_scaled


_turn4, _turn8 = _turn(4), _turn(8)
_add4, _add8 = _add_scaled(4), _add_scaled(8)


# --- The adjoint ------------------------------------------------------------------------------------------------------


@inner
def _work_of_spread(g, weight, index, images, channels, x):
    return _fit(images, channels, x, g, index, weight)


@njit(**SCALAR)
def _spread_lanes(g, weight, index, images, channels, x, first, last, lanes, turn, add_scaled):
    pixels, places = x.size // (images * channels), g.size // (images * channels)
    taps, blocks = index.size // (images * places), -(-channels // lanes)
    # An address alone would not keep them: numba frees an array after the last line that names it.
    total, strip = np.empty(pixels * lanes, np.float32), np.empty(_STRIP * lanes, np.float32)
    line = 4 * lanes
    for block in range(first, last):
        n, c = block // blocks, block % blocks * lanes
        row, count = n * channels + c, min(lanes, channels - c)
        from_, to = g.ctypes.data + 4 * row * places, x.ctypes.data + 4 * row * pixels
        fill(total, F(0))
        for p in range(0, places, _STRIP):
            q = min(p + _STRIP, places)
            for i in range(0, q - p, lanes):
                turn(from_ + 4 * (p + i), 4 * places, count, min(lanes, q - p - i),
                     strip.ctypes.data + line * i, line, lanes, lanes)
            at, parts = index[(n * places + p) * taps : (n * places + q) * taps], weight[(n * places + p) * taps :]
            j = U(0)
            for i in range(q - p):
                for _ in range(taps):
                    pixel, w = U(at[j]), parts[j]
                    if pixel < U(pixels):
                        add_scaled(total.ctypes.data + line * pixel, strip.ctypes.data + line * i, w)
                    j += U(1)
        for j in range(0, pixels, lanes):
            left = min(lanes, pixels - j)
            turn(total.ctypes.data + line * j, line, left, lanes, to + 4 * j, 4 * pixels, count, left)


@kernel(g=READ, weight=READ, index=_INDEX, x=WRITE, work=_work_of_spread, fastmath={"contract"})
def _spread(g, weight, index, images, channels, x, task, tasks):
    """x[n, c, index[n, p, t]] += weight[n, p, t] g[n, c, p], from zeros: of eight channels, whose pixels lie side by
    side meanwhile, or of four, if there are no more."""
    blocks = images * -(-channels // (4 if channels <= 4 else 8))
    first, last = task * blocks // tasks, (task + 1) * blocks // tasks
    if first < last and channels <= 4:
        _spread_lanes(g, weight, index, images, channels, x, first, last, 4, _turn4, _add4)
    elif first < last:
        _spread_lanes(g, weight, index, images, channels, x, first, last, 8, _turn8, _add8)


def spread_at(g: np.ndarray, weight: np.ndarray, index: np.ndarray, size: int) -> np.ndarray:
    """Zeros (n, c, size) with  weight[n, p, t] g[n, c, p]  added at index[n, p, t]"""
    x = np.empty((*g.shape[:2], size), np.float32)
    if not x.size or not index.size or weight.dtype != np.float32 or index.dtype != np.int32:
        return NotImplemented
    _spread(in_order(g), in_order(weight), in_order(index), *g.shape[:2], x)
    return x


# --- What comes back to the weights -----------------------------------------------------------------------------------


@inner
def _work_of_products(g, x, index, images, channels, out):
    return _fit(images, channels, x, g, index, out)


@njit(**SCALAR)
def _products_of(g, x, index, images, channels, out, begin, end, taps):
    pixels, places = x.size // (images * channels), g.size // (images * channels)
    strips, none = -(-places // _STRIP), np.zeros(_STRIP, np.float32)
    for unit in range(begin, end):
        n, p = unit // strips, unit % strips * _STRIP
        q = min(p + _STRIP, places)
        at, sums = index[(n * places + p) * taps : (n * places + q) * taps], out[(n * places + p) * taps :]
        fill(sums[: at.size], F(0))
        last = (n + 1) * channels - 1
        for a in range(n * channels, last + 1, 4):
            b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
            xa, xb = x[a * pixels : (a + 1) * pixels], x[b * pixels : (b + 1) * pixels]
            xc, xd = x[c * pixels : (c + 1) * pixels], x[d * pixels : (d + 1) * pixels]
            ga = g[a * places + p : a * places + q]
            gb = g[b * places + p : b * places + q] if a < last else none[: q - p]
            gc = g[c * places + p : c * places + q] if b < last else none[: q - p]
            gd = g[d * places + p : d * places + q] if c < last else none[: q - p]
            j = U(0)
            for i in range(q - p):
                a_, b_, c_, d_ = ga[i], gb[i], gc[i], gd[i]
                for _ in range(taps):
                    pixel = U(at[j])
                    if pixel < U(pixels):
                        sums[j] += (a_ * xa[pixel] + b_ * xb[pixel]) + (c_ * xc[pixel] + d_ * xd[pixel])
                    j += U(1)


@kernel(g=READ, x=READ, index=_INDEX, out=WRITE, work=_work_of_products, fastmath={"contract"})
def _products(g, x, index, images, channels, out, task, tasks):
    """out[n, p, t] = sum_c g[n, c, p] x[n, c, index[n, p, t]], and 0 where the index names none."""
    places = g.size // (images * channels)
    taps, units = index.size // (images * places), images * -(-places // _STRIP)
    begin, end = task * units // tasks, (task + 1) * units // tasks
    if taps == 4:
        _products_of(g, x, index, images, channels, out, begin, end, 4)
    else:
        _products_of(g, x, index, images, channels, out, begin, end, taps)


def products_at(g: np.ndarray, x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """out[n, p, t] = sum_c g[n, c, p] x[n, c, index[n, p, t]], and 0 where the index names none"""
    out = np.empty(index.shape, np.float32)
    if not g.size or not x.size or not index.size or x.dtype != np.float32 or index.dtype != np.int32:
        return NotImplemented
    _products(in_order(g), in_order(x), in_order(index), *x.shape[:2], out)
    return out


# --- Index and weights of the places of a grid ------------------------------------------------------------------------


@njit(**INNER)
def _apart(pairs, x, y):
    for i in range(pairs.size // 2):
        x[i], y[i] = pairs[U(2 * i)], pairs[U(2 * i + 1)]


@njit(**INNER)
def _along(z, size, padding, corners, slope):
    """Where places lie along an axis of so many pixels, and how much they move there with the grid."""
    scale = F((size - 1) / 2) if corners else F(size / 2)
    low, span = (F(0), F(size - 1)) if corners else (F(-0.5), F(size))
    for i in range(z.size):
        z[i] = (z[i] + F(1)) * scale if corners else ((z[i] + F(1)) * F(size) - F(1)) * F(0.5)
        slope[i] = scale
    if padding == REFLECTION:
        for i in range(z.size if span > 0 else 0):
            at = z[i] - low
            at -= np.floor(at / (2 * span)) * (2 * span) + span
            slope[i] = -scale if at > 0 else scale if at < 0 else F(0)
            z[i] = span - abs(at) + low
        for i in range(z.size if span == 0 else 0):
            z[i], slope[i] = z[i] * F(0), F(0)
    if padding != ZEROS:
        top = F(size - 1)
        for i in range(z.size):
            at = z[i]
            slope[i] = F(0) if (at <= F(0)) | (at >= top) else slope[i]
            at = F(0) if at < F(0) else at
            z[i] = top if at > top else at


@inner
def _whole(z, size):
    """A whole number as an integer; -2, which is no pixel and beside none, for those far out and for NaN."""
    return np.int32(z) if (z >= F(-1)) & (z < F(size)) else np.int32(-2)


@inner
def _work_of_places(grid, height, width, padding, corners, nearest, index, weight):
    taps = 1 if nearest else 4
    fits = min(height, width) > 0 and 2 * index.size == grid.size * taps and weight.size == index.size
    return int(grid.size * _COST_OF_PLACE) if fits else -1


@kernel(grid=READ, index=_INDEX_WRITE, weight=WRITE, work=_work_of_places)
def _places(grid, height, width, padding, corners, nearest, index, weight, task, tasks):
    count = grid.size // 2
    strips = -(-count // _ROW)
    lines = np.empty((3, _ROW), np.float32)
    x, y, slope = lines[0], lines[1], lines[2]
    for strip in range(task * strips // tasks, (task + 1) * strips // tasks):
        p = strip * _ROW
        q = min(p + _ROW, count)
        _apart(grid[2 * p : 2 * q], x, y)
        _along(x[: q - p], width, padding, corners, slope)
        _along(y[: q - p], height, padding, corners, slope)
        if nearest:
            at = index[p:q]
            for i in range(at.size):
                left, top = _whole(np.rint(x[i]), width), _whole(np.rint(y[i]), height)
                at[i] = top * width + left if (left >= 0) & (top >= 0) else -1
                weight[p + i] = F(1)
            continue
        at, parts = index[4 * p : 4 * q], weight[4 * p : 4 * q]
        for i in range(q - p):
            left, top = np.floor(x[i]), np.floor(y[i])
            right_part, low_part = x[i] - left, y[i] - top
            column, row = _whole(left, width), _whole(top, height)
            first = row * width + column
            above, below = (row >= 0), (row >= -1) & (row < height - 1)
            before, after = (column >= 0), (column >= -1) & (column < width - 1)
            at[U(4 * i)] = first if above & before else -1
            at[U(4 * i + 1)] = first + 1 if above & after else -1
            at[U(4 * i + 2)] = first + width if below & before else -1
            at[U(4 * i + 3)] = first + width + 1 if below & after else -1
            parts[U(4 * i)] = (F(1) - low_part) * (F(1) - right_part)
            parts[U(4 * i + 1)] = (F(1) - low_part) * right_part
            parts[U(4 * i + 2)] = low_part * (F(1) - right_part)
            parts[U(4 * i + 3)] = low_part * right_part


@inner
def _work_of_slopes(grid, dweight, height, width, padding, corners, dgrid):
    fits = min(height, width) > 0 and dweight.size == 2 * grid.size and dgrid.size == grid.size
    return int(grid.size * _COST_OF_PLACE) if fits else -1


@kernel(grid=READ, dweight=READ, dgrid=WRITE, work=_work_of_slopes)
def _slopes(grid, dweight, height, width, padding, corners, dgrid, task, tasks):
    """What comes back to bilinear places from their weights."""
    count = grid.size // 2
    strips = -(-count // _ROW)
    lines = np.empty((4, _ROW), np.float32)
    x, y, along_x, along_y = lines[0], lines[1], lines[2], lines[3]
    for strip in range(task * strips // tasks, (task + 1) * strips // tasks):
        p = strip * _ROW
        q = min(p + _ROW, count)
        _apart(grid[2 * p : 2 * q], x, y)
        _along(x[: q - p], width, padding, corners, along_x)
        _along(y[: q - p], height, padding, corners, along_y)
        parts, out = dweight[4 * p : 4 * q], dgrid[2 * p : 2 * q]
        for i in range(q - p):
            a, b, c, d = parts[U(4 * i)], parts[U(4 * i + 1)], parts[U(4 * i + 2)], parts[U(4 * i + 3)]
            right_part, low_part = x[i] - np.floor(x[i]), y[i] - np.floor(y[i])
            dx = (b - a) * (F(1) - low_part) + (d - c) * low_part
            dy = (c - a) * (F(1) - right_part) + (d - b) * right_part
            out[U(2 * i)] = F(0) if along_x[i] == F(0) else dx * along_x[i]
            out[U(2 * i + 1)] = F(0) if along_y[i] == F(0) else dy * along_y[i]


def sampled(input: np.ndarray, grid: np.ndarray, nearest: bool, padding_mode: str, align_corners: bool) -> tuple:
    """Images read at the places of a grid; and the index and the weights of that."""
    n, c, height, width = input.shape
    places = (n, math.prod(grid.shape[1:3]))
    if grid.dtype != np.float32 or not input.size or not grid.size:
        return NotImplemented
    taps = 1 if nearest else 4
    index, weight = np.empty((*places, taps), np.int32), np.empty((*places, taps), np.float32)
    out, x, grid = np.empty((n, c, *grid.shape[1:3]), np.float32), in_order(input), in_order(grid)
    with together():
        _places(grid, height, width, PADDINGS[padding_mode], int(align_corners), int(nearest), index, weight)
        _sums(x, weight, index, n, c, out)
    return out, index, weight


def sampled_vjp(g: np.ndarray, input: np.ndarray, grid: np.ndarray, index: np.ndarray, weight: np.ndarray,
                padding_mode: str, align_corners: bool, wanted: list[bool]) -> list[np.ndarray | None]:
    """The gradients of the images and, if bilinear, of the grid; those that are wanted."""
    n, c, height, width = input.shape
    dinput, dgrid, dweight = (np.empty(x.shape, np.float32) for x in (input, grid, weight))
    g, x, grid = in_order(g), in_order(input), in_order(grid)
    with together():
        if wanted[0]:
            _spread(g, weight, index, n, c, dinput)
        if wanted[1]:
            _products(g, x, index, n, c, dweight)
            _slopes(grid, dweight, height, width, PADDINGS[padding_mode], int(align_corners), dgrid)
    return [dinput if wanted[0] else None, dgrid if wanted[1] else None]
