"""Triangular systems by substitution: each row of the solution is a combination of the rows before it.

A task has strips of columns of some of the systems. The matrix may be given across, as its transpose lies in memory.
"""

import numpy as np

from .kinds import READ, WRITE
from .program import in_order, kernel
from .simd import inner, put

_COST = 0.15  # nanoseconds of a product
_STRIP = 64
_MOST = 384  # rows; from there on products of blocks take less time
F = np.float32


@inner
def _work(a, b, n, width, across, upper, unit, x):
    size = n * width
    fits = size > 0 and x.size % size == 0 and b.size == x.size and a.size % (n * n) == 0
    if not fits or a.size == 0 or (x.size // size) % (a.size // (n * n)) != 0:
        return -1
    return int(x.size * n // 2 * _COST)


@kernel(a=READ, b=READ, x=WRITE, work=_work)
def _substitution(a, b, n, width, across, upper, unit, x, task, tasks):
    systems, matrices, strips = x.size // (n * width), a.size // (n * n), -(-width // _STRIP)
    row, column = (1, n) if across else (n, 1)
    strip = np.empty(_STRIP, np.float32)  # of the row that is being solved
    for share in range(task * systems * strips // tasks, (task + 1) * systems * strips // tasks):
        matrix, left = share // strips % matrices * n * n, share % strips * _STRIP
        begin, columns = share // strips * n * width + left, min(_STRIP, width - left)
        for k in range(n):
            i = n - 1 - k if upper else k
            at, here = begin + i * width, matrix + i * row
            put(strip[:columns], b[at : at + columns])
            j, last = (i + 1, n) if upper else (0, i)
            while j + 4 <= last:  # fewer reads and writes of the strip
                p, q = a[here + j * column], a[here + (j + 1) * column]
                r, s = a[here + (j + 2) * column], a[here + (j + 3) * column]
                y = begin + j * width
                first, second = x[y : y + columns], x[y + width : y + width + columns]
                third, fourth = x[y + 2 * width : y + 2 * width + columns], x[y + 3 * width : y + 3 * width + columns]
                for c in range(columns):
                    strip[c] -= (p * first[c] + q * second[c]) + (r * third[c] + s * fourth[c])
                j += 4
            while j < last:
                p, y = a[here + j * column], begin + j * width
                for c in range(columns):
                    strip[c] -= p * x[y + c]
                j += 1
            p = F(1) if unit else a[here + i * column]
            for c in range(columns):
                x[at + c] = strip[c] / p


def substituted(a: np.ndarray, b: np.ndarray, upper: bool, unit: bool) -> np.ndarray:
    """x with tri(a) x = b: a (..., n, n), b (..., n, k), whose batch axes broadcast."""
    n, width = b.shape[-2:]
    if b.dtype != np.float32 or not 0 < n <= _MOST or not b.size or not a.size:
        return NotImplemented
    batch = b.shape[:-2]
    if a.shape[:-2] not in ((), batch):
        batch = np.broadcast_shapes(a.shape[:-2], batch)
        a, b = np.broadcast_to(a, (*batch, n, n)), np.broadcast_to(b, (*batch, n, width))
    across = not a.flags.c_contiguous and a.swapaxes(-1, -2).flags.c_contiguous
    a, x = a.swapaxes(-1, -2) if across else in_order(a), np.empty((*batch, n, width), np.float32)
    _substitution(a, in_order(b), n, width, int(across), int(upper), int(unit), x)
    return x
