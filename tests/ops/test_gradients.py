"""First and second order gradients of every op, with random cotangents, and slopes at singular points."""

import numpy as np
import pytest

from tests.ops.samples import CASES, real
from tinygrad_like import Tensor, detect_anomaly, ops
from tinygrad_like.core.dispatch import declared
from tinygrad_like.ops.activation import SELU_ALPHA, SELU_SCALE
from tinygrad_like.ops.composite import Composite
from tinygrad_like.ops.cotangents import Scattered
from tinygrad_like.transforms.gradcheck import gradcheck, gradgradcheck
from tinygrad_like.transforms.switches import after


@pytest.mark.parametrize("case", CASES)
def test_first_and_second_order_gradients_are_right(case):
    f, *inputs = CASES[case]
    assert gradcheck(f, *inputs)
    assert gradgradcheck(f, *inputs, rtol=2e-6)


def test_every_differentiable_op_is_checked():
    """Run all cases and note which primitives recorded a node: none may be missing."""
    called = set()
    with after(lambda op, inputs, options, y: called.add(op.name)):
        for f, *inputs in CASES.values():
            f(*[Tensor(x, requires_grad=True) for x in inputs])
    ours = [op for op in declared if op.__wrapped__.__module__.startswith(ops.__name__)]
    assert {op.name for op in ours if op.differentiable or isinstance(op, Composite)} <= called


@pytest.mark.parametrize("name", ["sign", "floor", "ceil", "round", "trunc", "binary_step"])
def test_steps_have_gradient_zero(name):
    x = Tensor(real(3, 4), requires_grad=True)
    getattr(ops, name)(x).backward(np.ones((3, 4)))
    assert np.array_equal(x.grad._data, np.zeros((3, 4)))


def gradient(f, *values):
    """The gradients of f; they must not depend on whether their graph is recorded."""
    xs, found = [Tensor(np.array(v, dtype=float), requires_grad=True) for v in values], []
    for how in {}, {"create_graph": True}:
        found.append([g.tolist() for g in f(*xs).sum().gradient(*xs, **how)])
    assert found[0] == found[1]
    return found[0]


def test_gradients_at_singular_points_follow_the_conventions():
    assert gradient(ops.relu, [-1, 0, 2]) == [[0, 0, 1]]
    assert gradient(lambda x: ops.leaky_relu(x, 0.25), [0.0]) == [[0.25]]
    assert gradient(lambda x: ops.elu(x, alpha=0.5), [0.0]) == [[0.5]]
    assert gradient(ops.selu, [0.0]) == [[SELU_SCALE * SELU_ALPHA]]
    assert gradient(ops.hardswish, [-3, 0, 3]) == [[0, 0.5, 1]]
    assert gradient(ops.hardtanh, [-1, 0, 1]) == [[0, 1, 0]]
    assert gradient(ops.relu6, [0, 3, 6]) == [[0, 1, 0]]
    assert gradient(ops.abs, [-3, 0, 2]) == [[-1, 0, 1]]
    assert gradient(ops.sqrt, [0, 4]) == [[0, 0.25]]
    assert gradient(ops.norm, [0, 0]) == [[0, 0]]
    assert gradient(ops.std, [3, 3, 3]) == [[0, 0, 0]]
    assert gradient(ops.max, [1, 5, 5, 2]) == [[0, 0.5, 0.5, 0]]
    assert gradient(ops.min, [1, 1, 1, 2]) == [[1 / 3, 1 / 3, 1 / 3, 0]]
    for op in ops.max, ops.min:
        assert gradient(op, [1, np.nan, 2, np.nan]) == [[0, 0.5, 0, 0.5]]
        assert gradient(lambda x, op=op: op(x, axis=1), [[1, 1], [np.nan, 0]]) == [[[0.5, 0.5], [1, 0]]]
    assert gradient(ops.maximum, [1, 2], [1, 3]) == [[0.5, 0], [0.5, 1]]
    assert gradient(ops.minimum, [1, 2], [1, 3]) == [[0.5, 1], [0.5, 0]]
    assert gradient(lambda x: x**2, [0.0]) == [[0]]
    assert gradient(lambda x: x**1, [0.0]) == [[1]]
    assert gradient(lambda x: x**0, [0.0]) == [[0]]
    assert gradient(lambda x: Tensor(np.zeros(1)) ** x, [2.0]) == [[0]]
    assert gradient(ops.prod, [0, 2, 3]) == [[6, 0, 0]]
    assert gradient(ops.prod, [0, 0, 3]) == [[0, 0, 0]]
    assert gradient(lambda x: ops.clip(x, min=0, max=1), [-1, 0, 0.5, 1, 2]) == [[0, 1, 1, 1, 0]]


def second_derivative(f, x):
    x = Tensor(np.array(x, dtype=float), requires_grad=True)
    first, = f(x).sum().gradient(x, create_graph=True)
    return first.sum().gradient(x)[0].tolist()


