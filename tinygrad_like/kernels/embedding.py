"""Adding rows to the rows of a table that an index names: the gradient of an embedding."""

import numpy as np

from ..dtypes import INT64
from . import threads
from .simd import inner, kernel
from .tasks import flat, flat_out, run

PARALLEL_FROM = 1 << 16


@inner
def _add(x, total):
    for j in range(x.size):
        total[j] += x[j]


@kernel()
def _add_rows_task(rows, index, width, skipped, table, wrong, task, tasks):
    """A task has some columns of every row: so two never write to one place, and a sum's order is that of the index.

    wrong[0]: 1 + the position of an index that is no row of the table, which is left out. This is checked where it is
    used, for the index may lie in memory that someone else changes meanwhile.
    """
    start, stop = task * width // tasks, (task + 1) * width // tasks
    for i in range(index.size):
        at = index[i]
        if at == skipped:
            continue
        if at < 0 or at >= table.size // width:
            wrong[0] = i + 1
            continue
        _add(rows[i * width + start : i * width + stop], table[at * width + start : at * width + stop])


def add_rows(rows: np.ndarray, index: np.ndarray, table: np.ndarray, skipped: int = -1) -> np.ndarray:
    """np.add.at(table, index, rows), for rows (n, ...), index (n,) of int64 and a contiguous table (m, ...).

    Rows whose index is `skipped` are left out. Returns the table. Raises IndexError unless 0 <= index < m.
    """
    wrong = np.zeros(1, np.int64)
    if rows.size:
        index = flat(index.astype(INT64, copy=False), INT64)
        _, row = flat_out(table, table.shape)
        run(_add_rows_task, rows.size >= PARALLEL_FROM, flat(rows), index, rows.size // index.size, skipped,
            row, wrong, tasks=threads.count)  # each reads all of the index
    if wrong[0]:
        raise IndexError(f"index {index[wrong[0] - 1]} at position {wrong[0] - 1} is out of range for {len(table)} rows")
    return table
