"""Normalisation of float32 arrays, (x - mean) / sqrt(variance + eps) * weight + bias, forward and backward.

Here all elements of a row share a mean and a variance, and each column has its weight: layer norm, and RMS norm, whose
mean is 0. In channel_norm.py each channel has its weight: group norm and batch norm. One group that shares a mean is
finished before the next, so that all passes over it but the first find it in the cache.

Statistics are float64, and x - mean is computed in two steps: first minus the mean rounded to float32, which is exact
next to a large mean, then minus the rest. Sums run over pieces in float32 and over the pieces in float64. The order of
summation depends only on shapes, so the result does not change with the number of threads.
"""

import functools
import math
from collections.abc import Callable

import numpy as np

from ..dtypes import FLOAT64
from .kinds import READ, REAL, WRITE
from .late import njit
from .program import beside, kernel, together
from .reduce import PIECE, combine
from .simd import inner, put
from .vectormath import SCALAR, F

COST = 0.09  # nanoseconds per element
BLOCK, LOW = 256, 16  # rows of a part of a matrix, which are summed in float32
STATS, STATS_WRITE = READ.of(FLOAT64, 2), WRITE.of(FLOAT64, 2)  # rows of means and of 1 / sqrt(var + eps)
# Inlined, since passing a slice to a function costs atomic instructions, which take as long as a short row.
contracted = njit(fastmath={"contract"})
LOOP = dict(fastmath={"contract"}, forceinline=True)
SUMS = dict(LOOP, fastmath={"reassoc", "contract"})


# --- Mean and variance ------------------------------------------------------------------------------------------------


@njit(**SCALAR)
def minus(a, b):
    return a - b  # separate from the sums, which may reorder their terms: sum(x) - n * shift would not be exact


@njit(**SUMS)
def _moments(x, shift):
    """The sums of x - shift and of its square."""
    total, squares = F(0), F(0)
    for i in range(x.size):
        d = minus(x[i], shift)
        total += d
        squares += d * d
    return total, squares


@njit(**LOOP)
def mean_and_variance(x, start, runs, step, length, centred):
    """Mean and variance of one group, in one pass; if it is not centred, 0 and the mean square.

    var = E[(x - shift)^2] - (mean - shift)^2 loses digits if the shift is far from the mean, so a second pass follows
    if the first element is an outlier.
    """
    share = 1 / (runs * length)
    shift = x[start] if centred else F(0)
    for _ in range(2):
        total, squares = 0.0, 0.0
        for k in range(runs):
            end = start + k * step + length
            for i in range(end - length, end, PIECE):
                a, b = _moments(x[i : min(i + PIECE, end)], shift)
                total += a
                squares += b
        if not centred:
            return 0.0, squares * share
        off = total * share
        mean, variance = shift + off, squares * share - off * off
        if not off * off > 16 * variance:
            break
        shift = F(mean)
    return mean, max(variance, 0.0)


# --- Parameters -------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=32)
def constant(value: float, n: int) -> np.ndarray:
    return np.full(n, value, np.float32)


def parameters(weight: np.ndarray | None, bias: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray]:
    if (weight is not None and weight.size != n) or (bias is not None and bias.size != n):
        raise ValueError(f"normalisation: weight and bias must have {n} numbers each")
    return (constant(1.0, n) if weight is None else weight), (constant(0.0, n) if bias is None else bias)


def check_gradient(g: np.ndarray, x: np.ndarray, size: int) -> None:
    """Check again, since saved arrays may have been replaced."""
    if g.shape != x.shape or g.size != size:
        raise ValueError(f"normalisation: the gradient has shape {g.shape}, what was normalised {x.shape}")


