"""Scalers against NumPy."""

import numpy as np
import pytest

from tinygrad_like.data import Compose, MinMaxScaler, RandomShift, StandardScaler

rng = np.random.default_rng(3)
IMAGES = (rng.random((2500, 3, 4, 5)) * [[[[1]], [[5]], [[0.1]]]] + [[[[0]], [[30]], [[-2]]]]).astype(np.float32)
ROWS = rng.normal(7, 3, (100, 6))


@pytest.mark.parametrize("x, axes", [(IMAGES, (0, 2, 3)), (ROWS, (0,))])
def test_standard_scaler_equals_numpys_formula(x, axes):
    y = StandardScaler().fit(x).transform(x)
    mean, std = (f(x.astype(np.float64), axis=axes, keepdims=True) for f in (np.mean, np.std))
    assert y.dtype == x.dtype
    np.testing.assert_allclose(y, (x - mean) / std, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(y.mean(axes, dtype=np.float64), 0, atol=1e-4)
    np.testing.assert_allclose(y.std(axes, dtype=np.float64), 1, atol=1e-4)


@pytest.mark.parametrize("x, axes", [(IMAGES, (0, 2, 3)), (ROWS, (0,))])
@pytest.mark.parametrize("low, high", [(0, 1), (-1, 3)])
def test_min_max_scaler_equals_its_formula(x, axes, low, high):
    y = MinMaxScaler(low, high).fit(x).transform(x)
    assert y.dtype == x.dtype
    np.testing.assert_allclose(y.min(axes), low, atol=2e-5)
    np.testing.assert_allclose(y.max(axes), high, atol=2e-5)
    least, most = x.min(axes, keepdims=True), x.max(axes, keepdims=True)
    np.testing.assert_allclose(y, low + (high - low) * (x - least) / (most - least), atol=5e-5)


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(-1, 1)])
def test_only_fit_sets_the_scale_and_inverse_undoes_it(scaler):
    scaler.fit(IMAGES[:100])
    offset, scale = scaler.offset.copy(), scaler.scale.copy()
    other = IMAGES[100:] * 3
    before = other.copy()
    y = scaler.transform(other)
    np.testing.assert_allclose(scaler.inverse(y), other, rtol=1e-4, atol=1e-4)
    assert np.array_equal(other, before)
    assert np.array_equal(scaler.offset, offset) and np.array_equal(scaler.scale, scale)


@pytest.mark.parametrize("scaler, value", [(StandardScaler(), 0), (MinMaxScaler(2, 3), 2)])
@pytest.mark.parametrize("constant", [0.0, 0.1, -1e6])
def test_constant_features_stay_finite(scaler, value, constant):
    x = np.full((37, 2), constant, np.float32)
    x[:, 1] = np.arange(37)
    y = scaler.fit(x).transform(x)
    np.testing.assert_allclose(y[:, 0], value, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n", [3, 37, 5000])
@pytest.mark.parametrize("constant", [0.1, 1 / 3, -7e3])
def test_a_constant_feature_is_only_shifted(dtype, n, constant):
    """The mean is rounded, so the computed standard deviation is not 0."""
    x = np.full((n, 2), constant, dtype)
    x[:, 1] = np.linspace(-1, 1, n)
    scaler = StandardScaler().fit(x)
    assert scaler.scale[0] == 1
    shifted = x + np.array([1.0, 0.0], dtype)
    moved = shifted[0, 0].astype(float) - x[0, 0].astype(float)
    np.testing.assert_allclose(scaler.transform(shifted)[:, 0], moved, rtol=2e-3)


def test_a_small_spread_far_from_0_counts():
    """Seconds since 1970, over some minutes."""
    x = 1.7e9 + np.arange(200.0)[:, None]
    np.testing.assert_allclose(StandardScaler().fit(x).transform(x).std(0), 1)
    y = (1e6 + np.arange(200.0)[:, None]).astype(np.float32)
    np.testing.assert_allclose(StandardScaler().fit(y).transform(y).std(0), 1, rtol=1e-5)


def test_a_scaler_may_end_compose():
    scaler = StandardScaler().fit(IMAGES)
    assert np.array_equal(Compose([RandomShift(0), scaler])(IMAGES), scaler.transform(IMAGES))


def test_bad_arguments_raise():
    with pytest.raises(ValueError, match=r"StandardScaler: call fit\(x_train\) first"):
        StandardScaler().transform(ROWS)
    with pytest.raises(ValueError, match=r"fitted to 6 features or channels \(axis 1\), got shape \(2500, 3, 4, 5\)"):
        MinMaxScaler().fit(ROWS).inverse(IMAGES)
    with pytest.raises(ValueError, match="low=1 must be less than high=1"):
        MinMaxScaler(1, 1)
    for x in (np.zeros(3), np.zeros((3, 2), int), np.zeros((0, 2)), [[1.0]]):
        with pytest.raises(ValueError, match="Scaler: data must be a floating-point array"):
            StandardScaler().fit(x)
