"""The first few numbers of each row in order, kept in order while the row is read."""

import numpy as np

from .kinds import READ, WRITE
from .program import in_order, kernel
from .simd import inner

_COST = 1.0  # nanoseconds of a number
_MOST = 16  # that are kept: to put one in its place moves those behind it


@inner
def _work(x, n, k, largest, places):
    rows = x.size // n
    return int(x.size * _COST) if 0 < k <= min(n, _MOST) and x.size == rows * n and places.size == rows * k else -1


@inner
def _before(x, y, largest):
    """Whether x comes before y; NaN counts as the largest of all, and equal numbers keep their order."""
    if largest:
        return x > y or (x != x and y == y)
    return x < y or (y != y and x == x)


@kernel(x=READ, places=WRITE.of(np.int64), work=_work)
def _first(x, n, k, largest, places, task, tasks):
    rows = x.size // n
    kept = np.empty(_MOST, np.float32)
    for row in range(task * rows // tasks, (task + 1) * rows // tasks):
        for i in range(n):
            value, at = x[row * n + i], min(i, k)
            if at == k and not _before(value, kept[k - 1], largest):
                continue
            at = min(at, k - 1)
            while at > 0 and _before(value, kept[at - 1], largest):
                kept[at], places[row * k + at] = kept[at - 1], places[row * k + at - 1]
                at -= 1
            kept[at], places[row * k + at] = value, i


def first_of_rows(x: np.ndarray, k: int, axis: int, largest: bool) -> np.ndarray:
    """The indices of the k largest (or smallest) numbers along `axis`, in order."""
    if not 0 < k <= _MOST or not x.size:
        return NotImplemented
    x = in_order(np.moveaxis(x, axis, -1))
    places = np.empty((*x.shape[:-1], k), np.int64)
    _first(x, x.shape[-1], k, int(largest), places)
    return np.moveaxis(places, -1, axis)
