"""Convolution as the sources define it: (7.48) to (7.51), and 004's worked example and sizes."""


import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from demos.convolution import FILTER, IMAGE
from tinygrad_like import Tensor, ops

rng = np.random.default_rng(5)


def image(a, dtype=np.float64):
    return Tensor(np.asarray(a, dtype)[None, None])


def test_the_worked_example_of_004():
    assert ops.conv2d(image(IMAGE), image(FILTER)).tolist() == [[[[-3, -4, -4, -4, -4, -3],
                                                                [-3, -4, -4, -3, -1, 0],
                                                                [0, 0, 0, 0, 0, 0],
                                                                [2, 1, 0, 1, 3, 3],
                                                                [2, 1, 0, 1, 3, 3],
                                                                [1, 3, 4, 3, 1, 0]]]]


def test_padding_keeps_the_size_and_stride_2_halves_it():
    assert ops.conv2d(image(IMAGE), image(FILTER), padding=1).shape == (1, 1, 8, 8)
    assert ops.conv2d(image(IMAGE), image(FILTER), padding=1, stride=2).shape == (1, 1, 4, 4)


@settings(deadline=None)  # the first example compiles
@given(st.integers(1, 20), st.integers(1, 5), st.integers(1, 4), st.integers(0, 3), st.integers(1, 3))
def test_the_output_size_formula(size, kernel, stride, padding, dilation):
    reach = dilation * (kernel - 1) + 1
    x, w = Tensor.zeros(1, 1, size, 1), Tensor.zeros(1, 1, kernel, 1)
    arguments = {"stride": (stride, 1), "padding": (padding, 0), "dilation": (dilation, 1)}
    if size + 2 * padding < reach:
        with pytest.raises(ValueError, match="larger than the padded input"):
            ops.conv2d(x, w, **arguments)
    else:
        expected = (size + 2 * padding - reach) // stride + 1
        assert ops.conv2d(x, w, **arguments).shape == (1, 1, expected, 1)


def test_conv1d_is_the_sum_of_7_48():
    z, w = rng.standard_normal(9), rng.standard_normal(5)
    padded = np.concatenate([np.zeros(2), z, np.zeros(2)])
    expected = [sum(w[j] * padded[i + j] for j in range(5)) for i in range(9)]
    y = ops.conv1d(Tensor(z[None, None]), Tensor(w[None, None]), padding=2)
    np.testing.assert_allclose(y._data[0, 0], expected, rtol=1e-12)


def test_conv1d_is_the_matrix_of_7_49():
    z, w = rng.standard_normal(9), rng.standard_normal(5)
    q = ops.conv.conv_matrix(Tensor(w), 9)
    assert q.shape == (9, 13)
    assert all(q.data[i, j] == q._data[i - 1, j - 1] for i in range(1, 9) for j in range(1, 13))
    assert np.count_nonzero(q._data) == 9 * 5
    expected = ops.conv1d(Tensor(z[None, None]), Tensor(w[None, None]), padding="same")._data[0, 0]
    np.testing.assert_allclose(q._data @ np.pad(z, 2), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="conv_matrix: takes a vector of an odd number of weights"):
        ops.conv.conv_matrix(Tensor(w[:4]), 9)


@pytest.mark.parametrize("axes", [1, 2])
def test_channels_add_up_as_in_7_50_and_7_51(axes):
    conv = {1: ops.conv1d, 2: ops.conv2d}[axes]
    z, w = rng.standard_normal((1, 3, *(7, 6)[:axes])), rng.standard_normal((4, 3, *(3, 3)[:axes]))
    y = conv(Tensor(z), Tensor(w), padding=1)._data
    for i in range(4):
        parts = [conv(Tensor(z[:, j : j + 1]), Tensor(w[i : i + 1, j : j + 1]), padding=1)._data for j in range(3)]
        np.testing.assert_allclose(y[:, i : i + 1], np.sum(parts, 0), rtol=1e-10, atol=1e-12)


def test_a_1x1_convolution_is_a_linear_layer_for_every_pixel():
    x, w, b = rng.standard_normal((2, 3, 4, 5)), rng.standard_normal((6, 3)), rng.standard_normal(6)
    y = ops.conv2d(Tensor(x), Tensor(w[:, :, None, None]), Tensor(b))._data
    np.testing.assert_allclose(np.moveaxis(y, 1, -1), np.moveaxis(x, 1, -1) @ w.T + b, rtol=1e-12)


