"""Normalisation: numbers that belong together are shifted and scaled to mean 0 and variance 1 (7.40-7.47; 002; 003).

    layer norm      the trailing axes of one example              weight and bias of their shape
    RMS norm        the same, without the shift                   weight of their shape
    batch norm      a channel, over the batch and its pixels      weight and bias per channel
    group norm      a group of channels of one example            weight and bias per channel
    instance norm   one channel of one example                    weight and bias per channel

Every y = weight * xhat + bias, with xhat = (x - mean) / sqrt(var + eps), has the same VJP in x,

    dx = (w g - mean(w g) - xhat mean(w g xhat)) / sqrt(var + eps),

means being taken over what is normalised together: w g without its constant part and its part along xhat, since
neither a shift nor, apart from eps, a scale of x changes y (7.43).
"""

from __future__ import annotations

import math

import numpy as np

from ..core.listener import effect
from ..core.primitive import Residuals, fresh, fused
from ..core.replaceable import replaceable
from ..dtypes import FLOATS
from .activation import relu
from .elementwise import rsqrt, square
from .reduce import mean
from .shape import reshape

# Over trailing axes ---------------------------------------------------------------------------------------------------


def standardize(x, axis, eps):
    """LN-S (7.40): (x - mean) / sqrt(var + eps), with mean and variance (divided by n) over `axis`."""
    centred = x - mean(x, axis=axis, keepdim=True)
    return centred * rsqrt(mean(square(centred), axis=axis, keepdim=True) + eps)


def scaled(x, weight, bias):
    """x * weight + bias, either of which may be None."""
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _across(wg, xhat, axis, centred=True):
    """w g without its part along xhat and, if the mean was subtracted, the part that is constant over `axis`."""
    level = wg.mean(axis, keepdims=True) if centred else 0
    return wg - level - xhat * (wg * xhat).mean(axis, keepdims=True)


@replaceable
def normalize_rows(x, weight, bias, n, eps, centred=True):
    """y of every n numbers of x, their mean taken as 0 unless `centred`; and [mean, 1 / sqrt(var + eps)] of each n."""
    rows = x.reshape(-1, n)
    mean = rows.mean(1, keepdims=True) * centred
    rstd = 1 / np.sqrt(np.square(rows - mean).mean(1, keepdims=True) + eps)
    y = scaled(((rows - mean) * rstd).reshape(x.shape), weight, bias)
    return y, np.stack([mean[:, 0], rstd[:, 0]], dtype=np.float64)


@replaceable
def normalize_rows_vjp(g, x, weight, stats, n, centred=True):
    """dx as above; dw = sum g xhat and db = sum g over the rows."""
    mean, rstd = stats.astype(x.dtype)[:, :, None]
    xhat, wg = (x.reshape(-1, n) - mean) * rstd, scaled(g, weight, None).reshape(-1, n)
    g = g.reshape(-1, n)
    return (rstd * _across(wg, xhat, 1, centred)).reshape(x.shape), (g * xhat).sum(0), g.sum(0)


def _normalized_rows(x, weight, bias, n, eps, centred=True):
    """The same, and of no rows nothing: they may be longer than memory has room for."""
    if not x.size:
        return np.zeros(x.shape, x.dtype), np.zeros((2, 0))
    return normalize_rows(x, weight, bias, n, eps, centred)


def _like(*operands):
    """The gradients of operands, some absent, that had no part in anything."""
    return [p if p is None else np.zeros(p.shape, p.dtype) for p in operands]


def layer_norm_reference(x, weight=None, bias=None, normalized_shape=None, eps=1e-5):
    shape = _trailing("layer_norm", x, weight, bias, normalized_shape)
    return scaled(standardize(x, tuple(range(-len(shape), 0)), eps), weight, bias)


@fused(reference=layer_norm_reference)
def layer_norm(x, weight=None, bias=None, *, normalized_shape=None, eps=1e-5):
    """y = weight * (x - mean) / sqrt(var + eps) + bias over the trailing axes of x (7.41).

    normalized_shape: the shape of these axes, and of weight and bias; by default the weight's, or else the last axis.
        (channels, height, width) is variant A of 002, (channels,) with channels last variant B.
    Raises ValueError if the shapes do not fit, TypeError if the dtypes differ.
    """
    shape = _trailing("layer_norm", x, weight, bias, normalized_shape)
    y, stats = _normalized_rows(x, weight, bias, length := math.prod(shape), eps)
    return y, Residuals(stats=stats, length=length)


