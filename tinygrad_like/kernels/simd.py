"""The host's vector registers, and the one micro-kernel under every matrix product and convolution.

A product is computed in tiles of ``ROWS x COLUMNS`` outputs that stay in registers while k runs:

    out[i, j] = start[i, j] + sum_k A[i, k] * B[k, j],        A[i, k] = a[r[i] + c[k]]

Per k a tile loads one row of B (``VECTORS`` vectors), and for each of its rows broadcasts one number of A and multiplies.
A is read where it lies, through two tables of byte offsets, and that is all a convolution needs:

    matrix product     r[i] = i * row_stride,           c[k] = k * column_stride
    convolution        r[i] = offset of output pixel i, c[k] = offset of tap k = (channel, kh, kw)

im2col, the matrix of all patches of an image, is the outer sum of two offset tables; it never has to exist. Its transpose
(the weight gradient) is the same two tables, swapped.

Addresses are integers here, and strides and offsets are counted in bytes, as NumPy does. Nothing checks bounds.
"""

from collections.abc import Callable

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic

# What numba compiles for, which is also a part of the key of its cache: kernels of one host are never run on another.
_TRIPLE, _CPU, _FEATURES = cpu_target.target_context.codegen().magic_tuple()


def _registers(triple: str, features: set[str]) -> tuple[int, int, int]:
    """Floats in a vector, and the tile (rows, vectors): accumulators, one row of B and a broadcast fit the registers."""
    if "+avx512f" in features:
        return 16, 8, 2
    if "+avx2" in features:
        return 8, 6, 2
    if triple.startswith(("aarch64", "arm64")):
        return 4, 8, 2
    return 4, 6, 2


FLOATS, ROWS, VECTORS = _registers(_TRIPLE, set(_FEATURES.split(",")))
COLUMNS = VECTORS * FLOATS
_HAS_FMA = "+fma" in _FEATURES.split(",") or _TRIPLE.startswith(("aarch64", "arm64"))

_F32, _I32, _I64, _POINTER = ir.FloatType(), ir.IntType(32), ir.IntType(64), ir.PointerType()


def _vector(floats: int) -> ir.VectorType:
    return ir.VectorType(_F32, floats)


def _load(b, address, kind, align=4):
    return b.load(b.inttoptr(address, _POINTER), typ=kind, align=align)


def _store(b, value, address, align=4):
    b.store(value, b.inttoptr(address, _POINTER), align=align)


def _plus(b, address, index, stride):
    return b.add(address, b.mul(index, stride))


def _int(n: int):
    return ir.Constant(_I64, n)


def _splat(b, value, floats: int):
    """The vector (value, value, ...)."""
    undefined = ir.Constant(ir.VectorType(value.type, floats), ir.Undefined)
    first = b.insert_element(undefined, value, ir.Constant(_I32, 0))
    return b.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, floats), [0] * floats))


def _lanes_below(b, count, floats: int):
    """The mask of the lanes 0 .. count - 1."""
    lanes = ir.Constant(ir.VectorType(_I64, floats), list(range(floats)))
    return b.icmp_signed("<", lanes, _splat(b, count, floats))


def _masked_load(b, address, mask, floats: int):
    """Lanes outside the mask are 0, and the memory under them is not touched."""
    kind = ir.FunctionType(_vector(floats), [_POINTER, _I32, mask.type, _vector(floats)])
    load = cgutils.get_or_insert_function(b.module, kind, f"llvm.masked.load.v{floats}f32.p0")
    zero = ir.Constant(_vector(floats), [0.0] * floats)
    return b.call(load, [b.inttoptr(address, _POINTER), ir.Constant(_I32, 4), mask, zero])


def _masked_store(b, value, address, mask):
    floats = value.type.count
    kind = ir.FunctionType(ir.VoidType(), [value.type, _POINTER, _I32, mask.type])
    store = cgutils.get_or_insert_function(b.module, kind, f"llvm.masked.store.v{floats}f32.p0")
    b.call(store, [value, b.inttoptr(address, _POINTER), ir.Constant(_I32, 4), mask])


def _multiply_add(b, x, y, z):
    if not _HAS_FMA:  # the intrinsic would call the C library's fmaf, lane by lane
        return b.fadd(b.fmul(x, y), z)
    fma = cgutils.get_or_insert_function(b.module, ir.FunctionType(x.type, [x.type] * 3), f"llvm.fma.v{x.type.count}f32")
    return b.call(fma, [x, y, z])