def test_smooth_functions_have_second_derivatives_where_their_formulas_have_kinks():
    assert second_derivative(lambda x: ops.softplus(x, beta=3.0), [0.0]) == [3 / 4]
    assert second_derivative(ops.logsigmoid, [0.0]) == [-1 / 4]
    for t in 0.0, 0.3, 1.0:
        target = Tensor(np.array([t]))
        assert second_derivative(lambda x, t=target: ops.binary_cross_entropy_with_logits(x, t), [0.0]) == [1 / 4]


def test_probabilities_of_0_have_a_gradient():
    x, t = Tensor(np.log([[1.0, 3.0]])), Tensor(np.array([[1.0, 0.0]]), requires_grad=True)
    for create_graph in False, True:
        found, = ops.cross_entropy(x, t).gradient(t, create_graph=create_graph)
        np.testing.assert_allclose(found.numpy(), [[np.log(4), np.log(4 / 3)]])
    masked = Tensor(np.array([[0.0, -np.inf]]), requires_grad=True)
    loss = ops.cross_entropy(masked, Tensor(np.array([[1.0, 0.0]])))
    assert loss.gradient(masked, create_graph=True)[0].tolist() == [[0, 0]]


@pytest.mark.parametrize("n", [3, 3000])
def test_an_infinite_cotangent_stops_at_an_inactive_relu(n):
    x, g = Tensor(np.full(n, -1, np.float32), requires_grad=True), np.full(n, np.inf, np.float32)
    assert not ops.relu(x).gradient(x, gradient=g)[0].numpy().any()


def test_asin_and_acos_keep_their_digits_near_1():
    x = Tensor(np.array([1 - 2.0**-20, -1 + 2.0**-22], np.float32), requires_grad=True)
    expected = 1 / np.sqrt(1 - x.detach().numpy().astype(float) ** 2)
    np.testing.assert_allclose(x.asin().sum().gradient(x)[0].numpy(), expected, rtol=3e-7)
    np.testing.assert_allclose(x.acos().sum().gradient(x)[0].numpy(), -expected, rtol=3e-7)


@pytest.mark.parametrize("size", [3, 300])
def test_a_padding_index_may_count_from_the_end(size):
    weight = Tensor(np.ones((4, size), np.float32), requires_grad=True)
    for padding_idx, left in (-1, [1, 1, 1, 0]), (1, [1, 0, 1, 1]), (None, [1, 1, 1, 1]):
        out = ops.embedding(Tensor([0, 1, 2, 3]), weight, padding_idx=padding_idx)
        first, = (out * out).sum().gradient(weight, create_graph=True)
        assert first.detach().numpy().any(1).tolist() == [bool(n) for n in left]
        np.testing.assert_array_equal(first.sum().gradient(weight)[0].numpy().any(1), first.detach().numpy().any(1))


def test_where_keeps_out_nan_of_the_other_branch():
    def f(x):
        return ops.where(x > 0, ops.log(ops.where(x > 0, x, 1.0)), x)

    assert gradient(f, [0.0, 2.0]) == [[1.0, 0.5]]
    assert np.signbit(ops.parts.put(Tensor([-0.0]), shape=(2,), index=(slice(1),)).numpy()).tolist() == [True, False]
    bad = Tensor([np.nan, np.inf], requires_grad=True)
    assert ops.where(Tensor([True, False]), 1.0, bad).gradient(bad, gradient=[np.nan, 2.0])[0].tolist() == [0, 2]


def test_the_cotangents_of_slices_go_into_one_array(monkeypatch):
    """A slice's cotangent is 0 outside it; the array is written once for all slices of a Tensor."""
    def forbidden(*args, **options):
        raise AssertionError("a whole array of zeros was made for one part")

    written, write = [], Scattered.__array__
    monkeypatch.setattr(Scattered, "__array__", lambda self, *args, **options: written.append(self) or write(self))
    x = Tensor(real(4, 6), requires_grad=True)
    for make in (lambda x: x, lambda x: 2 * x):
        base = make(x)
        a, b, c = base.chunk(3, axis=1)
        y = a * b * c + base[:, 1:3] + base.sum(axis=1, keepdim=True) + base[2, -1]
        with monkeypatch.context() as patch:
            patch.setattr(ops.parts.put, "forward", forbidden)
            found, = y.sum().gradient(x, retain_graph=True)
        assert len(written) <= 1
        written.clear()
        expected, = y.sum().gradient(x, create_graph=True)
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-12)


def test_hooks_get_a_slices_cotangent_as_a_whole_array():
    x = Tensor(real(3, 4), requires_grad=True)
    seen = []
    for make in (lambda x: x, lambda x: x + 0):
        y = make(x)
        y.register_hook(lambda g: seen.append(g.tolist()))
        if y is not x:
            y.retain_grad()
        with detect_anomaly():
            y[1, 1:3].sum().backward()
    assert seen == [[[0] * 4, [0, 1, 1, 0], [0] * 4]] * 3  # the hook on x runs in both rounds
    assert y.grad.tolist() == seen[0] and x.grad.tolist() == (2 * np.array(seen[0])).tolist()
