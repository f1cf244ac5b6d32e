"""Matrix products of float32 arrays, on all cores.

What is computed is one line, `matmul_reference`. How, from the outside in: each task has a block of the outputs. It walks
through rows and k in blocks that stay in the cache, and through columns in panels as wide as a tile. For each panel it packs
B, so that the numbers of one k are consecutive and those of the next k follow; then every tile of rows goes over the panel.
A needs no packing where its rows are consecutive in memory, since tiles read it in place through offset tables (see simd.py);
otherwise it is packed in panels as high as a tile.
"""

import os
from typing import NamedTuple

import numpy as np
from numba import njit, prange

from . import threads
from .simd import (
    COLUMNS,
    FLOATS,
    ROWS,
    copy_float,
    data_of,
    make_copy,
    make_tile,
    ndim_of,
    size_of,
    stride_of,
    transpose,
)

ROWS_CACHED = int(os.environ.get("MC", 512))
K_CACHED = int(os.environ.get("KC", 384))
GRAIN = int(os.environ.get("GRAIN", 30000))
BPLACE = int(os.environ.get("BPLACE", 2))
PACK = int(os.environ.get("PACK", 4))
APLACE = int(os.environ.get("APLACE", 64))
ANP = int(os.environ.get("ANP", 1))

_wide_tile, _narrow_tile = make_tile(ROWS, COLUMNS // FLOATS), make_tile(ROWS, 1)
_copy_columns, _copy_rows = make_copy(COLUMNS), make_copy(ROWS)

_ZEROS = np.zeros((1, COLUMNS), np.float32)


class _Matrix(NamedTuple):
    """Number [i, j] is at address + i * row + j * column."""

    address: int
    row: int
    column: int


@njit
def _at(x, i, j):
    return x.address + i * x.row + j * x.column


@njit
def _from(x, i, j):
    """The matrix x[i:, j:]."""
    return _Matrix(_at(x, i, j), x.row, x.column)


@njit
def _matrix(x, index, batch):
    """Matrix `index` of all in the array x, whose leading axes broadcast to those of the array `batch`."""
    own, address = ndim_of(x) - 2, data_of(x)
    missing = ndim_of(batch) - 2 - own
    for axis in range(ndim_of(batch) - 3, -1, -1):
        size = size_of(batch, axis)
        if axis >= missing and size_of(x, axis - missing) > 1:
            address += index % size * stride_of(x, axis - missing)
        index //= size
    return _Matrix(address, stride_of(x, own), stride_of(x, own + 1))


@njit
def _aligned(buffer):
    """First address in the buffer (which has room for it) that begins a cache line; vectors across two lines load slowly."""
    return (buffer.ctypes.data + 63) & ~63


@njit
def _ceil(n, divisor):
    return -(-n // divisor)


@njit
def _step(n, largest, multiple):
    """Size of a block, if n is cut into blocks of about the same size, of the largest or less."""
    return max(1, _ceil(n, max(1, _ceil(n, largest)) * multiple)) * multiple


@njit
def _pack_columns(b, k, columns, panel):
    """panel[i, j] = b[i, j] for j < columns; what the other of the COLUMNS contain does not matter."""
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


@njit
def _pack_rows(a, rows, k, panel):
    """panel[j, i] = a[i, j] for i < rows."""
    if a.row == 4:
        for j in range(k):
            _copy_rows(_at(a, 0, j), panel + 4 * ROWS * j, rows)
    else:
        for j in range(k):
            for i in range(min(rows, ROWS)):
                copy_float(_at(a, i, j), panel + 4 * (ROWS * j + i))


@njit
def _block(m, n, k, a, b, start, out, packing):
    """out = start + a @ b for one task's block of outputs; a is (m, k), b is (k, n)."""
    m_step, k_step = _step(m, ROWS_CACHED, ROWS), _step(k, K_CACHED, FLOATS)
    r, c = np.empty(m_step + ROWS, np.int64), np.empty(k_step, np.int64)
    a_buffer, b_buffer = np.empty(m_step * k_step + 16 if packing else 0, np.float32), np.empty(k_step * COLUMNS + 16, np.float32)
    a_panels, b_panel = _aligned(a_buffer), _aligned(b_buffer)
    for m0 in range(0, m, m_step):
        rows = min(m_step, m - m0)
        for k0 in range(0, max(k, 1), k_step):
            depth = min(k_step, k - k0)
            if k0 > 0:
                start = out
            a_block = _from(a, m0, k0)
            if packing:
                for i in range(0, rows, ROWS):
                    _pack_rows(_from(a_block, i, 0), rows - i, depth, a_panels + 4 * i * depth)
                for i in range(rows):
                    r[i] = 4 * (i // ROWS * ROWS * depth + i % ROWS)
                a_block = _Matrix(a_panels, 4, 4 * ROWS)
            else:
                for i in range(rows):
                    r[i] = i * a_block.row
            r[rows : rows + ROWS] = r[rows - 1]
            for j in range(depth):
                c[j] = j * a_block.column
            for n0 in range(0, n, COLUMNS):
                columns = n - n0
                panel, panel_row = _at(b, k0, n0), b.row
                if b.column != 4 or columns < COLUMNS or rows > BPLACE * ROWS:
                    _pack_columns(_from(b, k0, n0), depth, columns, b_panel)
                    panel, panel_row = b_panel, 4 * COLUMNS
                for i in range(0, rows, ROWS):
                    r_tile, begin, end = r.ctypes.data + 8 * i, _at(start, m0 + i, n0), _at(out, m0 + i, n0)
                    if columns > FLOATS:
                        _wide_tile(depth, a_block.address, r_tile, c.ctypes.data, panel, panel_row, begin, start.row, end, out.row, rows - i, columns)
                    else:
                        _narrow_tile(depth, a_block.address, r_tile, c.ctypes.data, panel, panel_row, begin, start.row, end, out.row, rows - i, columns)


@njit
def _cut(m, n, parts, packing):
    """Into how many blocks of rows to cut (m, n), so that the slowest of the parts is fastest."""
    best, best_cost = 1, 2**62
    for by_rows in range(1, parts + 1):
        if parts % by_rows == 0:
            rows = _ceil(m, ROWS * by_rows) * ROWS
            columns = _ceil(n, COLUMNS * (parts // by_rows)) * COLUMNS
            cost = rows * columns + PACK * columns + (PACK * rows if packing else 0)
            if cost < best_cost:
                best, best_cost = by_rows, cost
    return best


@njit
def _task(task, tasks, a, b, out, start, accumulate):
    batch = 1
    for axis in range(ndim_of(out) - 2):
        batch *= size_of(out, axis)
    m, n, k = size_of(out, ndim_of(out) - 2), size_of(out, ndim_of(out) - 1), size_of(a, ndim_of(a) - 1)
    packing = abs(stride_of(a, ndim_of(a) - 1)) > APLACE and n > COLUMNS * ANP
    # Every task takes as many parts:
    parts = 1
    while batch < 8 * tasks and batch * parts % tasks != 0:
        parts += 1
    by_rows = _cut(m, n, parts, packing)
    by_columns = parts // by_rows
    m_tiles, n_tiles = _ceil(m, ROWS), _ceil(n, COLUMNS)
    for part in range(task * batch * parts // tasks, (task + 1) * batch * parts // tasks):
        index, i, j = part // parts, part // by_columns % by_rows, part % by_columns
        m0, m1 = i * m_tiles // by_rows * ROWS, min(m, (i + 1) * m_tiles // by_rows * ROWS)
        n0, n1 = j * n_tiles // by_columns * COLUMNS, min(n, (j + 1) * n_tiles // by_columns * COLUMNS)
        if m1 > m0 and n1 > n0:
            o = _from(_matrix(out, index, out), m0, n0)
            if accumulate: s = o
            elif ndim_of(start) == 1: s = _Matrix(data_of(start) + 4 * n0, 0, 4)
            else: s = _Matrix(data_of(start), 0, 0)
            _block(m1 - m0, n1 - n0, k, _from(_matrix(a, index, out), m0, 0), _from(_matrix(b, index, out), 0, n0), s, o, packing)


@njit(parallel=True, nogil=True, cache=True)
def _matmul(a, b, out, start, accumulate, max_tasks):
    work = size_of(a, ndim_of(a) - 1)
    for axis in range(ndim_of(out)):
        work *= size_of(out, axis)
    tasks = max(1, min(max_tasks, work // GRAIN))
    if tasks == 1:
        _task(np.int64(0), tasks, a, b, out, start, accumulate)
    else:
        for task in prange(tasks):
            _task(np.int64(task), tasks, a, b, out, start, accumulate)

def multiply(a, b, out, bias=None):
    with threads.pool:
        _matmul(id(a), id(b), id(out), id(_ZEROS) if bias is None else id(bias), False, threads.count)
    return out

def mm(a,b,out,*_): return multiply(a,b,out)
def matmul(a, b, out=None):
    if out is None: out = np.empty(a.shape[:-1]+b.shape[-1:], np.float32)
    return multiply(a,b,out)
