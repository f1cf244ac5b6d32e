"""Matrix products of float32 arrays, on all cores.

What is computed is one line, `matmul_reference`. How, from the outside in: the outputs are cut into pieces, a block of
rows that stays in the cache by a panel of columns as wide as a tile. Each task does those of its own part of the
matrix, and then helps out where others are behind. For a piece it walks through k in blocks. For each it packs B, so
that the numbers of one k lie together and those of the next k follow; then every tile of rows goes over the panel. A
needs no packing where the numbers of a row lie together, since tiles read it in place through offset tables (see
simd.py); otherwise it is packed too, in panels as high as a tile.
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import types

from ..dtypes import FLOAT32
from ..memory import empty
from . import threads
from .simd import (
    COLUMNS,
    FLOATS,
    ROWS,
    VECTORS,
    copy_float,
    data_of,
    fetch,
    floats_at,
    floats_of,
    inner,
    integer_at,
    is_array,
    is_contiguous,
    is_row_by_row,
    kernel,
    make_copy,
    make_gated_copy,
    make_strip_copy,
    make_tile,
    ndim_of,
    size_of,
    stride_of,
    transpose,
)
from .tasks import address_of, packed
from .threads import LINE, region, take

_ROWS_CACHED, _K_CACHED = 512, 512  # a block of A is 1 MiB, for the second-level cache; a panel of B is 64 KiB
_GRAIN = 100_000  # multiplications that are worth a task of their own: 1 to 2 us, which is what it takes to start it
_PACKING = 4  # multiplications in the time that it takes to pack a number
_FEW_ROWS, _FEW_COLUMNS = 4 * ROWS, 4 * COLUMNS  # for so few, packing the other operand takes longer than it saves
_SUMMED = 32  # rows of a column added up in float32; more of them in float64
_HALVED = 8 * ROWS  # a piece of more rows than these is worth cutting in two
_STRIP = 8 * ROWS  # rows of A packed at a time: whole cache lines, where A is transposed
_AHEAD = 8  # k between the line being packed and the one being fetched

_LOW = 4  # rows of a tile for the end of a matrix: 8 rows are two of these, where a tile of 6 and one of 2 cost 12
_wide_tile, _low_tile, _row_tile = make_tile(ROWS, VECTORS), make_tile(_LOW, VECTORS), make_tile(1, VECTORS)
_narrow_tile = make_tile(ROWS, 1)
_copy_columns, _copy_rows = make_copy(COLUMNS), make_copy(ROWS)
_copy_gated_rows, _copy_gated = make_gated_copy(ROWS), make_gated_copy(FLOATS)
_copy_strip, _copy_gated_strip = (make_strip_copy(ROWS, _STRIP // ROWS, gated) for gated in (False, True))

_ZERO = np.zeros(COLUMNS, np.float32)[:1]  # broadcasts to any shape; a tile reads as many zeros as it is wide


def matmul_reference(a: np.ndarray, b: np.ndarray, start: np.ndarray | float = 0.0) -> np.ndarray:
    """What `product` and `matmul` compute."""
    return start + np.matmul(a, b)


def matmul(
    a: np.ndarray,
    b: np.ndarray,
    out: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    accumulate: bool = False,
) -> np.ndarray:
    """Matrix product of float32 arrays, with NumPy's broadcasting of batch axes, plus a bias: a @ b + bias.

    a is (..., m, k) and b is (..., k, n), of any strides; bias is (n,). With out, (..., m, n), the result is written
    there, or with accumulate added to what is there; out must not overlap a or b.

    Raises TypeError if an array is not of float32, and ValueError if shapes do not fit.
    """
    for name, x in ("a", a), ("b", b), ("out", out), ("bias", bias):
        if x is not None and x.dtype is not FLOAT32 and x.dtype != FLOAT32:
            raise TypeError(f"matmul: {name} has dtype {x.dtype}, but this kernel is for float32; cast it first")
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-2]:
        raise ValueError(
            f"matmul: shapes {a.shape} and {b.shape} do not fit; both need two axes or more, "
            "and the last axis of the first must be as long as the last but one of the second"
        )
    batch = a.shape[:-2]
    if batch != b.shape[:-2]:
        try:
            batch = np.broadcast_shapes(batch, b.shape[:-2])
        except ValueError:
            raise ValueError(f"matmul: batch axes of {a.shape} and {b.shape} do not broadcast") from None
    shape = (*batch, a.shape[-2], b.shape[-1])
    if bias is not None and (accumulate or bias.shape != shape[-1:]):
        raise ValueError(
            f"matmul: a bias is a vector along the last axis, {shape[-1:]}, and excludes accumulate; got {bias.shape}"
        )
    if out is None:
        if accumulate:
            raise ValueError("matmul: accumulate needs an out to add to")
        out = empty(shape)
    elif out.shape != shape:
        raise ValueError(f"matmul: out has shape {out.shape}, but the product of {a.shape} and {b.shape} is {shape}")
    elif not out.flags.writeable:
        raise ValueError("matmul: out is read-only; give a writable array, or none to get a new one")
    elif shape[-1] > 1 and out.strides[-1] != 4:
        result = matmul(a, b, bias=bias)
        np.add(out, result, out=out) if accumulate else np.copyto(out, result)
        return out
    start = out if accumulate else None if bias is None else np.ascontiguousarray(bias)
    return product(a, b, out, start)


Call = tuple  # work for `run`: bytes, the numbers that say what to do; then the arrays they are about, kept alive so


def product(a: np.ndarray, b: np.ndarray, out: np.ndarray, *options, **more_options) -> np.ndarray:
    """out = start + a @ b, done at once; see `product_call`."""
    run(product_call(a, b, out, *options, **more_options))
    return out


def product_call(
    a: np.ndarray,
    b: np.ndarray,
    out: np.ndarray,
    start: np.ndarray | None = None,
    turned: bool = False,
    rectify: bool = False,
    more: tuple[np.ndarray, np.ndarray] | None = None,
) -> Call:
    """out = start + a @ b, or its positive part if told to rectify; given more = (skip, total), total = skip + out too.

    a, b and out are as in `matmul`, all of float32; the numbers of a row of out lie together. So do those of start,
    which broadcasts to out: a bias (n,), or out itself to accumulate. So do those of skip and total, of out's shape.
    Turned: b is given as its transpose, (..., n, k).
    """
    start = _ZERO if start is None else start
    skip, total = (id(more[0]), id(more[1])) if more else (0, 0)
    return _pack(id(a), id(b), id(out), id(start), turned, rectify, skip, total, 0, 0, 0, 0, 0), a, b, out, start, more


def linear_vjp_reference(g, y, x, weight, start=0.0):
    """What `linear_vjp_call` asks for."""
    kept = g if y is None else np.where(y <= 0, 0, g)
    return start + kept @ weight, kept.T @ x, kept.sum(0)


def linear_vjp_call(
    g: np.ndarray,
    y: np.ndarray | None,
    x: np.ndarray,
    weight: np.ndarray,
    wanted: Sequence[bool],
    start: np.ndarray | None = None,
    dx: np.ndarray | None = None,
) -> tuple[list[np.ndarray | None], Call]:
    """Cotangents of x, weight and bias in y = x @ weight.T + bias, from that of y, g; or in its positive part.

    x (m, in) and weight (out, in), of any strides; g (m, out), contiguous; all of float32. y (m, out), contiguous, is
    the positive part: of g, what meets a y <= 0 does not count. y None: no positive part was taken. wanted: which of
    the three to compute; the others are None. start: what the cotangent of x is added to. dx: where to write it; it may
    be start.

    All is done in one parallel region, and g is gated while it is packed, so that no gated g is written.
    """
    dx = None if not wanted[0] else empty(x.shape) if dx is None else dx
    dw = empty(weight.shape) if wanted[1] else None
    db = np.empty(weight.shape[0], np.float32) if wanted[2] else None
    start = _ZERO if start is None else start
    numbers = _pack(
        id(g), id(weight), id(dx) if wanted[0] else 0, id(start), 0, 0, 0, 0,
        id(x), id(dw) if wanted[1] else 0, 0 if y is None else id(y), id(db) if wanted[2] else 0, id(_ZERO),
    )  # fmt: skip
    return [dx, dw, db], (numbers, g, y, x, weight, start, dx, dw, db)


class _Matrix(NamedTuple):
    """A matrix in memory: number [i, j] is at address + i * row + j * column."""

    address: int
    row: int
    column: int


class _Scratch(NamedTuple):
    """Memory of one task: offset tables of A, a block of A and a panel of B, and of which block and panel they are."""

    r: np.ndarray
    c: np.ndarray
    a: np.ndarray
    b: np.ndarray
    held: np.ndarray


@inner
def _at(x, i, j):
    return x.address + i * x.row + j * x.column


@inner
def _from(x, i, j):
    """The matrix x[i:, j:]."""
    return _Matrix(_at(x, i, j), x.row, x.column)


@inner
def _size(x, axis):
    """Length of an axis counted from the last, 1 being the last; an axis that the array does not have broadcasts."""
    return size_of(x, ndim_of(x) - axis) if axis <= ndim_of(x) else 1


@inner
def _stride(x, axis):
    return stride_of(x, ndim_of(x) - axis) if _size(x, axis) > 1 else 0


@inner
def _fits(x, sample, exact, rows, columns, out, broadcasts):
    """Whether x is the id of an array (..., rows, columns), of which axes before these broadcast to those of out, and
    if x `broadcasts` its rows and columns too."""
    if not is_array(x, sample, exact) or ndim_of(x) > max(2, ndim_of(out)):
        return False
    for axis in range(1, ndim_of(out) + 1):
        size = _size(x, axis)
        wanted = columns if axis == 1 else rows if axis == 2 else _size(out, axis)
        if size != wanted and (size != 1 or (axis <= 2 and not broadcasts)):
            return False
    return True


@inner
def _matrix(x, index, out, turned=False):
    """The matrix of the array x that belongs to matrix number `index` of the array out, to which x broadcasts.

    Turned: its transpose.
    """
    address = data_of(x)
    for axis in range(3, ndim_of(out) + 1):
        address += index % _size(out, axis) * _stride(x, axis)
        index //= _size(out, axis)
    row, column = _stride(x, 2), _stride(x, 1)
    return _Matrix(address, column, row) if turned else _Matrix(address, row, column)


@inner
def _aligned(buffer):
    """First address of a cache line in a buffer with room for it: vectors that lie across two lines load slowly.

    The buffer lives until the last line that names it. So an address is taken in the loop that uses it, not before.
    """
    return (buffer.ctypes.data + 63) & ~63


@inner
def _other(held, first, address, m, n):
    """Whether this matrix is another than is held, by the three numbers from the first on; from now on, it is."""
    other = held[first] != address or held[first + 1] != m or held[first + 2] != n
    held[first], held[first + 1], held[first + 2] = address, m, n
    return other


@inner
def _ceil(n, divisor):
    return -(-n // divisor)


@inner
def _step(n, largest, multiple):
    """Size of blocks, a multiple of something, that cut n into equal parts no larger than the largest."""
    return max(1, _ceil(n, max(1, _ceil(n, largest)) * multiple)) * multiple


@inner
def _pack_columns(b, k, columns, panel):
    """panel[i, j] = b[i, j] for j < columns; what the rest of the COLUMNS contain does not matter."""
    if b.column == 4:
        for i in range(k):
            _copy_columns(_at(b, i, 0), panel + 4 * COLUMNS * i, columns)
    elif b.row == 4 and k >= FLOATS:
        for j in range(0, min(columns, COLUMNS), FLOATS):
            for first in range(0, k, FLOATS):
                i = min(first, k - FLOATS)  # the last block overlaps the one before
                transpose(_at(b, i, j), b.column, panel + 4 * (COLUMNS * i + j), 4 * COLUMNS, columns - j)
    else:
        for i in range(k):
            for j in range(COLUMNS):
                copy_float(_at(b, i, min(j, columns - 1)), panel + 4 * (COLUMNS * i + j))


@inner
def _fetch_columns(b, k, part, parts):
    """Have a share of b[:k, :COLUMNS] fetched into the cache, where its numbers lie together."""
    lines, length, step = (k, 4 * COLUMNS, b.row) if b.column == 4 else (COLUMNS, 4 * k, b.column)
    if b.column == 4 or b.row == 4:
        for line in range(part * lines // parts, (part + 1) * lines // parts):
            # From the end of a cache line on: its beginning may belong to the panel before, which was fetched already.
            for byte in range(min(60, length - 4), length, 64):
                fetch(b.address + line * step + byte)


@inner
def _pitch(k):
    """Bytes from one packed panel of A to the next: not a power of two, or one k of all would share a set of cache
    lines; and room for what a strip's copy writes past the end."""
    return 4 * ROWS * k + 64


