"""Functions that kernels always replace, whatever the arguments: each against its definition."""

from importlib import import_module

import numpy as np
import pytest

from tinygrad_like import random
from tinygrad_like.kernels import registry

dropout = import_module("tinygrad_like.ops.dropout")
SEED = np.array(0x6234567812345678)


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 700, 5000])
@pytest.mark.parametrize("noise", [random._normal_noise, random._uniform_noise])
def test_noise_equals_its_definition(noise, count):
    x, y = (f((count,), SEED, 0.5, 2.0) for f in (noise, noise.__wrapped__))
    assert x.dtype == y.dtype == np.float32
    np.testing.assert_allclose(x, y, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("p", [0.0, 0.3, 0.999])
@pytest.mark.parametrize("spread", [0, 7 + (3 << 32)])
def test_dropout_keeps_the_numbers_that_its_definition_keeps(p, spread):
    given = (5, 7), p, SEED, spread
    np.testing.assert_array_equal(dropout.kept(*given), dropout.kept.__wrapped__(*given))


def test_every_accelerated_definition_has_its_kernel():
    for name, (module, _) in registry.ACCELERATED.items():
        assert module == "formula" or hasattr(import_module(f"tinygrad_like.kernels.{module}"), name)
