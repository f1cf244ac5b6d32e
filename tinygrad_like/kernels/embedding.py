"""Adding rows to the rows of a table that an index names: the gradient of an embedding.

A row of the table may be named a million times, which in float32 would lose as many digits as that number has. So the
index is sorted first, and what is added to one row is added up in float64.
"""

import numpy as np

from ..dtypes import INT64
from . import threads
from .reduce import _add
from .simd import kernel
from .tasks import flat, flat_out, run

PARALLEL_FROM = 1 << 16


@kernel()
def _sort(index, ends, order):
    """order = argsort(index), stable, by counting; ends has a 0 for each row of the table."""
    for row in index:
        ends[row] += 1
    for row in range(1, ends.size):
        ends[row] += ends[row - 1]
    for i in range(index.size - 1, -1, -1):
        ends[index[i]] -= 1
        order[ends[index[i]]] = i


@kernel()
def _add_rows_task(rows, index, order, width, skipped, table, task, tasks):
    """A task has some columns of every row: so two never write to one place."""
    start, stop = task * width // tasks, (task + 1) * width // tasks
    total, done = np.empty(stop - start), 0
    while done < order.size:
        row, begin = index[order[done]], done
        while done < order.size and index[order[done]] == row:
            done += 1
        if row == skipped:
            continue
        here = table[row * width + start : row * width + stop]
        if done - begin == 1:
            _add(rows[order[begin] * width + start : order[begin] * width + stop], here)
            continue
        total[:] = here
        for i in order[begin:done]:
            _add(rows[i * width + start : i * width + stop], total)
        here[:] = total


def add_rows(rows: np.ndarray, index: np.ndarray, table: np.ndarray, skipped: int = -1) -> np.ndarray:
    """np.add.at(table, index, rows), for rows (n, ...), index (n,) >= 0 and a contiguous table (m, ...).

    Rows whose index is `skipped` are left out. Returns the table. Raises IndexError for a row that is not there.
    """
    if rows.size:
        index = flat(index.astype(INT64), INT64)  # a copy: nobody can change it after it was found to be in range
        if index.min() < 0 or index.max() >= len(table):
            raise IndexError(f"add_rows: the index has {index.min()} to {index.max()}, but the table rows 0 to "
                             f"{len(table) - 1}")
        if len(table) > 4 * index.size:
            order = np.argsort(index, kind="stable")
        else:
            order = np.empty(index.size, np.int64)
            _sort(index, np.zeros(len(table), np.int64), order)
        _, row = flat_out(table, table.shape)
        run(_add_rows_task, rows.size >= PARALLEL_FROM, flat(rows), index, order, rows.size // index.size, skipped,
            row, tasks=threads.count)  # each reads all of the index
    return table
