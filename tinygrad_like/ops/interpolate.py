"""Interpolation: resize signals, images and volumes, one axis after the other.

Element i of the new axis lies at a position on the old one, and is a weighted sum of the elements next to it there.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from ..core.tensor import Tensor
from ..errors import checked
from .compare import clone
from .elementwise import add
from .parts import take
from .pool import check_spatial, each
from .shape import repeat_interleave

MODES = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}  # mode -> number of spatial axes; "linear" fits any


@checked
def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=False, recompute_scale_factor=False,
                antialias=False) -> Tensor:
    """x enlarged or reduced: (batch, channels, *spatial) -> (batch, channels, *size), for one to three spatial axes.

    Give `size`, or `scale_factor` for size floor(n scale_factor); one number, or one for each axis. Element i of m
    comes from the position (i + 1/2) n / m - 1/2 of n; "nearest" takes floor(i n / m). With a scale_factor s, 1 / s
    replaces n / m. "nearest" computes positions in float32, as PyTorch does, and accepts integers too; "linear" and the
    like copy an axis whose size does not change.

    mode: "nearest", "nearest-exact" (nearest to the pixel's centre), "linear", "bilinear", "trilinear" (between two
    neighbours on each axis; "linear" fits any number of axes), "bicubic" (four on each; Keys 1981 with a = -3/4), or
    "area" (means, see `adaptive_avg_pool2d`). align_corners: the first and last elements stay where they are.
    recompute_scale_factor: compute positions from the `size` that scale_factor gives, not from scale_factor.

    Raises ValueError for other axes, sizes or modes, or unless exactly one of size and scale_factor is given; TypeError
    for integers in modes that interpolate; NotImplementedError for antialias=True.
    """
    rank, spatial = x.ndim - 2, x.shape[2:]
    scales: tuple[float | None, ...] = (None,) * rank
    if size is None:
        scales = _each(scale_factor, rank)
        size = tuple([math.floor(n * s) for n, s in zip(spatial, scales, strict=True)])
        scales = (None,) * rank if recompute_scale_factor else scales
    size = each("interpolate", "size", size, rank, 1)
    axes = [*zip(spatial, size, scales, strict=True)]
    if mode.startswith("nearest"):
        return _nearest(x, [_nearest_places(*axis, mode) for axis in axes])
    y = x
    for axis, (n, m, scale) in enumerate(axes, 2):
        if n != m or mode == "bicubic" and scale is not None and not align_corners:
            y = resample(y, axis, _neighbours(n, m, scale, mode, align_corners))
    return clone(x) if y is x else y


@interpolate.requires
def _(x, size, scale_factor, mode, align_corners, antialias):
    if antialias:
        return NotImplementedError("antialias=True is not supported; use mode='area', which averages")
    rank = check_spatial("interpolate", x, integers=isinstance(mode, str) and mode.startswith("nearest"))
    if mode not in ("nearest", "nearest-exact", "area", *MODES) or MODES.get(mode, 1) not in (1, rank):
        return (f"mode {mode!r} does not fit {rank} spatial axes; use nearest, nearest-exact, area, linear, bilinear, "
                "trilinear or bicubic")
    if align_corners and mode not in MODES:
        return f"align_corners has no meaning for mode {mode!r}"
    if (size is None) == (scale_factor is None):
        return f"give either size or scale_factor, got size={size}, scale_factor={scale_factor}"
    if 0 in x.shape[2:]:
        return f"nothing to interpolate in the spatial axes of shape {x.shape}"
    factors = () if size is not None else _each(scale_factor, rank)
    if len(factors) not in (0, rank) or not all(isinstance(s, int | float) and 0 < s < 1 << 31 for s in factors):
        return f"scale_factor must be a positive number, or one for each of {rank} axes, got {scale_factor!r}"


def _each(scale_factor, rank: int) -> tuple[float, ...]:
    return tuple(scale_factor) if isinstance(scale_factor, tuple | list) else (scale_factor,) * rank


def _nearest(x, places: list[np.ndarray]):
    """x at the given places of each spatial axis."""
    y = x
    for axis, at in reversed([*enumerate(places, 2)]):  # the gradient of short repeats takes longest
        n, times = x.shape[axis], len(at) // x.shape[axis]
        if times > 1 and np.array_equal(at, np.repeat(np.arange(n), times)):
            y = repeat_interleave(y, times, axis)
        elif not np.array_equal(at, np.arange(n)):
            y = take(y, index=(*(slice(None),) * axis, at))
    return clone(x) if y is x else y


@functools.lru_cache
def _nearest_places(n: int, m: int, scale: float | None, mode: str) -> np.ndarray:
    """For each of m elements the index of its source among n. Cached, so never written to.

    PyTorch computes positions in float32, which matters near whole numbers: 11 * (30 / 22) is 15 in float32, and a
    little less in float64.
    """
    step = np.float32(1 / scale) if scale else np.float32(n) / np.float32(m)
    i = np.arange(m, dtype=np.float32) + np.float32(0.5 if mode == "nearest-exact" else 0)
    return np.minimum(np.floor(i * step).astype(np.int64), n - 1)


@functools.lru_cache
def _neighbours(n: int, m: int, scale: float | None, mode: str, align_corners: bool) -> list[tuple]:
    """For each of m elements the indices among n that contribute to it, and their weights."""
    step: float = 1 / scale if scale else n / m
    i = np.arange(m)
    if mode == "area":
        starts, stops = i * n // m, -(-(i + 1) * n // m)
        share, longest = 1 / (stops - starts), int((stops - starts).max())
        return [(np.minimum(starts + k, n - 1), np.where(starts + k < stops, share, 0))
                for k in range(longest)]
    at = i * ((n - 1) / (m - 1) if m > 1 else 0) if align_corners else (i + 0.5) * step - 0.5
    at = at if mode == "bicubic" else np.maximum(at, 0)
    low = np.floor(at).astype(np.int64)
    if mode != "bicubic":
        return [(low, 1 - (at - low)), (np.minimum(low + 1, n - 1), at - low)]
    return [(np.clip(low + k, 0, n - 1), _cubic(np.abs(at - low - k))) for k in (-1, 0, 1, 2)]


def _cubic(distance: np.ndarray, a: float = -0.75) -> np.ndarray:
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = a * (((distance - 5) * distance + 8) * distance - 4)
    return np.where(distance <= 1, near, far)


def resample(x, axis: int, taps: list[tuple[np.ndarray, np.ndarray]]):
    """Weighted sums along an axis: out[j] = sum_t weight[t, j] x[places[t, j]]."""
    before, after = (slice(None),) * axis, (1,) * (x.ndim - axis - 1)
    return functools.reduce(add, [take(x, index=(*before, places)) * weight.astype(x.dtype).reshape(-1, *after)
                                  for places, weight in taps])
