"""What mixup, cutmix, noise and cutout do beyond images with classes."""

import numpy as np
import pytest

from tinygrad_like.data import ChannelCutout, Compose, CutMix, DataLoader, GaussianNoise, MixUp

rng = np.random.default_rng(0)


@pytest.mark.parametrize("shape", [(400, 5), (400, 2, 9), (400, 1, 3, 3)])
def test_mixup_of_vectors_and_numbers_to_be_predicted(shape):
    """x and y are convex combinations with the same weight (002): for y = f(x) with linear f, f stays true."""
    x = rng.standard_normal(shape).astype(np.float32)
    w = rng.standard_normal((*shape[1:], 2)).astype(np.float32)
    for y in (np.tensordot(x, w, x.ndim - 1), np.tensordot(x, w, x.ndim - 1)[:, 0]):
        mixed, targets = MixUp(None, alpha=1.0)(x, y)
        assert targets.dtype == np.float32 and targets.shape == y.shape
        expected = np.tensordot(mixed, w, x.ndim - 1)
        np.testing.assert_allclose(targets, expected if y.ndim == 2 else expected[:, 0], rtol=1e-3, atol=1e-4)
        assert (mixed != x).any(axis=tuple(range(1, x.ndim))).mean() > 0.95
    with pytest.raises(ValueError, match="MixUp: without num_classes, targets are numbers .*, got int64 of shape"):
        MixUp(None)(x, np.arange(400))
    with pytest.raises(ValueError, match=r"takes an array \(batch, ...\) of vectors or images, got \(5,\)"):
        MixUp(None)(x[0].ravel()[:5], y)


@pytest.mark.parametrize("size", [3, (2, 5), (8, 9)])
def test_cutmix_with_a_patch_of_fixed_shape(size):
    y = np.arange(300)
    x = np.broadcast_to(y[:, None, None, None], (300, 2, 8, 9)).astype(np.float32)
    mixed, labels = CutMix(300, size=size)(x, y)
    height, width = (size, size) if isinstance(size, int) else size
    places = set()
    for image, label, own in zip(mixed[:, 0], labels, y, strict=True):
        strange = image != own
        if strange.any():  # else it was its own partner
            rows, columns = np.flatnonzero(strange.any(1)), np.flatnonzero(strange.any(0))
            assert strange.sum() == height * width == len(rows) * len(columns)
            np.testing.assert_allclose(label[own], 1 - height * width / 72, atol=1e-5)
            places.add((rows[0], columns[0]))
    assert len(places) == (9 - height) * (10 - width), "anywhere inside the image"
    half = CutMix(300, p=0.5, size=size)(x, y)[0]
    assert 0.35 < (half != x).any((1, 2, 3)).mean() < 0.65


def test_a_patch_that_does_not_fit():
    x = np.zeros((4, 1, 8, 8), np.float32)
    with pytest.raises(ValueError, match=r"CutMix: a patch of size \(9, 9\) does not fit images of shape \(4, 1, "):
        CutMix(4, size=9)(x, np.arange(4))
    with pytest.raises(ValueError, match="CutMix: size=0 must be one or two numbers of at least 1"):
        CutMix(4, size=0)
    with pytest.raises(ValueError, match="images must be an array"):
        CutMix(None)(x[:, 0, 0], np.zeros(4, np.float32))


def test_cutout_of_one_channel():
    out = ChannelCutout(4)(np.ones((3000, 3, 9, 6), np.float32))
    cut = (out == 0).any((2, 3))
    assert (cut.sum(1) == 1).all(), "a spatial patch of a single channel (002)"
    np.testing.assert_allclose(cut.mean(0), 1 / 3, atol=0.05)
    assert {int((image == 0).sum()) for image in out} <= {r * c for r in range(2, 5) for c in range(2, 5)}
    x = rng.random((2000, 2, 5, 5)).astype(np.float32)
    assert abs((ChannelCutout(2, p=0.3)(x) != x).any((1, 2, 3)).mean() - 0.3) < 0.05
    a, b = (Compose([ChannelCutout(2)])(x, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert repr(ChannelCutout(2)) == "ChannelCutout(size=2, p=1.0)"
    with pytest.raises(ValueError, match="Cutout: size=0"):
        ChannelCutout(0)


def test_noise_on_vectors():
    x = rng.standard_normal((3000, 4)).astype(np.float32)
    noise = GaussianNoise(0.3, p=0.5)(x) - x
    changed = noise.any(1)
    assert abs(changed.mean() - 0.5) < 0.05 and noise[changed].std() == pytest.approx(0.3, rel=0.05)
    loader = DataLoader(x, np.zeros(3000, np.float32), batch_size=1000, transform=GaussianNoise(0.1), mix=MixUp(None))
    assert [len(a) for a, _ in loader] == [1000] * 3
