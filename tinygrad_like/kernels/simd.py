"""The target's vector registers, and instructions for kernels where numba's own do not suffice.

An intrinsic is Python that writes LLVM instructions into the numba function that calls it. Addresses are integers;
offsets and strides count bytes, as in NumPy. Callers keep within bounds: nothing checks them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from .late import cgutils, njit, types
from .machine import ARM, FEATURES


def _register_tile() -> tuple[int, int, int]:
    """Floats per vector, rows and vectors of a tile: its sums, one row of B and one broadcast fill the registers."""
    if "+avx512f" in FEATURES:
        return 16, 8, 2  # 32 registers; more rows than 8 would run out of address registers first
    if "+avx2" in FEATURES:
        return 8, 6, 2  # 16 registers
    return (4, 8, 2) if ARM else (4, 6, 2)  # NEON has 32 registers, SSE 16


FLOATS, ROWS, VECTORS = _register_tile()
COLUMNS = VECTORS * FLOATS

inner = njit()  # for functions that only kernels call


@inner
def put(target, source):
    """target[:] = source, four times as fast as numba's code for two arrays."""
    for i in range(target.size):
        target[i] = source[i]


@inner
def fill(target, number):
    """target[:] = number, in vectors."""
    for i in range(target.size):
        target[i] = number


F32, I32, I64, POINTER = ir.FloatType(), ir.IntType(32), ir.IntType(64), ir.PointerType()
VECTOR = ir.VectorType(F32, FLOATS)


# Instructions: `b` is the builder that appends them to the function being compiled.


def signature(result: ir.Type, *arguments: ir.Type) -> ir.Type:
    """The type of a function."""
    return ir.FunctionType(result, arguments)


def call(b, name: str, result: ir.Type, *arguments):
    """Call a function of LLVM, of C, or of the same module by name."""
    kind = signature(result, *[x.type for x in arguments])
    return b.call(cgutils.get_or_insert_function(b.module, kind, name), arguments)


def integer(n: int) -> ir.Constant:
    return ir.Constant(I64, n)


def element(b, address, index, stride):
    """The address of an element: address + index * stride."""
    return b.add(address, b.mul(index, stride))


def minimum(b, x, y):
    return b.select(b.icmp_signed("<", x, y), x, y)


def load(b, address, kind, mask=None):
    """The value of this kind at an address; lanes outside the mask are 0, and their memory is not touched."""
    pointer = b.inttoptr(address, POINTER)
    if mask is None:
        return b.load(pointer, typ=kind, align=8 if kind is I64 else 4)
    return call(b, f"llvm.masked.load.v{kind.count}f32.p0", kind, pointer, ir.Constant(I32, 4), mask,
                ir.Constant(kind, [0.0] * kind.count))


def store(b, value, address, mask=None):
    """Store a value; lanes outside the mask are not touched."""
    pointer = b.inttoptr(address, POINTER)
    if mask is None:
        b.store(value, pointer, align=4)
    else:
        name = f"llvm.masked.store.v{value.type.count}f32.p0"
        call(b, name, ir.VoidType(), value, pointer, ir.Constant(I32, 4), mask)


def broadcast(b, value, lanes: int):
    """The vector (value, value, ...)."""
    undefined = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    first = b.insert_element(undefined, value, ir.Constant(I32, 0))
    return b.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(I32, lanes), [0] * lanes))


def lanes_before(b, count, lanes: int):
    """The mask of lanes 0 ... count - 1."""
    return b.icmp_signed("<", ir.Constant(ir.VectorType(I64, lanes), list(range(lanes))), broadcast(b, count, lanes))


def multiply_add(b, x, y, z):
    """x * y + z, in one rounding where the machine can (where it cannot, LLVM's fma would be a call per lane)."""
    if "+fma" not in FEATURES and not ARM:
        return b.fadd(b.fmul(x, y), z)
    return call(b, f"llvm.fma.v{x.type.count}f32", x.type, x, y, z)


@contextmanager
def counting(b, count):
    """A loop over 0 ... count - 1 that LLVM does not unroll, as two turns at once would spill vector registers."""
    before, body, after = b.block, b.append_basic_block("counting"), b.append_basic_block("counted")
    b.cbranch(b.icmp_signed(">", count, integer(0)), body, after)
    b.position_at_end(body)
    index = b.phi(I64)
    yield index
    following = b.add(index, integer(1))
    index.add_incoming(integer(0), before)
    index.add_incoming(following, b.block)
    repeat = b.cbranch(b.icmp_signed("<", following, count), body, after)
    once = b.module.add_metadata(["llvm.loop.unroll.disable"])
    loop = ir.MDValue(b.module, [], name=str(len(b.module.metadata)))
    loop.operands = (loop, once)  # the reference to itself makes it unique to this loop
    repeat.set_metadata("llvm.loop", loop)
    b.position_at_end(after)


def by_pairs(b, count, act: Callable) -> None:
    """act(0), ..., act(count - 1), two per turn of a loop; the last of an odd count comes after it."""
    with counting(b, b.sdiv(count, integer(2))) as pair:
        first = b.add(pair, pair)
        act(first)
        act(b.add(first, integer(1)))
    with b.if_then(b.icmp_signed("!=", b.srem(count, integer(2)), integer(0))):
        act(b.sub(count, integer(1)))


def _interleaved(b, rows: list, width: int, span: int) -> list:
    """Shuffle vectors until each has its part of all: in every `span` of floats, the halves of two vectors are
    interleaved, `width` floats at a time."""
    n, middle = rows[0].type.count, len(rows) // 2

    def lanes(half):
        pieces = [first + half + i for first in range(0, n, span) for i in range(0, span // 2, width)]
        return ir.Constant(ir.VectorType(I32, n), [p + x + i for p in pieces for x in (0, n) for i in range(width)])

    for _ in range(middle.bit_length()):
        rows = [b.shuffle_vector(rows[i // 2], rows[i // 2 + middle], lanes(i % 2 * span // 2))
                for i in range(len(rows))]  # fmt: skip
    return rows


def transposed(b, rows: list) -> list:
    """The columns of n vectors of n floats, n being 4, 8 or 16.

    First 4 x 4 blocks are transposed, each within the 128 bits of a lane, by the fastest instructions; then whole
    blocks, as lanes.
    """
    n = len(rows)
    groups = [_interleaved(b, rows[i : i + 4], 1, 4) for i in range(0, n, 4)]
    columns = [_interleaved(b, [group[j] for group in groups], 4, n) for j in range(4)]
    return [columns[i % 4][i // 4] for i in range(n)]


def procedure(emit: Callable, arguments: int) -> tuple:
    """Signature and code of an intrinsic of integers that returns nothing; emit(b, *arguments) writes the code."""

    def codegen(context, b, signature, values):
        emit(b, *values)
        return context.get_dummy_value()

    return types.void(*[types.intp] * arguments), codegen


def function(emit: Callable, result: Any, *arguments: Any) -> tuple:
    """Signature and code of an intrinsic that returns what emit(b, *arguments) returns."""
    return result(*arguments), lambda context, b, signature, values: emit(b, *values)
