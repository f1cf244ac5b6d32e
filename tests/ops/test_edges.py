"""Functions at the edges of their definitions: ties, zeros, infinities, integers, 16 bits."""

import math

import numpy as np
import pytest

from tinygrad_like import Tensor, linalg, ops

INF, NAN = math.inf, math.nan


def slope(f, *values):
    """The gradient of f with respect to its first argument."""
    x, *rest = [Tensor(np.array(v, float)) for v in values]
    x.requires_grad_()
    with np.errstate(all="ignore"):
        return f(x, *rest).sum().gradient(x)[0].tolist()


def test_nan_to_num_keeps_the_dtype_and_its_limits():
    assert ops.nan_to_num(Tensor([[1, 2], [3, 4]])).dtype == np.int64
    limits = ops.nan_to_num(Tensor([NAN, INF, -INF]).bfloat16())
    assert limits.tolist() == pytest.approx([0, 3.39e38, -3.39e38], rel=1e-2)


def test_linalg_takes_bfloat16_which_numpy_does_not():
    x = Tensor(np.eye(2)).bfloat16()
    assert linalg.lstsq(x, x).rank.item() == 2 and linalg.pinv(x).dtype == x.dtype


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bits_stay_16_bits(dtype):
    x = Tensor(np.array([[0.25, 0.5, 0.875, 0.5], [0.75, 0.5, 0.25, 0.25]])).cast(dtype)
    for y in linalg.pinv(x), linalg.lstsq(x.T, x.T)[0], ops.nan_to_num(x):
        assert y.dtype == x.dtype


def test_the_power_one_half_is_a_square_root_outside_its_domain_too():
    np.testing.assert_array_equal(slope(lambda x: x**0.5, [-INF, -1, 0, 4, INF]), [NAN, NAN, INF, 0.25, 0])


# Order and ties -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_smallest_and_largest_of_many_are_found(axis):
    x = np.random.default_rng(axis).permuted(np.arange(2 * 3 * 270.0, dtype="f").reshape(2, 3, 270), axis=2)
    x = np.moveaxis(x, 2, axis)
    for k in 1, 2, 3, 7:
        for largest in True, False:
            expected = np.argsort(-x if largest else x, axis)[(slice(None),) * axis + (slice(k),)]
            assert np.array_equal(ops.order.first_places(x, k=k, axis=axis, largest=largest), expected)
    x[0, 0, 0] = NAN
    np.testing.assert_array_equal(ops.argsort(Tensor(x), axis=axis).numpy(), np.argsort(x, axis, kind="stable"))


def test_an_expanded_index_may_be_narrower_than_x():
    x, index = Tensor(np.arange(9.0).reshape(3, 3)), np.broadcast_to([[0], [2]], (2, 2))
    assert x.gather(0, index).tolist() == [[0, 1], [6, 7]]
    assert x.gather(0, np.broadcast_to([0, 2, 1], (3, 3))).tolist() == [[0, 7, 5]] * 3
    assert (x * 0).scatter_add(0, index, x).tolist() == [[0, 1, 0], [0, 0, 0], [3, 4, 0]]


def test_scatters_expanded_index_may_change_before_backward():
    index, src = np.array([[0], [1]]), Tensor(np.ones((2, 2)), requires_grad=True)
    y = Tensor(np.zeros((2, 2))).scatter(0, np.broadcast_to(index, (2, 2)), src) * [[1.0, 2.0], [3.0, 4.0]]
    index[:] = 0
    assert y.sum().gradient(src)[0].tolist() == [[1, 2], [3, 4]]
    assert type(ops.gather(np.ones((2, 2)), np.array([[0, 1]]), axis=1)) is np.ndarray


def test_the_smallest_of_a_long_row_are_found():
    x = np.random.default_rng(0).permutation(20000).astype("f")
    for k in 100, 1000, 2000:
        assert np.array_equal(ops.order.first_places(x, k=k, axis=0, largest=False), np.argsort(x)[:k])


def test_centred_numbers_have_mean_0():
    x = (np.random.default_rng(1).standard_normal(1000) + 3e4).astype("f")
    assert abs((x - x.mean()).mean()) > 1e-4 > 1e-6 > abs(ops.reduce.centred(x, 0).mean())


# Powers, choices, gamma -----------------------------------------------------------------------------------------------


def test_powers_of_bases_up_to_1_have_slopes_in_the_exponent():
    assert slope(lambda b: 0.5**b, [0, 2]) == pytest.approx([math.log(0.5), math.log(0.5) / 4])
    assert slope(lambda b: 1.0**b, [3]) == [0] and slope(lambda b: 0.0**b, [0, 2]) == [0, 0]
    a, b = (Tensor(np.zeros(1), requires_grad=True) for _ in range(2))
    with np.errstate(all="raise"):
        da, = ops.pow(a, b).gradient(a, create_graph=True)
    assert da.item() == 0 and da.gradient(a)[0].item() == 0


def test_where_promotes_dtypes():
    c, x = np.array([True, False]), np.array([0.1, 0.2])
    for a, b, dtype in ((1, 2, "int64"), (1.0, 2, "float32"), (x, 0.0, "float64"), (0.0, x, "float64"),
                        (x, x.astype("f"), "float64"), (x.astype("f"), x, "float64"), (x.astype("f"), 0, "float32")):
        y = ops.where(c, a, b)
        assert y.dtype == dtype and np.array_equal(y, np.where(c, a, b).astype(dtype))


def test_a_0d_float64_does_not_widen_float32():
    x, a = Tensor([1.0, 2.0], requires_grad=True), Tensor(np.array(3.0), requires_grad=True)
    for y in (x * a, a * x):
        dx, da = y.sum().gradient(x, a)
        assert y.dtype == dx.dtype == np.float32 and dx.tolist() == [3, 3]
        assert da.dtype == np.float64 and da.item() == 3
