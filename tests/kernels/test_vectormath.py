"""The scalar functions over all magnitudes: the accuracy that docstrings state, limits, and that loops vectorise."""

import math
import re

import numpy as np
import pytest
from numba import njit

from tinygrad_like.kernels import formula, vectormath

EXACT = {
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p_unit": np.log1p,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "erf": lambda x: np.array([math.erf(v) for v in x]),
}
SMALLEST = 2.0**-125  # below, results are flushed to 0 or have lost bits

INF = np.inf
LIMITS = {  # at -inf, inf, -0.0, 0.0, the least subnormal, its negative, the largest float and its negative
    "exp": [0, INF, 1, 1, 1, 1, INF, 0],
    "expm1": [-1, INF, 0, 0, 0, 0, INF, -1],
    "log": [np.nan, INF, -INF, -INF, math.log(2.0**-149), np.nan, math.log(2) * 128, np.nan],
    "sigmoid": [0, 1, 0.5, 0.5, 0.5, 0.5, 1, 0],
    "tanh": [-1, 1, 0, 0, 0, 0, 1, -1],
    "erf": [-1, 1, 0, 0, 0, 0, 1, -1],
}
LARGEST = float(np.finfo(np.float32).max)


def loop(name):
    f = getattr(vectormath, name)

    @njit(error_model="numpy")
    def over(x, y):
        for i in range(x.size):
            y[i] = f(x[i])

    return over


def apply(over, x):
    y = np.empty_like(x)
    over(x, y)
    return y


def inputs(name):
    """Floats of all magnitudes and both signs, denser where the function changes most."""
    floats = np.arange(0, 2**32, 20011, dtype=np.uint64).astype(np.uint32).view(np.float32)
    ranges = [(-100, 100, 150_001), (-5, 5, 150_001), (0.5, 2, 50_001)]
    x = np.concatenate([floats[np.isfinite(floats)], *(np.linspace(*r, dtype=np.float32) for r in ranges)])
    if name == "log":
        return np.abs(x)
    return np.abs(x[np.abs(x) <= 1]) if name == "log1p_unit" else x


@pytest.mark.parametrize("name", EXACT)
def test_accuracy_is_as_stated(name):
    stated = float(re.search(r"within ([\d.]+) ulp", getattr(vectormath, name).__doc__).group(1))
    x = inputs(name)
    y = apply(loop(name), x).astype(np.float64)
    with np.errstate(all="ignore"):  # exp overflows, log meets 0
        exact = EXACT[name](x.astype(np.float64))
        rounded = exact.astype(np.float32)
        error = np.abs(y - exact)
        ulps = error / np.spacing(np.abs(rounded))
    tiny, finite = np.abs(exact) < SMALLEST, np.isfinite(rounded)
    assert (finite & ~tiny).sum() > 50_000
    assert ulps[finite & ~tiny].max() <= stated
    assert error[tiny].max(initial=0) < SMALLEST
    np.testing.assert_array_equal(y[~finite], rounded[~finite])


@pytest.mark.parametrize("name", LIMITS)
def test_limits_and_nan(name):
    x = np.array([-INF, INF, -0.0, 0.0, 1e-45, -1e-45, LARGEST, -LARGEST, np.nan], np.float32)
    expected = np.array([*LIMITS[name], np.nan], np.float32)
    np.testing.assert_allclose(apply(loop(name), x), expected, rtol=1e-6, atol=1e-44)


@pytest.mark.parametrize("name", ["tanh", "erf", "sigmoid"])
def test_bounded_functions_keep_their_bounds(name):
    y = apply(loop(name), np.linspace(-100, 100, 2_000_001, dtype=np.float32))
    assert y.max() == 1
    assert y.min() == (0 if name == "sigmoid" else -1)


@pytest.mark.parametrize("name", EXACT)
def test_loops_vectorise(name):
    over = loop(name)
    apply(over, np.ones(3, np.float32))
    (code,) = over.inspect_llvm().values()
    assert re.search(r"(fmul|fadd|fdiv) .*<\d+ x float>", code)


# Two numbers ----------------------------------------------------------------------------------------------------------


def pairs():
    """Pairs of floats of all magnitudes, of integers, of close numbers, and all pairs of special ones."""
    rng = np.random.default_rng(0)
    any_bits = rng.integers(0, 2**32, (2, 100_000)).astype(np.uint32).view(np.float32)
    near, whole = rng.standard_normal((2, 100_000)).astype(np.float32), rng.integers(-999, 999, (2, 100_000))
    special = np.float32([0, -0.0, 1, -1, INF, -INF, np.nan, 1e-45, -1e-45, LARGEST, -LARGEST, 2.5, 0.1, 1e-38])
    all_pairs = np.stack(np.meshgrid(special, special)).reshape(2, -1)
    return np.concatenate([any_bits, near * [[100], [1]], whole, all_pairs], axis=1, dtype=np.float32)


def test_logaddexp_is_as_accurate_as_stated():
    a, b = pairs()
    with np.errstate(all="ignore"):
        exact = np.logaddexp(a, b, dtype=np.float64)
        largest = np.max([np.abs(a), np.abs(b), np.abs(exact), np.full(a.shape, 1e-30)], axis=0)
    y, finite = formula.logaddexp(a, b), np.isfinite(exact) & (largest < LARGEST)
    assert (np.abs(y[finite] - exact[finite]) / np.spacing(largest[finite].astype(np.float32))).max() <= 4
    np.testing.assert_array_equal(y[~finite], exact[~finite].astype(np.float32))


def test_one_minus_tanh_is_as_exact_as_rounding_allows():
    x = np.linspace(0.5, 9.5, 1_000_001, dtype=np.float32)
    y, exact = apply(loop("tanh"), x).astype(float), np.tanh(x.astype(float))
    far = exact > 0.9  # where the squared policies of reinforcement learning take log(1 - tanh(x)^2 + 1e-6)
    assert (np.abs(y - exact)[far] <= 1.1 * 2.0**-24).all()
    assert (np.abs(y - exact)[exact > 0.99] <= 0.52 * 2.0**-24).all()
    logs, right = (np.log(1 - t[far] ** 2 + 1e-6) for t in (y, exact.astype(np.float32).astype(float)))
    assert np.abs(logs - right).mean() < 1e-3
    np.testing.assert_array_equal(apply(loop("tanh"), -x), -y)
