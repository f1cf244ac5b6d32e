"""One piece of a matrix product, on one core: out = start + A @ B for some rows and columns of out.

Usually, k is cut into blocks. For each, panels of columns of B are packed, one after another, and every tile of rows
passes over the panel (`_tiles`). If rows of A are contiguous, tiles read them in place through offset tables (see
tiles.py); otherwise A is packed too, in panels as high as a tile.

Two kinds of products are memory-bound, and read their operands in place. If k is small, each tile of rows passes over
all columns, so that out is written row by row (also `_tiles`). If A has few rows and B's columns are contiguous, as in
few examples times the weight of a layer, rows and columns are multiplied as vectors (`_dots`).
"""

from typing import NamedTuple

import numpy as np

from .matrix import Matrix, address_of, aligned, ceil_div, pack_columns, part_of
from .simd import COLUMNS, FLOATS, ROWS, VECTORS, inner
from .tiles import LOW, copy_float, height_of, make_copy, make_dots, make_tile
from .views import STACK_BYTES, floats_at, integers_at

BLOCKS, ROW_BY_ROW, DOTS = range(3)  # the strategies
FEW_ROWS = 4 * ROWS  # for so few, packing B takes longer than it saves
_FEW_COLUMNS = 4 * COLUMNS  # likewise for packing A
_CACHED = 2**18  # elements of a strided A that are still in the L2 cache at their next use
_K_CACHED = 256  # rows of a panel of B: 32 KiB, in the L1 cache
_SHORT_SUM = 16  # the largest k for which the hardware can stream all rows of B at once
_STRIP = 8 * ROWS  # rows of A packed at a time: whole cache lines, where A is transposed
_DOTS_CACHED = 1024  # elements of a column of B multiplied at a time: a tile's columns stay in the L1 cache

_wide_tile, _low_tile, _row_tile = make_tile(ROWS, VECTORS), make_tile(LOW, VECTORS), make_tile(1, VECTORS)
_narrow_tile, _tile_of_dots = make_tile(ROWS, 1), make_dots(ROWS)
_copy_rows = make_copy(ROWS)


@inner
def pitch_of(k):
    """Bytes from one packed panel of A to the next: never a power of two, or the same k of all panels would share a set
    of cache lines."""
    return 4 * ROWS * k + 64


@inner
def _pack_line(line, step, rows, target, pitch):
    """Pack one k of A: `rows` numbers, `step` bytes apart, ROWS to each panel; panels are `pitch` bytes apart."""
    for i in range(0, rows, ROWS):
        if step == 4:
            _copy_rows(line, target, rows - i)
        else:
            for within in range(min(rows - i, ROWS)):
                copy_float(line + within * step, target + 4 * within)
        line, target = line + ROWS * step, target + pitch


@inner
def pack_rows(a, rows, k, panels):
    """panels[i // ROWS, j, i % ROWS] = a[i, j] for i < rows."""
    pitch = pitch_of(k)
    for i in range(0, rows, _STRIP):
        for j in range(k):
            line, target = address_of(a, i, j), panels + i // ROWS * pitch + 4 * ROWS * j
            _pack_line(line, a.row, min(rows - i, _STRIP), target, pitch)


@inner
def strategy_of(m, k, b):
    """How to multiply A, (m, k), by B. It depends on the whole product, not on how it is cut, since each strategy sums
    in a different order."""
    if k <= _SHORT_SUM:
        return ROW_BY_ROW
    return DOTS if m < ROWS and b.row == 4 else BLOCKS


@inner
def packs_rows(m, n, k, a):
    """Whether blocks of A are packed: if elements of a row share no cache line, unless they meet only few columns of
    B."""
    return abs(a.column) > 64 and n > (_FEW_COLUMNS if m * k <= _CACHED else COLUMNS)


class _Scratch(NamedTuple):
    """A task's memory: A's offset tables, a block of A, panels of B, which block of A is held, and zeros for a tile to
    start from."""

    r: np.ndarray
    c: np.ndarray
    a: np.ndarray
    b: np.ndarray
    held: np.ndarray
    zeros: np.ndarray


@inner
def scratch_for(strategy, m, n, k, a, b, packs, stack):
    """Scratch for pieces of (m, n), in the kernel's `stack_buffer` if that is large enough."""
    if strategy == BLOCKS:
        depth = _step(k, _K_CACHED, FLOATS)
        a_size, b_size = m // ROWS * pitch_of(depth) // 4 + 16 if packs else 0, depth * COLUMNS
    elif strategy == ROW_BY_ROW:
        depth = k
        a_size, b_size = 0, depth * (COLUMNS if b.column == 4 else ceil_div(n, COLUMNS) * COLUMNS)
    else:
        depth = min(k, _DOTS_CACHED)
        a_size, b_size = 0 if a.column == 4 else m * depth + 16, 0
    count, size = 3 + m + ROWS + depth, a_size + b_size + COLUMNS + 16
    if 8 * count + 4 * size <= STACK_BYTES:
        numbers, panels = integers_at(stack, count), floats_at(stack + 8 * count, size)
    else:
        numbers, panels = np.empty(count, np.int64), np.empty(size, np.float32)
    held, r, c = numbers[:3], numbers[3 : 3 + m + ROWS], numbers[3 + m + ROWS :]
    panels[-COLUMNS:], held[:] = 0, 0
    return _Scratch(r, c, panels[:a_size], panels[a_size:], held, panels[-COLUMNS:])


