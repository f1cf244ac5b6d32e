"""The convolution kernels against their definition, over random sizes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tinygrad_like.kernels import conv

small = st.integers(1, 3)


@st.composite
def configurations(draw):
    """Shapes of images and weights, stride, margins, dilation and groups of a possible convolution."""
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels, outputs = groups * draw(st.integers(1, 5)), groups * draw(st.sampled_from([1, 2, 7, 8, 11, 17, 33, 40]))
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    stride, dilation = draw(st.tuples(small, small)), draw(st.tuples(small, small))
    margin = st.tuples(st.integers(0, 3), st.integers(0, 3))
    padding = draw(st.tuples(margin, margin))
    least = [d * (k - 1) + 1 - sum(p) for k, d, p in zip(kernel, dilation, padding, strict=True)]
    size = [max(1, n) + draw(st.sampled_from([0, 1, 5, 8, 16, 31])) for n in least]
    images = draw(st.sampled_from([1, 2, 5]))
    return (images, channels, *size), (outputs, channels // groups, *kernel), stride, padding, dilation, groups


def patches(x, kernel, stride, padding, dilation):
    """(batch, channels, kh, kw, height, width): every tap's pixels, by slicing."""
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    (kh, kw), (sh, sw), (dh, dw) = kernel, stride, dilation
    h, w = (x.shape[2] - dh * (kh - 1) - 1) // sh + 1, (x.shape[3] - dw * (kw - 1) - 1) // sw + 1
    rows = [[x[:, :, i * dh : i * dh + (h - 1) * sh + 1 : sh, j * dw : j * dw + (w - 1) * sw + 1 : sw]
             for j in range(kw)] for i in range(kh)]  # fmt: skip
    return np.moveaxis(np.array(rows), (0, 1), (2, 3))


def check(x_shape, w_shape, stride, padding, dilation, groups, seed=0):
    rng = np.random.default_rng(seed)
    x, w = rng.standard_normal(x_shape), rng.standard_normal(w_shape)
    bias = rng.standard_normal(w_shape[0])
    p = patches(x, w_shape[2:], stride, padding, dilation)
    p = p.reshape(x_shape[0], groups, x_shape[1] // groups, *p.shape[2:])
    rows = w.reshape(groups, -1, *w_shape[1:])
    y = np.einsum("ngcijhw,gocij->ngohw", p, rows).reshape(x_shape[0], w_shape[0], *p.shape[-2:])
    g = rng.standard_normal(y.shape)
    g_grouped = g.reshape(x_shape[0], groups, -1, *p.shape[-2:])
    dw = np.einsum("ngcijhw,ngohw->gocij", p, g_grouped).reshape(w_shape)

    x, w, bias, g = (np.float32(a) for a in (x, w, bias, g))
    bias = np.repeat(bias, 2)[::2]
    arguments = stride, padding, dilation, groups
    close(conv.correlation(x, w, bias, *arguments), y + bias[:, None, None])
    close(conv.weight_gradient(g, x, w_shape, *arguments), dw)
    dx = conv.input_gradient(g, w, x_shape, *arguments)
    # The input gradient is the adjoint: <g, conv(v)> = <dx, v> for every v.
    v = rng.standard_normal(x_shape)
    pv = patches(v, w_shape[2:], stride, padding, dilation).reshape(p.shape)
    conv_v = np.einsum("ngcijhw,gocij->ngohw", pv, np.float64(w).reshape(rows.shape))
    scale = np.sqrt(np.square(g).sum() * np.square(conv_v).sum()) + 1e-9
    assert abs((conv_v * g.reshape(g_grouped.shape)).sum() - (np.float64(dx) * v).sum()) < 3e-6 * scale


def close(ours, exact):
    assert ours.shape == exact.shape and ours.dtype == np.float32
    np.testing.assert_allclose(ours, exact, rtol=1e-4, atol=4e-6 * np.abs(exact).max(initial=1e-9))


@settings(max_examples=150, deadline=None)
@given(configurations())
def test_random_configurations_equal_the_definition(configuration):
    check(*configuration)


def test_images_of_one_window_are_read_as_rows_of_a_matrix():
    none = (0, 0), (0, 0)
    for images, channels, outputs, size in (
            (32, 64, 1, (4, 4)), (32, 64, 64, (4, 4)), (5, 3, 40, (1, 7)), (2, 9, 17, (1, 1))):
        for stride in (1, 1), (2, 3):
            check((images, channels, *size), (outputs, channels, *size), stride, none, (1, 1), 1)


def test_each_way_to_read_images_is_exact():
    """Contiguous rows, rows of whole vectors, packed tiles, and one row of weights, each with a stride and margins."""
    none, same, ones = ((0, 0), (0, 0)), ((1, 1), (1, 1)), (1, 1)
    plans = {}
    for x, w, stride, padding, groups in [
        ((2, 64, 30, 27), (5, 64, 3, 3), ones, same, 1), ((1, 64, 1, 131), (3, 64, 1, 3), (1, 2), none, 1),
        ((3, 2, 19, 33), (64, 2, 3, 3), ones, none, 1), ((2, 4, 18, 18), (20, 4, 3, 3), ones, none, 1),
        ((2, 16, 23, 13), (16, 1, 3, 3), ones, same, 16), ((2, 16, 24, 22), (32, 1, 4, 4), (2, 2), same, 16),
        ((3, 8, 12, 16), (8, 1, 3, 3), ones, same, 8),
    ]:  # fmt: skip
        check(x, w, stride, padding, ones, groups)
        plan = conv.forward_plan(x, w, stride, padding, ones, groups)
        plans[x, groups] = plan.direct, plan.whole
    assert set(plans.values()) == {(True, False), (False, False), (True, True)}
