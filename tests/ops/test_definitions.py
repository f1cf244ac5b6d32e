"""Volumes, indices, padding and numbers at the edges of their definitions, and calls that are refused there."""

import math

import numpy as np
import pytest

from tinygrad_like import Tensor, capture, no_grad, ops


def equal(actual, expected):
    actual, expected = actual.numpy(), np.asarray(expected)
    assert actual.shape == expected.shape and (actual.dtype.kind == "f" or actual.dtype == expected.dtype)
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-12)


def normal(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


# Windows --------------------------------------------------------------------------------------------------------------


def test_a_convolution_of_volumes_equals_its_definition_and_has_an_adjoint():
    x, weight = normal(2, 2, 5, 6, 4), normal(3, 2, 2, 3, 2)
    how = {"stride": (2, 1, 3), "padding": (2, 0, 1), "dilation": (2, 1, 2)}
    padded = np.pad(x, [(0, 0), (0, 0), (2, 2), (0, 0), (1, 1)])
    seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3, 3), (2, 3, 4))[:, :, ::2, :, ::3, ::2, :, ::2]
    expected = np.einsum("ncdhwijk,ocijk->nodhw", seen, weight)
    equal(ops.conv3d(Tensor(x), Tensor(weight), **how), expected)
    back = ops.conv_transpose3d(Tensor(expected), Tensor(weight), **how, output_padding=(0, 0, 0)).numpy()
    inside = x[:, :, : back.shape[2], : back.shape[3], : back.shape[4]]
    assert back.shape == inside.shape
    np.testing.assert_allclose((back * inside).sum(), (expected**2).sum(), rtol=1e-12)


def test_max_pool_with_indices_says_where_the_maxima_are():
    x = normal(2, 3, 9, 8)
    y, index = ops.max_pool_with_indices(Tensor(x), (2, 3), (2, 1), 1, (3, 2))
    equal(y, ops.max_pool2d(Tensor(x), (2, 3), (2, 1), 1, (3, 2)).numpy())
    equal(y, np.take_along_axis(x.reshape(2, 3, 72), index.numpy().reshape(2, 3, -1), 2).reshape(y.shape))

def test_padding_crops_a_transposed_convolution():
    x, weight = np.array([3.0, 4]).reshape(1, 1, 2, 1, 1), np.array([5.0, 6]).reshape(1, 1, 2, 1, 1)
    equal(ops.conv_transpose3d(Tensor(x), Tensor(weight), padding=(1, 0, 0)), [[[[[3.0 * 6 + 4 * 5]]]]])
    for options in ({"padding": (2, 0, 0)}, {"padding": (2, 0, 0), "stride": (2, 1, 1)}, {"output_padding": (1, 0, 0)}):
        with pytest.raises(ValueError, match="conv_transpose3d: (the output would be|output_padding)"):
            ops.conv_transpose3d(Tensor(x), Tensor(weight), **options)


def test_volumes_without_five_axes_are_refused():
    for op in ops.conv3d, ops.conv_transpose3d:
        for x, weight in (((2, 3, 3), (2, 2, 1, 1, 1)), ((1, 2, 3, 3, 3), (2, 2, 1, 1)),
                          ((1, 2, 3, 3, 3), (2, 2, 0, 1, 1))):
            with pytest.raises(ValueError, match="x must be .*depth|weight must be .*kd|kd must not be 0"):
                op(Tensor.zeros(*x), Tensor.zeros(*weight))


# Places ---------------------------------------------------------------------------------------------------------------


def test_ties_share_the_cotangent_and_products_with_zeros_are_exact():
    x, src = Tensor([[2.0, 5.0, 1.0, 4.0]], requires_grad=True), Tensor([[5.0, 5.0, 3.0, 0.0, 7.0]], requires_grad=True)
    index = Tensor([[1, 1, 1, 3, 3]])
    y = ops.scatter_reduce(x, index, src, axis=1, reduce="amax")
    dx, ds = y.gradient(x, src, gradient=np.array([[1.0, 6.0, 1.0, 8.0]]))
    assert dx.tolist() == [[1, 2, 1, 0]] and ds.tolist() == [[2, 2, 0, 0, 8]]
    y = ops.scatter_reduce(x, index, src, axis=1, reduce="prod")
    assert y.tolist() == [[2, 375, 1, 0]]
    for reduce, expected in (("prod", 30), ("mean", 10 / 3)):
        found = ops.scatter_reduce(Tensor([2.0]), Tensor([0, 0]), Tensor([3.0, 5.0]), axis=0, reduce=reduce)
        assert found.item() == pytest.approx(expected)
    dx, ds = y.gradient(x, src, gradient=np.array([[1.0, 1.0, 1.0, 1.0]]))
    assert dx.tolist() == [[1, 75, 1, 0]] and ds.tolist() == [[75, 75, 125, 28, 0]]


