"""Checkpointed functions against plain ones: values, gradients of any order, and memory."""

import contextlib
import tracemalloc

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, checkpoint, detect_anomaly, gradcheck, gradgradcheck, manual_seed, no_grad, ops
from tinygrad_like.core.graph import mode

rng = np.random.default_rng(6)


def blocks(count, features=16):
    manual_seed(3)
    return [nn.Sequential(nn.Linear(features, features), nn.Tanh(), nn.Dropout(0.3), nn.Linear(features, features))
            for _ in range(count)]


def gradients(layers, x, call):
    """The output, the gradients of the input and every parameter, and the next random number."""
    manual_seed(5)
    y = x = Tensor(x, requires_grad=True)
    for layer in layers:
        y = call(layer, y) + y
    (y * y).mean().backward()
    parameters = [p for layer in layers for p in layer.parameters()]
    return [y._data, x.grad._data, *(p.grad._data for p in parameters), Tensor.rand(1)._data]


def test_gradients_and_random_numbers_are_the_same():
    x = rng.standard_normal((5, 16)).astype(np.float32)
    whole = gradients(blocks(3), x, lambda f, y: f(y))
    for call in (checkpoint, lambda f, y: checkpoint(lambda z: checkpoint(f, z), y)):
        for a, b in zip(whole, gradients(blocks(3), x, call), strict=True):
            np.testing.assert_array_equal(a, b)


def test_gradients_of_every_order_are_right():
    w = Tensor(rng.standard_normal((3, 4)), requires_grad=True)

    def f(x, v):
        return checkpoint(lambda x, scale: (ops.matmul(x, v) * w).tanh() * x.sum() * scale, x, scale=2.0)

    x, v = rng.standard_normal((3, 5)), rng.standard_normal((5, 4))
    assert gradcheck(f, x, v) and gradgradcheck(f, x, v)
    y, z = f(Tensor(x), Tensor(v)), (ops.matmul(x, v) * w).tanh() * x.sum() * 2.0
    np.testing.assert_allclose(y.sum().gradient(w)[0]._data, z.sum().gradient(w)[0]._data)


def test_an_argument_may_be_passed_twice_and_values_may_be_closed_over():
    x = Tensor([2.0, 3.0], requires_grad=True)
    between = x * x  # on the graph, but not an argument
    y = checkpoint(lambda a, b: a * b * between, x, x)
    y.sum().backward(retain_graph=True)
    np.testing.assert_allclose(x.grad._data, 4 * x._data**3)
    y.sum().backward()
    np.testing.assert_allclose(x.grad._data, 8 * x._data**3)
    with pytest.raises(RuntimeError, match="checkpoint was already freed"):
        y.sum().backward()


def test_a_checkpointed_function_may_return_several_results():
    x = Tensor([1.0, 2.0], requires_grad=True)
    sine, cosine = checkpoint(lambda x: (x.sin(), x.cos()), x)
    (sine * cosine).sum().backward()
    np.testing.assert_allclose(x.grad._data, np.cos(2 * x._data), rtol=1e-6)
    made = checkpoint(lambda x: [x, Tensor([1.0])], x)
    assert type(made) is tuple and made[0] is x and not made[1].requires_grad
    h = x * x
    assert checkpoint(lambda h: h, h) is h  # Tensors that the function did not make are returned unchanged


def kept(call):
    """Bytes that a stack of blocks holds between forward and backward."""
    layers, x = [lambda y: (y.sin() * y.cos()).exp().tanh()] * 6, Tensor(np.zeros(50_000), requires_grad=True)
    tracemalloc.start()
    y = x
    for layer in layers:
        y = call(layer, y)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    y.sum().backward()
    return held


def test_only_results_are_kept():
    one = 50_000 * 8
    assert kept(lambda f, y: f(y)) > 6 * 4 * one
    assert kept(checkpoint) < 6.5 * one


def test_a_change_in_place_is_noticed():
    for changed in 0, 1:
        x, w = Tensor([1.0], requires_grad=True), Tensor([3.0], requires_grad=True)
        y = checkpoint(lambda x, w=w: x * w, x)
        (x, w)[changed].assign([5.0])
        with pytest.raises(RuntimeError, match=r"Tensor of shape \(1,\) was changed in place after checkpoint used it"):
            y.backward()


