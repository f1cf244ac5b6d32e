"""Images read at computed places, by kernels, against their definitions in NumPy, in float64."""

import inspect

import numpy as np
import pytest

from tinygrad_like import Tensor, ops
from tinygrad_like.kernels import grid as k
from tinygrad_like.ops.grid import _grid_sample, products_at, spread_at, sums_at

PADDINGS = "zeros", "border", "reflection"


def real(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def definition(op):
    return inspect.unwrap(op.forward)


def reference(image, places, mode="bilinear", padding="zeros", corners=False):
    return _grid_sample.definition(image, places, mode=mode, padding_mode=padding, align_corners=corners)


@pytest.mark.parametrize("taps", [1, 3, 4, 16])
@pytest.mark.parametrize(("images", "channels", "pixels", "places"), [
    (2, 3, 11, 5), (1, 1, 1, 1), (1, 4, 9, 64), (3, 5, 8, 65), (2, 8, 33, 129), (1, 19, 7, 130)])
def test_kernels_do_what_their_definitions_say(images, channels, pixels, places, taps):
    x, y = real(images, channels, pixels), real(images, channels, places, seed=1)
    weight = real(images, places, taps, seed=2)
    index = np.random.default_rng(3).integers(-1, pixels, weight.shape).astype(np.int32)
    for kernel, op, (a, b), options in ((k.sums_at, sums_at, (x, weight), ()), (k.products_at, products_at, (y, x), ()),
                                        (k.spread_at, spread_at, (y, weight), (pixels,))):
        expected = definition(op)(a.astype(np.float64), b.astype(np.float64), index, **dict.fromkeys(
            ["size"][: len(options)], pixels))
        found = kernel(a, b, index, *options)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * max(1, abs(expected).max()))
        gaps = [np.repeat(z, 2, axis=2)[..., ::2] for z in (a, b, index)]
        np.testing.assert_array_equal(kernel(*gaps, *options), found)


def test_an_index_past_the_last_pixel_is_none():
    """It may lie in memory that someone else writes to."""
    x, weight = np.ones((1, 2, 3), np.float32), np.ones((1, 2, 2), np.float32)
    index = np.array([[[0, 3], [2**31 - 1, -(2**31)]]], np.int32)
    assert k.sums_at(x, weight, index).tolist() == [[[1, 0]] * 2]
    assert k.spread_at(x[..., :2], weight, index, 3).tolist() == [[[1, 0, 0]] * 2]
    assert k.products_at(x[..., :2], x, index).tolist() == [[[2, 0], [0, 0]]]
    with pytest.raises(ValueError, match="do not fit"):
        k.sums_at(x, weight, index[..., :1])
    for wrong in index.astype(np.int64), index[:, :0]:
        assert k.sums_at(x, weight, wrong) is NotImplemented
    assert k.sums_at(x, weight.astype(np.float64), index) is NotImplemented


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_no_number_far_off_and_what_is_infinite(mode, padding):
    image, places = np.full((1, 5, 3, 4), np.inf, np.float32), np.zeros((1, 1, 8, 2), np.float32)
    image[..., 1, 1:3] = 1
    image[..., 2, 3] = np.nan
    places[0, 0, 1:, 0] = np.nan, 1e30, -1e30, np.inf, -np.inf, 5, 3e9
    with np.errstate(invalid="ignore"):
        found = ops.grid_sample(Tensor(image), Tensor(places), mode, padding).numpy()
        expected = reference(image, places.astype(np.float64), mode, padding)
    if padding == "reflection":  # where a place of 1e30 comes to lie depends on its last digits
        found, expected = np.delete(found, [2, 3, 7], -1), np.delete(expected, [2, 3, 7], -1)
    np.testing.assert_array_equal(found, expected)
    assert padding != "zeros" or not found[..., 2:4].any()  # not 0 times the first pixel, which is infinite


def test_what_does_not_lie_in_one_piece_and_what_is_empty():
    image, places, g = real(2, 5, 6, 7), 0.6 * real(2, 4, 3, 2), real(2, 5, 4, 3)
    expected = ops.grid_sample(Tensor(image), Tensor(places)).numpy()
    x = Tensor(np.ascontiguousarray(image.transpose(0, 2, 3, 1)), requires_grad=True)
    at = Tensor(np.ascontiguousarray(places.transpose(3, 0, 1, 2)), requires_grad=True)
    y = ops.grid_sample(x.permute(0, 3, 1, 2), at.permute(1, 2, 3, 0))
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    dx, dat = y.gradient(x, at, gradient=Tensor(np.ascontiguousarray(g.transpose(0, 3, 2, 1))).permute(0, 3, 2, 1))
    whole = [Tensor(a, requires_grad=True) for a in (image, places)]
    for ours, straight, order in zip((dx, dat), ops.grid_sample(*whole).gradient(*whole, gradient=g),
                                     ((0, 3, 1, 2), (1, 2, 3, 0)), strict=True):
        np.testing.assert_array_equal(ours.numpy().transpose(order), straight.numpy())
    for n, c, h in (0, 2, 3), (2, 0, 3), (2, 3, 0):
        x, at = (Tensor(np.zeros(s, np.float32), requires_grad=True) for s in ((n, c, 5, 5), (n, h, 4, 2)))
        y = ops.grid_sample(x, at)
        assert y.shape == (n, c, h, 4)
        assert [d.shape for d in y.gradient(x, at, gradient=np.zeros(y.shape, np.float32))] == [x.shape, at.shape]


def test_nearest_pixels_leave_the_grid_alone():
    x, at = Tensor(real(1, 2, 3, 3), requires_grad=True), Tensor(real(1, 2, 2, 2), requires_grad=True)
    ops.grid_sample(x, at, mode="nearest").sum().backward()
    assert at.grad is None and x.grad is not None
    assert ops.grid_sample(x.data, at.data, mode="nearest").shape == (1, 2, 2, 2)
