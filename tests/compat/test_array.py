"""`x.data`: a NumPy array that takes a Tensor's methods."""

import copy
import operator
import pickle

import numpy as np
import pytest

import tinygrad_like
from tinygrad_like import Tensor, capture, no_grad, ops
from tinygrad_like.methods.array import Array


def test_methods_that_change_it():
    w = Tensor(np.zeros((2, 3), np.float32), requires_grad=True)
    memory = w._data
    assert w.data.fill_(3.0).tolist() == [[3.0] * 3] * 2
    w.data[1].zero_()
    w.data.mul_(0.5).add_(Tensor([1.0, 2.0, 3.0]))
    assert w.tolist() == [[2.5, 3.5, 4.5], [1, 2, 3]]
    w.data.copy_(Tensor([[0.0, 1.0, 2.0]]))
    assert w.tolist() == [[0, 1, 2]] * 2
    w.data.clamp_(max=1).t().masked_fill_(Tensor([True, False]), 7.0)
    assert w.tolist() == [[7, 7, 7], [0, 1, 1]]
    assert np.abs(w.data.uniform_(2, 3) - 2.5).max() <= 0.5 and w.data.normal_().std() > 0
    assert w._data is memory and w.requires_grad and w.is_leaf


@pytest.mark.parametrize("change", [
    lambda a, w: a.copy_(w), lambda a, w: a.zero_().add_(w), lambda a, w: a.fill_(0.0).lerp_(w, 1.0),
    lambda a, w: a.view(-1).copy_(w), lambda a, w: operator.iadd(a.zero_(), w),
    lambda a, w: a.masked_fill_(Tensor([True, False]), w[0])[1:].fill_(w[1])])
def test_what_it_is_changed_to_may_be_on_a_graph(change):
    p, w = Tensor([1.0, 2.0], requires_grad=True), Tensor([4.0, 5.0], requires_grad=True)
    memory = p._data
    change(p.data, w * 1)
    assert p.tolist() == [4, 5] and p._data is memory and p.is_leaf and p.requires_grad

    @capture
    def step(x):
        p.data.copy_(w * x)
        p.data -= w
        return x + 1

    for i in range(4):
        step(Tensor(float(i)))
        assert np.array_equal(p.numpy(force=True), (w * float(i) - w).numpy(force=True))


def test_what_is_called_as_pytorchs_is_captured():
    w = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3), requires_grad=True)

    def step(x):
        y = w * x
        return (y.data.max(1)[1], y.data.max(1, keepdim=True)[0], y.data.sum(dim=1), y.data.argmax(dim=1),
                y.data.view(-1).abs() + y.data.size(0), y.data.view(3, 2).mean(dim=0, keepdim=True))

    captured = capture(step)
    for i in range(5):
        x = Tensor([1.0, -2.0 + i, 0.5 * i])
        for a, b in zip(step(x), captured(x), strict=True):
            assert np.array_equal(np.asarray(a), np.asarray(b)) and np.shape(a) == np.shape(b)
    assert len(captured.programs) == 1

    @capture
    def numpys(x):
        return x + x.data.max()

    with pytest.warns(UserWarning, match=r"it looks at values: x\.data\.max"):
        assert numpys(Tensor([1.0, 2.0])).tolist() == [3.0, 4.0]


@pytest.mark.parametrize("number", [float, np.float64, np.float32])
def test_a_number_of_numpys_leaves_its_dtype(number):
    def run(wrap):
        p, q = Tensor([1.0, 2.0]), Tensor([4.0, 5.0], requires_grad=True)

        def step(m):
            p.data.mul_(m).add_((1 - m) * q.detach().data)
            p.data.copy_(m * p.data + q.data * (1 - m))
            p.data -= number(0.25) * q.data / number(2)
            p.data += number(1) - q.data
            return p * 1

        step = wrap(step)
        out = [step(number(0.5 + 0.1 * i)).tolist() for i in range(6)]
        return out, p.dtype, getattr(step, "programs", None)

    *eager, _ = run(lambda f: f)
    *captured, _ = run(lambda f: capture(f, fuse=False))
    assert captured == eager and eager[1] == np.float32
    assert (np.float64(2) * Tensor([1, 2]).data).dtype == np.float64
    assert np.exp(np.float64(2) ** Tensor([1.0]).data).dtype == np.float32


def test_methods_that_compute():
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3), requires_grad=True)
    assert x.data.norm().item() == pytest.approx(55**0.5) and isinstance(x.data.clone(), Tensor)
    assert (x.data - 3).abs().max().item() == 3 and not (x.data.relu() * 2).requires_grad
    assert x.data.view(-1).shape == x.data.view((6,)).shape == (6,) and x.data.view(np.int32).dtype == np.int32
    assert np.allclose(tinygrad_like.exp(x.data).norm().item(), np.linalg.norm(np.exp(x.data)))
    assert x.data.view(3, -1).shape == (3, 2) and x.data.device == "cpu"
    values, index = tinygrad_like.max(x.data, 1)
    assert index.tolist() == [2, 2]


