"""Read arrays in compiled code, which gets the address of the array object, `id(array)` in CPython.

NumPy's ABI fixes the offsets of the object's fields. So a call only packs some integers, and one compiled function
takes any shape and any strides.
"""

import ctypes
from collections.abc import Callable
from functools import cache

import numpy as np
from llvmlite import ir

from ..dtypes import FLOAT32, FLOAT64, INT64
from ..transforms.codegen import define
from .late import carray, cgutils, intrinsic, numba, types
from .simd import I32, I64, element, function, inner, integer, load

_DATA, _NDIM, _SHAPE, _STRIDES = (object.__basicsize__ + offset for offset in (0, 8, 16, 24))
_TYPE, _DTYPE, _FLAGS = (object.__basicsize__ + offset for offset in (-8, 40, 48))
_C_ORDER, _ALIGNED, _WRITABLE = 0x1, 0x100, 0x400
KIND = object.__basicsize__ + 8  # offset of the eight bytes that identify a dtype; unpickled dtypes are other objects


def _entry(kind, result):
    return function(lambda b, address, index: load(b, element(b, address, index, integer(8)), kind),
                    result, types.intp, types.intp)


@intrinsic
def integer_at(typing, address, index):
    """Entry `index` of the int64 array at an address."""
    return _entry(I64, types.intp)


@intrinsic
def real_at(typing, address, index):
    """Entry `index` of the float64 array at an address."""
    return _entry(ir.DoubleType(), types.float64)


def address(x: np.ndarray) -> int:
    """The address of an array's first element. NumPy's own functions for it take ten times as long."""
    return ctypes.c_int64.from_address(id(x) + _DATA).value


@inner
def data_of(array):
    """The address of the first element of the array with this id."""
    return integer_at(array + _DATA, 0)


@intrinsic
def ndim_of(typing, array):
    """Its number of axes."""
    return function(lambda b, x: b.zext(load(b, b.add(x, integer(_NDIM)), I32), I64), types.intp, types.intp)


@inner
def size_of(array, axis):
    """Length of an axis, counted from the first."""
    return integer_at(integer_at(array + _SHAPE, 0), axis)


@inner
def stride_of(array, axis):
    """Bytes from one entry to the next along an axis."""
    return integer_at(integer_at(array + _STRIDES, 0), axis)


@inner
def count_of(array):
    """Its number of elements."""
    count = 1
    for axis in range(ndim_of(array)):
        count *= size_of(array, axis)
    return count


@inner
def count_of_matrices(array):
    """The number of matrices in an array (..., rows, columns)."""
    count = 1
    for axis in range(ndim_of(array) - 2):
        count *= size_of(array, axis)
    return count


@inner
def has_contiguous_rows(x):
    """Whether the rows of this array are contiguous."""
    last = ndim_of(x) - 1
    return last < 0 or size_of(x, last) <= 1 or stride_of(x, last) == 4 or count_of(x) == 0


@inner
def is_contiguous(x):
    """Whether this array lies in C order, without gaps."""
    return integer_at(x + _FLAGS, 0) & _C_ORDER != 0


@inner
def suits(x, known, dtype, writes, axes):
    """Whether x is the address of an aligned array of a dtype, in C order unless axes is 0; 0 stands for None.

    known: `KNOWN_AT` of kinds.py; dtype: the index of the dtype in `DTYPES`.
    """
    if x == 0:
        return True
    flags = integer_at(x + _FLAGS, 0)
    return (integer_at(x + _TYPE, 0) == integer_at(known, 1)
            and integer_at(integer_at(x + _DTYPE, 0) + KIND, 0) == integer_at(known, 2 + dtype)
            and flags & _ALIGNED != 0 and (writes == 0 or flags & _WRITABLE != 0)
            and (axes == 0 or flags & _C_ORDER != 0) and (axes < 2 or ndim_of(x) == axes))


def _pointer(dtype: np.dtype) -> Callable:
    """An intrinsic that turns an address into a pointer to numbers of this dtype."""

    @intrinsic
    def pointer(typing, address):
        pointed = types.CPointer(numba.from_dtype(dtype))

        def codegen(context, b, signature, values):
            return b.inttoptr(values[0], context.get_value_type(signature.return_type))

        return pointed(types.intp), codegen

    return pointer


_float_pointer, _real_pointer, _integer_pointer = _pointer(FLOAT32), _pointer(FLOAT64), _pointer(INT64)


@inner
def floats_at(address, count):
    """The array of `count` float32 at an address."""
    return carray(_float_pointer(address), (count,))


@inner
def reals_at(address, count):
    """The array of `count` float64 at an address."""
    return carray(_real_pointer(address), (count,))


@inner
def integers_at(address, count):
    """The array of `count` int64 at an address."""
    return carray(_integer_pointer(address), (count,))


STACK_BYTES = 2**14


@intrinsic
def stack_buffer(typing):
    """The address of STACK_BYTES of stack memory, valid until the kernel returns. Call it in the kernel itself.

    Allocating and freeing memory takes a tenth of a microsecond, half as long as a small product.
    """
    def emit(b):
        return b.ptrtoint(cgutils.alloca_once(b, ir.ArrayType(I64, STACK_BYTES // 8)), I64)

    return function(emit, types.intp)


@cache
def view(dtype: np.dtype, axes: int) -> Callable:
    """A function that makes an array, in compiled code, from the address of its object."""
    sizes = "count_of(x)," if axes == 1 else ", ".join([f"size_of(x, {axis})" for axis in range(axes)])
    # A process may load the code of several kernels from disk, and its function names must be unique.
    name = f"view_{dtype.name}_{axes}"
    text = f"def {name}(x): return carray(pointer(data_of(x) if x else 0), ({sizes}) if x else ({'0, ' * axes}))"
    return inner(define(name, text, f"<{name}>", {**globals(), "pointer": _pointer(dtype)}))


@inner
def largest(size, cost):
    """Nanoseconds for so many elements."""
    return int(size * cost)


_view_of_table = view(INT64, 2)


@inner
def table_suits(ids, known, dtype):
    """Whether the arrays of a table fit `Table`; a None becomes 0."""
    table = _view_of_table(ids)
    for row in table:
        x, counts = row[0], row.size - 2
        for i in range(row.size):
            a = row[i]
            if i > 1 and (a == 0 or a == integer_at(known, 0)):
                row[i] = 0
                continue
            if i >= counts:
                if not suits(a, known, 2 if i == counts else 1, 1 if i == counts else 0, 1):
                    return False
                continue
            if not suits(a, known, dtype, 0 if i == 1 else 1, 1) or ndim_of(a) != ndim_of(x):
                return False
            for axis in range(ndim_of(a)):
                if size_of(a, axis) != size_of(x, axis):
                    return False
    return True
