"""The host's vector registers, and the one micro-kernel under every matrix product and every convolution.

A product is computed in tiles of a few rows and columns that stay in registers while k runs:

    out[i, j] = start[i, j] + sum_k A[i, k] B[k, j],        A[i, k] = a[r[i] + c[k]]

For each k the tile loads one row of B, a few vectors; every row of the tile multiplies it by one broadcast number of A.
A is read where it lies, through two tables of offsets:

    matrix product     r[i] = i * row_stride              c[k] = k * column_stride
    convolution        r[i] = offset of output pixel i    c[k] = offset of tap k = (channel, kh, kw)

So im2col, the matrix whose rows are the patches of an image, never has to exist: it is the outer sum of two offset
tables. Its transpose, which the weight gradient multiplies by, is the same two tables, swapped.

The tables also end a matrix that is no whole number of tiles: rows past the edge repeat the last row.

Nearly everything here is an intrinsic: Python that writes LLVM instructions into the numba function that calls it.
Addresses are integers, offsets and strides count bytes, as in NumPy. Bounds are not checked, but kept.
"""

from collections.abc import Callable
from contextlib import contextmanager

from llvmlite import ir
from numba import carray, njit, types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from . import cache

# The machine that numba compiles for.
_TRIPLE, _, _features = cpu_target.target_context.codegen().magic_tuple()
_FEATURES = set(_features.split(","))
ARM, X86 = _TRIPLE.startswith(("aarch64", "arm64")), _TRIPLE.startswith(("x86_64", "i386", "i686"))


def _register_tile() -> tuple[int, int, int]:
    """Floats per vector, rows and vectors of a tile: its sums, one row of B and one broadcast fill the registers."""
    if "+avx512f" in _FEATURES:
        return 16, 8, 2  # 32 registers; more rows than 8 would run out of address registers first
    if "+avx2" in _FEATURES:
        return 8, 6, 2  # 16 registers
    return (4, 8, 2) if ARM else (4, 6, 2)  # NEON has 32 registers, SSE 16


FLOATS, ROWS, VECTORS = _register_tile()
COLUMNS = VECTORS * FLOATS

# For functions that only kernels call: no code to call them from Python or C is compiled.
INNER = {"error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inner = njit(**INNER)


def compiled(**options) -> Callable:
    """Decorator for functions that Python calls: compiled on the first call, kept on disk, run without the GIL."""
    options = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}

    def decorate(function: Callable) -> Callable:
        dispatcher = njit(**options)(function)
        cache.attach(dispatcher)
        return dispatcher

    return decorate


kernel = compiled

F32, I32, I64, POINTER = ir.FloatType(), ir.IntType(32), ir.IntType(64), ir.PointerType()
VECTOR = ir.VectorType(F32, FLOATS)


# Instructions: `b` is the builder that appends them to the function being compiled.


def integer(n: int) -> ir.Constant:
    return ir.Constant(I64, n)


def element(b, address, index, stride):
    """The address of an element: address + index * stride."""
    return b.add(address, b.mul(index, stride))


def minimum(b, x, y):
    return b.select(b.icmp_signed("<", x, y), x, y)


def load(b, address, kind, mask=None):
    """The value of the given kind at an address; lanes outside the mask are 0, and the memory there is not touched."""
    pointer = b.inttoptr(address, POINTER)
    if mask is None:
        return b.load(pointer, typ=kind, align=8 if kind is I64 else 4)
    signature = ir.FunctionType(kind, [POINTER, I32, mask.type, kind])
    masked = cgutils.get_or_insert_function(b.module, signature, f"llvm.masked.load.v{kind.count}f32.p0")
    return b.call(masked, [pointer, ir.Constant(I32, 4), mask, ir.Constant(kind, [0.0] * kind.count)])


def load_open(b, address, gate, kind, mask=None):
    """The value at an address, but 0 where that at the gate is <= 0, and in lanes outside the mask."""
    zero = ir.Constant(kind, [0.0] * kind.count)
    return b.select(b.fcmp_ordered("<=", load(b, gate, kind, mask), zero), zero, load(b, address, kind, mask))


