"""Unfold and Fold, local response normalisation, pooling by powers, unpooling, shuffled channels, alpha dropout."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinygrad_like import ops, random
from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.errors import named
from tinygrad_like.ops.dropout import check_probability

from .activation import InPlace
from .module import Configured, Module, check_positive
from .pool import Upsample


class Unfold(Configured):
    """Every patch of an image as a column, see `nn.functional.unfold`."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, x: Tensor) -> Tensor:
        return ops.unfold(x, kernel_size=self.kernel_size, dilation=self.dilation, padding=self.padding,
                          stride=self.stride)


class Fold(Configured):
    """Columns added to the image where their patches were, see `nn.functional.fold`."""

    def __init__(self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1):
        self.output_size, self.kernel_size, self.dilation = output_size, kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, x: Tensor) -> Tensor:
        return ops.fold(x, output_size=self.output_size, kernel_size=self.kernel_size, dilation=self.dilation,
                        padding=self.padding, stride=self.stride)


@named
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """x / (k + alpha m)^beta, with m the mean of x^2 over `size` neighbouring channels, zeros beyond the ends.

    Source: Krizhevsky et al. 2012. Raises ValueError for an input of less than three axes.
    """
    if input.ndim < 3 or not isinstance(size, int) or size < 1:
        raise ValueError(f"local_response_norm: takes (batch, channels, ...) and a positive size, got shape "
                         f"{input.shape} and {size!r}")
    channels = input.shape[1]
    rest = math.prod(input.shape[2:])
    squares = ops.pad(input.square().reshape(len(input), channels, rest), padding=(0, 0, size // 2, (size - 1) // 2))
    total = squares[:, :channels]
    for i in range(1, size):
        total = total + squares[:, i:i + channels]
    return input / (total.reshape(*input.shape) * (alpha / size) + k) ** beta


class LocalResponseNorm(Configured):
    """x / (k + alpha m)^beta, with m the mean of x^2 over `size` neighbouring channels (Krizhevsky et al. 2012)."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0):
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, x: Tensor) -> Tensor:
        return local_response_norm(x, self.size, self.alpha, self.beta, self.k)


@named
def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum x^p)^(1/p) over every window of a signal; 0, with gradient 0, where the sum is."""
    width = kernel_size if isinstance(kernel_size, int) else kernel_size[0]
    return _root_of_powers(ops.avg_pool1d(input**norm_type, kernel_size, stride, 0, ceil_mode), width, norm_type)


@named
def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """(sum x^p)^(1/p) over every window of an image; 0, with gradient 0, where the sum is."""
    area = kernel_size**2 if isinstance(kernel_size, int) else kernel_size[0] * kernel_size[1]
    return _root_of_powers(ops.avg_pool2d(input**norm_type, kernel_size, stride, 0, ceil_mode), area, norm_type)


def _root_of_powers(mean: Tensor, count: int, p: float) -> Tensor:
    total = mean * count
    there = total != 0
    return ops.where(there, ops.where(there, total, 1.0) ** (1 / p), 0.0)


class _LPPool(Configured):
    op: Any

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False):
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, x: Tensor) -> Tensor:
        return self.op(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPool):
    """(sum x^p)^(1/p) over every window of a signal, with p = norm_type."""

    op = staticmethod(lp_pool1d)


class LPPool2d(_LPPool):
    """(sum x^p)^(1/p) over every window of an image, with p = norm_type."""

    op = staticmethod(lp_pool2d)


class _MaxUnpool(Configured):
    rank: int

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0):
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, x: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        return ops.max_unpool(x, indices, self.kernel_size, self.stride, self.padding, output_size, self.rank)


class MaxUnpool1d(_MaxUnpool):
    """Zeros, with x where the maxima of a MaxPool1d with return_indices=True were."""

    rank = 1


class MaxUnpool2d(_MaxUnpool):
    """Zeros, with x where the maxima of a MaxPool2d with return_indices=True were."""

    rank = 2


class MaxUnpool3d(_MaxUnpool):
    """Zeros, with x where the maxima of a MaxPool3d with return_indices=True were."""

    rank = 3


@named
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels (axis 1) of all groups in turn: of g groups of n, channel i g + j is number i of group j."""
    if input.ndim < 3 or groups < 1 or input.shape[1] % groups:
        raise ValueError(f"channel_shuffle: takes (batch, channels, ...) with channels divisible by groups={groups}, "
                         f"got shape {input.shape}")
    batch, channels, *rest = input.shape
    if groups in (1, channels):  # where nothing moves, and what does would be a copy
        return input.clone()
    return input.reshape(batch, groups, channels // groups, *rest).transpose(1, 2).reshape(*input.shape)


class ChannelShuffle(Configured):
    """The channels of all groups in turn, see `nn.functional.channel_shuffle` (Zhang et al. 2018)."""

    def __init__(self, groups: int):
        check_positive(self, groups=groups)
        self.groups = groups

    def forward(self, x: Tensor) -> Tensor:
        return channel_shuffle(x, self.groups)


class UpsamplingNearest2d(Upsample):
    """Upsample with mode="nearest"."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample with mode="bilinear" and align_corners=True."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "bilinear", True)


_ALPHA = -1.7580993408473766  # what a SELU gives far below 0


@named
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """Dropout that keeps means 0 and variances 1 of a net of SELUs: what is dropped becomes -1.758, and all is scaled.

    Source: Klambauer et al. 2017.
    """
    return _alpha_dropout("alpha_dropout", input, p, training, input.shape)


@named
def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Tensor:
    """`alpha_dropout` of whole channels: x (batch, channels, ...)."""
    shape = (*input.shape[:2], *(1,) * (input.ndim - 2))
    return _alpha_dropout("feature_alpha_dropout", input, p, training, shape)


def _alpha_dropout(who: str, x: Tensor, p: float, training: bool, shape: tuple) -> Tensor:
    check_probability(who, p)
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0.0
    a = (1 / (1 - p) / (1 + p * _ALPHA**2)) ** 0.5
    kept = wrap(random.drawn(lambda: (random.generator.random(shape, np.float32) >= p).astype(x.dtype)))
    return x * kept * a + (1 - kept) * (a * _ALPHA) - a * _ALPHA * p


class AlphaDropout(InPlace):
    """Dropout for nets of SELUs, see `nn.functional.alpha_dropout`."""

    drops = True
    op = staticmethod(alpha_dropout)

    def __init__(self, p: float = 0.5):
        check_probability(type(self).__name__, p)
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        return type(self).op(x, self.p, self.training)


class FeatureAlphaDropout(AlphaDropout):
    """AlphaDropout of whole channels."""

    op = staticmethod(feature_alpha_dropout)


class DataParallel(Module):
    """The module itself, as `module`: there is one processor. `tinygrad_like.distributed` shares batches by MPI."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        if not isinstance(module, Module):
            raise TypeError(f"DataParallel: takes a module, got {type(module).__name__}")
        self.module = module

    def forward(self, *inputs: Any, **options: Any) -> Any:
        return self.module(*inputs, **options)
