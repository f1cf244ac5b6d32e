"""Normalisation of float32 arrays, (x - mean) / sqrt(variance + eps) * weight + bias, forward and backward.

What differs from one kind to the next is which numbers share a mean and a variance, and which share a weight:

    rows     all of a row of a matrix; each column has its weight: layer norm, and RMS norm, whose mean is 0
    groups   some runs of neighbours, `step` apart; each channel has its weight. (batch, channels, run), run by run:
             a group of group norm is neighbouring channels of one example, one of batch norm is a channel of all

A group is finished before the next is begun, so all passes over it but the first find it in the cache.

Statistics are float64, and x - mean is taken in two steps, first the mean rounded to float32, which is exact next to a
large mean, then what the rounding left. Sums run over pieces in float32 and over the pieces in float64. Which numbers
are added to which depends on shapes alone, so the result does not change with the number of threads.
"""

import functools
import math
from collections import namedtuple

import numpy as np
from numba import njit

from ..dtypes import FLOAT64
from .program import OPTIONAL, OPTIONAL_WRITE, READ, REAL, REALS, WRITE, Plan, kernel, together
from .reduce import PIECE
from .simd import inner
from .vectormath import INF, INNER, SCALAR, F

COST = 0.09  # nanoseconds of a number
BLOCK, LOW = 256, 16  # rows of a part of a matrix; of these as many are added up in float32
SHORT, COLUMNS = 12, 128  # runs shorter than that are taken as columns, so many at a time
STATS, STATS_WRITE = READ.of(FLOAT64, 2), WRITE.of(FLOAT64, 2)  # rows of means and of 1 / sqrt(var + eps)
# Inlined, since a slice handed to a function is counted, by atomic instructions that cost as much as a short row.
contracted = njit(fastmath={"contract"}, **INNER)
LOOP = dict(fastmath={"contract"}, forceinline=True, **INNER)
SUMS = dict(LOOP, fastmath={"reassoc", "contract"})


# --- Mean and variance ------------------------------------------------------------------------------------------------


@njit(**SCALAR)
def _minus(a, b):
    return a - b  # apart from the sums, which may reorder their terms: sum(x) - n * shift would not be exact


@njit(**SUMS)
def _moments(x, shift):
    """The sums of x - shift and of its square."""
    total, squares = F(0), F(0)
    for i in range(x.size):
        d = _minus(x[i], shift)
        total += d
        squares += d * d
    return total, squares


