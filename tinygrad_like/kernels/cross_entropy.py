"""Cross-entropy between logits and labels, over the rows of a float32 matrix.

A row's loss is -log p_label, and its gradient p - e_label, with p = softmax(x) and e_label 1 at the label and 0
elsewhere. Backward needs m and log sum e^(x - m) of the row. They are kept apart, for their sum would be as rough as
the largest logit.

What has weights, smoothed labels or probabilities for labels is left to the definition.
"""

from contextlib import nullcontext

import numpy as np

from ..dtypes import FLOAT32, FLOAT64, INT64
from .checks import check_again
from .kinds import INTEGERS, READ, REALS, WRITE
from .program import kernel, together
from .simd import fill, inner
from .softmax import _COST, BLOCK, _back, _exp, _exp_shifted, _rows, _scale_all, _shift_twice
from .vectormath import F, log

_STATS, _TOTALS = WRITE.of(axes=2), REALS.of(FLOAT64, 2)._replace(writes=True)


@inner
def _work(x, labels, classes, ignored, losses, stats, totals, mean, loss):
    fits = x.size == losses.size * classes and labels.size == losses.size and stats.shape == (2, losses.size)
    return int(x.size * _COST) if fits and totals.shape[1] == 3 else -1


@inner
def _work_of_vjp(g, x, labels, classes, ignored, stats, totals, mean, dx):
    rows = stats.shape[1]
    fits = x.size == dx.size == rows * classes and labels.size == rows and (g.size == 1 or g.size == rows)
    return int(x.size * _COST) if fits and totals.shape[1] == 3 else -1


@inner
def _write_loss(totals, mean, loss):
    """The last row of totals: what the others come to. A mean over no label at all is NaN."""
    total, count, wrong = 0.0, 0.0, 0.0
    for b in range(len(totals) - 1):
        total, count = total + totals[b, 0], count + totals[b, 1]
        wrong = totals[b, 2] if wrong == 0 else wrong
    totals[-1, 0], totals[-1, 1], totals[-1, 2] = total, count, wrong
    if mean:
        total = total / count if count != 0 else np.nan
    loss[0] = total


