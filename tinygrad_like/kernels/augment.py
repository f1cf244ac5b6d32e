"""Augmentation: every image by a program of its own, a list of instructions, run while the image is in the cache.

An instruction is a code and six numbers. WARP, of numbers a, b, c, d, e, f, makes pixel (x, y) what the image was at

    (a x + b y + c, d x + e y + f),        x to the right and y down, in pixels from the centre,

between pixels by bilinear interpolation, and 0 outside. Warps in a row are one warp, of the composed map: that is
faster, blurs once, and what left the image may come back. All else is for images of numbers from 0 to 1.

A program runs in the thread that calls it, never on the pool: it may run beside a training step, which has the pool.
"""

import numpy as np
from numba import njit

from .simd import kernel
from .vectormath import INNER, ONE, F

(NOTHING, WARP, ERASE, BRIGHTNESS, CONTRAST, COLOR, SHARPNESS, SOLARIZE, POSTERIZE, AUTO_CONTRAST,
 EQUALIZE) = range(11)  # fmt: skip
LUMA = (F(0.299), F(0.587), F(0.114))  # of red, green and blue, ITU-R BT.601

ZERO, HALF, LAST = F(0), F(0.5), F(255)


@njit(forceinline=True, **INNER)
def _unit(x):
    """x, kept within 0 ... 1."""
    x = x if x > ZERO else ZERO
    return x if x < ONE else ONE


@njit(**INNER)
def _compose(m, x):
    """m after x: where the warp m of the image warped by x... reads the first image. In place, in m."""
    a, b, d, e = m[0], m[1], m[3], m[4]
    for j in range(3):
        first, second = x[j], x[j + 3]
        m[j] = a * first + b * second + (m[2] if j == 2 else 0.0)
        m[j + 3] = d * first + e * second + (m[5] if j == 2 else 0.0)


@njit(fastmath={"contract"}, **INNER)
def _warp(m, image, padded):
    channels, height, width = image.shape
    # Points outside are moved to the border of zeros around `padded`: no branch, and no test per neighbour.
    padded[:, 1 : height + 1, 1 : width + 1] = image
    a, b, d, e = F(m[0]), F(m[1]), F(m[3]), F(m[4])
    x_centre, y_centre = HALF * F(width - 1), HALF * F(height - 1)
    x_start, y_start = F(m[2]) + x_centre + ONE, F(m[5]) + y_centre + ONE
    x_end, y_end = F(width + 1), F(height + 1)
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
            j, i = min(int(u), width), min(int(v), height)
            right, down = u - F(j), v - F(i)
            for k in range(channels):
                upper = padded[k, i, j] + right * (padded[k, i, j + 1] - padded[k, i, j])
                lower = padded[k, i + 1, j] + right * (padded[k, i + 1, j + 1] - padded[k, i + 1, j])
                image[k, row, column] = upper + down * (lower - upper)


@njit(forceinline=True, **INNER)
def _grey(image, row, column):
    """How bright a pixel is: the luma of three channels, or else the mean of all."""
    channels = image.shape[0]
    if channels == 3:
        return (LUMA[0] * image[0, row, column] + LUMA[1] * image[1, row, column]) + LUMA[2] * image[2, row, column]
    total = ZERO
    for k in range(channels):
        total += image[k, row, column]
    return total / F(channels)


@njit(**INNER)
def _contrast(factor, image):
    _, height, width = image.shape
    total = 0.0
    for row in range(height):
        for column in range(width):
            total += _grey(image, row, column)
    pixels = image.reshape(-1)
    mean = F(total / (height * width))
    for i in range(pixels.size):
        pixels[i] = _unit(mean + factor * (pixels[i] - mean))


@njit(**INNER)
def _color(factor, image):
    channels, height, width = image.shape
    for row in range(height):
        for column in range(width):
            grey = _grey(image, row, column)
            for k in range(channels):
                image[k, row, column] = _unit(grey + factor * (image[k, row, column] - grey))


