"""Arrays whose entries along each axis are some of another's, out[i, j, k] = x[a[i], b[j], c[k]], and the adjoint.

So padding goes: in one pass, a row at a time. Of the last axis, c is made of runs, in which one entry comes after the
other, before it, or again. An array is (outer, n, m, width), and a task has some of its rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .copies import copy_row
from .kinds import INTEGERS, READ, WRITE
from .program import in_order, kernel
from .simd import FLOATS, fill, inner
from .tiles import add_float, copy_float, make_add
from .vectormath import F
from .views import floats_at

_COST = 0.12  # nanoseconds of a number
_SHORT = 4  # runs of fewer numbers are not worth vectors
_add_some = make_add(FLOATS)


class _Row(NamedTuple):
    """Where a number lies in blocks: the jth of the ith of the kth."""

    k: int
    i: int
    j: int


@inner
def _start(line, n, m):
    return _Row(line // (n * m), line // m % n, line % m)


@inner
def _following(at, n, m):
    if at.j + 1 < m:
        return _Row(at.k, at.i, at.j + 1)
    return _Row(at.k, at.i + 1, 0) if at.i + 1 < n else _Row(at.k + 1, 0, 0)


@inner
def _fits(x, out, n, m, width, a, b, runs):
    """Whether arrays are as large as the maps say, which name what is there."""
    across, fits = 0, n > 0 and m > 0 and width > 0 and a.size > 0 and b.size > 0
    for place in a:
        fits = fits and 0 <= place < n
    for place in b:
        fits = fits and 0 <= place < m
    for i in range(0, runs.size, 4):
        first, length, step = runs[i + 1], runs[i + 2], runs[i + 3]
        last = first + (length - 1) * step
        fits = (fits and runs[i] == across and length > 0 and -1 <= step <= 1 and 0 <= first < width
                and 0 <= last < width)
        across += length
    if not fits or across == 0:
        return False
    rows = x.size // (n * m * width)
    return x.size == rows * n * m * width and out.size == rows * a.size * b.size * across


@inner
def _work(x, n, m, width, a, b, runs, out):
    return int(out.size * _COST) if _fits(x, out, n, m, width, a, b, runs) else -1


@kernel(x=READ, a=INTEGERS, b=INTEGERS, runs=INTEGERS, out=WRITE, work=_work)
def _mapped(x, n, m, width, a, b, runs, out, task, tasks):
    rows, across = x.size // (n * m * width) * a.size * b.size, runs[runs.size - 4] + runs[runs.size - 2]
    at = _start(task * rows // tasks, a.size, b.size)
    for line in range(task * rows // tasks, (task + 1) * rows // tasks):
        i, j = a[at.i], b[at.j]
        source = x.ctypes.data + 4 * ((at.k * n + i) * m + j) * width
        target = out.ctypes.data + 4 * line * across
        at = _following(at, a.size, b.size)
        for r in range(0, runs.size, 4):
            first, to, length, step = runs[r + 1], target + 4 * runs[r], runs[r + 2], runs[r + 3]
            if length < _SHORT:
                for t in range(length):
                    copy_float(source + 4 * (first + t * step), to + 4 * t)
            else:
                copy_row(length, source + 4 * first, 4 * step, to, 4)


@inner
def _add_row(count, source, target, step):
    """target[step * i] += source[i]"""
    if step == 1 and count >= _SHORT:
        for i in range(0, count, FLOATS):
            _add_some(source + 4 * i, target + 4 * i, count - i)
    elif count < _SHORT:
        for i in range(count):
            add_float(source + 4 * i, target + 4 * i * step)
    else:
        x, y = floats_at(source, count), floats_at(target - (4 * (count - 1) if step < 0 else 0), count)
        last = count - 1 if step < 0 else 0
        for i in range(count):
            y[last + step * i] += x[i]


@inner
def _work_back(g, n, m, width, a, a_begins, a_named, b, b_begins, b_named, runs, out):
    fits = _fits(out, g, n, m, width, a, b, runs) and a_begins.size == n + 1 and b_begins.size == m + 1
    if not fits or a_begins[0] != 0 or b_begins[0] != 0 or a_begins[n] != a_named.size or b_begins[m] != b_named.size:
        return -1
    for i in range(n):
        fits = fits and a_begins[i] <= a_begins[i + 1]
    for j in range(m):
        fits = fits and b_begins[j] <= b_begins[j + 1]
    for place in a_named:
        fits = fits and 0 <= place < a.size
    for place in b_named:
        fits = fits and 0 <= place < b.size
    return int(g.size * _COST) if fits else -1


@kernel(g=READ, a=INTEGERS, a_begins=INTEGERS, a_named=INTEGERS, b=INTEGERS, b_begins=INTEGERS, b_named=INTEGERS,
        runs=INTEGERS, out=WRITE, work=_work_back)
def _mapped_back(g, n, m, width, a, a_begins, a_named, b, b_begins, b_named, runs, out, task, tasks):
    rows, across = out.size // width, runs[runs.size - 4] + runs[runs.size - 2]
    at = _start(task * rows // tasks, n, m)
    for line in range(task * rows // tasks, (task + 1) * rows // tasks):
        k, i, j = at.k * a.size, at.i, at.j
        at = _following(at, n, m)
        target = out.ctypes.data + 4 * line * width
        fill(floats_at(target, width), F(0))
        for p in range(a_begins[i], a_begins[i + 1]):
            for q in range(b_begins[j], b_begins[j + 1]):
                source = g.ctypes.data + 4 * ((k + a_named[p]) * b.size + b_named[q]) * across
                for r in range(0, runs.size, 4):
                    _add_row(runs[r + 2], source + 4 * runs[r], target + 4 * runs[r + 1], runs[r + 3])


class _Axis(NamedTuple):
    """What `padding.Map` says, but for the runs."""

    size: int
    places: np.ndarray
    begins: np.ndarray
    named: np.ndarray


@functools.lru_cache(64)
def _whole(size: int) -> _Axis:
    return _Axis(size, np.arange(size), np.arange(size + 1), np.arange(size))


def _grouped(maps: Sequence[Any]) -> tuple[Any, Any, int, np.ndarray] | None:
    """The maps of two axes, and the size and the runs of a third; axes taken whole are one with those beside them, and
    in front count for nothing. None if there are more."""
    found: list[Any] = []
    for each in maps:
        if type(each) is int and found and type(found[-1]) is int:
            found[-1] *= each
        else:
            found.append(each)
    if len(found) > 3 and type(found[0]) is int:
        del found[0]
    if len(found) > 3:
        return None
    a, b, c = [1, 1, *found][-3:]
    width, runs = (c, np.array([0, 0, c, 1])) if type(c) is int else (c.size, c.runs)
    a, b = [_whole(each) if type(each) is int else each for each in (a, b)]
    return a, b, width, runs


def mapped(x: np.ndarray, maps: Sequence[Any]) -> np.ndarray:
    """x[np.ix_(*[m.places for m in maps])], where a number stands for all places of an axis of that size."""
    found = _grouped(maps)
    if found is None or not x.size:
        return NotImplemented
    (a, b, width, runs), out = found, np.empty([m if type(m) is int else len(m.places) for m in maps], np.float32)
    _mapped(in_order(x), a.size, b.size, width, a.places, b.places, runs, out)
    return out


def mapped_vjp(g: np.ndarray, maps: Sequence[Any]) -> np.ndarray:
    """The adjoint of `mapped`."""
    found = _grouped(maps)
    if found is None or not g.size:
        return NotImplemented
    (a, b, width, runs), out = found, np.empty([m if type(m) is int else m.size for m in maps], np.float32)
    _mapped_back(in_order(g), a.size, b.size, width, a.places, a.begins, a.named, b.places, b.begins, b.named, runs,
                 out)
    return out
