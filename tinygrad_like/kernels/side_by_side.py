"""Images side by side: y[bundle, channel, row, column, n] is a pixel of image n of a bundle, or a zero around.

So COLUMNS numbers that lie together are treated alike, however small the images are.
"""

import numpy as np

from .kinds import READ, WRITE
from .matrix import Matrix, aligned, ceil_div, pack_columns
from .program import kernel
from .simd import COLUMNS, FLOATS, inner
from .tiles import copy_float, make_copy

SLACK = 64  # floats after a buffer that vectors may run into

_copy = make_copy(FLOATS)


@inner
def _side_work(x, images, rows, columns, top, left, height, width, y):
    channels = x.size // (images * rows * columns)
    fits = (x.size == images * channels * rows * columns and top + rows <= height and left + columns <= width
            and y.size == ceil_div(images, COLUMNS) * COLUMNS * channels * height * width)
    return int(y.size * 0.3) if fits else -1


@kernel(x=READ, y=WRITE, work=_side_work)
def side_by_side(x, images, rows, columns, top, left, height, width, y, task, tasks):
    size = rows * columns
    planes, channels = y.size // (COLUMNS * height * width), x.size // (images * size)
    panel = np.empty(size * COLUMNS + SLACK, np.float32)
    for plane in range(task * planes // tasks, (task + 1) * planes // tasks):
        image, channel = plane // channels * COLUMNS, plane % channels
        here = Matrix(x.ctypes.data + 4 * (image * channels + channel) * size, 4, 4 * channels * size)
        pack_columns(here, size, min(COLUMNS, images - image), aligned(panel))
        begin = plane * height * width * COLUMNS
        y[begin : begin + height * width * COLUMNS] = 0
        for i in range(rows):
            target = y.ctypes.data + 4 * (begin + ((top + i) * width + left) * COLUMNS)
            for j in range(0, columns * COLUMNS, FLOATS):
                _copy(aligned(panel) + 4 * (i * columns * COLUMNS + j), target + 4 * j, FLOATS)


@inner
def _apart_work(y, images, x):
    return int(x.size * 0.3) if y.size * images == x.size * (ceil_div(images, COLUMNS) * COLUMNS) else -1


@kernel(y=READ, x=WRITE, work=_apart_work)
def apart(y, images, x, task, tasks):
    """The way back."""
    size, bundles = x.size // images, ceil_div(images, COLUMNS)
    blocks, panel = ceil_div(size, COLUMNS), np.empty(COLUMNS * COLUMNS + SLACK, np.float32)
    for unit in range(task * bundles * blocks // tasks, (task + 1) * bundles * blocks // tasks):
        image, first = unit // blocks * COLUMNS, unit % blocks * COLUMNS
        count = min(COLUMNS, size - first)
        here = Matrix(y.ctypes.data + 4 * (image * size + first * COLUMNS), 4, 4 * COLUMNS)
        pack_columns(here, COLUMNS, count, aligned(panel))
        for n in range(min(COLUMNS, images - image)):
            for j in range(0, count, FLOATS):
                source, target = COLUMNS * n + j, (image + n) * size + first + j
                if count - j >= FLOATS:
                    _copy(aligned(panel) + 4 * source, x.ctypes.data + 4 * target, FLOATS)
                else:
                    for i in range(count - j):
                        copy_float(aligned(panel) + 4 * (source + i), x.ctypes.data + 4 * (target + i))
