"""Softmax over the rows of a float32 matrix, its logarithm, and cross-entropy between logits and targets.

exp is the expensive part. Over short rows it runs a block of rows at a time, as if they were one, so that rows of 10
cost no more per number than rows of 1000. A row is first shifted by its maximum m, which keeps e^(x - m) in [0, 1].
"""

import functools
import math
from contextlib import nullcontext

import numpy as np
from numba import njit

from ..dtypes import FLOAT32, FLOAT64, INT64
from .checks import check_again
from .columns import _exp_and_sum, _scale_all, of_columns, vjp_of_columns
from .kinds import OPTIONAL, READ, REAL, REALS, WRITE
from .pixel_loss import losses_of_columns, losses_of_columns_vjp, strips, term
from .program import kernel, together
from .reduce import PIECE, _max, _sum
from .simd import inner
from .vectormath import INF, INNER, F, exp, log

_COST = 0.36  # nanoseconds of a number
BLOCK = 2048  # numbers in a block of rows; a block is at least one row
LONG = 256  # such rows fill the vectors by themselves


@njit(**INNER)
def _shift(x, top, y):
    for i in range(x.size):
        y[i] = x[i] - top


@njit(**INNER)
def _exp(x):
    for i in range(x.size):
        x[i] = exp(x[i])


