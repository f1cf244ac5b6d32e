"""Augmentation: each transform against its definition in NumPy, and its statistics."""

import numpy as np
import pytest

from tinygrad_like import Tensor, manual_seed, ops
from tinygrad_like.data import (
    RANDAUGMENT,
    Compose,
    CutMix,
    Cutout,
    GaussianNoise,
    MixUp,
    RandAugment,
    RandomBrightness,
    RandomContrast,
    RandomCrop,
    RandomHorizontalFlip,
    RandomRotation,
    RandomShift,
    RandomZoom,
)
from tinygrad_like.data.changes import equalize, posterize, warp

ALL = [
    GaussianNoise(0.1), RandomHorizontalFlip(), RandomCrop(8, padding=2), RandomShift(2), RandomRotation(30),
    RandomZoom(0.3), RandomBrightness(0.5), RandomContrast(0.5), Cutout(4), RandAugment(2, 9),
    Compose([RandomCrop(8, padding=2), RandomHorizontalFlip(), GaussianNoise(), RandAugment(), Cutout(3)]),
]  # fmt: skip
IMAGES = np.random.default_rng(2).random((16, 3, 8, 8), dtype=np.float32)


def images(batch=16, channels=3, height=9, width=6):
    return np.random.default_rng(batch).random((batch, channels, height, width), dtype=np.float32)


# All transforms


@pytest.mark.parametrize("transform", ALL, ids=repr)
def test_images_are_new_and_follow_the_seed(transform):
    before = IMAGES.copy()
    first, second = (transform(IMAGES, np.random.default_rng(seed)) for seed in (1, 2))
    assert np.array_equal(IMAGES, before) and not np.shares_memory(first, IMAGES)
    assert first.shape == IMAGES.shape and first.dtype == np.float32 and np.isfinite(first).all()
    assert np.array_equal(first, transform(IMAGES, np.random.default_rng(1))) and not np.array_equal(first, second)
    manual_seed(3)
    third = transform(IMAGES)
    manual_seed(3)
    assert np.array_equal(third, transform(IMAGES)) and not np.array_equal(third, transform(IMAGES))


@pytest.mark.parametrize("transform", ALL, ids=repr)
def test_transforms_take_any_number_of_images_in_any_memory_order(transform):
    for batch in (0, 1):
        assert transform(IMAGES[:batch]).shape == (batch, 3, 8, 8)
    turned = np.ascontiguousarray(IMAGES.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2)
    assert np.array_equal(*(transform(x, np.random.default_rng(0)) for x in (IMAGES, turned)))


@pytest.mark.parametrize("transform", [t for t in ALL[:-1] if not isinstance(t, GaussianNoise)], ids=repr)
def test_transforms_require_float32_images(transform):
    with pytest.raises(ValueError, match=rf"{type(transform).__name__}: images must be an array .* got \(8, 8\)"):
        transform(np.zeros((8, 8), np.float32))
    with pytest.raises(TypeError, match="must be float32, got uint8; .* divide"):
        transform(np.zeros((1, 1, 8, 8), np.uint8))


@pytest.mark.parametrize("make", [
    lambda p: GaussianNoise(1.0, p), lambda p: RandomHorizontalFlip(p), lambda p: RandomShift(2, p),
    lambda p: RandomRotation((20, 30), p), lambda p: RandomZoom((1.2, 1.4), p), lambda p: Cutout(4, p),
    lambda p: RandomBrightness((0.1, 0.2), p), lambda p: RandomContrast((0.1, 0.2), p),
])  # fmt: skip
def test_a_transform_applies_with_its_probability(make):
    x = images(2000, 1)
    changed = [(make(p)(x) != x).any(axis=(1, 2, 3)).mean() for p in (0, 0.3, 1)]
    assert changed[0] == 0
    assert abs(changed[1] - 0.3) < 0.05  # five standard deviations
    assert changed[2] > 0.95  # a shift may be (0, 0)
    with pytest.raises(ValueError, match="p=1.5 must be a probability"):
        make(1.5)


