"""Layers in a row run as one op, compute what they compute one by one, and do so only where nothing can tell."""

import contextlib
import tracemalloc

import numpy as np
import pytest

import nn
from nn import fusion
from tinygrad_like import Tensor, detect_anomaly, no_grad, ops

X = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)


class Louder(nn.ReLU):
    def forward(self, x):
        return x.relu() * 2


def row(*kinds):
    make = {"L": lambda: nn.Linear(4, 4), "l": lambda: nn.Linear(4, 4, bias=False), "R": nn.ReLU, "T": nn.Tanh,
            "I": nn.Identity, "B": lambda: nn.BatchNorm1d(4), "2": Louder, "S": lambda: nn.Res(4),
            "s": lambda: nn.Res(4, scale=0.5), "t": lambda: nn.Res(4, activation=nn.Tanh),
            "(": lambda: nn.Sequential(nn.Linear(4, 4), nn.ReLU())}
    return nn.Sequential(*[make[k]() for k in kinds])


def ops_of(y):
    """Names of the ops on the way from the input, each by its first input."""
    names, node = [], y.node
    while node is not None and hasattr(node, "op"):
        names.insert(0, node.op.name)
        node = node.parents[0]
    return names


def one_by_one(model, x):
    for layer in model:
        if isinstance(layer, nn.Sequential):
            x = one_by_one(layer, x)
        elif isinstance(layer, nn.Res):
            y = layer.activation(layer.mm1(layer.activation(layer.mm2(x))))
            x = x + (y if layer.scale == 1 else y * layer.scale)
        else:
            x = layer(x)
    return x


@pytest.mark.parametrize(("kinds", "names"), [
    ("LRLRL", ["linear_relu"]),
    ("lRLRlR", ["linear_relu"]),
    ("RLRL", ["relu", "linear_relu"]),
    ("LTLR", ["linear", "tanh", "linear_relu"]),
    ("LL", ["linear", "linear"]),
    ("LRLL", ["linear_relu", "linear"]),
    ("LRLT", ["linear_relu", "tanh"]),
    ("LIRLR", ["linear_relu"]),
    ("L2LR", ["linear", "relu", "mul", "linear_relu"]),
    ("LBRLR", ["linear", "batch_norm_relu", "linear_relu"]),
    ("LBR", ["linear", "batch_norm_relu"]),
    ("B", ["batch_norm"]),
    ("(LRL", ["linear_relu", "linear_relu"]),
    ("SSS", ["res_relu"]),
    ("S", ["res_relu"]),
    ("LSSLR", ["linear", "res_relu", "linear_relu"]),
    ("SSsS", ["res_relu", "add", "res_relu"]),
    ("StS", ["res_relu", "add", "res_relu"]),
    ("LR" * 20, ["linear_relu", "linear_relu"]),
    ("S" * 9, ["res_relu", "res_relu"]),
])
def test_a_row_is_as_few_ops_as_can_be_and_computes_the_same(kinds, names):
    model = row(*kinds)
    fused, apart = (Tensor(X, requires_grad=True) for _ in range(2))
    y = model(fused)
    assert ops_of(y) == names
    expected = one_by_one(model, apart)
    np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    g = np.random.default_rng(1).standard_normal(y.shape).astype(np.float32)
    parameters = list(model.parameters())
    found = y.gradient(fused, *parameters, gradient=g)
    for a, b in zip(found, expected.gradient(apart, *parameters, gradient=g), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kinds", "hooked", "names"), [
    ("LRLRLR", lambda m: m[2], ["linear_relu", "linear", "relu", "linear_relu"]),
    ("LRLRLR", lambda m: m[3], ["linear_relu", "relu", "linear_relu"]),
    ("LRL", lambda m: m[2], ["linear_relu", "linear"]),
    ("SSSS", lambda m: m[1], ["res_relu", "res_relu", "res_relu"]),
    ("SSS", lambda m: m[1].mm2, ["res_relu", "add", "res_relu"]),
    ("SSS", lambda m: m[2].activation, ["res_relu", "add"]),
])
def test_a_hook_sees_its_module(kinds, hooked, names):
    model, seen = row(*kinds), []
    x = Tensor(X, requires_grad=True)
    expected = model(x)
    handle = hooked(model).register_forward_hook(lambda module, args, out: seen.append(out.shape))
    y = model(x)
    assert set(seen) == {(5, 4)} and ops_of(y) == names
    np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    handle.remove()
    assert ops_of(model(x)) == ops_of(expected)


