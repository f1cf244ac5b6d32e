"""Pooling, padding, upsampling and pixel shuffling: layers without parameters, which hold a function's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor

from .module import Configured

Size = int | tuple[int, ...]


class _MaxPool(Configured):
    op: Callable
    rank: int

    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, dilation: Size = 1,
                 return_indices: bool = False, ceil_mode: bool = False):
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.ceil_mode = padding, dilation, ceil_mode
        if not isinstance(return_indices, int):
            raise TypeError(f"{type(self).__name__}: return_indices={return_indices!r} must be True or False")
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return super().extra_repr().replace("return_indices=False, ", "")

    def forward(self, x: Tensor) -> Any:
        if self.return_indices:
            return ops.max_pool_with_indices(x, self.kernel_size, self.stride, self.padding, self.dilation,
                                             self.ceil_mode, self.rank)
        return self.op(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


class MaxPool1d(_MaxPool):
    """The largest of every window of a signal: (batch, channels, length) -> (batch, channels, windows)."""

    rank = 1
    op = staticmethod(ops.max_pool1d)


class MaxPool2d(_MaxPool):
    """The largest of every window of an image: (batch, channels, height, width) -> (batch, channels, rows, columns).

    rows = floor((height + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1; see `ops.max_pool2d`.
    return_indices: the pair of maxima and where they were, for MaxUnpool2d.
    """

    rank = 2
    op = staticmethod(ops.max_pool2d)


class MaxPool3d(_MaxPool):
    """The largest of every window of a volume, see MaxPool2d."""

    rank = 3
    op = staticmethod(ops.max_pool3d)


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


class _DividedPool(_AvgPool):
    def __init__(self, kernel_size: Size, stride: Size | None = None, padding: Size = 0, ceil_mode: bool = False,
                 count_include_pad: bool = True, divisor_override: int | None = None):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def extra_repr(self) -> str:
        return super().extra_repr().replace(", divisor_override=None", "")

    def forward(self, x: Tensor) -> Tensor:
        return self.op(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                       self.divisor_override)


class AvgPool2d(_DividedPool):
    """The mean of every window of an image: (batch, channels, height, width) -> (batch, channels, rows, columns).

    Padding counts as zeros, unless count_include_pad=False. divisor_override: the sums are divided by this number
    instead; see `ops.avg_pool2d`.
    """

    op = staticmethod(ops.avg_pool2d)


class AvgPool3d(_DividedPool):
    """The mean of every window of a volume, see AvgPool2d."""

    op = staticmethod(ops.avg_pool3d)


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


class _Pad(Configured):
    """The last axes of x with `padding` elements more on each side; or (left, right), (left, right, top, bottom)."""

    axes: int
    mode: str

    def __init__(self, padding: Size):
        sides = padding if isinstance(padding, tuple | list) else (padding,) * (2 * self.axes)
        if len(sides) != 2 * self.axes or not all(isinstance(n, int) for n in sides):
            raise ValueError(f"{type(self).__name__}: padding must be an integer or {2 * self.axes} of them, "
                             f"got {padding!r}")
        self.padding = padding

    def forward(self, x: Tensor) -> Tensor:
        sides = (self.padding,) * (2 * self.axes) if isinstance(self.padding, int) else self.padding
        return ops.pad(x, padding=sides, mode=self.mode)


_PADS = {"Zero": ("constant", "zeros"), "Reflection": ("reflect", "mirror images, without the edge"),
         "Replication": ("replicate", "copies of the edge"), "Circular": ("circular", "the values at the other side")}
(ZeroPad1d, ZeroPad2d, ZeroPad3d, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d,
 ReplicationPad2d, ReplicationPad3d, CircularPad1d, CircularPad2d, CircularPad3d) = [
    type(f"{name}Pad{axes}d", (_Pad,), {"axes": axes, "mode": mode, "__module__": __name__,
                                        "__doc__": f"{str(_Pad.__doc__)[:-1]}: {what}."})
    for name, (mode, what) in _PADS.items() for axes in (1, 2, 3)]


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


class Upsample(Configured):
    """A signal or an image of another size, or of another size by a factor.

    (batch, channels, *spatial) -> (batch, channels, *size); see `ops.interpolate`, also for the modes. Raises
    ValueError if not exactly one of size and scale_factor is given, and for a mode that does not fit.
    """

    def __init__(self, size: Size | None = None, scale_factor: float | tuple[float, ...] | None = None,
                 mode: str = "nearest", align_corners: bool | None = None):
        if (size is None) == (scale_factor is None):
            raise ValueError(f"Upsample: give either size or scale_factor, got size={size}, "
                             f"scale_factor={scale_factor}")
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners

    def forward(self, x: Tensor) -> Tensor:
        return ops.interpolate(x, self.size, self.scale_factor, self.mode, bool(self.align_corners))


class UpsamplingNearest2d(Upsample):
    """Upsample with mode="nearest"."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample with mode="bilinear" and align_corners=True."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "bilinear", True)
