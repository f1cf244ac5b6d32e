"""Changes of one image (channels, height, width), as tuples of a function and its arguments: (brightness, 1.2).

`warp`, with arguments a, b, c, d, e, f, sets pixel (x, y) to the image's value at

    (a x + b y + c, d x + e y + f),        x to the right and y down, in pixels from the centre,

with bilinear interpolation between pixels, and 0 outside. Colours range from 0 to 1, and are clipped to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

Change = tuple[Any, ...]
LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # of red, green and blue, ITU-R BT.601


def changed(image: np.ndarray, changes: Iterable[Change]) -> np.ndarray:
    """The image after all changes. Consecutive warps are composed into one, so they blur the image only once."""
    matrix: Any = None
    for change, *numbers in changes:
        if change is warp:
            step = np.array([numbers[:3], numbers[3:], [0, 0, 1]])
            matrix = step if matrix is None else matrix @ step
        else:
            if matrix is not None:
                image, matrix = warp(image, *matrix[:2].flat), None
            image = change(image, *numbers)
    return image if matrix is None else warp(image, *matrix[:2].flat)


def warp(image: np.ndarray, a: float, b: float, c: float, d: float, e: float, f: float) -> np.ndarray:
    _, height, width = image.shape
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    y, x = np.ix_(np.arange(height) - (height - 1) / 2, np.arange(width) - (width - 1) / 2)
    u = np.clip(a * x + b * y + c + (width - 1) / 2 + 1, 0, width + 1).astype(np.float32)
    v = np.clip(d * x + e * y + f + (height - 1) / 2 + 1, 0, height + 1).astype(np.float32)
    j, i = np.minimum(u.astype(int), width), np.minimum(v.astype(int), height)
    right, down = u - j.astype(np.float32), v - i.astype(np.float32)
    upper = padded[:, i, j] + right * (padded[:, i, j + 1] - padded[:, i, j])
    lower = padded[:, i + 1, j] + right * (padded[:, i + 1, j + 1] - padded[:, i + 1, j])
    return upper + down * (lower - upper)


def erase(image: np.ndarray, top: int, left: int, bottom: int, right: int) -> np.ndarray:
    out = image.copy()
    out[:, max(0, top):max(0, bottom), max(0, left):max(0, right)] = 0
    return out


def _grey(image: np.ndarray) -> np.ndarray:
    return np.tensordot(LUMA, image, 1) if len(image) == 3 else image.mean(0)


def _away(mean: Any, image: np.ndarray, f: float) -> np.ndarray:
    return np.clip(mean + np.float32(f) * (image - mean), 0, 1)


def brightness(image: np.ndarray, f: float) -> np.ndarray:
    return _away(np.float32(0), image, f)


def contrast(image: np.ndarray, f: float) -> np.ndarray:
    return _away(_grey(image).mean(dtype=np.float64).astype(np.float32), image, f)


def color(image: np.ndarray, f: float) -> np.ndarray:
    return _away(_grey(image), image, f)


def sharpness(image: np.ndarray, f: float) -> np.ndarray:
    """Move each pixel away from, or towards, the mean of it (with weight 5) and its neighbours; the edge stays."""
    _, height, width = image.shape
    if height < 3 or width < 3:
        return image
    inner, out = image[:, 1:-1, 1:-1], image.copy()
    around = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (1, 2)).sum((3, 4))
    out[:, 1:-1, 1:-1] = _away((4 * inner + around) / np.float32(13), inner, f)
    return out


def solarize(image: np.ndarray, f: float) -> np.ndarray:
    return np.where(image < np.float32(f), image, 1 - image)


def posterize(image: np.ndarray, bits: int) -> np.ndarray:
    """Keep this many of 8 bits."""
    return (_levels(image) & (256 - 2 ** (8 - bits))).astype(np.float32) / np.float32(255)


def auto_contrast(image: np.ndarray) -> np.ndarray:
    low, high = image.min((1, 2), keepdims=True), image.max((1, 2), keepdims=True)
    return np.where(high > low, (image - low) / np.where(high > low, high - low, 1), image)


def equalize(image: np.ndarray) -> np.ndarray:
    """Equalize the histogram of each channel over 256 levels, as Pillow's ImageOps.equalize does."""
    return np.stack([*map(_equalized, image)])


def _levels(x: np.ndarray) -> np.ndarray:
    """Levels 0 ... 255, for numbers from 0 to 1."""
    return (np.clip(x, 0, 1) * np.float32(255) + np.float32(0.5)).astype(np.int32)


def _equalized(channel: np.ndarray) -> np.ndarray:
    """Equalize one channel's histogram, as Pillow's ImageOps.equalize does."""
    levels = _levels(channel)
    counts = np.bincount(levels.ravel(), minlength=256)
    step = (channel.size - counts[levels.max()]) // 255
    if step == 0:
        return channel
    before = step // 2 + np.cumsum(counts) - counts
    return (np.minimum(before // step, 255)[levels] / np.float32(255)).astype(np.float32)