def parameter_gradients(call: Callable, blocks: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Gradients (n,) of weight and bias, of which the kernel's call writes a share for each of so many blocks."""
    gradients = np.empty(n, np.float32), np.empty(n, np.float32)
    if blocks == 1:
        call(*gradients)
    else:
        shares = np.empty((blocks, n), np.float32), np.empty((blocks, n), np.float32)
        with together():
            call(*shares)
            beside(*[(combine, share, n, gradient) for share, gradient in zip(shares, gradients, strict=True)])
    return gradients


# --- Rows -------------------------------------------------------------------------------------------------------------


@kernel(x=READ, weight=READ, bias=READ, eps=REAL, stats=STATS_WRITE, y=WRITE, cost=COST, fastmath={"contract"})
def _normalize_rows(x, n, weight, bias, eps, centred, stats, y, task, tasks):
    rows = stats.shape[1]
    for row in range(task * rows // tasks, (task + 1) * rows // tasks):
        mean, variance = mean_and_variance(x, row * n, 1, n, n, centred)
        rstd = 1 / math.sqrt(variance + eps)
        stats[0, row], stats[1, row] = mean, rstd
        centre = F(mean)
        scale, offset = F(rstd), F((centre - mean) * rstd)
        x_row, y_row = x[row * n : row * n + n], y[row * n : row * n + n]
        for i in range(n):
            y_row[i] = ((x_row[i] - centre) * scale + offset) * weight[i] + bias[i]


@njit(**SUMS)
def _weighted_sums(g, x, weight, centre):
    """The sums of w g and of w g (x - centre)."""
    total, slope = F(0), F(0)
    for i in range(g.size):
        wg = weight[i] * g[i]
        total += wg
        slope += wg * minus(x[i], centre)
    return total, slope


@njit(**LOOP)
def corrections(total, slope, rest, rstd, share):
    """(level, slope) of dx = rstd w g - level - slope (x - centre), from the sums of w g and w g (x - centre).

    It is dx = rstd (w g - mean(w g) - xhat mean(w g xhat)), with xhat = rstd (x - centre - rest).
    """
    slope = rstd * rstd * rstd * (slope - rest * total) * share
    return rstd * total * share - rest * slope, slope


@inner
def _rows_vjp_work(g, x, n, weight, centred, stats, block, dx, dweight, dbias):
    fits = x.size == g.size == dx.size and dweight.size == dbias.size == max(1, -(-stats.shape[1] // block)) * n
    return int(x.size * COST) if fits else -1


@kernel(g=READ, x=READ, weight=READ, stats=STATS, dx=WRITE, dweight=WRITE, dbias=WRITE, work=_rows_vjp_work,
        fastmath={"contract"})
def _normalize_rows_vjp(g, x, n, weight, centred, stats, block, dx, dweight, dbias, task, tasks):
    """dweight and dbias have a row for each block of rows."""
    rows, blocks, share = stats.shape[1], dweight.size // n, 1 / n
    of_weight, of_bias = np.zeros(n, np.float32), np.zeros(n, np.float32)
    weight_sums, bias_sums = np.empty(n), np.empty(n)
    for b in range(task * blocks // tasks, (task + 1) * blocks // tasks):
        weight_sums[:], bias_sums[:] = 0, 0
        end = min((b + 1) * block, rows)
        for row in range(b * block, end):
            mean, rstd = stats[0, row], stats[1, row]
            centre, scale = F(mean), F(rstd)
            rest, total, slope = mean - centre, 0.0, 0.0
            g_row, x_row, dx_row = g[row * n : row * n + n], x[row * n : row * n + n], dx[row * n : row * n + n]
            for i in range(0, n, PIECE):
                s, t = _weighted_sums(g_row[i : i + PIECE], x_row[i : i + PIECE], weight[i : i + PIECE], centre)
                total += s
                slope += t
            level, slope = corrections(total, slope, rest, rstd, share)
            low, steep, offset = F(level if centred else 0.0), F(slope), F(-rest * rstd)
            for i in range(n):
                dx_row[i] = scale * (weight[i] * g_row[i]) - low - steep * (x_row[i] - centre)
            for i in range(n):
                of_weight[i] += g_row[i] * ((x_row[i] - centre) * scale + offset)
                of_bias[i] += g_row[i]
            if (row + 1) % LOW == 0 or row + 1 == end:
                for i in range(n):
                    weight_sums[i] += of_weight[i]
                    bias_sums[i] += of_bias[i]
                of_weight[:], of_bias[:] = 0, 0
        put(dweight[b * n : b * n + n], weight_sums)
        put(dbias[b * n : b * n + n], bias_sums)


def normalize_rows(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, n: int, eps: float, centred: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """y for every n contiguous elements of x, with weight and bias of length n; and the statistics for backward.

    centred: with the mean and the variance (layer norm); otherwise with 0 and the mean square (RMS norm).
    """
    y, stats = np.empty(x.shape, np.float32), np.empty((2, x.size // n))
    _normalize_rows(x, n, *parameters(weight, bias, n), eps, centred, stats, y)
    return y, stats


def normalize_rows_vjp(
    g: np.ndarray, x: np.ndarray, weight: np.ndarray | None, stats: np.ndarray, n: int, centred: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """dx, and the gradients of weight and bias as rows of n."""
    count = stats.shape[1]
    check_gradient(g, x, count * n)
    block = max(1, min(BLOCK, count // 8))
    dx, weight = np.empty(x.shape, np.float32), parameters(weight, None, n)[0]
    return dx, *parameter_gradients(lambda *of: _normalize_rows_vjp(g, x, n, weight, centred, stats, block, dx, *of),
                                    max(1, -(-count // block)), n)
