from collections import OrderedDict

import pytest

import nn
from tinygrad_like import Tensor, ops


class Times(nn.Module):
    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        return x * self.factor


def factors(modules):
    return [m.factor for m in modules]


@pytest.mark.parametrize("make", [lambda *m: nn.Sequential(*m), lambda *m: nn.ModuleList(m)])
def test_sequential_and_module_list_act_like_lists(make):
    m = make(Times(2), Times(3))
    assert len(m) == 2 and m[0].factor == 2 and m[-1].factor == 3 and m[1] in m and Times(3) not in m
    assert m.append(Times(5)) is m and m.extend([Times(7), Times(11)]) is m
    assert factors(m) == [2, 3, 5, 7, 11]
    assert [n for n, _ in m.named_children()] == ["0", "1", "2", "3", "4"]
    assert m.insert(1, Times(13)) is m and factors(m) == [2, 13, 3, 5, 7, 11]
    m[1] = Times(17)
    assert factors(m) == [2, 17, 3, 5, 7, 11]
    del m[0], m[1:3]
    assert factors(m) == [17, 7, 11] and [n for n, _ in m.named_children()] == ["0", "1", "2"]
    assert factors(m[1:]) == [7, 11] and isinstance(m[1:], type(m)) and m[1:][0] is m[1]
    with pytest.raises(IndexError, match="index 3 is out of range for 3 entries"):
        m[3]
    with pytest.raises(TypeError, match="got int"):
        m.append(3)
    with pytest.raises(TypeError, match="got int"):
        m.insert(0, 3)
    assert factors(m) == [17, 7, 11]


def test_sequential_applies_in_order():
    m = nn.Sequential(Times(2), nn.ReLU(), Times(-1))
    assert m(Tensor([-3.0, 3.0])).tolist() == [0.0, -6.0]
    assert m[:2](Tensor([3.0])).tolist() == [6.0]
    x = Tensor([1.0])
    assert nn.Sequential()(x) is x


def test_sequential_takes_names_from_a_mapping():
    m = nn.Sequential(OrderedDict(hidden=nn.Linear(2, 3), act=nn.ReLU(), head=nn.Linear(3, 1)))
    assert list(m.state_dict()) == ["hidden.weight", "hidden.bias", "head.weight", "head.bias"]
    assert m.act is m[1]
    assert [n for n, _ in m[1:].named_children()] == ["act", "head"]
    del m[0]
    assert [n for n, _ in m.named_children()] == ["act", "head"]
    m.append(nn.Identity())
    assert [n for n, _ in m.named_children()] == ["act", "head", "2"]


@pytest.mark.parametrize(("layer", "said"), [(ops.relu, r"layer 1 .*the function relu; use a Module, such as nn.ReLU"),
                                             (nn.ReLU, r"layer 1 .*the class ReLU; create an instance"),
                                             (None, "layer 1 .*NoneType")])
def test_sequential_takes_modules_only(layer, said):
    with pytest.raises(TypeError, match=f"Sequential: {said}"):
        nn.Sequential(nn.ReLU(), layer)


def test_a_shared_layer_runs_as_often_as_it_appears():
    layer = Times(2)
    m = nn.Sequential(layer, layer, layer)
    assert len(m) == 3 and m(1) == 8 and len(list(m.children())) == 1


def test_a_module_list_cannot_be_called():
    with pytest.raises(NotImplementedError, match="ModuleList does not define forward"):
        nn.ModuleList([nn.ReLU()])(1)


def test_a_module_dict_acts_like_a_dict():
    m = nn.ModuleDict({"a": Times(2), "b": nn.Linear(1, 1)})
    assert list(m) == list(m.keys()) == ["a", "b"] and len(m) == 2 and "a" in m and "c" not in m and 3 not in m
    assert list(m.values()) == [m["a"], m["b"]] and dict(m.items())["a"].factor == 2
    assert list(m.state_dict()) == ["b.weight", "b.bias"]
    m["a"] = Times(5)
    m.update([("c", Times(7))])
    assert m["a"].factor == 5 and list(m) == ["a", "b", "c"]
    assert m.pop("a").factor == 5 and "a" not in m
    del m["c"]
    with pytest.raises(KeyError):
        m["c"]
    with pytest.raises(ValueError, match="ModuleDict already has an attribute 'keys'"):
        m["keys"] = Times(1)
    with pytest.raises(TypeError, match="must be an nn.Module"):
        m["d"] = 3
    m.clear()
    assert not len(m)


