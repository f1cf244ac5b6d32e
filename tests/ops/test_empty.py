"""An empty batch has an empty output, and parameters then get gradients of 0."""

import numpy as np
import pytest

from tinygrad_like import Tensor, ops


def test_a_convolution_without_channels_raises():
    x = Tensor.zeros(2, 3, 5, 5)
    with pytest.raises(ValueError, match=r"^conv2d: out must not be 0, as in weight of shape \(0, 3"):
        ops.conv2d(x, Tensor.zeros(0, 3, 3, 3))
    with pytest.raises(ValueError, match=r"^conv_transpose2d: out must not be 0, as in weight of sha"):
        ops.conv_transpose2d(x, Tensor.zeros(3, 0, 3, 3))
    with pytest.raises(ValueError, match=r"^cross_entropy: logits of shape \(0, 0\) have no classes"):
        ops.cross_entropy(Tensor.zeros(0, 0), Tensor.zeros(0, dtype="int64"))


def test_a_median_of_nothing_raises():
    for shape, axis in ((0,), 0), ((0,), None), ((0, 3), 0), ((0, 3), None):
        with pytest.raises(ValueError, match="^median: no median along"):
            ops.median(Tensor.zeros(shape), axis)
    assert ops.median(Tensor.zeros(3, 0), 0)[0].size == 0  # no rows, no results


def test_norms_of_no_examples_take_no_memory():
    for shape, norm in (((0, 2**40), lambda x: ops.group_norm(x, num_groups=4)), ((0, 2**40, 3), ops.instance_norm),
                        ((0, 2**40), ops.layer_norm), ((0, 2**40), ops.rms_norm)):
        x = Tensor(np.zeros(shape, np.float32), requires_grad=True)
        y = norm(x)
        y.sum().backward()
        assert y.shape == x.grad.shape == shape
    weight, bias = (Tensor(np.ones(4, np.float32), requires_grad=True) for _ in range(2))
    x = Tensor(np.zeros((0, 4), np.float32), requires_grad=True)
    for y in (ops.group_norm(x, weight, bias, num_groups=2), ops.layer_norm(x, weight, bias), ops.rms_norm(x, weight)):
        weight.grad = bias.grad = None
        y.sum().backward()
        assert weight.grad.tolist() == [0] * 4 and (bias.grad is None or bias.grad.tolist() == [0] * 4)


@pytest.mark.parametrize("op", [ops.batch_norm, ops.batch_norm_relu])
def test_batch_norm_in_evaluation_takes_no_channels(op):
    for shape in (2, 0, 3), (2, 0), (0, 0, 4, 4):
        x, weight = (Tensor(np.zeros(n, np.float32), requires_grad=True) for n in (shape, 0))
        y = op(x, weight, weight, np.zeros(0, np.float32), np.ones(0, np.float32))
        y.sum().backward()
        assert y.shape == x.grad.shape == shape and weight.grad.shape == (0,)
