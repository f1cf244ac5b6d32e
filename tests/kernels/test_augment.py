"""Instructions of augmentation against their definitions, in NumPy or in Pillow, and programs of them."""

import numpy as np
import pytest

from tinygrad_like.data import instructions
from tinygrad_like.data.instructions import ERASE, WARP, run_programs


def images(batch=16, channels=3, height=9, width=6):
    return np.random.default_rng(batch).random((batch, channels, height, width), dtype=np.float32)


def run(x, *instructions):
    """x after these instructions: tuples of a code and its numbers."""
    codes = [code for code, *_ in instructions]
    numbers = [[*values, *[0] * (6 - len(values))] for _, *values in instructions]
    return run_programs(x, *(np.repeat(np.array(table)[None], len(x), 0) for table in (codes, numbers)))


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
    np.testing.assert_allclose(run(x, (WARP, *m)), [warped(image, *m) for image in x], atol=1e-5)


def test_an_image_far_outside_is_black():
    for numbers in [(1, 0, 1e9, 0, 1, 0), (1, 0, 0, 0, 1, -1e30), (1e12, 0, 0, 0, 1e12, 0)]:
        assert not run(images(), (WARP, *numbers)).any()


PILLOW = {
    "BRIGHTNESS": (1.4, lambda image, m: m.ImageEnhance.Brightness(image).enhance(1.4)),
    "CONTRAST": (1.4, lambda image, m: m.ImageEnhance.Contrast(image).enhance(1.4)),
    "COLOR": (0.3, lambda image, m: m.ImageEnhance.Color(image).enhance(0.3)),
    "SHARPNESS": (1.8, lambda image, m: m.ImageEnhance.Sharpness(image).enhance(1.8)),
    "SOLARIZE": (100 / 255, lambda image, m: m.ImageOps.solarize(image, 100)),
    "POSTERIZE": (3, lambda image, m: m.ImageOps.posterize(image, 3)),
    "AUTO_CONTRAST": (0, lambda image, m: m.ImageOps.autocontrast(image)),
    "EQUALIZE": (0, lambda image, m: m.ImageOps.equalize(image)),
}


@pytest.mark.parametrize("name", PILLOW)
@pytest.mark.parametrize("low, high", [(0, 256), (80, 200), (7, 8)])
def test_colours_are_changed_as_in_pillow(name, low, high):
    pytest.importorskip("PIL")
    import PIL
    from PIL import Image, ImageEnhance, ImageOps  # noqa: F401

    number, change = PILLOW[name]
    levels = np.random.default_rng(0).integers(low, high, (40, 30, 3), np.uint8)
    expected = np.asarray(change(Image.fromarray(levels), PIL)).astype(int)
    x = levels.transpose(2, 0, 1)[None].astype(np.float32) / np.float32(255)
    found = run(x, (getattr(instructions, name), number))[0].transpose(1, 2, 0) * 255
    assert 0 <= found.min() and found.max() <= 255
    exact = name in ("SOLARIZE", "POSTERIZE", "EQUALIZE")  # the others round on the way, and Pillow does so twice
    np.testing.assert_allclose(found, expected, atol=0.01 if exact else 1.6)


@pytest.mark.parametrize("box", [
    (1, 2, 4, 5), (-3, -1, 2, 100), (7, 5, 9, 6), (5, 3, 2, 1), (-9, 0, -1, 3), (20, 0, 30, 3),
])  # fmt: skip
def test_erase_stays_within_the_image(box):
    x = images()
    expected = x.copy()
    top, left, bottom, right = np.clip(box, 0, None)
    expected[:, :, top:bottom, left:right] = 0
    assert np.array_equal(run(x, (ERASE, *box)), expected)
