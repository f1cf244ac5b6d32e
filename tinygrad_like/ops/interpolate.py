"""Interpolation: images, signals and volumes of another size, one axis after the other.

Element i of the new axis lies at a position of the old one, and is a weighted sum of its neighbours there.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from .elementwise import mul
from .index import take
from .pool import check_spatial, each, nearest_by_whole_numbers

MODES = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}  # and how many axes they are for


def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=False, recompute_scale_factor=False):
    """x enlarged or reduced: (batch, channels, *spatial) -> (batch, channels, *size), for one to three spatial axes.

    Give `size`, or `scale_factor`, for size floor(n scale_factor); as one number, or one for each axis. Element i lies
    at i n / m of the old axis ("nearest" takes floor of it), or, of its middle, at (i + 1/2) n / m - 1/2.

    mode: "nearest", "nearest-exact" (the nearest of the middle), "linear", "bilinear", "trilinear" (between two
    neighbours on each axis; "linear" fits any number of axes), "bicubic" (four on each; Keys 1981 with a = -3/4), or
    "area" (means, see `adaptive_avg_pool2d`). align_corners: the first and last elements stay where they are.
    recompute_scale_factor: elements lie where they would with the `size` that a scale_factor gives, not by itself.

    Raises ValueError for other axes, sizes or modes, or unless one of size and scale_factor is given.
    """
    rank = check_spatial("interpolate", x)
    spatial = x.shape[2:]
    if mode not in ("nearest", "nearest-exact", "area", *MODES) or MODES.get(mode, 1) not in (1, rank):
        raise ValueError(f"interpolate: mode {mode!r} does not fit {rank} spatial axes; use nearest, nearest-exact, "
                         "area, linear, bilinear, trilinear or bicubic")
    if align_corners and mode not in MODES:
        raise ValueError(f"interpolate: align_corners has no meaning for mode {mode!r}")
    if (size is None) == (scale_factor is None):
        raise ValueError(f"interpolate: give either size or scale_factor, got size={size}, scale_factor={scale_factor}")
    if 0 in spatial:
        raise ValueError(f"interpolate: nothing to repeat in the spatial axes of shape {x.shape}")
    scales: tuple[float | None, ...] = (None,) * rank
    if size is None:
        scales = _factors(scale_factor, rank)
        size = tuple([math.floor(n * s) for n, s in zip(spatial, scales, strict=True)])
        scales = (None,) * rank if recompute_scale_factor else scales
    size = each("interpolate", "size", size, rank, 1)
    if mode == "nearest" and (whole := nearest_by_whole_numbers(x, size)) is not None:
        return whole
    for axis, (n, m, scale) in enumerate(zip(spatial, size, scales, strict=True), 2):
        if (n, scale) != (m, None) or mode == "area":
            x = _along(x, axis, _neighbours(n, m, scale, mode, align_corners))
    return x


def _factors(scale_factor, rank: int) -> tuple[float, ...]:
    factors = tuple(scale_factor) if isinstance(scale_factor, tuple | list) else (scale_factor,) * rank
    if len(factors) != rank or not all(isinstance(s, int | float) and 0 < s < 1 << 31 for s in factors):
        raise ValueError(f"interpolate: scale_factor must be a positive number, or one for each of {rank} axes, "
                         f"got {scale_factor!r}")
    return factors


@functools.lru_cache
def _neighbours(n: int, m: int, scale: float | None, mode: str, align_corners: bool) -> list[tuple]:
    """For each of m elements the positions among n that it is made of, and their weights: pairs of arrays (m)."""
    step: float = 1 / scale if scale else n / m
    i = np.arange(m)
    if mode == "area":
        starts, stops = i * n // m, -(-(i + 1) * n // m)
        share, longest = 1 / (stops - starts), int((stops - starts).max())
        return [(np.minimum(starts + k, n - 1), np.where(starts + k < stops, share, 0)) for k in range(longest)]
    if mode.startswith("nearest"):
        half = 0.5 if mode == "nearest-exact" else 0
        return [(np.floor((i + half) * step).astype(np.int64), None)]
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


def _along(x, axis: int, neighbours):
    front, y = (slice(None),) * axis, None
    for index, weight in neighbours:
        part = take(x, index=(*front, index))
        if weight is not None:
            part = mul(part, weight.astype(x.dtype).reshape(-1, *(1,) * (x.ndim - axis - 1)))
        y = part if y is None else y + part
    return y