def test_ops_take_it_as_an_array_and_beside_a_tensor_as_one():
    x, w = Tensor([1.0, 5.0]), Tensor([2.0, 3.0], requires_grad=True)
    d = x.data
    for _ in range(3):  # from the second call on each op has its own code
        assert type(ops.exp(d)) is type(ops.mul(d, d)) is Array and type(ops.mul(w, d)) is Tensor
    y = (w * d).sum()
    d.zero_()
    y.backward()  # by the numbers that were there
    assert w.grad.tolist() == [1, 5]

    @capture
    @no_grad()
    def product():
        return w.clone() * d

    for _ in range(4):
        d.add_(1.0)
        assert product().tolist() == [2 * d[0], 3 * d[1]]


def test_an_update_counts_as_a_change_and_keeps_the_memory():
    w = Tensor([1.0, 2.0], requires_grad=True)
    memory, y = w._data, (w * w).sum()
    w.data -= 0.5 * Tensor([1.0, 1.0])
    assert w._data is memory and w.tolist() == [0.5, 1.5]
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()
    part = w.data[::-1]
    w.data = part
    assert type(w._data) is np.ndarray and w.tolist() == [1.5, 0.5]
    w.data = w.data * 2
    assert type(w._data) is np.ndarray and w.tolist() == [3, 1]


@pytest.mark.parametrize("make", [
    Tensor, Tensor.from_numpy, tinygrad_like.tensor, tinygrad_like.as_tensor, lambda d: Tensor([0.0, 0.0]).assign(d),
    lambda d: Tensor([1.0, 1.0]) * d, lambda d: d * Tensor([1.0, 1.0]),
    lambda d: Tensor([d, d]), lambda d: tinygrad_like.stack([Tensor(d), d])])
def test_beneath_a_tensor_lies_a_plain_array(make):
    assert type(make(Tensor([1.0, 2.0]).data)._data) is np.ndarray


def test_numpy_gets_a_plain_array():
    d = Tensor([1.0, 2.0]).data
    assert isinstance(d, np.ndarray) and repr(d) == "array([1., 2.], dtype=float32)" and f"{d[0]:.2f}" == "1.00"
    assert type(pickle.loads(pickle.dumps(d))) is np.ndarray and copy.deepcopy(d).tolist() == [1, 2]
    assert f"{Tensor(3.0).data:.1f}" == "3.0" and not hasattr(d, "mask") and not hasattr(d, "_data")


def test_what_neither_has():
    with pytest.raises(AttributeError, match="has no attribute 'uniforms'"):
        _ = Tensor([1.0]).data.uniforms
    with pytest.raises(TypeError, match="normal.* int64"):
        Tensor([1, 2]).data.normal_()
    with pytest.raises(ValueError, match=r"\(4,\).*\(2,\)"):
        Tensor([1.0, 2.0]).data.copy_(Tensor.zeros(4))


def test_methods_called_as_pytorchs_are_those_of_tensors():
    x = Tensor([[1.0, 5.0, 3.0], [4.0, 2.0, 6.0]])
    _, predicted = x.data.max(1)
    assert predicted.tolist() == x.data.max(1, keepdim=True)[1][:, 0].tolist() == x.data.max(1)[1].tolist() == [1, 2]
    assert x.data.size == 6 and x.data.size(0) == 2 and x.data.size() == (2, 3)
    assert x.data.sort(dim=1)[0].tolist() == [[1, 3, 5], [2, 4, 6]]
    assert x.data.repeat(2, axis=0).shape == (4, 3) and x.data.repeat(2, axis=1).tolist()[0][:2] == [x[0, 0].item()] * 2
    for wrong in (lambda: x.data.sort(1), lambda: x.data.repeat(2, 1)):  # NumPy and PyTorch disagree
        with pytest.raises(TypeError, match="^(sort|repeat): of numbers alone it is .* in NumPy, .* in PyTorch; write"):
            wrong()
    assert x.data.sum(dim=1, keepdim=True).tolist() == [[9], [12]] and x.data.argmax(dim=1).tolist() == [1, 2]
    assert x.data.max() == x.data.max(axis=1)[1] == 6 and type(x.data.max(axis=1)) is not Tensor  # as NumPy's
    assert x.data.repeat(2).shape == (12,) and x.data.sum(1).tolist() == [9, 12] and x.data.std() == np.std(x.numpy())