@inner
def _step(n, largest, multiple):
    """The size of blocks, a multiple of `multiple`, that cut n into equal parts of at most `largest`."""
    return max(1, ceil_div(n, max(1, ceil_div(n, largest)) * multiple)) * multiple


@inner
def do_piece(strategy, m, n, k, a, b, start, out, packs, scratch):
    """out = start + a @ b, with a of (m, k) and b of (k, n)."""
    if strategy == DOTS:
        _dots(m, n, k, a, b, start, out, scratch)
    else:
        _tiles(strategy == ROW_BY_ROW, m, n, k, a, b, start, out, packs, scratch)


@inner
def _hold_rows(a, rows, k, packs, scratch):
    """Prepare a block of A for tiles, in place or packed, and its offset tables in scratch; returns its address."""
    r, c, panels = scratch.r, scratch.c, aligned(scratch.a)
    held = Matrix(panels, 4, 4 * ROWS) if packs else a
    block = scratch.held
    if block[0] != a.address or block[1] != rows or block[2] != k:
        block[0], block[1], block[2] = a.address, rows, k
        if packs:
            pack_rows(a, rows, k, panels)
        for i in range(rows):
            r[i] = i // ROWS * pitch_of(k) + i % ROWS * 4 if packs else i * held.row
        r[rows : rows + ROWS] = r[rows - 1]
        for j in range(k):
            c[j] = j * held.column
    return held.address


@inner
def _tiles(row_by_row, m, n, k, a, b, start, out, packs, scratch):
    """Tile by tile: all rows for each panel of B or, if `row_by_row`, all columns for each tile of rows."""
    r, c, panels = scratch.r, scratch.c, aligned(scratch.b)
    for k0 in range(0, max(k, 1), max(c.size, 1)):  # once even if k is 0: the sum of no products is start
        depth, begin, i, n0 = min(c.size, k - k0), start if k0 == 0 else out, 0, 0
        held = _hold_rows(part_of(a, 0, k0), m, depth, packs, scratch)
        while i < m and n0 < n:
            left, columns, panel = m - i, n - n0, part_of(b, k0, n0)
            if columns < COLUMNS or b.column != 4 or (not row_by_row and m > FEW_ROWS):
                packed = panels + 4 * depth * n0 if row_by_row and b.column != 4 else panels
                if i == 0:
                    pack_columns(panel, depth, columns, packed)
                panel = Matrix(packed, 4 * COLUMNS, 4)
            offsets = held, r.ctypes.data + 8 * i, c.ctypes.data
            sums = address_of(begin, i, n0), begin.row, address_of(out, i, n0), out.row
            tile, height = (depth, *offsets, panel.address, panel.row, *sums, left, columns), ROWS
            if columns <= FLOATS:
                _narrow_tile(*tile)
            elif left == 1:
                _row_tile(*tile)
            elif left <= LOW or (not row_by_row and height_of(left) == LOW):
                _low_tile(*tile)
                height = min(left, LOW)
            else:
                _wide_tile(*tile)
            if row_by_row:  # the narrow tile that ends a row is as high as the wide ones, except at the bottom
                n0 += COLUMNS
                if n0 >= n:
                    i, n0 = i + height, 0
            else:
                i += height
                if i >= m:
                    i, n0 = 0, n0 + COLUMNS


@inner
def _dots(m, n, k, a, b, start, out, scratch):
    """Multiply some columns of B at a time, as the rows of a tile, by every row of A."""
    r, c, copies = scratch.r, scratch.c, aligned(scratch.a)
    for k0 in range(0, k, _DOTS_CACHED):
        depth = min(_DOTS_CACHED, k - k0)
        begin, rows = start if k0 == 0 else out, part_of(a, 0, k0)
        for j in range(0, depth, FLOATS):
            c[j] = 4 * j
        if a.column != 4:
            rows = Matrix(copies, 4 * depth, 4)
            for i in range(m):
                for j in range(depth):
                    copy_float(address_of(a, i, k0 + j), address_of(rows, i, j))
        for n0 in range(0, n, ROWS):
            for j in range(ROWS):
                r[j] = min(j, n - n0 - 1) * b.column
            for i in range(m):
                _tile_of_dots(depth, address_of(b, k0, n0), r.ctypes.data, c.ctypes.data, address_of(rows, i, 0),
                              address_of(begin, i, n0), address_of(out, i, n0), n - n0)
