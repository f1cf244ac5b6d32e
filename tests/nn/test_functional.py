import numpy as np
import pytest

import nn.functional as F
from tinygrad_like import Tensor, manual_seed, ops

X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
NORMS = {"batch_norm", "instance_norm", "group_norm", "layer_norm", "rms_norm"}


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "glu", "swiglu"])
def test_an_axis_is_called_dim(name):
    for axis in (-1, 1):
        np.testing.assert_array_equal(getattr(F, name)(Tensor(X), dim=axis).numpy(),
                                      getattr(ops, name)(Tensor(X), axis=axis).numpy())


def test_functions_that_are_ops_are_the_ops_themselves():
    """Except where PyTorch calls an axis dim, or has other arguments."""
    others = {"softmax", "log_softmax", "glu", "swiglu", "pad", "normalize", "softmin", "max_pool1d", "max_pool2d",
              "max_pool3d", "embedding", "hardsigmoid"}
    for name in set(F.__all__) - others - NORMS:
        if hasattr(ops, name):
            assert getattr(F, name) is getattr(ops, name)


def test_gumbel_softmax_samples_the_distribution():
    manual_seed(0)
    logits = Tensor(np.log([[0.2, 0.5, 0.3]] * 4000).astype(np.float32), requires_grad=True)
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    assert np.unique(hard.detach().numpy().round(6)).tolist() == [0, 1]
    np.testing.assert_allclose(hard.detach().numpy().mean(0), [0.2, 0.5, 0.3], atol=0.03)
    soft = F.gumbel_softmax(logits, tau=0.5)
    np.testing.assert_allclose(soft.detach().sum(-1).numpy(), 1, rtol=1e-5)
    (hard * Tensor([1.0, 2.0, 3.0])).sum().backward()
    assert np.abs(logits.grad.numpy()).max() > 0.01


def test_prelu_refuses_weights_that_do_not_fit():
    with pytest.raises(ValueError, match="prelu: weight must have one element, or one per channel"):
        F.prelu(Tensor(X), Tensor([0.1, 0.2]))


@pytest.mark.torch
def test_names_and_arguments_are_pytorchs():
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
                 lambda f, x: f.normalize(x, p=1.0, dim=0), lambda f, x: f.normalize(x, dim=1),
                 lambda f, x: f.cosine_similarity(x, x * x, dim=1, eps=1e-6),
                 lambda f, x: f.pad(x, (1, 2), "constant", 3.0),
                 lambda f, x: f.pad(x[None], (1, 2), mode="reflect"), lambda f, x: f.prelu(x, x[0]),
                 lambda f, x: f.prelu(x, x[0, :1]), lambda f, x: f.hardshrink(x), lambda f, x: f.softmin(x, 0),
                 lambda f, x: f.linear(x, x), lambda f, x: f.huber_loss(x, 3 * x, delta=0.5)]:
        y, u = call(F, Tensor(X)), call(theirs, torch.tensor(X))
        np.testing.assert_allclose(y.numpy(), u.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rank", [1, 2])
def test_max_pooling_returns_the_indices_of_maxima(rank):
    x, pool = Tensor(np.random.default_rng(0).standard_normal((2, 3, *[6] * rank))), getattr(F, f"max_pool{rank}d")
    y, index = pool(x, 2, return_indices=True)
    np.testing.assert_array_equal(y.numpy(), pool(x, 2).numpy())
    np.testing.assert_array_equal(x.reshape(2, 3, -1).gather(-1, index.reshape(2, 3, -1)).numpy(),
                                  y.reshape(2, 3, -1).numpy())
    np.testing.assert_array_equal(pool(ops.max_unpool(y, index, 2, rank=rank), 2).numpy(), np.maximum(y.numpy(), 0))


def test_activations_have_in_place_versions():
    for name in ("celu_", "elu_", "hardtanh_", "leaky_relu_", "relu_", "selu_"):
        x = Tensor([-1.0, 2.0])
        expected = getattr(F, name[:-1])(x)
        assert getattr(F, name)(x) is x and x.tolist() == expected.tolist()
