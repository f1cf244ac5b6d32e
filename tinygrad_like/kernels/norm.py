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

import numpy as np
from numba import njit

from .reduce import PIECE, combine
from .simd import kernel
from .tasks import flat, run
from .vectormath import INF, INNER, SCALAR, F

PARALLEL_FROM = 32768
BLOCK, LOW = 256, 16  # rows of a part of a matrix; of these as many are added up in float32
NONE = np.empty(0, np.float32)
SHORT, COLUMNS = 12, 128  # runs shorter than that are taken as columns, so many at a time
# Inlined, since a slice handed to a function is counted, by atomic instructions that cost as much as a short row.
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


# --- Rows -------------------------------------------------------------------------------------------------------------


@njit(**LOOP)
def _normalize(x, centre, rstd, offset, weight, bias, y):
    for i in range(x.size):
        y[i] = ((x[i] - centre) * rstd + offset) * weight[i] + bias[i]


@kernel()
def _rows_task(x, n, weight, bias, eps, centred, stats, y, task, tasks):
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


@kernel()
def _rows_backward_task(g, x, n, weight, centred, stats, block, dx, sums, task, tasks):
    rows, blocks, share = stats.shape[1], len(sums), 1 / n
    dweight, dbias, whole = np.empty(n, np.float32), np.empty(n, np.float32), np.empty((2, n))
    for b in range(task * blocks // tasks, (task + 1) * blocks // tasks):
        dweight[:], dbias[:], whole[:] = 0, 0, 0
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
                for i in range(n):
                    whole[0, i] += dweight[i]
                    whole[1, i] += dbias[i]
                dweight[:], dbias[:] = 0, 0
        sums[b, :n], sums[b, n:] = whole[0], whole[1]


@functools.lru_cache(maxsize=32)
def _constant(value: float, n: int) -> np.ndarray:
    return np.full(n, value, np.float32)


def _parameters(weight: np.ndarray | None, bias: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray]:
    if (weight is not None and weight.size != n) or (bias is not None and bias.size != n):
        raise ValueError(f"normalisation: weight and bias must have {n} numbers each")
    return (_constant(1.0, n) if weight is None else flat(weight)), (_constant(0.0, n) if bias is None else flat(bias))


def rows(
    x: np.ndarray, n: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float, centred: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """y of every n numbers of x, one after the other, with weight and bias of n; and what backward needs of x.

    centred: with the mean and the variance (layer norm); otherwise with 0 and the mean square (RMS norm).
    """
    y, stats = np.empty(x.shape, np.float32), np.empty((2, x.size // n))
    run(_rows_task, x.size >= PARALLEL_FROM, flat(x), n, *_parameters(weight, bias, n), float(eps), centred, stats,
        y.ravel())
    return y, stats


def _check_gradient(g: np.ndarray, x: np.ndarray, size: int) -> None:
    """What was saved may have been exchanged since."""
    if g.shape != x.shape or g.size != size:
        raise ValueError(f"normalisation: the gradient has shape {g.shape}, what was normalised {x.shape}")


def rows_backward(
    g: np.ndarray, x: np.ndarray, n: int, weight: np.ndarray | None, stats: np.ndarray, centred: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """dx, and the gradients of weight and bias as rows of n."""
    _check_gradient(g, x, stats.shape[1] * n)
    count = stats.shape[1]
    block = max(1, min(BLOCK, count // 8))
    dx, sums = np.empty(x.shape, np.float32), np.empty((-(-count // block), 2 * n), np.float32)
    weight, _ = _parameters(weight, None, n)
    run(_rows_backward_task, x.size >= PARALLEL_FROM, flat(g), flat(x), n, weight, centred, stats, block, dx.ravel(),
        sums)
    total = np.empty(2 * n, np.float32)
    combine(sums[None], None, 0, 0, total[None])
    return dx, total[:n], total[n:]


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


@kernel()
def _groups_task(x, skip, weight, bias, floor, eps, given, runs, length, start, step, own, stats, y,
                 task, tasks):  # fmt: skip
    groups = stats.shape[1]
    for group in range(task * groups // tasks, (task + 1) * groups // tasks):
        if not given:
            mean, variance = _mean_and_variance(x, group * start, runs, step, length, True)
            stats[0, group], stats[1, group] = mean, 1 / math.sqrt(variance + eps)
        for k in range(runs):
            c = (group * runs + k) % weight.size if own else group
            centre, scale, shift = _coefficients(stats[0, group], stats[1, group], weight[c], bias[c])
            i = group * start + k * step
            here = slice(i, i + length)
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


@kernel()
def _groups_backward_task(g, x, y, weight, bias, floor, given, runs, length, start, step, own, stats, dx, dskip, sums,
                          task, tasks):  # fmt: skip
    groups = stats.shape[1]
    for group in range(task * groups // tasks, (task + 1) * groups // tasks):
        mean, rstd = stats[0, group], stats[1, group]
        rest = mean - F(mean)
        total, slope = 0.0, 0.0
        for k in range(runs):
            c = (group * runs + k) % weight.size if own else group
            centre, scale, shift = _coefficients(mean, rstd, weight[c], bias[c])
            i = group * start + k * step
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
            place = group * runs + k if own else group
            sums[0, place] += rstd * (t - rest * s)
            sums[1, place] += s
        level, slope = _corrections(total, slope, rest, rstd, 1 / (runs * length))
        if given:  # statistics that do not depend on x
            level, slope = 0.0, 0.0
        for k in range(runs):
            c = (group * runs + k) % weight.size if own else group
            centre, scale, shift = _coefficients(mean, rstd, weight[c], bias[c])
            i = group * start + k * step
            here = slice(i, i + length)
            if dskip.size:
                _dx(dskip[here], x[here], centre, scale, shift, -INF, F(level), F(slope), dx[here])
            else:
                _dx(g[here], x[here], centre, scale, shift, floor, F(level), F(slope), dx[here])


# --- Columns ----------------------------------------------------------------------------------------------------------
# Groups of batch norm with runs too short for a loop, such as single numbers: (batch, channels * run) as a matrix, of
# which vectors run along the rows, over some columns at a time.


@njit(**LOOP)
def _add_moments(x, shift, total, squares):
    for i in range(x.size):
        d = x[i] - shift[i]
        total[i] += d
        squares[i] += d * d


@njit(**LOOP)
def _affine_columns(x, skip, centre, scale, shift, floor, y):
    for i in range(x.size):
        v = (x[i] - centre[i]) * scale[i] + shift[i] + skip[i]
        y[i] = floor if v < floor else v


@njit(**LOOP)
def _mask(g, y, floor, masked):
    for i in range(g.size):
        masked[i] = F(0) if y[i] <= floor else g[i]


@njit(**LOOP)
def _add_sums(g, x, centre, total, slope):
    for i in range(g.size):
        total[i] += g[i]
        slope[i] += g[i] * (x[i] - centre[i])


@njit(**LOOP)
def _columns_dx(g, x, centre, scale, level, slope, dx):
    for i in range(g.size):
        dx[i] = scale[i] * g[i] - level[i] - slope[i] * (x[i] - centre[i])


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


@kernel()
def _columns_task(x, skip, weight, bias, floor, eps, given, length, stats, y, task, tasks):
    channels = weight.size
    n, share = channels * length, channels / x.size
    part = max(1, COLUMNS // length)
    parts, rows = -(-channels // part), x.size // n
    for first in range(task * parts // tasks * part, min((task + 1) * parts // tasks * part, channels), part):
        count = min(part, channels - first)
        width, left = count * length, first * length
        none, centre, scale, shift, a, b = _zeros(width)[:6]
        for j in range(width):
            centre[j] = x[left + j // length * length]
        again = not given
        for _ in range(2):  # as in _mean_and_variance
            if not again:
                break
            again = False
            total, squares = np.zeros((2, count))
            for begin in range(0, rows, LOW):
                a[:], b[:] = 0, 0
                for row in range(begin, min(begin + LOW, rows)):
                    i = row * n + left
                    _add_moments(x[i : i + width], centre, a, b)
                _add_channels(a, length, total)
                _add_channels(b, length, squares)
            for c in range(count):
                off = total[c] * share
                mean, variance = centre[c * length] + off, squares[c] * share - off * off
                stats[0, first + c], stats[1, first + c] = mean, 1 / math.sqrt(max(variance, 0.0) + eps)
                if off * off > 16 * variance:
                    again = True
                    centre[c * length : (c + 1) * length] = mean
        for j in range(width):
            c = first + j // length
            centre[j], scale[j], shift[j] = _coefficients(stats[0, c], stats[1, c], weight[c], bias[c])
        for row in range(rows):
            here = slice(row * n + left, row * n + left + width)
            added = skip[here] if skip.size else none
            _affine_columns(x[here], added, centre, scale, shift, floor, y[here])


@kernel()
def _columns_backward_task(g, x, y, weight, floor, given, length, stats, dx, dskip, sums, task, tasks):
    channels = weight.size
    n, share = channels * length, channels / x.size
    part = max(1, COLUMNS // length)
    parts, rows = -(-channels // part), x.size // n
    for first in range(task * parts // tasks * part, min((task + 1) * parts // tasks * part, channels), part):
        count = min(part, channels - first)
        width, left = count * length, first * length
        masked, centre, scale, level, slope, a, b = _zeros(width)
        for j in range(width):
            c = first + j // length
            centre[j], scale[j] = stats[0, c], stats[1, c] * weight[c]
        products, total = sums[0, first : first + count], sums[1, first : first + count]
        for begin in range(0, rows, LOW):
            a[:], b[:] = 0, 0
            for row in range(begin, min(begin + LOW, rows)):
                here = slice(row * n + left, row * n + left + width)
                kept = dskip[here] if dskip.size else masked
                _mask(g[here], y[here], floor, kept)
                _add_sums(kept, x[here], centre, a, b)
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
        for row in range(rows):
            here = slice(row * n + left, row * n + left + width)
            _mask(g[here], y[here], floor, masked)
            _columns_dx(masked, x[here], centre, scale, level, slope, dx[here])


# --- Groups or columns ------------------------------------------------------------------------------------------------


def _layout(x: np.ndarray, groups: int) -> tuple[int, int, int, int, int]:
    """Of x (batch, channels, ...) in `groups` per example, or 0 for one per channel of the batch:

    runs in a group, numbers in a run, distance between groups, distance between runs, whether each run is a channel.
    """
    batch, channels = x.shape[:2]
    length = math.prod(x.shape[2:])
    if groups:
        return channels // groups, length, channels // groups * length, length, 1
    return batch, length, length, channels * length, 0


def groups(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float, groups: int = 0,
    rectify: bool = False, skip: np.ndarray | None = None, stats: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """y of x (batch, channels, ...), with weight and bias per channel; and `stats`, the mean and 1 / sqrt(var + eps).

    groups: the groups of channels of an example, for group norm, or 0 for batch norm.
    rectify: y is max(y, 0); skip: is added to y before that; stats (2, groups): are given, and not those of x.
    """
    batch, channels = x.shape[:2]
    y, given = np.empty(x.shape, np.float32), stats is not None
    if stats is None:
        stats = np.empty((2, batch * groups if groups else channels))
    layout = _layout(x, groups)
    short = not groups and layout[1] < SHORT
    run(_columns_task if short else _groups_task, x.size >= PARALLEL_FROM, flat(x),
        NONE if skip is None else flat(skip), *_parameters(weight, bias, channels), F(0) if rectify else -INF,
        float(eps), given, *(layout[1:2] if short else layout), stats, y.ravel())
    return y, stats


def groups_backward(
    g: np.ndarray, x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, stats: np.ndarray,
    groups: int = 0, y: np.ndarray | None = None, skipped: bool = False, given: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """The gradients of x, weight, bias and, if `skipped`, skip; y is the output, if it was rectified."""
    _check_gradient(g, x, g.size)
    channels, layout, large = x.shape[1], _layout(x, groups), x.size >= PARALLEL_FROM
    dx, dskip = np.empty(x.shape, np.float32), np.empty(x.shape, np.float32) if skipped else None
    sums = np.zeros((2, stats.shape[1] * (channels // groups if groups else 1)))
    (weight, bias), floor = _parameters(weight, bias, channels), -INF if y is None else F(0)
    arrays = flat(g), flat(x), flat(x if y is None else y)
    rest = stats, dx.ravel(), NONE if dskip is None else dskip.ravel(), sums
    if layout[1] < SHORT and not groups:
        run(_columns_backward_task, large, *arrays, weight, floor, given, layout[1], *rest)
    else:
        run(_groups_backward_task, large, *arrays, weight, bias, floor, given, *layout, *rest)
    if groups:
        sums = sums.reshape(2, len(x), channels).sum(1)
    dweight, dbias = sums.astype(np.float32)
    return dx, dweight, dbias, dskip
