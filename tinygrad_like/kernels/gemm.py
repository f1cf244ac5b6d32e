"""Matrix products of float32 arrays, on all cores.

What is computed is one line, `matmul_reference`. How, from the outside in: each task has a block of the outputs. It
walks through rows and k in blocks that stay in the cache, and through columns in panels as wide as a tile. For each
panel it packs B, so that the numbers of one k lie together and those of the next k follow; then every tile of rows goes
over the panel. A needs no packing where the numbers of a row lie together, since tiles read it in place through offset
tables (see simd.py); otherwise it is packed too, in panels as high as a tile.
"""

from typing import NamedTuple

import numpy as np
from numba import prange

from ..dtypes import FLOAT32
from . import threads
from .simd import (
    COLUMNS,
    FLOATS,
    ROWS,
    VECTORS,
    copy_float,
    data_of,
    inner,
    kernel,
    make_copy,
    make_tile,
    ndim_of,
    size_of,
    stride_of,
    transpose,
)

_ROWS_CACHED, _K_CACHED = 512, 512  # a block of A is 1 MiB, for the second-level cache; a panel of B is 64 KiB
_GRAIN = 100_000  # multiplications that are worth a task of their own: 1 to 2 us, which is what it takes to start it
_PACKING = 4  # multiplications in the time that it takes to pack a number
_FEW_ROWS, _FEW_COLUMNS = 4 * ROWS, 4 * COLUMNS  # for so few, packing the other operand takes longer than it saves
_STRIP = 4 * ROWS  # rows of A packed at a time: whole cache lines, where A is transposed

_wide_tile, _narrow_tile, _row_tile = make_tile(ROWS, VECTORS), make_tile(ROWS, 1), make_tile(1, VECTORS)
_copy_columns, _copy_rows = make_copy(COLUMNS), make_copy(ROWS)

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
        if x is not None and x.dtype != FLOAT32:
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
        out = np.empty(shape, np.float32)
    elif out.shape != shape:
        raise ValueError(f"matmul: out has shape {out.shape}, but the product of {a.shape} and {b.shape} is {shape}")
    elif not out.flags.writeable:
        raise ValueError("matmul: out is read-only; give a writable array, or none to get a new one")
    elif shape[-1] > 1 and out.strides[-1] != 4:
        result = matmul(a, b, bias=bias)
        np.add(out, result, out=out) if accumulate else np.copyto(out, result)
        return out
    start = out if accumulate else _ZERO if bias is None else np.ascontiguousarray(bias)
    return product(a, b, out, start)


def product(
    a: np.ndarray, b: np.ndarray, out: np.ndarray, start: np.ndarray = _ZERO, rectify: bool = False
) -> np.ndarray:
    """out = start + a @ b, or its positive part if told to rectify.

    Unchecked: for callers that know shapes and types, at 1 us more than the arithmetic.

    a, b and out are as in `matmul`, all of float32; the numbers of a row of out lie together. So do those of start,
    which broadcasts to out: a bias (n,), or out itself to accumulate. A linear layer is three products:

        product(x, w.T, y, bias)        product(g, w, x_gradient)        product(g.T, x, w_gradient)
    """
    with threads.pool:
        _product(id(a), id(b), id(out), id(start), int(rectify), threads.count)
    return out


class _Matrix(NamedTuple):
    """A matrix in memory: number [i, j] is at address + i * row + j * column."""

    address: int
    row: int
    column: int


class _Scratch(NamedTuple):
    """Memory of one task: offset tables of A, a block of A and a panel of B."""

    r: np.ndarray
    c: np.ndarray
    a: np.ndarray
    b: np.ndarray


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
def _matrix(x, index, out):
    """The matrix of the array x that belongs to matrix number `index` of the array out, to which x broadcasts."""
    address = data_of(x)
    for axis in range(3, ndim_of(out) + 1):
        address += index % _size(out, axis) * _stride(x, axis)
        index //= _size(out, axis)
    return _Matrix(address, _stride(x, 2), _stride(x, 1))


@inner
def _aligned(buffer):
    """First address of a cache line in a buffer with room for it: vectors that lie across two lines load slowly.

    The buffer lives until the last line that names it. So an address is taken in the loop that uses it, not before.
    """
    return (buffer.ctypes.data + 63) & ~63


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
def _pack_rows(a, rows, k, panels):
    """panels[i // ROWS, j, i % ROWS] = a[i, j] for i < rows."""
    for j in range(k):
        for i in range(0, rows, ROWS):
            panel_row = panels + 4 * (i * k + ROWS * j)
            if a.row == 4:
                _copy_rows(_at(a, i, j), panel_row, rows - i)
            else:
                for within in range(min(rows - i, ROWS)):
                    copy_float(_at(a, i + within, j), panel_row + 4 * within)


@inner
def _packs_rows(a, n):
    """Whether A is packed: if the numbers of a row share no cache line, unless only few columns of B will meet them."""
    return abs(a.column) > 64 and n > _FEW_COLUMNS