@kernel(x=READ, labels=INTEGERS, losses=WRITE, stats=_STATS, totals=_TOTALS, loss=WRITE, work=_work)
def _cross_entropy(x, labels, classes, ignored, losses, stats, totals, mean, loss, task, tasks):
    """totals[b], for block b of the rows: the sum of the losses, how many labels count, and 1 + the first row with a
    label out of range."""
    rows, n, blocks = losses.size, classes, len(totals) - 1
    block = -(-rows // blocks)
    work = np.empty(block * n, np.float32)
    for b in range(task * blocks // tasks, (task + 1) * blocks // tasks):
        total, count, wrong = 0.0, 0, 0
        first, last = b * block, min((b + 1) * block, rows)
        _exp_shifted(x[first * n : last * n], n, work, stats[0, first:last], stats[1, first:last])
        for row in range(first, last):
            top, log_total, label, value = stats[0, row], log(stats[1, row]), labels[row], F(0)
            stats[1, row] = log_total
            if label != ignored and 0 <= label < n:
                value = (top - x[row * n + label]) + log_total
                count += 1
            elif label != ignored and wrong == 0:
                wrong = row + 1
            losses[row] = value
            total += value
        totals[b, 0], totals[b, 1], totals[b, 2] = total, count, wrong
    if blocks == 1 and task == tasks - 1:  # whose block it was
        _write_loss(totals, mean, loss)


@kernel(totals=_TOTALS, loss=WRITE, tasks=1)
def _add_up(totals, mean, loss, task, tasks):
    if task == 0:
        _write_loss(totals, mean, loss)


@kernel(g=READ, x=READ, labels=INTEGERS, stats=_STATS, totals=_TOTALS, dx=WRITE, work=_work_of_vjp)
def _cross_entropy_vjp(g, x, labels, classes, ignored, stats, totals, mean, dx, task, tasks):
    """A label may be out of range now, if it is in the caller's memory; then totals[-1, 2] is 1 + its row."""
    rows, n = stats.shape[1], classes
    block = max(1, BLOCK // n)
    scale = 1 / totals[-1, 1] if mean and totals[-1, 1] != 0 else 1.0
    end = (task + 1) * rows // tasks
    for first in range(task * rows // tasks, end, block):
        last = min(first + block, end)
        for row in range(first, last):
            here = slice(row * n, (row + 1) * n)
            _shift_twice(x[here], stats[0, row], stats[1, row], dx[here])
        _exp(dx[first * n : last * n])
        for row in range(first, last):
            out, label, slope = dx[row * n : (row + 1) * n], labels[row], F(scale * g[row if g.size > 1 else 0])
            if label != ignored and 0 <= label < n:
                _scale_all(out, slope)
                out[label] -= slope
            else:
                fill(out, F(0))
                if label != ignored:
                    totals[-1, 2] = row + 1


def _check_labels(target: np.ndarray, totals: np.ndarray, classes: int, ignore_index: int) -> None:
    """Raise IndexError if a kernel has found a label out of range; also when calls that are traced now are played."""
    _raise_for_label(target, totals, classes, ignore_index)
    check_again(_raise_for_label, target, totals, classes, ignore_index, flag=totals[-1, 2:].view(INT64))


def _raise_for_label(target: np.ndarray, totals: np.ndarray, classes: int, ignore_index: int) -> None:
    if row := int(totals[-1, 2]):
        totals[-1, 2] = 0
        raise IndexError(f"cross_entropy: label {target.flat[row - 1]} is out of range for {classes} classes "
                         f"(0 to {classes - 1}); ignore_index is {ignore_index}")


def cross_entropy(x: np.ndarray, target: np.ndarray, *, ignore_index: int = -100, reduction: str = "mean") -> tuple:
    """losses = -log_softmax(x)[range(rows), target], 0 where the label is ignore_index, or what they are reduced to,
    for logits x (rows, classes) and labels (rows,). Or for x (outer, classes, ...), whose columns are then what rows
    are else.

    Also what backward needs. Raises IndexError for a label out of range.
    """
    rows, classes = x.size // x.shape[1] if x.size else 0, x.shape[1]
    losses, stats, loss = np.empty(rows, FLOAT32), np.empty((2, rows), FLOAT32), np.empty((), FLOAT32)
    blocks = max(1, -(-rows // max(1, BLOCK // classes)))
    totals, logits, mean = np.empty((1 + blocks, 3)), x if x.ndim == 2 else _rows(x, 1), reduction == "mean"
    with nullcontext() if blocks == 1 else together():
        _cross_entropy(logits, target.astype(INT64, copy=False), classes, ignore_index, losses, stats, totals,
                       mean, loss)
        if blocks > 1:
            _add_up(totals, mean, loss)
    _check_labels(target, totals, classes, ignore_index)
    return losses.reshape(x.shape[:1] + x.shape[2:]) if reduction == "none" else loss, (stats, totals)


def cross_entropy_vjp(x: np.ndarray, g: np.ndarray, target: np.ndarray, stats: np.ndarray, totals: np.ndarray,
                      ignore_index: int, reduction: str) -> np.ndarray:
    """dx = g[:, None] * (softmax(x) - np.eye(classes)[target]), for g (rows,), or one number for all; for a mean
    divided by how many labels count.

    Raises IndexError for a label out of range.
    """
    shape = x.shape if x.ndim == 2 else x.shape[:1] + x.shape[2:] + x.shape[1:2]
    dx = np.empty(shape, np.float32)
    _cross_entropy_vjp(np.asarray(g), x if x.ndim == 2 else _rows(x, 1), target.astype(INT64, copy=False), x.shape[1],
                       ignore_index, stats, totals, reduction == "mean", dx)
    _check_labels(target, totals, x.shape[1], ignore_index)  # in range once, they may be in the user's array
    return dx if x.ndim == 2 else _back(dx, 1)
