"""Arrays in compiled code, which gets `id(array)`: in CPython that is the address of the array object.

There it reads where the numbers, the shape and the strides are. So one compiled function serves any number of axes and
any strides, and a call costs no more than to pass an integer; the caller keeps the array alive. NumPy's ABI keeps the
fields where they are.
"""

from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from .simd import I32, I64, element, function, inner, integer, load

_DATA, _NDIM, _SHAPE, _STRIDES = (object.__basicsize__ + offset for offset in (0, 8, 16, 24))
_FLAGS, _C_ORDER = object.__basicsize__ + 48, 0x1


@intrinsic
def integer_at(typing, address, index):
    """Entry `index` of the int64 from an address on."""
    return function(lambda b, address, index: load(b, element(b, address, index, integer(8)), I64),
                    types.intp, types.intp, types.intp)


@intrinsic
def real_at(typing, address, index):
    """Entry `index` of the float64 from an address on."""
    return function(lambda b, address, index: load(b, element(b, address, index, integer(8)), ir.DoubleType()),
                    types.float64, types.intp, types.intp)


@inner
def data_of(array):
    """Address of the first number of the array with this id."""
    return integer_at(array + _DATA, 0)


@intrinsic
def ndim_of(typing, array):
    """Number of axes."""
    return function(lambda b, x: b.zext(load(b, b.add(x, integer(_NDIM)), I32), I64), types.intp, types.intp)


@inner
def size_of(array, axis):
    """Length of an axis, counted from the first."""
    return integer_at(integer_at(array + _SHAPE, 0), axis)


@inner
def stride_of(array, axis):
    """Bytes from one entry to the next along an axis."""
    return integer_at(integer_at(array + _STRIDES, 0), axis)


@intrinsic
def _pointer(typing, address):
    def codegen(context, b, signature, values):
        return b.inttoptr(values[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float32)(types.intp), codegen


@inner
def count_of(array):
    """How many numbers it holds."""
    count = 1
    for axis in range(ndim_of(array)):
        count *= size_of(array, axis)
    return count


@inner
def is_row_by_row(x):
    """Whether the numbers of a row of this array lie together."""
    last = ndim_of(x) - 1
    return last < 0 or size_of(x, last) <= 1 or stride_of(x, last) == 4 or count_of(x) == 0


@inner
def is_contiguous(x):
    """Whether this array lies in C order, without gaps."""
    return integer_at(x + _FLAGS, 0) & _C_ORDER != 0


@inner
def floats_at(address, count):
    """So many float32 from an address on, as an array."""
    return carray(_pointer(address), (count,))