@pytest.mark.parametrize("make, message", [
    (lambda: RandomShift(-1), "RandomShift: pixels=-1"),
    (lambda: RandomShift(0.5), "pixels=0.5 must be a non-negative integer"),
    (lambda: RandomRotation((3, 1)), r"RandomRotation: degrees: \(3, 1\) means from 3 to 1"),
    (lambda: RandomRotation(float("inf")), "low <= high"),
    (lambda: RandomZoom(1.0), "RandomZoom: factor: 1.0 means from 0 to 2; .* not below 0.01"),
    (lambda: RandomBrightness(1.5), "means from -0.5 to 2.5; .* not below 0"),
    (lambda: RandomContrast((-1, 1)), "RandomContrast"),
    (lambda: Cutout(0), "Cutout: size=0"),
    (lambda: GaussianNoise(-1), "std=-1"),
    (lambda: RandomCrop((3, 0)), r"size=\(3, 0\)"),
    (lambda: RandomCrop(3, -1), "padding=-1"),
    (lambda: RandomCrop(9)(IMAGES), r"a window of size \(9, 9\) does not fit images of shape \(16, 3, 8, 8\)"),
    (lambda: RandAugment(-1), "n=-1"),
    (lambda: RandAugment(2, 31), "magnitude=31"),
    (lambda: RandAugment(2, 9, ["rotate", "turn"]), r"unknown: \['turn'\]"),
    (lambda: RandAugment(2, 9, []), "must be among identity, shear_x"),
    (lambda: MixUp(0), "MixUp: num_classes=0"),
    (lambda: CutMix(3, alpha=0), "alpha=0"),
])
def test_bad_options_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# Geometry


@pytest.mark.parametrize("turns", [-1, 0, 1, 2, 3])
def test_rotation_by_right_angles_is_rot90(turns):
    x = images(height=7, width=7)
    assert np.array_equal(RandomRotation((90 * turns, 90 * turns))(x), np.rot90(x, turns, axes=(2, 3)))


def test_rotation_angles_are_uniform():
    x = np.zeros((3000, 1, 41, 41), np.float32)
    x[:, 0, 20, 30:] = 1  # a line from the centre to the right
    turned = RandomRotation((-40, 10))(x)[:, 0]
    mass = turned.sum(axis=(1, 2))
    across, up = (turned * (np.arange(41) - 20)).sum((1, 2)), (turned * (20 - np.arange(41))[:, None]).sum((1, 2))
    angle = np.rad2deg(np.arctan2(up / mass, across / mass))
    assert -40.5 < angle.min() < -39 and 9 < angle.max() < 10.5
    assert abs(angle.mean() + 15) < 1.5 and abs(angle.std() - 50 / np.sqrt(12)) < 0.8


def test_zoom_interpolates_and_covers_its_range():
    x = images()
    assert np.array_equal(RandomZoom((1, 1))(x), x)
    twice = RandomZoom((2, 2))(images(height=9, width=9))
    inside = images(height=9, width=9)[:, :, 2:7, 2:7]
    np.testing.assert_allclose(twice[:, :, ::2, ::2], inside, atol=1e-6)
    np.testing.assert_allclose(twice[:, :, ::2, 1::2], (inside[..., 1:] + inside[..., :-1]) / 2, atol=1e-6)
    small = RandomZoom((0.5, 0.5))(np.ones((1, 1, 12, 12), np.float32))
    assert small[0, 0, 4:8, 4:8].all() and not small[0, 0, :2].any() and not small[0, 0, :, -2:].any()
    area = RandomZoom(0.4)(np.ones((2000, 1, 1, 400), np.float32)).sum((1, 2, 3)).clip(0, 400) / 400
    assert abs((area >= 0.999).mean() - 0.5) < 0.06 and 0.59 < area.min() < 0.62


