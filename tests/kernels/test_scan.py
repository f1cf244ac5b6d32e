"""Running products and extremes, by kernels, against naive definitions and against their formulas in NumPy."""

import inspect

import numpy as np
import pytest

from tinygrad_like import Tensor, ops
from tinygrad_like.kernels import scan as k
from tinygrad_like.ops.scan import places_of_extremes

SHAPES = [((300,), 0), ((7, 50), 1), ((7, 50), 0), ((50, 1), 0), ((1, 50), 0), ((3, 9, 70), 1), ((2, 3, 65), 0),
          ((5, 4, 31), 2), ((40, 1, 3), 0)]


def real(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def naive(x):
    """The matrix of d out[i] / d x[j] of a row, and out."""
    n = len(x)
    return np.array([[np.prod([x[m] for m in range(i + 1) if m != j]) if j <= i else 0 for j in range(n)]
                     for i in range(n)]), np.array([np.prod(x[: i + 1]) for i in range(n)])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zeros", [(), (0,), (3,), (39,), (0, 39), (5, 6), (2, 20, 30)])
def test_rows_with_zeros(zeros, dtype):
    x = np.random.default_rng(3).uniform(0.7, 1.4, (8, 40)).astype(dtype)  # large enough for the kernel
    x[:, zeros] = 0
    a, g = Tensor(x, requires_grad=True), real(8, 40, seed=4).astype(dtype)
    out = a.cumprod(1)
    dx, = out.gradient(a, gradient=g)
    for i, row in enumerate(x.astype(np.float64)):
        slopes, products = naive(row)
        np.testing.assert_allclose(out.detach().numpy()[i], products, rtol=1e-5)
        np.testing.assert_allclose(dx.numpy()[i], g[i] @ slopes, rtol=1e-4, atol=1e-5)


def naive_extremes(row, larger):
    places, at = [], 0
    for i, value in enumerate(row):
        top = row[at]
        if np.isnan(value) or (not np.isnan(top) and (value >= top if larger else value <= top)):
            at = i
        places.append(at)
    return places


@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_running_extremes(shape, axis):
    """The last of several; from the first NaN on, the last NaN."""
    x = np.round(real(*shape))
    x[real(*shape, seed=1) > 2.3] = np.nan
    x[real(*shape, seed=2) > 2.3] = np.inf
    x[real(*shape, seed=3) > 2.3] = -np.inf
    for sign, f in (1, ops.cummax), (-1, ops.cummin):
        expected = np.apply_along_axis(naive_extremes, axis, x, sign > 0)
        np.testing.assert_array_equal(k.places_of_extremes(x, axis, sign), expected)
        np.testing.assert_array_equal(inspect.unwrap(places_of_extremes)(x, axis, sign), expected)
        values, places = f(Tensor(x), axis=axis)
        np.testing.assert_array_equal(places.numpy(), expected)
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(x, expected, axis))
    gaps = np.repeat(x, 2, axis=-1)[..., ::2]
    np.testing.assert_array_equal(k.places_of_extremes(gaps, axis, 1), k.places_of_extremes(x, axis, 1))


def test_rows_that_begin_with_infinity_or_nan():
    for first in np.nan, np.inf, -np.inf:
        x = np.tile(np.array([first, first, 1, np.nan, 2, -np.inf], np.float32), 50)
        for sign in 1, -1:
            for shape in (300,), (1, 300, 1), (100, 3):
                y = x.reshape(shape)
                axis = shape.index(max(shape))
                np.testing.assert_array_equal(k.places_of_extremes(y, axis, sign),
                                              np.apply_along_axis(naive_extremes, axis, y, sign > 0))
