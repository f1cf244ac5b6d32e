"""How the rows of a product's left operand are packed, so that tiles read what lies together."""

from .matrix import place
from .simd import ROWS, inner
from .tiles import copy_float, make_copy, make_strip_copy

_STRIP = 8 * ROWS  # rows of A packed at a time: whole cache lines, where A is transposed
_AHEAD = 8  # k between the line being packed and the one being fetched

_copy_rows = make_copy(ROWS)
_copy_strip = make_strip_copy(ROWS, _STRIP // ROWS)


@inner
def pitch_of(k):
    """Bytes from one packed panel of A to the next: not a power of two, or one k of all would share a set of cache
    lines; and room for what a strip's copy writes past the end."""
    return 4 * ROWS * k + 64


@inner
def _pack_line(line, step, rows, target, pitch):
    """One k of some panels of A: rows numbers, `step` bytes apart, to ROWS of each panel, `pitch` bytes apart."""
    for i in range(0, rows, ROWS):
        if step == 4:
            _copy_rows(line, target, rows - i)
        else:
            for within in range(min(rows - i, ROWS)):
                copy_float(line + within * step, target + 4 * within)
        line, target = line + ROWS * step, target + pitch


@inner
def pack_rows(a, rows, k, panels):
    """panels[i // ROWS, j, i % ROWS] = a[i, j] for i < rows."""
    pitch = pitch_of(k)
    for i in range(0, rows, _STRIP):
        whole = a.row == 4 and rows - i >= _STRIP
        for j in range(k):
            line, target = place(a, i, j), panels + i // ROWS * pitch + 4 * ROWS * j
            if whole:
                _copy_strip(line, target, pitch, _AHEAD * a.column)
            else:
                _pack_line(line, a.row, min(rows - i, _STRIP), target, pitch)
