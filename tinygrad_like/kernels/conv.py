"""Convolution of float32 images and both of its gradients, on the micro-kernel of the matrix product.

A convolution is a product: the weights, with a row for each output channel and a column for each tap (channel, kh, kw),
times the matrix whose columns are the patches of the image. The entry of that matrix for a tap and a pixel is

    image[tap[k] + pixel[p]]

the outer sum of two tables of offsets into a padded copy of one image. So the matrix, im2col, is never built:

    output            out[i, p] = sum_k  w[i, k]  image[tap[k] + pixel[p]]
    weight gradient   dw[i, k]  = sum_p  g[i, p]  image[tap[k] + pixel[p]]
    input gradient    the output again: of g, with the weights w[k, i], and with the taps reversed

For a stride s, the padded copy stores pixels that are s apart side by side, in s * s planes called phases; and the
pixels of the input gradient fall into s * s parts, each reached by different taps. Either way, FLOATS neighbours are
contiguous and load as one vector. If a row is not a whole number of vectors, rows run on: the elements between two rows
of the image are computed too, and dropped. Where that is more work, the patches of a tile are packed.

The most common convolution, 3x3 with padding 1, takes fewer multiplications in winograd.py.
"""

from __future__ import annotations

import math

import numpy as np

from . import winograd
from .conv_plan import Convolution, Shape, backward_plans, forward_plan, output_shape
from .copies import copy_to
from .gemm import affine, product
from .kinds import OPTIONAL, READ, WRITE, Plan
from .matrix import SLACK, Matrix, aligned, ceil_div, pack_columns
from .program import beside, in_order, kernel
from .reduce import STRIP, columns
from .simd import COLUMNS, FLOATS, ROWS, VECTORS, fill, inner
from .tiles import LOW, copy_float, copy_from_stride_2, copy_to_stride_2, height_of, make_copy, make_dots, make_tile

COST = 0.03  # nanoseconds per multiplication
_PARTS, _PARTIAL = 8, 1 << 20  # the most partial sums, and elements of all together (but two of any size)
PIXELS = 256  # in a block of the output gradient, which fits into the L1 cache
_JOINED = 4  # the most tasks, of a thread's 8, that share one copy of an image

_scattered_tile, _wide_tile = make_tile(ROWS, VECTORS, scattered=True), make_tile(ROWS, VECTORS)
_scattered_low_tile, _low_tile = make_tile(LOW, VECTORS, scattered=True), make_tile(LOW, VECTORS)
_narrow_tile, _row_tile, _scattered_row_tile = make_tile(ROWS, 1), make_tile(1, VECTORS), make_tile(1, VECTORS, True)
_copy, _dots = make_copy(FLOATS), make_dots(ROWS)

PLAN = Plan(Convolution, {"phases": 2, "r": 1, "c": 1, "tap": 1, "pixel": 1, "vectors": 1, "runs": 2, "tile_runs": 1})


# The padded copy


@inner
def _image_bytes(plan):
    return 4 * plan.channels * plan.phases.shape[0] * plan.phase_h * plan.phase_w


