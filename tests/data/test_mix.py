"""Mixup and noise for vectors and real-valued targets."""

import numpy as np
import pytest

from tinygrad_like.data import CutMix, DataLoader, GaussianNoise, MixUp

rng = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(400, 5), (400, 2, 9), (400, 1, 3, 3)])
def test_mixup_takes_vectors_and_real_targets(shape):
    """x and y are convex combinations with the same weight (002): for y = f(x) with linear f, f stays true."""
    x = rng.standard_normal(shape).astype(np.float32)
    w = rng.standard_normal((*shape[1:], 2)).astype(np.float32)
    for y in (np.tensordot(x, w, x.ndim - 1), np.tensordot(x, w, x.ndim - 1)[:, 0]):
        mixed, targets = MixUp(None, alpha=1.0)(x, y)
        assert targets.dtype == np.float32 and targets.shape == y.shape
        expected = np.tensordot(mixed, w, x.ndim - 1)
        np.testing.assert_allclose(targets, expected if y.ndim == 2 else expected[:, 0], rtol=1e-3, atol=1e-4)
        assert (mixed != x).any(axis=tuple(range(1, x.ndim))).mean() > 0.95
    with pytest.raises(ValueError, match="MixUp: without num_classes, targets must be floats .*, got int64 of shape"):
        MixUp(None)(x, np.arange(400))
    with pytest.raises(ValueError, match=r"takes an array \(batch, ...\) of vectors or images, got \(5,\)"):
        MixUp(None)(x[0].ravel()[:5], y)
    with pytest.raises(ValueError, match="images must be an array"):
        CutMix(None)(x.reshape(400, -1), y)


def test_noise_takes_vectors():
    x = rng.standard_normal((3000, 4)).astype(np.float32)
    noise = GaussianNoise(0.3, p=0.5)(x) - x
    changed = noise.any(1)
    assert abs(changed.mean() - 0.5) < 0.05 and noise[changed].std() == pytest.approx(0.3, rel=0.05)
    loader = DataLoader(x, np.zeros(3000, np.float32), batch_size=1000, transform=GaussianNoise(0.1), mix=MixUp(None))
    assert [len(a) for a, _ in loader] == [1000] * 3
