"""Compute the offset tables of a convolution, one entry per tap and per pixel, once for each size (see conv.py)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .simd import COLUMNS, FLOATS, ROWS, VECTORS

Shape = tuple[int, ...]


class Convolution(NamedTuple):
    """A convolution of given sizes, as numbers and tables. Offsets count bytes."""

    images: int
    per_bundle: int  # images in a bundle, whose pixels are numbered consecutively, so that small images fill tiles
    channels: int
    height: int
    width: int
    step_h: int  # rows of the image from one row of a phase to the next
    step_w: int
    phases: np.ndarray  # (phases, 6): image row and column at its origin; rows to copy, from and to; columns, likewise
    phase_h: int
    phase_w: int
    in_place: bool  # no padding and one phase: the image needs no copy
    groups: int
    r: np.ndarray  # offset in a group's weights of each output channel
    c: np.ndarray  # offset in a group's weights of each tap
    tap: np.ndarray  # offset in a group's channels of each tap
    w_group: int  # offset of the next group's weights
    pixels: int  # of one image
    pixel: np.ndarray  # offset of each pixel of a bundle's images
    row: int  # pixels of a row
    whole: bool  # a row is a whole number of vectors
    columns: int  # of the product, for one image: its pixels and, if rows run on, the elements between rows
    direct: bool  # tiles read vectors in place; otherwise they are packed first
    vectors: np.ndarray  # offset in the image of each vector of a tile
    runs: np.ndarray  # (runs, 4): a run of pixels' first column in its tile, offset in the image and in out, length
    tile_runs: np.ndarray  # (tiles + 1,): the first run of each tile
    compact: bool  # consecutive pixels are contiguous in out
    out_pixel: int  # offset in out of the next pixel
    out_channel: int  # offset in out of the next channel


_PACK, _UNPACK = 7, 17  # clock cycles per run of pixels; a run that starts inside the vector just stored stalls
_DIRECT = 1.15  # a tile takes this many times as long if it loads unaligned vectors


def output_shape(x: Shape, w: Shape, stride: Shape, padding: tuple[Shape, Shape], dilation: Shape) -> Shape:
    """(batch, channels, height, width) of the convolution of images of shape x with weights of shape w."""
    sizes = ((n + sum(p) - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in
             zip(x[2:], w[2:], stride, padding, dilation, strict=True))  # fmt: skip
    return (x[0], w[0], *sizes)


def _table(*axes) -> np.ndarray:
    """All sums of one entry per axis, in order, in bytes."""
    total = np.zeros(1, np.int64)
    for axis in axes:
        total = (total[:, None] + np.asarray(axis, np.int64)).ravel()
    return 4 * total


def _until_full(table: np.ndarray) -> np.ndarray:
    """The table with its last entry repeated ROWS times, for the rows of a tile past the matrix's edge."""
    return np.concatenate([table, np.full(ROWS, table[-1])])


class _Tiling(NamedTuple):
    """How the pixels of a convolution become the columns of a product: see `Convolution`."""

    columns: int
    vectors: np.ndarray
    runs: np.ndarray
    tile_runs: np.ndarray


