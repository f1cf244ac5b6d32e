"""Softmax over the rows of a float32 matrix, its relatives, and cross-entropy between logits and labels.

exp is the expensive part. Over short rows it runs a block of rows at a time, as if they were one, so that rows of 10
cost no more per number than rows of 1000. A row is first shifted by its maximum m, which keeps e^(x - m) in [0, 1].
"""

import functools

import numpy as np
from numba import njit

from ..dtypes import INT64
from .reduce import PIECE, _max, _sum
from .simd import kernel
from .tasks import flat, flat_out, run
from .vectormath import INF, INNER, SCALAR, F, exp, log

PARALLEL_FROM = 8192
BLOCK = 2048  # numbers in a block of rows; a block is at least one row
LONG = 256  # such rows fill the vectors by themselves
SOFTMAX, LOG_SOFTMAX, LOGSUMEXP = range(3)


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


@kernel()
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


@njit(fastmath={"reassoc", "contract"}, forceinline=True, **INNER)
def _dot(a, b):
    total = F(0)
    for i in range(a.size):
        total += a[i] * b[i]
    return total


@njit(**INNER)
def _by_pieces(op, g, y):
    total = 0.0
    for i in range(0, g.size, PIECE):
        piece = g[i : i + PIECE]
        total += _dot(piece, y[i : i + PIECE]) if op == SOFTMAX else _sum(piece)
    return F(total)


@kernel()
def _backward_task(op, g, y, n, dx, task, tasks):
    rows = g.size // n
    for row in range(task * rows // tasks, (task + 1) * rows // tasks):
        start, stop = row * n, (row + 1) * n
        gr, yr, out = g[start:stop], y[start:stop], dx[start:stop]
        total = F(0)
        if n <= PIECE:
            total = _dot(gr, yr) if op == SOFTMAX else _sum(gr)
        else:
            total = _by_pieces(op, gr, yr)
        if op == SOFTMAX:
            for i in range(n):
                out[i] = yr[i] * (gr[i] - total)
        else:
            for i in range(n):
                out[i] = gr[i] - exp(yr[i]) * total


def _row_length(x: np.ndarray) -> int:
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"softmax: the last axis of shape {x.shape} is empty")
    return x.shape[-1]


def _run_forward(op: int, x: np.ndarray, shape: tuple[int, ...], out: np.ndarray | None) -> np.ndarray:
    n = _row_length(x)
    y, row = flat_out(out, shape)
    run(_forward_task, x.size >= PARALLEL_FROM, op, flat(x), n, row)
    return y


def _run_backward(op: int, g: np.ndarray, y: np.ndarray, out: np.ndarray | None) -> np.ndarray:
    if g.shape != y.shape:
        raise ValueError(f"softmax: the cotangent has shape {g.shape} but the output {y.shape}")
    dx, row = flat_out(out, g.shape)
    run(_backward_task, g.size >= PARALLEL_FROM, op, flat(g), flat(y), _row_length(y), row)
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


# --- Cross-entropy ----------------------------------------------------------------------------------------------------
# With a label's distribution q_c = w_c ((1 - eps) [c = label] + eps / classes), a row's loss is -sum_c q_c log p_c and
# its gradient (sum_c q_c) p - q, p = softmax(x). Backward needs m and log sum e^(x - m) of the row. They are kept
# apart, for their sum would be as rough as the largest logit.


@njit(**SCALAR)
def _term(w, x, top, log_total):
    """-w log p, and 0 where w is 0, even if p is 0 too"""
    return F(0) if w == F(0) else w * ((top - x) + log_total)


@njit(fastmath={"reassoc"}, **INNER)
def _sum_terms(weight, x, top, log_total):
    total = F(0)
    for i in range(x.size):
        total += _term(weight[i], x[i], top, log_total)
    return total


