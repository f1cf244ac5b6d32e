"""Rows of a table that an index names, and the gradient of that: rows added to the rows of a table.

A row of the table may be named a million times, which in float32 would lose as many digits as that number has. So what
is added to a row is added up in float64: in a copy of the table or, if it has more rows than are added, row by row, in
the order of the sorted index.

The index may lie in memory that someone else writes to: each entry is compared with the number of rows when it is used.
"""

import numpy as np

from .program import INTEGERS, READ, WRITE, check_again, kernel, together
from .simd import inner
from .views import floats_at

_COST = 0.1  # nanoseconds of a number


@inner
def _add(x, total):
    for j in range(total.size):
        total[j] += x[j]


@inner
def _copy(x, y):
    for j in range(y.size):
        y[j] = x[j]


@inner
def _take_work(table, index, width, rows, wrong):
    return int(rows.size * _COST) if rows.size == index.size * width and table.size % max(width, 1) == 0 else -1


@kernel(table=READ, index=INTEGERS, rows=WRITE, wrong=WRITE.of(np.int64), work=_take_work)
def _take(table, index, width, rows, wrong, task, tasks):
    count = table.size // width
    for i in range(task * index.size // tasks, (task + 1) * index.size // tasks):
        row = index[i]
        if 0 <= row < count:
            _copy(table[row * width : (row + 1) * width], rows[i * width : (i + 1) * width])
        else:
            wrong[0] = 1


def take_rows(table: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    """table[index], for a table (m, n); None if there is no such row"""
    rows, wrong = np.empty((*index.shape, table.shape[1]), np.float32), np.zeros(1, np.int64)
    if rows.size:
        _take(table, index.astype(np.int64, copy=False), table.shape[1], rows, wrong)
    check_again(_check_rows, wrong, index, len(table), flag=wrong)
    return None if wrong[0] else rows


@inner
def _add_work(rows, index, width, skipped, table, wrong):
    return int(rows.size * _COST) if rows.size == index.size * width and table.size % width == 0 else -1


@kernel(rows=READ, index=INTEGERS, table=WRITE, wrong=WRITE.of(np.int64), work=_add_work, tasks=1)
def _add_all(rows, index, width, skipped, table, wrong, task, tasks):
    """A task has some columns of every row: so two never write to one place."""
    left, n = task * width // tasks, (task + 1) * width // tasks - task * width // tasks
    total, x, count = np.zeros(table.size // width * n), rows.ctypes.data + 4 * left, table.size // width
    for i in range(index.size):
        row = index[i]
        if not 0 <= row < count:
            wrong[0] = 1
        elif row != skipped:
            _add(floats_at(x + 4 * i * width, n), total[row * n : row * n + n])
    for row in range(count):
        _copy(total[row * n : row * n + n], floats_at(table.ctypes.data + 4 * (row * width + left), n))


@kernel(index=INTEGERS, ends=WRITE.of(np.int64), order=WRITE.of(np.int64), wrong=WRITE.of(np.int64), tasks=1, cost=0)
def _sort(index, ends, order, wrong, task, tasks):
    """order = argsort(index), stable, by counting; ends has one number for each row of the table."""
    ends[:], order[:] = 0, 0
    for i in range(index.size):
        if 0 <= index[i] < ends.size:
            ends[index[i]] += 1
        else:
            wrong[0] = 1
    for row in range(1, ends.size):
        ends[row] += ends[row - 1]
    for i in range(index.size - 1, -1, -1):
        row = index[i]
        if 0 <= row < ends.size and ends[row] > 0:
            ends[row] -= 1
            order[ends[row]] = i


@inner
def _sorted_work(rows, index, order, width, skipped, table):
    return _add_work(rows, index, width, skipped, table, order) if order.size == index.size else -1


@kernel(rows=READ, index=INTEGERS, order=INTEGERS, table=WRITE, work=_sorted_work, tasks=1)
def _add_sorted(rows, index, order, width, skipped, table, task, tasks):
    left, n = task * width // tasks, (task + 1) * width // tasks - task * width // tasks
    x, y, total, begin = rows.ctypes.data + 4 * left, table.ctypes.data + 4 * left, np.empty(n), 0
    for row in range(table.size // width):
        floats_at(y + 4 * row * width, n)[:] = 0
    while begin < order.size:
        row, end = index[order[begin]], begin + 1
        while end < order.size and index[order[end]] == row:
            end += 1
        if row != skipped and 0 <= row < table.size // width:
            here = floats_at(y + 4 * row * width, n)
            _copy(here, total)
            for i in range(begin, end):
                _add(floats_at(x + 4 * order[i] * width, n), total)
            _copy(total, here)
        begin = end


def sum_rows_by(rows: np.ndarray, index: np.ndarray, count: int, skipped: int = -1) -> np.ndarray | None:
    """Zeros (count, n) with the rows (..., n) added where the index (...) says; None if it names a row that is not
    there. Rows whose index is `skipped` are left out.
    """
    width, index = rows.shape[-1], index.astype(np.int64, copy=False)
    table, wrong = np.empty((count, width), np.float32), np.zeros(1, np.int64)
    if not rows.size or not count:
        table[:] = 0
        return None if index.size and not count else table
    with together():
        if count <= index.size:
            _add_all(rows, index, width, skipped, table, wrong)
        else:
            order = np.empty(index.size, np.int64)
            _sort(index, np.empty(count, np.int64), order, wrong)
            _add_sorted(rows, index, order, width, skipped, table)
    check_again(_check_rows, wrong, index, count, flag=wrong)
    return None if wrong[0] else table


def _check_rows(wrong: np.ndarray, index: np.ndarray, count: int) -> None:
    if wrong[0]:
        wrong[0] = 0
        bad = index[(index < 0) | (index >= count)]
        raise IndexError(f"embedding: index {bad[0] if bad.size else '?'} is out of range for a table of {count} rows "
                         f"(0 to {count - 1})")


def add_at(x: np.ndarray, shape: tuple[int, ...], index: tuple) -> np.ndarray:
    """Zeros of this shape with x added at an index, if that is one array of integers, which names rows."""
    if len(index) != 1 or not isinstance(index[0], np.ndarray) or index[0].dtype != np.int64:
        return NotImplemented
    rows = np.where(index[0] < 0, index[0] + shape[0], index[0]).ravel()
    table = sum_rows_by(x.reshape(rows.size, -1), rows, shape[0])
    return NotImplemented if table is None else table.reshape(shape)
