"""Weights that are computed: the length and the direction, and the largest singular value."""

import copy

import numpy as np
import pytest

import nn
import optim
import tinygrad_like as tg
from tinygrad_like import Tensor, capture, manual_seed
from tinygrad_like.training import load_weights, save_weights

LAYERS = {"Linear": ((5, 7), (3, 5)), "Conv2d": ((3, 4, 3), (2, 3, 6, 6)), "ConvTranspose2d": ((3, 4, 3), (2, 3, 6, 6))}


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm_is_length_times_direction(dim):
    layer = nn.Linear(4, 3)
    before = layer.weight.detach().numpy().copy()
    nn.utils.parametrizations.weight_norm(layer, dim=dim)
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
    layer = nn.utils.parametrizations.spectral_norm(nn.Linear(6, 9), n_power_iterations=30)
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
        nn.utils.parametrizations.weight_norm(twin, "weights")


def _nets(norms):
    manual_seed(1)
    return nn.Sequential(norms.spectral_norm(nn.Linear(6, 8)), nn.ReLU(), norms.weight_norm(nn.Linear(8, 2)))


@pytest.mark.parametrize("norms", [nn.utils, nn.utils.parametrizations], ids=["older", "newer"])
def test_they_train_captured_as_eager_and_are_saved(norms, tmp_path):
    nets = [_nets(norms), _nets(norms)]
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
    other = _nets(norms)
    load_weights(other, tmp_path / "net.safetensors")
    nets[0].eval(), other.eval()
    assert np.array_equal(nets[0](x).detach().numpy(), other(x).detach().numpy())


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.*weight_norm.*deprecated")
@pytest.mark.parametrize("newer", [False, True])
@pytest.mark.parametrize("norm", ["weight_norm", "spectral_norm"])
@pytest.mark.parametrize("name", LAYERS)
def test_as_pytorchs(name, norm, newer):
    import torch

    def norms(lib):
        return lib.utils.parametrizations if newer else lib.utils

    sizes, shape = LAYERS[name]
    ours = getattr(norms(nn), norm)(getattr(nn, name)(*sizes))
    theirs = getattr(norms(torch.nn), norm)(getattr(torch.nn, name)(*sizes))
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


def test_the_older_ones_keep_their_parts_in_the_module():
    manual_seed(0)
    head = nn.utils.weight_norm(nn.Linear(4, 3, bias=False))
    head.weight_g.data.fill_(1)
    head.weight_g.requires_grad = False
    assert type(head).__name__ == "Linear" and isinstance(head, nn.Linear) and list(head.state_dict()) == [
        "weight_g", "weight_v"]
    np.testing.assert_allclose(head.weight.detach().square().sum(axis=1).numpy(), 1, rtol=1e-5)
    head(Tensor.ones(1, 4)).sum().backward()
    assert head.weight_g.grad is None and head.weight_v.grad is not None

    layer = nn.utils.spectral_norm(nn.Linear(6, 9), n_power_iterations=30)
    assert [n for n, _ in layer.named_parameters()] == ["bias", "weight_orig"]
    x = Tensor.ones(1, 6)
    layer(x)
    assert np.linalg.svd(layer.weight.detach().numpy())[1][0] == pytest.approx(1, abs=1e-4)
    twin, u = copy.deepcopy(layer).eval(), layer.weight_u.numpy().copy()
    twin(x)
    assert layer.weight.shape == twin.weight.shape  # reading it comes no closer
    assert np.array_equal(twin.weight_u.numpy(), u) and np.array_equal(layer.weight_u.numpy(), u)
    layer(x)
    assert not np.array_equal(layer.weight_u.numpy(), u)


