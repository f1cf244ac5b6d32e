"""Pooling kernels: every path against loops over windows, on one thread and on all."""

import numpy as np
import pytest

from tinygrad_like.kernels import pool, threads

# kernel, stride, padding, dilation of rows and of columns; the sizes of planes
WINDOWS = [((2, 2, 0, 1),) * 2, ((3, 2, 1, 1),) * 2, ((2, 2, 1, 1),) * 2, ((3, 1, 1, 1),) * 2, ((4, 3, 2, 1),) * 2,
           ((2, 1, 1, 2), (3, 2, 0, 2)), ((3, 3, 0, 1), (2, 2, 0, 1))]
PLANES = [(1, 6, 6), (5, 7, 9), (70, 32, 34)]


def placed(windows, shape):
    """The windows with their counts."""
    return [(k, s, p, d, (n + 2 * p - d * (k - 1) - 1) // s + 1)
            for (k, s, p, d), n in zip(windows, shape, strict=True)]


def maxima(x, axes):
    y, residuals = pool.max_windows(x, axes)
    return y, residuals["index"]


def taps(axes, shape):
    """For each window the flat positions of its taps in a plane; -1 in the padding."""
    places = []
    for (k, s, p, d, count), n in zip(axes, shape, strict=True):
        at = np.arange(count)[:, None] * s - p + np.arange(k) * d
        places.append(np.where((at >= 0) & (at < n), at, -1))
    rows, columns = places[0][:, None, :, None], places[1][None, :, None, :]
    flat = np.where((rows < 0) | (columns < 0), -1, rows * shape[1] + columns)
    return flat.reshape(*flat.shape[:2], -1)


@pytest.mark.parametrize("shape", PLANES, ids=str)
@pytest.mark.parametrize("windows", WINDOWS, ids=str)
def test_maxima_and_sums(windows, shape):
    axes = placed(windows, shape[1:])
    at = taps(axes, shape[1:])
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    seen = np.where(at < 0, -np.inf, x.reshape(len(x), -1)[:, at])
    g = np.random.default_rng(1).integers(-9, 9, seen.shape[:3]).astype(np.float32)
    at_maximum = np.take_along_axis(np.broadcast_to(at, seen.shape), seen.argmax(-1)[..., None], -1)
    put, spread = np.zeros((2, len(x), x[0].size + 1), np.float32)  # the last element is the padding's
    for k in range(len(x)):
        np.add.at(put[k], at_maximum[k, ..., 0], g[k])
        np.add.at(spread[k], at, np.broadcast_to(g[k, ..., None], at.shape))
    for _ in range(2):  # the first call of all is one task, whatever the size
        y, index = maxima(x, axes)
        np.testing.assert_array_equal(y, seen.max(-1))
        np.testing.assert_array_equal(index, seen.argmax(-1))
        np.testing.assert_array_equal(pool.put_taps(g, index, shape, axes), put[:, :-1].reshape(shape))
        np.testing.assert_array_equal(pool.sum_windows(x, axes), np.where(at < 0, 0, seen).sum(-1))
        np.testing.assert_array_equal(pool.spread_windows(g, shape, axes), spread[:, :-1].reshape(shape))


@pytest.mark.skipif(threads.count == 1, reason="one thread only")
def test_the_number_of_threads_changes_nothing():
    x, before = np.random.default_rng(0).standard_normal((101, 33, 32)).astype(np.float32), threads.count
    axes = placed(WINDOWS[1], x.shape[1:])
    results = []
    try:
        for count in (before, 1):
            threads.set_num_threads(count)
            y, index = maxima(x, axes)
            results.append([y, index, pool.put_taps(y, index, x.shape, axes), pool.sum_windows(x, axes),
                            pool.spread_windows(y, x.shape, axes)])
    finally:
        threads.set_num_threads(before)
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)
