"""Softmax over the rows of a float32 matrix, its relatives, and cross-entropy between logits and labels.

exp is the expensive part. Over short rows it runs a block of rows at a time, as if they were one, so that 10 classes cost no
more per number than 1000. A row is shifted by its maximum m first, which keeps every e^(x - m) in [0, 1].
"""

import numpy as np
from numba import njit, prange

from .elementwise import PARALLEL, TASK, flat, flat_out, run
from .reduce import _max, _sum
from .vectormath import INF, INNER, F, exp, log

PARALLEL_FROM = 8192
BLOCK = 2048  # numbers in a block of rows; a block is at least one row
LONG = 256  # such rows fill the vectors by themselves
SOFTMAX, LOG_SOFTMAX, LOGSUMEXP = range(3)
NO_WEIGHT = np.empty(0, np.float32)


@njit(**INNER)
def _shift(x, top, y):
    for i in range(x.size):
        y[i] = x[i] - top


@njit(**INNER)
def _exp(x):
    for i in range(x.size):
        x[i] = exp(x[i])


@njit(fastmath={"reassoc", "contract"}, **INNER)
def _exp_and_sum(x, top, y):
    total = F(0)
    for i in range(x.size):
        e = exp(x[i] - top)
        y[i] = e
        total += e
    return total


@njit(**INNER)
def _scale(x, factor):
    for i in range(x.size):
        x[i] *= factor