@njit(**INNER)
def _sharpness(factor, image, padded):
    """Away from, or towards, each pixel's mean with its neighbours, in which it counts five times; edges stay."""
    channels, height, width = image.shape
    padded[:, 1 : height + 1, 1 : width + 1] = image
    for k in range(channels):
        for row in range(1, height - 1):
            above, here, below = padded[k, row], padded[k, row + 1], padded[k, row + 2]
            for column in range(1, width - 1):
                total = F(4) * here[column + 1]
                for j in range(column, column + 3):
                    total += above[j] + here[j] + below[j]
                mean = total / F(13)
                image[k, row, column] = _unit(mean + factor * (here[column + 1] - mean))


@njit(**INNER)
def _auto_contrast(channel):
    low, high = channel.min(), channel.max()
    if high > low:
        for i in range(channel.size):
            channel[i] = (channel[i] - low) / (high - low)


@njit(**INNER)
def _level(x):
    """0 ... 255, of a number from 0 to 1."""
    return int(_unit(x) * LAST + HALF)


@njit(**INNER)
def _equalize(channel, counts):
    """Make all 256 levels about equally frequent, as Pillow's ImageOps.equalize does."""
    counts[:] = 0
    last = 0
    for i in range(channel.size):
        level = _level(channel[i])
        counts[level] += 1
        last = max(last, level)
    step = (channel.size - counts[last]) // 255
    if step == 0:
        return
    before = step // 2
    for level in range(256):
        count = counts[level]
        counts[level] = min(before // step, 255)
        before += count
    for i in range(channel.size):
        channel[i] = F(counts[_level(channel[i])]) / LAST


@njit(**INNER)
def _change(code, x, image, padded, counts):
    pixels, first = image.reshape(-1), F(x[0])
    if code == ERASE:
        image[:, int(x[0]) : int(x[2]), int(x[1]) : int(x[3])] = ZERO
    elif code == BRIGHTNESS:
        for i in range(pixels.size):
            pixels[i] = _unit(first * pixels[i])
    elif code == CONTRAST:
        _contrast(first, image)
    elif code == COLOR:
        _color(first, image)
    elif code == SHARPNESS:
        _sharpness(first, image, padded)
    elif code == SOLARIZE:
        for i in range(pixels.size):
            pixels[i] = pixels[i] if pixels[i] < first else ONE - pixels[i]
    elif code == POSTERIZE:
        lost = 2 ** (8 - int(first))
        for i in range(pixels.size):
            pixels[i] = F(_level(pixels[i]) // lost * lost) / LAST
    else:
        for k in range(image.shape[0]):
            channel = image[k].reshape(-1)
            if code == AUTO_CONTRAST:
                _auto_contrast(channel)
            else:
                _equalize(channel, counts)


@kernel()
def _run(images, codes, numbers, out):
    count, channels, height, width = images.shape
    padded, counts = np.zeros((channels, height + 2, width + 2), np.float32), np.empty(256, np.int64)
    for n in range(count):
        image, warps, m = out[n], 0, np.empty(6)
        image[:] = images[n]
        for k in range(codes.shape[1]):
            code, x = codes[n, k], numbers[n, k]
            if code == WARP and warps:
                _compose(m, x)
            elif code == WARP:
                m[:] = x
            elif code != NOTHING:
                if warps:
                    _warp(m, image, padded)
                _change(code, x, image, padded, counts)
            if code != NOTHING:
                warps = code == WARP
        if warps:
            _warp(m, image, padded)


def run(images: np.ndarray, codes: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Images changed by their programs: images (batch, channels, height, width), codes (batch, instructions), numbers
    (batch, instructions, 6). The numbers of

        WARP        a, b, c, d, e, f                 SHARPNESS   mean + f (x - mean), with the mean around x
        ERASE       top, left, bottom, right         SOLARIZE    1 - x where x >= f
        BRIGHTNESS  f x                              POSTERIZE   keeps f of 8 bits
        CONTRAST    mean + f (x - mean)              AUTO_CONTRAST, EQUALIZE   none
        COLOR       grey + f (x - grey)

    where f is the first number; the results are kept within 0 ... 1.
    """
    out = np.empty(images.shape, np.float32)
    _run(np.ascontiguousarray(images), np.ascontiguousarray(codes, np.int64),
         np.ascontiguousarray(numbers, np.float64), out)
    return out
