"""Numbers put into places along an axis, or multiplied or compared with what is there, and what comes back from there.

An array is (outer, n, width), n counts the places, and the numbers that come are (outer, rows, width). The index names
a place for each of them, or for each of the rows, if they all have the same. It may lie in memory that someone else
writes to: each entry is compared with n when it is used.

All of it is one loop over the numbers that come, from the front or from the back, see `_each`.
"""

import math

import numpy as np

from ..dtypes import FLOAT32, INT64
from .along import AT_ONCE, check, places
from .checks import check_again
from .kinds import INTEGERS, OPTIONAL, READ, WRITE
from .program import in_order, kernel
from .simd import fill, inner, put
from .vectormath import F

_COST = 1.0  # nanoseconds of a number
PUT, MULTIPLY, MAX, MIN = range(4)  # what becomes of a place
_COUNT, _SHARE, _BEFORE, _AFTER, _LAST = range(4, 9)  # what the rules do


@inner
def _same(x, y):
    return (x == y) | ((x != x) & (y != y))


@inner
def _rows(op, x, here):
    """What comes to neighbouring places, in vectors."""
    if op == PUT:
        put(here, x)
    elif op == MULTIPLY:
        for i in range(x.size):
            here[i] *= x[i]
    else:
        sign = F(1) if op == MAX else F(-1)
        for i in range(x.size):
            known, new = here[i], x[i]
            here[i] = known if (sign * known >= sign * new) | (known != known) else new


@inner
def _come(op, x, spots, table):
    """What comes to the places `spots` of a table, in that order."""
    if op == PUT:
        for i in range(x.size):
            table[spots[i]] = x[i]
    elif op == MULTIPLY:
        for i in range(x.size):
            table[spots[i]] *= x[i]
    else:
        sign = F(1) if op == MAX else F(-1)
        for i in range(x.size):
            known, new = table[spots[i]], x[i]
            table[spots[i]] = known if (sign * known >= sign * new) | (known != known) else new


@inner
def _go_back(op, x, spots, table, like, y):
    """What the numbers y get that come from x; `like` is as large as the table."""
    if op == _COUNT:
        for i in range(x.size):
            table[spots[i]] += F(_same(x[i], like[spots[i]]))
    elif op == _SHARE:
        for i in range(x.size):
            share = table[spots[i]]  # looked at in any case: that is no branch, which would go either way
            y[i] = share if _same(x[i], like[spots[i]]) else F(0)
    elif op == _BEFORE:
        for i in range(x.size):
            y[i] = table[spots[i]]
            table[spots[i]] *= x[i]
    elif op == _AFTER:
        for i in range(x.size - 1, -1, -1):
            y[i] *= table[spots[i]] * like[spots[i]]
            table[spots[i]] *= x[i]
    else:  # the last of those that name a place takes all
        for i in range(x.size - 1, -1, -1):
            y[i] = table[spots[i]]
            table[spots[i]] = F(0)


