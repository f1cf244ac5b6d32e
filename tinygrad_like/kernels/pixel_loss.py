"""Cross-entropy where numbers follow the axis of classes, as in images with a class for each pixel.

An array is (outer, n, width) for n classes: each column is what `softmax.py` has as a row. As in `columns.py`, a strip
of columns is gone through row by row, in vectors.
"""

import numpy as np
from numba import njit

from .columns import _SUMMED, _collect, _exponentials, _find_top, _memory, _most, _strip
from .kinds import INTEGERS, OPTIONAL, READ, REAL, REALS, WRITE
from .matrix import ceil_div
from .program import kernel
from .simd import fill, inner
from .vectormath import INF, INNER, SCALAR, F, exp, log

_COST = 0.4  # nanoseconds of a number


def strips(outer: int, n: int, width: int) -> int:
    """How many strips there are."""
    return outer * -(-width // _most.py_func(n, width))


@inner
def _fits(x, labels, probabilities, weight, width, rows):
    n = weight.size
    return (n > 0 and width > 0 and x.size == rows * n and rows % width == 0
            and (labels.size == rows if labels.size else probabilities.size == x.size))


@inner
def _work(x, labels, probabilities, weight, width, ignored, smoothing, losses, stats, totals):
    fits = _fits(x, labels, probabilities, weight, width, losses.size) and stats.shape == (2, losses.size)
    fits = fits and totals.shape == (1 + losses.size // width * ceil_div(width, _most(weight.size, width)), 3)
    return int(x.size * _COST) if fits else -1


@njit(**SCALAR)
def term(w, x, top, log_total):
    """-w log p, and 0 where w is 0, even if p is 0 too"""
    return F(0) if w == F(0) else w * ((top - x) + log_total)


@njit(**INNER)
def _add_terms(total, q, x, top, log_total):
    for i in range(total.size):
        total[i] += term(q, x[i], top[i], log_total[i])


@njit(**INNER)
def _add_soft_terms(total, t, keep, even, w, x, top, log_total):
    for i in range(total.size):
        total[i] += term((keep * t[i] + even) * w, x[i], top[i], log_total[i])


@inner
def _spread_terms(x, t, weight, strip, width, smoothing, top, log_total, total, whole):
    """whole = the sum over the classes of what counts of each: of probabilities, or of smoothed labels without them."""
    n, keep, even = weight.size, F(1 - smoothing), F(smoothing / weight.size)
    total[:], whole[:] = 0, 0
    for j in range(n):
        at = strip.first + j * width
        here = slice(at, at + total.size)
        if t.size:
            _add_soft_terms(total, t[here], keep, even, weight[j], x[here], top, log_total)
        else:
            _add_terms(total, even * weight[j], x[here], top, log_total)
        if j % _SUMMED == _SUMMED - 1 or j == n - 1:
            _collect(whole, total)


@kernel(x=READ, labels=INTEGERS._replace(optional=True), probabilities=OPTIONAL, weight=READ, smoothing=REAL,
        losses=WRITE, stats=WRITE.of(axes=2), totals=REALS.of(np.float64, 2)._replace(writes=True), work=_work)
def losses_of_columns(x, labels, probabilities, weight, width, ignored, smoothing, losses, stats, totals, task, tasks):
    """As `softmax._cross_entropy`, with a block for each strip."""
    n, units = weight.size, len(totals) - 1
    e, _, totals_of, wholes = _memory(n, width)
    for unit in range(task * units // tasks, (task + 1) * units // tasks):
        strip = _strip(unit, n, width)
        total, whole, first = totals_of[: strip.columns], wholes[: strip.columns], strip.place
        top, log_total = stats[0, first : first + strip.columns], stats[1, first : first + strip.columns]
        _find_top(x, strip, n, width, top)
        for i in range(strip.columns):
            top[i] = top[i] if top[i] > -INF else F(0)  # of a column of -inf: beside inf all are NaN, as in PyTorch
        _exponentials(x, strip, n, width, top, e, 0, 0, total, whole)
        for i in range(strip.columns):
            log_total[i] = log(F(whole[i]))
        if labels.size == 0 or smoothing > 0:
            _spread_terms(x, probabilities, weight, strip, width, smoothing, top, log_total, total, whole)
        else:
            fill(whole, 0.0)
        sum_losses, sum_weights, wrong = 0.0, 0.0, 0
        for i in range(strip.columns):
            label, value = labels[first + i] if labels.size else 0, 0.0
            if labels.size == 0:
                value, sum_weights = whole[i], sum_weights + 1
            elif label != ignored and 0 <= label < n:
                at = strip.first + label * width + i
                value = whole[i] + (1 - smoothing) * term(weight[label], x[at], top[i], log_total[i])
                sum_weights += weight[label]
            elif label != ignored and wrong == 0:
                wrong = first + i + 1
            losses[first + i] = value
            sum_losses += value
        totals[unit, 0], totals[unit, 1], totals[unit, 2] = sum_losses, sum_weights, wrong


@inner
def _work_of_vjp(g, x, labels, probabilities, weight, width, ignored, smoothing, stats, totals, mean, dx):
    rows = stats.shape[1]
    fits = _fits(x, labels, probabilities, weight, width, rows) and dx.size == x.size and totals.shape[1] == 3
    return int(x.size * _COST) if fits and (g.size == 1 or g.size == rows) and stats.shape[0] == 2 else -1


@njit(**INNER)
def _pull(x, top, log_total, factor, out):
    for i in range(top.size):
        out[i] = exp((x[i] - top[i]) - log_total[i]) * factor[i]


@njit(**INNER)
def _less(out, factor, w):
    for i in range(out.size):
        out[i] -= factor[i] * w


@njit(**INNER)
def _less_soft(out, g, t, keep, even, w):
    for i in range(out.size):
        out[i] -= g[i] * ((keep * t[i] + even) * w)


@njit(**INNER)
def _add_scaled(total, x, w):
    for i in range(total.size):
        total[i] += x[i] * w


@kernel(g=READ, x=READ, labels=INTEGERS._replace(optional=True), probabilities=OPTIONAL, weight=READ, smoothing=REAL,
        stats=WRITE.of(axes=2), totals=REALS.of(np.float64, 2)._replace(writes=True), dx=WRITE, work=_work_of_vjp)
def losses_of_columns_vjp(g, x, labels, probabilities, weight, width, ignored, smoothing, stats, totals, mean, dx, task,
                          tasks):
    """As `softmax._cross_entropy_vjp`."""
    n, rows = weight.size, stats.shape[1]
    units, mean_weight = rows // width * ceil_div(width, _most(n, width)), 0.0
    scale = 1 / totals[-1, 1] if mean and totals[-1, 1] != 0 else 1.0
    keep, even = 1 - smoothing, smoothing / n
    for j in range(n):
        mean_weight += weight[j] / n
    factors, shares, few, wholes = _memory(n, width)
    for unit in range(task * units // tasks, (task + 1) * units // tasks):
        strip = _strip(unit, n, width)
        columns, first, at = strip.columns, strip.place, strip.first
        factor, share, total, whole = factors[:columns], shares[:columns], few[:columns], wholes[:columns]
        total[:], whole[:] = 0, 0
        for j in range(n if labels.size == 0 else 0):  # the sum of the weighted probabilities
            _add_scaled(total, probabilities[at + j * width : at + j * width + columns], weight[j])
            if j % _SUMMED == _SUMMED - 1 or j == n - 1:
                _collect(whole, total)
        for i in range(columns):
            share[i] = scale * g[first + i if g.size > 1 else 0]
            label = labels[first + i] if labels.size else 0
            if labels.size and not 0 <= label < n:
                whole[i] = 0  # set to 0 below
            elif labels.size:
                whole[i] = weight[label]
            factor[i] = share[i] * (keep * whole[i] + smoothing * mean_weight)
        for j in range(n):
            here = slice(at + j * width, at + j * width + columns)
            _pull(x[here], stats[0, first : first + columns], stats[1, first : first + columns], factor, dx[here])
            if labels.size == 0:
                _less_soft(dx[here], share, probabilities[here], F(keep), F(even), weight[j])
            elif smoothing > 0:
                _less(dx[here], share, F(even) * weight[j])
        for i in range(columns if labels.size else 0):
            label = labels[first + i]
            if label != ignored and 0 <= label < n:
                dx[at + label * width + i] -= F(share[i] * keep * weight[label])
                continue
            for j in range(n):
                dx[at + j * width + i] = F(0)
            if label != ignored:
                totals[-1, 2] = first + i + 1
