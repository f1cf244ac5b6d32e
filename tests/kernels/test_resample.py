"""The kernels of interpolation against their definitions in NumPy, in float64."""

import inspect

import numpy as np
import pytest

from tinygrad_like.kernels import resample as k
from tinygrad_like.ops.interpolate import Taps, _neighbours, resampled, resampled_vjp

CASES = [((2, 3, 40), 2, "linear", 61), ((3, 9, 8), 1, "linear", 4), ((300, 20, 31), 2, "bicubic", 45),
         ((300, 20, 31), 1, "bicubic", 7), ((64, 12, 7), 1, "area", 5), ((1, 2000, 1), 1, "area", 3)]


@pytest.mark.parametrize(("shape", "axis", "mode", "new"), CASES)
def test_kernels_do_what_their_definitions_say(shape, axis, mode, new):
    taps = _neighbours(shape[axis], new, None, mode, False)
    rng = np.random.default_rng(0)
    x = rng.standard_normal(shape).astype(np.float32)
    g = rng.standard_normal((*shape[:axis], new, *shape[axis + 1 :])).astype(np.float32)
    for kernel, definition, given in ((k.resampled, resampled, x), (k.resampled_vjp, resampled_vjp, g)):
        expected = inspect.unwrap(definition)(given.astype(np.float64), axis, taps)
        np.testing.assert_allclose(kernel(given, axis, taps), expected, rtol=1e-5, atol=1e-5)
        gaps = np.repeat(given, 2, axis=0)[::2]
        np.testing.assert_array_equal(kernel(gaps, axis, taps), kernel(given, axis, taps))


def test_a_place_that_is_not_there_is_an_error():
    x, g = np.arange(8, dtype=np.float32).reshape(2, 4), np.ones((2, 2), np.float32)
    for wrong in 4, -1:
        taps = Taps(4, np.array([[0, wrong], [2, 3]]), np.ones((2, 2)))
        with pytest.raises(ValueError, match="do not fit"):
            k.resampled(x, 1, taps)
        with pytest.raises(ValueError, match="do not fit"):
            k.resampled_vjp(g, 1, taps)
    taps = Taps(4, np.array([[0, 1], [2, 3]]), np.ones((2, 2)))
    assert k.resampled(x, 0, taps) is NotImplemented is k.resampled_vjp(x, 1, taps)
