"""Changes of an image against their definitions, in NumPy or in Pillow."""

import numpy as np
import pytest

from tests.data.test_augment import images
from tinygrad_like.data import changes


def warped(image, a, b, c, d, e, f):
    """The definition of WARP, pixel by pixel, for an image (channels, height, width)."""
    _, height, width = image.shape
    out = np.zeros_like(image)
    for row, column in np.ndindex(height, width):
        x, y = column - (width - 1) / 2, row - (height - 1) / 2
        u, v = a * x + b * y + c + (width - 1) / 2, d * x + e * y + f + (height - 1) / 2
        for i in range(height):
            for j in range(width):
                out[:, row, column] += max(0, 1 - abs(u - j)) * max(0, 1 - abs(v - i)) * image[:, i, j]
    return out


@pytest.mark.parametrize("seed", range(5))
def test_warp_is_bilinear_interpolation(seed):
    rng = np.random.default_rng(seed)
    x = images(3)
    m = rng.normal(size=6) * [1, 1, 3, 1, 1, 3]
    np.testing.assert_allclose([changes.warp(image, *m) for image in x], [warped(image, *m) for image in x], atol=1e-5)


def test_an_image_warped_far_away_is_black():
    for numbers in [(1, 0, 1e9, 0, 1, 0), (1, 0, 0, 0, 1, -1e30), (1e12, 0, 0, 0, 1e12, 0)]:
        assert not changes.warp(images()[0], *numbers).any()


PILLOW = {
    "brightness": (1.4, lambda image, m: m.ImageEnhance.Brightness(image).enhance(1.4)),
    "contrast": (1.4, lambda image, m: m.ImageEnhance.Contrast(image).enhance(1.4)),
    "color": (0.3, lambda image, m: m.ImageEnhance.Color(image).enhance(0.3)),
    "sharpness": (1.8, lambda image, m: m.ImageEnhance.Sharpness(image).enhance(1.8)),
    "solarize": (100 / 255, lambda image, m: m.ImageOps.solarize(image, 100)),
    "posterize": (3, lambda image, m: m.ImageOps.posterize(image, 3)),
    "auto_contrast": (None, lambda image, m: m.ImageOps.autocontrast(image)),
    "equalize": (None, lambda image, m: m.ImageOps.equalize(image)),
}


@pytest.mark.parametrize("name", PILLOW)
@pytest.mark.parametrize("low, high", [(0, 256), (80, 200), (7, 8)])
def test_colour_changes_equal_pillows(name, low, high):
    pytest.importorskip("PIL")
    import PIL
    from PIL import Image, ImageEnhance, ImageOps  # noqa: F401

    number, change = PILLOW[name]
    levels = np.random.default_rng(0).integers(low, high, (40, 30, 3), np.uint8)
    expected = np.asarray(change(Image.fromarray(levels), PIL)).astype(int)
    x = levels.transpose(2, 0, 1).astype(np.float32) / np.float32(255)
    found = getattr(changes, name)(x, *[] if number is None else [number]).transpose(1, 2, 0) * 255
    assert 0 <= found.min() and found.max() <= 255
    exact = name in ("solarize", "posterize", "equalize")  # the others round in between, Pillow twice
    np.testing.assert_allclose(found, expected, atol=0.01 if exact else 1.6)


@pytest.mark.parametrize("box", [
    (1, 2, 4, 5), (-3, -1, 2, 100), (7, 5, 9, 6), (5, 3, 2, 1), (-9, 0, -1, 3), (20, 0, 30, 3),
])  # fmt: skip
def test_erase_stays_within_the_image(box):
    x = images()[0]
    expected = x.copy()
    top, left, bottom, right = np.clip(box, 0, None)
    expected[:, top:bottom, left:right] = 0
    assert np.array_equal(changes.erase(x, *box), expected)
