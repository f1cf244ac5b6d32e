"""Max pooling that also returns the positions of the maxima, and its partial inverse, which puts values back there."""

from __future__ import annotations

import math

import numpy as np

from ..core.primitive import primitive
from ..errors import checked, refusal
from .along import gather
from .pool import each, max_windows, take_taps, windows_of
from .scatter import _to_places, scatter_last
from .shape import reshape


@primitive
def positions(x, *, windows):
    """Where in its image the largest element of each window lies, counted row by row; the first, if several tie."""
    _, kept = max_windows.forward(x, windows=windows)
    numbers = np.arange(math.prod(x.shape[-2:])).reshape(x.shape[-2:])
    return take_taps.forward(np.broadcast_to(numbers, x.shape), index=kept["index"], windows=windows)


def max_pool_with_indices(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, rank=2):
    """Max pooling over the last axis or two (rank): (maxima, indices), both (batch, channels, *windows).

    An index counts the elements of a channel in the order of rows. See `max_pool2d`.
    """
    if rank > 2:
        raise NotImplementedError("max_pool3d: there are no indices of volumes; leave return_indices out")
    windows = windows_of(f"max_pool{rank}d", x, rank, kernel_size, stride, padding, dilation, ceil_mode)
    lead, spatial = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    n, shape = math.prod(lead), (*lead, *(axis.number for axis in windows[-rank:]))
    index = positions(reshape(x, shape=(n, *((1,) * (2 - rank)), *spatial)), windows=windows)
    index = reshape(index, shape=(n, math.prod(shape[len(lead) :])))
    maxima = gather(reshape(x, shape=(n, math.prod(spatial))), index, axis=1)
    return reshape(maxima, shape=shape), reshape(index, shape=shape)


@checked
def max_unpool(x, indices, kernel_size, stride=None, padding=0, output_size=None, rank=2):
    """Zeros, with x where `max_pool_with_indices` found its maxima: (batch, channels, *windows) -> (..., *output_size).

    output_size: of the input of the pooling; (number - 1) stride - 2 padding + kernel_size if left out.
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
