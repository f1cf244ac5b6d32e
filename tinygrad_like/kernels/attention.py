"""Attention, softmax(scale q k^T + mask) v, without ever holding the matrix of scores (FlashAttention, 2022).

The scores are computed a block of keys by a panel of queries at a time, used, and forgotten. Forward, a query's softmax
is a running one: when a block brings a higher maximum, what was summed before is scaled down. All it leaves behind are
two numbers a query: its maximum m and 1 / sum e^(s - m). From them backward has the weights of any block again.

Blocks are stored turned round, keys by queries, COLUMNS queries wide. So maxima and sums over keys, causality and masks
are operations on whole vectors, a query to a lane. All operands lie in panels of one form, [j // COLUMNS][i][j %
COLUMNS] for number [i, j], which the tiles of simd.py read on either side of a product, and either way round: it takes
one table of offsets for i and one for j.

    S' = (scale K) Q'       P' = e^(S' - m) / sum      O = P V                                             forward
    dP' = V dO'     dS' = P' (dP' - delta)     dV = P' dO     dK = dS' (scale Q)     dQ = dS (scale K)     backward

with delta = the sums of dO O over a row (' is transposition). Arrays are read and written where they lie, with any
strides: heads may be views of one projection (batch, length, 3 heads size).
"""

import math

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from .matrix import Matrix, aligned, ceil_div, fits, length_of, matrix_of, pack_columns, part_of, place
from .program import (
    READ,
    REAL,
    STRIDED,
    STRIDED_OPTIONAL,
    STRIDED_WRITE,
    WRITE,
    kernel,
)
from .simd import (
    COLUMNS,
    FLOATS,
    ROWS,
    VECTOR,
    VECTORS,
    counting,
    element,
    floats_at,
    inner,
    integer,
    is_row_by_row,
    lanes_before,
    load,
    make_tile,
    ndim_of,
    procedure,
    size_of,
    store,
    stride_of,
)
from .softmax import _dot, _exp, _scale

_KEYS = 128  # in a block: a panel of scores, 16 KiB, stays in the first-level cache
_UNITS, _QUERIES = 8, 128  # heads or parts of heads that are enough for the threads; queries of a part, at least
_COST = 0.0075  # nanoseconds of a multiplication
_LINE = 4 * COLUMNS  # bytes of a row of a panel

_wide_tile, _narrow_tile = make_tile(ROWS, VECTORS), make_tile(ROWS, 1)

# The maximum of nothing: finite, since inf - inf would be NaN; and no number that a mask may hold is lower but -inf.
_LOWEST = np.finfo(np.float32).min

U = np.uint32


# Operations on panels of scores (keys, COLUMNS), a query to a lane ----------------------------------------------------


def _lanes(b, address):
    """The line of COLUMNS numbers at an address, as vectors."""
    return [load(b, b.add(address, integer(4 * FLOATS * j)), VECTOR) for j in range(VECTORS)]


def _fold(combine):
    """Intrinsic part: line = combine(line, every line of the panel)."""

    def emit(b, panel, keys, line):
        folded = [cgutils.alloca_once_value(b, x) for x in _lanes(b, line)]  # in registers
        with counting(b, keys) as key:
            for x, old in zip(_lanes(b, element(b, panel, key, integer(_LINE))), folded, strict=True):
                b.store(combine(b, b.load(old), x), old)
        for j, x in enumerate(folded):
            store(b, b.load(x), b.add(line, integer(4 * FLOATS * j)))

    return procedure(emit, 3)


@intrinsic
def _maximum(typing, panel, keys, line):
    """line = the larger of line and every line of the panel."""
    return _fold(lambda b, x, y: b.select(b.fcmp_ordered(">", x, y), x, y))


@intrinsic
def _sum(typing, panel, keys, line):
    """line += every line of the panel."""
    return _fold(lambda b, x, y: b.fadd(x, y))


@intrinsic
def _subtract(typing, panel, keys, line):
    """panel -= line."""

    def emit(b, panel, keys, line):
        shift = _lanes(b, line)
        with counting(b, keys) as key:
            row = element(b, panel, key, integer(_LINE))
            for j, (x, y) in enumerate(zip(_lanes(b, row), shift, strict=True)):
                store(b, b.fsub(x, y), b.add(row, integer(4 * FLOATS * j)))

    return procedure(emit, 3)


