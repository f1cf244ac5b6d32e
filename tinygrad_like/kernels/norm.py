"""Normalisation of float32 arrays, (x - mean) / sqrt(variance + eps) * weight + bias, forward and backward.

The elements of a group share a mean and a variance. A group consists of contiguous runs, `step` apart. In (batch,
channels, run), a group of group norm is adjacent channels of an example, a group of batch norm is one channel of all
examples, and each channel has a weight. In layer norm and RMS norm (whose mean is 0), a group is a row, and each column
has a weight. A group is finished before the next, so all passes but the first find it in the cache.

Statistics are float64, and x - mean is computed in two steps: minus the mean rounded to float32, which is exact near a
large mean, then minus the rest. Sums run over pieces in float32 and over the pieces in float64. The order of
summation depends only on shapes, so the result does not change with the number of threads.
"""

import math
from collections import namedtuple
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from ..dtypes import FLOAT64
from ..ops.normalization import eps_of, normalized
from .kinds import OPTIONAL, OPTIONAL_WRITE, READ, REAL, REALS, WRITE, Plan
from .late import njit
from .program import beside, in_order, kernel
from .reduce import PIECE, STRIP, columns
from .simd import inner, put
from .vectormath import INF, SCALAR, F

COST = 0.09  # nanoseconds per element
BLOCK, LOW = 256, 16  # rows of a part of a matrix, which are summed in float32
SHORT = 12  # elements of a run that are worth a loop
STATS, STATS_WRITE = READ.of(FLOAT64, 2), WRITE.of(FLOAT64, 2)  # rows of means and of 1 / sqrt(var + eps)
# Inlined, since passing a slice to a function costs atomic instructions, which take as long as a short row.
LOOP = dict(fastmath={"contract"}, forceinline=True)
SUMS = dict(LOOP, fastmath={"reassoc", "contract"})

# groups; runs of a group, elements of a run, strides of groups and of runs; own: whether each run is a channel
Layout = namedtuple("Layout", "units runs length start step own")


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


@lru_cache(maxsize=32)
def constant(value: float, n: int) -> np.ndarray:
    return np.full(n, value, np.float32)


def parameters(weight: np.ndarray | None, bias: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray]:
    if (weight is not None and weight.size != n) or (bias is not None and bias.size != n):
        raise ValueError(f"normalisation: weight and bias must have {n} elements each")
    return (constant(1.0, n) if weight is None else weight), (constant(0.0, n) if bias is None else bias)


def check_gradient(g: np.ndarray, x: np.ndarray, size: int) -> None:
    """Check again, since saved arrays may have been replaced."""
    if g.shape != x.shape or g.size != size:
        raise ValueError(f"normalisation: the gradient has shape {g.shape}, the input {x.shape}")


