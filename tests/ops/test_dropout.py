"""Dropout: what is dropped, how often, and the scale; the same seed gives the same run."""

import numpy as np
import pytest

from tinygrad_like import Tensor, manual_seed, ops, random
from tinygrad_like.ops.dropout import drop

ONES = np.ones((200, 300), np.float32)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("op", [ops.dropout, ops.gaussian_dropout])
def test_dropout_keeps_the_mean_and_adds_the_stated_variance(op, p):
    """E[y] = x, Var[y] = x^2 p / (1 - p)."""
    y = op(Tensor(3 * ONES), p).numpy()
    assert y.dtype == np.float32
    variance = 9 * p / (1 - p)
    assert abs(y.mean() - 3) < 4 * np.sqrt(variance / y.size)
    assert abs(y.var() / variance - 1) < 0.05


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 5), (200, 300)], ids=str)
def test_forward_and_backward_drop_the_same(shape, dtype):
    x = Tensor(np.random.default_rng(0).standard_normal(shape), dtype=dtype, requires_grad=True)
    for view in (lambda x: x, lambda x: x.T, lambda x: x[::2]):  # noncontiguous inputs take another path
        v = view(x)
        y = ops.dropout(v, 0.3)
        kept = y.detach().numpy() != 0
        np.testing.assert_allclose(y._data, np.where(kept, v._data / np.asarray(0.7, dtype), 0), rtol=1e-6)
        for g in (np.ones(y.shape, dtype), np.ones(y.shape[::-1], dtype).T):
            dv, = y.gradient(v, gradient=g, retain_graph=True)
            np.testing.assert_allclose(dv.numpy(), kept / 0.7, rtol=1e-6)


def test_only_the_key_is_saved():
    y = ops.dropout(Tensor(ONES, requires_grad=True))
    assert sum(s.size for s in y.node.saved if isinstance(s, np.ndarray | Tensor)) == 1


def test_the_same_seed_drops_the_same():
    def run():
        return [ops.dropout(Tensor(ONES)).numpy(), ops.dropout(Tensor(ONES)).numpy(),
                ops.dropout2d(Tensor(ONES).reshape(20, 30, 10, 10)).numpy(), ops.gaussian_dropout(Tensor(ONES)).numpy()]

    a = run()
    state = random.get_rng_state()
    b = run()
    manual_seed(0)
    assert all(np.array_equal(x, y) for x, y in zip(a, run(), strict=True))
    random.set_rng_state(state)
    assert all(np.array_equal(x, y) for x, y in zip(b, run(), strict=True))
    assert (a[0] != a[1]).any() and all((x != y).any() for x, y in zip(a, b, strict=True))


def test_attention_draws_a_new_mask_every_time():
    x = Tensor.eye(8)
    masks = {ops.scaled_dot_product_attention(x, x, x, dropout_p=0.5).numpy().tobytes() for _ in range(100)}
    assert len(masks) == 100


OPS = [ops.dropout, ops.dropout1d, ops.dropout2d, ops.gaussian_dropout]


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_evaluation_and_p_0_are_the_identity(op):
    x = Tensor(np.ones((2, 3, 4)), requires_grad=True)
    state = random.get_rng_state()
    assert op(x, 0.5, training=False) is x and op(x, 0.0) is x
    assert random.get_rng_state() == state


@pytest.mark.parametrize("op", OPS[:3], ids=lambda op: op.__name__)
def test_p_1_is_zero_with_gradient_zero(op):
    x = Tensor(np.ones((2, 3, 4)), requires_grad=True)
    y = op(x, 1.0)
    y.backward(np.full(y.shape, 7.0))
    assert not y.detach().numpy().any() and not x.grad.numpy().any()
    if op is ops.dropout:
        assert not op(Tensor([np.inf, np.nan]), 1.0).numpy().any()


@pytest.mark.parametrize(("op", "shape"), [(ops.dropout1d, (40, 50, 6)), (ops.dropout1d, (2000, 6)),
                                           (ops.dropout2d, (40, 50, 3, 4)), (ops.dropout2d, (40, 50, 6))],
                         ids=lambda value: getattr(value, "__name__", str(value)))
def test_spatial_dropout_drops_whole_channels(op, shape):
    x = Tensor(np.random.default_rng(0).uniform(1, 2, shape), requires_grad=True)
    y = op(x, 0.25)
    ratio = (y / x).detach().numpy().reshape(2000, -1)
    np.testing.assert_allclose(ratio, ratio[:, :1] + np.zeros_like(ratio))
    assert set(ratio.round(6).flat) == {0, 1.333333}
    assert abs((ratio[:, 0] == 0).mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 2000)
    y.backward(np.ones(shape))
    np.testing.assert_allclose(x.grad.numpy(), ratio.reshape(shape), rtol=1e-6)


def test_noise_is_drawn_from_the_packages_generator():
    noise = random.normal((3, 4), "float64")
    manual_seed(0)
    y = ops.gaussian_dropout(Tensor(2 * np.ones((3, 4))), 0.2)
    np.testing.assert_allclose(y.numpy(), 2 * (1 + 0.5 * noise), rtol=1e-12)


def test_an_array_returns_an_array():
    x = np.ones((2, 3, 4, 4), np.float32)
    for op in (ops.dropout, ops.dropout2d, ops.gaussian_dropout):
        assert type(op(x)) is np.ndarray and type(op(Tensor(x))) is Tensor


def test_dropout_takes_0d_tensors():
    x = Tensor(3.0, requires_grad=True)
    found = {ops.dropout(x * 1, 0.5).item() for _ in range(20)}
    assert found == {0.0, 6.0} and ops.gaussian_dropout(x * 1).shape == ()


@pytest.mark.parametrize("key", [7, 1.5, None, np.array(1.5), np.zeros(2, np.int64)])
def test_a_key_must_be_an_array_of_one_integer(key):
    for x in (ONES, np.ones(2)):
        with pytest.raises(TypeError, match="drop: key must be an array of one int64"):
            drop(x, p=0.5, key=key)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", [
    ops.dropout, lambda x: ops.scaled_dot_product_attention(x, x, x, dropout_p=0.5, scale=1e-3)])
def test_a_process_with_some_rows_drops_the_same_values_as_one_with_all(op, dtype):
    """A parameter has no rows, so all processes drop the same of it."""
    x = np.random.default_rng(0).standard_normal((6, 3, 16)).astype(dtype)

    def run(rows, *given, leaf=False):
        manual_seed(5)
        with random.of_rows(rows):
            return op(Tensor(*given, requires_grad=leaf)).detach().numpy()

    whole = run(None, x)
    for rows in random.Rows(0, 2, 6), random.Rows(2, 4, 6), random.Rows(1, 3, 6, 2):
        np.testing.assert_allclose(run(rows, x[rows.part]), whole[rows.part], rtol=1e-6, atol=1e-6)
        if op is ops.dropout:
            np.testing.assert_array_equal(run(rows, x, leaf=True), run(None, x, leaf=True))
            assert np.array_equal(run(rows, x[0, 0, 0], leaf=False), run(None, x[0, 0, 0]))
