"""Images read at places that are computed: spatial transformers (Jaderberg et al. 2015)."""

from __future__ import annotations

import numpy as np

from ..dtypes import INT64
from .activation import hardtanh
from .compare import cast, ge, le, logical_and
from .elementwise import abs, floor, mod, mul, round, where
from .matmul import matmul
from .shape import permute, reshape, transpose
from .table import embedding

PADDINGS = "zeros", "border", "reflection"


def affine_grid(theta, size, align_corners=False):
    """The places that `grid_sample` is to read for an affine map: out[n, i, j] = theta[n] (x_j, y_i, 1).

    theta (batch, 2, 3), size (batch, channels, height, width) -> (batch, height, width, 2). The x_j and y_i are the
    middles of the pixels of an image from -1 to 1, or go from the first to the last pixel with align_corners.
    """
    size = tuple(size)
    if len(size) != 4 or theta.shape != (size[0], 2, 3):
        raise ValueError(f"affine_grid: for a size (batch, channels, height, width), here {size}, theta is "
                         f"(batch, 2, 3), got shape {theta.shape}")
    height, width = size[2:]
    base = np.ones((height, width, 3), theta.dtype)
    base[..., 0], base[..., 1] = _middles(width, align_corners), _middles(height, align_corners)[:, None]
    return reshape(matmul(base.reshape(-1, 3), transpose(theta, 1, 2)), shape=(size[0], height, width, 2))


def _middles(n: int, align_corners: bool) -> np.ndarray:
    return np.linspace(-1, 1, n) if align_corners and n > 1 else (2 * np.arange(n) + 1) / n - 1


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    """input read at the places of a grid: out[n, :, i, j] is the pixel, or the mean of four, at grid[n, i, j] = (x, y).

    input (batch, channels, height, width), grid (batch, h, w, 2) -> (batch, channels, h, w). x and y go from -1 to 1
    over the image, from edge to edge, or from the middle of its first pixel to that of its last with align_corners.
    The gradient reaches the input and, but for mode "nearest", the grid.

    padding_mode: what lies outside: zeros, the pixel on the border, or the image mirrored there.
    Raises ValueError for other shapes and modes.
    """
    if input.ndim != 4 or grid.ndim != 4 or grid.shape[3] != 2 or grid.shape[0] != input.shape[0]:
        raise ValueError("grid_sample: takes an input (batch, channels, height, width), a grid (batch, h, w, 2), got "
                         f"shapes {input.shape} and {grid.shape}")
    if mode not in ("bilinear", "nearest") or padding_mode not in PADDINGS:
        raise ValueError(f"grid_sample: mode is bilinear or nearest, padding_mode one of {', '.join(PADDINGS)}; got "
                         f"{mode!r} and {padding_mode!r}")
    n, c, height, width = input.shape
    if not height or not width:
        raise ValueError(f"grid_sample: an image of shape {input.shape} has no pixels")
    x, y = (_inside((z + 1) * ((m - 1) / 2) if align_corners else ((z + 1) * m - 1) * 0.5, m, padding_mode,
                    align_corners) for z, m in ((grid[..., 0], width), (grid[..., 1], height)))
    pixels = reshape(permute(input, axes=(0, 2, 3, 1)), shape=(n * height * width, c))
    image = (np.arange(n) * (height * width)).reshape(n, 1, 1)
    if mode == "nearest":
        out = _pixel(pixels, image, round(x.detach()), round(y.detach()), height, width)
    else:
        left, top = floor(x.detach()), floor(y.detach())
        right_part, lower_part = x - left, y - top
        out = 0.0
        for dy, down in ((0, 1 - lower_part), (1, lower_part)):
            for dx, along in ((0, 1 - right_part), (1, right_part)):
                pixel = _pixel(pixels, image, left + dx, top + dy, height, width)
                out = mul(pixel, reshape(down * along, shape=(*x.shape, 1))) + out
    return permute(out, axes=(0, 3, 1, 2))


def _pixel(pixels, image, x, y, height, width):
    """The pixels at whole numbers x and y; zeros where there are none."""
    there = logical_and(logical_and(ge(x, 0), le(x, width - 1)), logical_and(ge(y, 0), le(y, height - 1)))
    place = cast(where(there, y * width + x, 0.0), dtype=INT64) + image
    return where(reshape(there, shape=(*x.shape, 1)), embedding(place, pixels), 0.0)


def _inside(z, m: int, padding_mode: str, align_corners: bool):
    """Where to read for a place z, in pixels: mirrored at the edges, or at the last pixels, or as it is."""
    if padding_mode == "zeros":
        return z
    if padding_mode == "reflection":
        low, span = (0.0, m - 1) if align_corners else (-0.5, m)
        # A period is there and back again.
        z = z * 0 if span == 0 else span - abs(mod(z - low, 2 * span) - span) + low
    return hardtanh(z, min_val=0.0, max_val=m - 1.0)
