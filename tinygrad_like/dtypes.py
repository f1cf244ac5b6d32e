"""The dtypes of Tensors, and how outside data becomes an array of one of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .environment import require

FLOAT16 = np.dtype("float16")
FLOAT32, FLOAT64 = np.dtype("float32"), np.dtype("float64")  # NumPy keeps one object per dtype: compare with `is`
INT64, BOOL = np.dtype("int64"), np.dtype("bool")
# Looked up by value: a dtype from a pickle equals one of these without being the same object.
SUPPORTED = {
    np.dtype(n): np.dtype(n)
    for n in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")
}
FLOATS = "fV"  # the kinds of floating-point dtypes; V is the kind of bfloat16, which comes from ml_dtypes
# 16-bit dtypes, for storing and moving numbers: ops compute in float32 and round the result (`ops/operands.py`). The
# set holds only those that some array has had, so a program without them skips all checks.
NARROW: set[np.dtype] = set()

_default = FLOAT32
_SEVERAL = tuple, list, dict


def get_default_dtype() -> np.dtype:
    """The dtype of Python floats, of new Tensors without a dtype, and of floating-point results of integers."""
    return _default


def set_default_dtype(dtype: Any) -> None:
    """Set the default dtype of all threads: float32, the initial one, or float64. Raises TypeError for others."""
    global _default
    dtype = as_dtype(dtype, "set_default_dtype")
    if dtype not in (FLOAT32, FLOAT64):
        raise TypeError(f"set_default_dtype: the default must be float32 or float64, the dtypes of ops, not {dtype}; "
                        "pass dtype= when creating a Tensor, or cast a model")
    _default = dtype


def bfloat16() -> np.dtype:
    """The dtype bfloat16, the upper half of a float32. Raises ImportError without the package ml_dtypes."""
    require("bfloat16", "ml_dtypes", otherwise=", or use float16")
    import ml_dtypes

    dtype = np.dtype(ml_dtypes.bfloat16)
    return SUPPORTED.setdefault(dtype, dtype)


def wide(dtype: np.dtype) -> np.dtype:
    """The dtype to compute in."""
    return FLOAT32 if dtype in NARROW else dtype


def supported(dtype: np.dtype) -> np.dtype | None:
    """The Tensor dtype that equals this one, or None."""
    if dtype.kind == "V" and dtype.name == "bfloat16":
        dtype = bfloat16()
    found = SUPPORTED.get(dtype)
    if found is not None and found.itemsize == 2 and found.kind in FLOATS:
        NARROW.add(found)
    return found


def as_dtype(dtype: Any, who: str) -> np.dtype:
    """The NumPy dtype named by `dtype`. Raises TypeError, in the name of `who`, if a Tensor cannot have it."""
    try:
        dtype = bfloat16() if isinstance(dtype, str) and dtype == "bfloat16" else np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{who}: {dtype!r} is not a dtype; use one of {_names()}") from None
    found = supported(dtype)
    if found is None:
        raise TypeError(f"{who}: dtype {dtype} is not supported; cast to one of {_names()}")
    return found


def finfo(dtype: Any) -> Any:
    """The limits of a floating-point dtype, like NumPy's `finfo`."""
    dtype = as_dtype(dtype, "finfo")
    if dtype.kind == "V":
        import ml_dtypes

        return ml_dtypes.finfo(dtype)
    return np.finfo(dtype)


def result_dtype(who: str, dtype: np.dtype, arrays, options) -> np.dtype:
    """The dtype of a result for which NumPy chose `dtype`: int64 or float32; float64 only with a float64 input, or, if
    it is the default, without floating-point inputs.

    NumPy would return float64 for int / int or int * float32, and uint64 for sum(uint8).
    """
    if dtype in NARROW:  # the op only moves numbers
        return dtype
    if dtype.kind == "f":
        given = [a for a in arrays if getattr(a, "dtype", BOOL).kind == "f"]
        given = [a for a in given if a.ndim] or given  # as in PyTorch, 0-d inputs count only if there are no others
        float64 = "dtype" in options or any(a.dtype is FLOAT64 for a in given) or not given and _default is FLOAT64
        return FLOAT64 if dtype == FLOAT64 and float64 else FLOAT32
    if dtype.kind not in "iub":
        raise TypeError(f"{who}: the result would be {dtype}, which no Tensor holds")
    if dtype.kind == "i" and dtype.itemsize == 1 and "dtype" not in options and all(
            getattr(a, "dtype", BOOL) is BOOL for a in arrays):
        return INT64  # as for the square of booleans
    return dtype if dtype in SUPPORTED else INT64