@pytest.mark.parametrize("made", [
    lambda x, c: x * c, lambda x, c: (x + c).exp(), lambda x, c: x * (c * 2 + 1), lambda x, c: (x * 1).exp() * c.sum(),
    lambda x, c: x * c[0:1], lambda x, c: checkpoint(lambda y: y * c, x), lambda x, c: ops.linear(x, c.reshape(1, 1)),
])
@pytest.mark.parametrize("how", ["closed over", "an argument", "an option", "without recording"])
def test_a_change_of_a_constant_is_noticed(made, how):
    """Even if no rule saves it, since the recomputed values would differ."""
    def call(f, x, c):
        if how == "an argument":
            return checkpoint(f, x, c)
        if how == "an option":
            return checkpoint(f, x, c=c)
        if how == "closed over":
            return checkpoint(lambda x: f(x, c), x)
        return checkpoint(lambda x: f(x, quiet(c)), x)

    @no_grad()
    def quiet(c):
        return c + 0.0

    def times(c):
        c.data *= 2

    for later in (lambda c: c.assign([7.0]), lambda c: c[:].__setitem__(0, 7.0), times):
        x, c = Tensor([2.0], requires_grad=True), Tensor([3.0])
        y = call(made, x, c)
        later(c)
        with pytest.raises(RuntimeError, match=r"Tensor of shape \(1,\) was changed in place after checkpoint used it"):
            y.backward()
        c.assign([3.0])
        y = call(made, x, c)
        y.backward()  # earlier changes do not matter
        expected, = made(x, c).gradient(x)
        assert x.grad.tolist() == expected.tolist()


def test_harmless_changes_raise_no_error():
    """Of values that f itself changes, that it does not use, or that only a later function uses."""
    x, unused, noted, net = Tensor([1.0], requires_grad=True), Tensor([1.0]), Tensor([0.0]), nn.BatchNorm1d(2)

    def f(x, unused, noted):
        noted.assign(noted + 1)
        return x * noted

    y = checkpoint(f, x, unused, noted)
    unused.assign([5.0])
    inner, outer = checkpoint(lambda x: (h := x * 1, h * 2), x)
    inner.detach().assign([7.0])  # backward computes it again
    outer.backward()
    x.zero_grad()
    z = checkpoint(net, Tensor.randn(4, 2) * x)
    checkpoint(net, Tensor.randn(4, 2) * x)  # changes the running statistics, which no result contains
    z.sum().backward()
    y.backward()
    assert noted.item() == 2


def test_the_listener_ends_with_the_function():
    x = Tensor([1.0], requires_grad=True)
    for outcome in (2.0, KeyError("planned")):
        def f(x, outcome=outcome):
            if isinstance(outcome, KeyError):
                raise outcome
            return x * outcome

        with contextlib.suppress(KeyError):
            checkpoint(f, x)
        assert mode.listener is None
    with detect_anomaly():
        with pytest.raises(FloatingPointError, match="div made the first infinity"):
            checkpoint(lambda x: x / 0.0, x)
        y = checkpoint(lambda x: checkpoint(lambda x: x * 3.0, x), x)
    y.backward()
    assert x.grad.item() == 3 and mode.listener is None


def test_a_function_must_return_the_same_kind_of_tensors_twice():
    x = Tensor([1.0, 2.0], requires_grad=True)
    for wrong in 3.0, {"y": x}, (x, None):
        with pytest.raises(TypeError, match="checkpoint: the function must return a Tensor or a tuple of them"):
            checkpoint(lambda x, wrong=wrong: wrong, x)
    lengths = iter([2, 1])
    y = checkpoint(lambda x: (x * 2)[: next(lengths)], x)
    with pytest.raises(RuntimeError, match=r"returned shape \(2,\) and float32, but \(1,\) and float32 when called"):
        y.sum().backward()
    assert Tensor.rand(1).shape == (1,)


def test_an_error_in_backward_leaves_the_random_state():
    x, calls = Tensor([1.0], requires_grad=True), []

    def once(x):
        calls.append(Tensor.rand(3))
        if len(calls) == 2:
            raise KeyError("again")
        return x * 2

    manual_seed(1)
    y = checkpoint(once, x)
    with pytest.raises(KeyError):
        y.backward()
    after = Tensor.rand(4)._data
    manual_seed(1)
    Tensor.rand(3)
    np.testing.assert_array_equal(after, Tensor.rand(4)._data)
