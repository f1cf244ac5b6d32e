"""Adding rows to the rows of a table that an index names: the gradient of an embedding.

A row of the table may be named a million times, which in float32 would lose as many digits as that number has. So what
is added to a row is added up in float64: in a copy of the table or, if it has more rows than are added, row by row, in
the order of the sorted index.
"""

import numpy as np

from ..dtypes import INT64
from . import threads
from .simd import floats_at, inner, kernel
from .tasks import flat, flat_out, run

PARALLEL_FROM = 1 << 16


@inner
def _add(x, total):
    for j in range(total.size):
        total[j] += x[j]


@inner
def _copy(x, y):
    for j in range(y.size):
        y[j] = x[j]


@kernel()
def _add_all_task(rows, index, width, skipped, table, task, tasks):
    """A task has some columns of every row: so two never write to one place."""
    left, n = task * width // tasks, (task + 1) * width // tasks - task * width // tasks
    total, x = np.zeros(table.size // width * n), rows.ctypes.data + 4 * left
    for i in range(index.size):
        if index[i] != skipped:
            place = index[i] * n
            _add(floats_at(x + 4 * i * width, n), total[place : place + n])
    for row in range(table.size // width):
        _add(total[row * n : row * n + n], floats_at(table.ctypes.data + 4 * (row * width + left), n))


@kernel()
def _sort(index, ends, order):
    """order = argsort(index), stable, by counting; ends has a 0 for each row of the table."""
    for i in range(index.size):
        ends[index[i]] += 1
    for row in range(1, ends.size):
        ends[row] += ends[row - 1]
    for i in range(index.size - 1, -1, -1):
        ends[index[i]] -= 1
        order[ends[index[i]]] = i


@kernel()
def _add_sorted_task(rows, index, order, width, skipped, table, task, tasks):
    left, n = task * width // tasks, (task + 1) * width // tasks - task * width // tasks
    x, y, total, begin = rows.ctypes.data + 4 * left, table.ctypes.data + 4 * left, np.empty(n), 0
    while begin < order.size:
        row, end = index[order[begin]], begin + 1
        while end < order.size and index[order[end]] == row:
            end += 1
        here = floats_at(y + 4 * row * width, n)
        if row != skipped and end - begin == 1:
            _add(floats_at(x + 4 * order[begin] * width, n), here)
        elif row != skipped:
            _copy(here, total)
            for i in range(begin, end):
                _add(floats_at(x + 4 * order[i] * width, n), total)
            _copy(total, here)
        begin = end


def add_rows(rows: np.ndarray, index: np.ndarray, table: np.ndarray, skipped: int = -1) -> np.ndarray:
    """np.add.at(table, index, rows), for rows (n, ...), index (n,) >= 0 and a contiguous table (m, ...).

    Rows whose index is `skipped` are left out. Returns the table. Raises IndexError for a row that is not there.
    """
    if rows.size:
        index = flat(index.astype(INT64), INT64)  # a copy: nobody can change it after it was found to be in range
        if index.min() < 0 or index.max() >= len(table):
            raise IndexError(f"add_rows: the index has {index.min()} to {index.max()}, but the table rows 0 to "
                             f"{len(table) - 1}")
        large, rest = rows.size >= PARALLEL_FROM, (rows.size // index.size, skipped, flat_out(table, table.shape)[1])
        if table.size == len(table):
            sums = np.bincount(index, rows.ravel(), len(table))
            sums[skipped] *= skipped < 0
            table += sums.reshape(table.shape)
        elif len(table) <= index.size:
            run(_add_all_task, large, flat(rows), index, *rest, tasks=threads.count)  # each reads all of the index
        else:
            order = np.empty(index.size, np.int64)
            _sort(index, np.zeros(len(table), np.int32), order)
            run(_add_sorted_task, large, flat(rows), index, order, *rest, tasks=threads.count)
    return table
