"""Pooling, padding and upsampling: layers without parameters, which hold a function's options."""

from __future__ import annotations

from typing import Any, ClassVar

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor

from .configured import Configured

Size = int | tuple[int, ...]


class _Pool(Configured):
    """Windows of `kernel_size` numbers along each axis, by default side by side."""

    kernel_size: Size
    stride: Size | None = None
    padding: Size = 0

    def __post_init__(self):
        self.stride = self.kernel_size if self.stride is None else self.stride


def _max_pool(pool: Any, rank: int) -> Any:
    def max_pool(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                 ceil_mode: bool = False, return_indices: bool = False) -> Any:
        if return_indices:
            return ops.max_pool_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode, rank)
        return pool(input, kernel_size, stride, padding, dilation, ceil_mode)

    max_pool.__name__ = max_pool.__qualname__ = pool.__name__
    max_pool.__doc__ = f"{pool.__doc__}\n\nreturn_indices: also return its place, for `ops.max_unpool`."
    return max_pool


max_pool1d, max_pool2d, max_pool3d = (_max_pool(ops.max_pool1d, 1), _max_pool(ops.max_pool2d, 2),
                                      _max_pool(ops.max_pool3d, 3))


class _MaxPool(_Pool):
    dilation: Size = 1
    return_indices: bool = False
    ceil_mode: bool = False

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.return_indices, int):
            raise TypeError(f"{type(self).__name__}: return_indices={self.return_indices!r} must be True or False")

    def extra_repr(self) -> str:
        return super().extra_repr().replace("return_indices=False, ", "")


class MaxPool1d(_MaxPool):
    """The largest of every window of a signal: (batch, channels, length) -> (batch, channels, windows)."""

    op = staticmethod(max_pool1d)


class MaxPool2d(_MaxPool):
    """The largest of every window of an image: (batch, channels, height, width) -> (batch, channels, rows, columns).

    rows = floor((height + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1; see `ops.max_pool2d`.
    return_indices: the pair of maxima and where they were, for `F.max_unpool2d`.
    """

    op = staticmethod(max_pool2d)


class MaxPool3d(_MaxPool):
    """The largest of every window of a volume, see MaxPool2d."""

    op = staticmethod(max_pool3d)


class AvgPool1d(_Pool):
    """The mean of every window of a signal: (batch, channels, length) -> (batch, channels, windows)."""

    op = staticmethod(ops.avg_pool1d)
    ceil_mode: bool = False
    count_include_pad: bool = True


class _AvgPool(_Pool):
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None

    def extra_repr(self) -> str:
        return super().extra_repr().replace(", divisor_override=None", "")


class AvgPool2d(_AvgPool):
    """The mean of every window of an image: (batch, channels, height, width) -> (batch, channels, rows, columns).

    Padding counts as zeros, unless count_include_pad=False. divisor_override: the sums are divided by this number
    instead; see `ops.avg_pool2d`.
    """

    op = staticmethod(ops.avg_pool2d)


class AvgPool3d(_AvgPool):
    """The mean of every window of a volume, see AvgPool2d."""

    op = staticmethod(ops.avg_pool3d)


class AdaptiveAvgPool1d(Configured):
    """Means over windows that share out a signal: (batch, channels, length) -> (batch, channels, output_size)."""

    op = staticmethod(ops.adaptive_avg_pool1d)
    output_size: Any


class AdaptiveAvgPool2d(Configured):
    """Means over windows that share out an image: (batch, channels, height, width) -> (batch, channels, *output_size).

    output_size: a number or a pair; None keeps a size; 1 gives the global average for any image size.
    """

    op = staticmethod(ops.adaptive_avg_pool2d)
    output_size: int | None | tuple[int | None, ...]


class _Pad(Configured):
    """The last axes of x with `padding` elements more on each side; or (left, right), (left, right, top, bottom)."""

    axes: ClassVar[int]
    mode: ClassVar[str]
    padding: Size

    def __post_init__(self):
        sides = self._sides
        if len(sides) != 2 * self.axes or not all(isinstance(n, int) for n in sides):
            raise ValueError(f"{type(self).__name__}: padding must be an integer or {2 * self.axes} of them, "
                             f"got {self.padding!r}")

    @property
    def _sides(self) -> Any:
        return self.padding if isinstance(self.padding, tuple | list) else (self.padding,) * (2 * self.axes)

    def forward(self, x: Tensor) -> Tensor:
        return ops.pad(x, padding=self._sides, mode=self.mode, value=getattr(self, "value", 0.0))


class _ConstantPad(_Pad):
    value: float


_PADS = {"Zero": ("constant", "zeros"), "Reflection": ("reflect", "mirror images, without the edge"),
         "Replication": ("replicate", "copies of the edge"), "Circular": ("circular", "the values at the other side"),
         "Constant": ("constant", "`value`")}
(ZeroPad1d, ZeroPad2d, ZeroPad3d, ReflectionPad1d, ReflectionPad2d, ReflectionPad3d, ReplicationPad1d,
 ReplicationPad2d, ReplicationPad3d, CircularPad1d, CircularPad2d, CircularPad3d, ConstantPad1d, ConstantPad2d,
 ConstantPad3d) = [
    type(f"{name}Pad{axes}d", (_ConstantPad if name == "Constant" else _Pad,), {
        "axes": axes, "mode": mode, "__module__": __name__, "__doc__": f"{str(_Pad.__doc__)[:-1]}: {what}."})
    for name, (mode, what) in _PADS.items() for axes in (1, 2, 3)]


class Upsample(Configured):
    """A signal or an image of another size, or of another size by a factor.

    (batch, channels, *spatial) -> (batch, channels, *size); see `ops.interpolate`, also for the modes. Raises
    ValueError if not exactly one of size and scale_factor is given, and for a mode that does not fit.
    """

    size: Size | None = None
    scale_factor: float | tuple[float, ...] | None = None
    mode: str = "nearest"
    align_corners: bool | None = None

    def __post_init__(self):
        if (self.size is None) == (self.scale_factor is None):
            raise ValueError(f"Upsample: give either size or scale_factor, got size={self.size}, "
                             f"scale_factor={self.scale_factor}")

    def forward(self, x: Tensor) -> Tensor:
        return ops.interpolate(x, self.size, self.scale_factor, self.mode, bool(self.align_corners))


class UpsamplingNearest2d(Upsample):
    """Upsample with mode="nearest"."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "nearest")

    def extra_repr(self) -> str:
        return f"size={self.size!r}, scale_factor={self.scale_factor!r}"


class UpsamplingBilinear2d(Upsample):
    """Upsample with mode="bilinear" and align_corners=True."""

    def __init__(self, size: Any = None, scale_factor: Any = None):
        super().__init__(size, scale_factor, "bilinear", True)

    extra_repr = UpsamplingNearest2d.extra_repr
