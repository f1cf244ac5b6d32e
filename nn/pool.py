"""Pooling, upsampling and pixel shuffling: layers without parameters, which hold the arguments of functions."""

from __future__ import annotations

from collections.abc import Callable

from tinygrad_like import Tensor, ops

from .module import Configured

Size = int | tuple[int, ...]


class _MaxPool(Configured):
    op: Callable

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
                 ceil_mode: bool = False):
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.ceil_mode = padding, dilation, ceil_mode

    def forward(self, x: Tensor) -> Tensor:
        return self.op(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


class MaxPool1d(_MaxPool):
    """The largest of every window of a signal: (batch, channels, length) -> (batch, channels, windows)."""

    op = staticmethod(ops.max_pool1d)


class MaxPool2d(_MaxPool):
    """The largest of every window of an image: (batch, channels, height, width) -> (batch, channels, rows, columns).

    rows = floor((height + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1; see `ops.max_pool2d`.
    """

    op = staticmethod(ops.max_pool2d)


class _AvgPool(Configured):
    op: Callable

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True):
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad

    def forward(self, x: Tensor) -> Tensor:
        return self.op(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class AvgPool1d(_AvgPool):
    """The mean of every window of a signal: (batch, channels, length) -> (batch, channels, windows)."""

    op = staticmethod(ops.avg_pool1d)


class AvgPool2d(_AvgPool):
    """The mean of every window of an image: (batch, channels, height, width) -> (batch, channels, rows, columns).

    Padding counts as zeros, unless count_include_pad=False; see `ops.avg_pool2d`.
    """

    op = staticmethod(ops.avg_pool2d)


class _Adaptive(Configured):
    op: Callable

    def __init__(self, output_size: int | None | tuple[int | None, ...]):
        self.output_size = output_size

    def forward(self, x: Tensor) -> Tensor:
        return self.op(x, self.output_size)


class AdaptiveAvgPool1d(_Adaptive):
    """Means over windows that share out a signal: (batch, channels, length) -> (batch, channels, output_size)."""

    op = staticmethod(ops.adaptive_avg_pool1d)


class AdaptiveAvgPool2d(_Adaptive):
    """Means over windows that share out an image: (batch, channels, height, width) -> (batch, channels, *output_size).

    output_size: a number or a pair; None keeps a size; 1 gives the global average for any image size.
    """

    op = staticmethod(ops.adaptive_avg_pool2d)


class AdaptiveMaxPool1d(_Adaptive):
    """Maxima over windows that share out a signal: (batch, channels, length) -> (batch, channels, output_size)."""

    op = staticmethod(ops.adaptive_max_pool1d)


class AdaptiveMaxPool2d(_Adaptive):
    """Maxima over windows that share out an image: (batch, channels, height, width) -> (batch, channels, *output_size).

    output_size: a number or a pair; None keeps a size.
    """

    op = staticmethod(ops.adaptive_max_pool2d)


class Upsample(Configured):
    """A signal or an image enlarged by repeating its elements, to a size or by a whole number of times.

    (batch, channels, *spatial) -> (batch, channels, *size); see `ops.interpolate`. Raises ValueError for a mode other
    than "nearest", or if not exactly one of size and scale_factor is given.
    """

    def __init__(self, size: Size | None = None, scale_factor: Size | None = None, mode: str = "nearest"):
        if (size is None) == (scale_factor is None):
            raise ValueError(f"Upsample: give either size or scale_factor, got size={size}, "
                             f"scale_factor={scale_factor}")
        if mode != "nearest":
            raise ValueError(f'Upsample: mode must be "nearest", got {mode!r}')
        self.size, self.scale_factor, self.mode = size, scale_factor, mode

    def forward(self, x: Tensor) -> Tensor:
        return ops.interpolate(x, self.size, self.scale_factor, self.mode)


def pixel_shuffle(x: Tensor, upscale_factor: int) -> Tensor:
    """(..., channels r^2, height, width) -> (..., channels, height r, width r): channels become pixels.

    Source: Shi et al. 2016. Raises ValueError if r^2 does not divide the channels.
    """
    r = upscale_factor
    if x.ndim < 3 or r < 1 or x.shape[-3] % r**2:
        raise ValueError(f"pixel_shuffle: takes (..., channels, height, width) with channels divisible by {r}^2, got "
                         f"shape {x.shape}")
    *batch, c, h, w = x.shape
    n = len(batch)
    y = x.reshape(*batch, c // r**2, r, r, h, w).permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return y.reshape(*batch, c // r**2, h * r, w * r)


def pixel_unshuffle(x: Tensor, downscale_factor: int) -> Tensor:
    """(..., channels, height r, width r) -> (..., channels r^2, height, width): the inverse of `pixel_shuffle`."""
    r = downscale_factor
    if x.ndim < 3 or r < 1 or x.shape[-1] % r or x.shape[-2] % r:
        raise ValueError(f"pixel_unshuffle: takes (..., channels, height, width) with sizes divisible by {r}, got "
                         f"shape {x.shape}")
    *batch, c, h, w = x.shape
    n = len(batch)
    y = x.reshape(*batch, c, h // r, r, w // r, r).permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return y.reshape(*batch, c * r**2, h // r, w // r)


class PixelShuffle(Configured):
    """(..., channels r^2, height, width) -> (..., channels, height r, width r), see `nn.functional.pixel_shuffle`."""

    def __init__(self, upscale_factor: int):
        self.upscale_factor = upscale_factor

    def forward(self, x: Tensor) -> Tensor:
        return pixel_shuffle(x, self.upscale_factor)


class PixelUnshuffle(Configured):
    """(..., channels, height r, width r) -> (..., channels r^2, height, width), the inverse of PixelShuffle."""

    def __init__(self, downscale_factor: int):
        self.downscale_factor = downscale_factor

    def forward(self, x: Tensor) -> Tensor:
        return pixel_unshuffle(x, self.downscale_factor)
