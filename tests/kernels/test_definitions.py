"""Functions that kernels replace wholly, whatever they are given: each against its definition."""

import math
from importlib import import_module

import numpy as np
import pytest

from tinygrad_like import random
from tinygrad_like.data import instructions
from tinygrad_like.kernels import registry

attention, dropout, elementwise = (import_module(f"tinygrad_like.ops.{n}")
                                   for n in ("attention", "dropout", "elementwise"))
SEED = np.array(0x6234567812345678)


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 700, 5000])
@pytest.mark.parametrize("noise", [random._normal_noise, random._uniform_noise])
def test_noise(noise, count):
    x, y = (f((count,), SEED, 0.5, 2.0) for f in (noise, noise.__wrapped__))
    assert x.dtype == y.dtype == np.float32
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("p", [0.0, 0.3, 0.999])
@pytest.mark.parametrize("spread", [0, 7 + (3 << 32)])
def test_what_dropout_keeps(p, spread):
    given = (5, 7), p, SEED, spread
    np.testing.assert_array_equal(dropout.kept(*given), dropout.kept.__wrapped__(*given))


@pytest.mark.parametrize("p", [0.3, 0.999, 1])
def test_dropout_of_attention(p):
    x = attention.dropout_factors((4, 50, 300), p, SEED, 0)
    assert x.dtype == np.float32 and abs((x == 0).mean() - p) <= 5 * math.sqrt(p * (1 - p) / x.size)
    part = attention.dropout_factors((6, 300), p, SEED + 2, 1 + (2 << 32))  # rows 2, 4, ... of the whole
    np.testing.assert_array_equal(part, attention.dropout_factors((20, 300), p, SEED, 0)[2:14:2])
    kept = [(attention.dropout_factors((4, 500, 300), p, SEED + i, 0) > 0) - (1 - p) for i in range(2)]
    for a, b in [kept, *[(np.delete(kept[0], 0, axis), np.delete(kept[0], -1, axis)) for axis in range(3)]]:
        assert abs((a * b).mean()) < 0.002  # neither neighbours nor seeds are correlated


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_erf(dtype):
    x = (np.linspace(-4, 4, 1001) * 2).astype(dtype)
    y, z = elementwise._erf_of(x), elementwise._erf_of.__wrapped__(x)
    assert y.dtype == z.dtype
    np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 20, 17), (2, 8, 1)])
def test_warps(shape):
    rng = np.random.default_rng(0)
    image = rng.random(shape, np.float32)
    for scale in 0.3, 3, 1e9:
        warp = np.eye(3) + scale * rng.normal(size=(3, 3)) * [[1], [1], [0]]
        x, y = (f(image, warp) for f in (instructions._warped, instructions._warped.__wrapped__))
        assert x.dtype == y.dtype == np.float32
        np.testing.assert_allclose(x, y, atol=1e-4)


def test_what_is_replaced_is_there():
    """Each line of the tables names a function of the module it names, or one of a formula."""
    for module, name, _ in registry.DIRECT.values():
        assert hasattr(import_module(f"tinygrad_like.kernels.{module}"), name)
    for name, (module, _) in registry.ACCELERATED.items():
        assert module == "formula" or hasattr(import_module(f"tinygrad_like.kernels.{module}"), name)
