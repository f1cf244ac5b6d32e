"""Images read at places of a grid, each the mean of the four pixels around it, and the way back.

Images are (n, c, h, w), grids (n, places, 2), results (n, c, places). A place that lies outside of the image is moved
to its border, or counts the pixels outside as zeros. The gradient of an image is added up by the task that has it; so
two never write to one pixel, and the order is always the same.
"""

import numpy as np

from .kinds import READ, WRITE
from .program import in_order, kernel
from .simd import inner

_COST = 6  # nanoseconds of a place in one channel
F = np.float32


@inner
def _place(z, size, across, border):
    """Where a number of the grid lies, in pixels; and how far that moves with it."""
    scale = F(0.5) * (size - 1) if across else F(0.5) * size
    x = (z + F(1)) * scale if across else ((z + F(1)) * size - F(1)) * F(0.5)
    if border and not 0 < x < size - 1:
        return (F(0) if x <= 0 else F(size - 1) if x >= size - 1 else x), F(0)
    return x, scale


@inner
def _inside(x, size):
    """Whether one of the pixels on both sides is in the image; not if x is not a number."""
    return -1 < x < size


@inner
def _work(x, grid, n, c, h, w, across, border, out):
    return int(out.size * _COST) if _fits(x, grid, n, c, h, w) and out.size == grid.size // 2 * c else -1


@inner
def _fits(x, grid, n, c, h, w):
    return min(n, c, h, w) > 0 and x.size == n * c * h * w and grid.size % (2 * n) == 0


@kernel(x=READ, grid=READ, out=WRITE, work=_work)
def _sample(x, grid, n, c, h, w, across, border, out, task, tasks):
    places = grid.size // (2 * n)
    for k in range(task * n * places // tasks, (task + 1) * n * places // tasks):
        image, place = k // places, k % places
        right, _ = _place(grid[2 * k], w, across, border)
        down, _ = _place(grid[2 * k + 1], h, across, border)
        at = image * c * places + place
        if not (_inside(right, w) and _inside(down, h)):
            for _ in range(c):
                out[at] = F(0) + F(0) * (right + down)  # NaN if that is none
                at += places
            continue
        j, i = int(np.floor(right)), int(np.floor(down))
        s, t = right - F(j), down - F(i)
        top, bottom, left, more = i >= 0, i < h - 1, j >= 0, j < w - 1
        corner = image * c * h * w + i * w + j
        for _ in range(c):
            a = x[corner] if top and left else F(0)
            b = x[corner + 1] if top and more else F(0)
            d = x[corner + w] if bottom and left else F(0)
            e = x[corner + w + 1] if bottom and more else F(0)
            out[at] = (F(1) - t) * ((F(1) - s) * a + s * b) + t * ((F(1) - s) * d + s * e)
            at += places
            corner += h * w


@inner
def _work_image(g, grid, n, c, h, w, across, border, out):
    return int(g.size * _COST) if _fits(out, grid, n, c, h, w) and g.size == grid.size // 2 * c else -1


@kernel(g=READ, grid=READ, out=WRITE, work=_work_image)
def _image_gradient(g, grid, n, c, h, w, across, border, out, task, tasks):
    """A task has some channels of some of the images."""
    places = grid.size // (2 * n)
    for plane in range(task * n * c // tasks, (task + 1) * n * c // tasks):
        begin, at = plane * h * w, 2 * (plane // c) * places
        out[begin : begin + h * w] = 0
        for place in range(places):
            right, _ = _place(grid[at + 2 * place], w, across, border)
            down, _ = _place(grid[at + 2 * place + 1], h, across, border)
            if not (_inside(right, w) and _inside(down, h)):
                continue
            j, i = int(np.floor(right)), int(np.floor(down))
            s, t, given = right - F(j), down - F(i), g[plane * places + place]
            corner = begin + i * w + j
            if i >= 0:
                if j >= 0:
                    out[corner] += (F(1) - t) * (F(1) - s) * given
                if j < w - 1:
                    out[corner + 1] += (F(1) - t) * s * given
            if i < h - 1:
                if j >= 0:
                    out[corner + w] += t * (F(1) - s) * given
                if j < w - 1:
                    out[corner + w + 1] += t * s * given


@inner
def _work_grid(g, x, grid, n, c, h, w, across, border, out):
    fits = _fits(x, grid, n, c, h, w) and g.size == grid.size // 2 * c and out.size == grid.size
    return int(g.size * _COST) if fits else -1


@kernel(g=READ, x=READ, grid=READ, out=WRITE, work=_work_grid)
def _grid_gradient(g, x, grid, n, c, h, w, across, border, out, task, tasks):
    places = grid.size // (2 * n)
    for k in range(task * n * places // tasks, (task + 1) * n * places // tasks):
        image, place = k // places, k % places
        right, by_right = _place(grid[2 * k], w, across, border)
        down, by_down = _place(grid[2 * k + 1], h, across, border)
        dx, dy = F(0) * right, F(0) * down
        if _inside(right, w) and _inside(down, h):
            j, i = int(np.floor(right)), int(np.floor(down))
            s, t = right - F(j), down - F(i)
            top, bottom, left, more = i >= 0, i < h - 1, j >= 0, j < w - 1
            corner, at = image * c * h * w + i * w + j, image * c * places + place
            for _ in range(c):
                a = x[corner] if top and left else F(0)
                b = x[corner + 1] if top and more else F(0)
                d = x[corner + w] if bottom and left else F(0)
                e = x[corner + w + 1] if bottom and more else F(0)
                dx += g[at] * ((F(1) - t) * (b - a) + t * (e - d))
                dy += g[at] * ((F(1) - s) * (d - a) + s * (e - b))
                corner += h * w
                at += places
        out[2 * k], out[2 * k + 1] = by_right * dx, by_down * dy


def sampled(x: np.ndarray, grid: np.ndarray, across: bool, border: bool) -> np.ndarray:
    """The means of the pixels (n, c, h, w) around the places of a grid (n, i, j, 2): (n, c, i, j). The corners of the
    grid, at -1 and 1, are the middles of the outer pixels if `across`, else their edges."""
    if not _suits(x, grid):
        return NotImplemented
    out = np.empty((*x.shape[:2], *grid.shape[1:3]), np.float32)
    _sample(in_order(x), in_order(grid), *x.shape, int(across), int(border), out)
    return out


def sampled_vjp(g: np.ndarray, x: np.ndarray, grid: np.ndarray, across: bool, border: bool,
                wanted: list[bool]) -> list[np.ndarray | None]:
    """The gradients of the image and of the grid, if they are wanted, from that of the result."""
    if not _suits(x, grid):
        return NotImplemented
    g, grid, options = in_order(g), in_order(grid), (*x.shape, int(across), int(border))
    dx, dgrid = [np.empty(a.shape, np.float32) if want else None for a, want in zip((x, grid), wanted, strict=True)]
    if dx is not None:
        _image_gradient(g, grid, *options, dx)
    if dgrid is not None:
        _grid_gradient(g, in_order(x), grid, *options, dgrid)
    return [dx, dgrid]


def _suits(x: np.ndarray, grid: np.ndarray) -> bool:
    return x.dtype == np.float32 == grid.dtype and x.size > 0 and grid.size > 0