@njit(**LOOP)
def _mean_and_variance(x, start, runs, step, length, centred):
    """Of one group, in one pass; if it is not centred, 0 and the mean square.

    var = E[(x - shift)^2] - (mean - shift)^2 loses digits if the shift is far from the mean, so should the first number
    of all have been an outlier, there is a second pass.
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
def _constant(value: float, n: int) -> np.ndarray:
    return np.full(n, value, np.float32)


def _parameters(weight: np.ndarray | None, bias: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray]:
    if (weight is not None and weight.size != n) or (bias is not None and bias.size != n):
        raise ValueError(f"normalisation: weight and bias must have {n} numbers each")
    return (_constant(1.0, n) if weight is None else weight), (_constant(0.0, n) if bias is None else bias)


def _check_gradient(g: np.ndarray, x: np.ndarray, size: int) -> None:
    """What was saved may have been exchanged since."""
    if g.shape != x.shape or g.size != size:
        raise ValueError(f"normalisation: the gradient has shape {g.shape}, what was normalised {x.shape}")


@inner
def _add_low(low, total):
    """total += low, and low = 0."""
    for i in range(low.size):
        total[i] += low[i]
        low[i] = 0


@kernel(sums=STATS, dweight=WRITE, dbias=WRITE, cost=0.2)
def _parameter_gradients(sums, dweight, dbias, task, tasks):
    """dweight[i] = the sum of every n-th of sums[0], from the i-th on; dbias that of sums[1]."""
    n = dweight.size
    first, last = task * n // tasks, (task + 1) * n // tasks
    total = np.empty(last - first)
    for i in range(2):
        total[:] = 0
        for begin in range(0, sums.shape[1], n):
            part = sums[i, begin + first : begin + last]
            for j in range(total.size):
                total[j] += part[j]
        (dbias if i else dweight)[first:last] = total


# --- Rows -------------------------------------------------------------------------------------------------------------


@njit(**LOOP)
def _normalize(x, centre, rstd, offset, weight, bias, y):
    for i in range(x.size):
        y[i] = ((x[i] - centre) * rstd + offset) * weight[i] + bias[i]


@kernel(x=READ, weight=READ, bias=READ, eps=REAL, stats=STATS_WRITE, y=WRITE, cost=COST)
def _normalize_rows(x, n, weight, bias, eps, centred, stats, y, task, tasks):
    rows = stats.shape[1]
    for row in range(task * rows // tasks, (task + 1) * rows // tasks):
        mean, variance = _mean_and_variance(x, row * n, 1, n, n, centred)
        rstd = 1 / math.sqrt(variance + eps)
        stats[0, row], stats[1, row] = mean, rstd
        centre = F(mean)
        here = slice(row * n, (row + 1) * n)
        _normalize(x[here], centre, F(rstd), F((centre - mean) * rstd), weight, bias, y[here])


@njit(**SUMS)
def _weighted_sums(g, x, weight, centre):
    """The sums of w g and of w g (x - centre)."""
    total, slope = F(0), F(0)
    for i in range(g.size):
        wg = weight[i] * g[i]
        total += wg
        slope += wg * _minus(x[i], centre)
    return total, slope


@njit(**LOOP)
def _row_dx(g, x, weight, centre, rstd, level, slope, dx):
    for i in range(g.size):
        dx[i] = rstd * (weight[i] * g[i]) - level - slope * (x[i] - centre)


@njit(**LOOP)
def _add_parameter_gradients(g, x, centre, rstd, offset, dweight, dbias):
    for i in range(g.size):
        dweight[i] += g[i] * ((x[i] - centre) * rstd + offset)
        dbias[i] += g[i]


@njit(**LOOP)
def _corrections(total, slope, rest, rstd, share):
    """(level, slope) of dx = rstd w g - level - slope (x - centre), from the sums of w g and w g (x - centre).

    It is dx = rstd (w g - mean(w g) - xhat mean(w g xhat)), with xhat = rstd (x - centre - rest).
    """
    slope = rstd * rstd * rstd * (slope - rest * total) * share
    return rstd * total * share - rest * slope, slope


@kernel(g=READ, x=READ, weight=READ, stats=STATS, dx=WRITE, sums=STATS_WRITE, cost=COST)
def _normalize_rows_vjp(g, x, n, weight, centred, stats, block, dx, sums, task, tasks):
    rows, blocks, share = stats.shape[1], sums.shape[1] // n, 1 / n
    dweight, dbias = np.zeros(n, np.float32), np.zeros(n, np.float32)
    for b in range(task * blocks // tasks, (task + 1) * blocks // tasks):
        sums[:, b * n : (b + 1) * n] = 0
        end = min((b + 1) * block, rows)
        for row in range(b * block, end):
            mean, rstd = stats[0, row], stats[1, row]
            centre = F(mean)
            rest = mean - centre
            here, total, slope = slice(row * n, (row + 1) * n), 0.0, 0.0
            for i in range(0, n, PIECE):
                piece = slice(row * n + i, row * n + min(i + PIECE, n))
                s, t = _weighted_sums(g[piece], x[piece], weight[i : i + PIECE], centre)
                total += s
                slope += t
            level, slope = _corrections(total, slope, rest, rstd, share)
            if not centred:
                level = 0.0
            _row_dx(g[here], x[here], weight, centre, F(rstd), F(level), F(slope), dx[here])
            _add_parameter_gradients(g[here], x[here], centre, F(rstd), F(-rest * rstd), dweight, dbias)
            if (row + 1) % LOW == 0 or row + 1 == end:
                _add_low(dweight, sums[0, b * n : (b + 1) * n])
                _add_low(dbias, sums[1, b * n : (b + 1) * n])


def normalize_rows(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, n: int, eps: float, centred: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """y of every n numbers of x, one after the other, with weight and bias of n; and what backward needs of x.

    centred: with the mean and the variance (layer norm); otherwise with 0 and the mean square (RMS norm).
    """
    y, stats = np.empty(x.shape, np.float32), np.empty((2, x.size // n))
    _normalize_rows(x, n, *_parameters(weight, bias, n), eps, centred, stats, y)
    return y, stats


def normalize_rows_vjp(
    g: np.ndarray, x: np.ndarray, weight: np.ndarray | None, stats: np.ndarray, n: int, centred: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """dx, and the gradients of weight and bias as rows of n."""
    count = stats.shape[1]
    _check_gradient(g, x, count * n)
    block = max(1, min(BLOCK, count // 8))
    dx, sums = np.empty(x.shape, np.float32), np.empty((2, -(-count // block) * n))
    dweight, dbias = np.empty(n, np.float32), np.empty(n, np.float32)
    with together():
        _normalize_rows_vjp(g, x, n, _parameters(weight, None, n)[0], centred, stats, block, dx, sums)
        _parameter_gradients(sums, dweight, dbias)
    return dx, dweight, dbias


# --- Groups -----------------------------------------------------------------------------------------------------------
# y = max((x - centre) * scale + shift + skip, floor), with a floor of 0 for ReLU and of -inf otherwise. So backward can
# tell from x where y was at the floor, and need not read y, unless there is a skip.


@njit(**LOOP)
def _affine(x, centre, scale, shift, floor, y):
    for i in range(x.size):
        v = (x[i] - centre) * scale + shift
        y[i] = floor if v < floor else v  # this way round, NaN stays NaN


@njit(**LOOP)
def _affine_add(x, skip, centre, scale, shift, floor, y):
    for i in range(x.size):
        v = (x[i] - centre) * scale + shift + skip[i]
        y[i] = floor if v < floor else v


@njit(**LOOP)
def _coefficients(mean, rstd, weight, bias):
    """(centre, scale, shift): the mean rounded, and what makes (x - centre) * scale + shift the normalised x."""
    centre = F(mean)
    scale = rstd * weight
    return centre, F(scale), F(bias - (mean - centre) * scale)


@njit(**LOOP)
def _note(mean, variance, eps, group, stats, moments):
    stats[0, group], stats[1, group] = mean, 1 / math.sqrt(variance + eps)
    if moments.size:
        moments[0, group], moments[1, group] = mean, variance


@njit(**LOOP)
def _run(layout, group, k, stats, weight, bias):
    """Of run k of a group: its channel, where it begins, and its coefficients."""
    c = (group * layout.runs + k) % weight.size if layout.own else group
    centre, scale, shift = _coefficients(stats[0, group], stats[1, group], weight[c], bias[c])
    return c, group * layout.start + k * layout.step, centre, scale, shift


@inner
def _normalize_group(x, skip, weight, bias, floor, layout, stats, y, group):
    for k in range(layout.runs):
        _, i, centre, scale, shift = _run(layout, group, k, stats, weight, bias)
        here = slice(i, i + layout.length)
        if skip.size:
            _affine_add(x[here], skip[here], centre, scale, shift, floor, y[here])
        else:
            _affine(x[here], centre, scale, shift, floor, y[here])


@njit(**SUMS)
def _sums(g, x, centre, scale, shift, floor):
    """The sums of g and of g (x - centre), where y was above the floor."""
    total, slope = F(0), F(0)
    for i in range(g.size):
        d = _minus(x[i], centre)
        gi = F(0) if d * scale + shift <= floor else g[i]
        total += gi
        slope += gi * d
    return total, slope


@njit(**SUMS)
def _sums_and_dskip(g, x, y, centre, floor, dskip):
    total, slope = F(0), F(0)
    for i in range(g.size):
        gi = F(0) if y[i] <= floor else g[i]
        dskip[i] = gi
        total += gi
        slope += gi * _minus(x[i], centre)
    return total, slope


@njit(**LOOP)
def _dx(g, x, centre, scale, shift, floor, level, slope, dx):
    for i in range(g.size):
        d = x[i] - centre
        gi = F(0) if d * scale + shift <= floor else g[i]
        dx[i] = scale * gi - level - slope * d


@inner
def _group_vjp(g, x, y, weight, bias, floor, given, layout, stats, dx, dskip, sums, group):
    mean, rstd, length = stats[0, group], stats[1, group], layout.length
    rest = mean - F(mean)
    total, slope = 0.0, 0.0
    first, count = (group * layout.runs, layout.runs) if layout.own else (group, 1)
    sums[:, first : first + count] = 0
    for k in range(layout.runs):
        c, i, centre, scale, shift = _run(layout, group, k, stats, weight, bias)
        s, t = 0.0, 0.0
        for j in range(i, i + length, PIECE):
            piece = slice(j, min(j + PIECE, i + length))
            if dskip.size:
                a, b = _sums_and_dskip(g[piece], x[piece], y[piece], centre, floor, dskip[piece])
            else:
                a, b = _sums(g[piece], x[piece], centre, scale, shift, floor)
            s += a
            t += b
        total += weight[c] * s
        slope += weight[c] * t
        place = first + k if layout.own else group
        sums[0, place] += rstd * (t - rest * s)
        sums[1, place] += s
    level, slope = _corrections(total, slope, rest, rstd, 1 / (layout.runs * length))
    if given:  # statistics that do not depend on x
        level, slope = 0.0, 0.0
    for k in range(layout.runs):
        c, i, centre, scale, shift = _run(layout, group, k, stats, weight, bias)
        here = slice(i, i + length)
        if dskip.size:
            _dx(dskip[here], x[here], centre, scale, shift, -INF, F(level), F(slope), dx[here])
        else:
            _dx(g[here], x[here], centre, scale, shift, floor, F(level), F(slope), dx[here])


# --- Columns ----------------------------------------------------------------------------------------------------------
# Groups of batch norm with runs too short for a loop, such as single numbers: (batch, channels * run) as a matrix, of
# which vectors run along the rows, over some columns at a time.


@njit(**LOOP)
def _add_channels(columns, length, total):
    """Add up the columns of each channel."""
    for c in range(total.size):
        for j in range(c * length, (c + 1) * length):
            total[c] += columns[j]


@njit(**LOOP)
def _zeros(n):
    """Seven rows, each an array of its own: of rows of one array LLVM cannot tell that they do not overlap."""
    return (np.zeros(n, F), np.zeros(n, F), np.zeros(n, F), np.zeros(n, F), np.zeros(n, F), np.zeros(n, F),
            np.zeros(n, F))  # fmt: skip


@njit(**LOOP)
def _strip(strip, channels, length):
    """Of a strip of columns: its first channel, the number of its channels, that of its columns, and its first column."""
    part = max(1, COLUMNS // length)
    first, count = strip * part, min(part, channels - strip * part)
    return first, count, count * length, first * length


@contracted
def _strip_moments(x, channels, eps, length, strip, stats, moments):
    """As `_mean_and_variance`, of the channels of a strip."""
    first, count, width, left = _strip(strip, channels, length)
    n, share = channels * length, channels / x.size
    centre, a, b = _zeros(width)[:3]
    for j in range(width):
        centre[j] = x[left + j // length * length]
    for _ in range(2):
        total, squares, again = np.zeros(count), np.zeros(count), False
        for begin in range(left, x.size, LOW * n):
            a[:], b[:] = 0, 0
            for i in range(begin, min(begin + LOW * n, x.size), n):
                x_i = x[i : i + width]
                for j in range(width):
                    d = x_i[j] - centre[j]
                    a[j] += d
                    b[j] += d * d
            _add_channels(a, length, total)
            _add_channels(b, length, squares)
        for c in range(count):
            off = total[c] * share
            mean, variance = centre[c * length] + off, squares[c] * share - off * off
            _note(mean, max(variance, 0.0), eps, first + c, stats, moments)
            if off * off > 16 * variance:
                again = True
                centre[c * length : (c + 1) * length] = mean
        if not again:
            break


@contracted
def _normalize_strip(x, skip, weight, bias, floor, length, stats, y, strip):
    first, _, width, left = _strip(strip, weight.size, length)
    none, centre, scale, shift = _zeros(width)[:4]
    for j in range(width):
        c = first + j // length
        centre[j], scale[j], shift[j] = _coefficients(stats[0, c], stats[1, c], weight[c], bias[c])
    for i in range(left, x.size, weight.size * length):
        x_i, y_i, added = x[i : i + width], y[i : i + width], skip[i : i + width] if skip.size else none
        for j in range(width):
            v = (x_i[j] - centre[j]) * scale[j] + shift[j] + added[j]
            y_i[j] = floor if v < floor else v


@contracted
def _strip_vjp(g, x, y, weight, floor, given, length, stats, dx, dskip, sums, strip):
    first, count, width, left = _strip(strip, weight.size, length)
    n, share = weight.size * length, weight.size / x.size
    masked, centre, scale, level, slope, a, b = _zeros(width)
    for j in range(width):
        c = first + j // length
        centre[j], scale[j] = stats[0, c], stats[1, c] * weight[c]
    products, total = sums[0, first : first + count], sums[1, first : first + count]
    products[:], total[:] = 0, 0
    for begin in range(left, x.size, LOW * n):
        a[:], b[:] = 0, 0
        for i in range(begin, min(begin + LOW * n, x.size), n):
            g_i, x_i, y_i = g[i : i + width], x[i : i + width], y[i : i + width]
            kept = dskip[i : i + width] if dskip.size else masked
            for j in range(width):
                kept[j] = F(0) if y_i[j] <= floor else g_i[j]
            for j in range(width):
                a[j] += kept[j]
                b[j] += kept[j] * (x_i[j] - centre[j])
        _add_channels(a, length, total)
        _add_channels(b, length, products)
    for c in range(count):
        mean, rstd, w = stats[0, first + c], stats[1, first + c], weight[first + c]
        rest = mean - F(mean)
        if not given:
            low, steep = _corrections(w * total[c], w * products[c], rest, rstd, share)
            level[c * length : (c + 1) * length] = low
            slope[c * length : (c + 1) * length] = steep
        products[c] = rstd * (products[c] - rest * total[c])
    for i in range(left, x.size, n):
        g_i, x_i, y_i, dx_i = g[i : i + width], x[i : i + width], y[i : i + width], dx[i : i + width]
        for j in range(width):
            gj = F(0) if y_i[j] <= floor else g_i[j]
            dx_i[j] = scale[j] * gj - level[j] - slope[j] * (x_i[j] - centre[j])


# --- Channels: groups or columns --------------------------------------------------------------------------------------


# units: of work, groups or strips of columns; runs in a group, numbers in a run, distance between groups, distance
# between runs; own: whether each run is a channel; columns: whether they are taken as such
Layout = namedtuple("Layout", "units runs length start step own columns")


def _layout(x: np.ndarray, groups: int) -> Layout:
    """Of x (batch, channels, ...) in `groups` per example, or 0 for one per channel of the batch."""
    batch, channels = x.shape[:2]
    length = math.prod(x.shape[2:])
    if groups:
        runs = channels // groups
        return Layout(batch * groups, runs, length, runs * length, length, 1, 0)
    columns = 0 < length < SHORT
    units = -(-channels // max(1, COLUMNS // length)) if columns else channels
    return Layout(units, batch, length, length, channels * length, 0, columns)


@kernel(x=READ, skip=OPTIONAL, weight=READ, bias=READ, running_mean=OPTIONAL, running_var=OPTIONAL, floor=REAL,
        eps=REAL, layout=Plan(Layout, {}), stats=STATS_WRITE, moments=OPTIONAL_WRITE.of(FLOAT64, 2), y=WRITE,
        cost=COST)
def _normalize_channels(x, skip, weight, bias, running_mean, running_var, floor, eps, layout, stats, moments, y,
                        task, tasks):
    length, floor = layout.length, F(floor)
    for unit in range(task * layout.units // tasks, (task + 1) * layout.units // tasks):
        if running_mean.size:
            first, count, _, _ = _strip(unit, weight.size, length) if layout.columns else (unit, 1, 0, 0)
            for c in range(first, first + count):
                _note(running_mean[c], running_var[c], eps, c, stats, moments)
        elif layout.columns:
            _strip_moments(x, weight.size, eps, length, unit, stats, moments)
        else:
            mean, variance = _mean_and_variance(x, unit * layout.start, layout.runs, layout.step, length, True)
            _note(mean, variance, eps, unit, stats, moments)
        if layout.columns:
            _normalize_strip(x, skip, weight, bias, floor, length, stats, y, unit)
        else:
            _normalize_group(x, skip, weight, bias, floor, layout, stats, y, unit)


@kernel(g=READ, x=READ, y=READ, weight=READ, bias=READ, floor=REAL, layout=Plan(Layout, {}), stats=STATS, dx=WRITE,
        dskip=OPTIONAL_WRITE, sums=STATS_WRITE, cost=COST)
def _normalize_channels_vjp(g, x, y, weight, bias, floor, given, layout, stats, dx, dskip, sums, task, tasks):
    floor = F(floor)
    for unit in range(task * layout.units // tasks, (task + 1) * layout.units // tasks):
        if layout.columns:
            _strip_vjp(g, x, y, weight, floor, given, layout.length, stats, dx, dskip, sums, unit)
        else:
            _group_vjp(g, x, y, weight, bias, floor, given, layout, stats, dx, dskip, sums, unit)


def normalize_channels(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float, groups: int = 0,
    rectify: bool = False, skip: np.ndarray | None = None, running: tuple[np.ndarray, np.ndarray] | None = None,
    moments: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """y of x (batch, channels, ...), with weight and bias per channel; and `stats`, the mean and 1 / sqrt(var + eps).

    groups: the groups of channels of an example, for group norm, or 0 for batch norm.
    rectify: y is max(y, 0); skip: is added to y before that; running: mean and variance in the place of those of x;
    moments (2, groups), float64: receives mean and variance.
    """
    layout, channels = _layout(x, groups), x.shape[1]
    y, stats = np.empty(x.shape, np.float32), np.empty((2, layout.units if groups else channels))
    _normalize_channels(x, skip, *_parameters(weight, bias, channels), *(running or (None, None)),
                        0.0 if rectify else -np.inf, eps, layout, stats, moments, y)
    return y, stats


def normalize_channels_vjp(
    g: np.ndarray, x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, stats: np.ndarray,
    groups: int = 0, y: np.ndarray | None = None, skipped: bool = False, given: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """The gradients of x, weight, bias and, if `skipped`, skip; y is the output, if it was rectified."""
    _check_gradient(g, x, g.size)
    layout, channels = _layout(x, groups), x.shape[1]
    dx, dskip = np.empty(x.shape, np.float32), np.empty(x.shape, np.float32) if skipped else None
    sums = np.empty((2, channels * (len(x) if groups else 1)))
    dweight, dbias = np.empty(channels, np.float32), np.empty(channels, np.float32)
    with together():
        _normalize_channels_vjp(g, x, x if y is None else y, *_parameters(weight, bias, channels),
                                -np.inf if y is None else 0.0, given, layout, stats, dx, dskip, sums)
        _parameter_gradients(sums, dweight, dbias)
    return dx, dweight, dbias, dskip


# --- Running statistics -----------------------------------------------------------------------------------------------


@kernel(mean=WRITE, var=WRITE, new_mean=REALS, new_var=REALS, share=REAL, momentum=REAL)
def _move_statistics(mean, var, new_mean, new_var, share, momentum, task, tasks):
    for i in range(task * mean.size // tasks, (task + 1) * mean.size // tasks):
        mean[i] += momentum * (new_mean[i] - mean[i])
        var[i] += momentum * (new_var[i] * share - var[i])


def move_statistics(mean: np.ndarray, var: np.ndarray, new_mean: np.ndarray, new_var: np.ndarray, n: int,
                    momentum: float) -> None:
    """mean += momentum (new_mean - mean), and so for var, with new_var made unbiased, of n numbers."""
    if not (new_mean.dtype is new_var.dtype is FLOAT64 and mean.flags.carray and var.flags.carray):
        return NotImplemented
    _move_statistics(mean, var, new_mean, new_var, n / (n - 1), momentum)
