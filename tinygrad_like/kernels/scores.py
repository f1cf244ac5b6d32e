"""Attention's matrices in panels: their products, and operations on a panel of scores.

Entry [i, j] of a matrix in panels is [j // COLUMNS][i][j % COLUMNS]. The tiles of tiles.py read it on either side of a
product, transposed or not, through a table of offsets for i and one for j. Scores are a panel (keys, COLUMNS), one
query per lane, so that an operation over all keys of a query works on whole vectors.
"""

from typing import NamedTuple

import numpy as np

from .late import cgutils, intrinsic
from .matrix import pack_columns, part_of, transpose
from .noise import U32, random_bits
from .simd import (
    COLUMNS,
    FLOATS,
    ROWS,
    VECTOR,
    VECTORS,
    counting,
    element,
    inner,
    integer,
    load,
    procedure,
    store,
)
from .tiles import make_tile
from .vectormath import F
from .views import floats_at

LINE = 4 * COLUMNS  # bytes of a row of a panel

_wide_tile, _narrow_tile = make_tile(ROWS, VECTORS), make_tile(ROWS, 1)


class Panels(NamedTuple):
    """A matrix in panels."""

    address: int
    pitch: int  # bytes from one panel to the next


class Operand(NamedTuple):
    """The left side of a product: element [i, k] is at address + rows[i] + columns[k]."""

    address: int
    rows: np.ndarray
    columns: np.ndarray


@inner
def pack(x, rows, columns, panels, factor):
    """panels = factor * x for a matrix (rows, columns)."""
    for j in range(0, columns, COLUMNS):
        panel = panels.address + j // COLUMNS * panels.pitch
        pack_columns(part_of(x, 0, j), rows, columns - j, panel)
        if factor != 1:
            numbers = floats_at(panel, rows * COLUMNS)
            for i in range(numbers.size):
                numbers[i] *= factor


@inner
def offsets(table, count, step):
    """Offsets of rows, or of columns, `step` bytes apart; past the end, that of the last one."""
    for i in range(count + ROWS):
        table[i] = min(i, count - 1) * step


@inner
def offsets_in_row(table, count, pitch):
    """Offsets of elements [0, j] of panels."""
    for j in range(count + ROWS):
        last = min(j, count - 1)
        table[j] = last // COLUMNS * pitch + last % COLUMNS * 4


@inner
def multiply(a, b, start, out, rows, columns, depth):
    """out = start + A B, for an Operand A, B in Panels, and matrices start and out whose rows are contiguous."""
    r, c = a.rows.ctypes.data, a.columns.ctypes.data
    for j in range(0, columns, COLUMNS):
        panel = b.address + j // COLUMNS * b.pitch
        for i in range(0, rows, ROWS):
            tile = (depth, a.address, r + 8 * i, c, panel, LINE, start.address + i * start.row + 4 * j, start.row,
                    out.address + i * out.row + 4 * j, out.row, rows - i, columns - j)
            if columns - j <= FLOATS:
                _narrow_tile(*tile)
            else:
                _wide_tile(*tile)


# Panels of scores -----------------------------------------------------------------------------------------------------


def _lanes(b, line):
    """The line of COLUMNS numbers at an address, as vectors."""
    return [load(b, b.add(line, integer(4 * FLOATS * j)), VECTOR) for j in range(VECTORS)]


def _put(b, vectors, line):
    for j, x in enumerate(vectors):
        store(b, x, b.add(line, integer(4 * FLOATS * j)))


def _fold(combine):
    """Intrinsic part: line = combine(line, every line of the panel)."""

    def emit(b, panel, keys, line):
        folded = [cgutils.alloca_once_value(b, x) for x in _lanes(b, line)]  # in registers
        with counting(b, keys) as key:
            for x, old in zip(_lanes(b, element(b, panel, key, integer(LINE))), folded, strict=True):
                b.store(combine(b, b.load(old), x), old)
        _put(b, [b.load(x) for x in folded], line)

    return procedure(emit, 3)


@intrinsic
def maximum(typing, panel, keys, line):
    """line = the larger of line and every line of the panel."""
    return _fold(lambda b, x, y: b.select(b.fcmp_ordered(">", x, y), x, y))


@intrinsic
def add_lines(typing, panel, keys, line):
    """line += every line of the panel."""
    return _fold(lambda b, x, y: b.fadd(x, y))


@intrinsic
def subtract(typing, panel, keys, line):
    """panel -= line."""

    def emit(b, panel, keys, line):
        shift = _lanes(b, line)
        with counting(b, keys) as key:
            row = element(b, panel, key, integer(LINE))
            _put(b, [b.fsub(x, y) for x, y in zip(_lanes(b, row), shift, strict=True)], row)

    return procedure(emit, 3)


@intrinsic
def gradient_of_scores(typing, weights, gradients, keys, inverse, delta):
    """weights *= inverse; gradients = weights * (gradients - delta)."""

    def emit(b, weights, gradients, keys, inverse, delta):
        scales, means = _lanes(b, inverse), _lanes(b, delta)
        with counting(b, keys) as key:
            p_row, dp_row = (element(b, panel, key, integer(LINE)) for panel in (weights, gradients))
            p = [b.fmul(x, y) for x, y in zip(_lanes(b, p_row), scales, strict=True)]
            dp = [b.fsub(x, y) for x, y in zip(_lanes(b, dp_row), means, strict=True)]
            _put(b, p, p_row)
            _put(b, [b.fmul(x, y) for x, y in zip(p, dp, strict=True)], dp_row)

    return procedure(emit, 5)


@inner
def hide_future(scores, first_key, keys, first_query):
    """Scores of keys after the query are -inf."""
    for key in range(max(first_key, first_query + 1), first_key + keys):
        floats_at(scores + (key - first_key) * LINE, min(key - first_query, COLUMNS))[:] = -np.inf


@inner
def add_mask(scores, keys, queries, mask, spare):
    """Add a block of a mask (queries, keys) to the scores; spare has room for a panel."""
    pack_columns(transpose(mask), keys, queries, spare)
    x, y = floats_at(scores, keys * COLUMNS), floats_at(spare, keys * COLUMNS)
    for i in range(x.size):
        x[i] += y[i]


# Dropout --------------------------------------------------------------------------------------------------------------


class Dropout(NamedTuple):
    seed: int
    each: int  # weights of an example
    skip: int  # weights of other ranks' examples before the next one
    threshold: np.uint32  # weights with a lower random number are dropped
    factor: np.float32  # scales the others


@inner
def dropout_of(p, key, spread):
    threshold = U32(min(int(np.rint(p * 2.0**32)), 2**32 - 1))
    each = max(spread & 0xFFFFFFFF, 1)
    return Dropout(key[0] if p > 0 else 0, each, each * max((spread >> 32) - 1, 0), threshold,
                   F(0) if p >= 1 else F(1 / (1 - p)))


@inner
def drop(weights, dropout, row, total, key, keys, places):
    """Apply dropout to a panel of weights. The first is in row `row`, of `total` keys, at key `key`. Which weights stay
    is a function of the position, as in `noise.py`, so backward finds them again. places: room for COLUMNS."""
    for i in range(COLUMNS):
        number = (row + i) * total + key
        places[i] = U32(number + number // dropout.each * dropout.skip + dropout.seed)
    high = U32(dropout.seed >> 32)
    for j in range(keys):
        line = floats_at(weights + j * LINE, COLUMNS)
        for i in range(COLUMNS):
            stays = random_bits(U32(j), places[i], high) >= dropout.threshold
            line[i] = line[i] * dropout.factor if stays else F(0)
