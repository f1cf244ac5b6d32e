"""Random numbers from kernels: their distributions, and that they depend on seed and position only."""

import math

import numpy as np
import pytest

import tinygrad_like as tg
from tinygrad_like import Tensor, capture, manual_seed
from tinygrad_like.kernels import noise, threads

N = 1 << 18
SEEDS = [np.array(s) for s in np.random.default_rng(0).integers(0, 2**63, 8)]


def normal(seed, n=N):
    return noise.normal_noise((n,), seed, 0.0, 1.0).astype(np.float64)


def furthest(values, distribution):
    """Kolmogorov's statistic times sqrt(n); it exceeds 2.2 once in 16,000."""
    values = np.sort(values)
    below = distribution(values)
    steps = np.arange(len(values) + 1) / len(values)
    return max(np.abs(below - steps[:-1]).max(), np.abs(below - steps[1:]).max()) * math.sqrt(len(values))


@pytest.mark.parametrize("seed", SEEDS)
def test_normal_numbers_are_normal(seed):
    z = normal(seed)
    assert furthest(z, lambda v: 0.5 * (1 + np.vectorize(math.erf)(v / math.sqrt(2)))) < 2.2
    for power, mean, variance in (1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96):
        assert abs((z**power).mean() - mean) < 4.5 * math.sqrt(variance / N)
    for limit in 3, 4:  # tails
        share = math.erfc(limit / math.sqrt(2))
        assert abs((np.abs(z) > limit).sum() - N * share) < 4.5 * math.sqrt(N * share) + 1


def test_the_largest_of_many_normal_numbers_are_as_large_as_expected():
    most = [np.abs(normal(seed, 1 << 20)).max() for seed in SEEDS]
    assert 4.5 < min(most) and max(most) < 6.6 and 4.8 < np.mean(most) < 5.6


def test_numbers_and_seeds_are_independent():
    """Such sums of independent terms are normal: some 1,500 of variance 1 stay below 4.7."""
    found = []
    numbers = [normal(seed) for seed in SEEDS]
    for z, other in zip(numbers, numbers[1:] + numbers[:1], strict=True):
        squares = (z * z - 1) / math.sqrt(2)
        for lag in (*range(1, 33), 64, 127, *range(128, 132), 255, 256, 257, 512, 1024, 1 << 12, 1 << 16):
            found += [(x[lag:] * x[:-lag]).sum() / math.sqrt(N - lag) for x in (z, squares)]
            found.append((squares[lag:] * z[:-lag]).sum() / math.sqrt(N - lag))
        found += [(np.roll(z, lag) * other).sum() / math.sqrt(N) for lag in range(8)]
        found += list(z.reshape(-1, 64).sum(0) / math.sqrt(N / 64))
    assert np.abs(found).max() < 4.7 and abs(np.std(found) - 1) < 0.06


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_uniform_numbers_are_uniform(seed):
    u = noise.uniform_noise((N,), seed, 0.0, 1.0)
    assert 0 <= u.min() and u.max() < 1 and furthest(u, lambda v: v) < 2.2
    counts = np.histogram2d(u[1:], u[:-1], 16)[0]
    assert abs(((counts - N / 256) ** 2 / (N / 256)).sum() - 255) < 5 * math.sqrt(2 * 255)
    assert len(np.unique(u)) > N - N * N / 2**24  # in steps of 2^-24


@pytest.mark.parametrize("make", [noise.normal_noise, noise.uniform_noise])
def test_numbers_depend_on_seed_and_position_only(make):
    whole = make((100_003,), SEEDS[0], -3.0, 2.0)
    before = threads.count
    for n in range(1, before + 1):
        threads.set_num_threads(n)
        np.testing.assert_array_equal(make((100_003,), SEEDS[0], -3.0, 2.0), whole)
    threads.set_num_threads(before)
    for n in 0, 1, 2, 3, 255, 256, 257, 511, 1000:
        part = make((n,), SEEDS[0], -3.0, 2.0)
        assert part.shape == (n,) and np.isfinite(part).all()
        np.testing.assert_array_equal(part[:n // 256 * 256], whole[:n // 256 * 256])
        assert len(np.unique(part)) == n
    np.testing.assert_array_equal(make((7, 11), SEEDS[1], 0.0, 1.0).ravel(), make((77,), SEEDS[1], 0.0, 1.0))
    assert (make((N,), SEEDS[0], 0.0, 1.0) == make((N,), SEEDS[1], 0.0, 1.0)).mean() < 1e-4
    np.testing.assert_allclose(make((N,), SEEDS[0], -3.0, 2.0), -3 + 2 * make((N,), SEEDS[0], 0.0, 1.0), rtol=1e-5,
                               atol=1e-6)


def test_a_captured_function_draws_in_the_same_order():
    found = []
    for kind in (lambda f: f), (lambda f: capture(f, fuse=False)):
        manual_seed(1)
        own = tg.Generator().manual_seed(2)

        @kind
        def f(x, own=own):
            a, b = Tensor.randn(20, 30), tg.rand(3)
            return x + a[:, :2], b, tg.rand(700, generator=own), tg.empty(300).normal_(2.0, 3.0), Tensor.randn(2)

        found.append([[y.tolist() for y in f(Tensor([1.0 * i, 2.0]))] for i in range(6)] + [Tensor.rand(3).tolist()])
    assert f.programs and "no compiled code does this" not in str(f)
    assert found[0] == found[1]
