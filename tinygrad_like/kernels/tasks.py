"""How a kernel is run: as one task, or as one for every thread.

A kernel is written as a task, `f(..., task, tasks)`, which does share number `task` of `tasks` of some work. All
kernels share one parallel loop, which calls them by address: a `prange` around each would compile its body four times.
"""

import numpy as np
from numba import prange, typeof, types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from ..dtypes import FLOAT32
from . import threads
from .simd import kernel


@intrinsic
def call(typing, address, plan, arguments, task, tasks):
    """Call the compiled function at `address` with plan, if it is a tuple, the members of arguments, task and tasks."""
    planned = isinstance(plan, types.BaseTuple)
    kinds = (*([plan] if planned else []), *arguments.types, types.intp, types.intp)

    def codegen(context, builder, signature, values):
        address, plan, arguments, task, tasks = values
        function = context.call_conv.get_function_type(types.none, kinds).as_pointer()
        members = cgutils.unpack_tuple(builder, arguments, len(signature.args[2]))
        members = [*([plan] if planned else []), *members, task, tasks]
        context.call_conv.call_function(builder, builder.inttoptr(address, function), types.none, kinds, members)
        return context.get_dummy_value()

    return types.void(types.intp, plan, arguments, types.intp, types.intp), codegen


@kernel(parallel=True)
def _call_in_parallel(address, plan, arguments, tasks):
    for task in prange(tasks):
        call(address, plan, arguments, task, tasks)


def address_of(task: Dispatcher, *kinds: types.Type) -> int:
    """Where the code of a task is, for arguments of these types; compiled if need be."""
    signature = (*kinds, types.intp, types.intp)
    task.compile(signature)
    compiled = task.overloads[signature]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


_addresses: dict[tuple, int] = {}


def run(task: Dispatcher, large: bool, *arguments) -> None:
    """Do all of a task's work: at once, or, if there is much of it, spread over the threads.

    Arguments are arrays and numbers, and the first may be a NamedTuple of them, a plan. Arrays must have the same
    dtypes and number of axes at every call; `flat` makes sure of that. The first call, which compiles the task or loads
    it, is never spread.
    """
    if not large or threads.count == 1:
        task(*arguments, 0, 1)
        return
    key = (task, *map(type, arguments))  # compiled code takes an int and a float in different registers
    if key not in _addresses:
        task(*arguments, 0, 1)
        _addresses[key] = address_of(task, *map(typeof, arguments))
        return
    # A plan goes by itself: numba cannot hand a parallel loop a tuple within a tuple.
    plan, rest = (arguments[0], arguments[1:]) if isinstance(arguments[0], tuple) else (0, arguments)
    with threads.pool:
        _call_in_parallel(_addresses[key], plan, rest, threads.count)


def flat(x: np.ndarray) -> np.ndarray:
    """x as one contiguous row of float32; a copy if x is not contiguous."""
    if x.dtype is not FLOAT32:
        raise TypeError(f"this kernel is for float32 arrays, got {x.dtype}")
    return x.ravel()


def flat_out(out: np.ndarray | None, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """`out`, or a new array, of this shape; and the same memory as one row."""
    if out is None:
        out = np.empty(shape, np.float32)
    elif out.shape != shape or out.dtype is not FLOAT32 or not out.flags.c_contiguous:
        raise ValueError(f"out must be a C-contiguous float32 array of shape {shape}, got {out.dtype} {out.shape} with "
                         f"strides {out.strides}")
    return out, out.ravel()
