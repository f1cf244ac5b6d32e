"""A table: an argument of kernels that names any number of arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import chain, repeat

import numpy as np

from .simd import compiled
from .views import KIND, table_suits

DTYPES = [np.dtype(t) for t in (np.float32, np.float64, np.int64, np.int32, np.uint8)]
_TYPES = np.array([id(None), id(np.ndarray), *[ctypes.c_int64.from_address(id(t) + KIND).value for t in DTYPES]])
KNOWN_AT = _TYPES.ctypes.data  # what compiled code compares dtypes with


class Table:
    """The arrays of several rows, a tuple of them for each: an argument that names any number of arrays.

    Those of a row have one shape. All may be written but the second of each row. From the third on one may be None.
    """

    def __init__(self, rows: Sequence[tuple[np.ndarray | None, ...]]):
        self.rows, width = rows, len(rows[0])
        arrays = chain(chain.from_iterable(rows), repeat(None, width))  # the last row is for `begun`
        self.ids = np.fromiter(map(id, arrays), np.int64, width * (len(rows) + 1)).reshape(-1, width)
        self.ids[-1, 0] = 0

    def arrays(self) -> list[np.ndarray]:
        return [x for x in chain.from_iterable(self.rows) if x is not None]

    @property
    def suited(self) -> bool:
        """Whether the arrays are what a kernel takes; it can be any objects."""
        return _table_suits(id(self.ids), KNOWN_AT)

    @property
    def begun(self) -> bool:
        """Whether a kernel has begun to write to them."""
        return bool(self.ids[-1, 0])


@compiled()
def _table_suits(ids, known):
    return table_suits(ids, known)
