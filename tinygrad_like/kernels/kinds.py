"""What kernels declare of their arguments: see program.py."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..dtypes import FLOAT32, FLOAT64, INT64


class Array(NamedTuple):
    """What a kernel does to an array: an argument of compiled code with all its numbers in one row."""

    writes: bool = False
    dtype: np.dtype = FLOAT32
    axes: int = 1  # of the array that compiled code gets; 0: it gets the address of an array of any strides
    optional: bool = False  # None counts as an array of nothing

    def of(self, dtype: Any = FLOAT32, axes: int = 1) -> Array:
        return self._replace(dtype=np.dtype(dtype), axes=axes)


class Plan(NamedTuple):
    """A NamedTuple of integers and of int64 arrays: what kernels take that need many of them."""

    kind: Any
    axes: dict[str, int]  # of its arrays


READ, WRITE = Array(), Array(writes=True)
OPTIONAL, OPTIONAL_WRITE = READ._replace(optional=True), WRITE._replace(optional=True)
STRIDED, STRIDED_WRITE = READ._replace(axes=0), WRITE._replace(axes=0)
STRIDED_OPTIONAL = OPTIONAL._replace(axes=0)
INTEGERS, REALS = READ.of(INT64), READ.of(FLOAT64)
REAL, INTEGER = "d", "q"  # numbers, as `struct` names them
EPILOGUE = "Q"  # the last argument: 0, or where in the call's record that of its epilogue begins
TABLE = "table"  # a Table