def parameter_gradients(call: Callable, blocks: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Gradients (n,) of weight and bias; `call`, a kernel, writes a partial sum of each for every block."""
    gradients = np.empty(n, np.float32), np.empty(n, np.float32)
    if blocks == 1:
        call(*gradients)
    else:
        shares = np.empty((blocks, n), np.float32), np.empty((blocks, n), np.float32)
        call(*shares)
        beside(*[(columns, share, blocks, n, blocks, STRIP, gradient)
                 for share, gradient in zip(shares, gradients, strict=True)])
    return gradients


# --- Groups -----------------------------------------------------------------------------------------------------------
# y = max((x - centre) * scale + shift + skip, floor), with a floor of 0 for ReLU and of -inf otherwise. So backward can
# tell from x where y is at the floor. It reads y only if there is a skip.


@njit(**LOOP)
def _run(layout, group, k, stats, weight, bias):
    """Run k of a group: its channel and start, and the centre (the mean, rounded), scale and shift."""
    c = (group * layout.runs + k) % weight.size if layout.own else group
    mean, scale = stats[0, group], stats[1, group] * weight[c]
    return c, group * layout.start + k * layout.step, F(mean), F(scale), F(bias[c] - (mean - F(mean)) * scale)


@njit(**LOOP)
def _affine(x, skip, centre, scale, shift, floor, y):
    for i in range(x.size):
        v = (x[i] - centre) * scale + shift
        if skip.size:
            v += skip[i]
        y[i] = floor if v < floor else v  # in this order, NaN stays NaN


@kernel(x=READ, skip=OPTIONAL, weight=READ, bias=READ, running_mean=OPTIONAL, running_var=OPTIONAL, floor=REAL,
        eps=REAL, layout=Plan(Layout, {}), stats=STATS_WRITE, moments=OPTIONAL_WRITE.of(FLOAT64, 2), y=WRITE,
        cost=COST)
def _normalize_channels(x, skip, weight, bias, running_mean, running_var, floor, eps, layout, stats, moments, y, task,
                        tasks):
    for group in range(task * layout.units // tasks, (task + 1) * layout.units // tasks):
        if running_mean.size:
            mean, variance = np.float64(running_mean[group]), np.float64(running_var[group])
        else:
            mean, variance = mean_and_variance(x, group * layout.start, layout.runs, layout.step, layout.length, True)
        rstd = 1 / math.sqrt(variance + eps)
        stats[0, group], stats[1, group] = mean, rstd
        if moments.size:
            moments[0, group], moments[1, group] = mean, variance
        for k in range(layout.runs):
            _, i, centre, scale, shift = _run(layout, group, k, stats, weight, bias)
            here = slice(i, i + layout.length)
            _affine(x[here], skip[here] if skip.size else skip, centre, scale, shift, F(floor), y[here])


@njit(**LOOP)
def corrections(total, slope, rest, rstd, share):
    """(level, slope) of dx = rstd w g - level - slope (x - centre), from the sums of w g and w g (x - centre).

    It is dx = rstd (w g - mean(w g) - xhat mean(w g xhat)), with xhat = rstd (x - centre - rest).
    """
    slope = rstd * rstd * rstd * (slope - rest * total) * share
    return rstd * total * share - rest * slope, slope


@njit(**SUMS)
def _sums(g, x, centre, scale, shift, floor):
    """The sums of g and of g (x - centre), where y was above the floor."""
    total, slope = F(0), F(0)
    for i in range(g.size):
        d = minus(x[i], centre)
        gi = F(0) if d * scale + shift <= floor else g[i]
        total += gi
        slope += gi * d
    return total, slope


@njit(**LOOP)
def _passed(g, y, floor, passed):
    for i in range(g.size):
        passed[i] = F(0) if y[i] <= floor else g[i]


@njit(fastmath={"contract"})
def _group_vjp(g, x, y, weight, bias, floor, fixed, layout, stats, dx, dskip, dweight, dbias, group):
    mean, rstd, length = stats[0, group], stats[1, group], layout.length
    rest = mean - F(mean)
    if dskip.size:
        for k in range(layout.runs):
            i = group * layout.start + k * layout.step
            _passed(g[i : i + length], y[i : i + length], floor, dskip[i : i + length])
        g, floor = dskip, -INF
    total, slope, of_weight, of_bias = 0.0, 0.0, 0.0, 0.0
    for k in range(layout.runs):
        c, i, centre, scale, shift = _run(layout, group, k, stats, weight, bias)
        s, t = 0.0, 0.0
        for j in range(i, i + length, PIECE):
            piece = slice(j, min(j + PIECE, i + length))
            a, b = _sums(g[piece], x[piece], centre, scale, shift, floor)
            s += a
            t += b
        total += weight[c] * s
        slope += weight[c] * t
        of_weight, of_bias = of_weight + rstd * (t - rest * s), of_bias + s
        if layout.own or k == layout.runs - 1:
            place = group * layout.runs + k if layout.own else group
            dweight[place], dbias[place], of_weight, of_bias = of_weight, of_bias, 0.0, 0.0
    level, slope = corrections(total, slope, rest, rstd, 1 / (layout.runs * length))
    if fixed:
        level, slope = 0.0, 0.0
    low, steep = F(level), F(slope)
    for k in range(layout.runs):
        _, i, centre, scale, shift = _run(layout, group, k, stats, weight, bias)
        g_i, x_i, dx_i = g[i : i + length], x[i : i + length], dx[i : i + length]
        for j in range(length):
            d = x_i[j] - centre
            gj = F(0) if d * scale + shift <= floor else g_i[j]
            dx_i[j] = scale * gj - low - steep * d


@kernel(g=READ, x=READ, y=READ, weight=READ, bias=READ, floor=REAL, layout=Plan(Layout, {}), stats=STATS, dx=WRITE,
        dskip=OPTIONAL_WRITE, dweight=WRITE, dbias=WRITE, cost=COST)
def _normalize_channels_vjp(g, x, y, weight, bias, floor, fixed, layout, stats, dx, dskip, dweight, dbias, task, tasks):
    floor = F(floor)
    for unit in range(task * layout.units // tasks, (task + 1) * layout.units // tasks):
        _group_vjp(g, x, y, weight, bias, floor, fixed, layout, stats, dx, dskip, dweight, dbias, unit)


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


# --- The ops ----------------------------------------------------------------------------------------------------------


def layer_norm(x, weight, bias, *, normalized_shape, eps, centred=True):
    if not x.size:
        return NotImplemented
    n = math.prod(normalized(x, weight, normalized_shape))
    y, stats = np.empty(x.shape, np.float32), np.empty((2, x.size // n))
    _normalize_rows(x, n, *parameters(weight, bias, n), eps, centred, stats, y)
    return y, stats


def layer_norm_vjp(g, wanted, x, weight, bias, normalized_shape, eps, stats, centred=True):
    count = stats.shape[1]
    n = x.size // count
    check_gradient(g, x, count * n)
    block = max(1, min(BLOCK, count // 8))
    dx, factor = np.empty(x.shape, np.float32), parameters(weight, None, n)[0]
    dweight, dbias = parameter_gradients(
        lambda *of: _normalize_rows_vjp(g, x, n, factor, centred, stats, block, dx, *of), max(1, -(-count // block)), n)
    return [dx, None if weight is None else dweight.reshape(weight.shape),
            None if bias is None else dbias.reshape(bias.shape)]


def rms_norm(x, weight, *, normalized_shape, eps):
    return layer_norm(x, weight, None, normalized_shape=normalized_shape, eps=eps_of(x, eps), centred=False)


def rms_norm_vjp(g, wanted, x, weight, normalized_shape, eps, stats):
    return layer_norm_vjp(g, wanted, x, weight, None, normalized_shape, eps, stats, False)[:2]


def _by_channels(x: np.ndarray, groups: int) -> tuple[Layout, Callable]:
    """The layout of groups in x (batch, channels, ...), `groups` per example or, if 0, one per channel; and the
    function that arranges arrays for it, by swapping batch and channels if runs are too short for a loop."""
    batch, channels = x.shape[:2]
    length = math.prod(x.shape[2:])
    if groups:
        runs = channels // groups
        return Layout(batch * groups, runs, length, runs * length, length, 1), lambda x: x
    if 0 < length < SHORT:
        return Layout(channels, 1, batch * length, batch * length, 0, 0), _swapped
    return Layout(channels, batch, length, length, channels * length, 0), lambda x: x


def _swapped(x: np.ndarray | None) -> np.ndarray | None:
    return None if x is None else in_order(x.swapaxes(0, 1))


def batch_norm(x, weight, bias, running_mean=None, running_var=None, skip=None, *, eps, stats=None, rectify=False,
               groups=0):
    """groups: 0, or for group norm the groups of channels of an example."""
    channels = x.shape[1]
    if not x.size and running_mean is None:
        return NotImplemented
    if stats is not None and not (stats.dtype is FLOAT64 and stats.shape == (2, channels) and stats.flags.carray):
        return NotImplemented
    layout, arrange = _by_channels(x, groups)
    x = arrange(x)
    y, kept = np.empty(x.shape, np.float32), np.empty((2, layout.units))
    _normalize_channels(x, arrange(skip), *parameters(weight, bias, channels), running_mean, running_var,
                        0.0 if rectify else -np.inf, eps, layout, kept, stats, y)
    return arrange(y), kept


batch_norm_relu = partial(batch_norm, rectify=True)


def channels_vjp(g, x, weight, bias, stats, groups=0, y=None, skipped=False, fixed=False):
    """The gradients of x, weight, bias and, if `skipped`, skip. y: the output, if it was rectified. fixed: mean and
    variance were running statistics, and do not depend on x."""
    check_gradient(g, x, g.size)
    channels, (layout, arrange) = x.shape[1], _by_channels(x, groups)
    g, x, y = arrange(g), arrange(x), arrange(y)
    dx, dskip = np.empty(x.shape, np.float32), np.empty(x.shape, np.float32) if skipped else None
    arguments = (g, x, x if y is None else y, *parameters(weight, bias, channels), -np.inf if y is None else 0.0, fixed,
                 layout, stats, dx, dskip)
    dweight, dbias = parameter_gradients(lambda *of: _normalize_channels_vjp(*arguments, *of), len(x) if groups else 1,
                                         channels)
    return [arrange(dx), dweight, dbias, arrange(dskip)]


def batch_norm_vjp(g, wanted, x, weight, bias, running_mean, running_var, eps, stats, moments):
    if wanted[3] or wanted[4]:  # statistics that also need gradients
        return NotImplemented
    return [*channels_vjp(g, x, weight, bias, moments, fixed=running_mean is not None)[:3], None, None]


def batch_norm_relu_vjp(g, wanted, x, weight, bias, running_mean, running_var, skip, eps, stats, moments, out):
    if wanted[3] or wanted[4]:
        return NotImplemented
    *gradients, dskip = channels_vjp(g, x, weight, bias, moments, 0, out, skip is not None, running_mean is not None)
    return [*gradients, None, None, dskip]


def group_norm(x, weight, bias, *, num_groups, eps):
    return batch_norm(x, weight, bias, eps=eps, groups=num_groups)


def group_norm_vjp(g, wanted, x, weight, bias, num_groups, eps, moments):
    return channels_vjp(g, x, weight, bias, moments, num_groups)[:3]


# --- Running statistics -----------------------------------------------------------------------------------------------


@kernel(mean=WRITE, var=WRITE, new_mean=REALS, new_var=REALS, count=OPTIONAL_WRITE.of(np.int64), share=REAL,
        momentum=REAL, cost=0)
def _move_statistics(mean, var, new_mean, new_var, count, share, momentum, task, tasks):
    if count.size:
        count[0] += 1
        momentum = 1 / count[0] if momentum < 0 else momentum
    for i in range(mean.size):
        mean[i] += momentum * (new_mean[i] - mean[i])
        var[i] += momentum * (new_var[i] * share - var[i])


def move_statistics(mean: np.ndarray, var: np.ndarray, new_mean: np.ndarray, new_var: np.ndarray, n: int,
                    momentum: float | None, count: np.ndarray | None = None) -> None:
    """mean += momentum (new_mean - mean), likewise var, with new_var, of n numbers, made unbiased; count += 1.

    A momentum of None stands for 1 / count.
    """
    if new_mean.dtype is not FLOAT64 or not (mean.flags.carray and var.flags.carray):
        return NotImplemented
    if not mean.shape == var.shape == new_mean.shape == new_var.shape:
        raise ValueError(f"running statistics: {mean.shape} and {var.shape} cannot be moved to {new_mean.shape} "
                         f"and {new_var.shape}; all must have one number per channel")
    _move_statistics(mean, var, new_mean, new_var, count, n / (n - 1), -1.0 if momentum is None else momentum)