@intrinsic
def _gradient_of_scores(typing, weights, gradients, keys, inverse, delta):
    """weights *= inverse; gradients = weights * (gradients - delta)."""

    def emit(b, weights, gradients, keys, inverse, delta):
        scales, means = _lanes(b, inverse), _lanes(b, delta)
        with counting(b, keys) as key:
            at = b.mul(key, integer(_LINE))
            rows = b.add(weights, at), b.add(gradients, at)
            for j, (p, dp) in enumerate(zip(*[_lanes(b, row) for row in rows], strict=True)):
                p = b.fmul(p, scales[j])
                for x, row in zip((p, b.fmul(p, b.fsub(dp, means[j]))), rows, strict=True):
                    store(b, x, b.add(row, integer(4 * FLOATS * j)))

    return procedure(emit, 5)


@intrinsic
def _hide(typing, line, count):
    """The first `count` numbers of a line = -inf."""

    def emit(b, line, count):
        hidden = ir.Constant(VECTOR, [-math.inf] * FLOATS)
        for j in range(VECTORS):
            mask = lanes_before(b, b.sub(count, integer(FLOATS * j)), FLOATS)
            store(b, hidden, b.add(line, integer(4 * FLOATS * j)), mask)

    return procedure(emit, 2)


# Panels ---------------------------------------------------------------------------------------------------------------


@inner
def _panel_bytes(rows, columns):
    """Memory for a matrix in panels."""
    return rows * ceil_div(columns, COLUMNS) * _LINE


@inner
def _pack(x, rows, columns, panels, panel_bytes, factor):
    """panels = factor * x for a matrix (rows, columns)."""
    for j in range(0, columns, COLUMNS):
        panel = panels + j // COLUMNS * panel_bytes
        pack_columns(Matrix(place(x, 0, j), x.row, x.column), rows, columns - j, panel)
        if factor != 1:
            numbers = floats_at(panel, rows * COLUMNS)
            for i in range(numbers.size):
                numbers[i] *= factor


@inner
def _offsets_in_column(table, count):
    """Offsets of numbers [i, 0] of panels; past the end, of the last one: what ends a matrix amid a tile."""
    for i in range(count + ROWS):
        table[i] = min(i, count - 1) * _LINE


@inner
def _offsets_in_row(table, count, panel_bytes):
    """Offsets of numbers [0, j] of panels."""
    for j in range(count + ROWS):
        last = min(j, count - 1)
        table[j] = last // COLUMNS * panel_bytes + last % COLUMNS * 4


@inner
def _multiply(rows, columns, depth, a, r, c, b, b_bytes, start, start_row, out, out_row):
    """out = start + A B, with A[i, k] = a[r[i] + c[k]] and B in panels; r, c are tables of offsets."""
    r, c = r.ctypes.data, c.ctypes.data
    for j in range(0, columns, COLUMNS):
        panel = b + j // COLUMNS * b_bytes
        for i in range(0, rows, ROWS):
            first, target = start + i * start_row + 4 * j, out + i * out_row + 4 * j
            tile = (depth, a, r + 8 * i, c, panel, _LINE, first, start_row, target, out_row, rows - i, columns - j, 0)
            if columns - j <= FLOATS:
                _narrow_tile(*tile)
            else:
                _wide_tile(*tile)


@inner
def _hide_future(scores, first_key, keys, first_query):
    """Scores of keys after the query are -inf."""
    for key in range(max(first_key, first_query + 1), first_key + keys):
        _hide(scores + (key - first_key) * _LINE, key - first_query)


@inner
def _add_mask(scores, keys, queries, mask, work):
    """Add a block of a mask (queries, keys) to the scores; work has room for a panel."""
    pack_columns(Matrix(mask.address, mask.column, mask.row), keys, queries, work)
    x, y = floats_at(scores, keys * COLUMNS), floats_at(work, keys * COLUMNS)
    for i in range(x.size):
        x[i] += y[i]


# Dropout --------------------------------------------------------------------------------------------------------------


@inner
def _mixed(x):
    """A bijection of 32 bits in which every bit of x changes half of the bits of the result (Wellons' lowbias32)."""
    x = U(U(x ^ (x >> U(16))) * U(0x7FEB352D))
    x = U(U(x ^ (x >> U(15))) * U(0x846CA68B))
    return U(x ^ (x >> U(16)))


@inner
def _row_key(seed, row):
    return _mixed(U(_mixed(U(U(row) ^ U(seed & 0xFFFFFFFF))) + U(seed >> 32)))


