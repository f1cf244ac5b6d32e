"""The hash behind dropout: its statistics, and that it depends on seed and position only."""

import numpy as np
import pytest

from tinygrad_like.kernels import noise as dropout

N = 1 << 18
SEEDS = [np.array(s) for s in np.random.default_rng(0).integers(0, 2**63, 8)]
KEY = np.array(3)


def kept(p, seed, n=N):
    return dropout.dropout(np.ones(n, np.float32), p, seed, 1.0) != 0


def centred(p, seed):
    """1 and 0 for kept and dropped, with mean 0 and variance 1."""
    return (kept(p, seed) - (1 - p)) / np.sqrt(p * (1 - p))


@pytest.mark.parametrize("p", [1e-4, 0.1, 0.25, 0.5, 0.9, 0.999])
def test_the_share_of_dropped_elements_is_p(p):
    shares = [1 - kept(p, seed).mean() for seed in SEEDS]
    assert abs(np.mean(shares) - p) < 4 * np.sqrt(p * (1 - p) / N / len(SEEDS))
    assert p in (1e-4, 0.999) or abs(np.mean(shares) - p) < 1e-3


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_elements_and_seeds_are_independent(p):
    """Such sums of independent terms are normal: some 5000 of variance 1 stay below 4.8."""
    z = []
    masks = [centred(p, seed) for seed in SEEDS]
    for m, other in zip(masks, masks[1:] + masks[:1], strict=True):
        for lag in (*range(1, 65), *(1 << k for k in range(7, 18)), 96, 100, 384, 768, 1000):
            z.append((m[lag:] * m[:-lag]).sum() / np.sqrt(N - lag))
        z += [(np.roll(m, lag) * other).sum() / np.sqrt(N) for lag in range(8)]
        z.append((m[2:] * m[1:-1] * m[:-2]).sum() / np.sqrt(N - 2))
        z += list(m.reshape(-1, 512).sum(0) / np.sqrt(N / 512))  # columns
    assert np.abs(z).max() < 4.8 and abs(np.std(z) - 1) < 0.05


def test_seeds_that_differ_in_one_bit_give_independent_masks():
    for seed in SEEDS[:3]:
        m = centred(0.5, seed)
        for k in range(63):
            assert abs((m * centred(0.5, np.array(seed ^ (1 << k)))).mean()) < 0.05


def test_kept_elements_are_scaled_and_p_may_be_0_or_almost_1():
    x = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
    y = dropout.dropout(x, 0.4, KEY, 2.5)
    assert np.array_equal(y[y != 0], np.float32(2.5) * x[y != 0]) and 0.5 < (y != 0).mean() < 0.7
    assert np.array_equal(dropout.dropout(x, 0.0, KEY, 1.0), x)
    assert np.count_nonzero(dropout.dropout(x, 1 - 1e-12, KEY, 1.0)) == 0
    x[:] = np.inf
    assert set(np.unique(dropout.dropout(x, 0.5, KEY, 1.0))) == {0, np.inf}


def test_a_string_as_probability_raises():
    with pytest.raises(TypeError):
        dropout.dropout(np.ones(3, np.float32), b"half", KEY, 1.0)
