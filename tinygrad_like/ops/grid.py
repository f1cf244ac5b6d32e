"""Images read at places that are computed: spatial transformers (Jaderberg et al. 2015)."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from ..dtypes import INT64
from .activation import hardtanh
from .compare import cast, ge, le, logical_and
from .elementwise import abs, floor, mod, mul, round, where
from .matmul import matmul
from .shape import permute, reshape, transpose
from .table import embedding

PADDINGS = "zeros", "border", "reflection"
_A = -0.75  # the slope of the cubics at 1


def affine_grid(theta, size, align_corners=False):
    """The places that `grid_sample` is to read for an affine map: out[n, i, j] = theta[n] (x_j, y_i, 1).

    theta (batch, 2, 3), size (batch, channels, height, width) -> (batch, height, width, 2). The x_j and y_i are the
    middles of the pixels of an image from -1 to 1, or go from the first to the last pixel with align_corners. Of
    volumes: theta (batch, 3, 4), size (batch, channels, depth, height, width) -> (batch, depth, height, width, 3).
    """
    size = tuple(size)
    if len(size) not in (4, 5) or theta.shape != (size[0], len(size) - 2, len(size) - 1):
        raise ValueError(f"affine_grid: for a size (batch, channels, height, width), here {size}, theta is "
                         f"(batch, 2, 3), and (batch, 3, 4) for that of a volume, got shape {theta.shape}")
    d, spatial = len(size) - 2, size[2:]
    base = np.ones((*spatial, d + 1), theta.dtype)
    for i, n in enumerate(reversed(spatial)):  # x, which runs along the last axis, comes first
        base[..., i] = _middles(n, align_corners).reshape(-1, *[1] * i)
    return reshape(matmul(base.reshape(-1, d + 1), transpose(theta, 1, 2)), shape=(size[0], *spatial, d))


def _middles(n: int, align_corners: bool) -> np.ndarray:
    return np.linspace(-1, 1, n) if align_corners and n > 1 else (2 * np.arange(n) + 1) / n - 1


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    """input read at the places of a grid: out[n, :, i, j] is the pixel, or the mean of four, at grid[n, i, j] = (x, y).

    input (batch, channels, height, width), grid (batch, h, w, 2) -> (batch, channels, h, w). x and y go from -1 to 1
    over the image, from edge to edge, or from the middle of its first pixel to that of its last with align_corners.
    The gradient reaches the input and, but for mode "nearest", the grid. A volume (batch, channels, depth, height,
    width) is read at (x, y, z): grid (batch, d, h, w, 3) -> (batch, channels, d, h, w).

    mode: "bilinear", "nearest", or, of images, "bicubic": Keys' cubics (1981) with a = -0.75 through 16 pixels.
    padding_mode: what lies outside: zeros, the pixel on the border, or the image mirrored there.
    Raises ValueError for other shapes and modes.
    """
    d = input.ndim - 2
    if d not in (2, 3) or grid.ndim != d + 2 or grid.shape[-1] != d or grid.shape[0] != input.shape[0]:
        raise ValueError("grid_sample: takes an input (batch, channels, height, width), a grid (batch, h, w, 2), or "
                         "an input (batch, channels, depth, height, width), a grid (batch, d, h, w, 3), got "
                         f"shapes {input.shape} and {grid.shape}")
    if mode not in ("bilinear", "nearest", "bicubic") or padding_mode not in PADDINGS:
        raise ValueError("grid_sample: mode is bilinear, nearest or bicubic, padding_mode one of "
                         f"{', '.join(PADDINGS)}; got {mode!r} and {padding_mode!r}")
    if mode == "bicubic" and d == 3:
        raise ValueError(f"grid_sample: mode='bicubic' is for images; this is a volume, of shape {input.shape}")
    n, c, *sizes = input.shape
    if 0 in sizes:
        raise ValueError(f"grid_sample: an image of shape {input.shape} has no pixels")
    places = [(z + 1) * ((m - 1) / 2) if align_corners else ((z + 1) * m - 1) * 0.5
              for z, m in zip([grid[..., i] for i in reversed(range(d))], sizes, strict=True)]
    pixels = reshape(permute(input, axes=(0, *range(2, d + 2), 1)), shape=(n * math.prod(sizes), c))

    def inside(z, m):
        return _inside(z, m, padding_mode, align_corners)

    if mode != "bicubic":
        places = [inside(z, m) for z, m in zip(places, sizes, strict=True)]
    if mode == "nearest":
        out = _pixel(pixels, [round(z.detach()) for z in places], sizes)
    else:
        out = 0.0
        for corner in itertools.product(*[_cubic(z) if mode == "bicubic" else _linear(z) for z in places]):
            there = [z for z, _ in corner]
            if mode == "bicubic":
                there = [inside(z, m) for z, m in zip(there, sizes, strict=True)]
            weight = functools.reduce(mul, [part for _, part in corner])
            out = mul(_pixel(pixels, there, sizes), reshape(weight, shape=(*weight.shape, 1))) + out
    return permute(out, axes=(0, d + 1, *range(1, d + 1)))


def _linear(z):
    """The whole numbers around a place, and the part that each has in what is read there."""
    first = floor(z.detach())
    part = z - first
    return [(first, 1 - part), (first + 1, part)]


def _cubic(z):
    """The same for two whole numbers on both sides."""
    first = floor(z.detach())
    t = z - first

    def near(s):
        return ((_A + 2) * s - (_A + 3)) * s * s + 1

    def far(s):
        return ((_A * s - 5 * _A) * s + 8 * _A) * s - 4 * _A

    return [(first - 1, far(t + 1)), (first, near(t)), (first + 1, near(1 - t)), (first + 2, far(2 - t))]


def _pixel(pixels, places, sizes):
    """The pixels at whole numbers along each axis; zeros where there are none."""
    there = functools.reduce(logical_and, [part for z, m in zip(places, sizes, strict=True)
                                           for part in (ge(z, 0), le(z, m - 1))])
    place = functools.reduce(lambda row, axis: row * axis[1] + axis[0],
                             list(zip(places[1:], sizes[1:], strict=True)), places[0])
    image = np.arange(place.shape[0]).reshape(-1, *[1] * (place.ndim - 1)) * math.prod(sizes)
    place = cast(where(there, place, 0.0), dtype=INT64) + image
    return where(reshape(there, shape=(*place.shape, 1)), embedding(place, pixels), 0.0)


def _inside(z, m: int, padding_mode: str, align_corners: bool):
    """Where to read for a place z, in pixels: mirrored at the edges, or at the last pixels, or as it is."""
    if padding_mode == "zeros":
        return z
    if padding_mode == "reflection":
        low, span = (0.0, m - 1) if align_corners else (-0.5, m)
        # A period is there and back again.
        z = z * 0 if span == 0 else span - abs(mod(z - low, 2 * span) - span) + low
    return hardtanh(z, min_val=0.0, max_val=m - 1.0)
