"""Convolution and pooling over three axes, made of the ops on images and one step along the depth.

A volume is a stack of images. Convolution treats the depth of a window as more channels of an image; pooling pools the
images first, then the depth.
"""

from __future__ import annotations

import math

from ..errors import checked, refusal
from .contracts import fits
from .conv import check_extra, conv2d, conv_transpose2d, margins_of, of_one
from .movement import tap_index, taps
from .padding import pad
from .parts import put, take
from .pool import Axis, each, max_windows, sum_windows, weighted, windows_of
from .shape import permute, reshape

# Convolution ----------------------------------------------------------------------------------------------------------


@checked
def conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """out[n, i] = bias_i + sum_j weight[i, j] * x[n, j], with * the cross-correlation of volumes.

    x (batch, in, depth, height, width), weight (out, in / groups, kd, kh, kw) -> (batch, out, depth', height', width').
    Otherwise as conv2d.
    """
    if x.ndim == 4:
        return of_one(conv3d, x, weight, bias, stride, padding, dilation, groups)
    (sd, *stride), (dd, *dilation) = (each("conv3d", name, value, 3, 1) for name, value in
                                      (("stride", stride), ("dilation", dilation)))
    kd = weight.shape[2]
    if isinstance(padding, str):
        (margin,) = margins_of("conv3d", padding, (kd,), (sd,), (dd,))
    else:
        front, *padding = each("conv3d", "padding", padding, 3, 0)
        margin = front, front
    if x.shape[2] + sum(margin) <= dd * (kd - 1):
        raise refusal("conv3d", f"the kernel of depth {kd} is larger than the padded input (shape {x.shape}, padding "
                                f"{margin} along the depth)")
    x = taps(pad(x, padding=(0, 0, 0, 0, *margin)) if any(margin) else x, 2, kd, sd, dd)
    batch, channels, depth, _, *plane = x.shape
    images = reshape(permute(x, axes=(0, 2, 1, 3, 4, 5)), shape=(batch * depth, channels * kd, *plane))
    out, per_group = weight.shape[:2]
    y = conv2d(images, reshape(weight, shape=(out, per_group * kd, *weight.shape[3:])), bias, stride=tuple(stride),
               padding=padding if isinstance(padding, str) else tuple(padding), dilation=tuple(dilation), groups=groups)
    return permute(reshape(y, shape=(batch, depth, *y.shape[1:])), axes=(0, 2, 1, 3, 4))


conv3d.requires(fits("weight (groups*out, in, kd, kh, kw), x (batch, groups*in, depth, height, width) or "
                     "(groups*in, depth, height, width), bias? (groups*out)", nonempty="in out kd kh kw"))


@checked
def conv_transpose3d(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The adjoint of conv3d, plus a bias: volumes grow. weight (in, out / groups, kd, kh, kw); as conv_transpose2d."""
    who = "conv_transpose3d"
    if x.ndim == 4:
        return of_one(conv_transpose3d, x, weight, bias, stride, padding, output_padding, groups, dilation)
    (sd, *stride), (dd, *dilation) = each(who, "stride", stride, 3, 1), each(who, "dilation", dilation, 3, 1)
    (front, *padding), (extra, *output_padding) = (each(who, name, value, 3, 0) for name, value in
                                                   (("padding", padding), ("output_padding", output_padding)))
    (batch, channels, depth, *plane), (_, per_group, kd, *kernel) = x.shape, weight.shape
    length = (depth - 1) * sd + dd * (kd - 1) + 1 + extra
    check_extra(who, (extra, *output_padding), (sd, *stride), (dd, *dilation))
    if length <= 2 * front:
        raise refusal(who, f"along the depth of x {x.shape}, padding {front} must be less than half of the {length} "
                           "that come out")
    images = reshape(permute(x, axes=(0, 2, 1, 3, 4)), shape=(batch * depth, channels, *plane))
    y = conv_transpose2d(images, reshape(weight, shape=(channels, per_group * kd, *kernel)), stride=tuple(stride),
                         padding=tuple(padding), output_padding=tuple(output_padding), groups=groups,
                         dilation=tuple(dilation))
    plane = list(y.shape[2:])
    y = permute(reshape(y, shape=(batch, depth, per_group * groups, kd, *plane)), axes=(0, 2, 1, 3, 4, 5))
    whole = (slice(None),) * 2
    y = put(y, shape=(batch, per_group * groups, length, *plane),
            index=(*whole, tap_index(length - extra, kd, sd, dd)))
    y = take(y, index=(*whole, slice(front, length - front)))
    return y if bias is None else y + reshape(bias, shape=(-1, 1, 1, 1))


conv_transpose3d.requires(fits("weight (groups*in, out, kd, kh, kw), x (batch, groups*in, depth, height, width) or "
                               "(groups*in, depth, height, width), bias? (groups*out)", nonempty="in out kd kh kw"))

# Pooling --------------------------------------------------------------------------------------------------------------


def max_pool3d(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """`max_pool2d` over volumes: (batch, channels, depth, height, width) -> (batch, channels, *windows)."""
    windows = windows_of("max_pool3d", x, 3, kernel_size, stride, padding, dilation, ceil_mode)
    return over_volume(max_windows, x, windows)


def avg_pool3d(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    """`avg_pool2d` over volumes: (batch, channels, depth, height, width) -> (batch, channels, *windows)."""
    windows = windows_of("avg_pool3d", x, 3, kernel_size, stride, padding, 1, ceil_mode)
    sums = over_volume(sum_windows, x, windows)
    if divisor_override is not None:
        return sums / divisor_override
    return weighted(sums, windows, x.shape[-3:], count_include_pad)


def over_volume(op, x, windows: tuple[Axis, Axis, Axis]):
    """A pooling op of images on every image of a volume, and then along the depth."""
    depth, *plane = windows
    lead = x.shape[:-3]
    y = op(reshape(x, shape=(math.prod(lead), *x.shape[-3:])), windows=tuple(plane))
    pixels = y.shape[-2] * y.shape[-1]
    y = op(reshape(y, shape=(*y.shape[:2], pixels)), windows=(depth, Axis(1, 1, 0, 1, pixels)))
    return reshape(y, shape=(*lead, depth.number, *(axis.number for axis in plane)))
