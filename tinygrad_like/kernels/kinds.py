"""The kinds of arguments that kernels declare: see program.py."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import FLOAT32, FLOAT64, INT64
from .cache import compiled
from .views import KIND, table_suits


class Array(NamedTuple):
    """How a kernel uses an array; compiled code gets its elements as one row."""

    writes: bool = False
    dtype: np.dtype = FLOAT32
    axes: int = 1  # axes of the array that compiled code gets; 0: it gets the address of an array of any strides
    optional: bool = False  # None counts as an empty array

    def of(self, dtype: Any = FLOAT32, axes: int = 1) -> Array:
        return self._replace(dtype=np.dtype(dtype), axes=axes)


class Plan(NamedTuple):
    """A NamedTuple of integers and of int64 arrays, for kernels that need many of them."""

    kind: Any
    axes: dict[str, int]  # of its arrays


class Rows(NamedTuple):
    """A Table whose arrays have this dtype."""

    dtype: np.dtype = FLOAT32


READ, WRITE = Array(), Array(writes=True)
OPTIONAL, OPTIONAL_WRITE = READ._replace(optional=True), WRITE._replace(optional=True)
STRIDED, STRIDED_WRITE = READ._replace(axes=0), WRITE._replace(axes=0)
STRIDED_OPTIONAL = OPTIONAL._replace(axes=0)
INTEGERS, REALS = READ.of(INT64), READ.of(FLOAT64)
REAL, INTEGER = "d", "q"  # numbers, as `struct` names them

DTYPES = [np.dtype(t) for t in (np.float32, np.float64, np.int64, np.int32, np.uint8)]
_TYPES = np.array([id(None), id(np.ndarray), *[ctypes.c_int64.from_address(id(t) + KIND).value for t in DTYPES]])
KNOWN_AT = _TYPES.ctypes.data  # compiled code compares dtypes with these


class Table:
    """Rows of arrays, each row a tuple: an argument for any number of arrays.

    The arrays of a row have one dtype and one shape, except the last two: counts, int64, and numbers, float64. The
    kernel may write to all but the second and the numbers. From the third on, an array may be None.
    """

    def __init__(self, rows: Sequence[tuple[np.ndarray | None, ...]], dtype: np.dtype = FLOAT32):
        self.rows, self.dtype, width = rows, dtype, len(rows[0])
        self.ids = np.fromiter(map(id, chain.from_iterable(rows)), np.int64, width * len(rows)).reshape(-1, width)

    def arrays(self) -> list[np.ndarray]:
        return [x for x in chain.from_iterable(self.rows) if x is not None]

    @property
    def suited(self) -> bool:
        """Whether the arrays are valid for a kernel; they may be any objects."""
        return bool(_table_suits(id(self.ids), KNOWN_AT, DTYPES.index(self.dtype)))


@compiled()
def _table_suits(ids, known, dtype):
    return table_suits(ids, known, dtype)
