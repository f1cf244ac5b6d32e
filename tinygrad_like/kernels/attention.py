"""Attention, softmax(scale q k^T + mask) v, without ever storing the matrix of scores (FlashAttention, 2022).

Scores are computed in blocks, some keys by a panel of queries, used, and dropped. The forward pass uses online softmax:
when a block raises a query's maximum, the sums so far are scaled down. It keeps only two numbers per query, the
`stats`: the maximum m and 1 / sum e^(s - m). From them, backward recomputes the weights of any block.

Blocks are stored transposed, keys by queries, and all operands lie in panels of the same layout (see scores.py).

    S' = (scale K) Q'       P' = e^(S' - m) / sum      O = P V                                             forward
    dP' = V dO'     dS' = P' (dP' - delta)     dV = P' dO     dK = dS' (scale Q)     dQ = dS (scale K)     backward

where delta is dO O, summed over each row (' is transposition). Arrays are read and written in place, with any strides:
heads may be views of one projection (batch, length, 3 heads size).
"""

import math
from typing import NamedTuple

import numpy as np

from .kinds import INTEGERS, READ, REAL, STRIDED, STRIDED_OPTIONAL, STRIDED_WRITE, WRITE
from .matrix import Matrix, address_of, aligned, ceil_div, fits, length_of, matrix_of, pack_columns, part_of, transpose
from .program import kernel
from .scores import (
    LINE,
    Dropout,
    Operand,
    Panels,
    add_lines,
    add_mask,
    drop,
    dropout_of,
    gradient_of_scores,
    hide_future,
    maximum,
    multiply,
    offsets,
    offsets_in_row,
    pack,
    subtract,
)
from .simd import COLUMNS, ROWS, inner, put
from .softmax import _dot, _exp, _scale_all
from .vectormath import F
from .views import count_of_matrices, floats_at, has_contiguous_rows, ndim_of

_KEYS = 128  # in a block: a panel of scores, 16 KiB, stays in the L1 cache
_COST = 0.0075  # nanoseconds per multiplication
_KEY = INTEGERS._replace(optional=True)  # of the random numbers of dropout, if there is any

# The maximum of no scores: finite, since inf - inf would be NaN; only -inf in a mask is lower.
_LOWEST = np.finfo(np.float32).min


# Scores ---------------------------------------------------------------------------------------------------------------


class Problem(NamedTuple):
    """The arguments of a call; an array is the address of its object."""

    q: int
    k: int
    v: int
    mask: int  # 0: none
    out: int  # the others broadcast to its heads
    heads: int
    length: int  # queries
    size: int  # of a query, and of a key
    total: int  # keys
    width: int  # of a value
    causal: int
    scale: np.float32
    dropout: Dropout


class Block(NamedTuple):
    """A block of a head's scores: `queries` queries from number `query` on, with `keys` keys from number `key` on."""

    head: int
    query: int
    queries: int
    key: int
    keys: int


class Scratch(NamedTuple):
    """A task's own memory; the last four fields are for backward."""

    memory: np.ndarray  # keeps all these addresses alive
    k: Panels  # times scale
    v: Panels
    query: int  # a panel of queries, transposed
    scores: int  # a block of them
    spare: int  # room for another
    sums: Matrix  # for a panel of queries, of values
    zero: Matrix  # a row of zeros
    lines: np.ndarray  # three numbers for each query
    rows: np.ndarray  # offsets of a block's rows
    lanes: np.ndarray  # of its queries
    columns: np.ndarray  # of the elements of a key or a value
    places: np.ndarray  # for dropout
    q: Panels  # a panel of queries, times scale
    g: Panels
    cotangent: int  # g, transposed
    gradients: int  # of a block of scores


@inner
def _problem(q, k, v, mask, out, causal, scale, p, key, spread):
    return Problem(q, k, v, mask, out, count_of_matrices(out), length_of(q, 2), length_of(q, 1), length_of(k, 2),
                   length_of(v, 1), causal, F(scale), dropout_of(p, key, spread))


