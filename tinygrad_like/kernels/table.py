"""A table: an argument of kernels that names any number of arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import chain

import numpy as np

from .simd import compiled
from .views import KIND, table_suits

DTYPES = [np.dtype(t) for t in (np.float32, np.float64, np.int64, np.int32, np.uint8)]
_TYPES = np.array([id(None), id(np.ndarray), *[ctypes.c_int64.from_address(id(t) + KIND).value for t in DTYPES]])
KNOWN_AT = _TYPES.ctypes.data  # what compiled code compares dtypes with


class Table:
    """The arrays of several rows, a tuple of them for each: an argument that names any number of arrays.

    Those of a row are float32 and have one shape, but the last two: counts, int64, and numbers, float64. All may be
    written but the second, and the numbers. From the third on one may be None.
    """

    def __init__(self, rows: Sequence[tuple[np.ndarray | None, ...]]):
        self.rows, width = rows, len(rows[0])
        self.ids = np.fromiter(map(id, chain.from_iterable(rows)), np.int64, width * len(rows)).reshape(-1, width)

    def arrays(self) -> list[np.ndarray]:
        return [x for x in chain.from_iterable(self.rows) if x is not None]

    @property
    def suited(self) -> bool:
        """Whether the arrays are what a kernel takes; it can be any objects."""
        return _table_suits(id(self.ids), KNOWN_AT)


@compiled()
def _table_suits(ids, known):
    return table_suits(ids, known)