def promote_types(a: Any, b: Any) -> np.dtype:
    """The common dtype of two, as in PyTorch: for an integer and a floating-point dtype, the latter."""
    a, b = as_dtype(a, "promote_types"), as_dtype(b, "promote_types")
    if a is b or a.kind in FLOATS and b.kind not in FLOATS:
        return a
    if b.kind in FLOATS:
        return b if a.kind not in FLOATS else FLOAT64 if FLOAT64 in (a, b) else FLOAT32
    return np.promote_types(a, b)


def can_cast(from_: Any, to: Any) -> bool:
    """Whether an in-place change may write one dtype into another, as in PyTorch: no floats into integers, and nothing
    else into booleans."""
    from_, to = as_dtype(from_, "can_cast"), as_dtype(to, "can_cast")
    return (to.kind in FLOATS or from_.kind not in FLOATS) and (to is not BOOL or from_ is BOOL)


def as_array(data: Any, dtype: Any, who: str) -> np.ndarray:
    """A new array of `data`. Without `dtype`, floats get the default dtype, ints int64, and arrays keep theirs."""
    if isinstance(data, list | tuple) and any(getattr(x, "requires_grad", False) for x in data):
        raise TypeError(f"{who}: a sequence of Tensors that require grad would lose their graph; "
                        "join them with stack or cat")
    _refuse_mask(data, who)
    try:
        array = np.asarray(data)
    except ValueError:
        shapes = [tuple(x.shape) for x in data if hasattr(x, "shape")] if isinstance(data, list | tuple) else []
        why = (f"arrays of shapes {', '.join(map(str, shapes))} form no array; pass each by itself, or join them with "
               "stack or cat" if shapes else "the nested sequence is ragged; all rows must have the same length")
        raise ValueError(f"{who}: {why}") from None
    if dtype is not None:
        wanted = as_dtype(dtype, who)
    elif array.dtype == FLOAT64 and not hasattr(data, "dtype"):
        wanted = _default
    else:
        wanted = array.dtype.newbyteorder("=")
    found = supported(wanted)
    if array.dtype.kind not in "fiub" and supported(array.dtype) is None or found is None:
        raise TypeError(f"{who}: cannot hold {type(data).__name__} data of dtype {array.dtype}; "
                        f"cast to one of {_names()}")
    # asarray may share memory with anything but these.
    return array.astype(found, copy=not isinstance(data, list | tuple | int | float))


def checked(array: Any, who: str) -> np.ndarray:
    """The array, if a Tensor may share its memory: a plain array of a supported dtype, since kernels read addresses.

    Raises TypeError in the name of `who`. A memory map becomes a plain array.
    """
    if type(array) is not np.ndarray:
        if not isinstance(array, np.ndarray):
            raise TypeError(f"{who}: takes a NumPy array, got {type(array).__name__}; Tensor(data) copies other "
                            "data")
        _refuse_mask(array, who)
        if not isinstance(array, np.memmap):
            raise TypeError(f"{who}: takes a plain array, got {type(array).__name__}, whose operators may mean "
                            "something else; pass np.asarray(array)")
        array = np.asarray(array)
    dtype = as_dtype(array.dtype, who)
    if not array.flags.aligned:
        raise TypeError(f"{who}: the array's memory is not aligned for {dtype}; pass array.copy()")
    return array if array.dtype is dtype else array.view(dtype)


def _refuse_mask(data: Any, who: str) -> None:
    if isinstance(data, np.ndarray) and hasattr(data, "mask"):
        raise TypeError(f"{who}: Tensors have no masks, and masked entries are not data; pass array.filled(value)")


def _names() -> str:
    return ", ".join(sorted({"bfloat16", *map(str, SUPPORTED)}))


def memory(x: np.ndarray) -> np.ndarray:
    """The array that owns the memory of x."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x


def arrays_in(value: Any) -> list[np.ndarray]:
    """The arrays in nested tuples, lists and dicts."""
    if isinstance(value, np.ndarray):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, _SEVERAL) else ()
    return [x for part in parts for x in (
        (part,) if isinstance(part, np.ndarray) else arrays_in(part) if isinstance(part, _SEVERAL) else ())]
