"""A BatchNorm and the ReLU after it run as one op with the same result, but only where nothing can notice."""

import contextlib
import tracemalloc

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, no_grad, ops

X = np.random.default_rng(0).standard_normal((5, 4)).astype(np.float32)


class Louder(nn.ReLU):
    def forward(self, x):
        return x.relu() * 2


def row(*kinds):
    make = {"L": lambda: nn.Linear(4, 4), "R": nn.ReLU, "T": nn.Tanh, "I": nn.Identity, "B": lambda: nn.BatchNorm1d(4),
            "2": Louder, "S": lambda: nn.Res(4), "(": lambda: nn.Sequential(nn.BatchNorm1d(4), nn.ReLU())}
    return nn.Sequential(*[make[k]() for k in kinds])


def ops_of(y):
    """Names of the ops from the input on, along first inputs."""
    names, node = [], y.node
    while node is not None and hasattr(node, "op"):
        names.insert(0, node.op.name)
        node = node.parents[0]
    return names


def one_by_one(model, x):
    for layer in model:
        x = one_by_one(layer, x) if isinstance(layer, nn.Sequential) else layer(x)
    return x


@pytest.mark.needs("kernels")
@pytest.mark.parametrize(("kinds", "names"), [
    ("LRL", ["linear", "relu", "linear"]),
    ("LBRLR", ["linear", "batch_norm_relu", "linear", "relu"]),
    ("LBR", ["linear", "batch_norm_relu"]),
    ("BRBR", ["batch_norm_relu", "batch_norm_relu"]),
    ("B", ["batch_norm"]),
    ("BT", ["batch_norm", "tanh"]),
    ("BIR", ["batch_norm", "relu"]),
    ("B2", ["batch_norm", "relu", "mul"]),
    ("(RL", ["batch_norm_relu", "relu", "linear"]),
    ("SS", ["add", "add"]),
])
def test_fused_layers_are_one_op_and_compute_the_same(kinds, names):
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


@pytest.mark.needs("kernels")
@pytest.mark.parametrize("hooked", [0, 1])
def test_a_hook_sees_its_module(hooked):
    model, seen = row(*"BR"), []
    x = Tensor(X, requires_grad=True)
    expected = model(x)
    handle = model[hooked].register_forward_hook(lambda module, args, out: seen.append(out.shape))
    y = model(x)
    assert seen == [(5, 4)] and ops_of(y) == ["batch_norm", "relu"]
    np.testing.assert_allclose(y.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    handle.remove()
    assert ops_of(model(x)) == ops_of(expected) == ["batch_norm_relu"]


@pytest.mark.needs("kernels")
@pytest.mark.parametrize(("changed", "names"), [(0, ["batch_norm", "mul", "relu"]), (1, ["batch_norm", "relu", "mul"])])
def test_a_replaced_forward_is_called(changed, names, monkeypatch):
    """Whether it is set on the layer, on its type, or on Module."""
    model, x = row(*"BR"), Tensor(X, requires_grad=True)
    layer, forward = model[changed], model[changed].forward
    layer.forward = lambda x: forward(x) * 2
    assert ops_of(model(x)) == names
    del layer.forward
    assert ops_of(model(x)) == ["batch_norm_relu"]

    kind, seen = type(layer), []
    for owner, name in ((kind, "forward"), (nn.Module, "__call__")):
        old = getattr(owner, name)
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, lambda self, x, old=old: seen.append(self) or old(*(
                [x] if old is ops.relu else [self, x])))
            model(x)
        assert layer in seen
        seen.clear()
    assert ops_of(model(x)) == ["batch_norm_relu"]


def test_without_recording_no_activation_outlives_the_next_layer():
    model, x = nn.MLP([256] * 12), Tensor(np.zeros((1000, 256), np.float32))
    for kept in False, True:
        model(x)  # compiled and loaded
        tracemalloc.start()
        with contextlib.nullcontext() if kept else no_grad():
            model(x)
        arrays = tracemalloc.get_traced_memory()[1] / x._data.nbytes
        tracemalloc.stop()
        assert arrays > 10 if kept else arrays < 3.1
