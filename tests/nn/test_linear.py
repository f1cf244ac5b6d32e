import math

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.transforms.gradcheck import gradcheck


def test_linear_is_x_w_t_plus_b_over_any_leading_axes():
    layer = nn.Linear(3, 2)
    w, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    assert w.shape == (2, 3) and b.shape == (2,)
    for shape in [(3,), (4, 3), (2, 4, 3), (0, 3), (2, 1, 5, 3)]:
        x = Tensor.randn(*shape)
        y = layer(x)
        assert y.shape == (*shape[:-1], 2)
        np.testing.assert_allclose(y.detach().numpy(), x.detach().numpy() @ w.T + b, rtol=1e-5, atol=1e-6)


def test_linear_without_bias():
    layer = nn.Linear(3, 2, bias=False)
    assert layer.bias is None and [n for n, _ in layer.named_parameters()] == ["weight"]
    np.testing.assert_array_equal(layer(Tensor.zeros(1, 3)).detach().numpy(), [[0, 0]])
    assert repr(layer) == "Linear(in_features=3, out_features=2, bias=False)"


def test_linear_init_is_uniform_within_one_over_root_fan_in():
    layer = nn.Linear(400, 300)
    for values in (layer.weight.detach().numpy(), layer.bias.detach().numpy()):
        assert np.abs(values).max() <= 1 / 20 and abs(values.std() - 1 / 20 / math.sqrt(3)) < 2e-3
    manual_seed(3)
    a = nn.Linear(4, 4).weight.detach().numpy()
    manual_seed(3)
    np.testing.assert_array_equal(a, nn.Linear(4, 4).weight.detach().numpy())


def test_linear_gradient():
    layer = nn.Linear(3, 2).double()
    x = np.random.default_rng(0).standard_normal((2, 4, 3))
    gradcheck(lambda x, w, b: nn.functional_call(layer, {"weight": w, "bias": b}, x), x, layer.weight, layer.bias)


def test_one_number_for_several_sizes_is_an_error():
    with pytest.raises(TypeError, match=r"Unflatten: unflattened_size=8 must be several sizes, as \(2, 4\)"):
        nn.Unflatten(2, 8)
    with pytest.raises(TypeError, match=r"Permute: dims=2 must be all axes in their new order"):
        nn.Permute(2)


def test_linear_errors():
    with pytest.raises(ValueError, match="Linear: in_features must be a positive integer, got 0"):
        nn.Linear(0, 2)
    with pytest.raises(ValueError, match="Linear: out_features must be a positive integer, got 2.0"):
        nn.Linear(2, 2.0)
    with pytest.raises(ValueError, match=r"linear: .*\(4, 5\).*\(2, 3\)"):
        nn.Linear(3, 2)(Tensor.ones(4, 5))


def test_identity_takes_anything():
    x = Tensor([1.0])
    assert nn.Identity(3, unused=True)(x) is x


def test_flatten_and_unflatten():
    x = Tensor(np.arange(24.0).reshape(2, 3, 4))
    assert nn.Flatten()(x).shape == (2, 12) and nn.Flatten(0, 1)(x).shape == (6, 4)
    assert nn.Unflatten(1, (3, -1))(nn.Flatten()(x)).tolist() == x.tolist()
    assert repr(nn.Flatten(0)) == "Flatten(start_dim=0, end_dim=-1)"
    x = Tensor.randn(2, 3, 4)
    assert nn.Permute((2, 0, 1))(x).tolist() == x.numpy().transpose(2, 0, 1).tolist()
    assert repr(nn.Permute((2, 0, 1))) == "Permute(dims=(2, 0, 1))"
    assert repr(nn.Unflatten(1, [3, 4])) == "Unflatten(dim=1, unflattened_size=(3, 4))"


@pytest.mark.torch
def test_linear_equals_pytorch():
    import torch

    theirs, ours = torch.nn.Linear(5, 3), nn.Linear(5, 3)
    ours.load_state_dict(theirs.state_dict())
    a = np.random.default_rng(0).standard_normal((2, 4, 5)).astype(np.float32)
    x, t = Tensor(a, requires_grad=True), torch.tensor(a, requires_grad=True)
    y, u = ours(x), theirs(t)
    np.testing.assert_allclose(y.detach().numpy(), u.detach().numpy(), rtol=1e-5, atol=1e-6)
    (y * y).sum().backward()
    (u * u).sum().backward()
    for mine, other in [(x, t), (ours.weight, theirs.weight), (ours.bias, theirs.bias)]:
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-4, atol=1e-5)