def test_half_of_the_images_are_flipped():
    x = images(3000)
    flipped = RandomHorizontalFlip()(x)
    mirrored = (flipped == x[..., ::-1]).all(axis=(1, 2, 3))
    assert abs(mirrored.mean() - 0.5) < 0.05
    assert np.array_equal(flipped[~mirrored], x[~mirrored])


def test_shift_moves_whole_images_by_every_step():
    x = images(400, 2, 5, 6)
    padded = np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)))
    seen = []
    for image, moved in zip(padded, RandomShift(2)(x), strict=True):
        steps = [(i, j) for i in range(5) for j in range(5) if np.array_equal(moved, image[:, i:i + 5, j:j + 6])]
        assert len(steps) == 1
        seen += steps
    counts = np.zeros((5, 5))
    np.add.at(counts, tuple(np.transpose(seen)), 1)
    assert ((counts - 16) ** 2 / 16).sum() < 60  # chi-squared of 24 degrees of freedom: 1 in 10,000


@pytest.mark.parametrize("size, padding, shape", [
    (8, 0, (8, 8)), (5, 0, (5, 5)), (8, 4, (8, 8)), ((3, 10), 1, (3, 10)),
])  # fmt: skip
def test_crops_are_all_possible_windows(size, padding, shape):
    padded = np.pad(IMAGES, ((0, 0), (0, 0), *[(padding, padding)] * 2))
    windows = np.lib.stride_tricks.sliding_window_view(padded, shape, (2, 3))
    places = windows.shape[2] * windows.shape[3]
    seen = set()
    for _ in range(40):
        cropped = RandomCrop(size, padding)(IMAGES)
        assert cropped.shape == (16, 3, *shape)
        for image, found in zip(windows, cropped, strict=True):
            matches = np.argwhere((image == found[:, None, None]).all(axis=(0, 3, 4)))
            assert len(matches)
            seen |= {tuple(m) for m in matches}
    assert len(seen) == places


# Colours


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_brightness_and_contrast_equal_their_formulas(channels):
    x = images(channels=channels)
    np.testing.assert_allclose(RandomBrightness((1.7, 1.7))(x), np.clip(1.7 * x, 0, 1), rtol=1e-6)
    grey = np.tensordot([0.299, 0.587, 0.114], x, (0, 1)) if channels == 3 else x.mean(axis=1)
    mean = grey.mean(axis=(1, 2))[:, None, None, None]
    np.testing.assert_allclose(RandomContrast((1.7, 1.7))(x), np.clip(mean + 1.7 * (x - mean), 0, 1), atol=1e-6)
    np.testing.assert_allclose(RandomContrast((0, 0))(x), np.broadcast_to(mean, x.shape), atol=1e-6)


@pytest.mark.parametrize("transform", [RandomBrightness(0.4), RandomBrightness((0.6, 1.4))])
def test_factors_are_uniform_in_their_range(transform):
    factor = transform(np.full((4000, 1, 2, 2), 0.5, np.float32))[:, 0, 0, 0] / 0.5
    assert 0.6 <= factor.min() < 0.61 and 1.39 < factor.max() <= 1.4
    assert abs(factor.mean() - 1) < 0.02 and abs(factor.std() - 0.8 / np.sqrt(12)) < 0.01


def test_gaussian_noise_is_independent_and_normal():
    x = images(1000, 1)
    noise = GaussianNoise(0.2)(x) - x
    assert abs(noise.mean()) < 0.005 and abs(noise.std() - 0.2) < 0.004
    assert abs(np.mean(np.abs(noise) < 0.2) - 0.6827) < 0.01
    flat = noise.reshape(len(x), -1)
    assert np.abs(np.corrcoef(flat[:, :10].T) - np.eye(10)).max() < 0.15  # pixels are independent


