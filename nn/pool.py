"""Pooling, padding and upsampling layers, which hold a function's options."""

from __future__ import annotations

from typing import Any, ClassVar

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor

from .configured import Configured

Size = int | tuple[int, ...]


def _max_pool(pool: Any, rank: int) -> Any:
    def max_pool(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                 ceil_mode: bool = False, return_indices: bool = False) -> Any:
        if return_indices:
            return ops.max_pool_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode, rank)
        return pool(input, kernel_size, stride, padding, dilation, ceil_mode)

    max_pool.__name__ = max_pool.__qualname__ = pool.__name__
    max_pool.__doc__ = f"{pool.__doc__}\n\nreturn_indices: also return the index of each maximum, for `ops.max_unpool`."
    return max_pool


max_pool1d, max_pool2d, max_pool3d = (_max_pool(ops.max_pool1d, 1), _max_pool(ops.max_pool2d, 2),
                                      _max_pool(ops.max_pool3d, 3))


class _Pool(Configured):
    """Windows of `kernel_size` elements along each axis, by default side by side."""

    kernel_size: Size
    stride: Size | None

    def __post_init__(self):
        self.stride = self.kernel_size if self.stride is None else self.stride

    def extra_repr(self) -> str:
        return super().extra_repr().replace("return_indices=False, ", "").replace(", divisor_override=None", "")


class _MaxPool(_Pool):
    takes = "kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"
    return_indices: bool

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.return_indices, int):
            raise TypeError(f"{type(self).__name__}: return_indices={self.return_indices!r} must be True or False")


class MaxPool1d(_MaxPool, op=max_pool1d):
    """The maximum of every window of a signal: (batch, channels, length) -> (batch, channels, windows)."""


class MaxPool2d(_MaxPool, op=max_pool2d):
    """The maximum of every window of an image: (batch, channels, height, width) -> (batch, channels, rows, columns).

    rows = floor((height + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1; see `ops.max_pool2d`.
    return_indices: return a pair, the maxima and their indices, for `F.max_unpool2d`.
    """


class MaxPool3d(_MaxPool, op=max_pool3d):
    """The maximum of every window of a volume, see MaxPool2d."""


class AvgPool1d(_Pool, op=ops.avg_pool1d):
    """The mean of every window of a signal: (batch, channels, length) -> (batch, channels, windows)."""


class AvgPool2d(_Pool, op=ops.avg_pool2d):
    """The mean of every window of an image: (batch, channels, height, width) -> (batch, channels, rows, columns).

    Padding counts as zeros unless count_include_pad=False. divisor_override: divide the sums by this number instead;
    see `ops.avg_pool2d`.
    """


class AvgPool3d(_Pool, op=ops.avg_pool3d):
    """The mean of every window of a volume, see AvgPool2d."""


class AdaptiveAvgPool1d(Configured, op=ops.adaptive_avg_pool1d):
    """Means over windows that cover a signal: (batch, channels, length) -> (batch, channels, output_size)."""


class AdaptiveAvgPool2d(Configured, op=ops.adaptive_avg_pool2d):
    """Means over windows that cover an image: (batch, channels, height, width) -> (batch, channels, *output_size).

    output_size: a number or a pair; None keeps a size; 1 is global average pooling, for any image size.
    """


class _Pad(Configured):
    """Pad the last axes of x by `padding` elements on each side, or by (left, right) or (left, right, top, bottom)."""

    axes: ClassVar[int]
    padding: Size

    def __post_init__(self):
        sides = _sides(self.padding, self.axes)
        if len(sides) != 2 * self.axes or not all(isinstance(n, int) for n in sides):
            raise ValueError(f"{type(self).__name__}: padding must be an integer or {2 * self.axes} of them, "
                             f"got {self.padding!r}")


def _sides(padding: Size, axes: int) -> tuple[int, ...]:
    return tuple(padding) if isinstance(padding, tuple | list) else (padding,) * (2 * axes)


def _pad(name: str, axes: int, mode: str, what: str) -> Any:
    def pad(x: Tensor, padding: Size, value: float = 0.0) -> Tensor:
        return ops.pad(x, padding=_sides(padding, axes), mode=mode, value=value)

    return type(f"{name}Pad{axes}d", (_Pad,), {
        "axes": axes, "takes": ("padding", "value") if name == "Constant" else ("padding",),
        "__module__": __name__, "__doc__": f"{str(_Pad.__doc__)[:-1]}: {what}."}, op=pad)


(ZeroPad1d, ZeroPad2d, ZeroPad3d, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d,
 ReplicationPad2d, ReplicationPad3d, CircularPad1d, CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d,
 ConstantPad3d) = [
    _pad(name, axes, mode, what) for name, mode, what in (
        ("Zero", "constant", "zeros"), ("Reflection", "reflect", "mirror images, without the edge"),
        ("Replication", "replicate", "copies of the edge"), ("Circular", "circular", "values from the opposite side"),
        ("Constant", "constant", "`value`")) for axes in (1, 2, 3)]


class Upsample(Configured, op=ops.interpolate):
    """Resize a signal, an image or a volume to a size or by a factor.

    (batch, channels, *spatial) -> (batch, channels, *size); see `ops.interpolate`, also for the modes. Raises
    ValueError unless exactly one of size and scale_factor is given, and for a mode that does not fit.
    """

    takes: ClassVar[tuple[str, ...] | None] = ("size", "scale_factor", "mode", "align_corners")
    size: Size | None
    scale_factor: float | tuple[float, ...] | None

    def __post_init__(self):
        if (self.size is None) == (self.scale_factor is None):
            raise ValueError(f"Upsample: give either size or scale_factor, got size={self.size}, "
                             f"scale_factor={self.scale_factor}")


class UpsamplingNearest2d(Upsample, op=ops.interpolate):
    """Upsample with mode="nearest"."""

    takes = "size", "scale_factor"


class UpsamplingBilinear2d(Upsample, op=lambda x, size=None, scale_factor=None: ops.interpolate(
        x, size, scale_factor, "bilinear", True)):
    """Upsample with mode="bilinear" and align_corners=True."""

    takes = "size", "scale_factor"