@pytest.mark.parametrize(("kinds", "changed", "names"), [
    ("LRLRLR", lambda m: m[2], ["linear_relu", "linear", "mul", "relu", "linear_relu"]),
    ("LRLRLR", lambda m: m[3], ["linear_relu", "relu", "mul", "linear_relu"]),
    ("LRL", lambda m: m[2], ["linear_relu", "linear", "mul"]),
    ("SSSS", lambda m: m[1], ["res_relu", "res_relu", "mul", "res_relu"]),
    ("SSS", lambda m: m[1].mm2, ["res_relu", "add", "res_relu"]),
    ("SSS", lambda m: m[2].activation, ["res_relu", "add"]),
    ("BR", lambda m: m[0], ["batch_norm", "mul", "relu"]),
    ("BR", lambda m: m[1], ["batch_norm", "relu", "mul"]),
    ("LIR", lambda m: m[1], ["linear", "mul", "relu"]),
])
def test_a_forward_of_the_layers_own_is_called(kinds, changed, names, monkeypatch):
    """On the layer, on its type, or around every call."""
    model, x = row(*kinds), Tensor(X, requires_grad=True)
    expected = ops_of(model(x))
    layer, forward = changed(model), changed(model).forward
    layer.forward = lambda x: forward(x) * 2
    y = model(x)
    assert len(expected) < len(names) == len(ops_of(y)) and ops_of(y) == names
    del layer.forward
    assert ops_of(model(x)) == expected

    kind, seen = type(layer), []
    for owner, name in ((kind, "forward"), (nn.Module, "__call__")):
        old = getattr(owner, name)
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, lambda self, x, old=old: seen.append(self) or old(*(
                [x] if old is ops.relu else [self, x])))
            model(x)
        assert layer in seen
        seen.clear()
    assert ops_of(model(x)) == expected


def test_in_anomaly_mode_every_block_is_an_op_of_its_own():
    model = row(*"SSSLRLR")
    x = Tensor(X, requires_grad=True)
    assert ops_of(model(x)) == ["res_relu", "linear_relu"]
    with detect_anomaly():
        assert ops_of(model(x)) == ["res_relu"] * 3 + ["linear_relu"] * 2


def test_without_recording_no_layer_outlives_the_next():
    model, x = nn.MLP([256] * 12), Tensor(np.zeros((1000, 256), np.float32))
    for kept in False, True:
        model(x)  # compiled and loaded
        tracemalloc.start()
        with contextlib.nullcontext() if kept else no_grad():
            model(x)
        arrays = tracemalloc.get_traced_memory()[1] / x.data.nbytes
        tracemalloc.stop()
        assert arrays > 10 if kept else arrays < 3


def test_frozen_layers_of_a_row_get_no_gradient():
    model = row(*"LRLRSS")
    for p in [*model[0].parameters(), *model[4].parameters(), model[5].mm1.bias]:
        p.requires_grad = False
    model(Tensor(X)).sum().backward()
    got = [name for name, p in model.named_parameters() if p.grad is not None]
    assert got == ["2.weight", "2.bias", "5.mm2.weight", "5.mm2.bias", "5.mm1.weight"]


def test_the_cotangent_of_a_row_is_left_as_it_is():
    """Within a row cotangents are written over one another, but what comes from outside goes to others too."""
    x, skip, g = Tensor(X, requires_grad=True), Tensor(X, requires_grad=True), np.ones((5, 4), np.float32)
    (row(*"SSS")(x) + skip).backward(Tensor(g))
    np.testing.assert_array_equal(skip.grad.numpy(), g)
    assert (x.grad.numpy() != g).any()


@pytest.mark.parametrize(("kinds", "changed", "said"), [
    ("LRLR", lambda model, y: y.detach(), "its output of linear_relu"),
    ("LRLR", lambda model, y: model[0].weight, "an input of linear_relu"),
    ("SS", lambda model, y: model[1].mm1.weight, "an input of res_relu"),
])
def test_a_change_in_place_is_noticed(kinds, changed, said):
    model = row(*kinds)
    y = model(Tensor(X, requires_grad=True))
    changed(model, y).detach().assign(changed(model, y).detach().numpy() * 0)
    with pytest.raises(RuntimeError, match=f"backward: {said}"):
        y.sum().backward()


def test_an_op_spans_no_more_layers_than_it_may(monkeypatch):
    monkeypatch.setattr(fusion, "_MAX_PRODUCTS", 4)
    x = Tensor(X, requires_grad=True)
    assert ops_of(row(*"LR" * 9)(x)) == ["linear_relu"] * 3
    assert ops_of(row(*"S" * 5)(x)) == ["res_relu"] * 3