def test_the_older_ones_can_be_removed():
    layer, x = nn.Linear(4, 3), Tensor.randn(2, 4)
    before = layer(x).detach().numpy()
    nn.utils.weight_norm(layer)
    nn.utils.weight_norm(layer, "bias", dim=None)
    nn.utils.remove_weight_norm(layer)
    np.testing.assert_allclose(layer(x).detach().numpy(), before, rtol=1e-5, atol=1e-6)
    nn.utils.remove_weight_norm(layer, "bias")
    assert type(layer) is nn.Linear and sorted(layer.state_dict()) == ["bias", "weight"]
    nn.utils.spectral_norm(layer)
    twin = copy.deepcopy(layer)
    with pytest.raises(ValueError, match="spectral_norm: Linear has no parameter 'weight', only"):
        nn.utils.spectral_norm(layer)
    with pytest.raises(ValueError, match="this parameter is computed"):
        layer.weight = nn.Parameter(Tensor.zeros(3, 4))
    with pytest.raises(ValueError, match="remove_weight_norm: 'weight' of Linear is not computed by weight_norm"):
        nn.utils.remove_weight_norm(layer)
    nn.utils.remove_spectral_norm(layer)
    after = layer(x).detach().numpy()
    assert np.array_equal(after, layer(x).detach().numpy()) and isinstance(layer.weight, nn.Parameter)
    assert "weight_u" in twin.state_dict()
    with pytest.raises(ValueError, match="weight_norm: .* has parametrizations"):
        nn.utils.weight_norm(nn.utils.parametrizations.weight_norm(layer), "bias")


def test_one_of_several_can_be_removed():
    layer = nn.Linear(3, 3)
    before = layer.weight.detach().numpy().copy()
    nn.utils.parametrizations.weight_norm(layer, "weight", dim=None)
    nn.utils.parametrizations.weight_norm(layer, "bias", dim=None)
    twin = copy.deepcopy(layer)
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    assert type(layer.__dict__["weight"]) is nn.Parameter and not isinstance(twin.__dict__.get("weight"), nn.Parameter)
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, rtol=1e-6)
    layer(Tensor(np.ones((2, 3), "f"))).sum().backward()
    assert layer.weight.grad is not None and layer.parametrizations.bias.original1.grad is not None
    nn.utils.parametrize.remove_parametrizations(layer, "bias")
    assert type(layer) is nn.Linear and sorted(layer.state_dict()) == ["bias", "weight"]