@njit(**INNER)
def _exp_shifted(x, n, e, tops, totals):
    """e = e^(x - m), and the sum of e, for a block of rows of length n, with m in `tops`."""
    for row in range(x.size // n):
        start, stop = row * n, (row + 1) * n
        top = _max(x[start:stop])
        top = top if top > -INF else F(0)  # of a row of -inf: beside inf all are NaN, as in PyTorch
        tops[row] = top
        if n >= LONG:
            total = 0.0
            for i in range(start, stop, PIECE):
                j = min(i + PIECE, stop)
                total += _exp_and_sum(x[i:j], top, e[i:j])
            totals[row] = total
        else:
            _shift(x[start:stop], top, e[start:stop])
    if n < LONG:
        _exp(e[: x.size])
        for row in range(x.size // n):
            totals[row] = _sum(e[row * n : (row + 1) * n])


@kernel(x=READ, y=WRITE, cost=_COST)
def _softmax(x, n, log_of_it, y, task, tasks):
    rows, block = x.size // n, max(1, BLOCK // n)
    work, tops, totals = np.empty(block * n, np.float32), np.empty(block, np.float32), np.empty(block, np.float32)
    end = (task + 1) * rows // tasks
    for first in range(task * rows // tasks, end, block):
        last = min(first + block, end)
        e = work if log_of_it else y[first * n : last * n]
        _exp_shifted(x[first * n : last * n], n, e, tops, totals)
        for row in range(first, last):
            top, total = tops[row - first], totals[row - first]
            if log_of_it:
                _shift_twice(x[row * n : (row + 1) * n], top, log(total), y[row * n : (row + 1) * n])
            else:
                _scale_all(y[row * n : (row + 1) * n], F(1) / total)


@njit(**INNER)
def _shift_twice(x, top, log_total, y):
    for i in range(x.size):
        y[i] = (x[i] - top) - log_total  # next to a large `top`, log_total would be lost


@njit(fastmath={"reassoc", "contract"}, forceinline=True, **INNER)
def _dot(a, b):
    total = F(0)
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(**INNER)
def _by_pieces(g, y, log_of_it):
    total = 0.0
    for i in range(0, g.size, PIECE):
        piece = g[i : i + PIECE]
        total += _sum(piece) if log_of_it else _dot(piece, y[i : i + PIECE])
    return F(total)


@kernel(g=READ, y=READ, dx=WRITE, cost=_COST)
def _softmax_vjp(g, y, n, log_of_it, dx, task, tasks):
    rows = g.size // n
    for row in range(task * rows // tasks, (task + 1) * rows // tasks):
        start, stop = row * n, (row + 1) * n
        gr, yr, out = g[start:stop], y[start:stop], dx[start:stop]
        total = _by_pieces(gr, yr, log_of_it)
        if log_of_it:
            for i in range(n):
                out[i] = gr[i] - exp(yr[i]) * total
        else:
            for i in range(n):
                out[i] = yr[i] * (gr[i] - total)


def _along_rows(x: np.ndarray, log_of_it: bool, axis: int) -> np.ndarray:
    if axis not in (-1, x.ndim - 1):
        return of_columns(x, axis, log_of_it)
    y = np.empty(x.shape, np.float32)
    if x.size:
        _softmax(x, x.shape[-1], log_of_it, y)
    return y


def softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """e = np.exp(x - x.max(-1, keepdims=True)); e / e.sum(-1, keepdims=True)"""
    return _along_rows(x, False, axis)


def log_softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """z = x - x.max(-1, keepdims=True); z - np.log(np.exp(z).sum(-1, keepdims=True))"""
    return _along_rows(x, True, axis)


def _vjp_along_rows(g: np.ndarray, y: np.ndarray, log_of_it: bool, axis: int) -> np.ndarray:
    if y.dtype is not FLOAT32 or g.shape != y.shape:
        return NotImplemented
    if axis not in (-1, y.ndim - 1):
        return vjp_of_columns(g, y, axis, log_of_it)
    dx = np.empty(g.shape, np.float32)
    if g.size:
        _softmax_vjp(g, y, y.shape[-1], log_of_it, dx)
    return dx


def softmax_vjp(g: np.ndarray, p: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """p * (g - (g * p).sum(-1, keepdims=True)), for p = softmax(x)"""
    return _vjp_along_rows(g, p, False, axis)


def log_softmax_vjp(g: np.ndarray, y: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """g - np.exp(y) * g.sum(-1, keepdims=True), for y = log_softmax(x)"""
    return _vjp_along_rows(g, y, True, axis)


# --- Cross-entropy ----------------------------------------------------------------------------------------------------
# With a row's target distribution q_c = w_c ((1 - eps) t_c + eps / classes), where t is [c = label] or probabilities,
# its loss is -sum_c q_c log p_c and its gradient (sum_c q_c) p - q, p = softmax(x). Backward needs m and
# log sum e^(x - m) of the row. They are kept apart, for their sum would be as rough as the largest logit.


_LABELS, _STATS, _TOTALS = OPTIONAL.of(INT64), WRITE.of(axes=2), REALS.of(FLOAT64, 2)._replace(writes=True)


@inner
def _fits(x, labels, probabilities, weight, rows):
    return x.size == rows * weight.size and (labels.size == rows if labels.size else probabilities.size == x.size)


@inner
def _work(x, labels, probabilities, weight, ignored, smoothing, losses, stats, totals, mean, loss):
    fits = _fits(x, labels, probabilities, weight, losses.size) and stats.shape == (2, losses.size)
    return int(x.size * _COST) if fits and totals.shape[1] == 3 else -1


@inner
def _work_of_vjp(g, x, labels, probabilities, weight, ignored, smoothing, stats, totals, mean, dx):
    rows = stats.shape[1]
    fits = _fits(x, labels, probabilities, weight, rows) and dx.size == x.size and (g.size == 1 or g.size == rows)
    return int(x.size * _COST) if fits and totals.shape[1] == 3 else -1


@njit(fastmath={"reassoc"}, **INNER)
def _sum_terms(weight, x, top, log_total):
    total = F(0)
    for i in range(x.size):
        total += term(weight[i], x[i], top, log_total)
    return total


@njit(fastmath={"reassoc"}, **INNER)
def _sum_soft_terms(t, keep, even, weight, x, top, log_total):
    total = F(0)
    for i in range(x.size):
        total += term((keep * t[i] + even) * weight[i], x[i], top, log_total)
    return total


@njit(**INNER)
def _loss(label, t, weight, smoothing, x, top, log_total):
    """Of a row with this label; or, if t is not empty, with these probabilities."""
    n, loss = x.size, 0.0
    if t.size == 0:
        loss = (1 - smoothing) * term(weight[label], x[label], top, log_total)
        if smoothing == 0:
            return loss
    for i in range(0, n, PIECE):
        piece, w = x[i : i + PIECE], weight[i : i + PIECE]
        if t.size == 0:
            loss += smoothing / n * _sum_terms(w, piece, top, log_total)
        else:
            loss += _sum_soft_terms(t[i : i + PIECE], F(1 - smoothing), F(smoothing / n), w, piece, top, log_total)
    return loss


@njit(**INNER)
def _write_loss(totals, mean, loss):
    """The last row of totals: what the others come to. A mean over no label at all is NaN."""
    sum_losses, sum_weights, wrong = 0.0, 0.0, 0.0
    for b in range(len(totals) - 1):
        sum_losses, sum_weights = sum_losses + totals[b, 0], sum_weights + totals[b, 1]
        wrong = totals[b, 2] if wrong == 0 else wrong
    totals[-1, 0], totals[-1, 1], totals[-1, 2] = sum_losses, sum_weights, wrong
    if mean:
        sum_losses = sum_losses / sum_weights if sum_weights != 0 else np.nan
    loss[0] = sum_losses


@kernel(x=READ, labels=_LABELS, probabilities=OPTIONAL, weight=READ, smoothing=REAL, losses=WRITE, stats=_STATS,
        totals=_TOTALS, loss=WRITE, work=_work)
def _cross_entropy(x, labels, probabilities, weight, ignored, smoothing, losses, stats, totals, mean, loss, task,
                   tasks):
    """totals[b], for block b of the rows: the sums of the losses and of the labels' weights, and 1 + the first row with
    a label out of range."""
    rows, n, blocks = losses.size, weight.size, len(totals) - 1
    block = -(-rows // blocks)
    work = np.empty(block * n, np.float32)
    for b in range(task * blocks // tasks, (task + 1) * blocks // tasks):
        sum_losses, sum_weights, wrong = 0.0, 0.0, 0
        first, last = b * block, min((b + 1) * block, rows)
        _exp_shifted(x[first * n : last * n], n, work, stats[0, first:last], stats[1, first:last])
        for row in range(first, last):
            top, log_total, here = stats[0, row], log(stats[1, row]), slice(row * n, (row + 1) * n)
            stats[1, row] = log_total
            label, value = labels[row] if labels.size else 0, 0.0
            if labels.size == 0 or label != ignored and 0 <= label < n:
                value = _loss(label, probabilities[here], weight, smoothing, x[here], top, log_total)
                sum_weights += weight[label] if labels.size else 1.0
            elif label != ignored and wrong == 0:
                wrong = row + 1
            losses[row] = value
            sum_losses += value
        totals[b, 0], totals[b, 1], totals[b, 2] = sum_losses, sum_weights, wrong
    if blocks == 1 and task == tasks - 1:  # whose block it was
        _write_loss(totals, mean, loss)


@kernel(totals=_TOTALS, loss=WRITE, tasks=1)
def _add_up(totals, mean, loss, task, tasks):
    if task == 0:
        _write_loss(totals, mean, loss)


@kernel(g=READ, x=READ, labels=_LABELS, probabilities=OPTIONAL, weight=READ, smoothing=REAL, stats=_STATS,
        totals=_TOTALS, dx=WRITE, work=_work_of_vjp)
def _cross_entropy_vjp(g, x, labels, probabilities, weight, ignored, smoothing, stats, totals, mean, dx, task, tasks):
    """A label may be out of range now, if it is in the caller's memory; then totals[-1, 2] is 1 + its row."""
    rows, n = stats.shape[1], weight.size
    block = max(1, BLOCK // n)
    scale = 1 / totals[-1, 1] if mean and totals[-1, 1] != 0 else 1.0
    keep, even, mean_weight = 1 - smoothing, smoothing / n, 0.0
    for i in range(0, n, PIECE):
        mean_weight += _sum(weight[i : i + PIECE]) / n
    end = (task + 1) * rows // tasks
    for first in range(task * rows // tasks, end, block):
        last = min(first + block, end)
        for row in range(first, last):
            here = slice(row * n, (row + 1) * n)
            _shift_twice(x[here], stats[0, row], stats[1, row], dx[here])
        _exp(dx[first * n : last * n])
        for row in range(first, last):
            out, label, g_row = dx[row * n : (row + 1) * n], 0, scale * g[row if g.size > 1 else 0]
            if labels.size:
                label = labels[row]
                if label == ignored or not 0 <= label < n:
                    out[:] = F(0)
                    if label != ignored:
                        totals[-1, 2] = row + 1
                    continue
                _scale_all(out, F(g_row * (keep * weight[label] + smoothing * mean_weight)))
                if smoothing > 0:
                    _subtract(out, F(g_row * even), weight)
                out[label] -= F(g_row * keep * weight[label])
            else:
                t = probabilities[row * n : (row + 1) * n]
                _pull(out, F(g_row), t, F(keep), F(even), weight, F(keep * _by_pieces(t, weight, False)
                                                                   + smoothing * mean_weight))


@njit(**INNER)
def _subtract(out, factor, x):
    for i in range(out.size):
        out[i] -= factor * x[i]


@njit(**INNER)
def _pull(p, g, t, keep, even, weight, mass):
    """p = g (mass p - q) for a row's q, which comes to `mass`"""
    for i in range(p.size):
        p[i] = g * (mass * p[i] - (keep * t[i] + even) * weight[i])


@functools.lru_cache(maxsize=8)
def _ones(classes: int) -> np.ndarray:
    return np.ones(classes, np.float32)


def _targets(x: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> tuple:
    """Labels or None, probabilities or None, and the weights."""
    weight = _ones(x.shape[1]) if weight is None else weight
    return (None, target, weight) if target.dtype is FLOAT32 else (target.astype(INT64, copy=False), None, weight)


def check_labels(target: np.ndarray, totals: np.ndarray, classes: int, ignore_index: int,
                 who: str = "cross_entropy") -> None:
    """Raise IndexError if a kernel has found a label out of range; also when calls that are traced now are played."""
    _raise_for_label(target, totals, classes, ignore_index, who)
    check_again(_raise_for_label, target, totals, classes, ignore_index, who, flag=totals[-1, 2:])


def _raise_for_label(target: np.ndarray, totals: np.ndarray, classes: int, ignore_index: int, who: str) -> None:
    if row := int(totals[-1, 2]):
        totals[-1, 2] = 0
        raise IndexError(f"{who}: label {target.flat[row - 1]} is out of range for {classes} classes "
                         f"(0 to {classes - 1}); ignore_index is {ignore_index}")


def cross_entropy(x: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None, *, ignore_index: int = -100,
                  reduction: str = "mean", label_smoothing: float = 0.0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """losses = -(q * log_softmax(x)).sum(-1), or what they are reduced to, for logits x (rows, classes),
    q = weight * ((1 - label_smoothing) * t + label_smoothing / classes), and t = target, of x's shape, or, for labels
    (rows,), np.eye(classes)[target]; q = 0 where the label is ignore_index. Or for x (outer, classes, ...), whose
    columns are then what rows are else.

    Also what backward needs. Raises IndexError for a label out of range.
    """
    (outer, classes), width = x.shape[:2], math.prod(x.shape[2:])
    rows = outer * width
    if weight is not None and weight.dtype is not FLOAT32 or target.dtype.kind == "f" and target.dtype is not FLOAT32:
        return NotImplemented
    losses, stats, loss = np.empty(rows, FLOAT32), np.empty((2, rows), FLOAT32), np.empty((), FLOAT32)
    blocks = strips(outer, classes, width) if x.ndim > 2 else max(1, -(-rows // max(1, BLOCK // classes)))
    totals, given = np.empty((1 + blocks, 3)), _targets(x, target, weight)
    mean, smoothing, one_block = reduction == "mean", float(label_smoothing), x.ndim == 2 and blocks == 1
    with nullcontext() if one_block else together():
        if x.ndim > 2:
            losses_of_columns(x, *given, width, ignore_index, smoothing, losses, stats, totals)
        else:
            _cross_entropy(x, *given, ignore_index, smoothing, losses, stats, totals, mean, loss)
        if not one_block:
            _add_up(totals, mean, loss)
    check_labels(target, totals, classes, ignore_index)
    kept = {"stats": stats, "totals": totals}
    return losses.reshape(outer, *x.shape[2:]) if reduction == "none" else loss, kept


def cross_entropy_vjp(x: np.ndarray, g: np.ndarray, target: np.ndarray, weight: np.ndarray | None,
                      stats: np.ndarray | None, totals: np.ndarray | None, ignore_index: int, reduction: str,
                      label_smoothing: float) -> np.ndarray:
    """dx = g[:, None] * (q.sum(-1, keepdims=True) * softmax(x) - q), for g (rows,), or one number for all; for a mean
    divided by the labels' weights.

    Raises IndexError for a label out of range.
    """
    if stats is None or totals is None:
        return NotImplemented
    dx, given, smoothing, mean = np.empty(x.shape, np.float32), _targets(x, target, weight), float(label_smoothing), (
        reduction == "mean")
    if x.ndim > 2:
        losses_of_columns_vjp(np.asarray(g), x, *given, math.prod(x.shape[2:]), ignore_index, smoothing, stats, totals,
                              mean, dx)
    else:
        _cross_entropy_vjp(np.asarray(g), x, *given, ignore_index, smoothing, stats, totals, mean, dx)
    check_labels(target, totals, x.shape[1], ignore_index)  # in range once, they may be in an array of the user's
    return dx
