"""Normalisation: shift and scale a set of numbers to mean 0 and variance 1 (7.40-7.47; 002; 003). The sets are, for

    layer norm      the trailing axes of one example              weight and bias of their shape
    RMS norm        the same, without the shift                   weight of their shape
    batch norm      a channel, over the batch and its pixels      weight and bias per channel
    group norm      a group of channels of one example            weight and bias per channel
    instance norm   one channel of one example                    weight and bias per channel

Every y = weight * xhat + bias, with xhat = (x - mean) / sqrt(var + eps), has the same VJP in x,

    dx = (w g - mean(w g) - xhat mean(w g xhat)) / sqrt(var + eps),

with means over each set. This is w g without its constant part and its part along xhat, since neither a shift nor,
apart from eps, a scale of x changes y (7.43).
"""

from __future__ import annotations

import math

import numpy as np

from ..core.listener import effect
from ..core.tensor import Tensor
from ..errors import checked
from ..rings import replaceable
from .activation import relu
from .composite import composite
from .contracts import fits
from .elementwise import rsqrt, square
from .reduce import centred, mean
from .shape import reshape

# Over trailing axes ---------------------------------------------------------------------------------------------------


def standardize(x, axis, eps):
    """LN-S (7.40): (x - mean) / sqrt(var + eps), with mean and variance (divided by n) over `axis`."""
    d = centred(x, axis)
    return d * rsqrt(mean(square(d), axis=axis, keepdim=True) + eps)


def scaled(x, weight, bias):
    """x * weight + bias, where either parameter may be None."""
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


@composite
def layer_norm(x, weight=None, bias=None, *, normalized_shape=None, eps=1e-5):
    """y = weight * (x - mean) / sqrt(var + eps) + bias over the trailing axes of x (7.41).

    normalized_shape: the shape of these axes, weight and bias; by default the weight's, or else the last axis.
        (channels, height, width) is variant A of 002, (channels,) with channels last variant B.
    Raises ValueError if the shapes do not fit, TypeError if the dtypes differ.
    """
    return scaled(standardize(x, _trailing(x, weight, normalized_shape), eps), weight, bias)


@composite
def rms_norm(x, weight=None, *, normalized_shape=None, eps=None):
    """y = weight * x / sqrt(mean(x^2) + eps) over the trailing axes of x (002; 003); see `layer_norm`.

    eps: by default the machine epsilon of x's dtype.
    """
    axis, eps = _trailing(x, weight, normalized_shape), eps_of(x, eps)
    return scaled(x * rsqrt(mean(square(x), axis=axis, keepdim=True) + eps), weight, None)


def eps_of(x, eps):
    return float(np.finfo(x.dtype).eps) if eps is None else eps


def normalized(x, weight, shape) -> tuple[int, ...]:
    """The shape of the normalised axes."""
    if shape is None:
        return x.shape[-1:] if weight is None else weight.shape
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _trailing(x, weight, shape):
    return tuple(range(-len(normalized(x, weight, shape)), 0))


def _fits(x, weight, bias, normalized_shape):
    given = ("normalized_shape" if normalized_shape is not None else
             "the last axis" if weight is None else "the weight's shape")
    shape = normalized(x, weight, normalized_shape)
    if not shape or x.shape[-len(shape) :] != shape:
        return f"{given} is {shape}, but the input has shape {x.shape}, which must end in {shape}"
    if 0 in shape:
        return f"nothing to normalise over the last {len(shape)} axes of shape {x.shape}"
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and p.shape != shape:
            return f"{name} has shape {p.shape} but {given} is {shape}; they must agree"


layer_norm.requires(fits("float x (...), weight? (...), bias? (...)"), _fits)
rms_norm.requires(fits("float x (...), weight? (...)"), lambda x, weight, normalized_shape: _fits(
    x, weight, None, normalized_shape))


# Over channels --------------------------------------------------------------------------------------------------------


def per_channel(p, x):
    """p (channels,) for x (batch, channels, ...): as (1, channels, 1, ...)."""
    return None if p is None else reshape(p, shape=(1, -1, *[1] * (x.ndim - 2)))


@composite
def group_norm(x, weight=None, bias=None, *, num_groups=1, eps=1e-5):
    """Normalise each group of channels of each example; `num_groups` groups of neighbouring channels (002).

    x (batch, channels, ...), weight and bias (channels,). Raises ValueError if the groups do not divide the channels.
    """
    rows = reshape(x, shape=(x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups))
    y = reshape(standardize(rows, -1, eps), shape=x.shape)
    return scaled(y, per_channel(weight, x), per_channel(bias, x))