def _tiling(columns: int, begin: np.ndarray, at: np.ndarray, source: np.ndarray, target: np.ndarray,
            width: int) -> _Tiling:  # fmt: skip
    """Runs of pixels, cut at the ends of vectors and of rows of this width.

    begin: the first column of each vector; at: the column of each pixel.
    """
    vector = at // FLOATS
    first = np.flatnonzero(np.diff(vector, prepend=-1) | (np.arange(at.size) % width == 0))
    vector = vector[first]
    runs = np.stack([vector % VECTORS * FLOATS + at[first] - begin[vector], source[first], target[first],
                     np.diff(first, append=at.size)], 1)  # fmt: skip
    tiles = -(-begin.size // VECTORS)
    vectors = 4 * np.append(begin, np.full(tiles * VECTORS - begin.size, begin[-1:]))
    return _Tiling(columns, vectors, runs, np.searchsorted(vector // VECTORS, np.arange(tiles + 1)))


def _per_bundle(images: int, pixels: int, whole: bool) -> int:
    return 1 if whole or pixels >= 4 * COLUMNS or pixels % COLUMNS == 0 else max(1, min(images, 8 * COLUMNS // pixels))


def _plan(image: Shape, step: Shape, phases: np.ndarray, phase: Shape, in_place: bool, groups: int, r, c, tap,
          w_group: int, out: Shape, first: Shape, out_step: Shape) -> Convolution:  # fmt: skip
    """The plan for pixels first + (i, j) * out_step of images of shape out, at (i, j) of every phase."""
    h, w = (-(-(size - start) // by) for size, start, by in zip(out[2:], first, out_step, strict=True))
    whole = w % FLOATS == 0
    per_bundle = _per_bundle(image[0], h * w, whole)
    image_size = image[1] * len(phases) * math.prod(phase)
    pixel = _table(np.arange(per_bundle) * image_size, np.arange(h) * phase[1], np.arange(w))
    target = _table(np.arange(per_bundle) * math.prod(out[1:]), (first[0] + np.arange(h) * out_step[0]) * out[3],
                    first[1] + np.arange(w) * out_step[1])  # fmt: skip
    compact, direct = per_bundle == 1 and out_step == (1, 1), whole
    tiling = _tiling(h * w, np.arange(0, pixel.size, FLOATS), np.arange(pixel.size), pixel, target, w)
    if whole:
        tiling = tiling._replace(vectors=pixel[tiling.vectors // 4])
    else:
        run_on = _run_on(h, w, phase[1], pixel, target)
        if _cost(run_on, True, False, len(r), len(c)) < _cost(tiling, False, compact, len(r), len(c)) / per_bundle:
            tiling, compact, direct = run_on, False, True
    return Convolution(
        images=image[0], per_bundle=per_bundle, channels=image[1], height=image[2], width=image[3],
        step_h=step[0], step_w=step[1], phases=phases, phase_h=phase[0], phase_w=phase[1], in_place=in_place,
        groups=groups, r=_until_full(r), c=c, tap=_until_full(tap), w_group=w_group,
        pixels=h * w, pixel=pixel, row=w, whole=whole, columns=tiling.columns, direct=direct,
        vectors=tiling.vectors, runs=tiling.runs, tile_runs=tiling.tile_runs, compact=compact,
        out_pixel=4 * out_step[1], out_channel=4 * out[2] * out[3])


def _run_on(h: int, w: int, line: int, pixel: np.ndarray, target: np.ndarray) -> _Tiling:
    """Columns for all elements of a phase, from the first pixel to the last; its rows are `line` elements apart.

    A partial last vector begins earlier, since it may not read past the image.
    """
    columns, pixel, target = (h - 1) * line + w, pixel[: h * w], target[: h * w]
    begin = np.minimum(np.arange(0, columns, FLOATS), max(columns - FLOATS, 0))
    return _tiling(columns, begin, pixel // 4, pixel, target, w)


def _cost(tiling: _Tiling, direct: bool, compact: bool, rows: int, taps: int) -> float:
    """An estimate of clock cycles to pack runs, multiply and unpack, for each group of channels."""
    if direct and tiling.columns < FLOATS:
        return math.inf
    copied = _UNPACK * rows * (not compact) + _PACK * taps * (not direct)
    multiplied = taps * -(-rows // ROWS) * ROWS * len(tiling.vectors) / 2
    return len(tiling.runs) * copied + multiplied * (_DIRECT if direct else 1)


def _as_rows(shapes: tuple[Shape, ...], w: Shape, stride: Shape, padding: tuple[Shape, Shape]) -> tuple[Shape, ...]:
    """The images of a 1x1 convolution as images of one row: a pixel has no neighbours, so rows may run on."""
    if w[2:] == stride == (1, 1) and padding == ((0, 0), (0, 0)):
        return tuple((*shape[:2], 1, shape[2] * shape[3]) for shape in shapes)
    return shapes


@lru_cache(512)
def forward_plan(x: Shape, w: Shape, stride: Shape, padding: tuple[Shape, Shape], dilation: Shape,
                 groups: int) -> Convolution:  # fmt: skip
    """Tap (channel, kh, kw) of output (i, j) is the padded image's pixel (i stride + kh dilation, j stride + ...)."""
    x, = _as_rows((x,), w, stride, padding)
    out = output_shape(x, w, stride, padding, dilation)
    taps = [np.arange(n) * d for n, d in zip(w[2:], dilation, strict=True)]
    of = [np.unique(t % s) for t, s in zip(taps, stride, strict=True)]  # the phases that taps meet
    phase = tuple(int(n + t[-1] // s) for n, t, s in zip(out[2:], taps, stride, strict=True))
    in_place = stride == (1, 1) and padding == ((0, 0), (0, 0))
    spans = []  # for each axis and phase: its origin, and its part that is not padding
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
                   groups: int) -> tuple[list[Convolution], bool]:  # fmt: skip
    """Plans that together compute the gradient of x, one per part that taps reach; and whether taps reach all parts.

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
