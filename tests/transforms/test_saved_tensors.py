"""What ops save for backward, kept in another form: gradients of both orders, mistakes, and no cost without hooks."""

import numpy as np
import pytest

import nn
import tinygrad_like as tg
from tinygrad_like import Tensor, capture
from tinygrad_like.transforms.saved_tensors import save_on_cpu, saved_tensors_hooks

X = np.random.default_rng(0).standard_normal((3, 4))


def loss(x):
    y = (x * 2).exp()
    return (y.softmax(-1) * x * x).sum() + (tg.cat((y.relu(), x)) ** 3).sum() + x.mean(0).std()


def gradients(x, y):
    first, = y.gradient(x, create_graph=True)
    second, = (first * first).sum().gradient(x)
    return y.item(), first.detach().numpy(), second.numpy()


def to_numpy(x):
    assert not x.requires_grad
    return x.numpy().copy()


def test_gradients_of_both_orders():
    x = Tensor(X, requires_grad=True)
    with saved_tensors_hooks(to_numpy, Tensor):
        y = loss(x)
    for found, expected in zip(gradients(x, y), gradients(x, loss(x)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_layers_train_as_without():
    states = []
    for hooks in (saved_tensors_hooks(to_numpy, Tensor), save_on_cpu(pin_memory=True), None):
        tg.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.GELU(), nn.Linear(8, 2))
        x, target = Tensor(X.astype(np.float32)), Tensor([0, 1, 1])
        for _ in range(2):
            if hooks is None:
                y = nn.functional.cross_entropy(model(x), target)
            else:
                with hooks:
                    y = nn.functional.cross_entropy(model(x), target)
            y.backward()
        states.append([p.grad.numpy() for p in model.parameters()])
    for state in states[:2]:
        for a, b in zip(state, states[2], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_what_is_unpacked_is_what_rules_use():
    x = Tensor([2.0, 3.0], requires_grad=True)
    with saved_tensors_hooks(lambda x: x * 10, lambda x: x):
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [40, 60]
    names = []
    with saved_tensors_hooks(lambda x: names.append("outer") or x, lambda x: x):
        with saved_tensors_hooks(lambda x: names.append("inner") or x, lambda x: x):
            x * x
        assert set(names) == {"inner"}
        x.exp()
    assert names[-1] == "outer"
    x * x
    assert names.count("outer") == 1


def test_they_are_called_when_they_should_be():
    calls, x = [], Tensor([2.0], requires_grad=True)
    with saved_tensors_hooks(lambda x: calls.append("pack") or x, lambda x: calls.append("unpack") or x):
        y = x.exp()
        y = y + 1  # which saves nothing
    assert calls == ["pack"]
    y.backward(retain_graph=True)
    y.backward()
    assert calls == ["pack", "unpack", "unpack"] and x.grad.item() == pytest.approx(2 * np.exp(2.0))
    with pytest.raises(RuntimeError, match="already freed"):
        y.backward()


def test_mistakes():
    x = Tensor([2.0], requires_grad=True)
    with saved_tensors_hooks(lambda x: x, lambda x: 3):
        y = x.exp()
    with pytest.raises(TypeError, match=r"unpack_hook gave int for what exp has saved; it must give .* float32 \(1,\)"):
        y.backward()
    with saved_tensors_hooks(lambda x: x, lambda x: x.double()):
        y = x.exp()
    with pytest.raises(TypeError, match="unpack_hook gave float64"):
        y.backward()
    v = Tensor([1.0])
    with saved_tensors_hooks(lambda x: x, lambda x: x):
        y = v * x
    v += 1
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()
    with saved_tensors_hooks(lambda x: 1 / 0, lambda x: x), pytest.raises(ZeroDivisionError):
        x.exp()
    assert x.exp().requires_grad

    def inside(x):
        with saved_tensors_hooks(lambda x: x, lambda x: x):
            return x * 2

    with pytest.raises(RuntimeError, match="saved_tensors_hooks inside a captured function"):
        capture(inside)(Tensor([1.0]))


@pytest.mark.torch
def test_as_pytorchs():
    torch = pytest.importorskip("torch")
    found = []
    for lib in (tg, torch):
        x = lib.tensor(X, requires_grad=True)
        with lib.autograd.graph.saved_tensors_hooks(lambda x: x.float(), lambda x: x.double()):
            y = ((x * 2).exp() * x).sum()
        first, = lib.autograd.grad(y, x, create_graph=True)
        found.append((first.detach().numpy(), lib.autograd.grad((first * first).sum(), x)[0].numpy()))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
