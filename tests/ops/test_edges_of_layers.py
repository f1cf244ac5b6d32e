"""Layers, losses and products at the edges of their definitions: zeros, single numbers, axes of any kind."""

import math

import numpy as np
import pytest

from tinygrad_like import Tensor, ops

INF = math.inf

# Layers ---------------------------------------------------------------------------------------------------------------


def test_binary_step_and_hardsigmoid_equal_their_formulas():
    for dtype in "float32", "float64", "int64":
        y = ops.binary_step(Tensor(np.array([-1, 0, 1], dtype)))
        assert y.tolist() == [0, 1, 1] and y.dtype.name == ("float32" if dtype == "int64" else dtype)
    np.testing.assert_allclose(ops.hardsigmoid(Tensor([-4.0, -1.0, 0.0, 1.0, 4.0])).numpy(), [0, 1 / 3, 0.5, 2 / 3, 1],
                               rtol=1e-6)
    with pytest.raises(ValueError, match="celu: alpha must be positive, got 0"):
        ops.celu(Tensor([1.0]), alpha=0)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (2, 1, 3), (2, 3, 1, 2)])
def test_attention_takes_any_leading_axes(batch):
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((3, *batch, 5, 4))
    scaled = ops.self_attention(Tensor(np.concatenate([q, k, v], -1)), num_heads=1, scale=2.0, is_causal=True)
    scaled_q = ops.scaled_dot_product_attention(Tensor(4 * q), Tensor(k), Tensor(v), is_causal=True)
    np.testing.assert_allclose(scaled.numpy(), scaled_q.numpy())
    scores = q @ k.swapaxes(-1, -2) / 2 + np.triu(np.full((5, 5), -INF), 1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    mask = np.tri(5, dtype=bool)
    for dtype in "float32", "float64":
        xs = [Tensor(x.astype(dtype)) for x in (q, k, v)]
        for y in (ops.scaled_dot_product_attention(*xs, is_causal=True), ops.scaled_dot_product_attention(*xs, mask),
                  ops.matmul(ops.attention_weights(*xs[:2], is_causal=True), xs[2])):
            np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-5)
        for heads in 1, 2:
            qkv = Tensor(np.concatenate([q, k, v], -1).astype(dtype), requires_grad=True)
            y = ops.self_attention(qkv, num_heads=heads, is_causal=True)
            reference = ops.self_attention(qkv.cast("float64"), mask, num_heads=heads)
            np.testing.assert_allclose(y.detach().numpy(), reference.detach().numpy(), rtol=1e-4, atol=1e-5)
            if heads == 1:
                np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-4, atol=1e-5)
            once, = (y * y).sum().gradient(qkv, retain_graph=True)
            twice, = (y * y).sum().gradient(qkv, create_graph=True)
            np.testing.assert_allclose(once.numpy(), twice.detach().numpy(), rtol=1e-4, atol=1e-4)
        dropped = ops.scaled_dot_product_attention(*xs, dropout_p=0.5)
        whole = ops.scaled_dot_product_attention(*xs).numpy()
        assert dropped.shape == expected.shape and not np.allclose(dropped.numpy(), whole)


def test_rotate_halves_multiplies_complex_numbers():
    x, angle = Tensor(np.arange(6.0).reshape(1, 6), requires_grad=True), np.array([0.1, 0.7, 2.0])
    y = ops.rotate_halves(x, np.cos(angle), np.sin(angle))
    expected = (np.arange(3) + 1j * np.arange(3, 6)) * np.exp(1j * angle)
    np.testing.assert_allclose(y.detach().numpy()[0], [*expected.real, *expected.imag])
    assert ops.rotate_halves(x[0], np.cos(angle), np.sin(angle)).shape == (6,)
    with pytest.raises(ValueError, match=r"rotate_halves: (x must be \(..., 2 \* n\)|cos must be)"):
        ops.rotate_halves(Tensor(1.0), np.ones(()), np.ones(()))
    with pytest.raises(ValueError, match=r"rotate_halves: (x must be \(..., 2 \* n\)|cos must be)"):
        ops.rotate_halves(Tensor(1.0), np.ones(0), np.ones(0))


def test_a_running_variance_may_be_differentiated_alone():
    x, skip = np.random.default_rng(0).standard_normal((2, 4, 3, 2))
    var, expected = np.array([1.0, 2.0, 4.0]), x / np.sqrt([[1.0], [2.0], [4.0]]) + skip
    given = Tensor(x), None, None, Tensor(np.zeros(3)), Tensor(var, requires_grad=True)
    y = ops.batch_norm_relu(*given, Tensor(skip), eps=0.0)
    np.testing.assert_allclose(y.detach().numpy(), np.maximum(expected, 0))
    slopes = x * -0.5 / np.sqrt([[1.0], [8.0], [64.0]])
    np.testing.assert_allclose(y.sum().gradient(given[4])[0].numpy(), (slopes * (expected > 0)).sum((0, 2)))
    np.testing.assert_allclose(ops.batch_norm(*given, eps=0.0).sum().gradient(given[4])[0].numpy(), slopes.sum((0, 2)))


def test_batches_that_do_not_broadcast_are_refused():
    for bad in (((3, 2, 4), (2, 4, 3)), ((2, 3, 2, 4), (3, 2, 4, 3)), ((2, 3, 4, 5), (2, 5, 6)),
                ((2, 4, 5), (2, 3, 5, 6)), ((2, 3, 4), (2, 3, 4, 5)), ((2, 3, 5, 3), (2, 3, 4))):
        with pytest.raises(ValueError, match="matmul: batch axes .* do not broadcast"):
            ops.matmul(*[Tensor(np.ones(s)) for s in bad])


def test_a_kernel_deeper_than_its_volume_is_refused():
    for depth, dilation in (5, 1), (3, 2):
        with pytest.raises(ValueError, match=f"the kernel {depth} x .* is larger than the padded input"):
            ops.conv3d(Tensor(np.ones((1, 1, 2, 9, 9))), Tensor(np.ones((1, 1, depth, 1, 1))), None, 1, (1, 0, 0),
                       dilation)
    assert ops.conv3d(Tensor(np.ones((1, 1, 2, 9, 9))), Tensor(np.ones((1, 1, 4, 5, 1))), None, 1, (1, 0, 0)).shape == (
        1, 1, 1, 5, 9)


# Products of vectors --------------------------------------------------------------------------------------------------


def test_products_of_vectors_that_do_not_fit_are_refused():
    x = Tensor(np.ones((2, 3)))
    for a, b, axis in (x, x[:, :1], None), (x[:, :1], x, None), (x[:, :2], x[:, :2], None), (x, x[:, :1], 1):
        with pytest.raises(ValueError, match=f"cross: axis {-1 if axis is None else axis - 2} of shapes"):
            ops.cross(a, b, axis)
    assert ops.cdist(x[:, :0], Tensor(np.ones((4, 0)))).tolist() == [[0] * 4] * 2


def test_a_folded_image_has_no_margins():
    image = ops.fold(Tensor(np.ones((1, 4, 9))), output_size=(2, 2), kernel_size=(2, 2), padding=1)
    assert image.tolist() == [[[[4, 4], [4, 4]]]] and image._data.flags.c_contiguous
