"""How a kernel is run: as one task, or as several for every thread.

A kernel is written as a task, `f(..., task, tasks)`, which does share number `task` of `tasks` of some work; what the
shares are does not depend on who does them. All kernels share the parallel regions of threads.py, which know nothing of
a task's arguments: these are put into a record, and a few instructions, a function of their own, take them out.
"""

import numpy as np
from llvmlite import ir
from numba import typeof, types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic

from ..dtypes import FLOAT32
from . import threads
from .simd import I64, kernel
from .threads import region

PER_THREAD = 8  # tasks of a thread: enough for the last ones to even things out, and few enough to be worth a call


@intrinsic
def packed(typing, address, plan, arguments):
    """What `region` needs to call the compiled function at `address` with (plan, *arguments, task, tasks): code, and a
    record, which is gone when the function that made it returns. A plan that is no tuple is left out."""
    planned = isinstance(plan, types.BaseTuple)
    kinds = (*([plan] if planned else []), *arguments.types, types.intp, types.intp)

    def codegen(context, builder, signature, values):
        address, plan, arguments = values
        members = [address, *([plan] if planned else []), *cgutils.unpack_tuple(builder, arguments)]
        layout = ir.LiteralStructType([member.type for member in members])
        record = cgutils.alloca_once(builder, layout)
        for i, member in enumerate(members):
            builder.store(member, cgutils.gep_inbounds(builder, record, 0, i))

        module = builder.module
        code = ir.Function(module, ir.FunctionType(I64, [I64] * 3), module.get_unique_name("packed"))
        code.linkage = "internal"
        b = ir.IRBuilder(code.append_basic_block())
        held, task, tasks = code.args
        held = b.inttoptr(held, layout.as_pointer())
        address, *members = [b.load(cgutils.gep_inbounds(b, held, 0, i)) for i in range(len(members))]
        function = b.inttoptr(address, context.call_conv.get_function_type(types.none, kinds).as_pointer())
        status, _ = context.call_conv.call_function(b, function, types.none, kinds, [*members, task, tasks])
        b.ret(b.zext(status.is_error, I64))
        pair = [builder.ptrtoint(code, I64), builder.ptrtoint(record, I64)]
        return context.make_tuple(builder, signature.return_type, pair)

    return types.UniTuple(types.intp, 2)(types.intp, plan, arguments), codegen


@kernel()
def _spread(board, address, plan, arguments, tasks, workers):
    code, record = packed(address, plan, arguments)
    region(board, code, record, tasks, workers, 1)


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
    dtypes and number of axes at every call; `flat` makes sure of that.
    """
    if not large or threads.count == 1:
        task(*arguments, 0, 1)
        return
    key = (task, *map(type, arguments))  # compiled code takes an int and a float in different registers
    address = _addresses.get(key)
    if address is None:
        address = _addresses[key] = address_of(task, *map(typeof, arguments))
    plan, rest = (arguments[0], arguments[1:]) if isinstance(arguments[0], tuple) else (0, arguments)
    with threads.pool:
        workers = threads.gather()
        _spread(threads.board, address, plan, rest, tasks or PER_THREAD * workers, workers)


def plain(x: np.ndarray, dtype: np.dtype = FLOAT32) -> np.ndarray:
    """x, or a copy of it, as kernels take it: C-contiguous, aligned and writable, of this dtype.

    Read-only arrays are of another type for numba, which would compile a kernel anew for each mixture of the two.
    """
    if type(x) is np.ndarray and x.dtype is dtype and x.flags.carray:
        return x
    x = np.asarray(x)  # of a subclass
    if x.dtype != dtype:
        raise TypeError(f"this kernel is for {dtype} arrays, got {x.dtype}")
    if x.dtype is dtype and x.flags.carray:
        return x
    y = np.empty(x.shape, dtype)
    y[...] = x
    return y


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