@inner
def _kept(row_key, key, threshold):
    """Whether dropout keeps the weight of a key: a function of place and seed, so that backward finds it again."""
    return _mixed(U(row_key + U(U(key) * U(0x9E3779B9)))) >= threshold


@inner
def _drop(weights, first_key, keys, row_keys, threshold, factor):
    for key in range(keys):
        line = floats_at(weights + key * _LINE, COLUMNS)
        for i in range(COLUMNS):
            line[i] = line[i] * factor if _kept(row_keys[i], first_key + key, threshold) else np.float32(0)


@kernel(factor=REAL, out=WRITE, cost=1.0)
def _dropout_kernel(keys, seed, threshold, factor, out, task, tasks):
    rows, factor = out.size // keys, np.float32(factor)
    for row in range(task * rows // tasks, (task + 1) * rows // tasks):
        row_key = _row_key(seed, row)
        for key in range(keys):
            out[row * keys + key] = factor if _kept(row_key, key, U(threshold)) else np.float32(0)


def _threshold_and_factor(p):
    return min(round(p * 2**32), 2**32 - 1), np.float32(0 if p >= 1 else 1 / (1 - p))


def dropout_factors(shape, p, seed):
    """What attention weights of this shape (..., L, S) are multiplied with: 0 with probability p, else 1 / (1 - p)."""
    out = np.empty(shape, np.float32)
    if out.size:
        _dropout_kernel(shape[-1], seed, *_threshold_and_factor(p), out)
    return out


# Forward --------------------------------------------------------------------------------------------------------------


@inner
def _count_heads(out):
    heads = 1
    for axis in range(3, ndim_of(out) + 1):
        heads *= length_of(out, axis)
    return heads


@inner
def _heads_fit(x, out):
    """Whether an array has out's axes before the last two, at least as many numbers long as it has."""
    if ndim_of(x) != ndim_of(out):
        return False
    for axis in range(3, ndim_of(out) + 1):
        if length_of(x, axis) != length_of(out, axis):
            return False
    return True


@inner
def _work(q, k, v, mask, out, stats, parts, causal, scale, threshold, factor, seed):
    length, size, total, width = length_of(q, 2), length_of(q, 1), length_of(k, 2), length_of(v, 1)
    heads = _count_heads(out)
    if not (ndim_of(out) >= 2 and fits(out, length, width, out) and is_row_by_row(out) and parts > 0
            and fits(q, length, size, out) and fits(k, total, size, out) and fits(v, total, width, out)
            and (mask == 0 or fits(mask, length, total, out, True)) and stats.size == 2 * heads * length):
        return -1
    return int(heads * length * total * (size + width) * _COST)


@kernel(q=STRIDED, k=STRIDED, v=STRIDED, mask=STRIDED_OPTIONAL, out=STRIDED_WRITE, stats=WRITE, scale=REAL, factor=REAL,
        work=_work)
def _attention(q, k, v, mask, out, stats, parts, causal, scale, threshold, factor, seed, task, tasks):
    size, total, width = length_of(q, 1), length_of(k, 2), length_of(v, 1)
    lines = 2 * _KEYS + size + ceil_div(width, COLUMNS) * (COLUMNS + 1) + 3
    memory = _panel_bytes(total, size) + _panel_bytes(total, width) + lines * _LINE
    _forward(q, k, v, mask, out, stats, parts, causal, np.float32(scale), U(threshold), np.float32(factor), seed, task,
             tasks, np.empty(memory // 4 + 16, np.float32))


@inner
def _forward(q, k, v, mask, out, stats, parts, causal, scale, threshold, factor, seed, task, tasks, memory):
    """stats: m of every query, then 1 / sum e^(s - m). Of a head's panels of queries a part has every parts-th."""
    length, size, total, width = length_of(q, 2), length_of(q, 1), length_of(k, 2), length_of(v, 1)
    heads, panel = _count_heads(out), total * _LINE
    k_panels = aligned(memory)
    v_panels = k_panels + _panel_bytes(total, size)
    scores = v_panels + _panel_bytes(total, width)
    work = scores + _KEYS * _LINE
    query = work + _KEYS * _LINE
    sums = query + size * _LINE
    sums_row = ceil_div(width, COLUMNS) * _LINE
    lines = sums + COLUMNS * sums_row
    top, summed = floats_at(lines, COLUMNS), floats_at(lines + _LINE, COLUMNS)
    change = floats_at(lines + 2 * _LINE, COLUMNS)
    zero = lines + 3 * _LINE
    floats_at(zero, sums_row // 4)[:] = 0
    row, column = np.empty(_KEYS + ROWS, np.int64), np.empty(size + ROWS, np.int64)
    lane, row_keys = np.empty(COLUMNS + ROWS, np.int64), np.empty(COLUMNS, np.uint32)
    _offsets_in_row(column, size, panel)
    packed = -1
    for unit in range(task * heads * parts // tasks, (task + 1) * heads * parts // tasks):
        head, part = unit // parts, unit % parts
        if head != packed:
            _pack(matrix_of(k, head, out), total, size, k_panels, panel, scale)
            _pack(matrix_of(v, head, out), total, width, v_panels, panel, np.float32(1))
            packed = head
        for first in range(part * COLUMNS, length, parts * COLUMNS):
            queries = min(COLUMNS, length - first)
            q_rows, out_rows = part_of(matrix_of(q, head, out), first, 0), part_of(matrix_of(out, head, out), first, 0)
            pack_columns(Matrix(q_rows.address, q_rows.column, q_rows.row), size, queries, query)
            _offsets_in_row(lane, queries, 0)
            for i in range(COLUMNS):
                top[i], summed[i] = _LOWEST, 0
                row_keys[i] = _row_key(seed, head * length + first + i)
            end = min(total, first + queries) if causal else total
            for key in range(0, end, _KEYS):
                keys = min(_KEYS, end - key)
                _offsets_in_column(row, keys)
                _multiply(keys, COLUMNS, size, k_panels + key * _LINE, row, column, query, 0, zero, 0, scores, _LINE)
                if mask != 0:
                    _add_mask(scores, keys, queries, part_of(matrix_of(mask, head, out), first, key), work)
                if causal:
                    _hide_future(scores, key, keys, first)
                change[:] = top
                _maximum(scores, keys, lines)
                for i in range(COLUMNS):
                    change[i] -= top[i]
                _exp(change)
                for i in range(COLUMNS):
                    summed[i] *= change[i]
                _subtract(scores, keys, lines)
                _exp(floats_at(scores, keys * COLUMNS))
                _sum(scores, keys, lines + _LINE)
                if threshold > 0:
                    _drop(scores, key, keys, row_keys, threshold, factor)
                if key == 0:
                    _multiply(queries, width, keys, scores, lane, row, v_panels, panel, zero, 0, sums, sums_row)
                else:
                    for i in range(queries):
                        _scale(floats_at(sums + i * sums_row, width), change[i])
                    _multiply(queries, width, keys, scores, lane, row, v_panels + key * _LINE, panel, sums, sums_row,
                              sums, sums_row)
            for i in range(queries):
                inverse = np.float32(1) / summed[i] if summed[i] != 0 else np.float32(0)
                target, source = floats_at(place(out_rows, i, 0), width), floats_at(sums + i * sums_row, width)
                for j in range(width):
                    target[j] = source[j] * inverse
                stats[head * length + first + i] = top[i]
                stats[(heads + head) * length + first + i] = inverse


# Backward -------------------------------------------------------------------------------------------------------------


@inner
def _clear(x, rows, columns):
    for i in range(rows):
        floats_at(place(x, i, 0), columns)[:] = 0


@inner
def _backward_work(g, q, k, v, mask, out, dq, dk, dv, stats, parts, causal, scale, threshold, factor, seed):
    length, size, total, width = length_of(q, 2), length_of(q, 1), length_of(k, 2), length_of(v, 1)
    work = _work(q, k, v, mask, out, stats, parts, causal, scale, threshold, factor, seed)
    if not (fits(g, length, width, out) and is_row_by_row(g) and _heads_fit(g, out)
            and fits(dq, length, size, out) and is_row_by_row(dq) and _heads_fit(dq, out)):
        return -1
    for x, rows, columns in (dk, total, size), (dv, total, width):
        if ndim_of(x) != ndim_of(out) + 1 or size_of(x, 0) != parts or not is_row_by_row(x):
            return -1
        if length_of(x, 2) != rows or length_of(x, 1) != columns:
            return -1
        for axis in range(3, ndim_of(out) + 1):
            if length_of(x, axis) != length_of(out, axis):
                return -1
    return work


@kernel(g=STRIDED, q=STRIDED, k=STRIDED, v=STRIDED, mask=STRIDED_OPTIONAL, out=STRIDED, dq=STRIDED_WRITE,
        dk=STRIDED_WRITE, dv=STRIDED_WRITE, stats=READ, scale=REAL, factor=REAL, work=_backward_work)
def _attention_backward(g, q, k, v, mask, out, dq, dk, dv, stats, parts, causal, scale, threshold, factor, seed, task,
                     tasks):
    size, width = length_of(q, 1), length_of(v, 1)
    widest = ceil_div(max(size, width), COLUMNS)
    lines = (2 * (_KEYS + COLUMNS) + 1) * widest + 3 * _KEYS + size + width
    _backward(g, q, k, v, mask, out, dq, dk, dv, stats, parts, causal, np.float32(scale), U(threshold),
              np.float32(factor), seed, task, tasks, np.empty(lines * COLUMNS + 16, np.float32))


@inner
def _backward(g, q, k, v, mask, out, dq, dk, dv, stats, parts, causal, scale, threshold, factor, seed, task, tasks,
              memory):
    """dk and dv have a leading axis, a part's share each. Of a head's panels of queries a part has every parts-th."""
    length, size, total, width = length_of(q, 2), length_of(q, 1), length_of(k, 2), length_of(v, 1)
    heads, panel, q_panel = _count_heads(out), _KEYS * _LINE, COLUMNS * _LINE
    widest = ceil_div(max(size, width), COLUMNS) * COLUMNS
    k_panels = aligned(memory)
    v_panels = k_panels + _panel_bytes(_KEYS, size)
    q_panels = v_panels + _panel_bytes(_KEYS, width)
    g_panels = q_panels + _panel_bytes(COLUMNS, size)
    weights = g_panels + _panel_bytes(COLUMNS, width)
    gradients = weights + panel
    work = gradients + panel
    query = work + panel  # q and g of a panel of queries, turned round
    cotangent = query + size * _LINE
    zero = cotangent + width * _LINE
    floats_at(zero, widest)[:] = 0
    lines = np.empty((3, length + COLUMNS), np.float32)
    top, inverse, delta = lines[0], lines[1], lines[2]
    row, column = np.empty(_KEYS + ROWS, np.int64), np.empty(widest + ROWS, np.int64)
    lane, row_keys = np.empty(COLUMNS + ROWS, np.int64), np.empty(COLUMNS, np.uint32)
    _offsets_in_row(column, widest, panel)
    for unit in range(task * heads * parts // tasks, (task + 1) * heads * parts // tasks):
        head, part = unit // parts, unit % parts
        q_head, g_head, out_head = matrix_of(q, head, out), matrix_of(g, head, out), matrix_of(out, head, out)
        dq_head, dk_head, dv_head = matrix_of(dq, head, out), _share(dk, part, head, out), _share(dv, part, head, out)
        for i in range(length):
            top[i], inverse[i] = stats[head * length + i], stats[(heads + head) * length + i]
            delta[i] = _dot(floats_at(place(g_head, i, 0), width), floats_at(place(out_head, i, 0), width))
        for key in range(0, total, _KEYS):
            keys = min(_KEYS, total - key)
            _pack(part_of(matrix_of(k, head, out), key, 0), keys, size, k_panels, panel, scale)
            _pack(part_of(matrix_of(v, head, out), key, 0), keys, width, v_panels, panel, np.float32(1))
            dk_rows, dv_rows = part_of(dk_head, key, 0), part_of(dv_head, key, 0)
            _clear(dk_rows, keys, size)
            _clear(dv_rows, keys, width)
            _offsets_in_column(row, keys)
            start = key // COLUMNS if causal else 0
            for first in range((start + (part - start) % parts) * COLUMNS, length, parts * COLUMNS):
                queries = min(COLUMNS, length - first)
                seen = min(keys, ceil_div(first + queries - key, ROWS) * ROWS) if causal else keys
                q_rows, g_rows = part_of(q_head, first, 0), part_of(g_head, first, 0)
                dq_rows = part_of(dq_head, first, 0)
                _pack(q_rows, queries, size, q_panels, q_panel, scale)
                _pack(g_rows, queries, width, g_panels, q_panel, np.float32(1))
                pack_columns(Matrix(q_rows.address, q_rows.column, q_rows.row), size, queries, query)
                pack_columns(Matrix(g_rows.address, g_rows.column, g_rows.row), width, queries, cotangent)
                _offsets_in_row(lane, queries, 0)
                _multiply(seen, COLUMNS, size, k_panels, row, column, query, 0, zero, 0, weights, _LINE)
                _multiply(seen, COLUMNS, width, v_panels, row, column, cotangent, 0, zero, 0, gradients, _LINE)
                if mask != 0:
                    _add_mask(weights, seen, queries, part_of(matrix_of(mask, head, out), first, key), work)
                if causal:
                    _hide_future(weights, key, seen, first)
                _subtract(weights, seen, top.ctypes.data + 4 * first)
                _exp(floats_at(weights, seen * COLUMNS))
                if threshold > 0:
                    for i in range(COLUMNS):
                        row_keys[i] = _row_key(seed, head * length + first + i)
                    _drop(gradients, key, seen, row_keys, threshold, factor)
                _gradient_of_scores(weights, gradients, seen, inverse.ctypes.data + 4 * first,
                                    delta.ctypes.data + 4 * first)
                if threshold > 0:
                    _drop(weights, key, seen, row_keys, threshold, factor)
                _multiply(seen, width, queries, weights, row, lane, g_panels, q_panel, dv_rows.address, dv_rows.row,
                          dv_rows.address, dv_rows.row)
                _multiply(seen, size, queries, gradients, row, lane, q_panels, q_panel, dk_rows.address, dk_rows.row,
                          dk_rows.address, dk_rows.row)
                begin, begin_row = (zero, 0) if key == 0 else (dq_rows.address, dq_rows.row)
                _multiply(queries, size, seen, gradients, lane, row, k_panels, panel, begin, begin_row,
                          dq_rows.address, dq_rows.row)


@inner
def _share(x, part, head, out):
    """The matrix of a head in the share x[part]; x has one axis more than out."""
    matrix = matrix_of(x, head, out)
    return Matrix(matrix.address + part * stride_of(x, 0), matrix.row, matrix.column)


# Calls ----------------------------------------------------------------------------------------------------------------


def _parts(heads, length):
    """Into how many parts to cut the queries of few heads, for threads to share. By the shape alone: a part's gradient
    of keys is a sum of its own, so with the number of threads its last digits would change."""
    return max(1, min(-(-_UNITS // heads), length // _QUERIES))


def _laid_out_like(x, shape):
    """A new array with the order of x's axes in memory, unless that puts another axis than the last innermost."""
    y = np.empty_like(x, shape=shape)
    return y if y.strides[-1] == y.itemsize else np.empty(shape, np.float32)


def attention(q, k, v, mask=None, causal=False, scale=1.0, dropout_p=0.0, seed=0, out=None):
    """softmax(scale * q @ k.T + mask) @ v over the last two axes, and what backward needs: (out, stats).

    q (..., L, d), k (..., S, d), v (..., S, d_v), mask (..., L, S) of float32, any strides, axes before the last two
    broadcasting; out (..., L, d_v), in q's order in memory if left out. A query that may see no key gives 0.
    """
    heads_shape = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2], () if mask is None else mask.shape[:-2])
    if out is None:
        out = _laid_out_like(q, (*heads_shape, q.shape[-2], v.shape[-1]))
    heads, length = math.prod(heads_shape), q.shape[-2]
    stats = np.empty(2 * heads * length, np.float32)
    if k.shape[-2] == 0:
        out[...] = 0
    elif out.size:
        _attention(q, k, v, mask, out, stats, _parts(heads, length), causal, scale,
                        *_threshold_and_factor(dropout_p), seed)
    return out, stats


def attention_backward(g, q, k, v, out, stats, mask=None, causal=False, scale=1.0, dropout_p=0.0, seed=0, into=None):
    """The gradients of q, k and v, with broadcast axes written out; into: three arrays to write them to."""
    g = g if g.strides[-1] == 4 else np.ascontiguousarray(g)
    heads_shape = out.shape[:-2]
    heads, length = math.prod(heads_shape), q.shape[-2]
    dq, dk, dv = into or [_laid_out_like(x, (*heads_shape, *x.shape[-2:])) for x in (q, k, v)]
    if not out.size or not k.size:
        for d in (dq, dk, dv):
            d[...] = 0
        return dq, dk, dv
    parts = _parts(heads, length)
    shares = [d[None] if parts == 1 else np.empty((parts, *d.shape), np.float32) for d in (dk, dv)]
    _attention_backward(g, q, k, v, mask, out, dq, *shares, stats, parts, causal, scale,
                     *_threshold_and_factor(dropout_p), seed)
    if parts > 1:
        for d, share in zip((dk, dv), shares, strict=True):
            np.sum(share, axis=0, out=d)
    return dq, dk, dv