def store(b, value, address, mask=None):
    """Store a value; lanes outside the mask are not touched."""
    pointer = b.inttoptr(address, POINTER)
    if mask is None:
        b.store(value, pointer, align=4)
    else:
        signature = ir.FunctionType(ir.VoidType(), [value.type, POINTER, I32, mask.type])
        masked = cgutils.get_or_insert_function(b.module, signature, f"llvm.masked.store.v{value.type.count}f32.p0")
        b.call(masked, [value, pointer, ir.Constant(I32, 4), mask])


def prefetch(b, address, level: int = 1):
    """Have the cache line of an address fetched into the cache of this level; the address may be anything."""
    signature = ir.FunctionType(ir.VoidType(), [POINTER, I32, I32, I32])
    fetch = cgutils.get_or_insert_function(b.module, signature, "llvm.prefetch.p0")
    to_read, locality, data = (ir.Constant(I32, n) for n in (0, 4 - level, 1))
    b.call(fetch, [b.inttoptr(address, POINTER), to_read, locality, data])


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
    if "+fma" not in _FEATURES and not ARM:
        return b.fadd(b.fmul(x, y), z)
    fma = ir.FunctionType(x.type, [x.type] * 3)
    return b.call(cgutils.get_or_insert_function(b.module, fma, f"llvm.fma.v{x.type.count}f32"), [x, y, z])


@contextmanager
def counting(b, count):
    """A loop over 0 ... count - 1 that stays as written: LLVM would unroll it twice and run out of vector registers."""
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
    loop.operands = (loop, once)  # what makes it the name of this loop and no other is that it refers to itself
    repeat.set_metadata("llvm.loop", loop)
    b.position_at_end(after)


def by_pairs(b, count, act: Callable) -> None:
    """act(0), ..., act(count - 1), two of them to a jump; what is left of an odd count comes after the loop."""
    with counting(b, b.sdiv(count, integer(2))) as pair:
        first = b.add(pair, pair)
        act(first)
        act(b.add(first, integer(1)))
    with b.if_then(b.icmp_signed("!=", b.srem(count, integer(2)), integer(0))):
        act(b.sub(count, integer(1)))


def _interleaved(b, rows: list, width: int, span: int) -> list:
    """Perfect shuffles of some vectors, until each has its part of all: in every `span` of floats two vectors' halves
    are interleaved, `width` floats at a time."""
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

    First 4 x 4 blocks are transposed, each within the 128 bits of a lane, for which there are the fastest instructions;
    then the blocks are, as whole lanes.
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


def function(emit: Callable, result: types.Type, *arguments: types.Type) -> tuple:
    """Signature and code of an intrinsic that returns what emit(b, *arguments) returns."""
    return result(*arguments), lambda context, b, signature, values: emit(b, *values)


# Arrays: a kernel takes `id(array)`, which in CPython is the address of the array object, and reads there where its
# numbers, shape and strides are. So one compiled signature serves any number of axes and any strides, and a call costs
# no more than passing an integer; the caller keeps the array alive. NumPy's ABI keeps the fields where they are.

_DATA, _NDIM, _SHAPE, _STRIDES = (object.__basicsize__ + offset for offset in (0, 8, 16, 24))
_TYPE, _DTYPE, _FLAGS = (object.__basicsize__ + offset for offset in (-8, 40, 48))
_C_ORDER, _ALIGNED, _WRITABLE = 0x1, 0x100, 0x400


@intrinsic
def data_of(typing, array):
    """Address of the first number of the array with this id."""
    return function(lambda b, x: load(b, b.add(x, integer(_DATA)), I64), types.intp, types.intp)


@intrinsic
def ndim_of(typing, array):
    """Number of axes."""
    return function(lambda b, x: b.zext(load(b, b.add(x, integer(_NDIM)), I32), I64), types.intp, types.intp)


def _entry(field):
    """Intrinsic part of size_of and stride_of: entry `axis` of the list of integers that a field points to."""

    def emit(b, x, axis):
        return load(b, element(b, load(b, b.add(x, integer(field)), I64), axis, integer(8)), I64)

    return function(emit, types.intp, types.intp, types.intp)


