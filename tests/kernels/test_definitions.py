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
    shape = 4, 50, 300
    x, y = (f(shape, p, SEED, 0) for f in (attention.dropout_factors, attention.dropout_factors.__wrapped__))
    np.testing.assert_array_equal(x, y)
    assert x.dtype == y.dtype == np.float32 and abs((x == 0).mean() - p) <= 5 * math.sqrt(p * (1 - p) / x.size)
    one = attention.dropout_factors.__wrapped__
    part = one((6, 300), p, SEED + 2, 1 + (2 << 32))  # rows 2, 4, ... of the whole
    np.testing.assert_array_equal(part, one((20, 300), p, SEED, 0)[2:14:2])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_erf(dtype):
    x = (np.linspace(-4, 4, 1001) * 2).astype(dtype)
    y, z = elementwise._erf_of(x), elementwise._erf_of.__wrapped__(x)
    assert y.dtype == z.dtype
    np.testing.assert_array_equal(y, z)


@pytest.mark.parametrize("channels", [1, 2, 3])
@pytest.mark.parametrize("code", range(12))
def test_augmentation(code, channels):
    rng = np.random.default_rng(code)
    images = rng.random((8, channels, 20, 17), np.float32)
    codes = np.full((8, 3), code) if code < 11 else rng.integers(0, 11, (8, 3))
    numbers = rng.uniform(0, 2, (8, 3, 6))
    if code in (instructions.WARP, 11):
        numbers[..., :] += rng.normal(size=numbers.shape) * 0.3
    if code in (instructions.POSTERIZE, 11):
        numbers[..., 0] = rng.integers(0, 9, (8, 3))
    if code == instructions.ERASE:
        numbers[..., :4] = rng.integers(-5, 25, (8, 3, 4))
    x, y = (f(images, codes, numbers) for f in (instructions.run_programs, instructions.run_programs.__wrapped__))
    assert y.dtype == np.float32
    wrong = abs(x - y) > 1e-4
    assert wrong.mean() < 0.02 if code == 11 else not wrong.any()  # a level may be the next one after a warp


def test_what_is_replaced_is_there():
    """Each line of the tables names a function of the module it names, or one of a formula."""
    for module, name, _ in registry.DIRECT.values():
        assert hasattr(import_module(f"tinygrad_like.kernels.{module}"), name)
    for name, (module, _) in registry.ACCELERATED.items():
        assert module == "formula" or hasattr(import_module(f"tinygrad_like.kernels.{module}"), name)
