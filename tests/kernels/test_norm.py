"""Normalisation kernels against their plain reading in float64."""

import numpy as np
import pytest

from tinygrad_like.kernels import channel_norm, threads
from tinygrad_like.kernels import norm as k

EPS = 1e-5


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def plain(g, x, weight, bias, axis, centred=True, stats=None, skip=None, rectify=False):
    """y, dx, dweight, dbias and dskip; weight and bias have as many axes as x."""
    g, x, weight, bias = (a.astype(np.float64) for a in (g, x, weight, bias))
    mean = x.mean(axis, keepdims=True) * centred if stats is None else stats[0]
    variance = ((x - mean) ** 2).mean(axis, keepdims=True) if stats is None else stats[1]
    rstd = 1 / np.sqrt(variance + EPS)
    xhat = (x - mean) * rstd
    y = xhat * weight + bias + (0 if skip is None else skip)
    if rectify:
        g, y = np.where(y > 0, g, 0), np.maximum(y, 0)
    wg = weight * g
    dx = rstd * wg
    if stats is None:
        dx -= rstd * (centred * wg.mean(axis, keepdims=True) + xhat * (wg * xhat).mean(axis, keepdims=True))
    where = tuple(i for i, n in enumerate(weight.shape) if n == 1)
    return y, dx, (g * xhat).sum(where).ravel(), g.sum(where).ravel(), g


def close(found, exact):
    for a, b in zip(found, exact, strict=False):
        if a is not None:
            np.testing.assert_allclose(a, b.reshape(a.shape), rtol=2e-5, atol=2e-6 * np.abs(b).max(initial=1))


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (7, 10), (300, 33), (2000, 64), (100, 512), (5, 9000)])
def test_rows(shape, centred):
    x, g, weight, bias = random(*shape) * 3 + 1, random(*shape, seed=1), random(shape[1], seed=2), random(shape[1])
    for _ in range(2):  # the first call of all is one task, whatever the size
        y, stats = k.normalize_rows(x, weight, bias, shape[1], EPS, centred)
        close([y, *k.normalize_rows_vjp(g, x, weight, stats, shape[1], centred)],
              plain(g, x, weight[None], bias[None], 1, centred))


SHAPES = [(2, 1), (37, 5), (300, 130), (70, 300), (4, 6, 2), (20, 4, 3, 3), (8, 6, 5, 7), (3, 4, 80, 80),
          (64, 8, 16, 9)]


