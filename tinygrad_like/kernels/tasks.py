"""How a kernel is run: as one task, or as several for every thread.

A kernel is written as a task, `f(..., task, tasks)`, which does share number `task` of `tasks` of some work. All
kernels share one parallel loop, which calls them by address: a `prange` around each would compile its body four times.

Every thread has a range of tasks, and helps with those of others when it has done its own. With one task for each, all
would wait for the slowest, and cores are often slower than their neighbours, by what else the machine does.
"""

import numpy as np
from numba import prange, typeof, types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from ..dtypes import FLOAT32
from . import threads
from .simd import claim, inner, kernel

PER_THREAD = 8  # tasks of a thread: enough for the last ones to even things out, and few enough to be worth a call
COUNTS = 8  # int64 from one thread's count to the next: in one cache line, they would slow each other down


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


@inner
def reset(counts):
    """Set counts to 0. In a parallel kernel, np.zeros and `counts[:] = 0` would be parallel regions of their own."""
    for i in range(counts.size):
        counts[i] = 0


@inner
def take(counts, worker, workers, tasks):
    """The next task for one of several workers, of its own range or else of another's; -1 if none is left.

    counts: the address of COUNTS int64 for every worker, 0 at first.
    """
    for offset in range(workers):
        owner = (worker + offset) % workers
        task = owner * tasks // workers + claim(counts + 8 * COUNTS * owner)
        if task < (owner + 1) * tasks // workers:
            return task
    return -1


@kernel(parallel=True)
def _call_in_parallel(address, plan, arguments, tasks, workers):
    counts = np.empty(COUNTS * workers, np.int64)
    reset(counts)
    for worker in prange(workers):
        task = take(counts.ctypes.data, worker, workers, tasks)
        while task >= 0:
            call(address, plan, arguments, task, tasks)
            task = take(counts.ctypes.data, worker, workers, tasks)


def address_of(task: Dispatcher, *kinds: types.Type) -> int:
    """Where the code of a task is, for arguments of these types; compiled if need be."""
    signature = (*kinds, types.intp, types.intp)
    task.compile(signature)
    compiled = task.overloads[signature]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)


_addresses: dict[tuple, int] = {}


def run(task: Dispatcher, large: bool, *arguments, tasks: int | None = None) -> None:
    """Do all of a task's work: at once, or, if there is much of it, spread over the threads, in so many tasks.

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
        _call_in_parallel(_addresses[key], plan, rest, tasks or PER_THREAD * threads.count, threads.count)


def plain(x: np.ndarray, dtype: np.dtype = FLOAT32) -> np.ndarray:
    """x, or a copy of it, as kernels take it: C-contiguous, aligned and writable, of this dtype.

    Read-only arrays are of another type for numba, which would compile a kernel anew for each mixture of the two.
    """
    if type(x) is np.ndarray and x.dtype is dtype and x.flags.carray:
        return x
    x = np.asarray(x)  # of a subclass
    if x.dtype != dtype:
        raise TypeError(f"this kernel is for {dtype} arrays, got {x.dtype}")
    return x if x.dtype is dtype and x.flags.carray else np.array(x, dtype, order="C")


def flat(x: np.ndarray, dtype: np.dtype = FLOAT32) -> np.ndarray:
    """`plain` x as one row."""
    if x.dtype is not dtype or not x.flags.carray:
        x = plain(x, dtype)
    return x.ravel()


def flat_out(out: np.ndarray | None, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """`out`, or a new array, of this shape; and the same memory as one row."""
    if out is None:
        out = np.empty(shape, np.float32)
    elif out.shape != shape or out.dtype is not FLOAT32 or not out.flags.carray:
        raise ValueError(f"out must be a writable C-contiguous float32 array of shape {shape}, got {out.dtype} "
                         f"{out.shape} with strides {out.strides}")
    return out, out.ravel()
