"""Changes of images as programs: a list of instructions for each image, so that neighbouring warps blur it once.

An instruction is a code and six numbers. WARP, of numbers a, b, c, d, e, f, makes pixel (x, y) what the image was at

    (a x + b y + c, d x + e y + f),        x to the right and y down, in pixels from the centre,

between pixels by bilinear interpolation, and 0 outside. Warps in a row are one warp, of the composed map. Colours are
numbers from 0 to 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

(NOTHING, WARP, ERASE, BRIGHTNESS, CONTRAST, COLOR, SHARPNESS, SOLARIZE, POSTERIZE, AUTO_CONTRAST,
 EQUALIZE) = range(11)  # fmt: skip
LUMA = np.array([0.299, 0.587, 0.114], np.float32)  # of red, green and blue, ITU-R BT.601


def run_programs(images: np.ndarray, codes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Images changed by their programs: images (batch, channels, height, width), codes (batch, instructions), numbers
    (batch, instructions, 6). The numbers of

        WARP        a, b, c, d, e, f                 SHARPNESS   mean + f (x - mean), with the mean around x
        ERASE       top, left, bottom, right         SOLARIZE    1 - x where x >= f
        BRIGHTNESS  f x                              POSTERIZE   keeps f of 8 bits
        CONTRAST    mean + f (x - mean)              AUTO_CONTRAST, EQUALIZE   none
        COLOR       grey + f (x - grey)

    where f is the first number; the results are kept within 0 ... 1.
    """
    out = np.array(images, np.float32, order="C")
    for image, program, given in zip(out, codes, numbers, strict=True):
        if image.size:
            image[...] = _changed(image, program, given)
    return out


def _changed(image: np.ndarray, program: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    warp = np.eye(3)
    warps = False
    for code, x in zip(program, numbers, strict=True):
        if code == WARP:
            warp, warps = warp @ [x[:3], x[3:], [0, 0, 1]], True
        elif code != NOTHING:
            if warps:
                image, warp, warps = _warped(image, warp), np.eye(3), False
            image = _erased(image, x) if code == ERASE else _recoloured(image, code, np.float32(x[0]))
    return _warped(image, warp) if warps else image


def _warped(image: np.ndarray, warp: np.ndarray) -> np.ndarray:
    """Pixel (x, y) is what the image was at warp @ (x, y, 1), between pixels by bilinear interpolation, 0 outside."""
    _, height, width = image.shape
    padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
    y, x = np.ix_(np.arange(height) - (height - 1) / 2, np.arange(width) - (width - 1) / 2)
    (a, b, c), (d, e, f) = warp[:2]
    u = np.clip(a * x + b * y + c + (width - 1) / 2 + 1, 0, width + 1).astype(np.float32)
    v = np.clip(d * x + e * y + f + (height - 1) / 2 + 1, 0, height + 1).astype(np.float32)
    j, i = np.minimum(u.astype(int), width), np.minimum(v.astype(int), height)
    right, down = u - j.astype(np.float32), v - i.astype(np.float32)
    upper = padded[:, i, j] + right * (padded[:, i, j + 1] - padded[:, i, j])
    lower = padded[:, i + 1, j] + right * (padded[:, i + 1, j + 1] - padded[:, i + 1, j])
    return upper + down * (lower - upper)


def _erased(image: np.ndarray, box: np.ndarray) -> np.ndarray:
    top, left, bottom, right = [max(0, int(n)) for n in box[:4]]
    out = image.copy()
    out[:, top:bottom, left:right] = 0
    return out


def _recoloured(image: np.ndarray, code: int, f: np.float32) -> np.ndarray:
    if code == SOLARIZE:
        return np.where(image < f, image, 1 - image)
    if code == POSTERIZE:
        return (_levels(image) & (256 - 2 ** (8 - int(f)))).astype(np.float32) / np.float32(255)
    if code == AUTO_CONTRAST or code == EQUALIZE:
        return np.stack([*map(_stretched if code == AUTO_CONTRAST else _equalized, image)])
    if code == SHARPNESS:
        return _sharpened(image, f)
    mean: Any = np.float32(0)
    if code != BRIGHTNESS:
        mean = np.tensordot(LUMA, image, 1) if len(image) == 3 else image.mean(0)
        mean = mean.mean(dtype=np.float64).astype(np.float32) if code == CONTRAST else mean
    return np.clip(mean + f * (image - mean), 0, 1)


def _sharpened(image: np.ndarray, f: np.float32) -> np.ndarray:
    """Away from, or towards, the mean of each pixel (with weight 5) and its neighbours; the edge stays."""
    _, height, width = image.shape
    if height < 3 or width < 3:
        return image
    inner, out = image[:, 1:-1, 1:-1], image.copy()
    around = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (1, 2)).sum((3, 4))
    mean = (4 * inner + around) / np.float32(13)
    out[:, 1:-1, 1:-1] = np.clip(mean + f * (inner - mean), 0, 1)
    return out


def _stretched(channel: np.ndarray) -> np.ndarray:
    low, high = channel.min(), channel.max()
    return (channel - low) / (high - low) if high > low else channel


def _levels(x: np.ndarray) -> np.ndarray:
    """0 ... 255, of numbers from 0 to 1."""
    return (np.clip(x, 0, 1) * np.float32(255) + np.float32(0.5)).astype(np.int32)


def _equalized(channel: np.ndarray) -> np.ndarray:
    """All 256 levels about equally frequent, as Pillow's ImageOps.equalize makes them."""
    levels = _levels(channel)
    counts = np.bincount(levels.ravel(), minlength=256)
    step = (channel.size - counts[levels.max()]) // 255
    if step == 0:
        return channel
    before = step // 2 + np.cumsum(counts) - counts
    return (np.minimum(before // step, 255)[levels] / np.float32(255)).astype(np.float32)