group_norm.requires(fits("float x (batch, num_groups*size, ...), weight? (num_groups*size), bias? (num_groups*size)"))


@group_norm.requires
def _(x):
    return f"nothing to normalise in an input of shape {x.shape}" if 0 in x.shape[1:] else None


@checked
def instance_norm(x, weight=None, bias=None, eps=1e-5) -> Tensor:
    """Normalise each channel of each example (002): group norm with one channel per group."""
    return group_norm(x, weight, bias, num_groups=x.shape[1], eps=eps)


@instance_norm.requires
def _(x):
    if x.ndim < 3 or math.prod(x.shape[2:]) == 1:
        return ("expected (batch, channels, ...) with more than 1 value per channel and example, got shape "
                f"{x.shape}")


# Batch norm -----------------------------------------------------------------------------------------------------------


@composite
def batch_norm(x, weight=None, bias=None, running_mean=None, running_var=None, *, eps=1e-5, stats=None):
    """y = weight * (x - mean) / sqrt(var + eps) + bias, each channel with its mean and variance over the batch (002).

    x (batch, channels, ...), all others (channels,).
    running_mean, running_var: statistics to use in place of the batch's, as in evaluation.
    stats: an array (2, channels) that receives the batch's mean and (biased) variance.

    Raises ValueError for shapes that do not fit, and for a single value per channel, which would always become 0.
    """
    if running_mean is None:
        level = mean(x, axis=all_but_channels(x), keepdim=True)
        centred = x - level
        var = mean(square(centred), axis=all_but_channels(x), keepdim=True)
        tell_statistics(stats, level, var)
    else:
        centred, var = x - per_channel(running_mean, x), per_channel(running_var, x)
    return scaled(centred * rsqrt(var + eps), per_channel(weight, x), per_channel(bias, x))


@composite
def batch_norm_relu(x, weight=None, bias=None, running_mean=None, running_var=None, skip=None, *, eps=1e-5,
                    stats=None):
    """max(batch_norm(x) + skip, 0), the end of a residual block: three ops that allocate a single array.

    skip: of x's shape, or None; the other arguments as in `batch_norm`.
    """
    y = batch_norm(x, weight, bias, running_mean, running_var, eps=eps, stats=stats)
    return relu(y if skip is None else y + skip)


def all_but_channels(x):
    return (0, *range(2, x.ndim))


def tell_statistics(stats, *values):
    """Write the statistics to the rows of `stats`, unless it is None."""
    if stats is not None:
        effect("statistics", _write, stats, *[getattr(x, "_data", x) for x in values], writes=[stats])


def _write(stats, *values):
    for row, x in zip(stats, values, strict=True):
        row[:] = np.ravel(x)


def _enough(x, running_mean, running_var):
    if (running_mean is None) != (running_var is None):
        return "give both running_mean and running_var, or neither"
    if running_mean is None and x.size <= x.shape[1]:
        return (f"expected more than 1 value per channel for batch statistics, got an input of shape {x.shape}; use a "
                "larger batch, or running statistics (as a module in eval() does)")


_OF_CHANNELS = ("float x (batch, channels, ...), weight? (channels), bias? (channels), running_mean? (channels), "
                "running_var? (channels)")
batch_norm.requires(fits(_OF_CHANNELS), _enough)
batch_norm_relu.requires(fits(_OF_CHANNELS + ", skip? (batch, channels, ...)"), _enough)


@batch_norm_relu.requires
def _(x, skip):
    if skip is not None and skip.shape != x.shape:
        return f"skip has shape {skip.shape} but x {x.shape}; they must agree"


@replaceable
def move_statistics(mean, var, new_mean, new_var, n, momentum, count=None):
    """Move a mean and a variance in place, by a fraction `momentum`, towards those of n numbers; the variance is
    unbiased.

    count: the number of batches so far, which it increments. momentum: None for 1 / count.
    """
    effect("move_statistics", _move, mean, var, new_mean, new_var, n, momentum, count,
           writes=[x for x in (mean, var, count) if x is not None])


def _move(mean, var, new_mean, new_var, n, momentum, count):
    if count is not None:
        count += 1
    momentum = 1 / count if momentum is None else momentum
    mean += momentum * (new_mean - mean)
    var += momentum * (new_var * (n / (n - 1)) - var)
