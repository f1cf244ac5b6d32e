"""Arguments and results of captured functions: Tensors in tuples, lists, dicts and dataclasses."""

import weakref
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pytest

import nn
import optim
import tinygrad_like as tg
from tinygrad_like import Tensor, capture


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


@dataclass
class Batch:
    x: Tensor
    y: Tensor
    name: str = "batch"
    sum: Tensor = field(init=False)

    def __post_init__(self):
        self.sum = self.x + self.y


@dataclass(frozen=True, slots=True)
class Frozen:
    x: Tensor


class Plain:
    def __init__(self, x):
        self.x = x


def numbers(i):
    return Tensor([float(i), 2.0]), Tensor([3.0, -float(i)])


@pytest.mark.parametrize("make, parts", [
    (Pair, lambda p: (p.first, p.second)),
    (Batch, lambda b: (b.x, b.y)),
    (lambda x, y: (Frozen(x), Frozen(y)), lambda p: (p[0].x, p[1].x)),
    (lambda x, y: OrderedDict(x=x, y=[y]), lambda d: (d["x"], d["y"][0])),
    (lambda x, y: {"x": Batch(x, y), "y": Pair(x, y)}, lambda d: (d["x"].x, d["y"].second)),
], ids=["named tuple", "dataclass", "frozen", "ordered dict", "nested"])
def test_containers_may_be_arguments_and_results(make, parts):
    @capture
    def f(value):
        x, y = parts(value)
        return make(x * y, x - y)

    results = [f(make(*numbers(i))) for i in range(6)]
    assert len(f.programs) == 1
    for i, result in enumerate(results):  # later calls change none of them
        x, y = numbers(i)
        assert type(result) is type(results[0])
        assert [t.tolist() for t in parts(result)] == [(x * y).tolist(), (x - y).tolist()]


def test_a_dataclass_computes_its_derived_fields_in_each_call():
    f = capture(lambda b: Batch(b.x * 2, b.y))
    for i in range(5):
        out = f(Batch(*numbers(i)))
        assert out.sum.tolist() == (out.x + out.y).tolist() and out.name == "batch"


def test_a_numpy_array_as_an_argument_is_not_captured():
    f = capture(lambda x: Tensor(np.exp(x)))
    x = np.zeros(2, "f")
    with pytest.warns(UserWarning, match="an argument is a NumPy array"):
        assert f(x).tolist() == [1, 1]
    x[:] = np.log(3)
    np.testing.assert_allclose(f(x).numpy(), [3, 3], rtol=1e-6)


def test_numpy_numbers_are_told_apart_by_value():
    f = capture(lambda x, s: x * s)
    x = Tensor([1.0, 2.0])
    for _ in range(4):
        assert f(x, np.float32(2)).tolist() == [2, 4]
    assert f(x, np.float32(3)).tolist() == [3, 6] and sum(map(len, f.kinds.values())) == 2


def test_a_numpy_array_may_change_between_calls():
    table = np.ones(3, "f")
    f = capture(lambda x: x * tg.tensor(table).exp() + Tensor(table, dtype="float64"))
    for i in range(6):
        table[:] = i if i > 3 else 1
        np.testing.assert_allclose(f(Tensor([1.0, 2.0, 3.0])).numpy(), np.arange(1, 4) * np.exp(table) + table,
                                   rtol=1e-6)
    assert f.programs


def test_no_gradient_of_a_call_outlives_the_next():
    model = nn.Linear(8, 4)
    optimizer, seen = optim.AdamW(model.parameters()), []

    @capture
    def step(x):
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(7):
        step(Tensor.randn(2, 8))
        seen.append(weakref.ref(model.weight.grad._data))
    assert step.programs
    assert len({id(array) for r in seen if (array := r()) is not None}) == 1  # on memory of the program


def test_a_replay_returns_pairs_as_pairs():
    @capture
    @tg.no_grad()
    def predict(x):
        return (x * 2).max(1), x.sort(1)

    for i in range(6):
        x = Tensor([[1.0 * i, 2.0, 5.0 - i], [7.0, 1.0 * i, 8.0]])
        out, ordered = predict(x)
        values, labels = out
        assert ordered.indices.tolist() == x.numpy().argsort(1).tolist()
        assert values.tolist() == (x.numpy() * 2).max(1).tolist() == out.values.tolist()
        assert labels.tolist() == x.numpy().argmax(1).tolist() == out.indices.tolist() == out[1].tolist()
    assert predict.programs
    f = capture(lambda pair: pair.indices * 10 + pair.values)
    for i in range(5):
        assert f(Tensor([[1.0 * i, 2.0]]).max(1)).tolist() == [max(i, 2) + 10 * (i < 2)]


def hooked(x):
    x.requires_grad_().register_hook(lambda g: g * 2)
    return x


@pytest.mark.parametrize("result, seen", [
    (lambda x: nn.Parameter(x), type), (hooked, lambda t: t.sum().backward() or t.grad.tolist())],
    ids=["a parameter", "a hook"])
def test_a_result_that_is_more_than_its_numbers_is_not_captured(result, seen):
    f = capture(lambda x: result(x * 2), strict=False)
    for _ in range(6):
        assert seen(f(Tensor([1.0, 2.0]))) == seen(result(Tensor([2.0, 4.0])))


def test_a_list_argument_that_the_function_sorts_is_not_captured():
    f = capture(lambda x, order: order.sort() or x * order[0], strict=False)
    for _ in range(6):
        f(Tensor([1.0]), order := [3, 1, 2])
        assert order == [1, 2, 3]


def test_a_copy_by_strides_is_read_only_while_it_is_recorded():
    f = capture(lambda x: (x * 1).as_strided((2, 2), (1, 1)).add_(1.0))
    with pytest.raises(ValueError, match="read-only"):
        f(Tensor([1.0, 2.0, 3.0]))


def test_a_result_may_have_parameters_as_keys():
    model = nn.Linear(2, 1)
    f = capture(lambda x: {p: p.detach() * x for p in model.parameters()})
    for i in range(6):
        found = f(Tensor([float(i)]))
        assert [*map(id, found)] == [*map(id, model.parameters())]
        assert found[model.bias].item() == (model.bias * i).item()
    assert f.programs
