"""Recurrent layers against their cells, finite differences and PyTorch."""

import copy
import pickle

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, gradcheck, manual_seed

LAYERS = ["RNN", "LSTM", "GRU"]
OPTIONS = [{}, {"num_layers": 2}, {"bias": False}, {"batch_first": True}, {"bidirectional": True},
           {"num_layers": 2, "bidirectional": True, "batch_first": True, "bias": False}]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_applies_its_cell_step_by_step(name):
    manual_seed(0)
    layer, cell = getattr(nn, name)(3, 4), getattr(nn, f"{name}Cell")(3, 4)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in layer.state_dict().items()})
    x, state, outputs = Tensor.randn(5, 2, 3), None, []
    for t in range(5):
        state = cell(x[t], state)
        outputs.append((state[0] if name == "LSTM" else state).detach().numpy())
    y, last = layer(x)
    np.testing.assert_allclose(y.detach().numpy(), outputs, atol=1e-6)
    ends = zip(last, state, strict=True) if name == "LSTM" else [(last, state)]
    for a, b in ends:
        np.testing.assert_allclose(a[0].detach().numpy(), b.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_of_stacked_bidirectional_layers_are_right(name):
    manual_seed(0)
    layer = getattr(nn, name)(2, 3, num_layers=2, bidirectional=True).double()
    names = [n for n, _ in layer.named_parameters()]

    def run(x, *values):
        y, last = nn.functional_call(layer, dict(zip(names, values, strict=True)), x)
        return y.sum(axis=(0, 1)).square() + sum(s.sum() for s in (last if name == "LSTM" else (last,)))

    assert gradcheck(run, np.random.default_rng(0).standard_normal((3, 2, 2)), *[p._data for p in layer.parameters()])


@pytest.mark.parametrize("name", LAYERS)
def test_layers_take_both_layouts_and_continue_from_a_state(name):
    manual_seed(0)
    layer = getattr(nn, name)(3, 4, 2)
    first = copy.deepcopy(layer)
    first.batch_first = True
    x = Tensor.randn(5, 2, 3)
    y, last = layer(x)
    z, _ = first(x.transpose(0, 1))
    np.testing.assert_array_equal(y.detach().numpy(), z.detach().transpose(0, 1).numpy())
    alone, _ = layer(x[:, 0])
    np.testing.assert_allclose(alone.detach().numpy(), y.detach().numpy()[:, 0], atol=1e-6)
    half, state = layer(x[:2])  # a sequence in two parts
    rest, _ = layer(x[2:], state)
    np.testing.assert_allclose(rest.detach().numpy(), y.detach().numpy()[2:], atol=1e-6)
    half_alone, state = layer(x[:2, 0])  # and a single one
    rest_alone, _ = layer(x[2:, 0], state)
    assert half_alone.shape == (2, 4)
    np.testing.assert_allclose(rest_alone.detach().numpy(), alone.detach().numpy()[2:], atol=1e-6)
    parts = last if name == "LSTM" else (last,)
    assert half.shape == (2, 2, 4) and all(part.shape == (2, 2, 4) for part in parts)
    assert pickle.loads(pickle.dumps(layer)).state_dict().keys() == layer.state_dict().keys()
    layer.flatten_parameters()


def test_dropout_between_layers_acts_only_in_training():
    manual_seed(0)
    layer, x = nn.LSTM(3, 4, 2, dropout=0.5), Tensor.randn(5, 2, 3)
    assert (layer(x)[0] != layer(x)[0]).any()
    layer.eval()
    assert (layer(x)[0] == layer(x)[0]).all()


@pytest.mark.parametrize(("call", "text"), [
    (lambda: nn.LSTM(0, 4), "LSTM: input_size must be a positive integer"),
    (lambda: nn.RNN(3, 4, nonlinearity="gelu"), "RNN: nonlinearity must be 'tanh' or 'relu', got 'gelu'"),
    (lambda: nn.GRU(3, 4, dropout=2.0), "GRU: .*2.0"),
    (lambda: nn.GRU(3, 4)(Tensor.zeros(5, 2, 4)), r"GRU: takes \(length, batch, 3\) .* got shape \(5, 2, 4\)"),
    (lambda: nn.GRU(3, 4)(Tensor.zeros(0, 2, 3)), "GRU: the sequence is empty"),
    (lambda: nn.GRU(3, 4)(Tensor.zeros(5, 2, 3), Tensor.zeros(1, 3, 4)),
     r"GRU: the initial state must have shape \(1, 2, 4\), got \(1, 3, 4\)"),
    (lambda: nn.LSTMCell(3, 4)(Tensor.zeros(2, 5)), r"LSTMCell: takes \(batch, 3\) or \(3,\), got shape \(2, 5\)"),
])
def test_bad_arguments_raise(call, text):
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.torch
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", [*LAYERS, "RNN relu"])
def test_values_and_gradients_equal_pytorchs(name, options):
    import torch

    if name == "RNN relu":
        name, options = "RNN", {**options, "nonlinearity": "relu"}
    theirs, ours = getattr(torch.nn, name)(3, 5, **options), getattr(nn, name)(3, 5, **options)
    assert list(theirs.state_dict()) == list(ours.state_dict())
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 4, 3)).astype(np.float32)
    h = rng.standard_normal((options.get("num_layers", 1) * (1 + options.get("bidirectional", False)), 4, 5))
    h = h.astype(np.float32)
    given = [(t(h, requires_grad=True), t(0.5 * h, requires_grad=True)) for t in (torch.tensor, Tensor)]
    found = []
    for layer, t, states in ((theirs, torch.tensor, given[0]), (ours, Tensor, given[1])):
        xs = t(x, requires_grad=True)
        y, last = layer(xs, states if name == "LSTM" else states[0])
        total = (y * y).sum() + sum((s * s).sum() for s in (last if name == "LSTM" else (last,)))
        total.backward()
        found.append([y.detach(), xs.grad, states[0].grad, *(p.grad for p in layer.parameters())])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_layers_with_16_bit_weights_compute_in_float32(kind, dtype):
    """Outputs have the input's dtype; only the results are rounded, not each step."""
    half = getattr(nn, kind)(4, 5).to(dtype)
    whole = getattr(nn, kind)(4, 5)
    whole.load_state_dict({name: w.cast("float32") for name, w in half.state_dict().items()})
    x = Tensor(np.random.default_rng(0).standard_normal((3, 2, 4)), dtype=dtype)
    (y, _), (narrow, states), (expected, _) = half(x.float()), half(x), whole(x.float())
    assert y.dtype == "float32" and narrow.dtype == (states[0] if kind == "LSTM" else states).dtype == dtype
    np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(narrow.detach().numpy(), y.cast(dtype).detach().numpy())
    y.sum().backward()
    assert all(p.grad.dtype == dtype for p in half.parameters())