@layer_norm.joint_vjp
@fresh
def _(g, x, weight, bias, stats, length):
    if not x.size:
        return _like(x, weight, bias)
    dx, dweight, dbias = normalize_rows_vjp(g, x, weight, stats, length)
    return [dx, None if weight is None else dweight.reshape(weight.shape),
            None if bias is None else dbias.reshape(bias.shape)]


def rms_norm_reference(x, weight=None, normalized_shape=None, eps=None):
    shape = _trailing("rms_norm", x, weight, None, normalized_shape)
    axis = tuple(range(-len(shape), 0))
    return scaled(x * rsqrt(mean(square(x), axis=axis, keepdim=True) + _rms_eps(x, eps)), weight, None)


@fused(reference=rms_norm_reference)
def rms_norm(x, weight=None, *, normalized_shape=None, eps=None):
    """y = weight * x / sqrt(mean(x^2) + eps) over the trailing axes of x (002; 003); see `layer_norm`.

    eps: by default the distance from 1 to the next number of x's dtype.
    """
    shape = _trailing("rms_norm", x, weight, None, normalized_shape)
    y, stats = _normalized_rows(x, weight, None, length := math.prod(shape), _rms_eps(x, eps), centred=False)
    return y, Residuals(stats=stats, length=length)


@rms_norm.joint_vjp
@fresh
def _(g, x, weight, stats, length):
    if not x.size:
        return _like(x, weight)
    dx, dweight, _ = normalize_rows_vjp(g, x, weight, stats, length, centred=False)
    return [dx, None if weight is None else dweight.reshape(weight.shape)]


def _rms_eps(x, eps):
    return float(np.finfo(x.dtype).eps) if eps is None else eps


def _trailing(who, x, weight, bias, shape) -> tuple[int, ...]:
    """The shape that is normalised, checked against x, weight and bias."""
    _check_dtypes(who, x, weight=weight, bias=bias)
    given = "normalized_shape"
    if shape is None:
        given, shape = ("the last axis", x.shape[-1:]) if weight is None else ("the weight's shape", weight.shape)
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if not shape or x.shape[-len(shape):] != shape:
        raise ValueError(f"{who}: {given} is {shape}, but the input has shape {x.shape}; it must end in {shape}")
    if math.prod(shape) == 0:
        raise ValueError(f"{who}: nothing to normalise over the last {len(shape)} axes of shape {x.shape}")
    for name, p in (("weight", weight), ("bias", bias)):
        if p is not None and p.shape != shape:
            raise ValueError(f"{who}: {name} has shape {p.shape} but {given} is {shape}; they must agree")
    return shape


def _check_dtypes(who, x, **others):
    if x.dtype.kind not in FLOATS:
        raise TypeError(f"{who}: the input must be floating point, got {x.dtype}; cast with .float()")
    for name, p in others.items():
        if p is not None and p.dtype is not x.dtype:
            raise TypeError(f"{who}: {name} is {p.dtype} but the input {x.dtype}; cast one with .float() or .double()")


# Over channels --------------------------------------------------------------------------------------------------------


def per_channel(p, x):
    """p (channels,) for x (batch, channels, ...): as (1, channels, 1, ...)."""
    return None if p is None else reshape(p, shape=(1, -1, *[1] * (x.ndim - 2)))


