"""Layers that find out by themselves how many inputs they have."""

import copy
import inspect
import pickle

import numpy as np
import pytest

import nn
import optim
from tinygrad_like import Tensor, capture, float64, manual_seed

LAYERS = {  # of a lazy layer: its arguments, and the shape of an input
    "Linear": ((5,), (2, 3, 7)), "Conv1d": ((4, 3), (2, 6, 8)), "Conv2d": ((4, 3, 2), (2, 6, 8, 8)),
    "Conv3d": ((4, 2), (2, 3, 4, 4, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_it_becomes_the_layer_itself(name):
    (args, shape), kind = LAYERS[name], getattr(nn, name)
    x = Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    manual_seed(0)
    lazy = getattr(nn, f"Lazy{name}")(*args)
    optimizer = optim.SGD(lazy.parameters(), lr=0.1)
    assert isinstance(lazy, kind) and repr(lazy).startswith(f"Lazy{name}(")
    copies = [copy.deepcopy(lazy), pickle.loads(pickle.dumps(lazy))]
    y = lazy(x)
    manual_seed(0)
    plain = kind(shape[-1 if name == "Linear" else 1], *args)
    assert type(lazy) is kind and repr(lazy) == repr(plain)
    np.testing.assert_array_equal(y.detach().numpy(), plain(x).detach().numpy())
    ours, theirs = lazy.state_dict(), plain.state_dict()
    assert list(ours) == list(theirs) and all((ours[k].numpy() == theirs[k].numpy()).all() for k in ours)
    assert lazy(x).shape == y.shape and all(made(x).shape == y.shape for made in copies)
    lazy(x).sum().backward()
    before = [p.detach().clone() for p in lazy.parameters()]
    optimizer.step()
    assert any((p != b).any().item() for p, b in zip(lazy.parameters(), before, strict=True))


def test_what_it_is_told_is_checked_at_once_and_its_input_later():
    with pytest.raises(ValueError, match="out_features must be a positive integer, got 0"):
        nn.LazyLinear(0)
    with pytest.raises(TypeError, match="LazyLinear: cannot work with .*out_features"):
        nn.LazyLinear()
    layer = nn.LazyConv1d(4, 3, groups=2)
    with pytest.raises(ValueError, match="3 input and 4 output channels must both be divisible by groups=2"):
        layer(Tensor(np.zeros((2, 3, 8), np.float32)))
    with pytest.raises(ValueError, match=r"LazyConv1d: an input of shape \(8,\) has no axis -2"):
        layer(Tensor(np.zeros(8, np.float32)))
    with pytest.warns(UserWarning, match="call the model once before it is captured"):
        capture(layer)(Tensor(np.zeros((2, 4, 8), np.float32)))
    assert layer(Tensor(np.zeros((2, 4, 8), np.float32))).shape == (2, 4, 6)
    assert list(inspect.signature(nn.LazyLinear).parameters) == ["out_features", "bias"]


def test_dtype_mode_and_what_is_frozen_stay():
    model = nn.Sequential(nn.LazyLinear(3, bias=False), nn.LazyLinear(2)).double().eval()
    model[0].requires_grad_(False)
    y = model(Tensor(np.ones((2, 4))))
    assert y.dtype == float64 and not model[1].training and not model[0].weight.requires_grad
    assert model[1].bias.dtype == float64 and model[0].bias is None
