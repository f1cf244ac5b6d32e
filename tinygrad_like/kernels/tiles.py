"""The micro-kernel of all matrix products and convolutions, and copies of blocks.

A product is computed in register tiles of a few rows and columns, each in one loop over k:

    out[i, j] = start[i, j] + sum_k A[i, k] B[k, j],        A[i, k] = a[r[i] + c[k]]

For each k the tile loads one row of B, a few vectors; every row of the tile multiplies it by one broadcast number of A.
A is read in place, through two tables of offsets:

    matrix product     r[i] = i * row_stride              c[k] = k * column_stride
    convolution        r[i] = offset of output pixel i    c[k] = offset of tap k = (channel, kh, kw)

So im2col, the matrix whose rows are the patches of an image, never has to exist: it is the outer sum of two offset
tables. Its transpose, which the weight gradient multiplies by, is the same two tables, swapped.

The tables also handle a matrix that is not a whole number of tiles: rows past the edge repeat the last row.
"""

from collections.abc import Callable
from functools import partial

from llvmlite import ir

from .late import cgutils, intrinsic
from .simd import (
    F32,
    FLOATS,
    I32,
    I64,
    ROWS,
    VECTOR,
    broadcast,
    by_pairs,
    counting,
    element,
    inner,
    integer,
    lanes_before,
    load,
    minimum,
    multiply_add,
    procedure,
    store,
    transposed,
)


def make_tile(rows: int, vectors: int, scattered: bool = False) -> Callable:
    """The micro-kernel for tiles of rows x (vectors * FLOATS) outputs.

    ``tile(k, a, r, c, b, b_k, start, start_i, out, out_i, rows_left, columns_left)``, with A[i, j] = a[r[i] + c[j]], is

        out[:, :] = start + A[:, :k] @ B[:k]

    r and c are addresses of int64 tables, of `rows` and `k` entries. Row j of B is at b + j * b_k, row i of start and
    out at start + i * start_i and out + i * out_i: so a start_i of 0 starts every row with the same vector, such as a
    bias, and start = out accumulates. Fewer than `rows` rows or vectors * FLOATS columns may be left before the edge of
    the matrix. Columns beyond it are masked in start and out, but B must have them. Rows beyond it repeat the last row,
    in the table r and in out, where the same values are stored twice: the edge needs no other kernel.

    If B is scattered, b and b_k are tables too: vector j of row k of B is at b[j] + b_k[k], like the pixels of an image
    that a tap of a convolution meets.
    """

    @intrinsic
    def tile(typing, k, a, r, c, b, b_k, start, start_i, out, out_i, rows_left, columns_left):
        return procedure(partial(_emit_tile, rows, vectors, scattered), 12)

    return tile


def _emit_tile(rows, vectors, scattered, build, k, a, r, c, b, b_k, start, start_i, out, out_i, rows_left,
               columns_left):
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

    def begin(total, address, mask):
        build.store(build.fadd(load(build, address, VECTOR, mask), build.load(total)), total)

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
    for_each_vector(start, start_i, begin)  # last: terms added to a large start would lose digits
    for_each_vector(out, out_i, lambda total, address, mask: store(build, build.load(total), address, mask))


LOW = 4  # rows of a tile at the end of a matrix: 8 rows are two of these; a tile of 6 and one of 2 would cost 12


@inner
def height_of(left):
    """Rows of the next tile, ROWS or LOW, if `left` are left."""
    return LOW if left <= LOW or ROWS < left <= 2 * LOW else ROWS


def make_dots(rows: int) -> Callable:
    """``dots(k, a, r, c, b, start, out, rows_left)``: out[i] = start[i] + sum_j a[r[i] + c[j]] b[j] for j < k and
    i < rows_left <= rows.

    b is contiguous, and so is a from each FLOATS-th j to the next: of c, only these entries are read.
    """

    @intrinsic
    def dots(typing, k, a, r, c, b, start, out, rows_left):
        return procedure(partial(_emit_dots, rows), 8)

    return dots