@intrinsic
def size_of(typing, array, axis):
    """Length of an axis, counted from the first."""
    return _entry(_SHAPE)


@intrinsic
def stride_of(typing, array, axis):
    """Bytes from one entry to the next along an axis."""
    return _entry(_STRIDES)


@intrinsic
def integer_at(typing, address, index):
    """Entry `index` of the int64 from an address on."""

    def emit(b, address, index):
        return load(b, element(b, address, index, integer(8)), I64)

    return function(emit, types.intp, types.intp, types.intp)


@intrinsic
def real_at(typing, address, index):
    """Entry `index` of the float64 from an address on."""

    def emit(b, address, index):
        return b.bitcast(load(b, element(b, address, index, integer(8)), I64), ir.DoubleType())

    return function(emit, types.float64, types.intp, types.intp)


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


@inner
def floats_of(array):
    """The contiguous float32 array with this id, as one row."""
    return floats_at(data_of(array), count_of(array))


@intrinsic
def fetch(typing, address):
    """Have the cache line of an address fetched into the second-level cache; the address may be anything."""
    return procedure(lambda b, address: prefetch(b, address, 2), 1)


@intrinsic
def copy_float(typing, source, target):
    """Copy one float32."""
    return procedure(lambda b, source, target: store(b, load(b, source, F32), target), 2)


# Blocks


def make_tile(rows: int, vectors: int, scattered: bool = False) -> Callable:
    """The micro-kernel for tiles of rows x (vectors * FLOATS) outputs.

    ``tile(k, a, r, c, b, b_k, start, start_i, out, out_i, rows_left, columns_left, rectify)``, with
    A[i, j] = a[r[i] + c[j]], is

        out[:, :] = start + A[:, :k] @ B[:k],        and its positive part, max(., 0), if rectify is not 0

    r and c are addresses of int64 tables, of `rows` and `k` entries. Row j of B is at b + j * b_k, row i of start and
    out at start + i * start_i and out + i * out_i: so a start_i of 0 begins every row with the same vector, such as a
    bias, and start = out accumulates. Fewer than `rows` rows or vectors * FLOATS columns may be left before the edge of
    the matrix. Columns beyond it are masked in start and out, but B must have them. Rows beyond it are the last row
    once more, in the table r and in out, where the same numbers are written twice: the edge needs no other kernel.

    If B is scattered, b and b_k are tables too: vector j of row k of B is at b[j] + b_k[k], as the pixels of an image
    are that a tap of a convolution meets.
    """

    @intrinsic
    def tile(typing, k, a, r, c, b, b_k, start, start_i, out, out_i, rows_left, columns_left, rectify):
        def emit(build, k, a, r, c, b, b_k, start, start_i, out, out_i, rows_left, columns_left, rectify):
            sums = [[cgutils.alloca_once(build, VECTOR) for _ in range(vectors)] for _ in range(rows)]  # in registers
            offset = [integer(4 * FLOATS * j) for j in range(vectors)]
            inside = [lanes_before(build, build.sub(columns_left, integer(j * FLOATS)), FLOATS) for j in range(vectors)]
            whole = build.icmp_signed(">=", columns_left, integer(vectors * FLOATS))

            def for_each_vector(base, stride, act):
                row = [base]
                for i in range(1, rows):
                    below = build.select(build.icmp_signed("<", integer(i), rows_left), stride, integer(0))
                    row.append(build.add(row[-1], below))
                with build.if_else(whole) as (all_columns, some_columns):
                    for branch, masks in (all_columns, [None] * vectors), (some_columns, inside):
                        with branch:
                            for i in range(rows):
                                for j in range(vectors):
                                    act(sums[i][j], build.add(row[i], offset[j]), masks[j])

            zero = ir.Constant(VECTOR, [0.0] * FLOATS)
            for total in (total for row in sums for total in row):
                build.store(zero, total)
            a_row = [build.add(a, load(build, build.add(r, integer(8 * i)), I64)) for i in range(rows)]
            if scattered:
                b_row = [load(build, build.add(b, integer(8 * j)), I64) for j in range(vectors)]

            def multiply(i_k):
                c_k = load(build, element(build, c, i_k, integer(8)), I64)
                if scattered:
                    b_at = load(build, element(build, b_k, i_k, integer(8)), I64)
                    y = [load(build, build.add(b_row[j], b_at), VECTOR) for j in range(vectors)]
                else:
                    b_at = element(build, b, i_k, b_k)
                    y = [load(build, build.add(b_at, offset[j]), VECTOR) for j in range(vectors)]
                for i in range(rows):
                    x = broadcast(build, load(build, build.add(a_row[i], c_k), F32), FLOATS)
                    for j in range(vectors):
                        build.store(multiply_add(build, x, y[j], build.load(sums[i][j])), sums[i][j])

            by_pairs(build, k, multiply)
            # Only now: added up on top of what thousands of other terms have come to, each would lose digits.
            for_each_vector(
                start, start_i, lambda total, address, mask: build.store(
                    build.fadd(load(build, address, VECTOR, mask), build.load(total)), total)
            )  # fmt: skip
            with build.if_then(build.icmp_signed("!=", rectify, integer(0))):
                for total in (total for row in sums for total in row):
                    y = build.load(total)
                    y = build.select(build.fcmp_ordered("<", y, zero), zero, y)  # this way round, NaN stays NaN
                    build.store(y, total)
            for_each_vector(
                out, out_i, lambda total, address, mask: store(build, build.load(total), address, mask)
            )

        return procedure(emit, 13)

    return tile