def test_a_shifted_image_gives_a_shifted_output():
    x, w = rng.standard_normal((1, 2, 12, 12)), Tensor(rng.standard_normal((3, 2, 3, 3)))
    y, shifted = ops.conv2d(Tensor(x), w)._data, ops.conv2d(Tensor(np.roll(x, (2, 1), (2, 3))), w)._data
    np.testing.assert_allclose(shifted[:, :, 2:, 1:], y[:, :, :-2, :-1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("padding", [0, 1, (2, 1), ((0, 2), (1, 0))])
def test_fold_is_the_adjoint_of_unfold(padding):
    options = {"kernel_size": (3, 2), "dilation": (1, 2), "padding": padding, "stride": (2, 1)}
    x = rng.standard_normal((2, 3, 6, 7))
    columns = ops.unfold(x, **options)
    v = rng.standard_normal(columns.shape)
    np.testing.assert_allclose((columns * v).sum(), (x * ops.fold(v, output_size=(6, 7), **options)).sum(), rtol=1e-10)


def test_fold_of_ones_counts_each_pixels_patches():
    columns = np.ones((1, 4, 4))
    assert ops.fold(columns, output_size=(3, 3), kernel_size=2)[0, 0].tolist() == [[1, 2, 1], [2, 4, 2], [1, 2, 1]]


@pytest.mark.parametrize("options", [{}, {"stride": 2, "padding": 1, "output_padding": 1}, {"dilation": (2, 1)},
                                     {"stride": (3, 2), "groups": 2}])
def test_conv_transpose2d_is_the_adjoint_of_conv2d(options):
    """<conv(v), x> = <v, conv_transpose(x)>"""
    x, w = rng.standard_normal((2, 4, 3, 5)), rng.standard_normal((4, 3, 3, 2))
    y = ops.conv_transpose2d(x, w, **options)
    v = rng.standard_normal(y.shape)
    back = ops.conv2d(v, w, **{k: o for k, o in options.items() if k != "output_padding"})
    np.testing.assert_allclose((back * x).sum(), (v * y).sum(), rtol=1e-10)


def test_patches_may_contain_only_padding():
    x = Tensor.zeros(1, 1, 0, 2, requires_grad=True)
    columns = ops.unfold(x, kernel_size=1, padding=1)
    assert columns.shape == (1, 1, 8) and columns.sum().gradient(x)[0].shape == (1, 1, 0, 2)


X, W = Tensor.zeros(2, 3, 8, 8), Tensor.zeros(8, 4, 3, 3)
ERRORS = [
    (lambda: ops.conv2d(X, W), ValueError,
     r"conv2d: x must be \(batch, groups \* in, height, width\) with groups=1 and in=4 as in weight of shape \(8, 4"),
    (lambda: ops.conv2d(Tensor.zeros(2, 6, 8, 8), W, groups=2), ValueError, r"with groups=2 and in=4 as in weight"),
    (lambda: ops.conv2d(Tensor.zeros(2, 12, 8, 8), W, groups=3), ValueError, r"weight must be .* with groups=3, got"),
    (lambda: ops.conv2d(X, Tensor.zeros(8, 3, 11, 3), padding=1), ValueError,
     r"conv2d: the kernel 11 x 3 is larger than the padded input 10 x 10"),
    (lambda: ops.conv2d(X, Tensor.zeros(8, 3, 3, 3), dilation=6), ValueError, r"13 x 13 with its dilation"),
    (lambda: ops.conv2d(X, Tensor.zeros(8, 3, 3, 3), stride=0), ValueError, r"conv2d: stride must be a number"),
    (lambda: ops.conv2d(X, Tensor.zeros(8, 3, 3, 3), stride=1.5), TypeError, r"stride must be made of integers"),
    (lambda: ops.conv2d(X, Tensor.zeros(8, 3, 3, 3), padding=-1), ValueError, r"padding must be a number"),
    (lambda: ops.conv2d(X, Tensor.zeros(8, 3, 3, 3), padding="full"), ValueError, r'"same" or "valid", got \'full\''),
    (lambda: ops.conv2d(X, Tensor.zeros(8, 3, 3, 3), padding="same", stride=2), ValueError, r"needs stride 1"),
    (lambda: ops.conv2d(X, Tensor.zeros(8, 3, 3, 3), Tensor.zeros(7)), ValueError,
     r"bias must be \(groups \* out\) with groups=1 and out=8 .*, got shape \(7,\)"),
    (lambda: ops.conv2d(X, Tensor.zeros(8, 3, 3)), ValueError, r"weight must be \(groups \* out, in, kh, kw\), got"),
    (lambda: ops.conv2d(X.double(), Tensor.zeros(8, 3, 3, 3)), TypeError, r"x is float64 but weight float32"),
    (lambda: ops.conv2d(X, Tensor.zeros(8, 3, 3, 3), groups=0), ValueError, r"groups must be a positive integer"),
    (lambda: ops.conv1d(X, W), ValueError, r"conv1d: weight must be \(groups \* out, in, k\), got"),
    (lambda: ops.conv1d(Tensor.zeros(1, 1, 9), Tensor.zeros(1, 1, 3), stride=(1, 2)), ValueError, r"a number, at"),
    (lambda: ops.conv_transpose2d(X, W), ValueError, r"conv_transpose2d: x must be .* and in=8 as in weight"),
    (lambda: ops.conv_transpose2d(X, Tensor.zeros(3, 4, 3, 3), groups=2), ValueError,
     r"conv_transpose2d: weight must be .* with groups=2, got"),
    (lambda: ops.conv_transpose2d(X, Tensor.zeros(3, 4, 0, 3)), ValueError, r"kh must not be 0, as in weight of"),
    (lambda: ops.conv_transpose2d(Tensor.zeros(2, 3, 0, 8), Tensor.zeros(3, 4, 3, 3)), ValueError,
     r"height must not be 0, as in x of shape \(2, 3, 0, 8\)"),
    (lambda: ops.conv_transpose1d(Tensor.zeros(2, 3, 8), W), ValueError, r"conv_transpose1d: weight must be \(gr"),
    (lambda: ops.conv_transpose2d(X, Tensor.zeros(3, 4, 3, 3), output_padding=1), ValueError, r"output_padding"),
    (lambda: ops.conv_transpose2d(X, Tensor.zeros(3, 4, 2, 2), dilation=2, output_padding=2), ValueError,
     r"output_padding \(2, 2\) must be less than stride \(1, 1\) or dilation \(2, 2\)"),
    (lambda: ops.conv_transpose2d(X, Tensor.zeros(3, 4, 1, 1), padding=4), ValueError, r"the output would be 0 x 0"),
    (lambda: ops.unfold(Tensor.zeros(8, 8), kernel_size=3), ValueError, r"unfold: x must be \(batch, channels"),
    (lambda: ops.fold(Tensor.zeros(1, 5, 36), output_size=8, kernel_size=3), ValueError, r"fold: takes"),
]


@pytest.mark.parametrize("k", range(len(ERRORS)))
def test_errors_name_the_shapes_and_the_rule(k):
    call, kind, text = ERRORS[k]
    with pytest.raises(kind, match=text):
        call()


@pytest.mark.parametrize(("stride", "padding", "extra", "dilation"), [
    (1, 0, 1, 2), (1, 0, (2, 0), 3), (2, 1, 2, 3), (1, 1, 1, 2), ((1, 2), (0, 2), (2, 3), 4), (2, (3, 0), 3, (4, 5))])
def test_output_padding_may_be_as_large_as_dilation_allows(stride, padding, extra, dilation):
    """The result is that without padding, extended with zeros and then cropped."""
    def whole(x, w, b):
        (s, p, e, d) = (v if isinstance(v, tuple) else (v, v) for v in (stride, padding, extra, dilation))
        y = ops.conv_transpose2d(x, w, None, stride=stride, dilation=dilation)
        y = y.pad((0, e[1], 0, e[0]))
        return y[:, :, p[0] : y.shape[2] - p[0], p[1] : y.shape[3] - p[1]] + b.reshape(-1, 1, 1)

    numbers = [rng.standard_normal(shape) for shape in ((2, 4, 3, 5), (4, 3, 3, 2), (3,))]
    inputs, same = ([Tensor(x, requires_grad=True) for x in numbers] for _ in range(2))
    y = ops.conv_transpose2d(*inputs, stride=stride, padding=padding, output_padding=extra, dilation=dilation)
    expected = whole(*same)
    np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), rtol=1e-10)
    g = rng.standard_normal(y.shape)
    y.backward(Tensor(g))
    expected.backward(Tensor(g))
    for a, b in zip(inputs, same, strict=True):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-9, atol=1e-12)