@inner
def _each(op, part, n, width, index, x, table, like, y):
    """Go through the numbers x of some tables and columns, rows from the last to the first if need be; returns whether
    all their places are there."""
    first, last, left, right = part
    rows, shared, spots, fine = x.size // (table.size // n), index.size < x.size, np.empty(AT_ONCE, np.int64), True
    step = AT_ONCE if width == 1 else 1
    blocks = -(-rows // step)
    for unit in range((last - first) * blocks if right > left else 0):
        k, row = first + unit // blocks, unit % blocks * step
        if op >= _AFTER:
            row = (blocks - 1) * step - row
        for begin in range(left, right, AT_ONCE):
            at, count = (k * rows + row) * width + begin, min(AT_ONCE, right - begin)
            if width == 1:
                count = min(step, rows - row)
            together = shared and width > 1
            known, named = 1 if together else count, row if shared else at
            fine &= places(index[named : named + known], n, 0, 0, spots[:known])
            here, base, wide = spots[:count], k * n * width + begin, width > 1
            if together and op <= MIN:
                base += here[0] * width
                _rows(op, x[at : at + count], table[base : base + count])
                continue
            if together:
                fill(here, here[0])
            for i in range(count):
                here[i] = here[i] * width + base + (i if wide else 0)
            if op <= MIN:
                _come(op, x[at : at + count], here, table)
            else:
                _go_back(op, x[at : at + count], here, table, like, y[at : at + count])
    return fine


@inner
def _part(task, tasks, outer, width):
    """The tables, and the columns, that a task has: so two never write to one place."""
    if outer >= tasks:
        return task * outer // tasks, (task + 1) * outer // tasks, 0, width
    return 0, outer, task * width // tasks, (task + 1) * width // tasks


_COPY, _ONES, _TIMES, _MINE, _SHARED, _KEPT = range(6)


@inner
def _at_places(what, part, n, width, table, g, x, out):
    """What a task does to its part of a table, beside what comes to it."""
    first, last, left, right = part
    pieces, length, step = (1, (last - first) * n * width, 1) if right - left == width else (
        (last - first) * n, right - left, width)  # fmt: skip
    for at in range(first * n * width + left, first * n * width + left + pieces * step, step):
        here = table[at : at + length]
        if what == _COPY and x.size:
            put(here, x[at : at + length])
        elif what == _COPY or what == _ONES:
            fill(here, F(what))
        else:
            for i in range(length):
                mine = what >= _MINE and _same(x[at + i], out[at + i])
                if what == _TIMES:
                    here[i] *= g[at + i]
                elif what == _SHARED:
                    here[i] = g[at + i] / here[i]
                else:
                    here[i] = (F(1) if what == _MINE else here[i]) if mine else F(0)


@inner
def _fits(index, x, n, width, table):
    outer = table.size // (n * width)
    rows = x.size // (outer * width)
    return table.size == outer * n * width and x.size == outer * rows * width and (
        index.size == x.size or index.size == rows)


# --- What becomes of the places ---------------------------------------------------------------------------------------


@inner
def _work(op, x, src, index, n, width, out, wrong):
    fits = _fits(index, src, n, width, out) and (x.size == out.size or x.size == 0) and PUT <= op <= MIN
    return int(src.size * _COST) if fits else -1


@kernel(x=OPTIONAL, src=READ, index=INTEGERS, out=WRITE, wrong=WRITE.of(np.int64), work=_work)
def _scatter(op, x, src, index, n, width, out, wrong, task, tasks):
    part = _part(task, tasks, out.size // (n * width), width)
    _at_places(_COPY, part, n, width, out, out, x, out)
    if not _each(op, part, n, width, index, src, out, out, src[:0]):
        wrong[0] = 1


def scattered(x: np.ndarray, op: int, src: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """x with src put where an index along the axis says, or multiplied or compared with what is there. The index is as
    large as src, or has size 1 along all other axes."""
    if not _suits(x.shape, src, index, axis):
        return NotImplemented
    n, width, wrong, out = x.shape[axis], math.prod(x.shape[axis + 1 :]), np.zeros(1, np.int64), np.empty(x.shape, F)
    _scatter(op, in_order(x), in_order(src), index, n, width, out, wrong)
    return _checked([out], wrong, index, n)


def _suits(shape: tuple[int, ...], src: np.ndarray, index: np.ndarray, axis: int) -> bool:
    others = shape[:axis] + shape[axis + 1 :]
    return (src.dtype is FLOAT32 and index.dtype is INT64 and src.size > 0 and math.prod(shape) > 0
            and src.shape[:axis] + src.shape[axis + 1 :] == others
            and (index.shape == src.shape or index.size == index.shape[axis] == src.shape[axis]))


def _checked(results: list, wrong: np.ndarray, index: np.ndarray, n: int):
    check_again(check, wrong, index, n, flag=wrong, lasting=True)
    return NotImplemented if wrong[0] else results[0] if len(results) == 1 else results


# --- The way back -----------------------------------------------------------------------------------------------------


@inner
def _work_of_last(g, index, n, width, left, y, wrong):
    return int(y.size * _COST) if _fits(index, y, n, width, left) and g.size == left.size else -1


@kernel(g=READ, index=INTEGERS, left=WRITE, y=WRITE, wrong=WRITE.of(np.int64), work=_work_of_last)
def _take_last(g, index, n, width, left, y, wrong, task, tasks):
    """y[k] = g at the place of number k, if none after it has that place; what nobody takes is left."""
    part = _part(task, tasks, left.size // (n * width), width)
    _at_places(_COPY, part, n, width, left, g, g, left)
    if not _each(_LAST, part, n, width, index, y, left, left, y):
        wrong[0] = 1


def taken_last(g: np.ndarray, index: np.ndarray, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """What an index along the axis names, where it names a place for the last time; elsewhere 0."""
    y, left, wrong = np.empty(shape, F), np.empty(g.shape, F), np.zeros(1, np.int64)
    if not _suits(g.shape, y, index, axis):
        return NotImplemented
    _take_last(in_order(g), index, g.shape[axis], math.prod(g.shape[axis + 1 :]), left, y, wrong)
    return _checked([y], wrong, index, g.shape[axis])


@inner
def _work_back(op, g, x, src, out, index, n, width, dx, dsrc, wrong):
    fits = _fits(index, src, n, width, dx) and g.size == x.size == out.size == dx.size and dsrc.size == src.size
    return int(2 * src.size * _COST) if fits and MULTIPLY <= op <= MIN else -1


@kernel(g=READ, x=READ, src=READ, out=READ, index=INTEGERS, dx=WRITE, dsrc=WRITE, wrong=WRITE.of(np.int64),
        work=_work_back)
def _back(op, g, x, src, out, index, n, width, dx, dsrc, wrong, task, tasks):
    """Of a product, g times all other factors; of an extreme, g in equal parts to those that are it."""
    part = _part(task, tasks, dx.size // (n * width), width)
    product = op == MULTIPLY
    before, there, after = (_COPY, _ONES, _TIMES) if product else (_MINE, _SHARED, _KEPT)
    _at_places(before, part, n, width, dx, g, x, out)
    fine = _each(_BEFORE if product else _COUNT, part, n, width, index, src, dx, g if product else out, dsrc)
    _at_places(there, part, n, width, dx, g, x, out)
    _each(_AFTER if product else _SHARE, part, n, width, index, src, dx, g if product else out, dsrc)
    _at_places(after, part, n, width, dx, g, x, out)
    if not fine:
        wrong[0] = 1


def product_vjp(g: np.ndarray, x: np.ndarray, src: np.ndarray, out: np.ndarray, index: np.ndarray, axis: int) -> list:
    """What a product at each place owes x, src and the index."""
    return _owed(MULTIPLY, g, x, src, out, index, axis)


def extreme_vjp(g: np.ndarray, x: np.ndarray, src: np.ndarray, out: np.ndarray, index: np.ndarray, axis: int) -> list:
    """What an extreme at each place owes x, src and the index."""
    return _owed(MAX, g, x, src, out, index, axis)


def _owed(op: int, g: np.ndarray, x: np.ndarray, src: np.ndarray, out: np.ndarray, index: np.ndarray, axis: int):
    if not x.dtype is out.dtype is FLOAT32 or not _suits(x.shape, src, index, axis):
        return NotImplemented
    dx, dsrc, wrong = np.empty(x.shape, F), np.empty(src.shape, F), np.zeros(1, np.int64)
    n, width = x.shape[axis], math.prod(x.shape[axis + 1 :])
    _back(op, in_order(g), in_order(x), in_order(src), in_order(out), index, n, width, dx, dsrc, wrong)
    return _checked([dx, dsrc, None], wrong, index, n)