def test_small_and_empty_tensors_can_be_split_and_padded():
    nothing, two, x = Tensor(np.zeros(0)), Tensor(np.arange(2.0)), Tensor(np.arange(6.0).reshape(2, 3))
    assert [part.shape for part in nothing.split(2)] == [(0,)]
    assert [part.tolist() for part in two.chunk(3)] == [[0], [1]]
    assert x.pad(((1, 1), None)).tolist() == [[0, 0, 0], [0, 1, 2], [3, 4, 5], [0, 0, 0]]
    assert x.pad((-1, -2)).shape == (2, 0)
    for bad in ((2, 1), (-1, 1), (0, 4)):
        with pytest.raises(ValueError, match="shrink: "):
            x.shrink((None, bad))


def test_negative_padding_removes_elements():
    x = Tensor(np.arange(4.0))
    for mode, padding, expected in (
            ("circular", (-1, 2), [1, 2, 3, 1, 2]), ("circular", (2, -1), [1, 2, 0, 1, 2]),
            ("reflect", (-1, 2), [1, 2, 3, 2, 1]), ("replicate", (2, -3), [0, 0, 0]), ("constant", (-2, 1), [2, 3, 9])):
        assert x.pad(padding, mode=mode, value=9.0).tolist() == expected
    for mode in "circular", "reflect", "replicate":
        with pytest.raises(ValueError, match=f"pad: {mode} padding .1, 0. of axis 0 exceeds (0|-1), the limit"):
            x[:0].pad((1, 0), mode=mode)


def test_interpolate_refuses_empty_inputs_and_wrong_sizes():
    for x, options, why in (((1, 1, 0), {"size": 2}, "nothing to interpolate"),
                            ((1, 1, 2), {"scale_factor": 2.0**31}, "positive"),
                            ((1, 1, 2), {"scale_factor": 0.0}, "positive"), ((1, 1, 2), {"size": 0}, "size")):
        with pytest.raises(ValueError, match=f"interpolate: .*{why}"):
            ops.interpolate(Tensor.zeros(*x), **options)


# Moves ----------------------------------------------------------------------------------------------------------------


def test_axes_that_do_not_divide_are_refused():
    x = Tensor.zeros(6, 4)
    for formula, sizes in (("(a b) c -> a b c", {}), ("(a b) c -> a b c", {"a": 4}),
                           ("(a b) c -> a b c", {"a": 2, "b": 2}), ("a 1 -> a", {}),
                           ("(a b c) d -> a b c d", {"a": 2})):
        with pytest.raises(ValueError, match="rearrange: .* does not divide an axis of size"):
            ops.rearrange(x, formula, **sizes)
    assert ops.rearrange(x, "(a b) c -> a b c", a=2, b=3).shape == (2, 3, 4)


# Numbers --------------------------------------------------------------------------------------------------------------


def test_running_extremes_keep_nan_and_take_integers():
    x = np.array([[1.0, 3, 3, np.nan, 5, np.nan], [2, 1, 1, 2, 0, 2]])
    values, places = ops.cummax(Tensor(x), axis=1)
    np.testing.assert_array_equal(values.numpy(), np.maximum.accumulate(x, 1))
    assert places.tolist() == [[0, 1, 2, 3, 3, 5], [0, 0, 0, 3, 3, 5]]
    values, places = ops.cummin(Tensor([3, 1, 2, 1]))
    assert values.tolist() == [3, 1, 1, 1] and places.tolist() == [0, 1, 1, 3]
    values, places = ops.cummax(Tensor(7.0))
    assert values.tolist() == 7 and places.tolist() == 0


