import numpy as np
import pytest

import nn.functional as F
from tinygrad_like import Tensor, ops

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
NORMS = {"batch_norm", "group_norm", "layer_norm", "rms_norm"}


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "glu", "swiglu"])
def test_an_axis_is_called_dim(name):
    for axis in (-1, 1):
        np.testing.assert_array_equal(getattr(F, name)(Tensor(X), dim=axis).numpy(),
                                      getattr(ops, name)(Tensor(X), axis=axis).numpy())


def test_every_other_function_is_the_op_itself():
    for name in set(F.__all__) - {"softmax", "log_softmax", "glu", "swiglu"} - NORMS:
        assert getattr(F, name) is getattr(ops, name)


@pytest.mark.torch
def test_norms_take_the_arguments_of_pytorch():
    import torch
    import torch.nn.functional as theirs

    p = np.random.default_rng(1).uniform(0.5, 2, (4, 4)).astype(np.float32)
    calls = {
        "layer_norm": lambda f, x, w, b, m, v: f.layer_norm(x, (4,), w, b, 0.1),
        "rms_norm": lambda f, x, w, b, m, v: f.rms_norm(x, (4,), w, 0.1),
        "group_norm": lambda f, x, w, b, m, v: f.group_norm(x, 2, w, b, 0.1),
        "batch_norm": lambda f, x, w, b, m, v: f.batch_norm(x, m, v, w, b, True, 0.3, 0.1) + f.batch_norm(x, m, v),
    }
    assert set(calls) == NORMS
    for call in calls.values():
        ours = [Tensor(a.copy()) for a in (X, *p)]
        others = [torch.tensor(a) for a in (X, *p)]
        np.testing.assert_allclose(call(F, *ours).numpy(), call(theirs, *others).numpy(), rtol=1e-5, atol=1e-6)
        for a, b in zip(ours, others, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)


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