@inner
def _block(m, n, k, a, b, start, out, rectify, scratch):
    """out = start + a @ b on one core, with a of (m, k) and b of (k, n)."""
    r, c, a_panels, b_panel = scratch.r, scratch.c, _aligned(scratch.a), _aligned(scratch.b)
    m_step, k_step = r.size - ROWS, c.size
    for m0 in range(0, m, m_step):
        rows = min(m_step, m - m0)
        for k0 in range(0, max(k, 1), k_step):  # once even if k is 0: the sum of nothing is start
            depth = min(k_step, k - k0)
            begin, last = start if k0 == 0 else out, rectify if k0 + depth >= k else 0
            block = _from(a, m0, k0)
            if _packs_rows(a, n):
                for i in range(0, rows, _STRIP):
                    _pack_rows(_from(block, i, 0), min(_STRIP, rows - i), depth, a_panels + 4 * i * depth)
                for i in range(rows):
                    r[i] = 4 * (i // ROWS * ROWS * depth + i % ROWS)
                block = _Matrix(a_panels, 4, 4 * ROWS)
            else:
                for i in range(rows):
                    r[i] = i * block.row
            r[rows : rows + ROWS] = r[rows - 1]
            for j in range(depth):
                c[j] = j * block.column
            for n0 in range(0, n, COLUMNS):
                columns, panel = n - n0, _from(b, k0, n0)
                if rows > _FEW_ROWS or columns < COLUMNS or b.column != 4:
                    _pack_columns(panel, depth, columns, b_panel)
                    panel = _Matrix(b_panel, 4 * COLUMNS, 4)
                for i in range(0, rows, ROWS):
                    offsets = block.address, r.ctypes.data + 8 * i, c.ctypes.data
                    first, target = _at(begin, m0 + i, n0), _at(out, m0 + i, n0)
                    rows_in_memory = panel.address, panel.row, first, begin.row, target, out.row
                    tile = (depth, *offsets, *rows_in_memory, rows - i, columns, last)
                    if columns <= FLOATS:
                        _narrow_tile(*tile)
                    elif i == rows - 1:
                        _row_tile(*tile)
                    else:
                        _wide_tile(*tile)


@inner
def _cut(m, n, parts, packs_rows):
    """Into how many blocks of rows to cut, each then into blocks of columns, for the largest part to take the least."""
    best, least = 1, 2**62
    for by_rows in range(1, parts + 1):
        if parts % by_rows == 0:
            rows = _ceil(m, ROWS * by_rows) * ROWS
            columns = _ceil(n, COLUMNS * (parts // by_rows)) * COLUMNS
            time = rows * columns + _PACKING * (columns + (rows if packs_rows else 0))
            if time < least:
                best, least = by_rows, time
    return best


@inner
def _task(task, tasks, a, b, out, start, rectify):
    """One task's share: every matrix of the batch is cut into so many parts that tasks get equally many."""
    m, n, k, batch = _size(out, 2), _size(out, 1), _size(a, 1), 1
    for axis in range(3, ndim_of(out) + 1):
        batch *= _size(out, axis)
    parts = 1
    while batch < 8 * tasks and batch * parts % tasks != 0:
        parts += 1
    packs_rows = _packs_rows(_matrix(a, 0, out), n)
    by_rows = _cut(m, n, parts, packs_rows)
    by_columns = parts // by_rows
    m_tiles, n_tiles = _ceil(m, ROWS), _ceil(n, COLUMNS)
    m_step, k_step = _step(_ceil(m_tiles, by_rows) * ROWS, _ROWS_CACHED, ROWS), _step(k, _K_CACHED, FLOATS)
    scratch = _Scratch(
        np.empty(m_step + ROWS, np.int64),
        np.empty(k_step, np.int64),
        np.empty(m_step * k_step + 16 if packs_rows else 0, np.float32),
        np.empty(k_step * COLUMNS + 16, np.float32),
    )
    for part in range(task * batch * parts // tasks, (task + 1) * batch * parts // tasks):
        index, i, j = part // parts, part // by_columns % by_rows, part % by_columns
        m0, m1 = i * m_tiles // by_rows * ROWS, min(m, (i + 1) * m_tiles // by_rows * ROWS)
        n0, n1 = j * n_tiles // by_columns * COLUMNS, min(n, (j + 1) * n_tiles // by_columns * COLUMNS)
        if m1 > m0 and n1 > n0:
            rows, columns = _from(_matrix(a, index, out), m0, 0), _from(_matrix(b, index, out), 0, n0)
            first, target = _from(_matrix(start, index, out), m0, n0), _from(_matrix(out, index, out), m0, n0)
            _block(m1 - m0, n1 - n0, k, rows, columns, first, target, rectify, scratch)


@kernel(parallel=True)
def _product(a, b, out, start, rectify, max_tasks):
    work = _size(a, 1)
    for axis in range(1, ndim_of(out) + 1):
        work *= _size(out, axis)
    tasks = max(1, min(max_tasks, work // _GRAIN))
    if tasks == 1:
        _task(np.int64(0), tasks, a, b, out, start, rectify)
    else:
        for task in prange(tasks):
            _task(np.int64(task), tasks, a, b, out, start, rectify)
