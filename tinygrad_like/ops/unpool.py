"""Max pooling that says where the maxima were, and its partial inverse, which puts values back there."""

from __future__ import annotations

import math

import numpy as np

from ..core.primitive import primitive
from ..dtypes import INT64
from .along import gather, take_along
from .compare import cast
from .elementwise import floor
from .pool import Axis, each, max_windows, windows_of
from .reduce import argmax
from .scatter import _to_places, scatter_last
from .shape import cat, reshape


@primitive
def positions(x, *, windows):
    """Where in its image the largest element of each window lies, counted row by row; the first, if several tie."""
    _, kept = max_windows.forward(x, windows=windows)
    rows, columns = windows
    row, column = np.divmod(kept["index"].astype(np.int64), columns.kernel)
    row = row * rows.dilation + np.arange(rows.number)[:, None] * rows.stride - rows.padding
    column = column * columns.dilation + np.arange(columns.number) * columns.stride - columns.padding
    return row * x.shape[-1] + column


def max_pool_with_indices(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, rank=2):
    """Max pooling over the last `rank` axes, one to three: (maxima, indices), both (batch, channels, *windows).

    An index counts the elements of a channel in the order of rows. See `max_pool2d`.
    """
    windows = windows_of(f"max_pool{rank}d", x, rank, kernel_size, stride, padding, dilation, ceil_mode)
    lead, spatial = x.shape[: x.ndim - rank], x.shape[x.ndim - rank :]
    n = math.prod(lead)
    flat = reshape(x, shape=(n, math.prod(spatial)))
    if rank < 3:
        index = positions(reshape(x, shape=(n, *((1,) * (2 - rank)), *spatial)), windows=windows)
    else:
        depth, *plane = windows
        inside = positions(reshape(x, shape=(n, *spatial)), windows=tuple(plane))
        pixels = inside.shape[-2] * inside.shape[-1]
        before = np.arange(spatial[0])[:, None] * math.prod(spatial[1:])
        inside = reshape(inside, shape=(n, spatial[0], pixels)) + before
        inside = reshape(inside, shape=(n, spatial[0] * pixels))
        maxima = reshape(gather(flat, inside, axis=1), shape=(n, spatial[0], pixels))
        best = positions(maxima, windows=(depth, Axis(1, 1, 0, 1, pixels)))
        index = gather(inside, reshape(best, shape=(n, depth.number * pixels)), axis=1)
    shape = (*lead, *(axis.number for axis in windows[-rank:]))
    index = reshape(index, shape=(n, math.prod(shape[len(lead) :])))
    return reshape(gather(flat, index, axis=1), shape=shape), reshape(index, shape=shape)


def max_unpool(x, indices, kernel_size, stride=None, padding=0, output_size=None, rank=2):
    """Zeros, with x where `max_pool_with_indices` found its maxima: (batch, channels, *windows) -> (..., *output_size).

    output_size: of the input of the pooling; (number - 1) stride - 2 padding + kernel_size if left out.
    Raises ValueError for shapes that differ, IndexError for an index beyond the output.
    """
    who = f"max_unpool{rank}d"
    if x.ndim not in (rank + 1, rank + 2) or x.shape != indices.shape:
        raise ValueError(f"{who}: takes values and indices (batch, channels, ...) of one shape, got {x.shape} and "
                         f"{indices.shape}")
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


def fractional_max_pool(x, kernel_size, output_size, samples):
    """The largest of each of output_size windows along every axis, which begin at (almost) equal distances that need be
    no integers, and where they were: a pair like that of `max_pool_with_indices` (Graham 2014).

    samples: (batch, channels, number of axes), from 0 to 1, of each channel, that decide where windows begin: window
    i of s at floor(a (i + s)) - floor(a s) with a = (size - kernel_size) / (number of windows - 1), the last one at
    size - kernel_size. For images the first number is that of the columns. Raises ValueError for other shapes.
    """
    rank = len(output_size)
    who, lead, spatial = f"fractional_max_pool{rank}d", x.shape[:-rank], x.shape[-rank:]
    if x.ndim not in (rank + 1, rank + 2):
        raise ValueError(f"{who}: takes {rank + 1} or {rank + 2} axes, got shape {x.shape}")
    kernels = each(who, "kernel_size", kernel_size, rank, 1)
    if any([k + n - 1 > size for k, n, size in zip(kernels, output_size, spatial, strict=True)]):
        raise ValueError(f"{who}: {tuple(output_size)} windows of {tuple(kernels)} do not fit into {spatial}: along an "
                         "axis, kernel_size + number - 1 must not be more than the size")
    if samples.shape != (*(1,) * (rank + 2 - x.ndim), *lead, rank):
        raise ValueError(f"{who}: takes random samples (batch, channels, {rank}) for {x.shape}, got {samples.shape}")
    n, index = math.prod(lead), 0
    samples = reshape(samples, shape=(n, rank))
    for a, (k, count, size) in enumerate(zip(kernels, output_size, spatial, strict=True)):
        s = samples[:, 1 - a if rank == 2 else a, None]
        step = (size - k) / max(count - 1, 1)
        begin = floor((s + np.arange(count - 1, dtype=x.dtype)) * step) - floor(s * step)
        begin = cat(cast(begin, dtype=INT64), np.full((n, 1), size - k), axis=1)
        place = reshape(begin, shape=(n, count, 1)) + np.arange(k)
        shape = [n, *[1] * (2 * rank)]
        shape[1 + a], shape[1 + rank + a] = count, k
        index = index * size + reshape(place, shape=shape)
    flat = reshape(x, shape=(n, math.prod(spatial)))
    m, taps = math.prod(output_size), math.prod(kernels)
    index = reshape(index, shape=(n, m, taps))
    windows = reshape(gather(flat, reshape(index, shape=(n, m * taps)), axis=1), shape=(n, m, taps))
    index = take_along(index, argmax(windows, axis=2), axis=2, keepdim=False)
    shape = (*lead, *output_size)
    return reshape(gather(flat, index, axis=1), shape=shape), reshape(index, shape=shape)
