"""Numbers taken, and added back, along an axis, as in out[i, j] = x[i, index[i, j]].

An array is (outer, n, inner), and n, the axis, what the index counts. The index may lie in memory that someone else
writes to: each entry is compared with n when it is used.
"""

import math

import numpy as np

from .checks import check_again
from .kinds import INTEGERS, READ, WRITE
from .matrix import ceil_div
from .program import in_order, kernel
from .simd import fill, inner, put
from .vectormath import F

_COST = 1.0  # nanoseconds of a number
_STRIP = 64  # columns that are added up together
AT_ONCE = 1024  # entries of an index that are looked at together
_SUMMED = 64  # numbers that are added up in float32 at the most


@inner
def places(index, n, wraps, other, found):
    """Which of n places each entry of an index names, and `other` where it names none; returns whether all name one.
    wraps: whether negative ones count from the end.

    This goes in vectors, and what uses the places afterwards need not look at each.
    """
    low, high, more = 0, 0, n if wraps else 0
    for i in range(found.size):
        place = index[i]
        place = place + more if place < 0 else place
        low, high = min(low, place), max(high, place)
        found[i] = place if (place >= 0) & (place < n) else other
    return low >= 0 and high < n


@inner
def pick(x, found, taken):
    for i in range(found.size):
        taken[i] = x[found[i]]


@inner
def add_to(total, found, x):
    for i in range(found.size):
        total[found[i]] += x[i]


@inner
def _work(x, index, n, width, taken, wrong):
    outer = x.size // (n * width)
    fits = taken.size == index.size and x.size == outer * n * width and index.size % (outer * width) == 0
    return int(index.size * _COST) if fits else -1


@kernel(x=READ, index=INTEGERS, taken=WRITE, wrong=WRITE.of(np.int64), work=_work)
def _take_along(x, index, n, width, taken, wrong, task, tasks):
    outer = x.size // (n * width)
    strips, rows = ceil_div(width, AT_ONCE), index.size // (outer * width)
    if width == 1:  # along the last axis: of short rows several are looked at together
        first, last, some = task * outer // tasks, (task + 1) * outer // tasks, max(1, AT_ONCE // max(rows, 1))
        named = np.empty(some * rows, np.int64)
        for k in range(first, last, some):
            end = min(k + some, last)
            if not places(index[k * rows : end * rows], n, 0, 0, named[: (end - k) * rows]):
                wrong[0] = 1
            for row in range(k, end):
                here = (row - k) * rows
                pick(x[row * n : (row + 1) * n], named[here : here + rows], taken[row * rows : (row + 1) * rows])
        return
    named = np.empty(AT_ONCE, np.int64)
    for unit in range(task * outer * strips // tasks, (task + 1) * outer * strips // tasks):
        k, left = unit // strips, unit % strips * AT_ONCE
        found, begin = named[: min(AT_ONCE, width - left)], k * n * width + left
        for at in range(k * rows * width + left, (k + 1) * rows * width + left, width):
            if not places(index[at : at + found.size], n, 0, 0, found):
                wrong[0] = 1
            for i in range(found.size):
                taken[at + i] = x[begin + found[i] * width + i]


@inner
def _work_back(x, index, n, width, out, wrong):
    return _work(out, index, n, width, x, wrong)


@inner
def _add_rows(x, index, first, rows, n, width, named, total, pitch):
    """total[place * pitch + i] += x, for some columns i of the rows; whether all places are there."""
    fine = True
    for at in range(first, first + rows * width, width):
        fine &= places(index[at : at + named.size], n, 0, 0, named)
        for i in range(named.size):
            total[named[i] * pitch + i] += x[at + i]
    return fine


@kernel(x=READ, index=INTEGERS, out=WRITE, wrong=WRITE.of(np.int64), work=_work_back)
def _add_along(x, index, n, width, out, wrong, task, tasks):
    """A task has some columns of some of the arrays (n, width): so two never write to one place. Many are added up in
    float64."""
    outer, rows = out.size // (n * width), index.size // (out.size // n)
    few = rows <= _SUMMED
    most = min(width, AT_ONCE if few else _STRIP)
    strips, totals = ceil_div(width, most), np.empty(0 if few else n * most)
    named = np.empty(rows if width == 1 else most, np.int64)
    for unit in range(task * outer * strips // tasks, (task + 1) * outer * strips // tasks):
        k, left = unit // strips, unit % strips * most
        columns, first, end = min(most, width - left), k * rows * width + left, (k + 1) * n * width
        total, target = totals[: n * columns], out[k * n * width + left : end]
        fill(total, 0.0)
        if few:
            for i in range(0, target.size, width if strips > 1 else target.size):
                fill(target[i : i + (columns if strips > 1 else target.size)], F(0))
        if width == 1:
            fine = places(index[first : first + rows], n, 0, 0, named)
            if few:
                add_to(target, named, x[first : first + rows])
            else:
                add_to(total, named, x[first : first + rows])
        elif few:
            fine = _add_rows(x, index, first, rows, n, width, named[:columns], target, width)
        else:
            fine = _add_rows(x, index, first, rows, n, width, named[:columns], total, columns)
        if not fine:
            wrong[0] = 1
        if not few and strips == 1:  # in vectors, however short the rows
            put(target, total)
        elif not few:
            for place in range(n):
                put(target[place * width : place * width + columns], total[place * columns : (place + 1) * columns])


def along(x: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """np.take_along_axis(x, index, axis), if the other axes agree; NotImplemented if the index names no place."""
    n, width, wrong = x.shape[axis], math.prod(x.shape[axis + 1 :]), np.zeros(1, np.int64)
    taken, index = np.empty(index.shape, np.float32), index.astype(np.int64, copy=False)
    if not taken.size or not n:
        return NotImplemented
    _take_along(in_order(x), in_order(index), n, width, taken, wrong)
    check_again(check, wrong, index, n, flag=wrong, lasting=True)
    return NotImplemented if wrong[0] else taken


def added_along(x: np.ndarray, index: np.ndarray, n: int, axis: int) -> np.ndarray:
    """Zeros of size n along `axis`, with x added where the index says."""
    width, wrong = math.prod(x.shape[axis + 1 :]), np.zeros(1, np.int64)
    if not x.size or not n:
        return NotImplemented
    index = index.astype(np.int64, copy=False)
    out = np.empty((*x.shape[:axis], n, *x.shape[axis + 1 :]), np.float32)
    _add_along(in_order(x), in_order(index), n, width, out, wrong)
    check_again(check, wrong, index, n, flag=wrong, lasting=True)
    return NotImplemented if wrong[0] else out


def picked(x: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """x[i, index[i]] for axis=1, and so for any axis, which the index lacks."""
    y = along(x, index.reshape((*index.shape[:axis], 1, *index.shape[axis:])), axis)
    return y if y is NotImplemented else y.reshape(index.shape)


def check(wrong: np.ndarray, index: np.ndarray, n: int) -> None:
    if wrong[0]:
        wrong[0] = 0
        bad = index[(index < 0) | (index >= n)]
        raise IndexError(f"index {bad[0] if bad.size else '?'} is out of range for an axis of size {n}")
