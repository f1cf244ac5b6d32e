"""Normalisation of float32 arrays by channels, (x - mean) / sqrt(variance + eps) * weight + bias; see norm.py.

A group, whose elements share a mean and a variance, consists of contiguous runs, `step` apart. In (batch, channels,
run), a group of group norm is adjacent channels of an example, a group of batch norm one channel of all examples.
"""

import math
from collections import namedtuple

import numpy as np

from ..dtypes import FLOAT64
from .kinds import OPTIONAL, OPTIONAL_WRITE, READ, REAL, REALS, WRITE, Plan
from .late import njit
from .norm import (
    COST,
    LOOP,
    STATS,
    STATS_WRITE,
    SUMS,
    check_gradient,
    contracted,
    corrections,
    mean_and_variance,
    minus,
    parameter_gradients,
    parameters,
)
from .program import in_order, kernel
from .reduce import PIECE
from .simd import inner
from .vectormath import INF, F

SHORT = 12  # elements of a run that are worth a loop


# --- Groups -----------------------------------------------------------------------------------------------------------
# y = max((x - centre) * scale + shift + skip, floor), with a floor of 0 for ReLU and of -inf otherwise. So backward can
# tell from x where y is at the floor, and need not read y, unless there is a skip.


@njit(**LOOP)
def _coefficients(mean, rstd, weight, bias):
    """(centre, scale, shift): the rounded mean, and the numbers that make (x - centre) * scale + shift the output."""
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
    """Run k of a group: its channel, its start, and its coefficients."""
    c = (group * layout.runs + k) % weight.size if layout.own else group
    centre, scale, shift = _coefficients(stats[0, group], stats[1, group], weight[c], bias[c])
    return c, group * layout.start + k * layout.step, centre, scale, shift


@njit(**LOOP)
def _affine(x, centre, scale, shift, floor, y):
    for i in range(x.size):
        v = (x[i] - centre) * scale + shift
        y[i] = floor if v < floor else v  # in this order, NaN stays NaN


@njit(**LOOP)
def _affine_add(x, skip, centre, scale, shift, floor, y):
    for i in range(x.size):
        v = (x[i] - centre) * scale + shift + skip[i]
        y[i] = floor if v < floor else v


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
        d = minus(x[i], centre)
        gi = F(0) if d * scale + shift <= floor else g[i]
        total += gi
        slope += gi * d
    return total, slope


@njit(**LOOP)
def _passed(g, y, floor, passed):
    for i in range(g.size):
        passed[i] = F(0) if y[i] <= floor else g[i]


@contracted
def _group_vjp(g, x, y, weight, bias, floor, given, layout, stats, dx, dskip, dweight, dbias, group):
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
    if given:  # statistics that do not depend on x
        level, slope = 0.0, 0.0
    low, steep = F(level), F(slope)
    for k in range(layout.runs):
        _, i, centre, scale, shift = _run(layout, group, k, stats, weight, bias)
        g_i, x_i, dx_i = g[i : i + length], x[i : i + length], dx[i : i + length]
        for j in range(length):
            d = x_i[j] - centre
            gj = F(0) if d * scale + shift <= floor else g_i[j]
            dx_i[j] = scale * gj - low - steep * d


# --- Channels ---------------------------------------------------------------------------------------------------------


# units: groups; runs in a group, numbers in a run, distances between groups and between runs; own: whether a run is a
# channel
Layout = namedtuple("Layout", "units runs length start step own")


def _layout(x: np.ndarray, groups: int, turns: bool) -> Layout:
    """The groups of x (batch, channels, ...): `groups` per example, or if 0 one per channel. turns: x is `_turned`."""
    batch, channels = x.shape[:2]
    length = math.prod(x.shape[2:])
    if groups:
        runs = channels // groups
        return Layout(batch * groups, runs, length, runs * length, length, 1)
    if turns:
        return Layout(channels, 1, batch * length, batch * length, 0, 0)
    return Layout(channels, batch, length, length, channels * length, 0)


def _turned(x: np.ndarray) -> np.ndarray:
    """A copy with batch and channels swapped, for runs that are too short for a loop."""
    return in_order(x.swapaxes(0, 1))


def _as_is(x: np.ndarray) -> np.ndarray:
    return x


def _turns(x: np.ndarray, groups: int) -> bool:
    return not groups and 0 < math.prod(x.shape[2:]) < SHORT


