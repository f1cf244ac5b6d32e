"""Ops in which all ranks of an MPI job take part: each must call them, and their backward, in the same order.

What is differentiated is the sum of the losses of all ranks.
"""

from __future__ import annotations

import numpy as np

from .. import random
from ..core.graph import mode
from ..core.listener import tell
from ..core.primitive import Residuals, fresh, fused, primitive
from .elementwise import rsqrt, square, sub
from .normalization import (
    all_but_channels,
    check_channels,
    normalize_channels,
    normalize_channels_vjp,
    per_channel,
    scaled,
)
from .reduce import sum

mode.declare(answer=None)  # gives what a reduction over ranks would, in this thread


def ranks():
    """How many ranks there are: one, until `distributed` puts its own in this place, as in the next."""
    return 1


def all_reduce(x):
    """The sum of the ranks' arrays, as a new array: of one rank."""
    return np.array(x, order="C")


@primitive
def all_sum(x):
    """The sum of the ranks' arrays x, of one shape, on all ranks; without MPI a copy of x."""
    return all_reduce(x)


all_sum.vjp(x=lambda g: all_sum(g))


def sync_batch_norm_reference(x, weight=None, bias=None, eps=1e-5, shift=None, stats=None):
    over, real = all_but_channels(x), float(_real(x))
    n = float(all_reduce(real * x.size / x.shape[1]))
    centred = x - per_channel(all_sum(real * sum(x, axis=over)) / n, x)
    var = all_sum(real * sum(square(centred), axis=over)) / n
    return scaled(centred * per_channel(rsqrt(var + eps), x), per_channel(weight, x), per_channel(bias, x))


@fused(reference=sync_batch_norm_reference)
def sync_batch_norm(x, weight=None, bias=None, *, eps=1e-5, shift=None, stats=None):
    """`batch_norm` with the mean and variance of each channel over all ranks' parts x of a batch.

    x (batch, channels, ...), all others (channels,). If `random.rows` says that this rank has no row of the batch,
    x does not count.
    shift: numbers near the means, alike on all ranks: they make the sums of squares, and so the rounding, small.
    stats: an array (3, channels) that receives mean, (biased) variance and the count of numbers they are of.

    Raises ValueError for shapes that do not fit, and if all ranks together have no more than one value per channel.
    """
    channels, here, counts = x.shape[1], np.zeros((2, x.shape[1])), np.empty(2, np.int64)
    if _real(x):
        normalize_channels(x, None, None, 1.0, moments=here)
    stats = np.empty((3, channels)) if stats is None else stats
    running = np.empty(channels, x.dtype), np.empty(channels, x.dtype)
    _between("moments of all ranks", _moments, here, x.size // channels, shift, stats, *running, counts,
             changes=[stats, *running, counts])
    y, moments = normalize_channels(x, weight, bias, eps, running=running)
    return y, Residuals(moments=moments, running=running, counts=counts)


@sync_batch_norm.requires
def _(x, weight, bias):
    check_channels("sync_batch_norm", x, weight=weight, bias=bias)
    return None if x.shape[1] else f"nothing to normalise in an input of shape {x.shape}; it needs a channel"


def _real(x):
    return x.size > 0 and (random.rows is None or random.rows.count > 0)


def _between(name, function, *arguments, changes):
    """Do function(*arguments) between two kernels of an op, and again whenever a captured function is played."""
    if tell("between", name, function, arguments, changes) is NotImplemented:
        function(*arguments)


def _moments(here, n, shift, stats, mean, var, counts):
    """Mean, variance and count of all ranks, from those of this one, by one reduction of sums, in float64."""
    channels = here.shape[1]
    real = random.rows is None or random.rows.count > 0
    n = n * real
    shift = np.zeros(channels) if shift is None else shift.astype(np.float64)
    centred = here[0] - shift
    totals = all_reduce(np.concatenate([n * centred, n * (here[1] + centred * centred), [n]]))
    n = int(totals[-1])
    if n <= 1:
        raise ValueError(f"sync_batch_norm: expected more than 1 value per channel on all ranks together, got {n}; use "
                         "a larger batch, or running statistics (as a module in eval() does)")
    centred, squares = totals[:channels] / n, totals[channels:-1] / n
    stats[0], stats[1], stats[2] = shift + centred, np.maximum(squares - centred * centred, 0), n
    mean[:], var[:], counts[:] = stats[0], stats[1], (n, real)


@sync_batch_norm.joint_vjp
@fresh
def _(g, x, weight, bias, eps, moments, running, counts):
    dx, dweight, dbias, _ = normalize_channels_vjp(g, x, weight, bias, moments, given=True)
    means = np.empty((2, x.shape[1]), x.dtype)
    _between("gradients of all ranks", _means, dweight, dbias, weight, moments, counts, means, changes=[means])
    if not counts[1]:
        return [np.zeros_like(x), np.zeros_like(dweight), np.zeros_like(dbias)]
    # What reaches x through mean and variance, r (E[w g xhat] xhat + E[w g]), in one pass.
    return [sub.forward(dx, normalize_channels(x, *means, eps, running=running)[0]), dweight, dbias]


def _means(dweight, dbias, weight, moments, counts, means):
    """E[w g xhat] and E[w g] over all ranks, times r."""
    n, real = counts.tolist()
    both = np.concatenate([dweight, dbias], dtype=np.float64)
    both = all_reduce(both if real else np.zeros_like(both)).reshape(2, -1)
    means[:] = both * (moments[1] / n if weight is None else moments[1] * weight / n)