def _emit_dots(rows, build, k, a, r, c, b, start, out, rows_left):
    zero = ir.Constant(VECTOR, [0.0] * FLOATS)
    sums = [cgutils.alloca_once_value(build, zero) for _ in range(rows)]
    a_row = [build.add(a, load(build, build.add(r, integer(8 * i)), I64)) for i in range(rows)]

    def multiply(j, mask):
        c_j = load(build, element(build, c, j, integer(8 * FLOATS)), I64)
        y = load(build, element(build, b, j, integer(4 * FLOATS)), VECTOR, mask)
        for i in range(rows):
            x = load(build, build.add(a_row[i], c_j), VECTOR, mask)
            build.store(multiply_add(build, x, y, build.load(sums[i])), sums[i])

    vectors, left = build.sdiv(k, integer(FLOATS)), build.srem(k, integer(FLOATS))
    with counting(build, vectors) as j:
        multiply(j, None)
    with build.if_then(build.icmp_signed(">", left, integer(0))):
        multiply(vectors, lanes_before(build, left, FLOATS))
    width = min(FLOATS, 8)
    totals = [_folded(build, build.load(total), width) for total in sums]
    totals += [ir.Constant(ir.VectorType(F32, width), [0.0] * width)] * (-rows % width)
    for first in range(0, rows, width):
        total, *others = transposed(build, totals[first : first + width])
        for x in others:
            total = build.fadd(total, x)
        count = minimum(build, build.sub(rows_left, integer(first)), integer(rows - first))
        mask, where = lanes_before(build, count, width), integer(4 * first)
        begun = load(build, build.add(start, where), total.type, mask)
        store(build, build.fadd(begun, total), build.add(out, where), mask)


def _folded(build, x, width):
    """A vector of `width` lanes with the same sum: its upper half added to the lower."""
    while x.type.count > width:
        half = x.type.count // 2
        lower, upper = (build.shuffle_vector(x, x, ir.Constant(ir.VectorType(I32, half), list(range(i, i + half))))
                        for i in (0, half))  # fmt: skip
        x = build.fadd(lower, upper)
    return x


# Copies ---------------------------------------------------------------------------------------------------------------


@intrinsic
def copy_float(typing, source, target):
    """Copy one float32."""
    return procedure(lambda b, source, target: store(b, load(b, source, F32), target), 2)


def _emit_copy(floats, exact, b, source, target, count):
    kind = ir.VectorType(F32, floats)
    with b.if_else(b.icmp_signed(">=", count, integer(floats))) as (all_floats, some_floats):
        with all_floats:
            store(b, load(b, source, kind), target)
        with some_floats:
            some = lanes_before(b, count, floats)
            store(b, load(b, source, kind, some), target, some if exact else None)


def make_copy(floats: int, exact: bool = False) -> Callable:
    """``copy(source, target, count)``: copy that many floats, at most `floats`.

    It reads no further; the rest of the target's vector becomes 0 or, if the copy is exact, stays as it is.
    """

    @intrinsic
    def copy(typing, source, target, count):
        return procedure(partial(_emit_copy, floats, exact), 3)

    return copy


@intrinsic
def copy_to_stride_2(typing, source, target, count):
    """target[2 i] = source[i] for i < count <= FLOATS; elements in between stay as they are."""

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
def copy_from_stride_2(typing, source, target, count):
    """target[i] = source[2 i] for i < count <= FLOATS; the rest of the FLOATS become 0."""

    def emit(b, source, target, count):
        left = b.sub(b.mul(count, integer(2)), integer(1))  # does not read beyond the last element
        x = [load(b, b.add(source, integer(4 * FLOATS * half)), VECTOR,
                  lanes_before(b, b.sub(left, integer(half * FLOATS)), FLOATS)) for half in range(2)]  # fmt: skip
        even = ir.Constant(ir.VectorType(I32, FLOATS), list(range(0, 2 * FLOATS, 2)))
        store(b, b.shuffle_vector(*x, even), target)

    return procedure(emit, 3)


@intrinsic
def transpose_block(typing, source, source_i, target, target_j, rows_left):
    """target[j, i] = source[i, j] for a block of FLOATS x FLOATS; rows from rows_left on repeat the last one."""

    def emit(b, source, source_i, target, target_j, rows_left):
        last = b.sub(rows_left, integer(1))
        rows = [load(b, element(b, source, minimum(b, integer(i), last), source_i), VECTOR) for i in range(FLOATS)]
        for j, column in enumerate(transposed(b, rows)):
            store(b, column, element(b, target, integer(j), target_j))

    return procedure(emit, 5)