@njit(**INNER)
def _exp_shifted(x, n, e, tops, totals):
    """e = e^(x - m), and the sum of e, for a block of rows of length n, with m in `tops`."""
    for row in range(x.size // n):
        start, stop = row * n, (row + 1) * n
        top = _max(x[start:stop])
        top = top if abs(top) < INF else F(0)  # inf - inf would be NaN
        tops[row] = top
        if n >= LONG:
            totals[row] = _exp_and_sum(x[start:stop], top, e[start:stop])
        else:
            _shift(x[start:stop], top, e[start:stop])
    if n < LONG:
        _exp(e[: x.size])
        for row in range(x.size // n):
            totals[row] = _sum(e[row * n : (row + 1) * n])


@njit(**TASK)
def _forward_task(op, x, n, y, task, tasks):
    rows, block = x.size // n, max(1, BLOCK // n)
    work, tops, totals = np.empty(block * n, np.float32), np.empty(block, np.float32), np.empty(block, np.float32)
    end = (task + 1) * rows // tasks
    for first in range(task * rows // tasks, end, block):
        last = min(first + block, end)
        e = y[first * n : last * n] if op == SOFTMAX else work
        _exp_shifted(x[first * n : last * n], n, e, tops, totals)
        for row in range(first, last):
            top, total = tops[row - first], totals[row - first]
            if op == SOFTMAX:
                _scale(y[row * n : (row + 1) * n], F(1) / total)
            elif op == LOGSUMEXP:
                y[row] = top + log(total)
            else:
                _shift_twice(x[row * n : (row + 1) * n], top, log(total), y[row * n : (row + 1) * n])


@njit(**INNER)
def _shift_twice(x, top, log_total, y):
    for i in range(x.size):
        y[i] = (x[i] - top) - log_total  # next to a large `top`, log_total would be lost


@njit(**PARALLEL)
def _forward_tasks(op, x, n, y, tasks):
    for task in prange(tasks):
        _forward_task(op, x, n, y, task, tasks)


@njit(fastmath={"reassoc", "contract"}, **INNER)
def _dot(a, b):
    total = F(0)
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(**TASK)
def _backward_task(op, g, y, n, dx, task, tasks):
    rows = g.size // n
    for row in range(task * rows // tasks, (task + 1) * rows // tasks):
        start, stop = row * n, (row + 1) * n
        gr, yr, out = g[start:stop], y[start:stop], dx[start:stop]
        if op == SOFTMAX:
            total = _dot(gr, yr)
            for i in range(n):
                out[i] = yr[i] * (gr[i] - total)
        else:
            total = _sum(gr)
            for i in range(n):
                out[i] = gr[i] - exp(yr[i]) * total


@njit(**PARALLEL)
def _backward_tasks(op, g, y, n, dx, tasks):
    for task in prange(tasks):
        _backward_task(op, g, y, n, dx, task, tasks)


def _row_length(x: np.ndarray) -> int:
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"softmax: the last axis of shape {x.shape} is empty")
    return x.shape[-1]


def _run_forward(op: int, x: np.ndarray, shape: tuple[int, ...], out: np.ndarray | None) -> np.ndarray:
    n = _row_length(x)
    y, row = flat_out(out, shape)
    run(_forward_task, _forward_tasks, x.size >= PARALLEL_FROM, op, flat(x), n, row)
    return y


def _run_backward(op: int, g: np.ndarray, y: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    if g.shape != y.shape:
        raise ValueError(f"softmax: the cotangent has shape {g.shape} but the output {y.shape}")
    dx, row = flat_out(out, g.shape)
    run(_backward_task, _backward_tasks, g.size >= PARALLEL_FROM, op, flat(g), flat(y), _row_length(y), row)
    return dx


def softmax(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """e = np.exp(x - x.max(-1, keepdims=True)); e / e.sum(-1, keepdims=True)"""
    return _run_forward(SOFTMAX, x, x.shape, out)


def log_softmax(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """z = x - x.max(-1, keepdims=True); z - np.log(np.exp(z).sum(-1, keepdims=True))"""
    return _run_forward(LOG_SOFTMAX, x, x.shape, out)


def logsumexp(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """np.log(np.exp(x).sum(-1)), without overflow. Its gradient is g[..., None] * softmax(x)."""
    return _run_forward(LOGSUMEXP, x, x.shape[:-1], out)


def softmax_backward(g: np.ndarray, y: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """y * (g - (g * y).sum(-1, keepdims=True)), for y = softmax(x)"""
    return _run_backward(SOFTMAX, g, y, out)


def log_softmax_backward(g: np.ndarray, y: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """g - np.exp(y) * g.sum(-1, keepdims=True), for y = log_softmax(x)"""
    return _run_backward(LOG_SOFTMAX, g, y, out)


# --- Cross-entropy -------------------------------------------------------------------------------------------------------
# With a label's distribution q_c = w_c ((1 - eps) [c = label] + eps / classes), a row's loss is -sum_c q_c log p_c and its
# gradient (sum_c q_c) p - q, p = softmax(x). What backward needs of the row, m and log sum e^(x - m), is kept apart: added
# up they would be as rough as the largest logit.


@njit(**TASK)
def _cross_entropy_task(x, labels, weight, ignored, smoothing, losses, stats, bad, task, tasks):
    rows, n = labels.size, x.size // labels.size
    block = max(1, BLOCK // n)
    work = np.empty(block * n, np.float32)
    end = (task + 1) * rows // tasks
    for first in range(task * rows // tasks, end, block):
        last = min(first + block, end)
        _exp_shifted(x[first * n : last * n], n, work, stats[0, first:last], stats[1, first:last])
        for row in range(first, last):
            log_total = log(stats[1, row])
            stats[1, row] = log_total
            label, logits = labels[row], x[row * n : (row + 1) * n]
            if label == ignored:
                losses[row] = F(0)
            elif label < 0 or label >= n:
                bad[task] = row
            else:
                top = stats[0, row]
                w = weight[label] if weight.size else F(1)
                loss = (1 - smoothing) * w * ((top - logits[label]) + log_total)
                if smoothing > 0:
                    loss += smoothing / n * _weighted_nll(logits, weight, top, log_total)
                losses[row] = loss


@njit(fastmath={"reassoc", "contract"}, **INNER)
def _weighted_nll(logits, weight, top, log_total):
    """-sum_c w_c log p_c"""
    total = F(0)
    if weight.size:
        for i in range(logits.size):
            total += weight[i] * ((top - logits[i]) + log_total)
    else:
        for i in range(logits.size):
            total += (top - logits[i]) + log_total
    return total


@njit(**INNER)
def _totals(losses, labels, weight, ignored):
    loss, divisor = 0.0, 0.0
    for row in range(labels.size):
        if labels[row] != ignored:
            loss += losses[row]
            divisor += weight[labels[row]] if weight.size else 1.0
    return loss, divisor


@njit(**PARALLEL)
def _cross_entropy(x, labels, weight, ignored, smoothing, losses, stats, tasks):
    """The sum of the losses, that of the labels' weights, and a row whose label is out of range, or -1."""
    bad = np.full(tasks, -1)
    if tasks == 1:
        _cross_entropy_task(x, labels, weight, ignored, smoothing, losses, stats, bad, tasks - 1, tasks)
    else:
        for task in prange(tasks):
            _cross_entropy_task(x, labels, weight, ignored, smoothing, losses, stats, bad, task, tasks)
    for task in range(tasks):
        if bad[task] >= 0:
            return 0.0, 0.0, bad[task]
    loss, divisor = _totals(losses, labels, weight, ignored)
    return loss, divisor, -1


@njit(**TASK)
def _cross_entropy_backward_task(g, scale, x, labels, weight, ignored, smoothing, stats, dx, task, tasks):
    rows, n = labels.size, x.size // labels.size
    block = max(1, BLOCK // n)
    mass = 1.0
    if smoothing > 0 and weight.size:
        mass = _sum(weight) / n
    end = (task + 1) * rows // tasks
    for first in range(task * rows // tasks, end, block):
        last = min(first + block, end)
        for row in range(first, last):
            _shift(x[row * n : (row + 1) * n], stats[0, row] + stats[1, row], dx[row * n : (row + 1) * n])
        _exp(dx[first * n : last * n])
        for row in range(first, last):
            out, label = dx[row * n : (row + 1) * n], labels[row]
            if label == ignored:
                out[:] = F(0)
                continue
            gr = scale * (g[row] if g.size > 1 else g[0])
            spike = (1 - smoothing) * (weight[label] if weight.size else F(1))
            _scale(out, F(gr * (spike + smoothing * mass)))
            if smoothing > 0:
                even = F(gr * smoothing / n)
                for i in range(n):
                    out[i] -= even * (weight[i] if weight.size else F(1))
            out[label] -= F(gr * spike)


@njit(**PARALLEL)
def _cross_entropy_backward(g, scale, x, labels, weight, ignored, smoothing, stats, dx, tasks):
    if tasks == 1:
        _cross_entropy_backward_task(
            g, scale, x, labels, weight, ignored, smoothing, stats, dx, tasks - 1, tasks)  # fmt: skip
    else:
        for task in prange(tasks):
            _cross_entropy_backward_task(g, scale, x, labels, weight, ignored, smoothing, stats, dx, task, tasks)


def _int_labels(labels: np.ndarray) -> np.ndarray:
    return labels.astype(np.int64, copy=False).ravel()


def cross_entropy(
    x: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """losses = -(q * log_softmax(x)).sum(-1), for logits x (rows, classes), labels (rows,) and
    q = weight * ((1 - label_smoothing) * np.eye(classes)[labels] + label_smoothing / classes), 0 where ignored.

    Also what backward needs, (2, rows); the sum of the losses; and the sum of the labels' weights, by which a mean divides.
    Raises IndexError for a label out of range.
    """
    rows, classes = x.shape
    losses, stats = np.empty(rows, np.float32), np.empty((2, rows), np.float32)
    weight = NO_WEIGHT if weight is None else flat(weight)
    labels = _int_labels(labels)
    if x.size == 0:
        return losses, stats, 0.0, 0.0
    with threads.pool:
        total, divisor, bad = _cross_entropy(
            flat(x), labels, weight, ignore_index, float(label_smoothing), losses, stats, _tasks(x.size))  # fmt: skip
    if bad >= 0:
        raise IndexError(f"cross_entropy: label {labels[bad]} is out of range for {classes} classes (0 to {classes - 1}); "
                         f"ignore_index is {ignore_index}")
    return losses, stats, total, divisor


def cross_entropy_backward(
    g: np.ndarray,
    x: np.ndarray,
    labels: np.ndarray,
    stats: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    scale: float = 1.0,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """dx = scale * g[:, None] * (q.sum(-1, keepdims=True) * softmax(x) - q); g has one number for every row, or one for all."""
    dx, row = flat_out(out, x.shape)
    if x.size:
        with threads.pool:
            _cross_entropy_backward(
                flat(g), float(scale), flat(x), _int_labels(labels), NO_WEIGHT if weight is None else flat(weight),
                ignore_index, float(label_smoothing), stats, row, _tasks(x.size))  # fmt: skip
    return dx
