"""Copies of arrays of any strides, and conditions that broadcast."""

import numpy as np
import pytest

from tinygrad_like.kernels.copies import copied
from tinygrad_like.kernels.formula import select


def laid_out(rng):
    """An array of a random shape, with axes in any order, backwards, with gaps, or broadcast from one column."""
    shape = [int(rng.choice([1, 2, 3, 5, 16, 17, 33])) for _ in range(rng.integers(1, 6))]
    while np.prod(shape) > 40_000:
        shape[int(np.argmax(shape))] = 2
    x = rng.standard_normal([2 * n for n in shape], np.float32)
    x = x[tuple([slice(None, None, 2) if rng.random() < 0.2 else slice(n) for n in shape])]
    x = x[tuple([slice(None, None, -1 if rng.random() < 0.2 else 1) for _ in shape])]
    x = x.transpose(rng.permutation(x.ndim))
    return np.broadcast_to(x[..., :1], x.shape) if rng.random() < 0.2 else x


@pytest.mark.parametrize("seed", range(200))
def test_a_copy_of_any_layout_is_in_c_order(seed):
    x = laid_out(np.random.default_rng(seed))
    y = copied(x)
    assert y.flags.c_contiguous and y.flags.owndata
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 4095, 4096, 4097, 100_000])
def test_rows_of_any_length_are_copied(size):
    x = np.arange(3 * size, dtype=np.float32)
    for y in (x, x[::-1], x[::3], x.reshape(3, size)[:, ::-1], x.reshape(size, 3).T):
        np.testing.assert_array_equal(copied(y), y)


SHAPES = (33, 70), (1, 70), (33, 1), (1, 1), (70,), (2, 33, 70), (2, 1, 70), (2, 33, 1), (2, 1, 1)
LAYOUTS = {"C": lambda c: c, "backwards": lambda c: c[..., ::-1], "F": np.asfortranarray}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_condition_broadcasts(shape, layout):
    rng = np.random.default_rng(0)
    condition, a, b = LAYOUTS[layout](rng.random(shape) < 0.5), *rng.standard_normal((2, 2, 33, 70), np.float32)
    for x, y in ((a, b), (a, -1.0), (-1.0, b), (np.asfortranarray(a), b)):
        found = select(a, condition, x, y)
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, np.where(condition, x, y))
    assert select(a, condition, a.astype(np.float64), b) is NotImplemented
