"""Cross-entropy between logits and targets, over the rows of a float32 matrix.

With a row's target distribution q_c = w_c ((1 - eps) t_c + eps / classes), where t is [c = label] or probabilities,
its loss is -sum_c q_c log p_c and its gradient (sum_c q_c) p - q, p = softmax(x). Backward needs the maximum m of the
row, and log sum e^(x - m). They are stored separately, since their sum would be as rough as the largest logit.

If logits are `normalized`, that is log p, both are 0, and the gradient is -q: the negative log-likelihood of labels.
"""

from functools import partial
from typing import Any

import numpy as np

from ..dtypes import FLOAT32, FLOAT64, INT64
from .checks import check_again
from .kinds import OPTIONAL, READ, REAL, REALS, WRITE
from .late import njit
from .norm import constant
from .program import kernel
from .reduce import PIECE, _sum
from .simd import fill, inner
from .softmax import _COST, BLOCK, _back, _by_pieces, _exp, _exp_shifted, _rows, _scale_all, _shift_twice
from .vectormath import SCALAR, F, log

_LABELS, _STATS, _TOTALS = OPTIONAL.of(INT64), WRITE.of(axes=2), REALS.of(FLOAT64, 2)._replace(writes=True)


@inner
def _fits(x, labels, probabilities, weight, rows):
    return x.size == rows * weight.size and (labels.size == rows if labels.size else probabilities.size == x.size)


@inner
def _work(x, labels, probabilities, weight, ignored, smoothing, normalized, losses, stats, totals, mean, loss):
    fits = _fits(x, labels, probabilities, weight, losses.size) and stats.shape == (2, losses.size)
    return int(losses.size if normalized else x.size * _COST) if fits and totals.shape[1] == 3 else -1


@inner
def _work_of_vjp(g, x, labels, probabilities, weight, ignored, smoothing, normalized, stats, totals, mean, dx):
    rows = stats.shape[1]
    fits = _fits(x, labels, probabilities, weight, rows) and dx.size == x.size and (g.size == 1 or g.size == rows)
    return int(x.size * _COST) if fits and totals.shape[1] == 3 else -1


@njit(**SCALAR)
def _term(w, x, top, log_total):
    """-w log p, and 0 where w is 0, even if p is 0 too"""
    return F(0) if w == F(0) else w * ((top - x) + log_total)


@njit(fastmath={"reassoc"})
def _sum_terms(t, keep, even, weight, x, top, log_total):
    total = F(0)
    for i in range(x.size):
        total += _term((keep * t[i] + even) * weight[i], x[i], top, log_total)
    return total


@njit
def _loss(label, t, weight, smoothing, x, top, log_total):
    """The loss of a row with this label or, if t is not empty, with these probabilities."""
    n, loss, keep = x.size, 0.0, F(1 - smoothing)
    if t.size == 0:
        loss = (1 - smoothing) * _term(weight[label], x[label], top, log_total)
        if smoothing == 0:
            return loss
        t, keep = weight, F(0)
    for i in range(0, n, PIECE):
        here = slice(i, i + PIECE)
        loss += _sum_terms(t[here], keep, F(smoothing / n), weight[here], x[here], top, log_total)
    return loss


