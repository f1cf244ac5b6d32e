"""Adding rows to the rows of a table that an index names: the gradient of an embedding."""

import numpy as np

from . import threads
from .simd import inner, kernel
from .tasks import flat, run

PARALLEL_FROM = 1 << 16


@inner
def _add(x, total):
    for j in range(x.size):
        total[j] += x[j]


@kernel()
def _add_rows_task(rows, index, width, skipped, table, task, tasks):
    """A task has some columns of every row: so two never write to one place, and a sum's order is that of the index."""
    start, stop = task * width // tasks, (task + 1) * width // tasks
    for i in range(index.size):
        if index[i] != skipped:
            row, place = i * width, index[i] * width
            _add(rows[row + start : row + stop], table[place + start : place + stop])


def add_rows(rows: np.ndarray, index: np.ndarray, table: np.ndarray, skipped: int = -1) -> np.ndarray:
    """np.add.at(table, index, rows), for rows (n, ...), index (n,) >= 0, unchecked, and a contiguous table (m, ...).

    Rows whose index is `skipped` are left out. Returns the table.
    """
    if rows.size:
        run(_add_rows_task, rows.size >= PARALLEL_FROM, flat(rows), index, rows.size // index.size, skipped,
            table.reshape(-1), tasks=threads.count)  # each reads all of the index
    return table
