"""Recurrences, running products and running extremes along an axis, and products of all factors but one.

Arrays are (outer, n, inner), and n is the axis; a task has some columns of some of them. If there is but one column,
a running product waits for each multiplication, so four rows are done at once, the last one several times if need be.
"""

import math

import numpy as np

from .kinds import READ, WRITE
from .program import in_order, kernel
from .simd import inner, put

_COST = 1.0  # nanoseconds of a number
_STRIP = 64
F = np.float32


@inner
def _work(x, decay, n, width, backwards, y):
    return int(y.size * _COST) if x.size == decay.size == y.size and y.size % (n * width) == 0 else -1


@kernel(x=READ, decay=READ, y=WRITE, work=_work)
def _recurrence(x, decay, n, width, backwards, y, task, tasks):
    outer, strips = y.size // (n * width), -(-width // _STRIP)
    state, step = np.empty(_STRIP, np.float64), -width if backwards else width  # in float32 long sums lose their digits
    for unit in range(task * outer * strips // tasks, (task + 1) * outer * strips // tasks):
        left = unit % strips * _STRIP
        columns = min(_STRIP, width - left)
        at = unit // strips * n * width + left + ((n - 1) * width if backwards else 0)
        for i in range(columns):
            y[at + i] = state[i] = x[at + i]
        for _ in range(1, n):
            at += step
            for i in range(columns):
                y[at + i] = state[i] = x[at + i] + decay[at + i] * state[i]


def recur(out: np.ndarray, x: np.ndarray, decay: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    """out[i] = x[i] + decay[i] out[i - 1] along an axis, of arrays of one shape; out[i + 1], if reverse."""
    if decay.dtype != np.float32 or not out.size:
        return NotImplemented
    _recurrence(in_order(x), in_order(decay), x.shape[axis], math.prod(x.shape[axis + 1 :]), int(reverse), out)
    return out


@inner
def _work_of_products(x, g, n, width, y):
    return int(2 * y.size * _COST) if x.size == y.size and x.size == n * g.size and g.size % width == 0 else -1


@kernel(x=READ, g=READ, y=WRITE, work=_work_of_products)
def _other_products(x, g, n, width, y, task, tasks):
    """y[k, i, j] = g[k, j] times the product of all x[k, :, j] but x[k, i, j]."""
    outer, strips, product = y.size // (n * width), -(-width // _STRIP), np.empty(_STRIP, np.float32)
    for unit in range(task * outer * strips // tasks, (task + 1) * outer * strips // tasks):
        k, left = unit // strips, unit % strips * _STRIP
        columns, begin = min(_STRIP, width - left), k * n * width + left
        if columns == 1:  # a number need not be put into memory before the next
            before = after = F(1)
            for at in range(begin, begin + n * width, width):
                y[at] = before
                before *= x[at]
            for at in range(begin + (n - 1) * width, begin - 1, -width):
                y[at] = y[at] * after * g[k * width + left]
                after *= x[at]
            continue
        product[:] = 1
        for at in range(begin, begin + n * width, width):
            for i in range(columns):
                y[at + i] = product[i]
                product[i] *= x[at + i]
        product[:] = 1
        for at in range(begin + (n - 1) * width, begin - 1, -width):
            for i in range(columns):
                y[at + i] = y[at + i] * product[i] * g[k * width + left + i]
                product[i] *= x[at + i]


def other_products(x: np.ndarray, g: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    """g, repeated along neighbouring axes, times the product of all other numbers there."""
    if not x.size or not axis or g.dtype != np.float32 or [*axis] != [*range(axis[0], axis[0] + len(axis))]:
        return NotImplemented
    y, n = np.empty(x.shape, np.float32), math.prod(x.shape[axis[0] : axis[-1] + 1])
    _other_products(in_order(x), in_order(g), n, math.prod(x.shape[axis[-1] + 1 :]), y)
    return y


# --- Running products -------------------------------------------------------------------------------------------------


@inner
def _parts(size, n, width):
    """Strips of columns, or fours of rows."""
    outer = size // (n * width)
    return -(-outer // 4) if width == 1 else outer * -(-width // _STRIP)


@inner
def _rows(part, size, n):
    last = size // n - 1
    a = 4 * part
    return n * a, n * min(a + 1, last), n * min(a + 2, last), n * min(a + 3, last)


@inner
def _strip(part, n, width):
    """Where a strip begins, and how many columns it has."""
    strips = -(-width // _STRIP)
    left = part % strips * _STRIP
    return part // strips * n * width + left, min(_STRIP, width - left)


@inner
def _work_of_running(x, n, width, y):
    return int(y.size * _COST) if x.size == y.size and y.size % (n * width) == 0 else -1


@kernel(x=READ, y=WRITE, work=_work_of_running)
def _running_product(x, n, width, y, task, tasks):
    parts, total = _parts(y.size, n, width), np.empty(_STRIP, np.float64)  # in float32 errors add up
    for part in range(task * parts // tasks, (task + 1) * parts // tasks):
        if width == 1:
            i, j, k, m = _rows(part, y.size, n)
            xa, xb, xc, xd = x[i : i + n], x[j : j + n], x[k : k + n], x[m : m + n]
            ya, yb, yc, yd = y[i : i + n], y[j : j + n], y[k : k + n], y[m : m + n]
            a = b = c = d = 1.0
            for at in range(n):
                a, b, c, d = a * xa[at], b * xb[at], c * xc[at], d * xd[at]
                ya[at], yb[at], yc[at], yd[at] = a, b, c, d
            continue
        begin, columns = _strip(part, n, width)
        total[:] = 1
        for at in range(begin, begin + n * width, width):
            here, out = x[at : at + columns], y[at : at + columns]
            for i in range(columns):
                total[i] *= here[i]
                out[i] = total[i]


def running_product(x: np.ndarray, axis: int) -> np.ndarray:
    """y[i] = x[0] ... x[i] along an axis."""
    if not x.ndim or not x.size:
        return NotImplemented
    y = np.empty(x.shape, np.float32)
    _running_product(in_order(x), x.shape[axis], math.prod(x.shape[axis + 1 :]), y)
    return y


@inner
def _work_of_cotangents(g, x, y, n, width, dx):
    fits = g.size == x.size == y.size == dx.size and dx.size % (n * width) == 0
    return int(2 * dx.size * _COST) if fits else -1


@kernel(g=READ, x=READ, y=READ, dx=WRITE, work=_work_of_cotangents)
def _cumprod_vjp(g, x, y, n, width, dx, task, tasks):
    """dx[i] = y[i - 1] t[i], with t[i] = g[i] + x[i + 1] t[i + 1]."""
    parts, owed = _parts(dx.size, n, width), np.empty(_STRIP, np.float64)
    for part in range(task * parts // tasks, (task + 1) * parts // tasks):
        if width == 1:
            i, j, k, m = _rows(part, dx.size, n)
            xa, xb, xc, xd = x[i : i + n], x[j : j + n], x[k : k + n], x[m : m + n]
            ya, yb, yc, yd = y[i : i + n], y[j : j + n], y[k : k + n], y[m : m + n]
            ga, gb, gc, gd = g[i : i + n], g[j : j + n], g[k : k + n], g[m : m + n]
            da, db, dc, dd = dx[i : i + n], dx[j : j + n], dx[k : k + n], dx[m : m + n]
            a, b, c, d = np.float64(ga[n - 1]), np.float64(gb[n - 1]), np.float64(gc[n - 1]), np.float64(gd[n - 1])
            for at in range(n - 1, 0, -1):
                before = at - 1
                da[at], db[at], dc[at], dd[at] = ya[before] * a, yb[before] * b, yc[before] * c, yd[before] * d
                a, b = ga[before] + xa[at] * a, gb[before] + xb[at] * b
                c, d = gc[before] + xc[at] * c, gd[before] + xd[at] * d
            da[0], db[0], dc[0], dd[0] = a, b, c, d
            continue
        begin, columns = _strip(part, n, width)
        at = begin + (n - 1) * width
        put(owed[:columns], g[at : at + columns])
        while at > begin:
            out, factors = dx[at : at + columns], x[at : at + columns]
            at -= width
            before, more = y[at : at + columns], g[at : at + columns]
            for i in range(columns):
                out[i] = before[i] * owed[i]
                owed[i] = more[i] + factors[i] * owed[i]
        put(dx[begin : begin + columns], owed[:columns])


def cumprod_vjp(g: np.ndarray, x: np.ndarray, y: np.ndarray, *, axis: int) -> np.ndarray:
    """What comes back to x from its running products y."""
    if not x.ndim or not x.size or not g.dtype == x.dtype == y.dtype == np.float32:
        return NotImplemented
    dx, axis = np.empty(x.shape, np.float32), axis % x.ndim
    _cumprod_vjp(in_order(g), in_order(x), in_order(y), x.shape[axis], math.prod(x.shape[axis + 1 :]), dx)
    return dx


# --- Running extremes -------------------------------------------------------------------------------------------------


@inner
def _work_of_extremes(x, sign, n, width, place):
    return _work_of_running(x, n, width, place)


@kernel(x=READ, place=WRITE.of(np.int64), work=_work_of_extremes)
def _extremes(x, sign, n, width, place, task, tasks):
    """Where the last largest of sign x so far stands; of NaNs the last."""
    outer, strips = place.size // (n * width), -(-width // _STRIP)
    best, where = np.empty(_STRIP, np.float32), np.empty(_STRIP, np.int64)
    for part in range(task * outer * strips // tasks, (task + 1) * outer * strips // tasks):
        begin, columns = _strip(part, n, width)
        if width == 1:
            row, out, i = x[begin : begin + n], place[begin : begin + n], 0
            while i < n:  # what is found stays for a while, so no number waits for the one before
                top, at = F(sign) * row[i], i
                out[i] = at
                i += 1
                while i < n and (F(sign) * row[i] < top or (top != top and row[i] == row[i])):
                    out[i] = at
                    i += 1
            continue
        best[:], where[:] = -np.inf, 0
        for i in range(n):
            row, out = x[begin : begin + columns], place[begin : begin + columns]
            for j in range(columns):
                value = F(sign) * row[j]
                new = (value >= best[j]) | (value != value)
                best[j], where[j] = value if new else best[j], i if new else where[j]
                out[j] = where[j]
            begin += width


def places_of_extremes(x: np.ndarray, axis: int, sign: int) -> np.ndarray:
    """Where the largest of sign x so far stands along an axis."""
    if not x.ndim or not x.size:
        return NotImplemented
    place = np.empty(x.shape, np.int64)
    _extremes(in_order(x), sign, x.shape[axis], math.prod(x.shape[axis + 1 :]), place)
    return place