def test_logcumsumexp_after_minus_infinities_has_gradients():
    alone = Tensor(2.0)
    assert not np.shares_memory(ops.logcumsumexp(alone)._data, alone._data)
    x = Tensor([-np.inf, -np.inf, 0.0, 1.0], dtype="float64", requires_grad=True)
    y = ops.logcumsumexp(x)
    (g,) = y.gradient(x, gradient=np.array([1.0, 1, 1, 1]))
    e = math.e
    np.testing.assert_allclose(y.detach().numpy(), [-np.inf, -np.inf, 0, math.log(1 + e)])
    np.testing.assert_allclose(g.numpy(), [0, 0, 1 + 1 / (1 + e), e / (1 + e)])


def test_truncdiv_and_bitcast_are_exact_for_integers():
    a, b = (x.ravel() for x in np.meshgrid(np.arange(-7, 8), [-3, -2, 1, 2, 5]))
    equal(ops.truncdiv(Tensor(a), Tensor(b)), np.trunc(a / b).astype(a.dtype))
    big = np.array([2**53 + 1, -(2**53) - 1])
    equal(ops.truncdiv(Tensor(big), Tensor(np.array([1, 1]))), big)
    x = normal(2, 3)
    equal(ops.bitcast(Tensor(x.T), dtype="int64"), np.ascontiguousarray(x.T).view(np.int64))
    equal(ops.bitcast(Tensor(x.T), dtype="int32"), np.ascontiguousarray(x.T).view(np.int32))
    assert ops.bitcast(Tensor(1.0, dtype="float32"), dtype="int32").item() == 0x3F800000
    with pytest.raises(ValueError, match="bitcast: a 0-d Tensor of float32 does not have the item size of int64"):
        ops.bitcast(Tensor(1.0, dtype="float32"), dtype="int64")


def test_limits_may_be_tensors():
    x, low, high = (Tensor(v, dtype="float64", requires_grad=True)
                    for v in ([1.0, 2, 3, 4], [2.0, 2, 0, 0], [9.0, 9, 3, 2]))
    y = ops.clamp(x, low, high)
    assert y.tolist() == [2, 2, 3, 2]
    assert [g.tolist() for g in y.sum().gradient(x, low, high)] == [[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]]
    with pytest.raises(ValueError, match="clip: give min, max or both"):
        ops.clamp(x)


def test_hypot_and_atan2_have_gradients_at_0():
    zero, one = (Tensor(v, dtype="float64", requires_grad=True) for v in (0.0, 1.0))
    for op, expected in ((ops.hypot, [0, 1]), (ops.atan2, [1, 0])):
        assert [g.item() for g in op(zero, one).gradient(zero, one)] == expected
        nothing = Tensor(0.0, dtype="float64", requires_grad=True)
        assert [g.item() for g in op(zero, nothing).gradient(zero, nothing)] == [0, 0]
    with no_grad():
        assert ops.hypot(Tensor(3.0), Tensor(4.0)).item() == 5


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_atan2_has_its_slope_where_squares_overflow_or_underflow(size):
    a, b = Tensor(np.float32(size), requires_grad=True), Tensor(np.float32(size), requires_grad=True)
    slopes = [g.item() for g in ops.atan2(a, b).gradient(a, b)]
    assert slopes == pytest.approx([0.5 / size, -0.5 / size], rel=1e-6)


def test_erf_of_many_float64_equals_maths():
    x = np.concatenate([np.linspace(-7, 7, 20001), 10.0 ** np.arange(-320, 3), [-0.0, math.inf, -math.inf, math.nan]])
    y, expected = ops.erf(Tensor(x)).numpy(), [math.erf(value) for value in x]
    np.testing.assert_allclose(y, expected, rtol=1e-15, atol=0)
    assert np.array_equal(np.signbit(y[:-1]), np.signbit(expected[:-1]))


def test_nonzero_is_not_captured():
    rng, count = np.random.default_rng(0), capture(lambda x: ops.nonzero(x).shape[0])
    with pytest.warns(UserWarning, match="nonzero returns a number of elements"):
        for _ in range(12):
            x = rng.integers(0, 3, 6)
            assert count(Tensor(x)) == np.count_nonzero(x)