def make_dots(rows: int) -> Callable:
    """``dots(k, a, r, c, b, out, rows_left)``: out[i] += sum_j a[r[i] + c[j]] b[j] for i < rows_left <= rows.

    j runs over k vectors, within which a is contiguous: of the table c, only every FLOATS-th entry is read.
    """

    @intrinsic
    def dots(typing, k, a, r, c, b, out, rows_left):
        def emit(build, k, a, r, c, b, out, rows_left):
            zero = ir.Constant(VECTOR, [0.0] * FLOATS)
            sums = [cgutils.alloca_once_value(build, zero) for _ in range(rows)]
            a_row = [build.add(a, load(build, build.add(r, integer(8 * i)), I64)) for i in range(rows)]
            with counting(build, k) as j:
                c_j = load(build, element(build, c, j, integer(8 * FLOATS)), I64)
                y = load(build, element(build, b, j, integer(4 * FLOATS)), VECTOR)
                for i in range(rows):
                    x = load(build, build.add(a_row[i], c_j), VECTOR)
                    build.store(multiply_add(build, x, y, build.load(sums[i])), sums[i])
            for i in range(rows):
                total, half = build.load(sums[i]), FLOATS // 2
                while half:  # add the upper half to the lower, until one lane has the sum
                    order = ir.Constant(ir.VectorType(I32, FLOATS), [(n + half) % FLOATS for n in range(FLOATS)])
                    total = build.fadd(total, build.shuffle_vector(total, total, order))
                    half //= 2
                with build.if_then(build.icmp_signed("<", integer(i), rows_left)):
                    where = build.add(out, integer(4 * i))
                    first = build.extract_element(total, ir.Constant(I32, 0))
                    store(build, build.fadd(load(build, where, F32), first), where)

        return procedure(emit, 7)

    return dots


def make_copy(floats: int, exact: bool = False) -> Callable:
    """``copy(source, target, count)``: copy that many floats, at most `floats`.

    Of the source, no more is read; in the target the rest becomes 0, or, if the copy is exact, stays.
    """
    kind = ir.VectorType(F32, floats)

    @intrinsic
    def copy(typing, source, target, count):
        def emit(b, source, target, count):
            with b.if_else(b.icmp_signed(">=", count, integer(floats))) as (all_floats, some_floats):
                with all_floats:
                    store(b, load(b, source, kind), target)
                with some_floats:
                    some = lanes_before(b, count, floats)
                    store(b, load(b, source, kind, some), target, some if exact else None)

        return procedure(emit, 3)

    return copy


