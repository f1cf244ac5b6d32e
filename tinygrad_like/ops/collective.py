"""Collective ops: every rank of an MPI job must call them, and their backward, in the same order.

Gradients are those of the sum of all ranks' losses.
"""

from __future__ import annotations

import numpy as np

from .. import random
from ..core.primitive import primitive
from .composite import composite
from .contracts import fits
from .elementwise import rsqrt, square, where
from .normalization import all_but_channels, per_channel, scaled, tell_statistics
from .reduce import sum


def ranks():
    """The number of ranks: one, until `distributed` replaces this function and `all_reduce`."""
    return 1


def all_reduce(x):
    """The sum of the ranks' arrays, as a new array; with a single rank, a copy."""
    return np.array(x, order="C")


@primitive
def all_sum(x):
    """The sum over ranks of x, which has one shape on all of them; without MPI a copy of x."""
    return all_reduce(x)


all_sum.vjp(x=lambda g: all_sum(g))


@composite
def sync_batch_norm(x, weight=None, bias=None, *, eps=1e-5, shift=None, stats=None):
    """`batch_norm` with the mean and variance of each channel over all ranks' parts x of a batch.

    x (batch, channels, ...), all others (channels,). If `random.rows` says that this rank has no row of the batch, x is
    ignored. shift: numbers near the means, equal on all ranks; subtracting them keeps the sums of squares, and so the
    rounding errors, small. stats: an array (3, channels) that receives the mean, the (biased) variance, and the count
    of values behind them.

    Raises ValueError for shapes that do not fit, and if all ranks together have no more than one value per channel.
    """
    over, real = all_but_channels(x), float(counts(x))
    n = float(all_reduce(real * x.size / x.shape[1]))
    if n <= 1:
        raise ValueError(TOO_FEW.format(int(n)))
    level = all_sum(real * sum(x, axis=over)) / n
    centred = x - per_channel(level, x)
    var = all_sum(real * sum(square(centred), axis=over)) / n
    tell_statistics(stats, level, var, n)
    y = scaled(centred * per_channel(rsqrt(var + eps), x), per_channel(weight, x), per_channel(bias, x))
    # An ignored x gets no gradient, but its rank takes part in backward.
    return y if real else where(np.zeros((), bool), y, 0.0) + getattr(y, "_data", y)


TOO_FEW = ("sync_batch_norm: expected more than 1 value per channel on all ranks together, got {}; use a larger batch, "
           "or running statistics (as a module in eval() does)")


def counts(x) -> bool:
    """Whether this rank has any rows of the batch."""
    return x.size > 0 and (random.rows is None or random.rows.count > 0)


sync_batch_norm.requires(fits("float x (batch, channels, ...), weight? (channels), bias? (channels)",
                              nonempty="channels"))
