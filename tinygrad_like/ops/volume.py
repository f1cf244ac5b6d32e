"""Convolution and pooling over three axes, built from the ops on images and one step along the depth.

A volume is a stack of images. Convolution treats the depth of a window as extra channels of an image; pooling pools the
images first, then the depth.
"""

from __future__ import annotations

import math

from ..core.tensor import Tensor
from ..errors import checked
from .contracts import fits
from .conv import conv2d, conv2d_input, enlarged, geometry, of_one, plus, transposed
from .movement import tap_index, taps
from .padding import pad
from .parts import put, take
from .pool import Axis, max_windows, sum_windows, weighted, windows_of
from .shape import permute, reshape

# Convolution ----------------------------------------------------------------------------------------------------------


@checked
def conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) -> Tensor:
    """out[n, i] = bias_i + sum_j weight[i, j] * x[n, j], with * the cross-correlation of volumes.

    x (batch, in, depth, height, width), weight (out, in / groups, kd, kh, kw) -> (batch, out, depth', height', width').
    Otherwise as conv2d.
    """
    if x.ndim == 4:
        return of_one(conv3d, x, weight, bias, stride, padding, dilation, groups)
    kernel, stride, margins, dilation, _ = geometry("conv3d", x.shape[2:], weight.shape[2:], stride, padding, dilation)
    x = pad(x, padding=(0, 0, 0, 0, *margins[0])) if any(margins[0]) else x
    x = taps(x, 2, kernel[0], stride[0], dilation[0])
    batch, channels, depth, _, *plane = x.shape
    images = reshape(permute(x, axes=(0, 2, 1, 3, 4, 5)), shape=(batch * depth, channels * kernel[0], *plane))
    weight = reshape(weight, shape=(weight.shape[0], weight.shape[1] * kernel[0], *kernel[1:]))
    y = conv2d(images, weight, bias, stride=stride[1:], padding=margins[1:], dilation=dilation[1:], groups=groups)
    return permute(reshape(y, shape=(batch, depth, *y.shape[1:])), axes=(0, 2, 1, 3, 4))


conv3d.requires(fits("weight (groups*out, in, kd, kh, kw), x (batch, groups*in, depth, height, width) or "
                     "(groups*in, depth, height, width), bias? (groups*out)", nonempty="in out kd kh kw"))


@checked
def conv_transpose3d(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) -> Tensor:
    """The adjoint of conv3d, plus a bias: volumes grow. weight (in, out / groups, kd, kh, kw); as conv_transpose2d."""
    if x.ndim == 4:
        return of_one(conv_transpose3d, x, weight, bias, stride, padding, output_padding, groups, dilation)
    how, beyond = transposed(x.shape, weight.shape, stride, padding, output_padding, groups, dilation)
    (batch, channels, depth, *plane), (out, kd) = x.shape, weight.shape[1:3]
    _, every, length, *size = how["shape"]
    (stride, *strides), (margin, *margins), (dilation, *dilations) = how["stride"], how["margins"], how["dilation"]
    images = reshape(permute(x, axes=(0, 2, 1, 3, 4)), shape=(batch * depth, channels, *plane))
    y = conv2d_input(images, reshape(weight, shape=(channels, out * kd, *weight.shape[3:])),
                     shape=(batch * depth, every * kd, *size), stride=tuple(strides), margins=tuple(margins),
                     dilation=tuple(dilations), groups=groups)
    y = permute(reshape(y, shape=(batch, depth, every, kd, *size)), axes=(0, 2, 1, 3, 4, 5))
    padded, whole = length + sum(margin), (slice(None),) * 2
    y = put(y, shape=(batch, every, padded, *size), index=(*whole, tap_index(padded, kd, stride, dilation)))
    return plus(enlarged(take(y, index=(*whole, slice(margin[0], margin[0] + length))), beyond), bias)


conv_transpose3d.requires(fits("weight (groups*in, out, kd, kh, kw), x (batch, groups*in, depth, height, width) or "
                               "(groups*in, depth, height, width), bias? (groups*out)", nonempty="in out kd kh kw"))

# Pooling --------------------------------------------------------------------------------------------------------------


def max_pool3d(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False) -> Tensor:
    """`max_pool2d` over volumes: (batch, channels, depth, height, width) -> (batch, channels, *windows)."""
    windows = windows_of("max_pool3d", x, 3, kernel_size, stride, padding, dilation, ceil_mode)
    return over_volume(max_windows, x, windows)


def avg_pool3d(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
               divisor_override=None) -> Tensor:
    """`avg_pool2d` over volumes: (batch, channels, depth, height, width) -> (batch, channels, *windows)."""
    windows = windows_of("avg_pool3d", x, 3, kernel_size, stride, padding, 1, ceil_mode)
    sums = over_volume(sum_windows, x, windows)
    if divisor_override is not None:
        return sums / divisor_override
    return weighted(sums, windows, x.shape[-3:], count_include_pad)


def over_volume(op, x, windows: tuple[Axis, ...]):
    """A pooling op of images on every image of a volume, and then along the depth."""
    depth, *plane = windows
    lead = x.shape[:-3]
    y = op(reshape(x, shape=(math.prod(lead), *x.shape[-3:])), windows=tuple(plane))
    pixels = y.shape[-2] * y.shape[-1]
    y = op(reshape(y, shape=(*y.shape[:2], pixels)), windows=(depth, Axis(1, 1, 0, 1, pixels)))
    return reshape(y, shape=(*lead, depth.number, *(axis.number for axis in plane)))
