import numpy as np
import pytest

import nn.functional as F
from tinygrad_like import Tensor, ops

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "glu", "swiglu"])
def test_an_axis_is_called_dim(name):
    for axis in (-1, 1):
        np.testing.assert_array_equal(getattr(F, name)(Tensor(X), dim=axis).numpy(),
                                      getattr(ops, name)(Tensor(X), axis=axis).numpy())


def test_every_other_function_is_the_op_itself():
    for name in set(F.__all__) - {"softmax", "log_softmax", "glu", "swiglu"}:
        assert getattr(F, name) is getattr(ops, name)


@pytest.mark.torch
def test_the_names_and_arguments_are_those_of_pytorch():
    import torch
    import torch.nn.functional as theirs

    ours_only = {"binary_step", "swiglu", "gaussian_dropout"}
    assert all(hasattr(theirs, name) for name in set(F.__all__) - ours_only)
    for call in [lambda f, x: f.softmax(x, dim=0), lambda f, x: f.log_softmax(x, dim=-1), lambda f, x: f.glu(x, dim=1),
                 lambda f, x: f.leaky_relu(x, 0.3), lambda f, x: f.elu(x, alpha=2.0),
                 lambda f, x: f.gelu(x, approximate="tanh"),
                 lambda f, x: f.softplus(x, beta=2.0), lambda f, x: f.mse_loss(x, 2 * x, reduction="sum"),
                 lambda f, x: f.max_pool1d(x, kernel_size=2, stride=1, padding=1, dilation=1, ceil_mode=True),
                 lambda f, x: f.avg_pool1d(x, 2, 1, padding=1, ceil_mode=False, count_include_pad=False),
                 lambda f, x: f.adaptive_avg_pool1d(x, 3), lambda f, x: f.dropout(x, p=0.3, training=False),
                 lambda f, x: f.interpolate(x[None], size=7, mode="nearest"),
                 lambda f, x: f.linear(x, x), lambda f, x: f.huber_loss(x, 3 * x, delta=0.5)]:
        y, u = call(F, Tensor(X)), call(theirs, torch.tensor(X))
        np.testing.assert_allclose(y.numpy(), u.numpy(), rtol=1e-5, atol=1e-6)
