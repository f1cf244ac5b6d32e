"""Augmentation: every image by a program of its own, a list of instructions, run while the image is in the cache.

An instruction is a code and six numbers. WARP, of numbers a, b, c, d, e, f, makes pixel (x, y) what the image was at

    (a x + b y + c, d x + e y + f),        x to the right and y down, in pixels from the centre,

between pixels by bilinear interpolation, and 0 outside. Warps in a row are one warp, of the composed map: that is
faster, blurs once, and what left the image may come back. Colours are numbers from 0 to 1.

A program runs in the thread that calls it, never on the pool: it may run beside a training step, which has the pool.
Arrays are flat, images channel by channel and row by row: their shape goes beside them, which compiles much faster.
"""

import numpy as np
from numba import njit

from ..dtypes import FLOAT32, FLOAT64, INT64
from .simd import compiled
from .vectormath import HALF, INNER, ONE, F

(NOTHING, WARP, ERASE, BRIGHTNESS, CONTRAST, COLOR, SHARPNESS, SOLARIZE, POSTERIZE, AUTO_CONTRAST,
 EQUALIZE) = range(11)  # fmt: skip
LUMA = (F(0.299), F(0.587), F(0.114))  # of red, green and blue, ITU-R BT.601

ZERO, LAST = F(0), F(255)


@njit(forceinline=True, **INNER)
def _unit(x):
    """x, kept within 0 ... 1."""
    x = x if x > ZERO else ZERO
    return x if x < ONE else ONE


@njit(**INNER)
def _copy(x, out):
    for i in range(out.size):  # out[:] = x would compile strings, for an error message
        out[i] = x[i]


@njit(**INNER)
def _compose(m, x):
    """Turn m, a warp of the image that the warp x makes of the first, into the warp of the first that does both."""
    a, b, d, e = m[0], m[1], m[3], m[4]
    for j in range(3):
        upper, lower = x[j], x[j + 3]
        m[j] = a * upper + b * lower + (m[2] if j == 2 else 0.0)
        m[j + 3] = d * upper + e * lower + (m[5] if j == 2 else 0.0)