@pytest.mark.parametrize("size", [1, 4, 5, 40])
def test_cutout_erases_one_square(size):
    height, width = 9, 6
    out = Cutout(size)(np.ones((3000, 2, height, width), np.float32))
    assert np.array_equal(out[:, 0], out[:, 1]) and set(np.unique(out)) <= {0, 1}
    centres = [(i, j) for i in range(height) for j in range(width)]
    boxes = {(max(0, i - size // 2), min(height, i - size // 2 + size), max(0, j - size // 2),
              min(width, j - size // 2 + size)) for i, j in centres}
    expected = set()
    for top, bottom, left, right in boxes:
        mask = np.ones((height, width), bool)
        mask[top:bottom, left:right] = False
        expected.add(mask.tobytes())
    assert {mask.tobytes() for mask in out[:, 0] > 0} == expected


# Several


def test_compose_applies_transforms_in_order():
    x = images(height=8, width=8)
    turn = RandomRotation((90, 90))
    half = Compose([RandomBrightness((0.5, 0.5)), turn, GaussianNoise(0.0), turn, Compose([RandomContrast((0, 0))])])
    grey = np.tensordot([0.299, 0.587, 0.114], 0.5 * x, (0, 1)).mean(axis=(1, 2))
    np.testing.assert_allclose(half(x), np.broadcast_to(grey[:, None, None, None], x.shape), atol=1e-6)
    turned = Compose([RandomRotation((30, 30)), RandomRotation((60, 60))])
    np.testing.assert_allclose(turned(x), np.rot90(x, 1, (2, 3)), atol=1e-5)
    assert np.array_equal(Compose([])(x), x)
    assert repr(half).startswith("Compose([RandomBrightness(p=1.0, factor=(0.5, 0.5)), ")


def test_randaugment_draws_n_of_the_list_evenly():
    lists = RandAugment(3, 9, [*RANDAUGMENT]).lists((7000, 3, 32, 32), np.random.default_rng(0))
    count = np.bincount([len(changes) for changes in lists], minlength=4)
    assert abs(count[3] / 7000 - (13 / 14) ** 3) < 0.02 and abs(count[2] / 7000 - 3 / 14 * (13 / 14) ** 2) < 0.02
    full = [[change for change, *_ in changes] for changes in lists if len(changes) == 3]
    for change, operations in (warp, 5), (posterize, 1), (equalize, 1):
        share = np.mean([[other is change for other in row] for row in full], 0)
        assert np.abs(share - operations / 13).max() < 5 * np.sqrt(operations / 13 / len(full))
    both = np.mean([first is second is warp for first, second, _ in full])
    assert abs(both - (5 / 13) ** 2) < 0.02  # drawn independently


@pytest.mark.parametrize("name, magnitude, expected", [
    ("identity", 30, {()}),
    ("shear_x", 10, {("warp", 1, 0.1, 0, 0, 1, 0), ("warp", 1, -0.1, 0, 0, 1, 0)}),
    ("shear_y", 30, {("warp", 1, 0, 0, 0.3, 1, 0), ("warp", 1, 0, 0, -0.3, 1, 0)}),
    ("translate_x", 30, {("warp", 1, 0, 15, 0, 1, 0), ("warp", 1, 0, -15, 0, 1, 0)}),
    ("translate_y", 15, {("warp", 1, 0, 0, 0, 1, 15), ("warp", 1, 0, 0, 0, 1, -15)}),
    ("rotate", 30, {("warp", 0.866, -0.5, 0, 0.5, 0.866, 0), ("warp", 0.866, 0.5, 0, -0.5, 0.866, 0)}),
    ("brightness", 10, {("brightness", 1.3), ("brightness", 0.7)}),
    ("color", 20, {("color", 1.6), ("color", 0.4)}),
    ("contrast", 30, {("contrast", 1.9), ("contrast", 0.1)}),
    ("sharpness", 0, {("sharpness", 1.0)}),
    ("posterize", 30, {("posterize", 4)}),
    ("solarize", 9, {("solarize", 0.7)}),
    ("auto_contrast", 9, {("auto_contrast",)}),
    ("equalize", 9, {("equalize",)}),
])  # fmt: skip
def test_randaugment_has_the_papers_strengths(name, magnitude, expected):
    # 66.2 high and 33.1 wide: 150 / 331 of it is 30 and 15
    lists = RandAugment(1, magnitude, [name]).lists((50, 3, 66.2, 33.1), np.random.default_rng(0))
    told = [[(change.__name__, *(round(n, 3) + 0.0 for n in numbers)) for change, *numbers in row] for row in lists]
    assert {row[0] if row else () for row in told} == expected


# Transforms of labels


@pytest.mark.parametrize("mix", [MixUp(4), CutMix(4)])
def test_mixed_labels_are_probabilities(mix):
    x, y = IMAGES, np.arange(16) % 4
    mixed, labels = mix(x, y)
    assert labels.shape == (16, 4) and labels.dtype == np.float32
    np.testing.assert_allclose(labels.sum(axis=1), 1, atol=1e-6)
    assert np.isfinite(ops.cross_entropy(Tensor.randn(16, 4), Tensor(labels)).item())
    smooth = np.full((16, 4), 0.25, np.float32)
    np.testing.assert_allclose(mix(x, smooth)[1], smooth, atol=1e-6)
    assert mix(x[:0], y[:0])[1].shape == (0, 4)
    first = mix(x, y, np.random.default_rng(1))
    assert all(np.array_equal(a, b) for a, b in zip(first, mix(x, y, np.random.default_rng(1)), strict=True))
    assert np.array_equal(x, IMAGES)
    unmixed, one_hot = type(mix)(4, p=0.0)(x, y)
    assert np.array_equal(unmixed, x) and np.array_equal(one_hot, np.eye(4)[y])
    with pytest.raises(IndexError, match="labels from 0 to 4 are out of range for 4 classes"):
        mix(x, y + (y == 3))
    with pytest.raises(ValueError, match=r"integers \(16,\) or probabilities \(16, 4\), got float32 of shape \(16,\)"):
        mix(x, y.astype(np.float32))


def test_mixup_mixes_images_and_labels_alike():
    # Each image is one number, its own label: mixed, it is the mean of the labels' numbers.
    y = np.arange(500)
    x = np.broadcast_to(y[:, None, None, None], (500, 2, 3, 4)).astype(np.float32)
    mixed, labels = MixUp(500, alpha=0.4)(x, y)
    np.testing.assert_allclose(mixed[:, 1, 2, 3], labels @ np.arange(500), rtol=1e-4)
    assert np.array_equal(mixed[:, 0, 0, 0], mixed[:, 1, 2, 3])
    own = labels[y, y]
    assert ((labels > 0).sum(axis=1) <= 2).all()
    np.testing.assert_allclose(labels.sum(axis=0).mean(), 1, rtol=1e-5)
    # Beta(0.4, 0.4) has mean 1/2 and variance 1/7.2
    assert abs(own.mean() - 0.5) < 0.08 and abs(own.var() - 1 / 7.2) < 0.03


def test_cutmix_replaces_a_box_and_mixes_labels_by_area():
    y = np.arange(800)
    x = np.broadcast_to(y[:, None, None, None], (800, 2, 12, 10)).astype(np.float32)
    mixed, labels = CutMix(800)(x, y)
    assert np.array_equal(mixed[:, 0], mixed[:, 1])
    for image, label, own in zip(mixed[:, 0], labels, y, strict=True):
        strange = image != own
        if strange.any():
            assert len(np.unique(image[strange])) == 1
            rows, columns = np.flatnonzero(strange.any(1)), np.flatnonzero(strange.any(0))
            assert strange[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1].all()  # a box
            np.testing.assert_allclose(label[int(image[strange][0])], strange.mean(), atol=1e-6)
        np.testing.assert_allclose(label[own], 1 - strange.mean(), atol=1e-6)
    covered = 1 - labels[y, y]
    assert covered.min() == 0 and covered.max() > 0.7
    # The box has a mean area of 1/2 before the edges cut it off.
    assert 0.25 < covered.mean() < 0.4
