"""Gather the rows of a table that an index names; and the gradient of that: add rows to the rows of a table.

One index may serve several tables, `outer` of them, one after the other: x[:, index] has one per entry of its first
axis. A row may be a single number, as in x[i, j], where i and j together number the rows.

An index may name a row a million times. Added up in float32, the row would lose as many digits as that number has, so
sums are kept in a float64 copy of the table. Another thread may write to the index: each entry is checked when used.
"""

import math

import numpy as np

from ..core.graph import mode
from ..dtypes import INT64
from .checks import check_again
from .kinds import INTEGERS, OPTIONAL, READ, WRITE
from .program import in_order, kernel
from .reduce import add_to
from .simd import fill, inner, put
from .views import floats_at

_COST = 0.1  # nanoseconds per number
_WHOLE = slice(None)
_AT_ONCE = 1024  # entries of an index that are checked together


@inner
def _places(index, n, wraps, other, found):
    """found[i] = the row, of n, that index[i] names, or `other` if there is none; returns whether all exist. wraps:
    negative entries count from the end.

    This loop is vectorised, so that the loops that use its results need no checks.
    """
    low, high, more = 0, 0, n if wraps else 0
    for i in range(found.size):
        place = index[i]
        place = place + more if place < 0 else place
        low, high = min(low, place), max(high, place)
        found[i] = place if (place >= 0) & (place < n) else other
    return low >= 0 and high < n


@inner
def _pick(x, found, taken):
    for i in range(found.size):
        taken[i] = x[found[i]]


@inner
def _add_to(total, found, x):
    for i in range(x.size):
        total[found[i]] += x[i]


@inner
def _fits(rows, index, outer, width, table):
    """Whether `rows` has a row of each table for each entry of the index."""
    return width > 0 and rows.size == outer * index.size * width and table.size % (outer * width) == 0


# --- Taking rows ------------------------------------------------------------------------------------------------------


@inner
def _take_work(table, index, outer, width, wraps, rows, wrong):
    return int(rows.size * _COST) + index.size if _fits(rows, index, outer, width, table) else -1


@kernel(table=READ, index=INTEGERS, rows=WRITE, wrong=WRITE.of(np.int64), work=_take_work)
def _take(table, index, outer, width, wraps, rows, wrong, task, tasks):
    """A task takes some of the tables or, if they are few, some of the index."""
    count, first, last = table.size // (outer * width), 0, outer
    begin, end = task * index.size // tasks, (task + 1) * index.size // tasks
    if outer >= tasks:
        first, last, begin, end = task * outer // tasks, (task + 1) * outer // tasks, 0, index.size
    named = np.empty(_AT_ONCE, np.int64)
    for i in range(begin, end, _AT_ONCE):
        found = named[: min(_AT_ONCE, end - i)]
        if not _places(index[i : i + found.size], count, wraps, 0, found):
            wrong[0] = 1
        for k in range(first, last):
            source, target = k * count * width, (k * index.size + i) * width
            if width == 1:
                _pick(table[source : source + count], found, rows[target : target + found.size])
            else:
                for place in found:
                    put(rows[target : target + width], table[source + place * width : source + (place + 1) * width])
                    target += width


def _taken(x: np.ndarray, rows: np.ndarray, outer: int, width: int, wraps: bool, count: int,
           shape: tuple[int, ...]) -> np.ndarray | None:
    """The rows of each table that an index names, in an array of this shape; None if one is missing."""
    out, wrong = np.empty(shape, np.float32), np.zeros(1, np.int64)
    if out.size:
        _take(x, rows, outer, width, wraps, out, wrong)
    check_again(_check_rows, wrong, rows, count, flag=wrong, lasting=True)
    return None if wrong[0] else out