@inner
def _scratch(it, keys, queries):
    """Scratch with room for `keys` keys and values at a time, and for the stats of `queries` queries."""
    size, width = ceil_div(it.size, COLUMNS), ceil_div(it.width, COLUMNS)
    widest, pitch, block = max(size, width), keys * LINE, _KEYS * LINE
    lines = keys * (size + width) + it.size + it.width + 3 * _KEYS + COLUMNS * (size + 2 * width) + widest
    memory = np.empty(lines * COLUMNS + 16, np.float32)
    k = aligned(memory)
    v = k + size * pitch
    query = v + width * pitch
    cotangent = query + it.size * LINE
    scores = cotangent + it.width * LINE
    sums = scores + 3 * block
    q = sums + COLUMNS * width * LINE
    g = q + COLUMNS * size * LINE
    zero = g + COLUMNS * width * LINE
    floats_at(zero, widest * COLUMNS)[:] = 0
    columns = np.empty(widest * COLUMNS + ROWS, np.int64)
    offsets_in_row(columns, widest * COLUMNS, pitch)
    return Scratch(memory, Panels(k, pitch), Panels(v, pitch), query, scores, scores + block,
                   Matrix(sums, width * LINE, 4), Matrix(zero, 0, 4), np.empty((3, queries), np.float32),
                   np.empty(_KEYS + ROWS, np.int64), np.empty(COLUMNS + ROWS, np.int64), columns,
                   np.empty(COLUMNS, np.uint32), Panels(q, COLUMNS * LINE), Panels(g, COLUMNS * LINE), cotangent,
                   scores + 2 * block)


@inner
def _begin_queries(it, scratch, head, query):
    """Pack a panel of queries for scores; returns their number."""
    queries = min(COLUMNS, it.length - query)
    pack_columns(transpose(part_of(matrix_of(it.q, head, it.out), query, 0)), it.size, queries, scratch.query)
    offsets_in_row(scratch.lanes, queries, 0)
    return queries


@inner
def _score(it, scratch, block, k):
    """Compute a block of scores, for the packed keys at k."""
    offsets(scratch.rows, block.keys, LINE)
    multiply(Operand(k, scratch.rows, scratch.columns), Panels(scratch.query, 0), scratch.zero,
             Matrix(scratch.scores, LINE, 4), block.keys, COLUMNS, it.size)
    if it.mask != 0:
        mask = part_of(matrix_of(it.mask, block.head, it.out), block.query, block.key)
        add_mask(scratch.scores, block.keys, block.queries, mask, scratch.spare)
    if it.causal:
        hide_future(scratch.scores, block.key, block.keys, block.query)


@inner
def _drop(it, scratch, block, weights):
    if it.dropout.threshold > 0:
        drop(weights, it.dropout, block.head * it.length + block.query, it.total, block.key, block.keys, scratch.places)


# Forward --------------------------------------------------------------------------------------------------------------


@inner
def _work(q, k, v, mask, out, stats, causal, scale, p, key, spread):
    length, size, total, width = length_of(q, 2), length_of(q, 1), length_of(k, 2), length_of(v, 1)
    heads = count_of_matrices(out)
    if not (ndim_of(out) >= 2 and fits(out, length, width, out) and has_contiguous_rows(out)
            and fits(q, length, size, out) and fits(k, total, size, out) and fits(v, total, width, out)
            and (mask == 0 or fits(mask, length, total, out, True)) and stats.size == 2 * heads * length):
        return -1
    return int(heads * length * total * (size + width) * _COST)


@kernel(q=STRIDED, k=STRIDED, v=STRIDED, mask=STRIDED_OPTIONAL, out=STRIDED_WRITE, stats=WRITE, scale=REAL, p=REAL,
        key=_KEY, work=_work)