def _transposed(b, v: list) -> list:
    """The n vectors of n floats, transposed in registers: log2(n) rounds of perfect shuffles."""
    n = len(v)
    low, high = (
        ir.Constant(ir.VectorType(_I32, n), [lane for i in range(o, o + n // 2) for lane in (i, i + n)]) for o in (0, n // 2)
    )
    for _ in range(n.bit_length() - 1):
        v = [b.shuffle_vector(v[i // 2], v[i // 2 + n // 2], high if i % 2 else low) for i in range(n)]
    return v


def _procedure(arguments: int, emit: Callable) -> Callable:
    """An intrinsic of integer arguments and no result, whose code emit(builder, *arguments) writes."""

    def codegen(context, builder, signature, args):
        emit(builder, *args)
        return context.get_dummy_value()

    return types.void(*[types.intp] * arguments), codegen


def make_tile(rows: int, vectors: int) -> Callable:
    """The micro-kernel for a tile of rows x (vectors * FLOATS) outputs, of which the last may be beyond the matrix's edge:

    ``tile(k, a, r, c, b, b_k, start, start_i, out, out_i, rows_left, columns_left)``

    k products are summed; r (of `rows` entries) and c (of k) are addresses of int64 tables; B's row k is the vector at
    b + k * b_k; start and out have rows at start + i * start_i and out + i * out_i.
    Columns beyond columns_left are masked. Rows beyond rows_left must repeat the last one in r, and so does
    the tile in start and out: it writes the same numbers twice, which costs nothing and needs no second kernel.
    """

    @intrinsic
    def tile(typing, k, a, r, c, b, b_k, start, start_i, out, out_i, rows_left, columns_left):
        def emit(builder, k, a, r, c, b, b_k, start, start_i, out, out_i, rows_left, columns_left):
            vector, width = _vector(FLOATS), _int(4 * FLOATS)
            sums = [[cgutils.alloca_once(builder, vector) for _ in range(vectors)] for _ in range(rows)]
            last = builder.sub(rows_left, _int(1))
            i_of = [_int(i) for i in range(rows)]
            i_of = [builder.select(builder.icmp_signed("<", i, last), i, last) for i in i_of]
            left = [builder.sub(columns_left, _int(j * FLOATS)) for j in range(vectors)]
            masks = [_lanes_below(builder, n, FLOATS) for n in left]
            whole = builder.icmp_signed(">=", columns_left, _int(vectors * FLOATS))
            with builder.if_else(whole) as (full, partial):
                for branch, load in ((full, None), (partial, masks)):
                    with branch:
                        for i in range(rows):
                            row = _plus(builder, start, i_of[i], start_i)
                            for j in range(vectors):
                                address = builder.add(row, _int(4 * FLOATS * j))
                                x = _masked_load(builder, address, masks[j], FLOATS) if load else _load(builder, address, vector)
                                builder.store(x, sums[i][j])
            row = [builder.add(a, _load(builder, builder.add(r, _int(8 * i)), _I64, 8)) for i in range(rows)]
            with cgutils.for_range(builder, k) as loop:
                shift = _load(builder, _plus(builder, c, loop.index, _int(8)), _I64, 8)
                b_row = _plus(builder, b, loop.index, b_k)
                y = [_load(builder, builder.add(b_row, _int(4 * FLOATS * j)), vector) for j in range(vectors)]
                for i in range(rows):
                    x = _splat(builder, _load(builder, builder.add(row[i], shift), _F32), FLOATS)
                    for j in range(vectors):
                        builder.store(_multiply_add(builder, x, y[j], builder.load(sums[i][j])), sums[i][j])
            with builder.if_else(whole) as (full, partial):
                for branch, load in ((full, None), (partial, masks)):
                    with branch:
                        for i in range(rows):
                            rowp = _plus(builder, out, i_of[i], out_i)
                            for j in range(vectors):
                                address = builder.add(rowp, _int(4 * FLOATS * j))
                                x = builder.load(sums[i][j])
                                if load: _masked_store(builder, x, address, masks[j])
                                else: _store(builder, x, address)
        return _procedure(12, emit)

    return tile


def make_copy(floats: int) -> Callable:
    """copy(source, target, count): copy `floats` floats, those beyond count as 0 and unread."""

    @intrinsic
    def copy(typing, source, target, count):
        def emit(builder, source, target, count):
            with builder.if_else(builder.icmp_signed(">=", count, _int(floats))) as (full, partial):
                with full:
                    _store(builder, _load(builder, source, _vector(floats)), target)
                with partial:
                    x = _masked_load(builder, source, _lanes_below(builder, count, floats), floats)
                    _store(builder, x, target)
        return _procedure(3, emit)
    return copy


@intrinsic
def transpose(typing, source, source_i, target, target_j, rows_left):
    """FLOATS x FLOATS block, target[j, i] = source[i, j]; rows beyond rows_left repeat the last one."""
    def emit(builder, source, source_i, target, target_j, rows_left):
        last = builder.sub(rows_left, _int(1))
        rows = []
        for i in range(FLOATS):
            i = builder.select(builder.icmp_signed("<", _int(i), last), _int(i), last)
            rows.append(_load(builder, _plus(builder, source, i, source_i), _vector(FLOATS)))
        for j, column in enumerate(_transposed(builder, rows)):
            _store(builder, column, _plus(builder, target, _int(j), target_j))
    return _procedure(5, emit)


@intrinsic
def word_at(typing, address):
    """The 64-bit integer at an address."""
    def codegen(context, builder, signature, args):
        return _load(builder, args[0], _I64, 8)
    return types.int64(types.intp), codegen

@intrinsic
def float_at(typing, address):
    def codegen(context, builder, signature, args):
        return _load(builder, args[0], _F32, 4)
    return types.float32(types.intp), codegen

@intrinsic
def put_float(typing, address, value):
    def codegen(context, builder, signature, args):
        _store(builder, args[1], args[0])
        return context.get_dummy_value()
    return types.void(types.intp, types.float32), codegen