def take_rows(table: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    """table[index], for a table (m, n); None if a row is missing"""
    count, width = table.shape
    return _taken(table, index.astype(np.int64, copy=False), 1, width, False, count, (*index.shape, width))


@inner
def _pairs_work(i, j, n, m, out):
    return out.size // 2 if i.size == j.size == out.size else -1


@kernel(i=INTEGERS, j=INTEGERS, out=WRITE.of(np.int64), work=_pairs_work)
def _pairs(i, j, n, m, out, task, tasks):
    """The positions of elements (i, j) of an (n, m) array in C order; n m for missing ones."""
    first, last = task * out.size // tasks, (task + 1) * out.size // tasks
    i, j, out = i[first:last], j[first:last], out[first:last]
    for k in range(out.size):  # without branches, in vectors
        row, column = i[k] + (n if i[k] < 0 else 0), j[k] + (m if j[k] < 0 else 0)
        out[k] = row * m + column if (row >= 0) & (row < n) & (column >= 0) & (column < m) else n * m


_FEW, _FEW_ADDED = 4096, 1536  # elements named by several arrays, below which NumPy is faster
_TAKEN = 1 << 17  # likewise by one array: only several threads are faster


def _rows_of(index: tuple, shape: tuple[int, ...], few: int) -> tuple[int, int, np.ndarray] | None:
    """For whole slices, then arrays of integers, then whole slices: the first indexed axis, the axis after the last,
    and the rows that the arrays name, numbered in C order. None for any other index."""
    first = 0
    while first < len(index) and type(index[first]) is slice and index[first] == _WHOLE:
        first += 1
    last = first
    while last < len(index) and type(index[last]) is np.ndarray and index[last].dtype is INT64:
        last += 1
    if last == first or any([type(i) is not slice or i != _WHOLE for i in index[last:]]):
        return None
    rows = index[first]
    if last > first + 1:
        arrays = index[first:last]
        if max([i.size for i in arrays]) * math.prod(shape[last:]) < few and not mode.compiled:
            return None
        if any([i.shape != rows.shape for i in arrays]):
            arrays = tuple([np.ascontiguousarray(i) for i in np.broadcast_arrays(*arrays)])
        rows, n = arrays[0], shape[first]
        for axis, i in enumerate(arrays[1:], first + 1):
            out, m = np.empty(rows.shape, np.int64), shape[axis]
            _pairs(rows, i, n, m, out)
            rows, n = out, n * m
    return first, last, rows


def take_at(x: np.ndarray, index: tuple) -> np.ndarray:
    """x[index], if arrays of integers index adjacent axes, and the other axes are taken whole."""
    if len(index) == 1 and x.ndim and index[0].size * (x.size // (len(x) or 1)) < _TAKEN and not mode.compiled:
        return NotImplemented
    found = _rows_of(index, x.shape, _FEW) if x.flags.c_contiguous else None
    if found is None:
        return NotImplemented
    first, last, rows = found
    outer, width, count = (math.prod(x.shape[i:j]) for i, j in ((0, first), (last, None), (first, last)))
    size = outer * rows.size * width
    if rows.size and not size or size < (_TAKEN if last == first + 1 else 256) and not mode.compiled:
        return NotImplemented
    y = _taken(x, rows, outer, width, True, count, x.shape[:first] + rows.shape + x.shape[last:])
    return NotImplemented if y is None else y


# --- Adding rows ------------------------------------------------------------------------------------------------------


@inner
def _finish(base, total, y):
    """y = base + total, or total if there is no base"""
    if base.size == 0:
        put(y, total)
    else:
        for j in range(y.size):
            y[j] = base[j] + total[j]


@inner
def _add_work(rows, index, outer, width, wraps, skipped, base, table, wrong):
    fits = _fits(rows, index, outer, width, table) and (base.size == 0 or base.size == table.size)
    return int(rows.size * _COST) + index.size if fits else -1


@kernel(rows=READ, index=INTEGERS, base=OPTIONAL, table=WRITE, wrong=WRITE.of(np.int64), work=_add_work, tasks=1)
def _add_all(rows, index, outer, width, wraps, skipped, base, table, wrong, task, tasks):
    """A task adds some columns of every row, or some of the tables, so that no two write to one place. Skipped rows go
    to a spare row at the end."""
    first, last, left, right = 0, outer, task * width // tasks, (task + 1) * width // tasks
    if outer >= tasks:
        first, last, left, right = task * outer // tasks, (task + 1) * outer // tasks, 0, width
    count, n = table.size // (outer * width), right - left
    total, named = np.empty((count + 1) * n), np.empty(_AT_ONCE, np.int64)
    for k in range(first, last if n else first):
        place = k * count * width + left
        fill(total, 0.0)
        for begin in range(0, index.size, _AT_ONCE):
            size = min(_AT_ONCE, index.size - begin)
            if k == first or index.size > _AT_ONCE:
                found = named[:size]
                if not _places(index[begin : begin + size], count, wraps, count, found):
                    wrong[0] = 1
                if skipped >= 0:
                    for i in range(found.size):
                        found[i] = count if found[i] == skipped else found[i]
            x = rows.ctypes.data + 4 * ((k * index.size + begin) * width + left)
            if width == 1:
                _add_to(total, named, floats_at(x, size))
            else:
                for i in range(size):
                    add_to(floats_at(x + 4 * i * width, n), total[named[i] * n : (named[i] + 1) * n])
        for row in range(1 if n == width else count):  # all at once, if they are contiguous
            at, many = place + row * width, count * n if n == width else n
            _finish(base[at : at + many], total[row * n : row * n + many], table[at : at + many])


def _sum_rows(rows: np.ndarray, index: np.ndarray, outer: int, width: int, wraps: bool, skipped: int,
              table: np.ndarray, base: np.ndarray | None = None) -> np.ndarray | None:
    """table = base, or zeros, with the rows added at the index; None if it names a missing row."""
    count, wrong = table.size // (outer * width), np.zeros(1, np.int64)
    _add_all(rows, index, outer, width, wraps, skipped, base, table, wrong)
    check_again(_check_rows, wrong, index, count, flag=wrong, lasting=True)
    return None if wrong[0] else table


def sum_rows_by(rows: np.ndarray, index: np.ndarray, count: int, skipped: int = -1) -> np.ndarray | None:
    """Zeros (count, n) with the rows (..., n) added at the index (...); None if it names a missing row. Rows whose
    index is `skipped` are left out."""
    width, index = rows.shape[-1], index.astype(np.int64, copy=False)
    table = np.empty((count, width), np.float32)
    if not rows.size or not count:
        table[:] = 0
        return None if index.size and not count else table
    return _sum_rows(rows, index, 1, width, False, skipped, table)


def _check_rows(wrong: np.ndarray, index: np.ndarray, count: int) -> None:
    if wrong[0]:
        wrong[0] = 0
        bad = index[(index < 0) | (index >= count)]
        raise IndexError(f"index {bad[0] if bad.size else '?'} is out of range for a table of {count} rows "
                         f"(0 to {count - 1})")


def add_at(x: np.ndarray, shape: tuple[int, ...], index: tuple, base: np.ndarray | None = None) -> np.ndarray:
    """Zeros of this shape, or base, with x added at an index; for the indices that `take_at` handles."""
    found = _rows_of(index, shape, _FEW_ADDED)
    if found is None or not x.size or 0 in shape:
        return NotImplemented
    first, last, rows = found
    if x.shape != (whole := shape[:first] + rows.shape + shape[last:]):
        x = np.broadcast_to(x, whole)
    table = _sum_rows(x, rows, math.prod(shape[:first]), math.prod(shape[last:]), True, -1, np.empty(shape, np.float32),
                      None if base is None else in_order(base))
    return NotImplemented if table is None else table