def test_a_parameter_list_registers_its_parameters():
    values = nn.ParameterList([Tensor.ones(2), nn.Parameter([3.0])])
    assert [name for name, _ in values.named_parameters()] == ["0", "1"] and len(values) == 2
    values.append(Tensor.zeros(1)).extend([Tensor.zeros(4)])
    values[1] = Tensor([7.0])
    assert values[1].tolist() == [7] and values[-1].shape == (4,) and len(values[1:3]) == 2
    assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in values)
    with pytest.raises(IndexError):
        values[9]


@pytest.mark.parametrize("layers, note", [
    ([nn.Linear(3, 4), nn.Tanh(), nn.Linear(5, 4), nn.Tanh()],
     "in layer 2, Linear(in_features=5, out_features=4, bias=True), given float32 (2, 4)"),
    # These run as one op:
    ([nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 6), nn.ReLU(), nn.Linear(5, 4)],
     "in layer 4, Linear(in_features=5, out_features=4, bias=True), given float32 (2, 6)"),
    ([nn.Linear(3, 4), nn.ReLU(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU()],
     "in layer 2, Linear(in_features=5, out_features=4, bias=True), given float32 (2, 4)"),
    ([nn.Linear(3, 4), nn.Res(4), nn.Res(4), nn.Res(5), nn.Res(4)],
     "in layer 3.mm2, Linear(in_features=5, out_features=5, bias=True), given float32 (2, 4)"),
    ([nn.Linear(3, 4), nn.BatchNorm1d(5), nn.ReLU()],
     "in layer 1, BatchNorm1d(5, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True), "
     "given float32 (2, 4)"),
])
def test_a_failing_layer_is_named(layers, note):
    for model in (nn.Sequential(*layers), nn.Sequential(*layers).eval()):
        with pytest.raises(ValueError) as caught:
            model(Tensor.ones(2, 3))
        assert caught.value.__notes__ == [note]


class Net(nn.Module):
    """A model with layers in lists; `fail` calls `wrong`, or another layer, with a bad argument."""

    def __init__(self, fail=None):
        self.fail, self.first = fail, nn.Linear(3, 4)
        self.blocks = nn.ModuleList([nn.Sequential(nn.ReLU(), nn.Sequential(nn.Tanh(), nn.Linear(5, 4)))])
        self.wrong = nn.MSELoss()

    def forward(self, x):
        x = self.first(x)
        if self.fail is not None:
            return self.fail(self, x)
        for block in self.blocks:
            x = block(x)
        return x


@pytest.mark.parametrize("fail, note", [
    (None, "in layer 1.blocks.0.1.1, Linear(in_features=5, out_features=4, bias=True), given float32 (2, 4)"),
    (lambda self, x: self.wrong(x, x[:, :3]), "in layer 1.wrong, MSELoss("),
    (lambda self, x: nn.Linear(7, 1)(x), "in layer 1, Net(), given float32 (2, 3)"),  # not part of the model
    (lambda self, x: self.wrong.forward(x, x[:, :3]), "in layer 1, Net(), given float32 (2, 3)"),
    (lambda self, x: self.first(3), "in layer 1.first, Linear(in_features=3, out_features=4, bias=True), given int"),
    (lambda self, x: self.first(input=x.sum()), "in layer 1.first, Linear("),
])
def test_a_failing_layer_is_named_by_its_path(fail, note):
    with pytest.raises((TypeError, ValueError)) as caught:
        nn.Sequential(nn.Identity(), Net(fail))(Tensor.ones(2, 3))
    assert len(caught.value.__notes__) == 1 and caught.value.__notes__[0].startswith(note)


def test_an_outside_module_is_named_below_the_one_that_called_it():
    foreign = nn.Sequential(nn.ReLU(), nn.Linear(7, 1))
    with pytest.raises(ValueError) as caught:
        nn.Sequential(nn.Identity(), Net(lambda self, x: foreign(x)))(Tensor.ones(2, 3))
    assert [note.partition("(")[0] for note in caught.value.__notes__] == ["in layer 1, Net", "in layer 1, Linear"]


def test_a_forward_without_return_is_reported():
    class Forgets(nn.Module):
        def forward(self, x):
            x.exp()

    for call in (lambda y: nn.Sequential(Forgets(), nn.Linear(3, 2))(y), lambda y: nn.MSELoss()(Forgets()(y), y),
                 lambda y: nn.CrossEntropyLoss()(Forgets()(y), y), lambda y: ops.relu(Forgets()(y)),
                 lambda y: ops.cat(Forgets()(y), y), lambda y: ops.softmax(Forgets()(y)),
                 lambda y: ops.add(Forgets()(y), y), lambda y: y * 2 + Forgets()(y)):
        with pytest.raises(TypeError, match="got None, which a function without return returns"):
            call(Tensor.ones(2, 3))
