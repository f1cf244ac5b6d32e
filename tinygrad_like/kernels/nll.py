"""The negative log-likelihood of labels: of each place one of its classes is picked, and the losses are added up.

    x       (outer, classes, inner), so that images with their classes on axis 1 are read where they lie
    labels  (outer, inner)

A row is a place, outer or inner. As in softmax.py, blocks of rows write what they come to in `totals`.
"""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import FLOAT32, INT64
from .kinds import OPTIONAL, READ, WRITE
from .program import kernel, together
from .simd import fill, inner
from .softmax import _LABELS, _TOTALS, _add_up, _write_loss, check_labels

F = np.float32
_BLOCK = 4096  # rows whose losses one task adds up
_COST = 1.0  # nanoseconds of a row: its class may lie anywhere


@inner
def _work(x, labels, weight, ignored, classes, size, losses, totals, mean, loss):
    if losses.size != labels.size or x.size != classes * labels.size or weight.size not in (0, classes):
        return -1
    return int(labels.size * _COST)


@kernel(x=READ, labels=_LABELS, weight=OPTIONAL, losses=WRITE, totals=_TOTALS, loss=WRITE, work=_work)
def _nll(x, labels, weight, ignored, classes, size, losses, totals, mean, loss, task, tasks):
    """totals[b], for block b of the rows: the sums of the losses and of the labels' weights, and 1 + the first row with
    a label out of range."""
    rows, blocks = losses.size, len(totals) - 1
    for b in range(task * blocks // tasks, (task + 1) * blocks // tasks):
        sum_losses, sum_weights, wrong = 0.0, 0.0, 0
        for row in range(b * _BLOCK, min((b + 1) * _BLOCK, rows)):
            label, value = labels[row], F(0)
            if 0 <= label < classes and label != ignored:
                w = weight[label] if weight.size else F(1)
                sum_weights += w
                if w != 0:  # so that it counts for nothing, also if it holds -inf
                    value = -w * x[(row // size * classes + label) * size + row % size]
            elif label != ignored and wrong == 0:
                wrong = row + 1
            losses[row] = value
            sum_losses += value
        totals[b, 0], totals[b, 1], totals[b, 2] = sum_losses, sum_weights, wrong
    if blocks == 1 and task == tasks - 1:  # whose block it was
        _write_loss(totals, mean, loss)


@inner
def _work_of_vjp(g, labels, weight, ignored, classes, size, totals, mean, dx):
    if dx.size != classes * labels.size or weight.size not in (0, classes) or g.size not in (1, labels.size):
        return -1
    return int(labels.size * _COST + dx.size * 0.06)


@kernel(g=READ, labels=_LABELS, weight=OPTIONAL, totals=_TOTALS, dx=WRITE, work=_work_of_vjp)
def _nll_vjp(g, labels, weight, ignored, classes, size, totals, mean, dx, task, tasks):
    """A label may be out of range now, if it is in the caller's memory; then totals[-1, 2] is 1 + its row."""
    scale = 1 / totals[-1, 1] if mean and totals[-1, 1] != 0 else 1.0
    outer = labels.size // size
    first, last = task * outer // tasks, (task + 1) * outer // tasks
    fill(dx[first * classes * size : last * classes * size], F(0))
    for row in range(first * size, last * size):
        label = labels[row]
        if 0 <= label < classes and label != ignored:
            w = weight[label] if weight.size else F(1)
            dx[(row // size * classes + label) * size + row % size] = -F(scale * g[row if g.size > 1 else 0]) * w
        elif label != ignored:
            totals[-1, 2] = row + 1


def nll(x: np.ndarray, target: np.ndarray, weight: np.ndarray | None, ignore_index: int,
        reduction: str) -> tuple[np.ndarray, np.ndarray]:
    """losses = -weight[target] * x at target, (batch, d1, ...) for x (batch, classes, d1, ...), 0 where the target is
    ignore_index; or what they are reduced to. And what backward needs. Raises IndexError for a label out of range."""
    if weight is not None and weight.dtype is not FLOAT32 or not target.size:
        return NotImplemented  # type: ignore[return-value]
    losses, loss = np.empty(target.shape, FLOAT32), np.empty((), FLOAT32)
    totals, mean = np.empty((1 + -(-target.size // _BLOCK), 3)), reduction == "mean"
    with together():
        _nll(x, target.astype(INT64, copy=False), weight, ignore_index, x.shape[1], math.prod(x.shape[2:]), losses,
             totals, mean, loss)
        if len(totals) > 2:
            _add_up(totals, mean, loss)
    check_labels(target, totals, x.shape[1], ignore_index, "nll_loss")
    return losses if reduction == "none" else loss, totals


def nll_vjp(g: np.ndarray, target: np.ndarray, weight: np.ndarray | None, totals: np.ndarray, shape: tuple[int, ...],
            ignore_index: int, reduction: str) -> np.ndarray:
    """dx, of this shape: -weight[target] g at target, for a mean divided by the labels' weights; 0 elsewhere."""
    dx = np.empty(shape, FLOAT32)
    _nll_vjp(np.asarray(g), target.astype(INT64, copy=False), weight, ignore_index, shape[1], math.prod(shape[2:]),
             totals, reduction == "mean", dx)
    check_labels(target, totals, shape[1], ignore_index, "nll_loss")
    return dx