def modules_of(lib):
    """The same parametrizations in a library: of symmetric, skew and orthogonal matrices, and of a product."""
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, x):
            return x.triu()

    class Skew(lib.nn.Module):
        def forward(self, x):
            return x.triu(1) - x.triu(1).transpose(-1, -2)

    class Exponential(lib.nn.Module):
        def forward(self, x):
            return lib.linalg.matrix_exp(x)

    class Product(lib.nn.Module):
        def forward(self, a, b):
            return a * b

        def right_inverse(self, x):
            return x * 2, lib.ones_like(x) / 2

    class Scale(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = lib.nn.Parameter(lib.ones(3, 1))

        def forward(self, x):
            return x * self.factor

    return {"symmetric": [Symmetric()], "orthogonal": [Skew(), Exponential()], "product": [Product()],
            "scaled product": [Product(), Scale()]}


@pytest.mark.torch
@pytest.mark.parametrize("name", modules_of(tg))
def test_any_computation_as_pytorchs(name):
    torch = pytest.importorskip("torch")
    weight, x = np.random.default_rng(0).standard_normal((2, 3, 3)).astype(np.float32)
    found = []
    for lib, tensor in (tg, Tensor), (torch, torch.tensor):
        layer = lib.nn.Linear(3, 3, bias=False)
        with lib.no_grad():
            layer.weight.copy_(tensor(weight))
        for module in modules_of(lib)[name]:
            lib.nn.utils.parametrize.register_parametrization(layer, "weight", module)
        optimizer = lib.optim.SGD(layer.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            layer(tensor(x)).square().sum().backward()
            optimizer.step()
        state = {k: v.numpy().copy() for k, v in layer.state_dict().items()}
        computed = layer.weight.detach().numpy().copy()
        lib.nn.utils.parametrize.remove_parametrizations(layer, "weight")
        assert type(layer) is lib.nn.Linear and isinstance(layer.weight, lib.nn.Parameter)
        found.append((state, computed, layer.weight.detach().numpy()))
    (ours, *arrays), (theirs, *expected) = found
    assert list(ours) == list(theirs)
    for a, b in zip([*ours.values(), *arrays], [*theirs.values(), *expected], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_computed_parameter_can_be_set_and_read_once():
    layer, reads = nn.Linear(3, 3), []
    weight, parametrize = layer.weight, nn.utils.parametrize
    symmetric = modules_of(tg)["symmetric"][0]
    symmetric.register_forward_hook(lambda *of: reads.append(1))
    parametrize.register_parametrization(layer, "weight", symmetric)
    assert layer.parametrizations.weight.original is weight and type(layer).__name__ == "ParametrizedLinear"
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    reads.clear()
    with parametrize.cached():
        with parametrize.cached():
            assert layer.weight is layer.weight
        assert layer.weight is layer.weight
    assert len(reads) == 1 and layer.weight is not layer.weight
    value = Tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    layer.weight = value
    assert layer.weight.tolist() == value.tolist() and weight.tolist() == [[1, 2, 3], [0, 4, 5], [0, 0, 6]]
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert layer.weight is weight and weight.tolist() == [[1, 2, 3], [0, 4, 5], [0, 0, 6]]


def test_buffers_and_other_shapes():
    class Twice(nn.Module):
        def forward(self, x):
            return nn.functional.pad(x, (0, 1))

    norm, parametrize = nn.BatchNorm1d(3), nn.utils.parametrize
    with pytest.raises(ValueError, match=r"float32 \(4,\) is computed in place of float32 \(3,\)"):
        parametrize.register_parametrization(norm, "running_mean", Twice())
    assert norm.running_mean.shape == (3,) and not parametrize.is_parametrized(norm)
    parametrize.register_parametrization(norm, "running_mean", Twice(), unsafe=True)
    assert norm.running_mean.shape == (4,) and "parametrizations.running_mean.original" in norm.state_dict()
    parametrize.remove_parametrizations(norm, "running_mean")
    assert "running_mean" in dict(norm.named_buffers()) and norm.running_mean.shape == (4,)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda layer, p: p.register_parametrization(layer, "weights", nn.Identity()), ValueError,
     "register_parametrization: Linear has no parameter 'weights', only"),
    (lambda layer, p: p.register_parametrization(layer, "weight", abs), TypeError, "takes an nn.Module that computes"),
    (lambda layer, p: setattr(p.register_parametrization(layer, "weight", nn.Tanh()), "weight", layer.weight),
     RuntimeError, "that Tanh computes, which has no right_inverse"),
    (lambda layer, p: setattr(p.register_parametrization(layer, "weight", nn.Tanh()), "weight", 3), TypeError,
     "ParametrizedLinear.weight is computed and takes a Tensor, got int"),
])
def test_what_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(nn.Linear(2, 2), nn.utils.parametrize)


SIZES = [(4, 4), (3, 5), (5, 3)]


