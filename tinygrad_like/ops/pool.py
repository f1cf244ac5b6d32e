"""Pooling: maxima, sums and means over windows of an image; and their adjoints.

A window of kernel_size taps slides over the image by `stride`; its taps are `dilation` apart. Every op here loops over
the taps (a, b) of a window: the elements that all windows see at one tap are a plain strided slice.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..core.primitive import Residuals, fresh, primitive
from ..core.tensor import Tensor
from ..errors import checked, refusal
from ..rings import replaceable
from .along import gather
from .axes import each
from .contracts import fits
from .elementwise import mul
from .matmul import matmul
from .reduce import mean
from .scatter import _to_places, scatter_last
from .shape import reshape, unsqueeze


class Axis(NamedTuple):
    """The windows along one axis: window i of `number` sees the positions i * stride - padding + tap * dilation."""

    kernel: int
    stride: int
    padding: int
    dilation: int
    number: int

    @property
    def extent(self) -> int:
        """The length from the first position of the first window to the last position of the last window."""
        return (self.number - 1) * self.stride + (self.kernel - 1) * self.dilation + 1

    def at(self, tap: int) -> slice:
        """The positions of this tap in all windows, counted from the first position of the first window."""
        start = tap * self.dilation
        return slice(start, start + (self.number - 1) * self.stride + 1, self.stride)

    def inside(self, n: int) -> slice:
        """The part of an axis of n elements that windows reach, counted from the same position."""
        return slice(self.padding, min(self.padding + n, self.extent))

    def lengths(self, start: int, stop: int) -> np.ndarray:
        """The number of positions of each window, without dilation, between start and stop."""
        first = np.arange(self.number) * self.stride - self.padding
        return np.minimum(first + self.kernel, stop) - np.maximum(first, start)


Windows = tuple[Axis, Axis]  # along height and width
ONE = Axis(1, 1, 0, 1, 1)


@functools.lru_cache
def _first_taps(axis: Axis) -> np.ndarray:
    """The first tap of each window that lies beyond the padding before the image."""
    return np.maximum(0, -((np.arange(axis.number) * axis.stride - axis.padding) // axis.dilation))


def _frame(shape: tuple[int, ...], windows: Windows, fill: float, dtype) -> tuple[np.ndarray, np.ndarray, tuple]:
    """(frame, inside, part): an array over the windows' extent, filled with `fill`; a view of where it covers images of
    `shape`; and the part of the images that it covers."""
    rows, columns = windows
    frame = np.full((*shape[:-2], rows.extent, columns.extent), fill, dtype)
    common = frame[..., rows.inside(shape[-2]), columns.inside(shape[-1])]
    return frame, common, (..., slice(common.shape[-2]), slice(common.shape[-1]))


def _framed(x: np.ndarray, windows: Windows, fill: float) -> np.ndarray:
    """x copied into a frame, see `_frame`."""
    frame, common, part = _frame(x.shape, windows, fill, x.dtype)
    common[...] = x[part]
    return frame


def _taps(frame: np.ndarray, windows: Windows) -> Iterator[tuple[int, np.ndarray]]:
    """For each tap, row by row: its number, and a view of what every window sees there, (..., rows, columns)."""
    rows, columns = windows
    for a in range(rows.kernel):
        for b in range(columns.kernel):
            yield a * columns.kernel + b, frame[..., rows.at(a), columns.at(b)]


# Maxima: the cotangent of a window goes to its largest element, in row-major order the first of ties ---------


@primitive
@replaceable
def max_windows(x, *, windows):
    """The largest element of every window, or NaN if the window has one."""
    rows, columns = windows
    first_rows, first_columns = _first_taps(rows), _first_taps(columns)
    taps = rows.kernel * columns.kernel
    least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    y = np.full((*x.shape[:-2], rows.number, columns.number), least, x.dtype)
    # If all elements are the dtype's minimum, none exceeds y's initial value: take the first outside the padding.
    index = np.empty(y.shape, np.min_scalar_type(taps - 1))
    index[...] = first_rows[:, None] * columns.kernel + first_columns
    for tap, values in _taps(_framed(x, windows, least), windows):
        larger = ~(values <= y) & (y == y)  # unlike values > y, true for the first NaN
        y[larger], index[larger] = values[larger], tap
    return y, Residuals(index=index)


@primitive
@replaceable
def put_taps(g, *, index, shape, windows):
    """Zeros of `shape`, with each g added at tap `index` of its window. The adjoint of take_taps."""
    frame, common, part = _frame(shape, windows, 0, g.dtype)
    for tap, values in _taps(frame, windows):
        values += np.where(index == tap, g, 0)
    x = np.zeros(shape, g.dtype)  # also where no window reaches
    x[part] = common
    return x


@primitive
def take_taps(x, *, index, windows):
    """The element at tap `index` of each window."""
    y = np.zeros(index.shape, x.dtype)
    for tap, values in _taps(_framed(x, windows, 0), windows):
        np.copyto(y, values, where=index == tap)
    return y


max_windows.vjp(x=fresh(lambda g, x_shape, index, windows: put_taps(g, index=index, shape=x_shape, windows=windows)))
put_taps.vjp(g=fresh(lambda g, index, windows: take_taps(g, index=index, windows=windows)))
take_taps.vjp(x=fresh(lambda g, x_shape, index, windows: put_taps(g, index=index, shape=x_shape, windows=windows)))


def max_pool2d(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False) -> Tensor:
    """The largest element of every window: (batch, channels, height, width) -> (batch, channels, rows, columns).

    rows = floor((height + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1, and likewise columns; with
    ceil_mode rounded up, but no window starts beyond the image and its left padding. Padding is -inf. The arguments are
    numbers, or (vertical, horizontal) pairs; stride is kernel_size unless given. The batch axis may be missing.

    The cotangent goes to the largest element, in row-major order the first of ties, as in PyTorch.

    Raises ValueError if x has other axes, a window exceeds the padded image or lies in the padding alone, or the
    padding exceeds half the kernel; TypeError for booleans. Integers stay integers.
    """
    return max_windows(x, windows=windows_of("max_pool2d", x, 2, kernel_size, stride, padding, dilation, ceil_mode))


def max_pool1d(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False) -> Tensor:
    """`max_pool2d` over the last axis only: (batch, channels, length) -> (batch, channels, windows)."""
    windows = windows_of("max_pool1d", x, 1, kernel_size, stride, padding, dilation, ceil_mode)
    return _signal(max_windows(_image(x), windows=windows))


# Sums and means: every element of a window gets the window's cotangent ------------------------------------------------


@primitive
def sum_windows(x, *, windows):
    """The sum of every window."""
    rows, columns = windows
    y = np.zeros((*x.shape[:-2], rows.number, columns.number), x.dtype)
    for _, values in _taps(_framed(x, windows, 0), windows):
        y += values
    return y


@primitive
def spread_windows(g, *, shape, windows):
    """Zeros of `shape`, with each g added to every element of its window: the adjoint of sum_windows."""
    frame, common, part = _frame(shape, windows, 0, g.dtype)
    for _, values in _taps(frame, windows):
        values += g
    x = np.zeros(shape, g.dtype)
    x[part] = common
    return x


sum_windows.vjp(x=fresh(lambda g, x_shape, windows: spread_windows(g, shape=x_shape, windows=windows)))
spread_windows.vjp(g=fresh(lambda g, windows: sum_windows(g, windows=windows)))


def avg_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True,
               divisor_override=None) -> Tensor:
    """The mean of every window: (batch, channels, height, width) -> (batch, channels, rows, columns).

    Shapes, arguments and errors are those of `max_pool2d`. Padding zeros count as elements unless
    count_include_pad=False; rows that ceil_mode adds never count. divisor_override: divide the sums by this number
    instead.
    """
    windows = windows_of("avg_pool2d", x, 2, kernel_size, stride, padding, 1, ceil_mode)
    if divisor_override is not None:
        return sum_windows(x, windows=windows) / divisor_override
    return _mean(x, windows, count_include_pad)


def avg_pool1d(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True) -> Tensor:
    """`avg_pool2d` over the last axis only: (batch, channels, length) -> (batch, channels, windows)."""
    windows = windows_of("avg_pool1d", x, 1, kernel_size, stride, padding, 1, ceil_mode)
    return _signal(_mean(_image(x), windows, count_include_pad))


def _mean(x, windows: tuple[Axis, ...], count_include_pad: bool):
    return weighted(sum_windows(x, windows=windows), windows, x.shape[-2:], count_include_pad)


def weighted(sums, windows: tuple[Axis, ...], shape: tuple[int, ...], count_include_pad: bool):
    """The sums of all windows on images or volumes of `shape`, divided by each window's number of elements."""
    weight = _weight(windows, shape, count_include_pad)
    return mul(sums, weight if isinstance(weight, float) else weight.astype(sums.dtype))


@functools.lru_cache
def _weight(windows: tuple[Axis, ...], shape: tuple[int, ...], count_include_pad: bool) -> float | np.ndarray:
    """1 / (number of elements) of each window; one number if it is the same for all."""
    margins = [axis.padding if count_include_pad else 0 for axis in windows]
    lengths = [axis.lengths(-m, n + m) for axis, n, m in zip(windows, shape, margins, strict=True)]
    weight = 1 / functools.reduce(np.multiply.outer, lengths)
    return float(weight.flat[0]) if (weight == weight.flat[0]).all() else weight


# Adaptive pooling: the output size determines the windows -----------------------------------------------------


def adaptive_avg_pool2d(x, output_size) -> Tensor:
    """Means over windows that cover the image: (batch, channels, height, width) -> (batch, channels, *output_size).

    Output i of m covers the elements floor(i n / m) to ceil((i + 1) n / m) of n. output_size is a number or a pair;
    None keeps a size. 1 is the global average. Raises ValueError for other axes or sizes, TypeError for integers.
    """
    return _adaptive_mean(x, _output_size("adaptive_avg_pool2d", x, 2, output_size))


def adaptive_avg_pool1d(x, output_size) -> Tensor:
    """`adaptive_avg_pool2d` over the last axis only: (batch, channels, length) -> (batch, channels, output_size)."""
    return _signal(_adaptive_mean(_image(x), (1, *_output_size("adaptive_avg_pool1d", x, 1, output_size))))


def _adaptive_mean(x, size: tuple[int, ...]):
    if size == (1, 1):
        return mean(x, axis=(-2, -1), keepdim=True)
    windows = _tiles(x.shape[-2:], size)
    if windows:
        return _mean(x, windows, True)
    # Windows of different sizes: each mean is a product with a row of weights, first over columns, then over rows.
    rows, columns = (_weights(n, m, x.dtype) for n, m in zip(x.shape[-2:], size, strict=True))
    return matmul(rows, matmul(x, columns.T))


@functools.lru_cache(64)
def _weights(n: int, m: int, dtype: np.dtype) -> np.ndarray:
    """The matrix (m, n) that maps n numbers to their means over m adaptive windows. Read-only."""
    weights = np.zeros((m, n))
    for i in range(m):
        start, stop = i * n // m, -(-(i + 1) * n // m)
        weights[i, start:stop] = 1 / (stop - start)
    return weights.astype(dtype)


def _tiles(shape: tuple[int, ...], size: tuple[int, ...]) -> Windows | None:
    """`size` windows of equal sizes, side by side; None if they do not cover `shape`."""
    if any(n % m for n, m in zip(shape, size, strict=True)):
        return None
    rows, columns = (Axis(n // m, n // m, 0, 1, m) for n, m in zip(shape, size, strict=True))
    return rows, columns


# Indices of maxima ----------------------------------------------------------------------------------------------------


@primitive
def positions(x, *, windows):
    """The row-major index in its image of the largest element of each window, the first of ties."""
    _, kept = max_windows.forward(x, windows=windows)
    numbers = np.arange(math.prod(x.shape[-2:])).reshape(x.shape[-2:])
    return take_taps.forward(np.broadcast_to(numbers, x.shape), index=kept["index"], windows=windows)


def max_pool_with_indices(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
                          rank=2) -> tuple[Tensor, ...]:
    """Max pooling over the last `rank` axes, 1 or 2: (maxima, indices), both (batch, channels, *windows).

    An index counts the elements of a channel in row-major order. See `max_pool2d`.
    """
    if rank > 2:
        raise NotImplementedError("max_pool3d: return_indices is not supported for volumes; leave it out")
    windows = windows_of(f"max_pool{rank}d", x, rank, kernel_size, stride, padding, dilation, ceil_mode)
    lead, spatial = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    n, shape = math.prod(lead), (*lead, *(axis.number for axis in windows[-rank:]))
    index = positions(reshape(x, shape=(n, *((1,) * (2 - rank)), *spatial)), windows=windows)
    index = reshape(index, shape=(n, math.prod(shape[len(lead) :])))
    maxima = gather(reshape(x, shape=(n, math.prod(spatial))), index, axis=1)
    return reshape(maxima, shape=shape), reshape(index, shape=shape)


@checked
def max_unpool(x, indices, kernel_size, stride=None, padding=0, output_size=None, rank=2) -> Tensor:
    """Zeros, with x at the indices of `max_pool_with_indices`: (batch, channels, *windows) -> (..., *output_size).

    output_size: the size of the pooling's input, by default (windows - 1) stride - 2 padding + kernel_size.
    Raises ValueError for shapes that differ, IndexError for an index beyond the output.
    """
    who = f"max_unpool{rank}d"
    lead, spatial = x.shape[:-rank], x.shape[-rank:]
    kernels = each(who, "kernel_size", kernel_size, rank, 1)
    strides = kernels if stride is None else each(who, "stride", stride, rank, 1)
    paddings = each(who, "padding", padding, rank, 0)
    if output_size is None:
        output_size = [(n - 1) * s - 2 * p + k for n, s, p, k in zip(spatial, strides, paddings, kernels, strict=True)]
    size = each(who, "output_size", tuple(output_size)[-rank:], rank, 1)
    n, m = math.prod(lead), math.prod(spatial)
    zeros = np.zeros((n, math.prod(size)), x.dtype)
    y = _to_places(who, zeros, reshape(indices, shape=(n, m)), reshape(x, shape=(n, m)), 1, scatter_last)
    return reshape(y, shape=(*lead, *size))


@max_unpool.requires
def _(x, indices, rank):
    if x.ndim not in (rank + 1, rank + 2) or x.shape != indices.shape:
        raise refusal(f"max_unpool{rank}d", f"takes values and indices (batch, channels, ...) of one shape, got "
                                            f"{x.shape} and {indices.shape}")


# Arguments ------------------------------------------------------------------------------------------------------------

_OF_RANK = {(rank, kind): fits(f"{kind} x (batch, channels, {axes}) or (channels, {axes})")
            for rank, axes in enumerate(("length", "height, width", "depth, height, width"), 1)
            for kind in ("float", "real")}


def _image(x):
    """Signals (batch, channels, length) as images of height 1."""
    return unsqueeze(x, -2)


def _signal(x):
    """Images of height 1 as signals."""
    return reshape(x, shape=(*x.shape[:-2], x.shape[-1]))


def check_spatial(who: str, x, integers: bool = False) -> int:
    """How many spatial axes x (batch, channels, *spatial) has: one, two or three."""
    if x.ndim not in (3, 4, 5):
        raise ValueError(f"{who}: takes (batch, channels, *spatial) with one to three spatial axes, got shape "
                         f"{x.shape}")
    _check_axes(who, x, x.ndim - 2, integers)
    return x.ndim - 2


def _check_axes(who: str, x, rank: int, integers: bool = False) -> None:
    if (why := _OF_RANK[rank, "real" if integers else "float"](x)) is not None:
        raise refusal(who, why)


def windows_of(who: str, x, rank: int, kernel_size, stride, padding, dilation, ceil_mode) -> tuple[Axis, ...]:
    """The windows along each spatial axis; for one axis they are those of an image of height 1."""
    _check_axes(who, x, rank, integers="max_pool" in who)
    kernels_ = each(who, "kernel_size", kernel_size, rank, 1)
    strides = kernels_ if stride is None else each(who, "stride", stride, rank, 1)
    paddings = each(who, "padding", padding, rank, 0)
    dilations = each(who, "dilation", dilation, rank, 1)
    axes = [_axis(who, x.shape, axis, ceil_mode, *settings) for axis, *settings
            in zip(range(-rank, 0), kernels_, strides, paddings, dilations, strict=True)]
    return (ONE, *axes) if rank == 1 else tuple(axes)


@functools.lru_cache
def _axis(who: str, shape: tuple[int, ...], axis: int, ceil_mode: bool, kernel: int, stride: int, padding: int,
          dilation: int) -> Axis:
    n = shape[axis]
    if 2 * padding > kernel:
        raise ValueError(f"{who}: padding {padding} exceeds half the kernel_size {kernel} along axis {axis}; "
                         "some windows would see only padding")
    span = dilation * (kernel - 1) + 1
    room = n + 2 * padding - span
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    if count < 1:
        dilated = f" with dilation {dilation} spans {span}, which" if dilation > 1 else ""
        raise ValueError(f"{who}: kernel_size {kernel}{dilated} exceeds size {n} + 2 * padding {padding} "
                         f"of axis {axis} of shape {shape}")
    if (count - 1) * stride >= n + padding:  # ceil_mode added a window that starts beyond the image
        count -= 1
    if count and -padding % dilation >= n:  # the first window's first tap that is not before the image
        raise ValueError(f"{who}: with kernel_size {kernel}, stride {stride}, padding {padding} and dilation "
                         f"{dilation} a window sees only padding along axis {axis} of shape {shape}")
    return Axis(kernel, stride, padding, dilation, count)


def _output_size(who: str, x, rank: int, output_size) -> tuple[int, ...]:
    _check_axes(who, x, rank)
    spatial = x.shape[-rank:]
    given = tuple(output_size) if isinstance(output_size, tuple | list) else (output_size,) * rank
    if len(given) == rank:
        given = tuple(n if m is None else m for n, m in zip(spatial, given, strict=True))
    if 0 in spatial:
        raise ValueError(f"{who}: nothing to pool over in the spatial axes of shape {x.shape}")
    return each(who, "output_size", given, rank, 1)
