"""Atomic operations on int64, with acquire and release ordering between threads. Addresses are integers."""

import sys

from llvmlite import ir

from . import simd
from .late import intrinsic, types
from .machine import ARM, X86
from .simd import I32, I64, function, procedure

_YIELD = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
_SLEEP, _LENGTH = ("Sleep", 1) if sys.platform == "win32" else ("usleep", 50)


def _cell(b, address):
    return b.inttoptr(address, I64.as_pointer())


@intrinsic
def get(typing, address):
    """Load the int64 at an address (acquire): what its writer wrote before is visible, too."""
    return function(lambda b, address: b.load_atomic(_cell(b, address), "acquire", 8), types.intp, types.intp)


@intrinsic
def put(typing, address, value):
    """Store an int64 (release): a reader that sees it also sees all earlier writes."""
    return procedure(lambda b, address, value: b.store_atomic(value, _cell(b, address), "release", 8), 2)


@intrinsic
def add(typing, address, value):
    """Add `value` to the int64 at an address and return the old number: no two threads get the same one."""
    return function(lambda b, address, value: b.atomic_rmw("add", _cell(b, address), value, "acq_rel"),
                    types.intp, types.intp, types.intp)


@intrinsic
def exchange(typing, address, expected, value):
    """Compare and swap: replace the int64 at an address by `value` if it is `expected`; returns the old number."""

    def emit(b, address, expected, value):
        return b.extract_value(b.cmpxchg(_cell(b, address), expected, value, "acq_rel", "acquire"), 0)

    return function(emit, types.intp, types.intp, types.intp, types.intp)


@intrinsic
def pause(typing):
    """Tell the processor that this thread is spinning."""

    def emit(b):
        if not ARM and not X86:
            return
        name, arguments = ("llvm.aarch64.hint", [ir.Constant(I32, 1)]) if ARM else ("llvm.x86.sse2.pause", [])
        simd.call(b, name, ir.VoidType(), *arguments)

    return procedure(emit, 0)


@intrinsic
def yield_core(typing):
    """Yield this core to another thread, if one waits."""
    return procedure(lambda b: simd.call(b, _YIELD, I32), 0)


@intrinsic
def sleep(typing):
    """Sleep for a moment: 50 microseconds, or as short as the system can."""
    return procedure(lambda b: simd.call(b, _SLEEP, I32, ir.Constant(I32, _LENGTH)), 0)


@intrinsic
def call(typing, code, record, task, tasks):
    """Call the compiled function at an address with three integers; returns its result, -2 if it raised an error."""
    kinds = (types.intp,) * 3

    def codegen(context, b, signature, values):
        code, *arguments = values
        pointer = b.inttoptr(code, context.call_conv.get_function_type(types.intp, kinds).as_pointer())
        status, result = context.call_conv.call_function(b, pointer, types.intp, kinds, arguments)
        return b.select(status.is_error, ir.Constant(I64, -2), result)

    return types.intp(types.intp, *kinds), codegen
