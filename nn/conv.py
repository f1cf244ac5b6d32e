"""Convolution layers (7.48-7.51; 004)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.ops.axes import each
from tinygrad_like.ops.conv import margins_of

from . import init
from .configured import Configured
from .module import Module, Parameter, check_positive

_PADDING_MODES = {"zeros": "constant", "reflect": "reflect", "replicate": "replicate", "circular": "circular"}


class _Conv(Module):
    """Arguments, parameters and initialisation of a convolution over any number of axes."""

    axes: int
    op: Callable
    transposed = False

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros"):
        who = type(self).__name__
        check_positive(self, in_channels=in_channels, out_channels=out_channels, groups=groups)
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{who}: {in_channels} input and {out_channels} output channels must both be divisible by "
                             f"groups={groups}")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(f"{who}: padding_mode must be one of {', '.join(_PADDING_MODES)}, got {padding_mode!r}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = each(who, "kernel_size", kernel_size, self.axes, 1)
        self.stride = each(who, "stride", stride, self.axes, 1)
        self.dilation = each(who, "dilation", dilation, self.axes, 1)
        if isinstance(padding, str):
            margins_of(who, padding, self.kernel_size, self.stride, self.dilation)  # raises if it does not fit
        self.padding = padding if isinstance(padding, str) else each(who, "padding", padding, self.axes, 0)
        self.padding_mode = padding_mode
        channels = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = Parameter(Tensor.empty(channels[0], channels[1] // groups, *self.kernel_size))
        self.bias = Parameter(Tensor.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias uniformly from [-1/sqrt(fan in), 1/sqrt(fan in)) as in PyTorch."""
        bound = 1 / math.sqrt(math.prod(self.weight.shape[1:]))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def _padded(self, x: Tensor) -> tuple[Tensor, Any]:
        """The input, padded unless with zeros; and the padding left to the op."""
        if self.padding_mode == "zeros":
            return x, self.padding
        if isinstance(self.padding, str):
            margins = margins_of(type(self).__name__, self.padding, self.kernel_size, self.stride, self.dilation)
        else:
            margins = tuple((p, p) for p in self.padding)
        return x.pad((*((0, 0),) * (x.ndim - self.axes), *margins), mode=_PADDING_MODES[self.padding_mode]), 0

    def _check(self, x: Tensor) -> None:
        if x.ndim not in (self.axes + 2, self.axes + 1):
            axes = ("length", "height, width", "depth, height, width")[self.axes - 1]
            raise ValueError(f"{type(self).__name__}: takes (batch, channels, {axes}) or (channels, {axes}), got shape "
                             f"{x.shape}")

    def forward(self, x: Tensor) -> Tensor:
        return self._conv_forward(x, self.weight, self.bias)

    def _conv_forward(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with other weights, such as a low-rank adapter's."""
        self._check(x)
        x, padding = self._padded(x)
        return self.op(x, weight, bias, stride=self.stride, padding=padding, dilation=self.dilation,
                       groups=self.groups)

    def extra_repr(self) -> str:
        parts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        for name, default in (("padding", (0,) * self.axes), ("dilation", (1,) * self.axes), ("groups", 1),
                              ("padding_mode", "zeros")):  # fmt: skip
            if getattr(self, name) != default:
                parts.append(f"{name}={getattr(self, name)!r}")
        return ", ".join(parts + ([] if self.bias is not None else ["bias=False"]))


class Conv1d(_Conv):
    """A convolution of vectors (7.48, 7.50): x (batch, in_channels, length) -> (batch, out_channels, length').

    weight: (out_channels, in_channels / groups, kernel_size); bias: (out_channels,), absent with `bias=False`.
    length' = floor((length + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1

    padding: a number, "same" or "valid"; padding_mode: "zeros", "reflect", "replicate" or "circular".
    Raises ValueError for arguments that are not positive integers, and if groups does not divide the channels.
    """

    axes = 1
    op = staticmethod(ops.conv1d)


class Conv2d(_Conv):
    """A convolution of images (7.51): x (batch, in_channels, height, width) -> (batch, out_channels, height', width').

    weight: (out_channels, in_channels / groups, kh, kw); bias: (out_channels,), left out with `bias=False`.
    height' = floor((height + 2 padding - dilation (kh - 1) - 1) / stride) + 1 (004). The batch axis may be missing.

    kernel_size, stride, padding, dilation: a number, or one for each axis; padding also "same" or "valid".
    groups: groups = in_channels makes a depthwise convolution. padding_mode and errors are those of Conv1d.
    """

    axes = 2
    op = staticmethod(ops.conv2d)


class Conv3d(_Conv):
    """A convolution of volumes: x (batch, in_channels, depth, height, width) -> (batch, out_channels, ...).

    weight: (out_channels, in_channels / groups, kd, kh, kw). Arguments as in Conv2d.
    """

    axes = 3
    op = staticmethod(ops.conv3d)


class _ConvTranspose(_Conv):
    transposed = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1):
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
        self.output_padding = each(type(self).__name__, "output_padding", output_padding, self.axes, 0)

    def forward(self, input: Tensor) -> Tensor:
        self._check(input)
        return self.op(input, self.weight, self.bias, stride=self.stride, padding=self.padding,
                       output_padding=self.output_padding, groups=self.groups, dilation=self.dilation)


class ConvTranspose1d(_ConvTranspose):
    """The adjoint of a Conv1d, with its own weights: x (batch, in_channels, length) -> (batch, out_channels, length').

    weight: (in_channels, out_channels / groups, kernel_size); see ConvTranspose2d.
    """

    axes = 1
    op = staticmethod(ops.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """The adjoint of a Conv2d, with its own weights: it enlarges images.

    x (batch, in_channels, height, width) -> (batch, out_channels, height', width')
    weight: (in_channels, out_channels / groups, kh, kw); bias: (out_channels,), left out with `bias=False`.
    height' = (height - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1
    """

    axes = 2
    op = staticmethod(ops.conv_transpose2d)


class ConvTranspose3d(_ConvTranspose):
    """The adjoint of a Conv3d, with its own weights: it enlarges volumes. Arguments as in ConvTranspose2d."""

    axes = 3
    op = staticmethod(ops.conv_transpose3d)


class Unfold(Configured, op=ops.unfold):
    """Every patch of an image as a column, see `nn.functional.unfold`."""


class Fold(Configured, op=ops.fold):
    """Columns added to the image where their patches were, see `nn.functional.fold`."""