def _grouped(x, groups):
    """x as (batch, groups, channels of a group, pixels), with the axes over which it is normalised.

    Without groups, each channel is normalised over the whole batch.
    """
    n, channels = x.shape[:2]
    axis = (2, 3) if groups else (0, 2, 3)
    return x.reshape(n, groups or channels, channels // (groups or channels), math.prod(x.shape[2:])), axis


@replaceable
def normalize_channels(x, weight, bias, eps, groups=0, rectify=False, skip=None, running=None, moments=None):
    """y, or max(y + skip, 0), of each of the groups of channels of an example, or without groups of each channel.

    Also [mean, 1 / sqrt(var + eps)] of each. running: the mean and variance to use; moments: an array for those used.
    """
    z, axis = _grouped(x, groups)
    mean, var = [s.reshape(-1, z.shape[1], 1, 1) for s in running or (z.mean(axis), z.var(axis))]
    rstd = 1 / np.sqrt(var + eps)
    y = scaled(((z - mean) * rstd).reshape(x.shape), per_channel(weight, x), per_channel(bias, x))
    y = y if skip is None else y + skip
    stats = np.stack([mean.ravel(), rstd.ravel()], dtype=np.float64)
    if moments is not None:
        moments[:] = mean.ravel(), var.ravel()
    return np.maximum(y, 0) if rectify else y, stats


@replaceable
def normalize_channels_vjp(g, x, weight, bias, stats, groups=0, y=None, skipped=False, given=False):
    """dx as above, or rstd w g if the statistics were `given`; dw = sum g xhat and db = sum g of each channel; dskip.

    y: the output, if it was rectified: then g counts as 0 where y <= 0.
    """
    g = g if y is None else np.where(y <= 0, 0, g)
    z, axis = _grouped(x, groups)
    mean, rstd = stats.astype(x.dtype).reshape(2, -1, z.shape[1], 1, 1)
    xhat, wg = (z - mean) * rstd, scaled(g, per_channel(weight, x), None).reshape(z.shape)
    dx = rstd * (wg if given else _across(wg, xhat, axis))
    over = all_but_channels(x)
    dweight, dbias = (g * xhat.reshape(x.shape)).sum(over), g.sum(over)
    return dx.reshape(x.shape), dweight, dbias, g if skipped else None


def group_norm_reference(x, weight=None, bias=None, num_groups=1, eps=1e-5):
    rows = reshape(x, shape=(x.shape[0], num_groups, math.prod(x.shape[1:]) // num_groups))
    y = reshape(standardize(rows, -1, eps), shape=x.shape)
    return scaled(y, per_channel(weight, x), per_channel(bias, x))


@fused(reference=group_norm_reference)
def group_norm(x, weight=None, bias=None, *, num_groups=1, eps=1e-5):
    """Each example and each of `num_groups` groups of neighbouring channels has a mean and a variance of its own (002).

    x (batch, channels, ...), weight and bias (channels,). Raises ValueError if the groups do not divide the channels.
    """
    _check_groups(x, weight, bias, num_groups)
    if not x.size:  # as above
        return np.zeros(x.shape, x.dtype), Residuals(stats=np.zeros((2, 0)))
    y, stats = normalize_channels(x, weight, bias, eps, num_groups)
    return y, Residuals(stats=stats)


@group_norm.joint_vjp
@fresh
def _(g, x, weight, bias, num_groups, stats):
    if not x.size:
        return _like(x, weight, bias)
    dx, dweight, dbias, _ = normalize_channels_vjp(g, x, weight, bias, stats, num_groups)
    return [dx, None if weight is None else dweight, None if bias is None else dbias]


def instance_norm(x, weight=None, bias=None, eps=1e-5):
    """Each channel of each example has a mean and a variance of its own (002): group norm, a channel to a group."""
    if x.ndim < 3 or math.prod(x.shape[2:]) == 1:
        raise ValueError("instance_norm: expected (batch, channels, ...) with more than 1 value per channel and "
                         f"example, got shape {x.shape}")
    return group_norm(x, weight, bias, num_groups=x.shape[1], eps=eps)


def _check_groups(x, weight, bias, groups):
    check_channels("group_norm", x, weight=weight, bias=bias)
    if not isinstance(groups, int) or groups < 1 or x.shape[1] % groups:
        raise ValueError(f"group_norm: {x.shape[1]} channels (input shape {x.shape}) cannot be shared out into "
                         f"num_groups={groups!r}; it must be an integer that divides them")
    if math.prod(x.shape[1:]) == 0:
        raise ValueError(f"group_norm: nothing to normalise in an input of shape {x.shape}")


def check_channels(who, x, **per_channel):
    _check_dtypes(who, x, **per_channel)
    if x.ndim < 2:
        raise ValueError(f"{who}: expected (batch, channels, ...), got shape {x.shape}")
    for name, p in per_channel.items():
        if p is not None and p.shape != x.shape[1:2]:
            raise ValueError(f"{who}: {name} has shape {p.shape} but the input, shape {x.shape}, has {x.shape[1]} "
                             f"channels (axis 1); it needs ({x.shape[1]},)")


# Batch norm -----------------------------------------------------------------------------------------------------------


def batch_norm_reference(x, weight=None, bias=None, running_mean=None, running_var=None, eps=1e-5, stats=None):
    if running_mean is None:
        y = standardize(x, all_but_channels(x), eps)
    else:
        y = (x - per_channel(running_mean, x)) * rsqrt(per_channel(running_var, x) + eps)
    return scaled(y, per_channel(weight, x), per_channel(bias, x))


@fused(reference=batch_norm_reference)
def batch_norm(x, weight=None, bias=None, running_mean=None, running_var=None, *, eps=1e-5, stats=None):
    """y = weight * (x - mean) / sqrt(var + eps) + bias, each channel with its mean and variance over the batch (002).

    x (batch, channels, ...), all others (channels,).
    running_mean, running_var: statistics used in place of the batch's own, as in evaluation.
    stats: an array (2, channels) that receives the batch's mean and (biased) variance.

    Raises ValueError for shapes that do not fit, and if there is one value per channel: it would always become 0.
    """
    return _batch_norm("batch_norm", x, weight, bias, running_mean, running_var, eps, stats)


@batch_norm.joint_vjp
@fresh
def _(g, x, weight, bias, running_mean, moments, wanted):
    if wanted[3] or wanted[4] or not x.shape[1]:  # statistics that are differentiated too, or nothing to be counted
        return NotImplemented
    dx, dweight, dbias, _ = normalize_channels_vjp(g, x, weight, bias, moments, given=running_mean is not None)
    return [dx, dweight, dbias, None, None]


def batch_norm_relu_reference(x, weight=None, bias=None, running_mean=None, running_var=None, skip=None, eps=1e-5,
                              stats=None):
    y = batch_norm_reference(x, weight, bias, running_mean, running_var, eps)
    return relu(y if skip is None else y + skip)


@fused(reference=batch_norm_relu_reference)
def batch_norm_relu(x, weight=None, bias=None, running_mean=None, running_var=None, skip=None, *, eps=1e-5,
                    stats=None):
    """max(batch_norm(x) + skip, 0), the end of a residual block: three ops that write a single array.

    skip: of x's shape, or left out; the rest as in `batch_norm`.
    """
    _check_skip(x, skip)
    return _batch_norm("batch_norm_relu", x, weight, bias, running_mean, running_var, eps, stats, True, skip)


@batch_norm_relu.joint_vjp
@fresh
def _(g, x, weight, bias, running_mean, skip, out, moments, wanted):
    if wanted[3] or wanted[4] or not x.shape[1]:
        return NotImplemented
    dx, dweight, dbias, dskip = normalize_channels_vjp(
        g, x, weight, bias, moments, y=out, skipped=skip is not None, given=running_mean is not None)
    return [dx, dweight, dbias, None, None, dskip]


def _batch_norm(who, x, weight, bias, running_mean, running_var, eps, stats, rectify=False, skip=None):
    """The output, and as the residual `moments` each channel's mean and 1 / sqrt(var + eps)."""
    _check_batch_norm(who, x, weight, bias, running_mean, running_var)
    running = None if running_mean is None else (running_mean, running_var)
    y, moments = normalize_channels(x, weight, bias, eps, 0, rectify, skip, running, stats)
    return y, Residuals(moments=moments)


@replaceable
def move_statistics(mean, var, new_mean, new_var, n, momentum, count=None):
    """Move a mean and a variance, in place, by `momentum` of the way to new ones of n numbers, the latter unbiased.

    count: how many batches there were, to which one is added. momentum: None for 1 / count.
    """
    effect("move_statistics", _move, mean, var, new_mean, new_var, n, momentum, count,
           writes=[x for x in (mean, var, count) if x is not None])


def _move(mean, var, new_mean, new_var, n, momentum, count):
    if count is not None:
        count += 1
    momentum = 1 / count if momentum is None else momentum
    mean += momentum * (new_mean - mean)
    var += momentum * (new_var * (n / (n - 1)) - var)


def all_but_channels(x):
    return (0, *range(2, x.ndim))


def _check_batch_norm(who, x, weight, bias, running_mean, running_var):
    check_channels(who, x, weight=weight, bias=bias, running_mean=running_mean, running_var=running_var)
    if (running_mean is None) != (running_var is None):
        raise ValueError(f"{who}: give both running_mean and running_var, or neither")
    if running_mean is None and x.size <= x.shape[1]:
        raise ValueError(f"{who}: expected more than 1 value per channel to take statistics of, got an input of shape "
                         f"{x.shape}; use a larger batch, or running statistics (as a module in eval() does)")


def _check_skip(x, skip):
    if skip is not None:
        _check_dtypes("batch_norm_relu", x, skip=skip)
        if skip.shape != x.shape:
            raise ValueError(f"batch_norm_relu: skip has shape {skip.shape} but the input {x.shape}; they must agree")
