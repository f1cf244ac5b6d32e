"""Numbers taken, and added back, along an axis, as in out[i, j] = x[i, index[i, j]].

An array is (outer, n, inner), and n, the axis, what the index counts. The index may lie in memory that someone else
writes to: each entry is compared with n when it is used.
"""

import math

import numpy as np

from .checks import check_again
from .kinds import INTEGERS, READ, WRITE
from .program import in_order, kernel
from .simd import inner

_COST = 1.5  # nanoseconds of a number
_STRIP = 64  # columns that are added up together
U = np.uint64


@inner
def _place(place, n):
    """Which of n an index names, counted from the end below 0; n or more if none. As a number without a sign, so that
    one comparison finds what is too small as well as what is too large."""
    return U(place + n if place < 0 else place)


@inner
def _work(x, index, n, width, taken, wrong):
    outer = x.size // (n * width)
    fits = taken.size == index.size and x.size == outer * n * width and index.size % (outer * width) == 0
    return int(index.size * _COST) if fits else -1


@kernel(x=READ, index=INTEGERS, taken=WRITE, wrong=WRITE.of(np.int64), work=_work)
def _take_along(x, index, n, width, taken, wrong, task, tasks):
    outer = x.size // (n * width)
    strips, rows = -(-width // _STRIP), index.size // (outer * width)
    if width == 1:  # along the last axis: a loop for all of a row, as one for each number takes four times as long
        for k in range(task * outer // tasks, (task + 1) * outer // tasks):
            row, places = x[k * n : (k + 1) * n], index[k * rows : (k + 1) * rows]
            out = taken[k * rows : (k + 1) * rows]
            for j in range(rows):
                place = _place(places[j], n)
                if place < U(n):
                    out[j] = row[place]
                else:
                    wrong[0] = 1
        return
    for unit in range(task * outer * strips // tasks, (task + 1) * outer * strips // tasks):
        k, left = unit // strips, unit % strips * _STRIP
        columns, table = min(_STRIP, width - left), x[k * n * width + left : (k + 1) * n * width]
        for j in range(k * rows * width + left, (k + 1) * rows * width + left, width):
            places, out = index[j : j + columns], taken[j : j + columns]
            for i in range(columns):
                place = _place(places[i], n)
                if place < U(n):
                    out[i] = table[place * U(width) + U(i)]
                else:
                    wrong[0] = 1


@inner
def _round(total, out):
    for i in range(out.size):
        out[i] = total[i]


@inner
def _work_back(x, index, n, width, out, wrong):
    return _work(out, index, n, width, x, wrong)


@kernel(x=READ, index=INTEGERS, out=WRITE, wrong=WRITE.of(np.int64), work=_work_back)
def _add_along(x, index, n, width, out, wrong, task, tasks):
    """A task has some columns of some of the arrays (n, width): so two never write to one place. Sums are float64."""
    outer = out.size // (n * width)
    strips, rows, total = -(-width // _STRIP), index.size // (outer * width), np.empty(n * min(width, _STRIP))
    if width == 1:
        for k in range(task * outer // tasks, (task + 1) * outer // tasks):
            total[:] = 0
            places, row = index[k * rows : (k + 1) * rows], x[k * rows : (k + 1) * rows]
            for j in range(rows):
                place = _place(places[j], n)
                if place < U(n):
                    total[place] += row[j]
                else:
                    wrong[0] = 1
            _round(total, out[k * n : (k + 1) * n])
        return
    for unit in range(task * outer * strips // tasks, (task + 1) * outer * strips // tasks):
        k, left = unit // strips, unit % strips * _STRIP
        columns = min(_STRIP, width - left)
        total[: n * columns] = 0
        for j in range(k * rows * width + left, (k + 1) * rows * width + left, width):
            places, row = index[j : j + columns], x[j : j + columns]
            for i in range(columns):
                place = _place(places[i], n)
                if place < U(n):
                    total[place * U(columns) + U(i)] += row[i]
                else:
                    wrong[0] = 1
        if columns == width:  # in vectors, however short the rows
            _round(total[: n * width], out[k * n * width : (k + 1) * n * width])
            continue
        for place in range(n):
            at = (k * n + place) * width + left
            for i in range(columns):
                out[at + i] = total[place * columns + i]


def along(x: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """np.take_along_axis(x, index, axis), if the other axes agree; NotImplemented if the index names no place."""
    n, width, wrong = x.shape[axis], math.prod(x.shape[axis + 1 :]), np.zeros(1, np.int64)
    taken, index = np.empty(index.shape, np.float32), index.astype(np.int64, copy=False)
    if not taken.size or not n:
        return NotImplemented
    _take_along(in_order(x), in_order(index), n, width, taken, wrong)
    check_again(_check, wrong, index, n, flag=wrong, lasting=True)
    return NotImplemented if wrong[0] else taken


def added_along(x: np.ndarray, index: np.ndarray, n: int, axis: int) -> np.ndarray:
    """Zeros of size n along `axis`, with x added where the index says."""
    width, wrong = math.prod(x.shape[axis + 1 :]), np.zeros(1, np.int64)
    if not x.size or not n:
        return NotImplemented
    index = index.astype(np.int64, copy=False)
    out = np.empty((*x.shape[:axis], n, *x.shape[axis + 1 :]), np.float32)
    _add_along(in_order(x), in_order(index), n, width, out, wrong)
    check_again(_check, wrong, index, n, flag=wrong, lasting=True)
    return NotImplemented if wrong[0] else out


def _check(wrong: np.ndarray, index: np.ndarray, n: int) -> None:
    if wrong[0]:
        wrong[0] = 0
        bad = index[(index < -n) | (index >= n)]
        raise IndexError(f"index {bad[0] if bad.size else '?'} is out of range for an axis of size {n}")