@njit(**INNER)
def _pad(image, channels, height, width, padded):
    """Put the image into `padded`, which has a border of zeros, one pixel wide."""
    for row in range(channels * height):
        start = (row + 2 * (row // height) + 1) * (width + 2) + 1
        for column in range(width):
            padded[start + column] = image[row * width + column]


@njit(fastmath={"contract"}, **INNER)
def _warp(m, image, channels, height, width, padded, at, right, down):
    """The last three arguments are work space for a row: from where each pixel comes, and how far beyond that."""
    # Points outside are moved to the border of zeros: no branch, and no test for each neighbour.
    _pad(image, channels, height, width, padded)
    a, b, d, e = F(m[0]), F(m[1]), F(m[3]), F(m[4])
    x_centre, y_centre = HALF * F(width - 1), HALF * F(height - 1)
    x_start, y_start = F(m[2]) + x_centre + ONE, F(m[5]) + y_centre + ONE
    x_end, y_end, line = F(width + 1), F(height + 1), np.int32(width + 2)
    last_i, last_j = np.int32(height), np.int32(width)
    for row in range(height):
        y = F(row) - y_centre
        x_row, y_row = b * y + x_start, e * y + y_start
        for column in range(width):
            x = F(column) - x_centre
            u, v = a * x + x_row, d * x + y_row
            u = u if u > ZERO else ZERO
            v = v if v > ZERO else ZERO
            u = u if u < x_end else x_end
            v = v if v < y_end else y_end
            j, i = np.int32(u), np.int32(v)
            j = j if j < last_j else last_j
            i = i if i < last_i else last_i
            at[column], right[column], down[column] = i * line + j, u - F(j), v - F(i)
        for k in range(channels):
            above = padded[k * (height + 2) * line :]
            below = above[line:]
            out = image[(k * height + row) * width : (k * height + row + 1) * width]
            for column in range(width):
                i = at[column]
                upper = above[i] + right[column] * (above[i + 1] - above[i])
                lower = below[i] + right[column] * (below[i + 1] - below[i])
                out[column] = upper + down[column] * (lower - upper)


@njit(**INNER)
def _to_grey(image, channels, grey):
    """How bright each pixel is: the luma of three channels, or else the mean of all."""
    grey[:] = ZERO
    for k in range(channels):
        weight = LUMA[k] if channels == 3 else ONE / F(channels)
        channel = image[k * grey.size : (k + 1) * grey.size]
        for i in range(grey.size):
            grey[i] += weight * channel[i]


@njit(**INNER)
def _toward(mean, factor, x):
    for i in range(x.size):
        x[i] = _unit(mean + factor * (x[i] - mean))


@njit(**INNER)
def _toward_each(mean, factor, x):
    for i in range(x.size):
        x[i] = _unit(mean[i] + factor * (x[i] - mean[i]))


@njit(**INNER)
def _sum(x):
    total = 0.0
    for i in range(x.size):
        total += x[i]
    return total


@njit(**INNER)
def _sharpness(factor, image, channels, height, width, padded, mean):
    """Away from, or towards, each pixel's mean with its neighbours, in which it counts five times; the edge stays."""
    _pad(image, channels, height, width, padded)
    line = width + 2
    for k in range(channels):
        for row in range(1, height - 1):
            above = padded[(k * (height + 2) + row) * line :]
            here, below = above[line:], above[2 * line :]
            for i in range(width - 2):
                total = F(4) * here[i + 2] + (above[i + 1] + above[i + 2] + above[i + 3])
                total += (here[i + 1] + here[i + 2] + here[i + 3]) + (below[i + 1] + below[i + 2] + below[i + 3])
                mean[i] = total / F(13)
            start = (k * height + row) * width
            _toward_each(mean, factor, image[start + 1 : start + width - 1])


@njit(**INNER)
def _auto_contrast(x):
    low, high = x[0], x[0]
    for i in range(x.size):
        low = x[i] if x[i] < low else low
        high = x[i] if x[i] > high else high
    if high > low:
        for i in range(x.size):
            x[i] = (x[i] - low) / (high - low)


@njit(forceinline=True, **INNER)
def _level(x):
    """0 ... 255, of a number from 0 to 1."""
    return np.int32(_unit(x) * LAST + HALF)


@njit(**INNER)
def _equalize(x, counts):
    """Make all 256 levels about equally frequent, as Pillow's ImageOps.equalize does."""
    counts[:] = 0
    for i in range(x.size):
        counts[_level(x[i])] += 1
    last = 255
    while counts[last] == 0:
        last -= 1
    step = (x.size - counts[last]) // 255
    if step == 0:
        return
    before = step // 2
    for level in range(256):
        count = counts[level]
        counts[level] = before // step if before < 256 * step else 255
        before += count
    for i in range(x.size):
        x[i] = F(counts[_level(x[i])]) / LAST


@njit(**INNER)
def _erase(box, image, channels, height, width):
    top, left = max(0, int(box[0])), max(0, int(box[1]))  # a box may reach beyond the image, but memory ends there
    bottom, right = min(height, int(box[2])), min(width, int(box[3]))
    for k in range(channels):
        for row in range(k * height + top, k * height + bottom):
            for i in range(row * width + left, row * width + right):
                image[i] = ZERO


@njit(**INNER)
def _change(code, number, image, channels, grey, counts):
    pixels = grey.size
    if code == BRIGHTNESS:
        _toward(ZERO, number, image)
    elif code == CONTRAST:
        _to_grey(image, channels, grey)
        _toward(F(_sum(grey) / pixels), number, image)
    elif code == SOLARIZE:
        for i in range(image.size):
            image[i] = image[i] if image[i] < number else ONE - image[i]
    elif code == POSTERIZE:
        kept = np.int32(256 - 2 ** (8 - int(number)))
        for i in range(image.size):
            image[i] = F(_level(image[i]) & kept) / LAST
    else:
        if code == COLOR:
            _to_grey(image, channels, grey)
        for k in range(channels):
            channel = image[k * pixels : (k + 1) * pixels]
            if code == COLOR:
                _toward_each(grey, number, channel)
            elif code == AUTO_CONTRAST:
                _auto_contrast(channel)
            else:
                _equalize(channel, counts)


# Not run as other kernels are: it works in the thread of a loader, while the pool trains.
@compiled()
def _run(images, channels, height, width, codes, numbers, out):
    size, line = channels * height * width, width + 2
    padded, grey = np.zeros(channels * (height + 2) * line, np.float32), np.empty(height * width, np.float32)
    at, right, down = np.empty(width, np.int32), np.empty(width, np.float32), np.empty(width, np.float32)
    m, counts = np.empty(6), np.empty(256, np.int64)
    count = images.size // size
    length = codes.size // count
    for n in range(count):
        image, warps = out[n * size : (n + 1) * size], False
        _copy(images[n * size : (n + 1) * size], image)
        for k in range(n * length, (n + 1) * length):
            code, x = codes[k], numbers[6 * k : 6 * k + 6]
            if code == WARP and warps:
                _compose(m, x)
            elif code == WARP:
                _copy(x, m)
            elif code != NOTHING and warps:
                _warp(m, image, channels, height, width, padded, at, right, down)
            if code == ERASE:
                _erase(x, image, channels, height, width)
            elif code == SHARPNESS:
                _sharpness(F(x[0]), image, channels, height, width, padded, right)
            elif code > ERASE:
                _change(code, F(x[0]), image, channels, grey, counts)
            if code != NOTHING:
                warps = code == WARP
        if warps:
            _warp(m, image, channels, height, width, padded, at, right, down)


def run(images: np.ndarray, codes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Images changed by their programs, as `run_programs` of data/instructions.py says."""
    arrays = [np.require(x, t, ["C", "A", "W"]) for x, t in ((images, FLOAT32), (codes, INT64), (numbers, FLOAT64))]
    images, codes, numbers = arrays
    if codes.ndim != 2 or len(codes) != len(images) or numbers.shape != (*codes.shape, 6):
        raise ValueError(f"augmentation: images {images.shape} need codes (batch, instructions) and numbers "
                         f"(batch, instructions, 6), got {codes.shape} and {numbers.shape}")
    out = np.empty(images.shape, np.float32)
    if out.size:
        _run(images.ravel(), *images.shape[1:], codes.ravel(), numbers.ravel(), out.ravel())
    return out
