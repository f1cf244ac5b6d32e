"""Convolution of float32 images and both of its gradients, on the micro-kernel of the matrix product.

A convolution is a product: the weights, with a row for each output channel and a column for each tap (channel, kh, kw),
times the matrix whose columns are the patches of the image. The entry of that matrix for a tap and a pixel is

    image[tap[k] + pixel[p]]

the outer sum of two tables of offsets into a padded copy of one image. So the matrix, im2col, is never built:

    output            out[i, p] = sum_k  w[i, k]  image[tap[k] + pixel[p]]
    weight gradient   dw[i, k]  = sum_p  g[i, p]  image[tap[k] + pixel[p]]
    input gradient    the output again: of g, with the weights w[k, i], and with taps that go the other way

For a stride s the padded copy keeps pixels s apart side by side, in s * s planes called phases; and the pixels of the
input gradient fall into s * s parts, each reached by other taps. Either way neighbours stay neighbours in memory, and a
vector takes FLOATS of them. Only where a row of pixels is no whole number of vectors are the patches of a tile packed.

The most common convolution, 3x3 with a margin of 1, has a way with fewer multiplications: winograd.py.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from . import threads, winograd
from .matrix import Matrix, aligned, ceil_div, pack_columns
from .simd import COLUMNS, FLOATS, ROWS, VECTORS, inner, kernel
from .tasks import plain, run
from .tiles import copy_apart, copy_float, copy_together, make_copy, make_dots, make_tile

PARALLEL_FROM = 100_000  # multiplications that are worth a second thread
PIXELS = 256  # of a block of the output gradient: as many as fit into the first-level cache
SLACK = 64  # floats after a buffer that vectors may run into

_scattered_tile, _wide_tile = make_tile(ROWS, VECTORS, scattered=True), make_tile(ROWS, VECTORS)
_narrow_tile, _row_tile, _scattered_row_tile = make_tile(ROWS, 1), make_tile(1, VECTORS), make_tile(1, VECTORS, True)
_dots = make_dots(ROWS)
_copy = make_copy(FLOATS)


class Plan(NamedTuple):
    """A convolution of given sizes, as numbers and tables. Offsets count bytes."""

    images: int
    together: int  # images whose pixels are numbered through, so that small images fill their tiles too
    channels: int
    height: int
    width: int
    step_h: int  # rows of the image from one row of a phase to the next
    step_w: int
    phases: np.ndarray  # (phases, 6): image row and column at its origin; rows and columns to be copied
    phase_h: int
    phase_w: int
    in_place: bool  # the image has no margin and one phase: no copy is needed
    groups: int
    r: np.ndarray  # offset in a group's weights of each output channel
    c: np.ndarray  # offset in a group's weights of each tap
    tap: np.ndarray  # offset in a group's channels of each tap
    w_group: int  # offset of the next group's weights
    pixels: int  # of one image
    pixel: np.ndarray  # offset in the image of each pixel, for all images that are together
    direct: bool  # rows of pixels are whole vectors, and need no packing
    runs: np.ndarray  # (runs, 4): a run of pixels' first column in its tile, offset in the image and in out, length
    tile_runs: np.ndarray  # (tiles + 1,): the first run of each tile
    compact: bool  # pixels that follow each other do so in out
    out_pixel: int  # offset in out of the next pixel
    out_channel: int  # offset in out of the next channel


# The padded copy


@inner
def _image_bytes(plan):
    return 4 * plan.channels * plan.phases.shape[0] * plan.phase_h * plan.phase_w


@inner
def _buffer(plan):
    """Memory for the images that are together; its margins stay 0."""
    return np.zeros(SLACK if plan.in_place else plan.together * _image_bytes(plan) // 4 + SLACK, np.float32)


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
                    for j in range(0, columns, FLOATS):  # beyond the row it writes 0, in margins or rows yet to come
                        _copy(here + 4 * j, there + 4 * j, columns - j)
                elif plan.step_w == 2:
                    for j in range(0, columns, FLOATS):
                        copy_together(here + 8 * j, there + 4 * j, min(columns - j, FLOATS))
                else:
                    for j in range(columns):
                        copy_float(here + 4 * plan.step_w * j, there + 4 * j)


@inner
def _images(plan, x, buffer, bundle):
    """The address of a bundle of images that are together, laid out, and how many they are."""
    first, size = bundle * plan.together, 4 * plan.channels * plan.height * plan.width
    count = min(plan.together, plan.images - first)
    if plan.in_place:
        return x + first * size, count
    for n in range(count):
        _lay_out(plan, x + (first + n) * size, buffer + n * _image_bytes(plan))
    return buffer, count


# The output, and with other tables the input gradient


@inner
def _pack(plan, image, first, last, panel):
    """panel[k, j] = image[tap[k] + pixel[j]], for these runs of a tile."""
    for k in range(plan.c.size):
        for n in range(first, last):
            here, there = image + plan.tap[k] + plan.runs[n, 1], panel + 4 * (COLUMNS * k + plan.runs[n, 0])
            _copy(here, there, plan.runs[n, 3])


@inner
def _unpack(plan, tile, rows, first, last, out):
    """Copy these runs of a tile to where they are in out."""
    for n in range(first, last):
        column, offset, length = plan.runs[n, 0], plan.runs[n, 2], plan.runs[n, 3]
        for i in range(rows):
            here, there = tile + 4 * (COLUMNS * i + column), out + i * plan.out_channel + offset
            if plan.out_pixel == 8:
                copy_apart(here, there, length)
            else:
                for j in range(length):
                    copy_float(here + 4 * j, there + j * plan.out_pixel)


@kernel()
def _correlate(plan, x, w, start, out, task, tasks):
    """out[n, i, p] = start[i] + sum_k w[r[i] + c[k]] image_n[tap[k] + pixel[p]] for each group of channels.

    start is (channels or 1, COLUMNS), every row one number. Tasks share the tiles of all images.
    """
    taps, rows, tiles = plan.c.size, plan.r.size - ROWS, plan.tile_runs.size - 1
    buffer, panel = _buffer(plan), np.empty((0 if plan.direct else taps * COLUMNS) + SLACK, np.float32)
    scratch, bases = np.empty(ROWS * COLUMNS + SLACK, np.float32), np.empty(VECTORS, np.int64)
    start_row = 4 * COLUMNS if start.shape[0] > 1 else 0
    group_bytes, out_image = _image_bytes(plan) // plan.groups, plan.groups * rows * plan.out_channel
    bundles = ceil_div(plan.images, plan.together)
    laid_out, images, count = -1, x.ctypes.data, 0
    for unit in range(task * bundles * tiles // tasks, (task + 1) * bundles * tiles // tasks):
        bundle, tile = unit // tiles, unit % tiles
        buffer_at, panel_at, scratch_at = aligned(buffer), aligned(panel), aligned(scratch)
        if bundle != laid_out:
            images, count = _images(plan, x.ctypes.data, buffer_at, bundle)
            laid_out = bundle
        p = tile * COLUMNS
        columns = count * plan.pixels - p
        if columns <= 0:
            continue
        first, last = plan.tile_runs[tile], plan.tile_runs[tile + 1]
        while plan.runs[last - 1, 0] >= columns:  # of images that the last bundle lacks
            last -= 1
        for group in range(plan.groups):
            image = images + group * group_bytes
            if plan.direct:
                for j in range(VECTORS):
                    bases[j] = image + plan.pixel[min(p + j * FLOATS, plan.pixel.size - FLOATS)]
            else:
                _pack(plan, image, first, last, panel_at)
            for i in range(0, rows, ROWS):
                left, channel = rows - i, group * rows + i
                target = out.ctypes.data + bundle * plan.together * out_image + channel * plan.out_channel
                there, there_row = (target + 4 * p, plan.out_channel) if plan.compact else (scratch_at, 4 * COLUMNS)
                a = w.ctypes.data + group * plan.w_group, plan.r.ctypes.data + 8 * i, plan.c.ctypes.data
                b = (bases.ctypes.data, plan.tap.ctypes.data) if plan.direct else (panel_at, 4 * COLUMNS)
                arguments = (taps, *a, *b, start.ctypes.data + channel * start_row, start_row, there, there_row,
                             left, columns, 0)  # fmt: skip
                if plan.direct and left == 1:
                    _scattered_row_tile(*arguments)
                elif plan.direct:
                    _scattered_tile(*arguments)
                elif columns <= FLOATS:
                    _narrow_tile(*arguments)
                elif left == 1:
                    _row_tile(*arguments)
                else:
                    _wide_tile(*arguments)
                if not plan.compact:
                    _unpack(plan, scratch_at, min(left, ROWS), first, last, target)


# The weight gradient


@kernel()
def _correlate_weights(plan, x, g, partial, task, tasks):
    """partial[part, group, k, i] = sum_n,p g[n, i, p] image_n[tap[k] + pixel[p]], over a part of all pixels.

    The two tables of the product have changed places: its rows are taps, and the sum is over pixels.
    """
    groups, taps, rows = partial.shape[1], partial.shape[2], partial.shape[3]
    in_vectors = rows == 1 and plan.direct  # depthwise: with one row for g, vectors had better run along pixels
    block = PIXELS if plan.together == 1 else plan.together * plan.pixels
    blocks, panels = ceil_div(plan.together * plan.pixels, block), ceil_div(rows, COLUMNS)
    buffer, turned = _buffer(plan), np.empty(panels * block * COLUMNS + SLACK, np.float32)
    group_bytes, g_group = _image_bytes(plan) // groups, 4 * rows * plan.pixels
    bundles = ceil_div(plan.images, plan.together)
    laid_out, images, count = -1, x.ctypes.data, 0
    units, parts = bundles * blocks, len(partial)
    first, last = task * parts // tasks * units // parts, (task + 1) * parts // tasks * units // parts
    part = task * parts // tasks
    for unit in range(first, last):
        while unit >= (part + 1) * units // parts:
            part += 1
        bundle, p = unit // blocks, unit % blocks * block
        buffer_at, turned_at = aligned(buffer), aligned(turned)
        if bundle != laid_out:
            images, count = _images(plan, x.ctypes.data, buffer_at, bundle)
            laid_out = bundle
        depth = min(block, count * plan.pixels - p)
        for group in range(groups):
            if in_vectors:
                for k in range(0, taps, ROWS):
                    a = images + group * group_bytes, plan.tap.ctypes.data + 8 * k, plan.pixel.ctypes.data + 8 * p
                    here = g.ctypes.data + (bundle * groups + group) * g_group + 4 * p
                    target = partial.ctypes.data + 4 * ((part * groups + group) * taps + k)
                    _dots(depth // FLOATS, *a, here, target, taps - k)
                continue
            panel = 4 * COLUMNS * depth
            for n in range(count):
                here = g.ctypes.data + ((bundle * plan.together + n) * groups + group) * g_group
                there = turned_at + 4 * COLUMNS * n * plan.pixels
                for i in range(0, rows, COLUMNS):  # channels of a pixel side by side
                    turned_g = Matrix(here + 4 * (i * plan.pixels + p), 4, 4 * plan.pixels)
                    pack_columns(turned_g, min(depth, plan.pixels), rows - i, there + i // COLUMNS * panel)
            for i in range(0, rows, COLUMNS):
                for k in range(0, taps, ROWS):
                    target = partial.ctypes.data + 4 * (((part * groups + group) * taps + k) * rows + i)
                    a = images + group * group_bytes, plan.tap.ctypes.data + 8 * k, plan.pixel.ctypes.data + 8 * p
                    b = turned_at + i // COLUMNS * panel, 4 * COLUMNS
                    tile = (depth, *a, *b, target, 4 * rows, target, 4 * rows, taps - k, rows - i, 0)
                    if rows - i <= FLOATS:
                        _narrow_tile(*tile)
                    else:
                        _wide_tile(*tile)


# Plans

Shape = tuple[int, ...]


def output_shape(x: Shape, w: Shape, stride: Shape, padding: tuple[Shape, Shape], dilation: Shape) -> Shape:
    """(batch, channels, height, width) of the convolution of images of shape x with weights of shape w."""
    sizes = ((n + sum(p) - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in
             zip(x[2:], w[2:], stride, padding, dilation, strict=True))  # fmt: skip
    return (x[0], w[0], *sizes)


def _table(*axes) -> np.ndarray:
    """All sums of one entry of each axis, in order; in bytes."""
    total = np.zeros(1, np.int64)
    for axis in axes:
        total = (total[:, None] + np.asarray(axis, np.int64)).ravel()
    return 4 * total


def _until_full(table: np.ndarray) -> np.ndarray:
    """The table, and its last entry ROWS times more: rows beyond the edge of a tile repeat the last one."""
    return np.concatenate([table, np.full(ROWS, table[-1])])


def _runs(source: np.ndarray, target: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Pixels cut into runs: at the ends of tiles and of rows of this width, and where a run would exceed a vector."""
    p = np.arange(source.size)
    begin = np.flatnonzero((p % COLUMNS % FLOATS == 0) | (p % width == 0))
    runs = np.stack([begin % COLUMNS, source[begin], target[begin], np.diff(begin, append=p.size)], 1)
    tiles = np.arange(0, p.size + COLUMNS, COLUMNS)[: -(-p.size // COLUMNS) + 1]
    return runs, np.searchsorted(begin, tiles)


def _together(images: int, pixels: int, direct: bool) -> int:
    return 1 if direct or pixels >= 4 * COLUMNS or pixels % COLUMNS == 0 else min(images, 8 * COLUMNS // pixels)


def _plan(image: Shape, step: Shape, phases: np.ndarray, phase: Shape, in_place: bool, groups: int, r, c, tap,
          w_group: int, out: Shape, first: Shape, out_step: Shape) -> Plan:  # fmt: skip
    """The plan for pixels first + (i, j) * out_step of images of shape out, at (i, j) of every phase."""
    h, w = (-(-(size - start) // by) for size, start, by in zip(out[2:], first, out_step, strict=True))
    direct = w % FLOATS == 0
    together = _together(image[0], h * w, direct)
    image_size = image[1] * len(phases) * math.prod(phase)
    pixel = _table(np.arange(together) * image_size, np.arange(h) * phase[1], np.arange(w))
    target = _table(np.arange(together) * math.prod(out[1:]), (first[0] + np.arange(h) * out_step[0]) * out[3],
                    first[1] + np.arange(w) * out_step[1])  # fmt: skip
    runs, tile_runs = _runs(pixel, target, w)
    return Plan(
        images=image[0], together=together, channels=image[1], height=image[2], width=image[3],
        step_h=step[0], step_w=step[1], phases=phases, phase_h=phase[0], phase_w=phase[1], in_place=in_place,
        groups=groups, r=_until_full(r), c=c, tap=_until_full(tap), w_group=w_group,
        pixels=h * w, pixel=pixel, direct=direct, runs=runs, tile_runs=tile_runs,
        compact=together == 1 and out_step == (1, 1), out_pixel=4 * out_step[1], out_channel=4 * out[2] * out[3])


def _as_rows(shapes: tuple[Shape, ...], w: Shape, stride: Shape, padding: tuple[Shape, Shape]) -> tuple[Shape, ...]:
    """The images of a 1x1 convolution as images of one row: a pixel has no neighbours, so rows may run on."""
    if w[2:] == stride == (1, 1) and padding == ((0, 0), (0, 0)):
        return tuple((*shape[:2], 1, shape[2] * shape[3]) for shape in shapes)
    return shapes


@lru_cache(512)
def forward_plan(x: Shape, w: Shape, stride: Shape, padding: tuple[Shape, Shape], dilation: Shape, groups: int) -> Plan:
    """Tap (channel, kh, kw) of output (i, j) is the padded image's pixel (i stride + kh dilation, j stride + ...)."""
    x, = _as_rows((x,), w, stride, padding)
    out = output_shape(x, w, stride, padding, dilation)
    taps = [np.arange(n) * d for n, d in zip(w[2:], dilation, strict=True)]
    of = [np.unique(t % s) for t, s in zip(taps, stride, strict=True)]  # the phases that taps meet
    phase = tuple(int(n + t[-1] // s) for n, t, s in zip(out[2:], taps, stride, strict=True))
    in_place = stride == (1, 1) and padding == ((0, 0), (0, 0))
    spans = []  # of each axis and phase: its origin, and what of it is not margin
    for axis in range(2):
        origin = of[axis] - padding[axis][0]
        begin, end = -(origin // stride[axis]), -((origin - x[2 + axis]) // stride[axis])
        spans.append(np.stack([origin, np.maximum(begin, 0), np.clip(end, 0, phase[axis])], 1))
    phases = np.array([(a[0], b[0], a[1], a[2], b[1], b[2]) for a in spans[0] for b in spans[1]], np.int64)
    size = math.prod(phase)
    row, column = ([np.searchsorted(o, t % s), t // s] for o, t, s in zip(of, taps, stride, strict=True))
    tap = _table(np.arange(w[1]) * len(phases) * size, row[0] * len(of[1]) * size + row[1] * phase[1],
                 column[0] * size + column[1])  # fmt: skip
    return _plan(x, stride, phases, phase, in_place, groups, _table(np.arange(w[0] // groups) * math.prod(w[1:])),
                 _table(np.arange(math.prod(w[1:]))), tap, 4 * math.prod(w) // groups, out, (0, 0), (1, 1))  # fmt: skip


@lru_cache(512)
def backward_plans(x: Shape, w: Shape, g: Shape, stride: Shape, padding: tuple[Shape, Shape], dilation: Shape,
                   groups: int) -> tuple[list[Plan], bool]:  # fmt: skip
    """Plans that together give the gradient of x, one for each part that a tap reaches; and whether all are reached.

    Along one axis, x[i] meets tap k in output (i + padding - k dilation) / stride, if that is an integer.
    """
    x, g = _as_rows((x, g), w, stride, padding)
    axes = []
    for axis in range(2):
        parts, s = [], stride[axis]
        for first in range(min(s, x[2 + axis])):
            h = first + padding[axis][0]
            k = np.array([k for k in range(w[2 + axis]) if (h - k * dilation[axis]) % s == 0], np.int64)
            parts.append((first, k, (h - k * dilation[axis]) // s))
        axes.append(parts)
    plans = []
    for first_h, kh, row in axes[0]:
        for first_w, kw, column in axes[1]:
            if kh.size * kw.size:
                margin = max(0, -int(row.min())), max(0, -int(column.min()))
                count = [-(-(n - f) // s) for n, f, s in zip(x[2:], (first_h, first_w), stride, strict=True)]
                phase = tuple(max(m + n, m + int(at.max()) + c) for m, n, at, c in
                              zip(margin, g[2:], (row, column), count, strict=True))  # fmt: skip
                phases = np.array([[-margin[0], -margin[1], margin[0], margin[0] + g[2], margin[1], margin[1] + g[3]]])
                channel = np.arange(w[0] // groups)
                tap = _table(channel * math.prod(phase), (row + margin[0]) * phase[1], column + margin[1])
                c = _table(channel * math.prod(w[1:]), kh * w[3], kw)
                r = _table(np.arange(w[1]) * w[2] * w[3])
                plans.append(_plan(g, (1, 1), phases, phase, phase == g[2:], groups, r, c, tap,
                                   4 * math.prod(w) // groups, x, (first_h, first_w), stride))  # fmt: skip
    return plans, len(plans) == len(axes[0]) * len(axes[1])


# What the ops call. padding is a pair for each axis.

ZERO = np.zeros((1, COLUMNS), np.float32)


def _suits_winograd(x: Shape, w: Shape, stride: Shape, padding: tuple[Shape, Shape], dilation: Shape,
                    groups: int) -> bool:  # fmt: skip
    """Whether transforming 2x2 tiles is possible and, with that many channels, images and tiles, pays."""
    return (w[2:] == (3, 3) and stride == dilation == (1, 1) and padding == ((1, 1), (1, 1)) and groups == 1
            and min(w[:2]) >= FLOATS and x[2] % 2 == x[3] % 2 == 0 and x[0] * x[2] * x[3] >= 16 * COLUMNS)  # fmt: skip


def _check_gradient(g: np.ndarray, x: Shape, w: Shape, stride: Shape, padding: tuple[Shape, Shape],
                    dilation: Shape) -> None:  # fmt: skip
    if g.shape != (expected := output_shape(x, w, stride, padding, dilation)):
        raise ValueError(f"convolution: images {x} and weights {w} have an output of shape {expected}, and so must its "
                         f"gradient, which has shape {g.shape}")


def _start(bias: np.ndarray | None) -> np.ndarray:
    return ZERO if bias is None else np.repeat(bias, COLUMNS).reshape(-1, COLUMNS)


def forward(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, stride: Shape, padding: tuple[Shape, Shape],
            dilation: Shape, groups: int) -> np.ndarray:  # fmt: skip
    """The convolution of x, (batch, in, height, width), with w, (out, in / groups, kh, kw), plus a bias (out,)."""
    x, w = plain(x), plain(w)
    if _suits_winograd(x.shape, w.shape, stride, padding, dilation, groups):
        return winograd.convolve(x, w, bias)
    plan = forward_plan(x.shape, w.shape, stride, padding, dilation, groups)
    out = np.empty(output_shape(x.shape, w.shape, stride, padding, dilation), np.float32)
    run(_correlate, out.size * plan.c.size >= PARALLEL_FROM, plan, x, w, _start(bias), out)
    return out


def input_gradient(g: np.ndarray, w: np.ndarray, bias: np.ndarray | None, x: Shape, stride: Shape,
                   padding: tuple[Shape, Shape], dilation: Shape, groups: int) -> np.ndarray:  # fmt: skip
    """The gradient of images of shape x from that of the output; plus a bias, for the transposed convolution."""
    _check_gradient(g, x, w.shape, stride, padding, dilation)
    g, w = plain(g), plain(w)
    if _suits_winograd(x, w.shape, stride, padding, dilation, groups):
        return winograd.convolve(g, w, bias, turned=True)
    plans, all_reached = backward_plans(x, w.shape, g.shape, stride, padding, dilation, groups)
    dx, start = np.empty(x, np.float32), _start(bias)
    if not all_reached:
        dx[:] = 0 if bias is None else bias[:, None, None]
    for plan in plans:
        run(_correlate, plan.images * plan.pixels * x[1] * plan.c.size >= PARALLEL_FROM, plan, g, w, start, dx)
    return dx


def weight_gradient(g: np.ndarray, x: np.ndarray, w: Shape, stride: Shape, padding: tuple[Shape, Shape],
                    dilation: Shape, groups: int) -> np.ndarray:  # fmt: skip
    """The gradient of weights of shape w from that of the output."""
    _check_gradient(g, x.shape, w, stride, padding, dilation)
    g, x = plain(g), plain(x)
    if _suits_winograd(x.shape, w, stride, padding, dilation, groups):
        return winograd.weight_gradient(x, g)
    plan = forward_plan(x.shape, w, stride, padding, dilation, groups)
    large = g.size * plan.c.size >= PARALLEL_FROM
    parts = winograd.parts(plan.images * plan.pixels // PIXELS, math.prod(w)) if large else 1
    partial = np.zeros((parts, groups, plan.c.size, w[0] // groups), np.float32)
    run(_correlate_weights, large, plan, x, g, partial, tasks=min(parts, 2 * threads.count))
    return np.ascontiguousarray(partial.sum(0).transpose(0, 2, 1)).reshape(w)