@inner
def _pack_line(line, step, rows, target, pitch, gate):
    """One k of some panels of A: rows numbers, `step` bytes apart, to ROWS of each panel, `pitch` bytes apart."""
    for i in range(0, rows, ROWS):
        if gate:
            _copy_gated_rows(line, line + gate, target, rows - i)
        elif step == 4:
            _copy_rows(line, target, rows - i)
        else:
            for within in range(min(rows - i, ROWS)):
                copy_float(line + within * step, target + 4 * within)
        line, target = line + ROWS * step, target + pitch


@inner
def _pack_rows(a, rows, k, panels, gate):
    """panels[i // ROWS, j, i % ROWS] = a[i, j] for i < rows; with a gate, where a number is positive so far behind it.

    A gate is the way in memory from a number of A to the one it depends on: A counts where that is positive. If there
    is one, the numbers of a column lie together.
    """
    pitch = _pitch(k)
    for i in range(0, rows, _STRIP):
        whole = a.row == 4 and rows - i >= _STRIP
        for j in range(k):
            line, target = _at(a, i, j), panels + i // ROWS * pitch + 4 * ROWS * j
            if whole and gate:
                _copy_gated_strip(line, gate, target, pitch, _AHEAD * a.column)
            elif whole:
                _copy_strip(line, gate, target, pitch, _AHEAD * a.column)
            else:
                _pack_line(line, a.row, min(rows - i, _STRIP), target, pitch, gate)


