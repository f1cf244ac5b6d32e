"""Weights that are computed: the length and the direction, and the largest singular value."""

import copy

import numpy as np
import pytest

import nn
import optim
from tinygrad_like import Tensor, capture, manual_seed
from tinygrad_like.training import load_weights, save_weights

LAYERS = {"Linear": ((5, 7), (3, 5)), "Conv2d": ((3, 4, 3), (2, 3, 6, 6)), "ConvTranspose2d": ((3, 4, 3), (2, 3, 6, 6))}


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm_is_length_times_direction(dim):
    layer = nn.Linear(4, 3)
    before = layer.weight.detach().numpy().copy()
    nn.utils.weight_norm(layer, dim=dim)
    made = layer.parametrizations.weight
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, rtol=1e-6)
    made.original1.data *= np.float32(3)  # a length of no consequence
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, rtol=1e-6)
    made.original0.data *= np.float32(2)
    np.testing.assert_allclose(layer.weight.detach().numpy(), 2 * before, rtol=1e-6)
    layer(Tensor.ones(2, 4)).sum().backward()
    axes = {0: 1, 1: 0, None: (0, 1)}[dim]
    along = (made.original1.grad.numpy() * made.original1.detach().numpy()).sum(axes)
    np.testing.assert_allclose(along, 0, atol=1e-5)  # a direction's gradient is at right angles to it


def test_spectral_norm_has_the_largest_singular_value_one():
    manual_seed(0)
    layer = nn.utils.spectral_norm(nn.Linear(6, 9), n_power_iterations=30)
    layer(Tensor.ones(1, 6))
    assert np.linalg.svd(layer.weight.detach().numpy())[1][0] == pytest.approx(1, abs=1e-4)
    layer.eval()
    u = layer.state_dict()["parametrizations.weight.0._u"].numpy().copy()
    layer(Tensor.ones(1, 6))
    assert np.array_equal(u, layer.state_dict()["parametrizations.weight.0._u"].numpy())


def test_they_can_be_removed_and_undone():
    layer = nn.Linear(4, 3)
    plain = layer.weight.detach().numpy().copy()
    nn.utils.parametrizations.spectral_norm(layer)
    assert nn.utils.parametrize.is_parametrized(layer, "weight") and type(layer).__name__ == "ParametrizedLinear"
    twin = copy.deepcopy(layer)
    nn.utils.parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert type(layer) is nn.Linear and np.array_equal(layer.weight.detach().numpy(), plain)
    assert list(layer.state_dict()) == ["bias", "weight"]
    twin.eval()
    values = twin.weight.detach().numpy().copy()
    nn.utils.parametrize.remove_parametrizations(twin, "weight")
    assert np.array_equal(twin.weight.detach().numpy(), values)
    with pytest.raises(ValueError, match="is not computed"):
        nn.utils.parametrize.remove_parametrizations(twin, "weight")
    with pytest.raises(ValueError, match="weight_norm: Linear has no parameter 'weights', only"):
        nn.utils.weight_norm(twin, "weights")


def _nets():
    manual_seed(1)
    return nn.Sequential(nn.utils.spectral_norm(nn.Linear(6, 8)), nn.ReLU(), nn.utils.weight_norm(nn.Linear(8, 2)))


def test_they_train_captured_as_eager_and_are_saved(tmp_path):
    nets = [_nets(), _nets()]
    steps = []
    for model in nets:
        optimizer = optim.Adam(model.parameters())

        def step(x, model=model, optimizer=optimizer):
            loss = model(x).square().sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        steps.append(step)
    played = capture(steps[1])
    for _ in range(8):
        x = Tensor.randn(4, 6)
        assert played(x).item() == pytest.approx(steps[0](x).item(), rel=1e-4)
    assert len(played.programs) == 1
    save_weights(nets[0], tmp_path / "net.safetensors")
    other = _nets()
    load_weights(other, tmp_path / "net.safetensors")
    nets[0].eval(), other.eval()
    assert np.array_equal(nets[0](x).detach().numpy(), other(x).detach().numpy())


@pytest.mark.torch
@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
@pytest.mark.parametrize("name", LAYERS)
def test_as_pytorchs(name, norm):
    import torch

    sizes, shape = LAYERS[name]
    ours = getattr(nn.utils.parametrizations, norm)(getattr(nn, name)(*sizes))
    theirs = getattr(torch.nn.utils.parametrizations, norm)(getattr(torch.nn, name)(*sizes))
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict({k: v.numpy() for k, v in state.items()})
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for _ in range(2):
        ours(Tensor(x)).square().sum().backward()
        theirs(torch.from_numpy(x)).square().sum().backward()
    for (a, p), (b, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        assert a == b
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-3, atol=1e-4)
    for (a, p), (b, q) in zip(ours.state_dict().items(), theirs.state_dict().items(), strict=True):
        assert a == b
        np.testing.assert_allclose(p.numpy(), q.numpy(), atol=1e-5)


def test_one_of_several_can_be_removed():
    layer = nn.Linear(3, 3)
    before = layer.weight.detach().numpy().copy()
    nn.utils.weight_norm(layer, "weight", dim=None)
    nn.utils.weight_norm(layer, "bias", dim=None)
    twin = copy.deepcopy(layer)
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    assert type(layer.__dict__["weight"]) is nn.Parameter and not isinstance(twin.__dict__.get("weight"), nn.Parameter)
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, rtol=1e-6)
    layer(Tensor(np.ones((2, 3), "f"))).sum().backward()
    assert layer.weight.grad is not None and layer.parametrizations.bias.original1.grad is not None
    nn.utils.parametrize.remove_parametrizations(layer, "bias")
    assert type(layer) is nn.Linear and sorted(layer.state_dict()) == ["bias", "weight"]


class Doubled(nn.Module):
    def __init__(self, inverse=None):
        self.inverse = inverse

    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        if self.inverse is None:
            raise NotImplementedError
        return self.inverse(x)


def test_parametrizations_of_ones_own():
    layer = nn.Linear(3, 2)
    before = layer.weight.detach().numpy().copy()
    register = nn.utils.parametrize.register_parametrization
    assert register(layer, "weight", Doubled(lambda x: x / 2)) is layer
    np.testing.assert_array_equal(layer.weight.detach().numpy(), before)
    register(layer, "bias", Doubled())  # which has none: what is kept is the parameter
    assert (layer.bias / layer.parametrizations.bias.original).tolist() == [2, 2]
    register(layer, "weight", Doubled())
    np.testing.assert_array_equal(layer.weight.detach().numpy(), 2 * before)
    layer.weight.sum().backward()
    assert layer.parametrizations.weight.original.grad.tolist() == [[4, 4, 4]] * 2
    assert list(layer.state_dict()) == ["parametrizations.weight.original", "parametrizations.bias.original"]
    for name, given, text in (("weight", Doubled(lambda x: (x, x)), "must give one Tensor, got tuple"),
                              ("weight", nn.Flatten(0), r"makes float32 \(6,\) of float32 \(2, 3\)"),
                              ("other", Doubled(), "has no parameter 'other'")):
        with pytest.raises(ValueError, match=f"register_parametrization: .*{text}"):
            register(nn.Linear(3, 2), name, given)
    with pytest.raises(TypeError, match="takes a module, got function"):
        register(layer, "weight", lambda x: x)
    with pytest.raises(ValueError, match="is computed from several Tensors"):
        register(nn.utils.weight_norm(nn.Linear(3, 2)), "weight", Doubled())
