"""Normalisation kernels against plain NumPy in float64."""

import numpy as np
import pytest

from tinygrad_like.kernels import norm as k

EPS = 1e-5


def random(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("outlier", [None, 0.0, 2e4])
def test_a_small_spread_around_a_large_mean_keeps_its_digits(outlier):
    """With mean 1e4 and deviation 1e-2, x has some ten different values; xhat must still be exact."""
    def exact(x, axis):
        x = x.astype(np.float64)
        return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-12)

    for shape, call in [((60, 1000), lambda x: k.layer_norm(x, None, None, normalized_shape=None, eps=1e-12)),
                        ((60, 40), lambda x: k.batch_norm(x, None, None, eps=1e-12)),
                        ((8, 3, 40, 40), lambda x: k.batch_norm(x, None, None, eps=1e-12)),
                        ((8, 6, 40, 40), lambda x: k.batch_norm(x, None, None, eps=1e-12, groups=6))]:
        x = np.random.default_rng(0).normal(1e4, 1e-2, shape).astype(np.float32)
        if outlier is not None:
            x[(0,) * len(shape)] = outlier
        axis = {(60, 1000): 1, (60, 40): 0, (8, 3, 40, 40): (0, 2, 3), (8, 6, 40, 40): (2, 3)}[shape]
        y, _ = call(x)
        np.testing.assert_allclose(y, exact(x, axis), rtol=1e-5, atol=1e-6)


def test_nan_and_infinity_stay_where_they_are():
    x = random(40, 64)
    x[3, 5] = np.nan
    y, _ = k.layer_norm(x, None, None, normalized_shape=None, eps=EPS)
    assert np.isnan(y[3]).all() and np.isfinite(np.delete(y, 3, 0)).all()
    for rectify in (False, True):
        y, _ = k.batch_norm(x, None, None, eps=EPS, rectify=rectify)
        assert np.isnan(y[:, 5]).all() and np.isfinite(np.delete(y, 5, 1)).all()
        y, _ = k.batch_norm(np.ascontiguousarray(x.T)[None], None, None, eps=EPS, rectify=rectify)
        assert np.isnan(y[0, 5]).all() and np.isfinite(np.delete(y[0], 5, 0)).all()