@inner
def _buffer(plan):
    """Memory for a bundle of images; its padding stays 0."""
    return np.zeros(SLACK if plan.in_place else plan.per_bundle * _image_bytes(plan) // 4 + SLACK, np.float32)


@inner
def _lay_out(plan, source, target):
    """Copy one image, phase by phase."""
    phases = plan.phases.shape[0]
    for channel in range(plan.channels):
        for phase in range(phases):
            h, w = plan.phases[phase, 0], plan.phases[phase, 1]
            j0, columns = plan.phases[phase, 4], plan.phases[phase, 5] - plan.phases[phase, 4]
            for i in range(plan.phases[phase, 2], plan.phases[phase, 3]):
                row = (channel * plan.height + h + i * plan.step_h) * plan.width + w + j0 * plan.step_w
                here, there = source + 4 * row, ((channel * phases + phase) * plan.phase_h + i) * plan.phase_w + j0
                there = target + 4 * there
                if plan.step_w == 1:
                    for j in range(0, columns, FLOATS):  # past the row it writes 0, to padding or later rows
                        _copy(here + 4 * j, there + 4 * j, columns - j)
                elif plan.step_w == 2:
                    for j in range(0, columns, FLOATS):
                        copy_from_stride_2(here + 8 * j, there + 4 * j, min(columns - j, FLOATS))
                else:
                    for j in range(columns):
                        copy_float(here + 4 * plan.step_w * j, there + 4 * j)


@inner
def _images(plan, per_bundle, x, buffer, bundle):
    """Lay out a bundle of images; returns its address and the number of images."""
    first, size = bundle * per_bundle, 4 * plan.channels * plan.height * plan.width
    count = min(per_bundle, plan.images - first)
    if plan.in_place:
        return x + first * size, count
    for n in range(count):
        _lay_out(plan, x + (first + n) * size, buffer + n * _image_bytes(plan))
    return buffer, count


# The output and, with other tables, the input gradient


@inner
def _pack(plan, image, first, last, panel):
    """panel[k, j] = image[tap[k] + pixel[j]], for these runs of a tile."""
    for k in range(plan.c.size):
        for n in range(first, last):
            here, there = image + plan.tap[k] + plan.runs[n, 1], panel + 4 * (COLUMNS * k + plan.runs[n, 0])
            _copy(here, there, plan.runs[n, 3])


@inner
def _unpack(plan, tile, rows, first, last, out):
    """Copy these runs of a tile to their places in out.

    Where runs are adjacent in out, whole vectors are stored, and the next run overwrites the excess. Not so the last
    run, since another task may own what follows it. Masked stores are slow on some machines.
    """
    end, follow = plan.runs[last - 1, 2] + 4 * plan.runs[last - 1, 3], plan.out_pixel == 4
    for n in range(first, last - 1):
        follow = follow and plan.runs[n, 2] + 4 * plan.runs[n, 3] == plan.runs[n + 1, 2]
    for n in range(first, last):
        column, offset, length = plan.runs[n, 0], plan.runs[n, 2], plan.runs[n, 3]
        whole = length == FLOATS if not follow else offset + 4 * FLOATS <= end
        for i in range(rows):
            here, there = tile + 4 * (COLUMNS * i + column), out + i * plan.out_channel + offset
            if plan.out_pixel == 4 and whole:
                _copy(here, there, FLOATS)
            elif plan.out_pixel == 8:
                copy_to_stride_2(here, there, length)
            else:
                for j in range(length):
                    copy_float(here + 4 * j, there + j * plan.out_pixel)


@inner
def _multiply(direct, left, columns, tile):
    """Run the tile for these rows and columns, of an image read in place (`direct`) or packed; returns its height."""
    height = ROWS if not direct and columns <= FLOATS else height_of(left)
    if direct and left == 1:
        _scattered_row_tile(*tile)
    elif direct and height == LOW:
        _scattered_low_tile(*tile)
    elif direct:
        _scattered_tile(*tile)
    elif columns <= FLOATS:
        _narrow_tile(*tile)
    elif left == 1:
        _row_tile(*tile)
    elif height == LOW:
        _low_tile(*tile)
    else:
        _wide_tile(*tile)
    return height


@inner
def _work(plan, x, w, bias, out):
    """Nanoseconds of `_correlate`, or -1 if sizes of arrays differ from the plan's."""
    channels = plan.groups * (plan.r.size - ROWS)
    if (x.size != plan.images * plan.channels * plan.height * plan.width or w.size * 4 != plan.groups * plan.w_group
            or out.size * 4 != plan.images * channels * plan.out_channel or bias.size not in (0, channels)):
        return -1
    return int(plan.images * plan.pixels * channels * plan.c.size * COST)


@kernel(plan=PLAN, x=READ, w=READ, bias=OPTIONAL, out=WRITE, work=_work)
def _correlate(plan, x, w, bias, out, task, tasks):
    """out[n, i, p] = bias[i] + sum_k w[r[i] + c[k]] image_n[tap[k] + pixel[p]] for each group of channels.

    Tasks share the tiles of all images. Where several would lay out the same image, one does the work of up to four.
    """
    per_bundle = 1 if plan.direct else plan.per_bundle
    bundles = ceil_div(plan.images, per_bundle)
    if not plan.in_place:
        joined = min(_JOINED, ceil_div(tasks, max(bundles, 1)))
        if task % joined:
            return
        task, tasks = task // joined, ceil_div(tasks, joined)
    taps, rows, tiles = plan.c.size, plan.r.size - ROWS, plan.tile_runs.size - 1
    buffer, panel = _buffer(plan), np.empty((0 if plan.direct else taps * COLUMNS) + SLACK, np.float32)
    scratch, bases = np.empty(ROWS * COLUMNS + SLACK, np.float32), np.empty(VECTORS, np.int64)
    start = np.zeros((ROWS, COLUMNS), np.float32)  # initial values of a tile's sums
    group_bytes, out_image = _image_bytes(plan) // plan.groups, plan.groups * rows * plan.out_channel
    laid_out, images, count = -1, x.ctypes.data, 0
    for unit in range(task * bundles * tiles // tasks, (task + 1) * bundles * tiles // tasks):
        bundle, tile = unit // tiles, unit % tiles
        buffer_at, panel_at, scratch_at = aligned(buffer), aligned(panel), aligned(scratch)
        if bundle != laid_out:
            images, count = _images(plan, per_bundle, x.ctypes.data, buffer_at, bundle)
            laid_out = bundle
        p = tile * COLUMNS
        columns = count * plan.columns - p
        if columns <= 0:
            continue
        first, last = plan.tile_runs[tile], plan.tile_runs[tile + 1]
        while not plan.direct and plan.runs[last - 1, 0] >= columns:  # runs of images that the last bundle lacks
            last -= 1
        for group in range(plan.groups):
            image = images + group * group_bytes
            if plan.direct:
                for j in range(VECTORS):
                    bases[j] = image + plan.vectors[tile * VECTORS + j]
            else:
                _pack(plan, image, first, last, panel_at)
            i = 0
            while i < rows:
                left, channel = rows - i, group * rows + i
                target = out.ctypes.data + bundle * per_bundle * out_image + channel * plan.out_channel
                there, there_row = (target + 4 * p, plan.out_channel) if plan.compact else (scratch_at, 4 * COLUMNS)
                a = w.ctypes.data + group * plan.w_group, plan.r.ctypes.data + 8 * i, plan.c.ctypes.data
                b = (bases.ctypes.data, plan.tap.ctypes.data) if plan.direct else (panel_at, 4 * COLUMNS)
                if bias.size:
                    for k in range(min(left, ROWS)):
                        start[k, :] = bias[channel + k]
                written = columns if plan.compact else COLUMNS
                height = _multiply(plan.direct, left, columns, (
                    taps, *a, *b, start.ctypes.data, 4 * COLUMNS, there, there_row, left, written))
                if not plan.compact:
                    _unpack(plan, scratch_at, min(left, height), first, last, target)
                i += height


@kernel(out=WRITE, cost=COST)
def _clear(out, task, tasks):
    """out[...] = 0"""
    fill(out[task * out.size // tasks : (task + 1) * out.size // tasks], np.float32(0))


# The weight gradient


@inner
def _pack_pixels(plan, g, rows, p, depth, count, panels):
    """Pack g with the channels of each pixel contiguous: panels[panel, pixel, i], for pixels p to p + depth of `count`
    images. g is the address of the group's channels in the first image."""
    g_image = 4 * plan.groups * rows * plan.pixels
    for n in range(count):
        for i in range(0, rows, COLUMNS):
            here = Matrix(g + n * g_image + 4 * (i * plan.pixels + p), 4, 4 * plan.pixels)
            there = panels + 4 * COLUMNS * (n * plan.pixels + i // COLUMNS * depth)
            pack_columns(here, min(depth, plan.pixels), rows - i, there)


@inner
def _along_rows(plan, g, g_image, first, last, image, taps, dw, left):
    """Add up g times the image, at some taps, over these pixels: by the longest runs that are contiguous in both."""
    while first < last:
        n, p = first // plan.pixels, first % plan.pixels
        count = min(last - first, plan.pixels - p if plan.whole else plan.row - p % plan.row)
        _dots(count, image, taps, plan.pixel.ctypes.data + 8 * first, g + n * g_image + 4 * p, dw, dw, left)
        first += count


@inner
def _work_of_weights(plan, x, g, partial):
    """Nanoseconds of `_correlate_weights`, or -1 if sizes of arrays differ from the plan's."""
    _, groups, taps, rows = partial.shape
    if (x.size != plan.images * plan.channels * plan.height * plan.width or groups != plan.groups
            or taps != plan.c.size or g.size != plan.images * groups * rows * plan.pixels):
        return -1
    return int(g.size * taps * COST)


@kernel(plan=PLAN, x=READ, g=READ, partial=WRITE.of(axes=4), work=_work_of_weights, tasks=2)
def _correlate_weights(plan, x, g, partial, task, tasks):
    """partial[part, group, k, i] = sum_n,p g[n, i, p] image_n[tap[k] + pixel[p]], over a part of all pixels.

    The two tables of the product are swapped: its rows are taps, and the sum is over pixels.
    """
    parts, groups, taps, rows = partial.shape
    part, end = task * parts // tasks, (task + 1) * parts // tasks
    if part == end:
        return
    partial[part:end] = 0
    in_vectors = rows == 1  # depthwise: g has one row, so vectors run along pixels instead
    block = PIXELS if plan.per_bundle == 1 else plan.per_bundle * plan.pixels
    blocks, panels = ceil_div(plan.per_bundle * plan.pixels, block), ceil_div(rows, COLUMNS)
    buffer, packed = _buffer(plan), np.empty(panels * block * COLUMNS + SLACK, np.float32)
    group_bytes, g_group = _image_bytes(plan) // groups, 4 * rows * plan.pixels
    bundles = ceil_div(plan.images, plan.per_bundle)
    laid_out, images, count = -1, x.ctypes.data, 0
    units = bundles * blocks
    for unit in range(part * units // parts, end * units // parts):
        while unit >= (part + 1) * units // parts:
            part += 1
        bundle, p = unit // blocks, unit % blocks * block
        buffer_at, packed_at = aligned(buffer), aligned(packed)
        if bundle != laid_out:
            images, count = _images(plan, plan.per_bundle, x.ctypes.data, buffer_at, bundle)
            laid_out = bundle
        depth = min(block, count * plan.pixels - p)
        for group in range(groups):
            here = g.ctypes.data + (bundle * plan.per_bundle * groups + group) * g_group
            if not in_vectors:
                _pack_pixels(plan, here, rows, p, depth, count, packed_at)
            for k in range(0, taps, ROWS):
                a = images + group * group_bytes, plan.tap.ctypes.data + 8 * k, plan.pixel.ctypes.data + 8 * p
                target = partial.ctypes.data + 4 * ((part * groups + group) * taps + k) * rows
                if in_vectors:
                    _along_rows(plan, here, 4 * groups * plan.pixels, p, p + depth, *a[:2], target, taps - k)
                    continue
                for i in range(0, rows, COLUMNS):
                    b, there = packed_at + 4 * depth * i, target + 4 * i
                    tile = (depth, *a, b, 4 * COLUMNS, there, 4 * rows, there, 4 * rows, taps - k, rows - i)
                    if rows - i <= FLOATS:
                        _narrow_tile(*tile)
                    else:
                        _wide_tile(*tile)


# Called by the ops; `padding` is a pair for each axis.


def _suits_winograd(x: Shape, w: Shape, stride: Shape, padding: tuple[Shape, Shape], dilation: Shape,
                    groups: int) -> bool:  # fmt: skip
    """Whether winograd.py can compute this convolution, and is faster for so many channels, images and tiles."""
    return (w[2:] == (3, 3) and stride == dilation == (1, 1) and padding == ((1, 1), (1, 1)) and groups == 1
            and min(w[:2]) >= FLOATS and x[2] % 2 == x[3] % 2 == 0 and x[0] * x[2] * x[3] >= 16 * COLUMNS
            and x[2] * x[3] >= 4 * FLOATS)  # an image's tiles fill a vector


def _is_product(x: Shape, w: Shape, padding: tuple[Shape, Shape], groups: int) -> bool:
    """Whether every image is a single window, so that the convolution is a matrix product."""
    return x[2:] == w[2:] and groups == 1 and padding == ((0, 0), (0, 0))


def _rows(x: np.ndarray) -> np.ndarray:
    """Images, or the weights of each output channel, as rows of a matrix."""
    return in_order(x).reshape(len(x), math.prod(x.shape[1:]))


def _check_gradient(g: np.ndarray, x: Shape, w: Shape, stride: Shape, padding: tuple[Shape, Shape],
                    dilation: Shape) -> None:  # fmt: skip
    if g.shape != (expected := output_shape(x, w, stride, padding, dilation)):
        raise ValueError(f"convolution: the output of images {x} and weights {w} has shape {expected}, but its "
                         f"gradient has shape {g.shape}")


def correlation(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, stride: Shape, padding: tuple[Shape, Shape],
                dilation: Shape, groups: int) -> np.ndarray:  # fmt: skip
    """The convolution of x, (batch, in, height, width), with w, (out, in / groups, kh, kw), plus a bias (out,)."""
    if _suits_winograd(x.shape, w.shape, stride, padding, dilation, groups):
        return winograd.convolve(x, w, bias)
    if _is_product(x.shape, w.shape, padding, groups):
        return affine(_rows(x), _rows(w), bias).reshape(len(x), len(w), 1, 1)
    out = np.empty(output_shape(x.shape, w.shape, stride, padding, dilation), np.float32)
    _correlate(forward_plan(x.shape, w.shape, stride, padding, dilation, groups), x, w, bias, out)
    return out


def input_gradient(g: np.ndarray, w: np.ndarray, x: Shape, stride: Shape, padding: tuple[Shape, Shape],
                   dilation: Shape, groups: int) -> np.ndarray:  # fmt: skip
    """The gradient of images of shape x from that of the output: the transposed convolution."""
    if 0 in x:
        return NotImplemented
    _check_gradient(g, x, w.shape, stride, padding, dilation)
    if _suits_winograd(x, w.shape, stride, padding, dilation, groups):
        return winograd.convolve(g, w, None, rotated=True)
    dx = np.empty(x, np.float32)
    if _is_product(x, w.shape, padding, groups):
        product(_rows(g), _rows(w), _rows(dx))
        return dx
    plans, all_reached = backward_plans(x, w.shape, g.shape, stride, padding, dilation, groups)
    if not all_reached:
        _clear(dx)
    beside(*[(_correlate, plan, g, w, None, dx) for plan in plans])  # each writes other pixels
    return dx


def weight_gradient(g: np.ndarray, x: np.ndarray, w: Shape, stride: Shape, padding: tuple[Shape, Shape],
                    dilation: Shape, groups: int) -> np.ndarray:  # fmt: skip
    """The gradient of weights of shape w from that of the output."""
    if x.size == 0:
        return NotImplemented
    _check_gradient(g, x.shape, w, stride, padding, dilation)
    if _is_product(x.shape, w, padding, groups):
        return product(_rows(g).T, _rows(x), np.empty((w[0], math.prod(w[1:])), np.float32)).reshape(w)
    plan = forward_plan(x.shape, w, stride, padding, dilation, groups)
    parts = _parts(plan.images * plan.pixels // PIXELS, math.prod(w))
    partial = np.empty((parts, groups, plan.c.size, w[0] // groups), np.float32)
    dw, transposed = np.empty(w, np.float32), np.empty(partial.shape[1:], np.float32)
    _correlate_weights(plan, x, g, partial)
    columns(partial, parts, transposed.size, parts, STRIP, transposed)
    copy_to(transposed.swapaxes(1, 2), dw.reshape(groups, -1, plan.c.size))
    return dw


def _parts(units: int, size: int) -> int:
    """The number of partial sums, each of `size` elements, that add up a weight gradient's `units` blocks of pixels.

    Each is a task. The number must not depend on the threads, or the gradient's last digits would.
    """
    return max(1, min(_PARTS, units // 2, max(2, _PARTIAL // size)))