@inner
def _copy_open(a, rows, k, target, pitch, gate):
    """target[i, j] = a[i, j] where the gate is open, else 0, for i < rows, j < k; the rows of A and target are rows in
    memory, those of target `pitch` bytes apart, a whole number of vectors."""
    for i in range(rows):
        for j in range(0, k, FLOATS):
            source = _at(a, i, j)
            _copy_gated(source, source + gate, target + i * pitch + 4 * j, k - j)


@inner
def _packs_rows(a, n, gate):
    """Whether A is packed: if the numbers of a row share no cache line, unless only few columns of B will meet them."""
    return gate != 0 or (abs(a.column) > 64 and n > _FEW_COLUMNS)


@inner
def _hold_rows(a, rows, k, packs, gate, scratch):
    """The block of A that tiles read, in place or packed, and its offsets in the tables of scratch."""
    r, c, panels = scratch.r, scratch.c, _aligned(scratch.a)
    copies = gate and a.column == 4
    packs = packs and not copies
    held = _Matrix(panels, 4 * c.size, 4) if copies else _Matrix(panels, 4, 4 * ROWS) if packs else a
    if _other(scratch.held, 0, a.address, rows, k):
        if copies:
            _copy_open(a, rows, k, panels, held.row, gate)
        elif packs:
            _pack_rows(a, rows, k, panels, gate)
        for i in range(rows):
            r[i] = i // ROWS * _pitch(k) + i % ROWS * 4 if packs else i * held.row
        r[rows : rows + ROWS] = r[rows - 1]
        for j in range(k):
            c[j] = j * held.column
    return held.address