@pytest.mark.parametrize("map_", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("sizes", SIZES)
def test_an_orthogonal_weight_stays_so_in_training(sizes, map_):
    manual_seed(0)
    layer = nn.Linear(*sizes)
    before = layer.weight.detach().numpy().copy()
    assert nn.utils.parametrizations.orthogonal(layer, orthogonal_map=map_) is layer
    rows, columns = layer.weight.shape
    eye = np.eye(min(rows, columns))

    def product():
        w = layer.weight.detach().numpy()
        return w.T @ w if rows >= columns else w @ w.T

    np.testing.assert_allclose(product(), eye, atol=1e-5)
    q, r = np.linalg.qr(before if rows >= columns else before.T)
    nearest = q * np.sign(np.diagonal(r))
    np.testing.assert_allclose(layer.weight.detach().numpy(), nearest if rows >= columns else nearest.T, atol=1e-5)
    optimizer, x = optim.SGD(layer.parameters(), 0.3), Tensor.randn(6, sizes[0])
    first = layer.weight.detach().clone()
    for _ in range(5):
        optimizer.zero_grad()
        (layer(x) - 1).square().mean().backward()
        optimizer.step()
    assert not (layer.weight - first).abs().max() < 1e-3
    np.testing.assert_allclose(product(), eye, atol=1e-4)
    wanted = np.linalg.qr(np.random.default_rng(0).standard_normal((max(sizes), min(sizes))).astype("float32"))[0]
    wanted = Tensor(wanted if rows >= columns else wanted.T)
    layer.weight = wanted
    np.testing.assert_allclose(layer.weight.detach().numpy(), wanted.numpy(), atol=1e-5)
    nn.utils.parametrize.remove_parametrizations(layer, "weight")
    np.testing.assert_allclose(layer.weight.detach().numpy(), wanted.numpy(), atol=1e-5)


def test_an_orthogonal_weight_without_a_base():
    manual_seed(0)
    for sizes in SIZES:
        layer = nn.utils.parametrizations.orthogonal(nn.Linear(*sizes), orthogonal_map="householder",
                                                     use_trivialization=False)
        assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
        wanted = Tensor(nn.init.orthogonal_(Tensor.zeros(*sizes[::-1])))
        layer.weight = wanted
        np.testing.assert_allclose(layer.weight.detach().numpy(), wanted.numpy(), atol=1e-5)
    layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3), orthogonal_map="cayley", use_trivialization=False)
    w = layer.weight.detach().numpy()
    np.testing.assert_allclose(w @ w.T, np.eye(3), atol=1e-5)
    with pytest.raises(NotImplementedError, match="without use_trivialization a parameter that cayley computes"):
        layer.weight = layer.weight
    for bad, message in ((dict(name="bias"), "at least|two axes"), (dict(orthogonal_map="exp"), "orthogonal_map='exp'"),
                         (dict(name="no"), "has no parameter 'no'")):
        with pytest.raises(ValueError, match=f"orthogonal: .*({message})"):
            nn.utils.parametrizations.orthogonal(nn.Linear(3, 3), **bad)
    layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
    with pytest.raises(ValueError, match=r"has shape \(3, 3\), and is set to shape \(3, 2\)"):
        layer.weight = Tensor.zeros(3, 2)


@pytest.mark.torch
@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("map_", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("sizes", SIZES)
def test_orthogonal_weights_are_pytorchs(sizes, map_, trivial):
    torch = pytest.importorskip("torch")
    from torch.nn.utils.parametrizations import orthogonal

    theirs = orthogonal(torch.nn.Linear(*sizes), orthogonal_map=map_, use_trivialization=trivial).double()
    ours = nn.utils.parametrizations.orthogonal(nn.Linear(*sizes), "weight", map_, use_trivialization=trivial).double()
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    original, other = ours.parametrizations.weight.original, theirs.parametrizations.weight.original
    noise = 0.1 * np.random.default_rng(0).standard_normal(original.shape)
    if map_ == "householder":
        noise = np.tril(noise, -1)  # PyTorch rounds the diagonal to -1, 0 or 1
    original.data += noise
    other.data += torch.tensor(noise)
    np.testing.assert_allclose(ours.weight.detach().numpy(), theirs.weight.detach().numpy(), atol=1e-12)
    (ours.weight * Tensor(noise)).sum().backward()
    (theirs.weight * torch.tensor(noise)).sum().backward()
    np.testing.assert_allclose(original.grad.numpy(), other.grad.numpy(), atol=1e-12)
