"""Warps of an image, the costly part of augmentation; see data/instructions.py.

They run in the calling thread, a loader's, never on the pool, which training steps use. Arrays are flat, images channel
by channel and row by row, and their shape is passed separately, which compiles much faster.
"""

import numpy as np

from ..dtypes import FLOAT32, FLOAT64
from .cache import compiled
from .vectormath import HALF, ONE, F
from .views import view

ZERO = F(0)
_reals, _floats = view(FLOAT64, 1), view(FLOAT32, 1)


@compiled(fastmath={"contract"})
def _warp(m, padded, channels, height, width, out):
    """Sample an image with a border of zeros. Points outside move to the border, so that no neighbour needs a test."""
    m, padded, out = _reals(m), _floats(padded), _floats(out)
    at, right, down = np.empty(width, np.int32), np.empty(width, np.float32), np.empty(width, np.float32)
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
            line_of_out = out[(k * height + row) * width : (k * height + row + 1) * width]
            for column in range(width):
                i = at[column]
                upper = above[i] + right[column] * (above[i + 1] - above[i])
                lower = below[i] + right[column] * (below[i + 1] - below[i])
                line_of_out[column] = upper + down[column] * (lower - upper)
    return 0


def warped(image: np.ndarray, warp: np.ndarray) -> np.ndarray:
    """Pixel (x, y) takes the image (channels, height, width) at warp @ (x, y, 1), with bilinear interpolation."""
    channels, height, width = image.shape
    padded, out = np.zeros((channels, height + 2, width + 2), FLOAT32), np.empty(image.shape, FLOAT32)
    padded[:, 1:-1, 1:-1], m = image, np.array(warp[:2], FLOAT64)
    if out.size:
        _warp(id(m), id(padded), channels, height, width, id(out))
    return out
