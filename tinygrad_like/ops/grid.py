"""Images sampled at computed positions: spatial transformers (Jaderberg et al. 2015)."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np

from ..core.primitive import fresh, primitive
from ..errors import checked
from ..rings import replaceable
from .activation import hardtanh
from .compare import cast, ge, le, logical_and
from .composite import composite
from .elementwise import abs, floor, mod, mul, round, where
from .matmul import matmul
from .shape import reshape, stack, transpose

PADDINGS = "zeros", "border", "reflection"
_INDEX = np.dtype("int32")
_MOST = np.iinfo(_INDEX).max
_A = -0.75  # the slope of the cubics at 1


@checked
def affine_grid(theta, size, align_corners=False):
    """The positions that `grid_sample` reads for an affine map: out[n, i, j] = theta[n] (x_j, y_i, 1).

    theta (batch, 2, 3), size (batch, channels, height, width) -> (batch, height, width, 2). The x_j and y_i are the
    middles of the pixels of an image from -1 to 1, or go from the first to the last pixel with align_corners. Of
    volumes: theta (batch, 3, 4), size (batch, channels, depth, height, width) -> (batch, depth, height, width, 3).
    """
    d, spatial = len(size) - 2, size[2:]
    base = np.ones((*spatial, d + 1), theta.dtype)
    for i, n in enumerate(reversed(spatial)):  # x, which runs along the last axis, comes first
        base[..., i] = _middles(n, align_corners).reshape(-1, *[1] * i)
    return reshape(matmul(base.reshape(-1, d + 1), transpose(theta, 1, 2)), shape=(size[0], *spatial, d))


@affine_grid.requires
def _(theta, size):
    if len(size) not in (4, 5) or theta.shape != (size[0], len(size) - 2, len(size) - 1):
        return (f"for a size (batch, channels, height, width), here {tuple(size)}, theta is (batch, 2, 3), and "
                f"(batch, 3, 4) for that of a volume, got shape {theta.shape}")


def _middles(n: int, align_corners: bool) -> np.ndarray:
    return np.linspace(-1, 1, n) if align_corners and n > 1 else (2 * np.arange(n) + 1) / n - 1


@checked
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    """input read at the places of a grid: out[n, :, i, j] is the pixel, or the mean of four, at grid[n, i, j] = (x, y).

    input (batch, channels, height, width), grid (batch, h, w, 2) -> (batch, channels, h, w). x and y go from -1 to 1
    over the image, from edge to edge, or from the middle of its first pixel to that of its last with align_corners.
    The gradient reaches the input and, but for mode "nearest", the grid. A volume (batch, channels, depth, height,
    width) is read at (x, y, z): grid (batch, d, h, w, 3) -> (batch, channels, d, h, w).

    mode: "bilinear", "nearest", or, of images, "bicubic": Keys' cubics (1981) with a = -0.75 through 16 pixels.
    padding_mode: the values outside: zeros, the border's pixel, or the mirrored image.
    Raises ValueError for other shapes and modes.
    """
    if mode == "nearest" and hasattr(grid, "detach"):
        grid = grid.detach()
    return _grid_sample(input, grid, mode=mode, padding_mode=padding_mode, align_corners=bool(align_corners))


@grid_sample.requires
def _(input, grid, mode, padding_mode):
    d = input.ndim - 2
    if d not in (2, 3) or grid.ndim != d + 2 or grid.shape[-1] != d or grid.shape[0] != input.shape[0]:
        return ("takes an input (batch, channels, height, width), a grid (batch, h, w, 2), or an input (batch, "
                "channels, depth, height, width), a grid (batch, d, h, w, 3), got shapes "
                f"{input.shape} and {grid.shape}")
    if mode not in ("bilinear", "nearest", "bicubic") or padding_mode not in PADDINGS:
        return (f"mode is bilinear, nearest or bicubic, padding_mode one of {', '.join(PADDINGS)}; got {mode!r} and "
                f"{padding_mode!r}")
    if mode == "bicubic" and d == 3:
        return f"mode='bicubic' is for images; this is a volume, of shape {input.shape}"
    if 0 in input.shape[2:]:
        return f"an image of shape {input.shape} has no pixels"
    if math.prod(input.shape[2:]) > _MOST:
        return f"an image of shape {input.shape} has more than {_MOST} pixels; read parts of it"


@composite
def _grid_sample(input, grid, *, mode="bilinear", padding_mode="zeros", align_corners=False):
    n, c, *sizes = input.shape
    places = grid.shape[1:-1]
    index, weight = _taps(grid, sizes, mode, padding_mode, align_corners)
    taps = (n, math.prod(places), index.shape[-1])
    out = sums_at(reshape(input, shape=(n, c, math.prod(sizes))), reshape(weight, shape=taps),
                  reshape(index, shape=taps))
    return reshape(out, shape=(n, c, *places))


# Weighted sums of pixels: of images, weights and what is read any two make a cotangent of the third -------------------


@primitive
@replaceable
def sums_at(x, weight, index):
    """out[n, c, p] = sum_t weight[n, p, t] x[n, c, index[n, p, t]]; an index of -1 stands for 0.

    x (batch, channels, pixels), weight and index (batch, places, taps) -> (batch, channels, places).
    """
    out = np.zeros((*x.shape[:2], index.shape[1]), np.result_type(x, weight))
    for t in range(index.shape[2]):
        out += _picked(x, index, t) * weight[:, None, :, t]
    return out


@primitive
@replaceable
def spread_at(y, weight, index, *, size):
    """The adjoint of `sums_at`: zeros (batch, channels, size) with weight[n, p, t] y[n, c, p] added where it read."""
    x = np.zeros((*y.shape[:2], size), np.result_type(y, weight))
    image, channel = np.ix_(*map(range, y.shape[:2]), [0])[:2]
    for t in range(index.shape[2]):
        at = index[:, None, :, t]
        np.add.at(x, (image, channel, np.maximum(at, 0)), np.where(at < 0, 0, y * weight[:, None, :, t]))
    return x


@primitive
@replaceable
def products_at(y, x, index):
    """The cotangent of the weights of `sums_at`: out[n, p, t] = sum_c y[n, c, p] x[n, c, index[n, p, t]]."""
    out = np.empty(index.shape, np.result_type(y, x))
    for t in range(index.shape[2]):
        out[..., t] = (_picked(x, index, t) * y).sum(1)
    return out


def _picked(x, index, t):
    """x[n, c, index[n, p, t]], and 0 for an index of -1."""
    at = index[:, None, :, t]
    return np.where(at < 0, x.dtype.type(0), np.take_along_axis(x, np.maximum(at, 0), 2))


sums_at.vjp(x=fresh(lambda g, weight, index, x_shape: spread_at(g, weight, index, size=x_shape[2])),
            weight=fresh(lambda g, x, index: products_at(g, x, index)))
spread_at.vjp(y=fresh(lambda g, weight, index: sums_at(g, weight, index)),
              weight=fresh(lambda g, y, index: products_at(y, g, index)))
products_at.vjp(y=fresh(lambda g, x, index: sums_at(x, g, index)),
                x=fresh(lambda g, y, index, x_shape: spread_at(y, g, index, size=x_shape[2])))


# Which pixels are read at a place -------------------------------------------------------------------------------------


def _taps(grid, sizes, mode, padding_mode, align_corners):
    """The pixels that are read at each place, as numbers within the image or -1, and their weights: (..., taps)."""

    def inside(z, m):
        return _inside(z, m, padding_mode, align_corners)

    places = [(z + 1) * ((m - 1) / 2) if align_corners else ((z + 1) * m - 1) * 0.5
              for z, m in zip([grid[..., i] for i in reversed(range(len(sizes)))], sizes, strict=True)]
    if mode == "bicubic":
        axes = [[(inside(at, m), part) for at, part in _cubic(z)] for z, m in zip(places, sizes, strict=True)]
    elif mode == "bilinear":
        axes = [_linear(inside(z, m)) for z, m in zip(places, sizes, strict=True)]
    else:
        axes = [[(round(inside(z, m)), np.ones(z.shape, z.dtype))] for z, m in zip(places, sizes, strict=True)]
    index, weight = [], []
    for corner in itertools.product(*axes):
        index.append(_number([at for at, _ in corner], sizes))
        weight.append(functools.reduce(mul, [part for _, part in corner]))
    return stack(index, axis=-1), stack(weight, axis=-1)


def _number(places, sizes):
    """Which pixel stands at whole numbers along each axis, in C order; -1 if there is none."""
    there = functools.reduce(logical_and, [part for z, m in zip(places, sizes, strict=True)
                                           for part in (ge(z, 0), le(z, m - 1))])
    number = functools.reduce(lambda before, axis: before * axis[1] + cast(where(there, axis[0], 0.0), dtype=_INDEX),
                              zip(places, sizes, strict=True), 0)
    return where(there, number, -1)


def _linear(z):
    """The whole numbers around a place, and the part that each has in what is read there."""
    first = floor(z)
    part = z - first
    return [(first, 1 - part), (first + 1, part)]


def _cubic(z):
    """The same for two whole numbers on both sides."""
    first = floor(z)
    t = z - first

    def near(s):
        return ((_A + 2) * s - (_A + 3)) * s * s + 1

    def far(s):
        return ((_A * s - 5 * _A) * s + 8 * _A) * s - 4 * _A

    return [(first - 1, far(t + 1)), (first, near(t)), (first + 1, near(1 - t)), (first + 2, far(2 - t))]


def _inside(z, m: int, padding_mode: str, align_corners: bool):
    """Where to read for a place z, in pixels: mirrored at the edges, or at the last pixels, or as it is."""
    if padding_mode == "zeros":
        return z
    if padding_mode == "reflection":
        low, span = (0.0, m - 1) if align_corners else (-0.5, m)
        # A period is there and back again.
        z = z * 0 if span == 0 else span - abs(mod(z - low, 2 * span) - span) + low
    return hardtanh(z, min_val=0.0, max_val=m - 1.0)
