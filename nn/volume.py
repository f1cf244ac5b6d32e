"""Layers for volumes, (batch, channels, depth, height, width), and the paddings of any number of axes by a constant."""

from __future__ import annotations

from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import named

from .conv import _Conv, _ConvTranspose
from .dropout import _Dropout
from .norm import BatchNorm2d, InstanceNorm2d
from .pool import _DividedPool, _MaxPool, _Pad

_VOLUME = {5: "batch, channels, depth, height, width"}


class Conv3d(_Conv):
    """A convolution of volumes: x (batch, in_channels, depth, height, width) -> (batch, out_channels, ...).

    weight: (out_channels, in_channels / groups, kd, kh, kw). Arguments as of Conv2d.
    """

    axes = 3
    op = staticmethod(ops.conv3d)


class ConvTranspose3d(_ConvTranspose):
    """The adjoint of a Conv3d, with its own weights: it makes volumes larger. Arguments as of ConvTranspose2d."""

    axes = 3
    op = staticmethod(ops.conv_transpose3d)


class MaxPool3d(_MaxPool):
    """The largest of every window of a volume, see MaxPool2d."""

    rank = 3
    op = staticmethod(ops.max_pool3d)


class AvgPool3d(_DividedPool):
    """The mean of every window of a volume, see AvgPool2d."""

    op = staticmethod(ops.avg_pool3d)


class BatchNorm3d(BatchNorm2d):
    """BatchNorm2d for volumes: x (batch, num_features, depth, height, width)."""

    axes = _VOLUME


class InstanceNorm3d(InstanceNorm2d):
    """InstanceNorm2d for volumes: x (batch, num_features, depth, height, width), or without a batch."""

    axes = {4: "channels, depth, height, width", **_VOLUME}


@named
def dropout3d(input: Tensor, p: float = 0.5, training: bool = True) -> Tensor:
    """Dropout of whole channels of volumes: x (batch, channels, depth, height, width)."""
    if input.ndim == 4:  # one volume
        return dropout3d(input.unsqueeze(0), p, training).squeeze(0)
    if input.ndim != 5:
        raise ValueError(f"dropout3d: takes (batch, channels, depth, height, width), got shape {input.shape}")
    flat = ops.dropout2d(input.reshape(*input.shape[:3], -1), p, training)
    return flat.reshape(*input.shape)


class Dropout3d(_Dropout):
    """Dropout of whole channels of volumes: x (batch, channels, depth, height, width)."""

    op = staticmethod(dropout3d)


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: Any, value: float):
        super().__init__(padding)
        self.value = value

    def forward(self, x: Tensor) -> Tensor:
        sides = (self.padding,) * (2 * self.axes) if isinstance(self.padding, int) else self.padding
        return ops.pad(x, padding=sides, value=self.value)


(ConstantPad1d, ConstantPad2d, ConstantPad3d) = [
    type(f"ConstantPad{axes}d", (_ConstantPad,), {
        "axes": axes, "__module__": __name__, "__doc__": f"{str(_Pad.__doc__)[:-1]}: `value`."}) for axes in (1, 2, 3)]