@kernel()
def _cross_entropy_task(x, labels, weight, ignored, smoothing, losses, stats, totals, task, tasks):
    """totals[b], for block b of the rows: the sums of the losses and of the labels' weights, and how many labels are
    out of range."""
    rows, n, blocks = labels.size, x.size // labels.size, len(totals)
    block = -(-rows // blocks)
    work = np.empty(block * n, np.float32)
    for b in range(task * blocks // tasks, (task + 1) * blocks // tasks):
        sum_losses, sum_weights, wrong = 0.0, 0.0, 0
        first, last = b * block, min((b + 1) * block, rows)
        _exp_shifted(x[first * n : last * n], n, work, stats[0, first:last], stats[1, first:last])
        for row in range(first, last):
            top, log_total = stats[0, row], log(stats[1, row])
            stats[1, row] = log_total
            label, logits, loss = labels[row], x[row * n : (row + 1) * n], 0.0
            if label != ignored and 0 <= label < n:
                loss = (1 - smoothing) * _term(weight[label], logits[label], top, log_total)
                if smoothing > 0:
                    for i in range(0, n, PIECE):
                        terms = _sum_terms(weight[i : i + PIECE], logits[i : i + PIECE], top, log_total)
                        loss += smoothing / n * terms
                sum_weights += weight[label]
            elif label != ignored:
                wrong += 1
            losses[row] = loss
            sum_losses += loss
        totals[b, 0], totals[b, 1], totals[b, 2] = sum_losses, sum_weights, wrong


@kernel()
def _cross_entropy_backward_task(g, scale, x, labels, weight, ignored, smoothing, stats, dx, wrong, task, tasks):
    """wrong[0]: 1 + a row with a label out of range. Labels in the caller's memory may have changed since forward."""
    rows, n = labels.size, x.size // labels.size
    block = max(1, BLOCK // n)
    mean_weight = 0.0
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
            out, label = dx[row * n : (row + 1) * n], labels[row]
            if label == ignored or not 0 <= label < n:
                for i in range(n):
                    out[i] = F(0)
                if label != ignored:
                    wrong[0] = row + 1
                continue
            g_row = scale * g[row if g.size > 1 else 0]
            at_label, everywhere = (1 - smoothing) * weight[label], smoothing / n
            _scale(out, F(g_row * (at_label + smoothing * mean_weight)))
            if smoothing > 0:
                factor = F(g_row * everywhere)
                for i in range(n):
                    out[i] -= factor * weight[i]
            out[label] -= F(g_row * at_label)


@functools.lru_cache(maxsize=8)
def _ones(classes: int) -> np.ndarray:
    return np.ones(classes, np.float32)


def _labels_and_weight(
    x: np.ndarray, labels: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    rows, classes = x.shape
    if labels.size != rows or (weight is not None and weight.size != classes):
        raise ValueError(f"cross_entropy: logits {x.shape} need {rows} labels and {classes} weights, got "
                         f"{labels.shape} and {'none' if weight is None else weight.shape}")
    return flat(labels.astype(INT64, copy=False), INT64), _ones(classes) if weight is None else flat(weight)


def _out_of_range(label: int, classes: int, ignore_index: int) -> IndexError:
    return IndexError(f"cross_entropy: label {label} is out of range for {classes} classes (0 to {classes - 1}); "
                      f"ignore_index is {ignore_index}")


def cross_entropy(
    x: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """losses = -(q * log_softmax(x)).sum(-1), for logits x (rows, classes), labels (rows,) and
    q = weight * ((1 - label_smoothing) * np.eye(classes)[labels] + label_smoothing / classes), 0 where ignored.

    Also what backward needs (2, rows), the sum of the losses, and the sum of the labels' weights, which a mean divides
    by. Raises IndexError for a label out of range.
    """
    rows, classes = x.shape
    losses, stats = np.empty(rows, np.float32), np.empty((2, rows), np.float32)
    if x.size == 0:
        return losses, stats, 0.0, 0.0
    labels, weight = _labels_and_weight(x, labels, weight)
    totals = np.empty((-(-rows // max(1, BLOCK // classes)), 3))
    run(_cross_entropy_task, x.size >= PARALLEL_FROM, flat(x), labels, weight, ignore_index, float(label_smoothing),
        losses, stats, totals)
    sum_losses, sum_weights, wrong = (totals[0] if len(totals) == 1 else totals.sum(0)).tolist()
    if wrong:
        wrong = (labels != ignore_index) & ((labels < 0) | (labels >= classes))
        raise _out_of_range(labels[wrong][0], classes, ignore_index)
    return losses, stats, sum_losses, sum_weights


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
    """dx = scale * g[:, None] * (q.sum(-1, keepdims=True) * softmax(x) - q), for g (rows,), or one number for all.

    Raises IndexError for a label out of range.
    """
    dx, row = flat_out(out, x.shape)
    if x.size:
        labels, weight = _labels_and_weight(x, labels, weight)
        if g.size not in (1, len(x)) or stats.shape[1] != len(x):
            raise ValueError(f"cross_entropy: {g.size} cotangents for logits {x.shape}")
        wrong = np.zeros(1, np.int64)
        run(_cross_entropy_backward_task, x.size >= PARALLEL_FROM, flat(g), float(scale), flat(x), labels, weight,
            ignore_index, float(label_smoothing), stats, row, wrong)
        if wrong[0]:  # they were in range once, but may be an array of the user's
            raise _out_of_range(labels[wrong[0] - 1], x.shape[1], ignore_index)
    return dx
