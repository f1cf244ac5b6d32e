"""Reductions against NumPy in float64: values, accuracy on long sums, independence of the number of threads."""

import numpy as np
import pytest

from tinygrad_like.core.graph import mode
from tinygrad_like.kernels import reduce

SHAPES = [(1, 1), (3, 5), (128, 512), (129, 257), (1000, 100), (200, 1), (20_001, 3), (3, 20_000), (4097, 63)]


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def sum_rows(x):
    return reduce.over_rows(reduce.SUM, x)


def sum_columns(x):
    return reduce.sum_columns(x, 1, *x.shape)[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_and_maxima_equal_numpys(shape):
    x = random(*shape)
    exact, tolerance = x.astype(np.float64), dict(rtol=1e-6, atol=1e-6 * max(shape) ** 0.5)
    for _ in range(2):  # the first call is one task, whatever the size
        np.testing.assert_allclose(sum_rows(x), exact.sum(1), **tolerance)
        np.testing.assert_allclose(sum_columns(x), exact.sum(0), **tolerance)
        np.testing.assert_array_equal(reduce.over_rows(reduce.MAX, x), x.max(1))
        np.testing.assert_allclose(reduce.total(x), exact.sum(), rtol=1e-6, atol=1e-6 * x.size**0.5)
        np.testing.assert_allclose(reduce.sum_squares(x), np.square(exact).sum(), rtol=1e-6)


@pytest.mark.parametrize("shape", [(3, 4, 5), (1, 7), (64,), (33, 17), (300, 40)])
@pytest.mark.parametrize("special", [0.0, np.nan, np.inf, -np.inf])
def test_extremes_over_the_last_axes_equal_numpys(shape, special, monkeypatch):
    monkeypatch.setattr(mode, "compiled", True)  # whatever the size
    x = random(*shape)
    x.flat[x.size // 3] = special
    for first in range(x.ndim):
        axis = tuple(range(first, x.ndim))
        for keepdim in False, True:
            for ours, numpy in ((reduce.max_over, np.max), (reduce.min_over, np.min)):
                found, wanted = ours(x, axis, keepdim), numpy(x, axis=axis, keepdims=keepdim)
                assert found.shape == wanted.shape
                np.testing.assert_array_equal(found, wanted)


def test_long_sums_are_accurate():
    x = np.full((300_000, 2), 0.1, np.float32)
    exact = np.float64(np.float32(0.1)) * 300_000
    np.testing.assert_allclose(sum_columns(x), exact, rtol=1e-5)
    np.testing.assert_allclose(sum_rows(np.ascontiguousarray(x.T)), exact, rtol=1e-5)
    np.testing.assert_allclose(reduce.total(x), 2 * exact, rtol=1e-5)
    assert abs(np.cumsum(x[:, 0])[-1] / exact - 1) > 1e-4  # a plain running sum is not


def test_maxima_are_right_for_all_kinds_of_floats():
    special = np.array([-np.inf, -3e38, -1.0, -1e-45, -0.0, 0.0, 1e-45, 1.0, 3e38, np.inf], np.float32)
    for i in range(1, len(special) + 1):
        rows = np.stack([np.roll(np.resize(special[:i], 40), j) for j in range(40)])
        np.testing.assert_array_equal(reduce.over_rows(reduce.MAX, rows), special[i - 1])
    for nan in (np.nan, -np.nan):
        rows = random(40, 40)
        np.fill_diagonal(rows, np.float32(nan))
        assert np.isnan(reduce.over_rows(reduce.MAX, rows)).all()


def test_infinities_and_nan_reach_the_sum():
    x = random(300, 200)
    x[5, 7], x[6, 8] = np.inf, np.nan
    rows, columns = sum_rows(x), sum_columns(x)
    assert np.isinf(rows[5]) and np.isnan(rows[6]) and np.isfinite(np.delete(rows, [5, 6])).all()
    assert np.isinf(columns[7]) and np.isnan(columns[8]) and np.isfinite(np.delete(columns, [7, 8])).all()


def test_inputs_may_be_empty_or_strided():
    x = random(60, 70)
    np.testing.assert_array_equal(sum_rows(x.T), sum_rows(np.ascontiguousarray(x.T)))
    np.testing.assert_array_equal(sum_columns(x[::2]), sum_columns(x[::2].copy()))
    np.testing.assert_array_equal(sum_columns(x[:0]), np.zeros(70))
    assert sum_columns(x[:, :0]).shape == sum_columns(x[:0, :0]).shape == (0,)
    np.testing.assert_array_equal(sum_rows(x[:, :0]), np.zeros(60))
    assert reduce.total(x[:0]) == 0
