"""Matrix products of float32 arrays, on all cores.

The output is cut into pieces, a block of rows that stays in the cache by a panel of columns as wide as a tile. A task
computes the pieces of its own part of the matrix, then steals from tasks that are behind. pieces.py computes a piece.
"""

import math
from collections.abc import Sequence

import numpy as np

from ..core.graph import mode
from ..dtypes import FLOAT32
from .kinds import STRIDED, STRIDED_OPTIONAL, STRIDED_WRITE
from .matrix import Matrix, ceil_div, fits, length_of, matrix_of, part_of
from .pieces import BLOCKS, FEW_ROWS, do_piece, packs_rows, scratch_for, strategy_of
from .program import beside, counters, kernel
from .reduce import columns
from .registry import LEAST_OUT
from .simd import COLUMNS, ROWS, inner
from .threads import take
from .views import count_of_matrices, has_contiguous_rows, ndim_of, stack_buffer

_COST = 0.015  # nanoseconds per multiplication
# Multiplications that are worth a kernel: for fewer, OpenBLAS starts no threads. LEAST_OUT outputs are worth one, too,
# since OpenBLAS is slow where each is the sum of few products.
_LEAST = 2**18
_SHORT = 32  # examples for which three calls of NumPy compute a layer's cotangents faster than kernels
_STRIP = 256  # columns added up at a time
_PACKING = 4  # cost of packing a number, in multiplications
_ROWS_CACHED = 512  # rows of a block of A: 1 MiB, for the L2 cache
_PACKED_ONCE = 512  # the largest k for which a block of A is packed once for all columns
_WIDE = 2048  # columns of B in a piece that reads all of them for each tile of rows


def _is_small(multiplications: int, numbers: int) -> bool:
    """Whether to leave a product with so few multiplications and outputs to NumPy."""
    return multiplications < _LEAST and numbers < LEAST_OUT and not mode.compiled


def batched_matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b, or NotImplemented if it is so small that NumPy's BLAS is as fast, and starts no threads."""
    if b.dtype is not FLOAT32:
        return NotImplemented
    if a.ndim == 2 == b.ndim:
        if _is_small(a.size * b.shape[1], a.shape[0] * b.shape[1]):
            return NotImplemented
        return product(a, b, np.empty((a.shape[0], b.shape[1]), np.float32))
    if b.ndim == 2:
        shape = (*a.shape[:-1], b.shape[1])
    else:
        batch, other = a.shape[:-2], b.shape[:-2]
        shape = (*(batch if batch == other else np.broadcast_shapes(batch, other)), a.shape[-2], b.shape[-1])
    if _is_small(math.prod(shape) * a.shape[-1], math.prod(shape)):
        return NotImplemented
    if b.ndim == 2 < a.ndim:  # one tall product, instead of a batch of them with the same matrix
        return product(_tall(a), b, np.empty((math.prod(shape[:-1]), shape[-1]), np.float32)).reshape(shape)
    return product(a, b, np.empty(shape, np.float32))


def batched_matmul_vjp(
    g: np.ndarray, a: np.ndarray, b: np.ndarray, wanted: Sequence[bool]
) -> list[np.ndarray | None]:
    """Cotangents of a and b in a @ b, from that of the product, g: g @ b.mT and a.mT @ g, with the batch axes of g."""
    small = _is_small(g.size * a.shape[-1], max(a.size, b.size))
    if small or a.dtype is not FLOAT32 or b.dtype is not FLOAT32:
        return NotImplemented
    shape, one = a.shape, b.ndim == 2 < a.ndim
    if one:
        g, a = _tall(g), _tall(a)
    da = db = None
    calls: list[tuple] = []
    if wanted[1]:
        db = np.empty((*g.shape[:-2], *b.shape[-2:]), np.float32)
        calls.append((_matrix_product, a, g, db, None, True, False, not wanted[0], counters[1]))
    if wanted[0]:
        da = np.empty((*g.shape[:-2], *a.shape[-2:]), np.float32)
        calls.append((_matrix_product, g, b, da, None, False, True, True, counters[0]))
    beside(*calls)
    return [da.reshape(shape) if one and da is not None else da, db]