@inner
def _block(m, i0, i1, n, k, a, b, start, out, rectify, packs, gate, scratch):
    """out = start + a @ b on one core, with a of (m, k) and b of (k, n), but of its rows only i0 to i1."""
    r, c, b_panel = scratch.r, scratch.c, _aligned(scratch.b)
    for k0 in range(0, max(k, 1), c.size):  # once even if k is 0: the sum of nothing is start
        depth = min(c.size, k - k0)
        begin, last = start if k0 == 0 else out, rectify if k0 + depth >= k else 0
        held = _hold_rows(_from(a, 0, k0), m, depth, packs, gate, scratch)
        for n0 in range(0, n, COLUMNS):
            columns, panel = n - n0, _from(b, k0, n0)
            if i1 - i0 > _FEW_ROWS or columns < COLUMNS or b.column != 4:
                if _other(scratch.held, 3, panel.address, depth, columns):
                    _pack_columns(panel, depth, columns, b_panel)
                panel = _Matrix(b_panel, 4 * COLUMNS, 4)
            i, part, parts = i0, 0, _ceil(i1 - i0, ROWS)
            while i < i1:
                # Lines of the next panel lie apart: the machine does not fetch them by itself before they are packed.
                _fetch_columns(_from(b, k0, n0 + COLUMNS), depth, part, parts)
                part += 1
                offsets = held, r.ctypes.data + 8 * i, c.ctypes.data
                rows_in_memory = panel.address, panel.row, _at(begin, i, n0), begin.row, _at(out, i, n0), out.row
                left = i1 - i
                tile = (depth, *offsets, *rows_in_memory, left, columns, last)
                if columns <= FLOATS:
                    _narrow_tile(*tile)
                    i += ROWS
                elif left == 1:
                    _row_tile(*tile)
                    i += 1
                elif left <= _LOW or ROWS < left <= 2 * _LOW:
                    _low_tile(*tile)
                    i += _LOW
                else:
                    _wide_tile(*tile)
                    i += ROWS