@kernel(x=READ, skip=OPTIONAL, weight=READ, bias=READ, running_mean=OPTIONAL, running_var=OPTIONAL, floor=REAL,
        eps=REAL, layout=Plan(Layout, {}), stats=STATS_WRITE, moments=OPTIONAL_WRITE.of(FLOAT64, 2), y=WRITE,
        cost=COST)
def _normalize_channels(x, skip, weight, bias, running_mean, running_var, floor, eps, layout, stats, moments, y,
                        task, tasks):
    floor = F(floor)
    for unit in range(task * layout.units // tasks, (task + 1) * layout.units // tasks):
        if running_mean.size:
            _note(running_mean[unit], running_var[unit], eps, unit, stats, moments)
        else:
            mean, variance = mean_and_variance(x, unit * layout.start, layout.runs, layout.step, layout.length, True)
            _note(mean, variance, eps, unit, stats, moments)
        _normalize_group(x, skip, weight, bias, floor, layout, stats, y, unit)


@kernel(g=READ, x=READ, y=READ, weight=READ, bias=READ, floor=REAL, layout=Plan(Layout, {}), stats=STATS, dx=WRITE,
        dskip=OPTIONAL_WRITE, dweight=WRITE, dbias=WRITE, cost=COST)
def _normalize_channels_vjp(g, x, y, weight, bias, floor, given, layout, stats, dx, dskip, dweight, dbias, task, tasks):
    floor = F(floor)
    for unit in range(task * layout.units // tasks, (task + 1) * layout.units // tasks):
        _group_vjp(g, x, y, weight, bias, floor, given, layout, stats, dx, dskip, dweight, dbias, unit)


def normalize_channels(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float, groups: int = 0,
    rectify: bool = False, skip: np.ndarray | None = None, running: tuple[np.ndarray, np.ndarray] | None = None,
    moments: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """y of x (batch, channels, ...), with weight and bias per channel; and `stats`, the mean and 1 / sqrt(var + eps).

    groups: the groups of channels of an example, for group norm, or 0 for batch norm.
    rectify: y is max(y, 0); skip: added to y before that; running: mean and variance to use instead of those of x;
    moments (2, channels): receives mean and variance.
    """
    turns, channels = _turns(x, groups), x.shape[1]
    if moments is not None and not (moments.dtype is FLOAT64 and moments.shape == (2, channels)
                                    and moments.flags.carray):
        return NotImplemented
    layout, turn = _layout(x, groups, turns), _turned if turns else _as_is
    x, skip = turn(x), None if skip is None else turn(skip)
    y, stats = np.empty(x.shape, np.float32), np.empty((2, layout.units))
    _normalize_channels(x, skip, *parameters(weight, bias, channels), *(running or (None, None)),
                        0.0 if rectify else -np.inf, eps, layout, stats, moments, y)
    return turn(y), stats


def normalize_channels_vjp(
    g: np.ndarray, x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, stats: np.ndarray,
    groups: int = 0, y: np.ndarray | None = None, skipped: bool = False, given: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """The gradients of x, weight, bias and, if `skipped`, skip; y is the output, if it was rectified."""
    check_gradient(g, x, g.size)
    turns, channels = _turns(x, groups), x.shape[1]
    layout, turn = _layout(x, groups, turns), _turned if turns else _as_is
    g, x, y = turn(g), turn(x), None if y is None else turn(y)
    dx, dskip = np.empty(x.shape, np.float32), np.empty(x.shape, np.float32) if skipped else None
    arguments = (g, x, x if y is None else y, *parameters(weight, bias, channels), -np.inf if y is None else 0.0, given,
                 layout, stats, dx, dskip)
    dweight, dbias = parameter_gradients(lambda *of: _normalize_channels_vjp(*arguments, *of), len(x) if groups else 1,
                                         channels)
    return turn(dx), dweight, dbias, None if dskip is None else turn(dskip)


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
    """mean += momentum (new_mean - mean), and so for var, with new_var made unbiased, of n numbers; count += 1.

    Without a momentum it is 1 / count.
    """
    if new_mean.dtype is not FLOAT64 or not (mean.flags.carray and var.flags.carray):
        return NotImplemented
    if not mean.shape == var.shape == new_mean.shape == new_var.shape:
        raise ValueError(f"running statistics: {mean.shape} and {var.shape} cannot move to {new_mean.shape} and "
                         f"{new_var.shape}; all must have one number for each channel")
    _move_statistics(mean, var, new_mean, new_var, count, n / (n - 1), -1.0 if momentum is None else momentum)