def _tall(x: np.ndarray) -> np.ndarray:
    """All matrices of x stacked vertically."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def product(
    a: np.ndarray,
    b: np.ndarray,
    out: np.ndarray,
    start: np.ndarray | None = None,
    transposed: bool = False,
) -> np.ndarray:
    """out = start + a @ b.

    a (..., m, k) and b (..., k, n) have any strides; their batch axes broadcast to those of out (..., m, n). All are
    float32. Rows of out and start are contiguous, and start broadcasts to out: a bias (n,), or out itself, to
    accumulate. transposed: b is its transpose (..., n, k).
    """
    _matrix_product(a, b, out, start, False, transposed, True, counters[0])
    return out


def affine(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None) -> np.ndarray:
    """y = x @ weight.T + bias"""
    return product(x, weight, np.empty((len(x), len(weight)), np.float32), bias, True)


def linear_vjp(g: np.ndarray, x: np.ndarray, weight: np.ndarray, wanted: Sequence[bool]) -> list[np.ndarray | None]:
    """Cotangents of x, weight and bias in y = x @ weight.T + bias, from that of y, g; small products are NumPy's.

    x (m, in) and weight (out, in); g (m, out). wanted: which of the three to compute; the others are None.
    """
    multiplications, short = g.size * weight.shape[1], len(g) <= _SHORT
    if short and _is_small(multiplications, weight.size):
        return NotImplemented
    dx = dw = db = None
    calls: list[tuple] = []
    if wanted[2]:
        db = np.empty(len(weight), np.float32)
        if db.size:
            calls.append((columns, g, *g.shape, len(g), _STRIP, db))
    if wanted[1]:
        dw = np.empty(weight.shape, np.float32)
        calls.append((_matrix_product, g, x, dw, None, True, False, not wanted[0], counters[1]))
    if wanted[0] and short and _is_small(multiplications, g.size):
        dx = np.dot(g, weight)
    elif wanted[0]:
        dx = np.empty(x.shape, np.float32)
        calls.append((_matrix_product, g, weight, dx, None, False, False, True, counters[0]))
    beside(*calls)
    return [dx, dw, db]


@inner
def _cut(strategy, m, n, k, batch, tasks, packs, alone):
    """The numbers of blocks of rows of each matrix of a batch, and of blocks of columns.

    First the fewest parts that tasks can share evenly, in the shape that takes the least time. Then smaller pieces, so
    that tasks end together, unless each would have to pack A again, or another product follows and evens out the load.
    """
    if strategy != BLOCKS:
        wanted = ceil_div(8 * tasks, batch) if tasks > 1 else 1
        if m <= FEW_ROWS:
            return 1, max(1, min(ceil_div(n, COLUMNS), wanted))
        return min(ceil_div(m, FEW_ROWS), wanted), ceil_div(max(n, 1), _WIDE)
    parts = 1
    while batch < 8 * tasks and batch * parts % tasks != 0:
        parts += 1
    by_rows, least = 1, 2**62
    for count in range(1, parts + 1):
        if parts % count == 0:
            rows = ceil_div(m, ROWS * count) * ROWS
            columns = ceil_div(n, COLUMNS * (parts // count)) * COLUMNS
            time = rows * columns + _PACKING * (columns + (rows if packs else 0))
            if time < least:
                by_rows, least = count, time
    by_columns = parts // by_rows
    by_rows *= max(1, ceil_div(m, by_rows * _ROWS_CACHED))
    if tasks > 1 and (not packs or (k <= _PACKED_ONCE and alone)):
        by_columns = ceil_div(n, COLUMNS)
    return by_rows, by_columns


@inner
def _work(a, b, out, start, a_transposed, b_transposed, alone, counts):
    """Nanoseconds of a product; -1 if its arrays do not fit one another."""
    m, n, k = length_of(out, 2), length_of(out, 1), length_of(a, 2 if a_transposed else 1)
    if not (ndim_of(out) >= 2 and has_contiguous_rows(out)
            and fits(a, k if a_transposed else m, m if a_transposed else k, out)
            and fits(b, n if b_transposed else k, k if b_transposed else n, out)):
        return -1
    if start and not (fits(start, m, n, out, True) and has_contiguous_rows(start) and length_of(start, 1) == n):
        return -1
    return int(count_of_matrices(out) * m * n * k * _COST)


@kernel(a=STRIDED, b=STRIDED, out=STRIDED_WRITE, start=STRIDED_OPTIONAL, work=_work, tasks=1)
def _matrix_product(a, b, out, start, a_transposed, b_transposed, alone, counts, task, tasks):
    """One task's share of out = start + a @ b, in pieces that it takes from counters; a and b may be transposes.

    alone: no other product follows to even out the load.
    """
    m, n, k = length_of(out, 2), length_of(out, 1), length_of(a, 2 if a_transposed else 1)
    batch = count_of_matrices(out)
    first_a, first_b = matrix_of(a, 0, out, a_transposed), matrix_of(b, 0, out, b_transposed)
    strategy = strategy_of(m, k, first_b)
    packs = strategy == BLOCKS and packs_rows(m, n, k, first_a)
    by_rows, by_columns = _cut(strategy, m, n, k, batch, tasks, packs, alone)
    m_tiles, n_tiles = ceil_div(m, ROWS), ceil_div(n, COLUMNS)
    m_step, n_step = max(1, ceil_div(m_tiles, by_rows)) * ROWS, ceil_div(n_tiles, by_columns) * COLUMNS
    scratch = scratch_for(strategy, m_step, n_step, k, first_a, first_b, packs, stack_buffer())
    each = by_rows * by_columns
    number = take(counts, task, tasks, batch * each)
    while number >= 0:
        index, m0, m1, n0, n1 = number, 0, m, 0, n
        if each > 1:  # these divisions take longer than a tiny product
            j, piece = number % by_columns, number // by_columns
            i, index = piece % by_rows, piece // by_rows
            m0, m1 = i * m_tiles // by_rows * ROWS, min(m, (i + 1) * m_tiles // by_rows * ROWS)
            n0, n1 = j * n_tiles // by_columns * COLUMNS, min(n, (j + 1) * n_tiles // by_columns * COLUMNS)
        if m1 > m0 and n1 > n0:
            rows = part_of(matrix_of(a, index, out, a_transposed), m0, 0)
            columns = part_of(matrix_of(b, index, out, b_transposed), 0, n0)
            first = Matrix(np.int64(scratch.zeros.ctypes.data), 0, 0)
            target = part_of(matrix_of(out, index, out), m0, n0)
            if start:
                first = part_of(matrix_of(start, index, out), m0, n0)
            do_piece(strategy, m1 - m0, n1 - n0, k, rows, columns, first, target, packs, scratch)
        number = take(counts, task, tasks, batch * each)
