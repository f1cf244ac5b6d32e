"""Winograd convolutions against the plain sum, over sizes with and without edges of tiles, rows and channels."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygrad_like.kernels import winograd

rng = np.random.default_rng(0)


def taps(x):
    """(3, 3, batch, channels, height, width): the pixels under each tap."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    h, w = x.shape[2:]
    return np.array([[padded[:, :, i : i + h, j : j + w] for j in range(3)] for i in range(3)])


def check(images, channels, rows, height, width):
    x, w, g = (rng.standard_normal(s).astype(np.float32) for s in (
        (images, channels, height, width), (rows, channels, 3, 3), (images, rows, height, width)))  # fmt: skip
    bias = rng.standard_normal(2 * rows).astype(np.float32)[::2]
    expected = {
        "output": np.einsum("abnchw,ocab->nohw", taps(np.float64(x)), w) + bias[:, None, None],
        "input gradient": np.einsum("abnohw,ocab->nchw", taps(np.float64(g)), w[:, :, ::-1, ::-1])}
    found = {"output": winograd.convolve(x, w, bias), "input gradient": winograd.convolve(g, w, rotated=True)}
    for name, exact in expected.items():
        assert found[name].shape == exact.shape and found[name].dtype == np.float32
        np.testing.assert_allclose(found[name], exact, rtol=0, atol=3e-6 * np.abs(exact).max(), err_msg=name)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 7), st.sampled_from([1, 3, 16, 33]), st.sampled_from([1, 8, 9, 40]), st.integers(1, 9),
       st.sampled_from([1, 2, 3, 4, 7, 8, 16, 18]))  # fmt: skip
def test_random_sizes_equal_the_definition(images, channels, rows, height, width):
    check(images, channels, rows, 2 * height, 2 * width)


def test_nothing_beyond_an_images_edge_leaks_in():
    """Neither the next image nor the other end of the row, not even as NaN."""
    x, w = rng.standard_normal((8, 16, 8, 8), np.float32), rng.standard_normal((16, 16, 3, 3), np.float32)
    clean = winograd.convolve(x, w)
    x[3] = np.nan
    dirty = winograd.convolve(x, w)
    assert np.isnan(dirty[3]).all()
    assert np.array_equal(np.delete(dirty, 3, 0), np.delete(clean, 3, 0))
    x[3], x[3, :, :, 7] = 0, np.inf
    assert np.isfinite(winograd.convolve(x, w)[3, :, :, :5]).all()
