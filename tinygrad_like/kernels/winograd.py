"""3x3 convolution with 4/9 of the multiplications (Winograd; Lavin and Gray 2016, F(2x2, 3x3)).

A 2x2 tile y of the output depends on a 4x4 tile d of the image, and with 3x3 weights w it is

    y = A^T [ (G w G^T) * (B^T d B) ] A,      * elementwise, 16 products instead of 36.

         1  0 -1  0            1   0   0
    B^T  0  1  1  0       G   1/2 1/2 1/2       A^T  1  1  1  0
         0 -1  1  0           1/2-1/2 1/2            0  1 -1 -1
         0  1  0 -1            0   0   1

With channels, the 16 elementwise products are 16 matrix products: M[e] = U[e] V[e], where U[e] has the transformed
weights (out x in), and V[e] the transformed tiles (in x tiles). They run on the micro-kernel; this file adds the
transforms, for stride 1, padding 1, and even height and width. A vector holds FLOATS tiles in a row: tile t has pixels
2t and 2t + 1 of the rows of one parity laid end to end, so tiles go on from row to row.

Rounding errors are about as large as those of the direct sum.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from llvmlite import ir

from .kinds import OPTIONAL, READ, WRITE
from .late import intrinsic
from .matrix import SLACK, aligned, ceil_div
from .program import kernel
from .simd import (
    COLUMNS,
    F32,
    FLOATS,
    I32,
    ROWS,
    VECTOR,
    VECTORS,
    broadcast,
    element,
    inner,
    integer,
    load,
    procedure,
    store,
)
from .tiles import LOW, height_of, make_copy, make_tile

ELEMENTS = 16  # of a transformed tile
COST, WEIGHT_COST = 0.03, 0.08  # nanoseconds per multiplication, per transformed weight
LINE = 64  # bytes: without this extra line, the 16 elements could lie a power of two apart, in one cache set

_tile, _low_tile = make_tile(ROWS, VECTORS), make_tile(LOW, VECTORS)
_copy, _copy_exactly = make_copy(FLOATS), make_copy(FLOATS, exact=True)


def _lanes(b, x, y, lanes):
    return b.shuffle_vector(x, y, ir.Constant(ir.VectorType(I32, FLOATS), list(lanes)))


@intrinsic
def _columns(typing, source, target, plane, left, right):
    """d B for FLOATS tiles: four vectors, to target + b * plane, from 2 FLOATS pixels at source and one on either side.

    left and right point to one number per tile, 0 where the pixel before or after is beyond the edge.
    """

    def emit(b, source, target, plane, left, right):
        before = [load(b, b.add(source, integer(4 * FLOATS * i - 4)), VECTOR) for i in range(2)]
        after = [load(b, b.add(source, integer(4 * FLOATS * i + 4)), VECTOR) for i in range(2)]
        even, odd = range(0, 2 * FLOATS, 2), range(1, 2 * FLOATS, 2)
        zero = ir.Constant(VECTOR, [0.0] * FLOATS)

        def inside(d, mask):
            return b.select(b.fcmp_ordered("!=", load(b, mask, VECTOR), zero), d, zero)

        d0, d1 = inside(_lanes(b, *before, even), left), _lanes(b, *before, odd)
        d2, d3 = _lanes(b, *after, even), inside(_lanes(b, *after, odd), right)
        for i, y in enumerate((b.fsub(d0, d2), b.fadd(d1, d2), b.fsub(d2, d1), b.fsub(d1, d3))):
            store(b, y, element(b, target, integer(i), plane))

    return procedure(emit, 5)


@intrinsic
def _rows(typing, even, odd, plane, row, target, step):
    """B^T (d B) for FLOATS tiles: 16 vectors, to target + e * step, from rows of even and odd number."""

    def emit(b, even, odd, plane, row, target, step):
        for column in range(4):
            e, o = (element(b, base, integer(column), plane) for base in (even, odd))
            r0, r1 = load(b, b.sub(o, row), VECTOR), load(b, e, VECTOR)
            r2, r3 = load(b, o, VECTOR), load(b, b.add(e, row), VECTOR)
            for i, y in enumerate((b.fsub(r0, r2), b.fadd(r1, r2), b.fsub(r2, r1), b.fsub(r1, r3))):
                store(b, y, element(b, target, integer(4 * i + column), step))

    return procedure(emit, 6)


@intrinsic
def _outputs(typing, m, step, bias, even, odd):
    """A^T m A + bias for FLOATS tiles: 2 FLOATS pixels of the even row and 2 FLOATS of the odd one."""

    def emit(b, m, step, bias, even, odd):
        rows = [[], []]
        for column in range(4):
            m0, m1, m2, m3 = (load(b, element(b, m, integer(4 * i + column), step), VECTOR) for i in range(4))
            rows[0].append(b.fadd(b.fadd(m0, m1), m2))
            rows[1].append(b.fsub(b.fsub(m1, m2), m3))
        shift = broadcast(b, load(b, bias, F32), FLOATS)
        for row, target in zip(rows, (even, odd), strict=True):
            left = b.fadd(shift, b.fadd(b.fadd(row[0], row[1]), row[2]))
            right = b.fadd(shift, b.fsub(b.fsub(row[1], row[2]), row[3]))
            for half in range(2):
                lanes = [lane for i in range(FLOATS // 2) for lane in (i + half * FLOATS // 2,
                                                                       i + half * FLOATS // 2 + FLOATS)]
                store(b, _lanes(b, left, right, lanes), b.add(target, integer(4 * FLOATS * half)))

    return procedure(emit, 5)


@inner
def _split(image, height, width, even, odd):
    """Copy the even rows end to end, and the odd rows."""
    for i in range(height):
        here, there = image + 4 * i * width, (odd if i % 2 else even) + 4 * (i // 2) * width
        for j in range(0, width, FLOATS):  # beyond a row it writes 0, which the next one overwrites
            _copy(here + 4 * j, there + 4 * j, width - j)


@inner
def _join(pixels, first, count, width, out, parity):
    """Undo `_split` for `count` pixels, of which the first is number `first` of its parity."""
    done = 0
    while done < count:
        row, column = (first + done) // width, (first + done) % width
        length = min(width - column, count - done)
        target = out + 4 * ((2 * row + parity) * width + column)
        for j in range(0, length, FLOATS):
            _copy_exactly(pixels + 4 * (done + j), target + 4 * j, length - j)
        done += length


class Tiles(NamedTuple):
    """The transformed tiles of a bundle of images, V; and memory to make them in."""

    blocks: int  # vectors of FLOATS tiles in an image
    element: int  # bytes from one element of the transformed tiles to the next
    panel: int  # bytes from one panel, of COLUMNS tiles, to the next
    v: np.ndarray  # V[panel, element, channel, tile]
    line: np.ndarray  # the rows of each parity, end to end
    columns: np.ndarray  # d B, four planes for each parity
    plane: int  # bytes of one of these planes
    margin: int  # bytes of zeros before each


@inner
def _tiles(channels, height, width, per_bundle):
    half = width // 2
    blocks = ceil_div(height // 2 * half, FLOATS)
    element = 4 * COLUMNS * channels + LINE
    return Tiles(
        blocks, element, ELEMENTS * element,
        np.zeros(ceil_div(per_bundle * blocks, VECTORS) * ELEMENTS * element // 4 + SLACK, np.float32),
        np.zeros((2, 2 * FLOATS * (blocks + 2)), np.float32),
        np.zeros((2, 4 * (2 * half + FLOATS * (blocks + 1))), np.float32),
        4 * (2 * half + FLOATS * (blocks + 1)), 4 * half)  # fmt: skip


@inner
def _transform(tiles, x, first, count, left, right):
    """V = B^T d B of `count` images."""
    channels, height, width = x.shape[1], x.shape[2], x.shape[3]
    even = tiles.line.ctypes.data + 4 * FLOATS
    odd = even + tiles.line.strides[0]
    d_even, d_odd = tiles.columns.ctypes.data + tiles.margin, tiles.columns[1].ctypes.data + tiles.margin
    for n in range(count):
        for channel in range(channels):
            _split(x.ctypes.data + 4 * ((first + n) * channels + channel) * height * width, height, width, even, odd)
            for block in range(tiles.blocks):
                t = FLOATS * block
                edges = left.ctypes.data + 4 * t, right.ctypes.data + 4 * t
                _columns(even + 8 * t, d_even + 4 * t, tiles.plane, *edges)
                _columns(odd + 8 * t, d_odd + 4 * t, tiles.plane, *edges)
            for block in range(tiles.blocks):
                t, number = FLOATS * block, n * tiles.blocks + block
                target = 4 * (COLUMNS * channel + number % VECTORS * FLOATS)
                target += aligned(tiles.v) + number // VECTORS * tiles.panel
                _rows(d_even + 4 * t, d_odd + 4 * t, tiles.plane, 2 * width, target, tiles.element)


@inner
def _convolve_work(x, u, bias, left, right, out, per_bundle):
    """Nanoseconds, or -1 if the arrays do not fit one another."""
    images, channels, height, width = x.shape
    rows = u.shape[1]
    if (u.shape[0] != ELEMENTS or u.shape[2] != channels or bias.size not in (0, rows) or height % 2 or width % 2
            or out.shape != (images, rows, height, width)):
        return -1
    return int(x.size * rows * COST)


@kernel(x=READ.of(axes=4), u=READ.of(axes=3), bias=OPTIONAL, left=READ, right=READ, out=WRITE.of(axes=4),
        work=_convolve_work)
def _convolve(x, u, bias, left, right, out, per_bundle, task, tasks):
    """out[n, i] = bias[i] + sum_j w[i, j] * x[n, j], with u the transformed w."""
    images, channels, height, width = x.shape
    rows, half = out.shape[1], width // 2
    tiles = _tiles(channels, height, width, per_bundle)
    blocks, last = tiles.blocks, height // 2 * half
    m, pixels = np.empty(ELEMENTS * ROWS * COLUMNS + SLACK, np.float32), np.empty(4 * FLOATS + SLACK, np.float32)
    zero = np.zeros(COLUMNS, np.float32)
    r, c = 4 * channels * np.minimum(np.arange(rows + ROWS), rows - 1), 4 * np.arange(channels)
    m_step, bundles = 4 * ROWS * COLUMNS, ceil_div(images, per_bundle)
    for bundle in range(task * bundles // tasks, (task + 1) * bundles // tasks):
        first = bundle * per_bundle
        count = min(per_bundle, images - first)
        v_at, m_at, pixels_at = aligned(tiles.v), aligned(m), aligned(pixels)
        _transform(tiles, x, first, count, left, right)
        for panel in range(ceil_div(count * blocks, VECTORS)):
            i = 0
            while i < rows:
                tall = height_of(rows - i)
                left_over = min(rows - i, tall)
                for e in range(ELEMENTS):
                    a = u.ctypes.data + 4 * e * rows * channels, r.ctypes.data + 8 * i, c.ctypes.data
                    b = v_at + panel * tiles.panel + e * tiles.element, 4 * COLUMNS
                    tile = (channels, *a, *b, zero.ctypes.data, 0, m_at + e * m_step, 4 * COLUMNS, left_over, COLUMNS)
                    if tall == LOW:
                        _low_tile(*tile)
                    else:
                        _tile(*tile)
                for j in range(VECTORS):
                    number = panel * VECTORS + j
                    n, t = number // blocks, number % blocks * FLOATS
                    if n < count:
                        for k in range(left_over):
                            target = out.ctypes.data + 4 * ((first + n) * rows + i + k) * height * width
                            shift = bias.ctypes.data + 4 * (i + k) if bias.size else zero.ctypes.data
                            here = m_at + 4 * (COLUMNS * k + FLOATS * j), m_step, shift
                            if half % FLOATS == 0:  # the tiles are in one row
                                there = target + 4 * (2 * (t // half) * width + 2 * (t % half))
                                _outputs(*here, there, there + 4 * width)
                            else:
                                _outputs(*here, pixels_at, pixels_at + 8 * FLOATS)
                                size = 2 * min(FLOATS, last - t)
                                _join(pixels_at, 2 * t, size, width, target, 0)
                                _join(pixels_at + 8 * FLOATS, 2 * t, size, width, target, 1)
                i += tall


@kernel(w=READ.of(axes=4), u=WRITE.of(axes=3), cost=WEIGHT_COST)
def _transform_weights(w, rotated, u, task, tasks):
    """u[4 a + b, i, j] = (G w[i, j] G^T)[a, b]; if rotated, of the weights of the input gradient: w[j, i] rotated."""
    rows, channels = u.shape[1], u.shape[2]
    t = np.empty((4, 3), np.float32)
    for i in range(task * rows // tasks, (task + 1) * rows // tasks):
        for j in range(channels):
            for b in range(3):
                w0, w1, w2 = (w[j, i, 2, 2 - b], w[j, i, 1, 2 - b], w[j, i, 0, 2 - b]) if rotated else (
                    w[i, j, 0, b], w[i, j, 1, b], w[i, j, 2, b])  # fmt: skip
                half = np.float32(0.5) * (w0 + w2)
                t[0, b], t[1, b], t[2, b], t[3, b] = (
                    w0, half + np.float32(0.5) * w1, half - np.float32(0.5) * w1, w2)  # fmt: skip
            for a in range(4):
                half, other = np.float32(0.5) * (t[a, 0] + t[a, 2]), np.float32(0.5) * t[a, 1]
                u[4 * a, i, j], u[4 * a + 1, i, j] = t[a, 0], half + other
                u[4 * a + 2, i, j], u[4 * a + 3, i, j] = half - other, t[a, 2]


@lru_cache(64)
def _edges(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Masks of tiles: 0 for the first of a row, else 1; and 0 for the last."""
    half = width // 2
    column = np.arange((height // 2 * half // FLOATS + 1) * FLOATS) % half
    return (column > 0).astype(np.float32), (column < half - 1).astype(np.float32)


def convolve(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None = None, rotated: bool = False) -> np.ndarray:
    """The convolution of x (batch, in, height, width) with w (out, in, 3, 3), padding 1 and stride 1.

    rotated: with w (in, out, 3, 3) instead, rotated by 180 degrees, which makes it the input gradient.
    height and width must be even.
    """
    images, channels, height, width = x.shape
    rows = w.shape[1] if rotated else w.shape[0]
    u = np.empty((ELEMENTS, rows, channels), np.float32)
    out = np.empty((images, rows, height, width), np.float32)
    _transform_weights(w, rotated, u)
    _convolve(x, u, bias, *_edges(height, width), out, _per_bundle(images, height, width))
    return out


def _per_bundle(images: int, height: int, width: int) -> int:
    """The number of images for a panel of tiles, at most a quarter of all."""
    return max(1, min(images // 4, COLUMNS // (FLOATS * -(-height * width // 4 // FLOATS))))
