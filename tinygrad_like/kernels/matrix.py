"""Matrices in memory, and packing them into the panels that tiles read, for products, convolutions and attention.

Functions of arrays take the address of the array object, and read shape and strides there (see views.py).
"""

from typing import NamedTuple

from .simd import COLUMNS, FLOATS, inner
from .tiles import copy_float, make_copy, transpose_block
from .views import data_of, ndim_of, size_of, stride_of

SLACK = 64  # floats after a buffer, since vectors may run past its end
_copy_columns = make_copy(COLUMNS)


class Matrix(NamedTuple):
    """A matrix in memory: element [i, j] is at address + i * row + j * column."""

    address: int
    row: int
    column: int


@inner
def address_of(x, i, j):
    """The address of element [i, j]."""
    return x.address + i * x.row + j * x.column


@inner
def part_of(x, i, j):
    """The matrix x[i:, j:]."""
    return Matrix(address_of(x, i, j), x.row, x.column)


@inner
def transpose(x):
    """The transpose."""
    return Matrix(x.address, x.column, x.row)


@inner
def length_of(x, axis):
    """Length of an axis counted from the last, 1 being the last; an axis that the array does not have broadcasts."""
    return size_of(x, ndim_of(x) - axis) if axis <= ndim_of(x) else 1


@inner
def step_of(x, axis):
    """Bytes from one entry to the next of an axis counted from the last; 0 where the array broadcasts."""
    return stride_of(x, ndim_of(x) - axis) if length_of(x, axis) > 1 else 0


@inner
def fits(x, rows, columns, out, broadcasts=False):
    """Whether the array x is (..., rows, columns), and its leading axes broadcast to out's. broadcasts: its rows and
    columns may broadcast, too."""
    if ndim_of(x) > max(2, ndim_of(out)):
        return False
    for axis in range(1, ndim_of(out) + 1):
        size = length_of(x, axis)
        wanted = columns if axis == 1 else rows if axis == 2 else length_of(out, axis)
        if size != wanted and (size != 1 or (axis <= 2 and not broadcasts)):
            return False
    return True


@inner
def matrix_of(x, index, out, transposed=False):
    """The matrix of x that belongs to matrix number `index` of out, to which x broadcasts.

    transposed: its transpose.
    """
    address = data_of(x)
    for axis in range(3, ndim_of(out) + 1):
        size = length_of(out, axis)
        if index >= size > 1:
            address += index % size * step_of(x, axis)
            index //= size
        else:
            address += index * step_of(x, axis) if size > 1 else 0
            index = index if size == 1 else 0
    row, column = step_of(x, 2), step_of(x, 1)
    return Matrix(address, column, row) if transposed else Matrix(address, row, column)


@inner
def aligned(buffer):
    """The first address in a buffer that is aligned to a cache line: vectors that straddle two lines load slowly.

    numba frees the buffer after the last line that names it. So take an address in the loop that uses it, not before.
    """
    return (buffer.ctypes.data + 63) & ~63


@inner
def ceil_div(n, divisor):
    """n / divisor, rounded up."""
    return -(-n // divisor)


@inner
def pack_columns(b, k, columns, panel):
    """panel[i, j] = b[i, j] for j < columns; the rest of the panel may hold anything."""
    if b.column == 4:
        for i in range(k):
            _copy_columns(address_of(b, i, 0), panel + 4 * COLUMNS * i, columns)
    elif b.row == 4 and k >= FLOATS:
        for j in range(0, min(columns, COLUMNS), FLOATS):
            for first in range(0, k, FLOATS):
                i = min(first, k - FLOATS)  # the last block overlaps the one before
                transpose_block(address_of(b, i, j), b.column, panel + 4 * (COLUMNS * i + j), 4 * COLUMNS, columns - j)
    else:
        for i in range(k):
            for j in range(COLUMNS):
                copy_float(address_of(b, i, min(j, columns - 1)), panel + 4 * (COLUMNS * i + j))