@njit
def _write_loss(totals, mean, loss):
    """Write the sum of all rows of totals to the last, and the loss. A mean over no labels is NaN."""
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
def _cross_entropy(x, labels, probabilities, weight, ignored, smoothing, normalized, losses, stats, totals, mean, loss,
                   task, tasks):
    """totals[b], for block b of the rows: the sums of the losses and of the labels' weights, and 1 + the first row with
    a label out of range."""
    rows, n, blocks = losses.size, weight.size, len(totals) - 1
    block = -(-rows // blocks)
    work = np.empty(0 if normalized else block * n, np.float32)
    for b in range(task * blocks // tasks, (task + 1) * blocks // tasks):
        sum_losses, sum_weights, wrong = 0.0, 0.0, 0
        first, last = b * block, min((b + 1) * block, rows)
        if normalized:
            stats[0, first:last], stats[1, first:last] = 0, 1
        else:
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
    if blocks == 1 and task == tasks - 1:  # the task that had the block
        _write_loss(totals, mean, loss)


@kernel(totals=_TOTALS, loss=WRITE, tasks=1)
def _add_up(totals, mean, loss, task, tasks):
    if task == 0:
        _write_loss(totals, mean, loss)


@kernel(g=READ, x=READ, labels=_LABELS, probabilities=OPTIONAL, weight=READ, smoothing=REAL, stats=_STATS,
        totals=_TOTALS, dx=WRITE, work=_work_of_vjp)
def _cross_entropy_vjp(g, x, labels, probabilities, weight, ignored, smoothing, normalized, stats, totals, mean, dx,
                       task, tasks):
    """A label in the caller's memory may be out of range by now; then totals[-1, 2] is 1 + its row."""
    rows, n = stats.shape[1], weight.size
    block = max(1, BLOCK // n)
    scale = 1 / totals[-1, 1] if mean and totals[-1, 1] != 0 else 1.0
    keep, even, mean_weight = 1 - smoothing, smoothing / n, 0.0
    for i in range(0, n, PIECE):
        mean_weight += _sum(weight[i : i + PIECE]) / n
    end = (task + 1) * rows // tasks
    for first in range(task * rows // tasks, end, block):
        last = min(first + block, end)
        if normalized:
            fill(dx[first * n : last * n], F(0))
        else:
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
                if smoothing > 0:
                    mass = keep * weight[label] + smoothing * mean_weight
                    _pull(out, F(g_row), weight, F(0), F(even), weight, F(mass))
                else:
                    _scale_all(out, F(g_row * weight[label]))
                out[label] -= F(g_row * keep * weight[label])
            else:
                t = probabilities[row * n : (row + 1) * n]
                _pull(out, F(g_row), t, F(keep), F(even), weight, F(keep * _by_pieces(t, weight, False)
                                                                   + smoothing * mean_weight))


@njit
def _pull(p, g, t, keep, even, weight, mass):
    """p = g (mass p - q), for a row's q, whose sum is `mass`"""
    for i in range(p.size):
        p[i] = g * (mass * p[i] - (keep * t[i] + even) * weight[i])


def _targets(x: np.ndarray, target: np.ndarray, weight: np.ndarray | None) -> tuple:
    """Labels or None, probabilities or None, and the weights."""
    weight = constant(1.0, x.shape[1]) if weight is None else weight
    if target.dtype is FLOAT32:
        return None, target if x.ndim == 2 else _rows(target, 1), weight
    return target.astype(INT64, copy=False), None, weight


def _check_labels(*given: Any) -> None:
    """Raise IndexError if a kernel has found a label out of range, now or in a replay of the traced calls."""
    target, totals, classes, ignore_index, normalized = given
    if row := int(totals[-1, 2]):
        totals[-1, 2] = 0
        who = "nll_loss" if normalized else "cross_entropy"
        raise IndexError(f"{who}: label {target.flat[row - 1]} is out of range for {classes} classes "
                         f"(0 to {classes - 1}); ignore_index is {ignore_index}")
    check_again(_check_labels, *given, flag=totals[-1, 2:].view(INT64))


def cross_entropy(x, target, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0,
                  normalized=False):
    """The losses -(q * log_softmax(x)).sum(-1), or their reduction, for logits x (rows, classes), and residuals.

    q = weight * ((1 - label_smoothing) * t + label_smoothing / classes), where t is the target, of x's shape, or, for
    labels (rows,), np.eye(classes)[target]; q = 0 where the label is ignore_index. In x (outer, classes, ...), axis 1
    has the classes. normalized: x is log_softmax(x) already. Raises IndexError for a label out of range.
    """
    if x.ndim < 2 or weight is not None and weight.dtype is not FLOAT32 or (
            target.dtype.kind == "f" and target.dtype is not FLOAT32):
        return NotImplemented
    rows, classes = x.size // x.shape[1] if x.size else 0, x.shape[1]
    losses, stats, loss = np.empty(rows, FLOAT32), np.empty((2, rows), FLOAT32), np.empty((), FLOAT32)
    blocks = max(1, -(-rows // max(1, BLOCK // classes)))
    totals, targets = np.empty((1 + blocks, 3)), _targets(x, target, weight)
    logits, mean, smoothing = x if x.ndim == 2 else _rows(x, 1), reduction == "mean", float(label_smoothing)
    _cross_entropy(logits, *targets, ignore_index, smoothing, normalized, losses, stats, totals, mean, loss)
    if blocks > 1:
        _add_up(totals, mean, loss)
    _check_labels(target, totals, classes, ignore_index, normalized)
    return losses.reshape(x.shape[:1] + x.shape[2:]) if reduction == "none" else loss, (stats, totals)


def cross_entropy_vjp(g, wanted, x, target, weight, ignore_index, reduction, label_smoothing, residuals,
                      normalized=False):
    """dx = g[:, None] * (q.sum(-1, keepdims=True) * softmax(x) - q), for g (rows,) or one number; a mean divides by the
    sum of the labels' weights. If x is normalized, dx = -g[:, None] * q.

    Raises IndexError for a label out of range.
    """
    if any(wanted[1:]):
        return NotImplemented
    shape, (stats, totals) = x.shape if x.ndim == 2 else x.shape[:1] + x.shape[2:] + x.shape[1:2], residuals
    dx = np.empty(shape, np.float32)
    logits = x if x.ndim == 2 else dx if normalized else _rows(x, 1)  # a normalized x is not read
    _cross_entropy_vjp(np.asarray(g), logits, *_targets(x, target, weight), ignore_index, float(label_smoothing),
                       normalized, stats, totals, reduction == "mean", dx)
    _check_labels(target, totals, x.shape[1], ignore_index, normalized)  # in the user's array, they may have changed
    return [dx if x.ndim == 2 else _back(dx, 1), None, None]


nll_loss = partial(cross_entropy, normalized=True)


def nll_loss_vjp(g, wanted, x, target, weight, ignore_index, reduction, residuals):
    return cross_entropy_vjp(g, wanted, x, target, weight, ignore_index, reduction, 0.0, residuals, normalized=True)
