"""Weighted sums of a few numbers of an axis for each place of a new one, as interpolation takes them, and the adjoint.

An array is rows of (old, width) numbers, its counterpart rows of (new, width); each thread takes some of the rows.
"""

import math

import numpy as np

from .kinds import READ, WRITE
from .program import in_order, kernel
from .simd import inner
from .vectormath import F

_COST = 0.3  # nanoseconds of a product


@inner
def _fit(there, back, old, new, width, index, weight):
    """Nanoseconds for the products of arrays of rows of (old, width) and of (new, width); -1 if they are not that."""
    rows = there.size // (old * width) if old > 0 and width > 0 and new > 0 else 0
    fits = (rows > 0 and there.size == rows * old * width and back.size == rows * new * width
            and index.size == weight.size and index.size % new == 0)
    for i in index:
        fits = fits and 0 <= i < old
    return int(rows * index.size * width * _COST) if fits else -1


@inner
def _work_of_gather(x, old, new, width, index, weight, out):
    return _fit(x, out, old, new, width, index, weight)


@inner
def _work_of_spread(g, old, new, width, index, weight, out):
    return _fit(out, g, old, new, width, index, weight)


@kernel(x=READ, index=READ.of(np.int64), weight=READ, out=WRITE, work=_work_of_gather)
def _gather(x, old, new, width, index, weight, out, task, tasks):
    """out[row, j, :] = sum_t weight[t, j] x[row, index[t, j], :]"""
    rows, taps = x.size // (old * width), index.size // new
    for row in range(task * rows // tasks, (task + 1) * rows // tasks):
        source = x[row * old * width : (row + 1) * old * width]
        target = out[row * new * width : (row + 1) * new * width]
        if width == 1:
            for t in range(taps):
                index_t, weight_t = index[t * new : (t + 1) * new], weight[t * new : (t + 1) * new]
                for j in range(new):
                    product = weight_t[j] * source[index_t[j]]
                    target[j] = product if t == 0 else target[j] + product
            continue
        for j in range(new):
            line = target[j * width : (j + 1) * width]
            for t in range(taps):
                w, first = weight[t * new + j], index[t * new + j] * width
                part = source[first : first + width]
                for i in range(width):
                    line[i] = w * part[i] if t == 0 else line[i] + w * part[i]


@kernel(g=READ, index=READ.of(np.int64), weight=READ, out=WRITE, work=_work_of_spread)
def _spread(g, old, new, width, index, weight, out, task, tasks):
    """out[row, index[t, j], :] += weight[t, j] g[row, j, :], from zeros."""
    rows, taps = out.size // (old * width), index.size // new
    for row in range(task * rows // tasks, (task + 1) * rows // tasks):
        source = g[row * new * width : (row + 1) * new * width]
        target = out[row * old * width : (row + 1) * old * width]
        target[:] = F(0)
        for j in range(new):
            for t in range(taps):
                w, first = weight[t * new + j], index[t * new + j] * width
                if width == 1:
                    target[first] += w * source[j]
                else:
                    line, part = target[first : first + width], source[j * width : (j + 1) * width]
                    for i in range(width):
                        line[i] += w * part[i]


def resampled(x: np.ndarray, axis: int, taps) -> np.ndarray:
    """out[..., j, ...] = sum_t weight[j, t] x[..., index[j, t], ...]"""
    new, shape = len(taps.places), x.shape
    out = np.empty((*shape[:axis], new, *shape[axis + 1 :]), np.float32)
    if out.size and taps.size == shape[axis]:
        _gather(in_order(x), taps.size, new, math.prod(shape[axis + 1 :]), *_turned(taps), out)
        return out
    return NotImplemented


def resampled_vjp(g: np.ndarray, axis: int, taps) -> np.ndarray:
    """The adjoint of `resampled`."""
    new, shape = len(taps.places), g.shape
    out = np.empty((*shape[:axis], taps.size, *shape[axis + 1 :]), np.float32)
    if out.size and new == shape[axis]:
        _spread(in_order(g), taps.size, new, math.prod(shape[axis + 1 :]), *_turned(taps), out)
        return out
    return NotImplemented


def _turned(taps) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights, the first tap of every place first."""
    return taps.places.T.ravel(), taps.weight.T.astype(np.float32).ravel()
