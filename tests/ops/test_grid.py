"""Images and volumes read at places, and the grids of places that maps make, against their definitions."""

import math

import numpy as np
import pytest

import nn.functional as F
from tinygrad_like import Tensor, gradcheck, gradgradcheck

rng = np.random.default_rng(7)


def real(*shape):
    return rng.standard_normal(shape)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
@pytest.mark.parametrize(("channels", "height", "width"), [(2, 4, 5), (2, 2, 1), (1, 1, 1), (9, 13, 11), (21, 8, 8)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_images_are_read_as_defined(dtype, channels, height, width, mode, padding, corners):
    image, grid = real(3, channels, height, width), rng.uniform(-2.2, 2.2, (3, 6, 7, 2)).astype("float32").astype(float)
    found = F.grid_sample(Tensor(image, dtype=dtype), Tensor(grid, dtype=dtype), mode=mode, padding_mode=padding,
                          align_corners=corners).numpy()
    tolerance = {"rtol": 1e-9, "atol": 1e-12} if dtype == "float64" else {"rtol": 1e-4, "atol": 5e-5}

    def place(z, n):  # in pixels
        z = (z + 1) / 2 * (n - 1) if corners else (z + 1) / 2 * n - 0.5
        low, high = (0, n - 1) if corners else (-0.5, n - 0.5)
        if low == high:
            return 0 if padding == "reflection" else z if padding == "zeros" else 0
        while padding == "reflection" and not low <= z <= high:
            z = 2 * low - z if z < low else 2 * high - z
        return z if padding == "zeros" else min(max(z, 0), n - 1)

    def pixel(n, y, x):
        return image[n, :, y, x] if 0 <= y < height and 0 <= x < width else np.zeros(channels)

    for n, i, j in np.ndindex(3, 6, 7):
        x, y = place(grid[n, i, j, 0], width), place(grid[n, i, j, 1], height)
        if mode == "nearest":
            expected = pixel(n, round(y), round(x))
        else:
            left, top = math.floor(x), math.floor(y)
            expected = sum((1 - abs(y - b)) * (1 - abs(x - a)) * pixel(n, b, a)
                           for a in (left, left + 1) for b in (top, top + 1))
        np.testing.assert_allclose(found[n, :, i, j], expected, **tolerance)


@pytest.mark.parametrize("corners", [False, True])
def test_the_map_that_changes_nothing_reads_every_pixel(corners):
    image = Tensor(real(2, 3, 4, 5))
    theta = Tensor(np.tile(np.eye(3)[:2], (2, 1, 1)))
    grid = F.affine_grid(theta, (2, 3, 4, 5), align_corners=corners)
    np.testing.assert_allclose(F.grid_sample(image, grid, align_corners=corners).numpy(), image.numpy(), atol=1e-12)
    ends = [1, -1] if corners else [0.8, -0.75]
    np.testing.assert_allclose(grid.numpy()[1, 0, -1], ends)
    np.testing.assert_array_equal(F.affine_grid(theta, (2, 3, 1, 1), align_corners=corners).numpy(), 0)
    two = F.affine_grid(theta, (2, 3, 1, 2), align_corners=corners).numpy()[0, 0, :, 0]
    np.testing.assert_allclose(two, [-1, 1] if corners else [-0.5, 0.5])
    turned = F.affine_grid(Tensor([[[0.0, 1, 0.5], [1, 0, -0.5]]]), (1, 1, 4, 5), align_corners=corners).numpy()
    np.testing.assert_allclose(turned[0], grid.numpy()[0][..., ::-1] + [0.5, -0.5], atol=1e-6)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_reading_at_no_place(padding):
    image, grid = Tensor(np.ones((1, 1, 3, 3))), np.zeros((1, 1, 2, 2))
    grid[0, 0, 0] = np.nan
    for mode, expected in ("bilinear", np.nan), ("nearest", 0):
        found = F.grid_sample(image, Tensor(grid), mode=mode, padding_mode=padding).numpy()
        np.testing.assert_array_equal(found, [[[[expected, 1]]]])


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_a_volume_of_equal_planes_is_read_as_its_plane(mode, padding):
    image, grid = real(2, 3, 4, 5), rng.uniform(-1.3, 1.3, (2, 3, 2, 2, 3))
    volume = np.repeat(image[:, :, None], 6, axis=2)
    grid[..., 2] *= 0.5  # within the planes
    found = F.grid_sample(Tensor(volume), Tensor(grid), mode=mode, padding_mode=padding).numpy()
    for k in range(3):
        expected = F.grid_sample(Tensor(image), Tensor(grid[:, k, ..., :2]), mode=mode, padding_mode=padding).numpy()
        np.testing.assert_allclose(found[:, :, k], expected, atol=1e-12)


def test_cubics_go_through_pixels_and_follow_a_plane():
    image = Tensor(np.add.outer(2.0 * np.arange(6), np.arange(8))[None, None])
    middles = F.affine_grid(Tensor(np.eye(3)[None, :2]), (1, 1, 6, 8))
    np.testing.assert_allclose(F.grid_sample(image, middles, mode="bicubic").numpy(), image.numpy(), atol=1e-12)
    inner = F.grid_sample(image, middles * 0.5 + 0.05, mode="bicubic").numpy()
    np.testing.assert_allclose(inner, F.grid_sample(image, middles * 0.5 + 0.05).numpy(), atol=0.4)
    symmetric = Tensor([[[[0.0, 1.0, 1.0, 0.0]]]])
    assert F.grid_sample(symmetric, Tensor(np.zeros((1, 1, 1, 2))), mode="bicubic", padding_mode="border").item() == (
        pytest.approx(1.1875))  # (1 + 1) 19/32, and nothing of the two zeros, of -3/32 each


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_gradients_of_cubics(padding):
    def f(x, grid):
        return F.grid_sample(x, grid, mode="bicubic", padding_mode=padding)

    given = real(2, 2, 3, 4), rng.uniform(-1.3, 1.3, (2, 2, 2, 2))
    assert gradcheck(f, *given) and gradgradcheck(f, *given)


def test_what_reading_refuses():
    with pytest.raises(ValueError, match="mode='bicubic' is for images; this is a volume"):
        F.grid_sample(Tensor(real(1, 1, 2, 2, 2)), Tensor(np.zeros((1, 1, 1, 1, 3))), mode="bicubic")
    x = Tensor(real(2, 3, 5, 7))
    with pytest.raises(ValueError, match="a grid \\(batch, h, w, 2\\), or an input .* got shapes"):
        F.grid_sample(x, Tensor(real(2, 4, 4, 3)))
    with pytest.raises(ValueError, match="mode is bilinear, nearest or bicubic"):
        F.grid_sample(x, Tensor(real(2, 4, 4, 2)), mode="cubic")
    with pytest.raises(ValueError, match="an image of shape \\(2, 3, 0, 7\\) has no pixels"):
        F.grid_sample(x[:, :, :0], Tensor(real(2, 4, 4, 2)))
    with pytest.raises(ValueError, match="theta is \\(batch, 2, 3\\)"):
        F.affine_grid(Tensor(real(2, 3, 3)), (2, 3, 4, 4))