def make_gated_copy(floats: int) -> Callable:
    """``copy(source, gate, target, count)``: target[i] = 0 if gate[i] <= 0 else source[i], for i < count <= floats.

    Of source and gate, no more is read; in the target the rest becomes 0.
    """
    kind = ir.VectorType(F32, floats)

    @intrinsic
    def copy(typing, source, gate, target, count):
        def emit(b, source, gate, target, count):
            with b.if_else(b.icmp_signed(">=", count, integer(floats))) as (all_floats, some_floats):
                with all_floats:
                    store(b, load_open(b, source, gate, kind), target)
                with some_floats:
                    store(b, load_open(b, source, gate, kind, lanes_before(b, count, floats)), target)

        return procedure(emit, 4)

    return copy


def make_strip_copy(rows: int, panels: int, gated: bool) -> Callable:
    """``copy(source, gate, target, pitch, following)``: cut one line of rows * panels numbers into panels.

    target[p, i] = source[rows * p + i] for i < rows, p < panels; the panels of the target are `pitch` bytes apart.
    Gated: 0 where the number `gate` bytes behind that of the source is <= 0. What comes after a panel's
    numbers is overwritten, up to the next power of two; a caller that copies line by line writes it next. The line at
    `following` bytes from this one is fetched into the cache: the machine does not foresee such long steps.
    """
    exact, wide = (ir.VectorType(F32, n) for n in (rows, 1 << (rows - 1).bit_length()))

    @intrinsic
    def copy(typing, source, gate, target, pitch, following):
        def emit(b, source, gate, target, pitch, following):
            for line in range(0, 4 * rows * panels, 64):
                at = b.add(b.add(source, following), integer(line))
                prefetch(b, at)
                if gated:
                    prefetch(b, b.add(at, gate))
            for panel in range(panels):
                kind = wide if panel < panels - 1 else exact  # of the source, nothing beyond its line is read
                at = b.add(source, integer(4 * rows * panel))
                x = load_open(b, at, b.add(at, gate), kind) if gated else load(b, at, kind)
                store(b, x, b.add(target, b.mul(integer(panel), pitch)))

        return procedure(emit, 5)

    return copy


@intrinsic
def copy_apart(typing, source, target, count):
    """target[2 i] = source[i] for i < count <= FLOATS; what lies between them stays."""

    def emit(b, source, target, count):
        x = load(b, source, VECTOR, lanes_before(b, count, FLOATS))
        even = ir.Constant(ir.VectorType(ir.IntType(1), FLOATS), [i % 2 == 0 for i in range(FLOATS)])
        for half in range(2):
            lanes = ir.Constant(ir.VectorType(I32, FLOATS), [(half * FLOATS + i) // 2 for i in range(FLOATS)])
            left = b.sub(b.mul(count, integer(2)), integer(half * FLOATS))
            mask = b.and_(even, lanes_before(b, left, FLOATS))
            store(b, b.shuffle_vector(x, x, lanes), b.add(target, integer(4 * FLOATS * half)), mask)

    return procedure(emit, 3)


@intrinsic
def copy_together(typing, source, target, count):
    """target[i] = source[2 i] for i < count <= FLOATS; the rest of the FLOATS become 0."""

    def emit(b, source, target, count):
        left = b.sub(b.mul(count, integer(2)), integer(1))  # what lies beyond the last number is not read
        x = [load(b, b.add(source, integer(4 * FLOATS * half)), VECTOR,
                  lanes_before(b, b.sub(left, integer(half * FLOATS)), FLOATS)) for half in range(2)]  # fmt: skip
        even = ir.Constant(ir.VectorType(I32, FLOATS), list(range(0, 2 * FLOATS, 2)))
        store(b, b.shuffle_vector(*x, even), target)

    return procedure(emit, 3)


@intrinsic
def transpose(typing, source, source_i, target, target_j, rows_left):
    """target[j, i] = source[i, j] for a block of FLOATS x FLOATS; rows from rows_left on repeat the last one."""

    def emit(b, source, source_i, target, target_j, rows_left):
        last = b.sub(rows_left, integer(1))
        rows = [load(b, element(b, source, minimum(b, integer(i), last), source_i), VECTOR) for i in range(FLOATS)]
        for j, column in enumerate(transposed(b, rows)):
            store(b, column, element(b, target, integer(j), target_j))

    return procedure(emit, 5)