@pytest.mark.parametrize("how", ["plain", "rectified", "skipped", "given", "given and skipped"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_batch(shape, how):
    channels, each = shape[1], (1, shape[1], *[1] * (len(shape) - 2))
    x, g = random(*shape) * 3 + 1, random(*shape, seed=1)
    weight, bias = random(channels, seed=2), random(channels, seed=3)
    skip = random(*shape, seed=4) if "skipped" in how else None
    rectify = how in ("rectified", "skipped", "given and skipped")
    given = (random(channels), random(channels, seed=5) ** 2) if "given" in how else None
    for _ in range(2):
        y, stats = channel_norm.normalize_channels(x, weight, bias, EPS, rectify=rectify, skip=skip, running=given)
        found = channel_norm.normalize_channels_vjp(
            g, x, weight, bias, stats, y=y if rectify else None, skipped=skip is not None, given=given is not None)
        axis = (0, *range(2, len(shape)))
        exact = plain(g, x, weight.reshape(each), bias.reshape(each), axis, True,
                      given and [s.reshape(each).astype(np.float64) for s in given], skip, rectify)
        close([y, *found], exact)
        assert (found[3] is None) == (skip is None)


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("shape", [(3, 6), (2, 6, 1, 40), (9, 6, 5, 7), (3, 12, 40, 40)], ids=str)
def test_groups_of_channels(shape, groups):
    split, channels = (shape[0], groups, shape[1] // groups, -1), shape[1]
    x, g, weight, bias = random(*shape) * 3 + 1, random(*shape, seed=1), random(channels, seed=2), random(channels)
    for _ in range(2):
        y, stats = channel_norm.normalize_channels(x, weight, bias, EPS, groups)
        found = channel_norm.normalize_channels_vjp(g, x, weight, bias, stats, groups)
        each = (1, groups, channels // groups, 1)
        x4, g4 = x.reshape(split), g.reshape(split)
        exact = plain(g4, x4, weight.reshape(each), bias.reshape(each), (2, 3))
        close([y, *found], exact)


@pytest.mark.parametrize("outlier", [None, 0.0, 2e4])
def test_a_small_spread_around_a_large_mean_keeps_its_digits(outlier):
    """Mean 1e4 and deviation 1e-2 leave x some ten different values, of which xhat must be exact all the same."""
    def exact(x, axis):
        x = x.astype(np.float64)
        return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-12)

    for shape, call in [((60, 1000), lambda x: k.normalize_rows(x, None, None, x.shape[1], 1e-12)),
                        ((60, 40), lambda x: channel_norm.normalize_channels(x, None, None, 1e-12)),
                        ((8, 3, 40, 40), lambda x: channel_norm.normalize_channels(x, None, None, 1e-12)),
                        ((8, 6, 40, 40), lambda x: channel_norm.normalize_channels(x, None, None, 1e-12, 6))]:
        x = np.random.default_rng(0).normal(1e4, 1e-2, shape).astype(np.float32)
        if outlier is not None:
            x[(0,) * len(shape)] = outlier
        axis = {(60, 1000): 1, (60, 40): 0, (8, 3, 40, 40): (0, 2, 3), (8, 6, 40, 40): (2, 3)}[shape]
        y, _ = call(x)
        np.testing.assert_allclose(y, exact(x, axis), rtol=1e-5, atol=1e-6)


def test_the_number_of_threads_changes_nothing():
    x, g = random(64, 16, 32, 32), random(64, 16, 32, 32, seed=1)
    results = []
    for n in (1, threads.get_num_threads()):
        before = threads.get_num_threads()
        threads.set_num_threads(n)
        try:
            for _ in range(2):
                found = []
                for shape in [(64, 16, 32, 32), (1024, 1024)]:
                    a, b = x.reshape(shape), g.reshape(shape)
                    y, stats = channel_norm.normalize_channels(a, None, None, EPS, rectify=True)
                    found += [y, *channel_norm.normalize_channels_vjp(b, a, None, None, stats, y=y)[:3]]
                    y, stats = k.normalize_rows(a, None, None, shape[-1], EPS)
                    found += [y, *k.normalize_rows_vjp(b, a, None, stats, shape[-1])]
        finally:
            threads.set_num_threads(before)
        results.append(found)
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)


def test_nan_and_infinity_stay_where_they_are():
    x = random(40, 64)
    x[3, 5] = np.nan
    y, _ = k.normalize_rows(x, None, None, 64, EPS)
    assert np.isnan(y[3]).all() and np.isfinite(np.delete(y, 3, 0)).all()
    for rectify in (False, True):
        y, _ = channel_norm.normalize_channels(x, None, None, EPS, rectify=rectify)
        assert np.isnan(y[:, 5]).all() and np.isfinite(np.delete(y, 5, 1)).all()
        y, _ = channel_norm.normalize_channels(np.ascontiguousarray(x.T)[None], None, None, EPS, rectify=rectify)
        assert np.isnan(y[0, 5]).all() and np.isfinite(np.delete(y[0], 5, 0)).all()


def test_no_rows():
    y, stats = k.normalize_rows(np.empty((0, 3), np.float32), None, None, 3, EPS)
    dx, dweight, dbias = k.normalize_rows_vjp(y, y, None, stats, 3)
    assert y.shape == dx.shape == (0, 3) and dweight.tolist() == dbias.tolist() == [0, 0, 0]