def _attention(q, k, v, mask, out, stats, causal, scale, p, key, spread, task, tasks):
    """stats: m of every query, then 1 / sum e^(s - m)."""
    it = _problem(q, k, v, mask, out, causal, scale, p, key, spread)
    scratch = _scratch(it, it.total, COLUMNS)
    for head in range(task * it.heads // tasks, (task + 1) * it.heads // tasks):
        pack(matrix_of(k, head, out), it.total, it.size, scratch.k, it.scale)
        pack(matrix_of(v, head, out), it.total, it.width, scratch.v, F(1))
        for query in range(0, it.length, COLUMNS):
            queries = _begin_queries(it, scratch, head, query)
            scratch.lines[0], scratch.lines[1] = _LOWEST, 0
            end = min(it.total, query + queries) if it.causal else it.total
            for key in range(0, max(end, 1), _KEYS):  # once even without keys: the sums are then 0
                _attend(it, scratch, Block(head, query, queries, key, min(_KEYS, end - key)))
            _finish(it, scratch, head, query, queries, stats)


@inner
def _attend(it, scratch, block):
    """Add the values of a block of keys, weighted by e^(s - top)."""
    scores, keys, at = scratch.scores, block.keys, block.key * LINE
    top, total, change = scratch.lines  # the highest score, the sum of e^(s - top), the factor for earlier sums
    _score(it, scratch, block, scratch.k.address + at)
    put(change, top)
    maximum(scores, keys, top.ctypes.data)
    for i in range(COLUMNS):
        change[i] -= top[i]
    _exp(change)
    for i in range(COLUMNS):
        total[i] *= change[i]
    subtract(scores, keys, top.ctypes.data)
    _exp(floats_at(scores, keys * COLUMNS))
    add_lines(scores, keys, total.ctypes.data)
    _drop(it, scratch, block, scores)
    start = scratch.zero
    if block.key > 0:
        start = scratch.sums
        for i in range(block.queries):
            _scale_all(floats_at(address_of(start, i, 0), it.width), change[i])
    multiply(Operand(scores, scratch.lanes, scratch.rows), Panels(scratch.v.address + at, scratch.v.pitch), start,
             scratch.sums, block.queries, it.width, keys)


@inner
def _finish(it, scratch, head, query, queries, stats):
    """Write the outputs of some queries, and their stats."""
    out, first = part_of(matrix_of(it.out, head, it.out), query, 0), head * it.length + query
    for i in range(queries):
        total = scratch.lines[1, i]
        inverse = F(1) / total if total != 0 else F(0)
        target, source = floats_at(address_of(out, i, 0), it.width), floats_at(address_of(scratch.sums, i, 0), it.width)
        for j in range(it.width):
            target[j] = source[j] * inverse
        stats[first + i], stats[it.heads * it.length + first + i] = scratch.lines[0, i], inverse


# Backward -------------------------------------------------------------------------------------------------------------


class Gradients(NamedTuple):
    """A head's matrices."""

    g: Matrix
    dq: Matrix
    dk: Matrix
    dv: Matrix


@inner
def _lies_like(x, rows, columns, out):
    """Whether x is (..., rows, columns) with contiguous rows, and has out's axes before the last two."""
    return fits(x, rows, columns, out) and has_contiguous_rows(x) and count_of_matrices(x) == count_of_matrices(out)


@inner
def _backward_work(g, q, k, v, mask, out, dq, dk, dv, stats, causal, scale, p, key, spread):
    length, size, total, width = length_of(q, 2), length_of(q, 1), length_of(k, 2), length_of(v, 1)
    if not (_lies_like(g, length, width, out) and _lies_like(dq, length, size, out)
            and _lies_like(dk, total, size, out) and _lies_like(dv, total, width, out)):
        return -1
    return _work(q, k, v, mask, out, stats, causal, scale, p, key, spread)


@kernel(g=STRIDED, q=STRIDED, k=STRIDED, v=STRIDED, mask=STRIDED_OPTIONAL, out=STRIDED, dq=STRIDED_WRITE,
        dk=STRIDED_WRITE, dv=STRIDED_WRITE, stats=READ, scale=REAL, p=REAL, key=_KEY,
        work=_backward_work)
def _attention_backward(g, q, k, v, mask, out, dq, dk, dv, stats, causal, scale, p, key, spread, task, tasks):
    it = _problem(q, k, v, mask, out, causal, scale, p, key, spread)
    scratch = _scratch(it, _KEYS, it.length + COLUMNS)
    for head in range(task * it.heads // tasks, (task + 1) * it.heads // tasks):
        of = Gradients(matrix_of(g, head, out), matrix_of(dq, head, out), matrix_of(dk, head, out),
                       matrix_of(dv, head, out))
        _read_stats(it, scratch, of.g, head, stats)
        for key in range(0, max(it.total, 1), _KEYS):
            keys = min(_KEYS, it.total - key)
            _begin_keys(it, scratch, of, head, key, keys)
            for query in range(key // COLUMNS * COLUMNS if causal else 0, it.length, COLUMNS):
                queries = _begin_queries(it, scratch, head, query)
                seen = min(keys, query + queries - key) if causal else keys
                _add_gradients(it, scratch, of, Block(head, query, queries, key, seen))


@inner
def _read_stats(it, scratch, g, head, stats):
    """Load m and 1 / sum e^(s - m) of a head's queries, and compute delta."""
    out, first = matrix_of(it.out, head, it.out), head * it.length
    top, inverse, delta = scratch.lines
    for i in range(it.length):
        top[i], inverse[i] = stats[first + i], stats[it.heads * it.length + first + i]
        delta[i] = _dot(floats_at(address_of(g, i, 0), it.width), floats_at(address_of(out, i, 0), it.width))


@inner
def _begin_keys(it, scratch, of, head, key, keys):
    """Pack a block of keys and values, and zero their gradients."""
    pack(part_of(matrix_of(it.k, head, it.out), key, 0), keys, it.size, scratch.k, it.scale)
    pack(part_of(matrix_of(it.v, head, it.out), key, 0), keys, it.width, scratch.v, F(1))
    for i in range(key, key + keys):
        floats_at(address_of(of.dk, i, 0), it.size)[:] = 0
        floats_at(address_of(of.dv, i, 0), it.width)[:] = 0


@inner
def _add_gradients(it, scratch, of, block):
    """Add the contribution of a block of scores to dq, dk and dv."""
    weights, gradients, queries, keys = scratch.scores, scratch.gradients, block.queries, block.keys
    g, dq = part_of(of.g, block.query, 0), part_of(of.dq, block.query, 0)
    dk, dv = part_of(of.dk, block.key, 0), part_of(of.dv, block.key, 0)
    top, inverse, delta = scratch.lines[:, block.query :]
    pack(part_of(matrix_of(it.q, block.head, it.out), block.query, 0), queries, it.size, scratch.q, it.scale)
    pack(g, queries, it.width, scratch.g, F(1))
    pack_columns(transpose(g), it.width, queries, scratch.cotangent)
    _score(it, scratch, block, scratch.k.address)
    multiply(Operand(scratch.v.address, scratch.rows, scratch.columns), Panels(scratch.cotangent, 0), scratch.zero,
             Matrix(gradients, LINE, 4), keys, COLUMNS, it.width)
    subtract(weights, keys, top.ctypes.data)
    _exp(floats_at(weights, keys * COLUMNS))
    _drop(it, scratch, block, gradients)
    gradient_of_scores(weights, gradients, keys, inverse.ctypes.data, delta.ctypes.data)
    _drop(it, scratch, block, weights)
    multiply(Operand(weights, scratch.rows, scratch.lanes), scratch.g, dv, dv, keys, it.width, queries)
    multiply(Operand(gradients, scratch.rows, scratch.lanes), scratch.q, dk, dk, keys, it.size, queries)
    multiply(Operand(gradients, scratch.lanes, scratch.rows), scratch.k, dq if block.key > 0 else scratch.zero, dq,
             queries, it.size, keys)


# Calls ----------------------------------------------------------------------------------------------------------------


def _laid_out_like(x, shape):
    """A new array with x's order of axes in memory, unless the last axis would then not be the innermost."""
    y = np.empty_like(x, shape=shape)
    return y if y.strides[-1] == y.itemsize else np.empty(shape, np.float32)


def attention(q, k, v, mask=None, causal=False, scale=1.0, dropout_p=0.0, key=None, spread=0):
    """(out, stats): softmax(scale * q @ k.T + mask) @ v over the last two axes, and the statistics for backward.

    q (..., L, d), k (..., S, d), v (..., S, d_v) and mask (..., L, S) are float32, of any strides, and their leading
    axes broadcast; out (..., L, d_v) has q's order in memory. The output of a query that sees no key is 0.
    """
    if q.shape[-2] == 1:  # a language model's next token, for which the kernel would compute a whole panel
        return NotImplemented
    heads_shape = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2], () if mask is None else mask.shape[:-2])
    heads, length = math.prod(heads_shape), q.shape[-2]
    out, stats = _laid_out_like(q, (*heads_shape, length, v.shape[-1])), np.empty(2 * heads * length, np.float32)
    _attention(q, k, v, mask, out, stats, causal, scale, dropout_p, key, spread)
    return out, stats


def attention_backward(g, q, k, v, out, stats, mask=None, causal=False, scale=1.0, dropout_p=0.0, key=None, spread=0,
                       into=None):
    """The gradients of q, k and v, before summing over broadcast axes. into: three arrays to write them to."""
    g = g if g.strides[-1] == 4 else np.ascontiguousarray(g)
    dq, dk, dv = into or [_laid_out_like(x, (*out.shape[:-2], *x.shape[-2:])) for x in (q, k, v)]
    _attention_backward(g, q, k, v, mask, out, dq, dk, dv, stats, causal, scale, dropout_p, key, spread)
    return dq, dk, dv