@inner
def _add(m, n, x, y, out):
    """out = x + y, matrices of (m, n) whose rows are rows in memory."""
    for i in range(m):
        x_i, y_i, out_i = floats_at(_at(x, i, 0), n), floats_at(_at(y, i, 0), n), floats_at(_at(out, i, 0), n)
        for j in range(n):
            out_i[j] = x_i[j] + y_i[j]


@inner
def _cut(m, n, k, batch, tasks, packs, alone):
    """Into how many blocks of rows to cut each matrix of a batch, each of these into how many of columns, and each of
    those once more by rows.

    First so that the largest of as few parts as tasks can share takes the least. Then into smaller pieces, so that
    tasks end together; unless each would have to pack A again, or another product follows that will even it out.
    """
    parts = 1
    while batch < 8 * tasks and batch * parts % tasks != 0:
        parts += 1
    by_rows, least = 1, 2**62
    for count in range(1, parts + 1):
        if parts % count == 0:
            rows = _ceil(m, ROWS * count) * ROWS
            columns = _ceil(n, COLUMNS * (parts // count)) * COLUMNS
            time = rows * columns + _PACKING * (columns + (rows if packs else 0))
            if time < least:
                by_rows, least = count, time
    by_columns, halves = parts // by_rows, 1
    by_rows *= max(1, _ceil(m, by_rows * _ROWS_CACHED))
    if tasks > 1 and (not packs or (k <= _K_CACHED and alone)):
        by_columns = _ceil(n, COLUMNS)
        if batch * by_rows * by_columns < 16 * tasks and m > by_rows * _HALVED:
            halves = 2  # the second finds its panel of B packed, if one task takes both
    return by_rows, by_columns, halves


@inner
def _scratch(m, k, packs):
    """Scratch for blocks of A of (m, k), as two pieces of memory: to ask for five takes as long as a small tile."""
    a_size = m // ROWS * _pitch(k) // 4 + 16 if packs else 0
    numbers, panels = np.empty(6 + m + ROWS + k, np.int64), np.empty(a_size + k * COLUMNS + 16, np.float32)
    held, r, c = numbers[:6], numbers[6 : 6 + m + ROWS], numbers[6 + m + ROWS :]
    held[:] = 0
    return _Scratch(r, c, panels[:a_size], panels[a_size:], held)


@inner
def _task(task, tasks, a, a_turned, b, b_turned, out, start, rectify, gate, skip, total, counts, alone):
    """One task's share of out = start + a @ b, in pieces that it takes by the counts; a and b may be transposes."""
    m, n, k, batch = _size(out, 2), _size(out, 1), _size(a, 2 if a_turned else 1), 1
    for axis in range(3, ndim_of(out) + 1):
        batch *= _size(out, axis)
    packs = _packs_rows(_matrix(a, 0, out, a_turned), n, gate)
    by_rows, by_columns, halves = _cut(m, n, k, batch, tasks, packs, alone)
    m_tiles, n_tiles = _ceil(m, ROWS), _ceil(n, COLUMNS)
    m_step, k_step = max(1, _ceil(m_tiles, by_rows)) * ROWS, _step(k, _K_CACHED, FLOATS)
    scratch = _scratch(m_step, k_step, packs)
    pieces = batch * by_rows * by_columns * halves
    number = take(counts, task, tasks, pieces)
    while number >= 0:
        half, piece = number % halves, number // halves
        j, piece = piece % by_columns, piece // by_columns
        i, index = piece % by_rows, piece // by_rows
        m0, m1 = i * m_tiles // by_rows * ROWS, min(m, (i + 1) * m_tiles // by_rows * ROWS)
        n0, n1 = j * n_tiles // by_columns * COLUMNS, min(n, (j + 1) * n_tiles // by_columns * COLUMNS)
        middle = _ceil(m1 - m0, 2 * ROWS) * ROWS
        i0, i1 = middle if half == 1 else 0, middle if half < halves - 1 else m1 - m0
        if i1 > i0 and n1 > n0:
            rows = _from(_matrix(a, index, out, a_turned), m0, 0)
            columns = _from(_matrix(b, index, out, b_turned), 0, n0)
            first, target = _from(_matrix(start, index, out), m0, n0), _from(_matrix(out, index, out), m0, n0)
            _block(m1 - m0, i0, i1, n1 - n0, k, rows, columns, first, target, rectify, packs, gate, scratch)
            if skip:  # while this part of out is near
                skipped = _from(_matrix(skip, index, out), m0 + i0, n0)
                sums = _from(_matrix(total, index, out), m0 + i0, n0)
                _add(i1 - i0, n1 - n0, skipped, _from(target, i0, 0), sums)
        number = take(counts, task, tasks, pieces)


@inner
def _sum_columns(g, y, out, task, tasks):
    """A share of out[j] = sum_i g[i, j], or, if there is a y, the sum of those without y[i, j] <= 0."""
    total = floats_of(out)
    g, y = floats_of(g), floats_of(y if y else g)
    gated = y.ctypes.data != g.ctypes.data
    n, first, last = total.size, task * total.size // tasks, (task + 1) * total.size // tasks
    m = g.size // n if n else 0
    whole, partial = np.zeros(last - first), np.empty(last - first, np.float32)
    for i0 in range(0, m, _SUMMED):
        partial[:] = 0
        for i in range(i0, min(i0 + _SUMMED, m)):
            g_i, y_i = g[i * n + first : i * n + last], y[i * n + first : i * n + last]
            if gated:
                for j in range(partial.size):
                    partial[j] += np.float32(0) if y_i[j] <= np.float32(0) else g_i[j]
            else:
                for j in range(partial.size):
                    partial[j] += g_i[j]
        for j in range(partial.size):
            whole[j] += partial[j]
    for j in range(partial.size):
        total[first + j] = whole[j]


_FIELDS = struct.Struct("13q")  # a, b, out, start, turned, rectify, skip, total, x, dw, y, db, zero: ids and flags
_pack, _BYTES = _FIELDS.pack, _FIELDS.size


@kernel()
def _share(call, counts, task, tasks):
    """One task's share of a Call, given the address of its numbers. No part waits for what another task does."""
    a, b, out, start = integer_at(call, 0), integer_at(call, 1), integer_at(call, 2), integer_at(call, 3)
    turned, rectify, skip, total = integer_at(call, 4), integer_at(call, 5), integer_at(call, 6), integer_at(call, 7)
    x, dw, y, db, zero = (
        integer_at(call, 8), integer_at(call, 9), integer_at(call, 10), integer_at(call, 11), integer_at(call, 12)
    )  # fmt: skip
    gate = data_of(y) - data_of(a) if y else 0
    if db:
        _sum_columns(a, y, db, task, tasks)
    for left, left_turned, right, right_turned, result, first, last, more, counted, alone in (
        (a, True, x, False, dw, zero, 0, 0, counts, not out),
        (a, False, b, turned != 0, out, start, rectify, skip, counts + LINE * tasks, True)
    ):  # fmt: skip
        if result:
            _task(task, tasks, left, left_turned, right, right_turned, result, first, last, gate, more, total,
                  counted, alone)  # fmt: skip


@inner
def _unfit(call, sample, exact):
    """Whether the arrays of a Call are not what `product_call` and `linear_vjp_call` ask for."""
    a, b, out, start = integer_at(call, 0), integer_at(call, 1), integer_at(call, 2), integer_at(call, 3)
    turned, skip, total = integer_at(call, 4), integer_at(call, 6), integer_at(call, 7)
    x, dw, y, db = integer_at(call, 8), integer_at(call, 9), integer_at(call, 10), integer_at(call, 11)
    if not is_array(a, sample, exact):
        return True
    m, k = _size(a, 2), _size(a, 1)
    if out:
        if not is_array(out, sample, exact) or not is_row_by_row(out, True):
            return True
        n = _size(out, 1)
        if not (_fits(out, sample, exact, m, n, out, False) and _fits(a, sample, exact, m, k, out, False)
                and _fits(b, sample, exact, n if turned else k, k if turned else n, out, False)
                and _fits(start, sample, exact, m, n, out, True) and is_row_by_row(start, False)
                and (start == sample or _size(start, 1) == n)):
            return True
        if skip and not (
            _fits(skip, sample, exact, m, n, out, False) and is_row_by_row(skip, False)
            and _fits(total, sample, exact, m, n, out, False) and is_row_by_row(total, True)
            and ndim_of(skip) == ndim_of(total) == ndim_of(out)
        ):
            return True
    if x:
        if not is_array(x, sample, exact):
            return True
        n = _size(x, 1)
        if not (_fits(x, sample, exact, m, n, a, False) and ndim_of(a) == 2 and is_contiguous(a)):
            return True
        if y and not (_fits(y, sample, exact, m, k, a, False) and ndim_of(y) == 2 and is_contiguous(y)):
            return True
        if dw and not (_fits(dw, sample, exact, k, n, dw, False) and is_row_by_row(dw, True)):
            return True
        if db and not (_fits(db, sample, exact, 1, k, db, False) and ndim_of(db) == 1 and is_row_by_row(db, True)):
            return True
    return False


@inner
def _multiplications(out, k):
    """In a product with out as its result."""
    for axis in range(1, ndim_of(out) + 1):
        k *= _size(out, axis)
    return k


@kernel()
def _calls(board, share, call, calls, workers, sample, exact):
    """Some Calls whose numbers follow each other, one after another, with `_share` in parallel. Returns how many were
    done: it stops at the first that does not fit."""
    counts = np.empty(2 * LINE // 8 * workers, np.int64)  # for each of two products
    for number in range(calls):
        if _unfit(call, sample, exact):
            return number
        a, out, dw = integer_at(call, 0), integer_at(call, 2), integer_at(call, 9)
        work = _multiplications(out, _size(a, 1)) if out else 0
        work += _multiplications(dw, _size(a, 2)) if dw else 0
        tasks = max(1, min(workers, work // _GRAIN))
        counts[:] = 0
        code, record = packed(share, 0, (call, counts.ctypes.data))
        region(board, code, record, tasks, tasks)
        counts[0] = 0  # they live until here
        call += _BYTES
    return calls


def run(*calls: Call, exact: int = 1) -> None:
    """Do what Calls say, one after another. Between two of them Python would take longer than it seems: its code is no
    longer in the cache after a product, and the threads would have to be called together again.

    Raises ValueError for arrays that are not what `product_call` and `linear_vjp_call` ask for. exact: take no subclass
    of arrays; it is tried first, since it is easily checked.
    """
    global _address
    numbers = b"".join([call[0] for call in calls])
    with threads.pool:
        if not _address:
            _address = address_of(_share, types.intp, types.intp)
        workers = threads.gather(sure=False) if threads.resting else threads.count
        done = _calls(threads.board, _address, id(numbers) + _CONTENT, len(calls), workers, id(_ZERO), exact)
    if done < len(calls):
        _run_rest(calls[done:], exact)


def _run_rest(calls: Sequence[Call], exact: int) -> None:
    """What is left of some Calls, of which the first does not fit."""
    arrays = [x for part in calls[0][1:] for x in (part if isinstance(part, tuple) else (part,)) if x is not None]
    if exact and all(isinstance(x, np.ndarray) for x in arrays):  # one is of a subclass, such as np.memmap
        return run(*calls, exact=0)
    raise misfit("matrix product", arrays)


def misfit(who: str, arrays: Sequence[np.ndarray]) -> ValueError:
    """The error of a kernel that reads arrays by their ids, and would have to believe what stands there."""
    given = ", ".join(f"{getattr(x, 'dtype', type(x).__name__)} {np.shape(x)}" for x in arrays)
    return ValueError(f"{who}: arrays do not fit, or are not aligned float32: {given}; if one was exchanged after "
                      "forward, such as by an assignment to a Tensor's data, run forward again")


_CONTENT = bytes.__basicsize__ - 1  # where the bytes of a bytes object begin
_address = 0
