"""Ops in which all ranks of an MPI job take part: each must call them, and their backward, in the same order.

Of the losses of all ranks, what is differentiated is the sum.
"""

from __future__ import annotations

import numpy as np

from .. import random
from ..distributed.group import all_reduce
from ..primitive import Residuals, fresh, fused, primitive
from .elementwise import rsqrt, square
from .normalization import (
    _affine,
    _all_but_channels,
    _check_channels,
    _per_channel,
    normalize_channels,
    normalize_channels_vjp,
)
from .reduce import sum


@primitive
def all_sum(x):
    """The sum of the ranks' arrays x, of one shape, on all ranks; without MPI a copy of x."""
    return all_reduce(x)


all_sum.vjp(x=lambda g: all_sum(g))


def sync_batch_norm_reference(x, weight=None, bias=None, eps=1e-5, shift=None, stats=None):
    _check_channels("sync_batch_norm", x, weight=weight, bias=bias)
    over, real = _all_but_channels(x), float(_real(x))
    n = float(all_reduce(real * x.size / x.shape[1]))
    centred = x - _per_channel(all_sum(real * sum(x, axis=over)) / n, x)
    var = all_sum(real * sum(square(centred), axis=over)) / n
    return _affine(centred * _per_channel(rsqrt(var + eps), x), _per_channel(weight, x), _per_channel(bias, x))


@fused(reference=sync_batch_norm_reference)
def sync_batch_norm(x, weight=None, bias=None, *, eps=1e-5, shift=None, stats=None):
    """`batch_norm` with the mean and variance of each channel over all ranks' parts x of a batch.

    x (batch, channels, ...), all others (channels,). While `random.rows` says that this rank has no row of the batch, x
    does not count.
    shift: numbers near the means, alike on all ranks: they make the sums of squares, and so the rounding, small.
    stats: an array (3, channels) that receives mean, (biased) variance and the count of numbers they are of.

    Raises ValueError for shapes that do not fit, and if all ranks together have no more than one value per channel.
    """
    _check_channels("sync_batch_norm", x, weight=weight, bias=bias)
    mean, var, n = _moments(x, shift)
    if stats is not None:
        stats[:] = mean, var, np.full_like(mean, n)
    running = mean.astype(x.dtype), var.astype(x.dtype)
    y, moments = normalize_channels(x, weight, bias, eps, running=running)
    # Counts of this call, as an array: in a captured one they change.
    return y, Residuals(moments=moments, running=running, counts=np.array([n, _real(x)]))


def _real(x):
    return x.size > 0 and (random.rows is None or random.rows.count > 0)


def _moments(x, shift):
    """Mean and variance of each channel over all ranks, and the count: by one reduction of sums, in float64."""
    channels = x.shape[1]
    n, here = x.size // channels * _real(x), np.zeros((2, channels))
    if n:
        normalize_channels(x, None, None, 1.0, moments=here)
    shift = np.zeros(channels) if shift is None else shift.astype(np.float64)
    mean = here[0] - shift
    totals = all_reduce(np.concatenate([n * mean, n * (here[1] + mean * mean), [n]]))
    n = int(totals[-1])
    if n <= 1:
        raise ValueError(f"sync_batch_norm: expected more than 1 value per channel on all ranks together, got {n}; use "
                         "a larger batch, or running statistics (as a module in eval() does)")
    mean, squares = totals[:channels] / n, totals[channels:-1] / n
    return shift + mean, np.maximum(squares - mean * mean, 0), n


@sync_batch_norm.joint_vjp
@fresh
def _(g, x, weight, bias, eps, moments, running, counts):
    n, real = counts.tolist()
    dx, dweight, dbias, _ = normalize_channels_vjp(g, x, weight, bias, moments, given=True)
    through = all_reduce(np.concatenate([dweight, dbias], dtype=np.float64) if real else np.zeros(2 * x.shape[1]))
    if not real:
        return [np.zeros_like(x), np.zeros_like(dweight), np.zeros_like(dbias)]
    through = through.reshape(2, -1) * (moments[1] / n if weight is None else moments[1] * weight / n)
    # What comes through mean and variance, r (E[w g xhat] xhat + E[w g]), in one pass.
    dx -= normalize_channels(x, *through.astype(x.dtype), eps, running=running)[0]
    return [dx, dweight, dbias]
