"""The operands that ops accept besides Tensors, and the dtypes of results, for all ops.

Arrays and lists become Tensors; NumPy's scalars become Python numbers, which are weak: they take the other operand's
dtype. `dtypes.result_dtype` overrules NumPy's choices, such as float64 for int64 / int64. 16-bit inputs are cast to
float32, and the result is cast back. A gradient owns its memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.basics import basics
from ..core.dispatch import NOTHING, Op
from ..core.graph import Node, mode
from ..core.listener import pure, tell
from ..core.tensor import Tensor, wrap
from ..dtypes import (
    FLOAT16,
    FLOAT32,
    FLOAT64,
    FLOATS,
    INT64,
    NARROW,
    as_array,
    get_default_dtype,
    result_dtype,
)
from ..errors import refusal, rescued
from .cotangents import Scattered

# compiled: kernels replace even those calls for which NumPy, called from Python, is faster. around: if set, it runs the
# body of a listened op's call or pull, as around(objects whose code may run in it, body, *arguments).
mode.declare(compiled=False, around=None)
PLAIN = {int, float, bool, type(None)}  # inputs taken as they are: Python scalars are weak, None is absent
SETTINGS = PLAIN | {tuple, str, slice, type(FLOAT32), type(FLOAT64), type(INT64)}  # usual types of options
SINGLE = Tensor, np.float64  # may stand for a number; np.float64 would promote float32
MOVES = frozenset("bitcast cast cat clone contiguous expand flip identity permute reshape roll stack surround "
                  "take tril triu".split())  # ops that leave numbers unchanged
# Ops whose result has the common dtype of their inputs.
PROMOTES = frozenset("add floordiv fmod logical_and logical_or logical_xor lshift maximum minimum mod mul pow "
                     "rshift sub truncdiv where".split())


# The core's methods, which `install` replaces.
_run, _record, _pull, _failed = Op.run, Op.record, Op.pull, Op.failed


def by_position(op: Op) -> int:
    """The number of options that may be positional: 0 for a loss, where PyTorch has size_average and reduce."""
    return 0 if "reduction" in op.options else len(op.options)


def bind(op: Op, inputs, options: dict):
    """Sort arguments into inputs and options: options may be positional, and inputs may be named.

    An op with any number of inputs also takes them as a list, followed by the options.
    """
    if op.variadic:
        if inputs and type(inputs[0]) in (list, tuple):
            return inputs[0], {**options, **dict(zip(op.options, inputs[1:], strict=False))}
        return inputs, options
    n = len(op.inputs)
    if len(inputs) > n:
        if len(inputs) > (most := n + by_position(op)):
            raise TypeError(f"{op.name}: {len(inputs)} arguments, but it takes at most {most} by position: {op!r}")
        given = dict(zip(op.options, inputs[n:], strict=False))
        for name in given.keys() & options.keys():
            raise TypeError(f"{op.name}: {name!r} was given twice, by position and by name")
        return inputs[:n], {**given, **options}
    inputs, options = list(inputs), dict(options)
    for i in range(len(inputs), n):
        if i < op.required and op.inputs[i] not in options:
            raise TypeError(f"{op.name}: missing input {op.inputs[i]!r}: {op!r}")
        inputs.append(options.pop(op.inputs[i], None))
    return inputs, options


def general(op: Op, inputs, options: dict):
    """The general call, for any arguments and any listener, which is told only of options that are not the default."""
    if len(inputs) != op.arity:
        try:
            inputs, options = bind(op, inputs, options)
        except TypeError as error:
            if (y := rescued(op, inputs, options, error)) is NotImplemented:
                raise
            return y
    return run(op, inputs, {n: x for n, x in options.items() if n not in op.options or x is not op.options[n]})


def run(op: Op, inputs, options: dict):
    """`Op.run` for inputs and options of any kind."""
    for value in options.values():
        if type(value) not in SETTINGS and isinstance(value, SINGLE):
            return op(*inputs, **_numbers(op, options))
    tensors = any([isinstance(x, Tensor) for x in inputs])
    if not all([isinstance(x, Tensor) or type(x) in PLAIN for x in inputs]):
        if tensors:
            inputs = _tensors(op, inputs)
        elif any([type(x) is not np.ndarray and _is_complex(x) for x in inputs]):
            raise refusal(op.called, TypeError("takes real numbers, got complex ones"))
    if NARROW and tensors and (y := _in_float32(op, inputs, options)) is not NotImplemented:
        return y
    return _run(op, inputs, options)


def _is_complex(x) -> bool:
    try:
        return bool(np.iscomplexobj(x))
    except ValueError:  # a ragged list, for which the forward raises
        return False


def _numbers(op: Op, options: dict) -> dict:
    """The options, with 0-d Tensors and NumPy scalars turned into Python numbers."""
    who = op.name.lstrip("_")
    for name, value in options.items():
        if isinstance(value, Tensor) and value.requires_grad:
            raise TypeError(f"{who}: {name} is an option, which gets no gradient, but it is a Tensor that requires "
                            "grad; pass its .item(), or write the formula with differentiable ops")
        if isinstance(value, Tensor) and value.ndim:
            raise TypeError(f"{who}: {name} must be a number, got a Tensor of shape {value.shape}")
    return {name: value.item() if isinstance(value, SINGLE) else value for name, value in options.items()}


def _tensors(op: Op, inputs) -> list:
    """The inputs as Tensors and numbers. A list next to a float64 Tensor becomes float64: float32 would round its
    0.1."""
    given = [x.item() if type(x) not in PLAIN and isinstance(x, np.generic) and type(x.item()) in PLAIN else x
             for x in inputs]
    made = [x if isinstance(x, Tensor) or type(x) in PLAIN else
            wrap(x if mode.listener is not None and type(x) is np.ndarray else as_array(x, None, op.name))
            for x in given]  # a recorder knows this array, not a copy of it
    if any(x.dtype is FLOAT64 for x in made if isinstance(x, Tensor)):
        made = [wrap(as_array(x, FLOAT64, op.name)) if isinstance(x, list | tuple) and y.dtype is FLOAT32 else y
                for x, y in zip(given, made, strict=True)]
    return made


def _in_float32(op: Op, inputs, options: dict):
    """The call in float32, its result cast back to the inputs' dtype; NotImplemented if no input has 16 bits.

    Ops that only move elements run as they are, unless dtypes are mixed.
    """
    narrow = [isinstance(x, Tensor) and x.dtype in NARROW for x in inputs]
    if True not in narrow:
        return NotImplemented
    dtypes = {x.dtype for x in inputs if isinstance(x, Tensor)}
    if op.name in MOVES and len(dtypes) == 1:
        return NotImplemented
    given = [x for x in inputs if isinstance(x, Tensor) and x.dtype.kind in FLOATS]
    dtypes = {x.dtype for x in given if x.ndim} or {x.dtype for x in given}  # as dtypes.result_dtype
    y = op(*[basics.cast(x, dtype=FLOAT32) if n else x for x, n in zip(inputs, narrow, strict=True)], **options)
    return basics.cast(y, dtype=dtypes.pop()) if len(dtypes) == 1 and y.dtype is FLOAT32 else y


def promoted(op: Op, inputs, arrays, options: dict, out: np.ndarray):
    """(result, inputs to save), with the result in our dtype where NumPy chose another."""
    dtype = out.dtype
    if dtype is FLOAT16 and op.name not in MOVES:  # NumPy's dtype for exp of uint8; ours is the default
        return op(*[basics.cast(x, dtype=get_default_dtype()) if isinstance(x, Tensor) else x for x in inputs],
                  **options), inputs
    if dtype.kind in "iu" and op.name in PROMOTES and (alike := _of_those_with_axes(inputs)) is not None:
        return op(*alike, **options), inputs
    ours = result_dtype(op.name, dtype, arrays, options)
    if dtype is FLOAT64 and ours is FLOAT32 and any(isinstance(x, Tensor) and x.dtype is FLOAT64 for x in inputs):
        return op(*[basics.cast(x, dtype=FLOAT32) if isinstance(x, Tensor) and x.dtype is FLOAT64 else x
                    for x in inputs], **options), inputs
    if dtype is ours:
        return out, inputs
    if any([isinstance(x, Tensor) and x.requires_grad for x in inputs]):
        # In a rule, an integer Tensor would be promoted in NumPy's way again.
        inputs = [wrap(_astype(x._data, ours)) if isinstance(x, Tensor) and x.dtype.kind not in FLOATS else x
                  for x in inputs]
    return _astype(out, ours), inputs


def _of_those_with_axes(inputs) -> list | None:
    """The inputs, with 0-d integers cast to the dtype of those with axes, as in PyTorch: uint8 times a 0-d int64 Tensor
    is uint8. None if there is nothing to cast."""
    wide = {x.dtype for x in inputs if isinstance(x, Tensor) and x.dtype.kind in "iu" and x._data.ndim}
    if not wide:
        return None
    dtype = wide.pop() if len(wide) == 1 else np.result_type(*wide)
    alike = [basics.cast(x, dtype=dtype) if isinstance(x, Tensor) and x.dtype.kind in "iu" and x.dtype is not dtype and
             not x._data.ndim else x for x in inputs]
    return None if all([x is y for x, y in zip(inputs, alike, strict=True)]) else alike


@pure
def _astype(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return x.astype(dtype)


def record(op: Op, inputs, arrays, options: dict, out, residuals=NOTHING) -> Tensor:
    """`Op.record`, with the result in our dtype."""
    if type(out) is tuple:
        out, residuals = out
    out = np.asarray(out)
    if out.dtype is not FLOAT32:
        out, inputs = promoted(op, inputs, arrays, options, out)
        if isinstance(out, Tensor):
            return out
    return _record(op, inputs, arrays, options, out, residuals)


def pull(op: Op, node: Node, g, parents) -> list:
    """`Op.pull`, with the cotangent in the form that rules need: dense, and float32 instead of 16 bits."""
    g = g.written() if type(g) is Scattered else g
    g = basics.cast(g, dtype=FLOAT32) if NARROW and node.dtype in NARROW else g
    return _pull(op, node, g, parents) if mode.around is None else mode.around(op, _pull, op, node, g, parents)


def failed(op: Op, error: Exception, inputs, arrays, options: dict):
    """Retry if a Python integer does not fit the other operand's dtype, or if a registered rescue knows what the user
    meant; else raise a clear error."""
    if type(error) is OverflowError and (narrow := _wrapped_around(inputs, arrays)) is not None:
        return op(*narrow, **options)
    if (y := rescued(op, inputs, options, error)) is not NotImplemented:
        return y
    tell("failed", op.name)
    return _failed(op, error, inputs, arrays, options)


def _wrapped_around(inputs, arrays) -> list | None:
    """The inputs, with Python integers wrapped around to the other operand's dtype: as in PyTorch, -1 next to uint8 is
    255. None if all of them fit."""
    dtypes = [x.dtype for x in arrays if getattr(x, "dtype", FLOAT32).kind in "iu"]
    if not dtypes:
        return None
    bounds = np.iinfo(np.result_type(*dtypes))
    least, count = int(bounds.min), int(bounds.max) - int(bounds.min) + 1
    if all([type(x) is not int or least <= x < least + count for x in inputs]):
        return None
    return [(x - least) % count + least if type(x) is int else x for x in inputs]


def fills(array: np.ndarray) -> bool:
    """Whether an array fills the memory that it keeps alive."""
    base = array.base
    return base is None or isinstance(base, np.ndarray) and base.nbytes <= array.nbytes


def own(c: Any, owned: bool) -> Tensor:
    """A cotangent as a gradient that owns its memory: without a copy if the backward walk owned it."""
    if type(c) is Scattered:
        c, owned = c.written(), True
    array = c if type(c) is np.ndarray else getattr(c, "_data", None)
    alone = owned and array is not None and array.flags.c_contiguous and fills(array)
    if isinstance(c, Tensor):  # no node may have saved it, or it could not be changed in place
        return c if alone and (c.node is None or getattr(c.node.op, "out", 0) is None) else basics.clone(c)
    return wrap(np.array(c) if array is None else array if alone else basics.copied(array))


def install() -> None:
    """Route every op call through this module."""
    for f in general, run, record, pull, failed:
        setattr(Op, f.__name__, f)
    Op.__call__ = lambda self, *inputs, **options: general(self, inputs, options)  # type: ignore[method-assign]
