import copy
import gc
import weakref

import numpy as np
import pytest

import nn
from tinygrad_like import Tensor, no_grad, ops
from tinygrad_like.transforms.gradcheck import gradcheck


class Net(nn.Module):
    """Two layers and one of everything else, deliberately registered out of order."""

    def __init__(self):
        self.second = nn.Linear(3, 2)
        self.scale = nn.Parameter([2.0])
        self.register_buffer("mean", Tensor([0.5, 0.25, 0.0]))
        self.first = nn.Linear(3, 3, bias=False)
        self.register_buffer("scratch", Tensor([1.0]), persistent=False)
        self.note = "not part of the state"

    def forward(self, x):
        return self.second(ops.relu(self.first(x - self.mean))) * self.scale


class Tied(nn.Module):
    def __init__(self):
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3, bias=False)
        self.b.weight = self.a.weight
        self.same = self.a

    def forward(self, x):
        return self.b(self.a(x))


# Parameters -----------------------------------------------------------------------------------------------------------


def test_a_parameter_is_a_leaf_and_its_results_are_plain_tensors():
    data = np.array([1.0, 2.0], np.float32)
    p = nn.Parameter(data)
    data[:] = 5  # it has a copy
    assert p.requires_grad and p.is_leaf and isinstance(p, Tensor)
    for y in (p * 2, p.sum(), p.detach(), p[:1], p.reshape(2, 1)):
        assert type(y) is Tensor
    (p * p).sum().backward()
    assert p.grad.tolist() == [2.0, 4.0]
    assert repr(p) == "Parameter containing:\nTensor([1., 2.], requires_grad=True)"


def test_an_integer_parameter_must_not_require_grad():
    with pytest.raises(TypeError, match="int64 cannot require grad"):
        nn.Parameter([1, 2])
    assert not nn.Parameter([1, 2], requires_grad=False).requires_grad


# Attributes -----------------------------------------------------------------------------------------------------------


def test_names_come_in_order_of_definition_own_before_nested():
    m = Net()
    assert [n for n, _ in m.named_parameters()] == ["scale", "second.weight", "second.bias", "first.weight"]
    assert [n for n, _ in m.named_buffers()] == ["mean", "scratch"]
    assert [n for n, _ in m.named_children()] == ["second", "first"]
    assert [n for n, _ in m.named_modules()] == ["", "second", "first"]
    assert list(m.modules()) == [m, m.second, m.first]
    assert list(m.children()) == [m.second, m.first]
    assert list(m.buffers()) == [m.mean, m.scratch]
    assert [n for n, _ in m.named_parameters(prefix="net")][:2] == ["net.scale", "net.second.weight"]
    assert [n for n, _ in m.named_parameters(recurse=False)] == ["scale"]


def test_super_init_may_be_called_or_left_out():
    class With(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(1, 1)

    class Without(nn.Module):
        def __init__(self):
            self.fc = nn.Linear(1, 1)
            self.register_buffer("b", Tensor([0.0]))

    assert len(list(With().parameters())) == len(list(Without().parameters())) == 2
    assert not list(With().buffers()), "one module's buffers are not another's"


def test_replacing_a_parameter_by_something_else_raises():
    m = nn.Linear(2, 2)
    with pytest.raises(TypeError, match=r"Linear.weight is a Parameter and cannot become a Tensor.*nn.Parameter"):
        m.weight = Tensor.zeros(2, 2)
    m.weight = nn.Parameter([[1.0, 0.0], [0.0, 1.0]])
    m.bias = None
    assert [n for n, _ in m.named_parameters()] == ["weight"]
    assert m(Tensor([[3.0, 4.0]])).tolist() == [[3.0, 4.0]]


def test_replacing_a_submodule_or_buffer_by_something_else_raises():
    m = Net()
    with pytest.raises(TypeError, match="Net.first is a submodule and cannot become the function relu"):
        m.first = ops.relu
    with pytest.raises(TypeError, match="Net.mean is a buffer and cannot become a ndarray.*wrap it in Tensor"):
        m.mean = np.zeros(3)
    with pytest.raises(TypeError, match="Net.mean is a buffer and cannot become a Parameter"):
        m.mean = nn.Parameter([0.0])
    m.first, m.mean = nn.Identity(), Tensor([1.0, 1.0, 1.0])
    assert dict(m.named_buffers())["mean"].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("held", [[nn.ReLU()], {"a": nn.ReLU()}, [1, nn.Parameter([0.0])], [[nn.ReLU()]], {nn.ReLU()}])
def test_modules_in_a_plain_list_or_dict_raise(held):
    m = nn.Module()
    m.layers = held
    with pytest.raises(TypeError, match=r"^Module.layers: .* a plain (list|dict|set); use nn.ModuleList"):
        m.parameters().__next__()
    m.layers, m.sizes = (nn.Linear(1, 1),), [1, 2]
    assert list(m.parameters()) == []


def test_a_list_may_hold_modules_that_are_registered_elsewhere():
    class Heads(nn.Module):
        def __init__(self):
            self.heads = [nn.Linear(2, 1) for _ in range(3)]
            for i, head in enumerate(self.heads):
                self.add_module(f"head_{i}", head)
            self.all = [*self.heads, {"scale": self.heads[0].weight}]

    m = Heads()
    assert len(list(m.parameters())) == 6 and list(m.state_dict())[0] == "head_0.weight"
    m.heads.append(nn.Linear(2, 1))
    with pytest.raises(TypeError, match="^Heads.heads: .* a plain list"):
        m.train()


def test_deleted_attributes_leave_the_state():
    m = Net()
    del m.mean, m.second
    assert [n for n, _ in m.named_buffers()] == ["scratch"]
    assert list(m.state_dict()) == ["scale", "first.weight"]
    m.mean = 3  # no longer a buffer
    with pytest.raises(AttributeError):
        del m.second


@pytest.mark.parametrize(("name", "problem"), [("", "empty"), ("a.b", "dot"), ("forward", "already has an attribute"),
                                               ("weight", "already has an attribute 'weight'")])
def test_register_refuses_bad_names(name, problem):
    m = nn.Linear(1, 1)
    for register, value in ((m.register_buffer, Tensor([1.0])), (m.register_parameter, nn.Parameter([1.0])),
                            (m.register_module, nn.ReLU())):
        with pytest.raises(ValueError, match=f"{register.__name__}: .*{problem}"):
            register(name, value)


def test_register_refuses_the_wrong_type():
    m = nn.Module()
    with pytest.raises(TypeError, match="register_parameter: 'w' must be an nn.Parameter or None, got Tensor"):
        m.register_parameter("w", Tensor([1.0]))
    with pytest.raises(TypeError, match="register_buffer: 'b' must be a Tensor or None, got ndarray"):
        m.register_buffer("b", np.zeros(1))
    with pytest.raises(TypeError, match=r"register_module: 'c'.*the class ReLU; create an instance: ReLU\(\.\.\.\)"):
        m.register_module("c", nn.ReLU)
    with pytest.raises(TypeError, match="a name must be a str, got int"):
        m.register_buffer(3, Tensor([1.0]))
    assert not list(m.buffers()) and not hasattr(m, "b")
    m.register_parameter("w", None)
    m.register_buffer("b", None)
    assert m.w is None and m.b is None and m.state_dict() == {}
    m.b = Tensor([1.0])  # the place was reserved
    assert list(m.state_dict()) == ["b"]


def test_forward_must_be_defined():
    with pytest.raises(NotImplementedError, match="Module does not define forward"):
        nn.Module()(1)


# The tree -------------------------------------------------------------------------------------------------------------


def test_shared_parameters_and_modules_are_listed_once():
    m = Tied()
    assert [n for n, _ in m.named_parameters()] == ["a.weight", "a.bias"]
    assert len(list(m.parameters())) == 2
    assert [n for n, _ in m.named_modules()] == ["", "a", "b"]
    assert [n for n, _ in m.named_modules(remove_duplicate=False)] == ["", "a", "b", "same"]
    assert [n for n, _ in m.named_parameters(remove_duplicate=False)] == [
        "a.weight", "a.bias", "b.weight", "same.weight", "same.bias"]
    assert list(m.state_dict()) == ["a.weight", "a.bias", "b.weight", "same.weight", "same.bias"]


def test_parts_are_found_by_name():
    m = nn.Sequential(Net(), nn.ReLU())
    assert m.get_submodule("") is m and m.get_submodule("0.first") is m[0].first
    assert m.get_parameter("0.second.bias") is m[0].second.bias
    assert m.get_buffer("0.mean") is m[0].mean
    with pytest.raises(AttributeError, match=r"'0.third'.*Net has no submodule 'third', only \['second', 'first'\]"):
        m.get_submodule("0.third")
    with pytest.raises(AttributeError, match="get_parameter: Net has no 'mean' of that kind"):
        m.get_parameter("0.mean")


def test_train_and_eval_reach_everything():
    m = nn.Sequential(Net(), nn.ReLU())
    assert m.training and m[0].first.training
    assert m.eval() is m
    assert not any(module.training for module in m.modules())
    m.train()
    assert all(module.training for module in m.modules())


def test_apply_visits_children_first():
    m, seen = Net(), []
    assert m.apply(seen.append) is m
    assert seen == [m.second, m.first, m]


def test_zero_grad_and_requires_grad_reach_all_parameters():
    m = Net()
    m(Tensor.ones(1, 3)).sum().backward()
    assert all(p.grad is not None for p in m.parameters())
    m.zero_grad()
    assert all(p.grad is None for p in m.parameters())
    m.first.requires_grad_(False)
    m(Tensor.ones(1, 3)).sum().backward()
    assert m.first.weight.grad is None and m.second.weight.grad is not None


def test_casting_keeps_the_parameter_objects():
    m = Net()
    m.register_buffer("steps", Tensor([1, 2]))
    before = list(m.parameters())
    m(Tensor.ones(1, 3)).sum().backward()
    assert m.double() is m
    assert list(m.parameters()) == before
    assert {str(t.dtype) for t in [*before, *(p.grad for p in before), m.mean]} == {"float64"}
    assert m.steps.dtype == np.int64
    assert m(Tensor(np.ones((1, 3)))).dtype == np.float64
    assert str(m.float().scale.dtype) == str(m.to("float32").mean.dtype) == "float32"
    with pytest.raises(TypeError, match="to: parameters must be floating point, got int32"):
        m.to("int32")


def test_deepcopy_is_independent_and_keeps_ties():
    m = Tied()
    m.a.register_buffer("b", Tensor([1.0]))
    c = copy.deepcopy(m)
    assert c.b.weight is c.a.weight is not m.a.weight and c.same is c.a
    c.a.weight.assign(np.zeros((3, 3)))
    assert m.a.weight._data.any()
    assert isinstance(c.a.weight, nn.Parameter) and c.a.weight.requires_grad
    assert [n for n, _ in c.named_buffers()] == ["a.b"]


# State ----------------------------------------------------------------------------------------------------------------


def test_state_dict_shares_memory_and_is_detached():
    m = Net()
    state = m.state_dict()
    assert list(state) == ["scale", "mean", "second.weight", "second.bias", "first.weight"]
    assert all(type(t) is Tensor and not t.requires_grad for t in state.values())
    m.scale.assign([7.0])
    assert state["scale"].tolist() == [7.0]


@pytest.mark.parametrize("convert", [lambda t: t, lambda t: t.numpy(), lambda t: t.tolist()])
def test_state_dict_round_trip(convert):
    m, other = Net(), Net()
    parameters = list(other.parameters())
    x = Tensor.randn(4, 3)
    assert not np.allclose(m(x).detach().numpy(), other(x).detach().numpy())
    assert other.load_state_dict({k: convert(t) for k, t in m.state_dict().items()}) == ([], [])
    assert list(other.parameters()) == parameters
    np.testing.assert_array_equal(m(x).detach().numpy(), other(x).detach().numpy())
    m.load_state_dict(m.state_dict())
    np.testing.assert_array_equal(m(x).detach().numpy(), other(x).detach().numpy())


def test_load_lists_every_problem_and_changes_nothing():
    m = Net()
    before = {n: t.numpy().copy() for n, t in m.state_dict().items()}
    state = {"scale": [9.0], "mean": np.zeros(3) * 1j, "second.weight": np.zeros((3, 2)), "first.weight": [[1], [1, 2]],
             "extra": 1, "head.bias": 2}
    with pytest.raises(ValueError, match="the state does not fit this Net, and nothing was loaded") as e:
        m.load_state_dict(state)
    message = str(e.value)
    assert "strict=False" in message
    for line in ("missing: second.bias (2,)", "unexpected: extra", "unexpected: head.bias",
                 "shape: second.weight is (2, 3) here but (3, 2) in the state",
                 "dtype: mean is float32 here but complex128 in the state", "unreadable: first.weight"):
        assert f"\n  {line}" in message
    for name, tensor in m.state_dict().items():
        np.testing.assert_array_equal(tensor.numpy(), before[name])


def test_load_without_strict_reports_and_loads_the_rest():
    m = Net()
    keys = m.load_state_dict({"scale": [9.0], "extra": 1}, strict=False)
    assert keys.missing_keys == ["mean", "second.weight", "second.bias", "first.weight"]
    assert keys.unexpected_keys == ["extra"]
    assert m.scale.tolist() == [9.0]
    with pytest.raises(ValueError, match=r"nothing was loaded\n  shape: scale is \(1,\) here but \(2,\)"):
        m.load_state_dict({"scale": [9.0, 1.0]}, strict=False)


def test_load_casts_to_the_modules_dtype_but_not_floats_to_integers():
    m = nn.Module()
    m.register_buffer("steps", Tensor(0))
    m.w = nn.Parameter([1.0])
    m.load_state_dict({"steps": np.int32(3), "w": np.array([2.0])})
    assert m.steps.item() == 3 and m.w.dtype == np.float32
    with pytest.raises(ValueError, match="dtype: steps is int64 here but float64"):
        m.load_state_dict({"steps": 0.5, "w": [1.0]})


def test_layers_may_swap_their_states():
    """The state shares the module's memory: loading one name must not change the values of another."""
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    first, second = (layer.weight.detach().numpy().copy() for layer in m)
    state = m.state_dict()
    state["0.weight"], state["1.weight"] = state["1.weight"], state["0.weight"]
    m.load_state_dict(state)
    assert np.array_equal(m[0].weight.detach().numpy(), second) and np.array_equal(m[1].weight.detach().numpy(), first)


@pytest.mark.parametrize("change", [np.asfortranarray, lambda a: a[::-1][::-1], lambda a: a.astype(">f4"),
                                    lambda a: a.astype("float64"), lambda a: a.tolist()])
def test_values_of_any_layout_are_copied(change):
    m = nn.Linear(3, 2)
    memory, given = m.weight._data, change(np.arange(6, dtype="float32").reshape(2, 3))
    m.load_state_dict({"weight": given}, strict=False)
    assert m.weight._data is memory and m.weight.tolist() == [[0, 1, 2], [3, 4, 5]] and type(memory) is np.ndarray
    given[0][0] = 9
    assert m.weight.tolist()[0][0] == 0


def test_unwritable_tensors_are_found_before_anything_is_loaded():
    m = nn.Linear(3, 2)
    before = m.weight.detach().numpy().copy()
    m.register_buffer("wide", Tensor.zeros(2, 1).expand(2, 4))
    m.register_buffer("twice", m.weight * 2)
    state = {name: np.ones(t.shape) for name, t in m.state_dict().items()}
    with pytest.raises(ValueError, match="nothing was loaded") as e:
        m.load_state_dict(state)
    assert "read-only: wide has" in str(e.value) and "computed: twice is the result of mul" in str(e.value)
    assert np.array_equal(m.weight.detach().numpy(), before)


def test_one_name_of_a_tied_parameter_is_enough():
    m, other = Tied(), Tied()
    other.load_state_dict({n: t for n, t in m.state_dict().items() if n in ("b.weight", "a.bias")})
    x = Tensor.randn(2, 3)
    np.testing.assert_array_equal(m(x).detach().numpy(), other(x).detach().numpy())


def test_loading_is_an_in_place_change_that_backward_notices():
    m = nn.Linear(2, 2)
    y = m(Tensor.ones(1, 2, requires_grad=True)).sum()
    m.load_state_dict(nn.Linear(2, 2).state_dict())
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()


# A module as a function of its parameters -----------------------------------------------------------------------------


def test_functional_call_replaces_parameters_in_lists():
    class Net(nn.Module):
        def __init__(self):
            self.rows = nn.ParameterList([Tensor([1.0, 2.0]), Tensor([3.0])])

        def forward(self, x):
            w, b = self.rows
            assert len(self.rows) == 2
            return (x * w).sum() + self.rows[1] * b

    net = Net()
    fast = {name: 2 * p for name, p in net.named_parameters()}
    assert nn.functional_call(net, fast, Tensor([1.0, 1.0])).tolist() == [6 + 36]
    assert net(Tensor([1.0, 1.0])).tolist() == [3 + 9]


def test_functional_call_replaces_and_restores():
    m = Tied()
    x = Tensor.randn(2, 3)
    before = m(x).detach().numpy()
    w = Tensor(np.eye(3, dtype=np.float32))
    y = nn.functional_call(m, {"b.weight": w, "a.bias": Tensor.zeros(3)}, x)
    np.testing.assert_array_equal(y.numpy(), x.numpy())  # the tied weight is replaced in both places
    np.testing.assert_array_equal(m(x).detach().numpy(), before)
    with pytest.raises(ValueError, match="functional_call: Tied has no parameter or buffer 'c'"):
        nn.functional_call(m, {"c": w}, x)
    for given in (((x,),), ((x,), {}), ((), {"x": x})):
        assert nn.functional_call(m, {"b.weight": w, "a.bias": Tensor.zeros(3)}, *given).tolist() == y.tolist()
    with pytest.raises(ValueError, match=r"a.bias has shape \(3,\), but its replacement \(3, 3\)"):
        nn.functional_call(m, {"a.bias": w}, x)
    with pytest.raises(ValueError, match="linear"):
        nn.functional_call(m, {"a.bias": Tensor.ones(3)}, Tensor.ones(2, 2))
    np.testing.assert_array_equal(m(x).detach().numpy(), before)


# Hooks ----------------------------------------------------------------------------------------------------------------


def test_forward_hooks_see_and_replace():
    m, seen = nn.Identity(), []
    first = m.register_forward_pre_hook(lambda module, args: seen.append((module, args)))
    second = m.register_forward_pre_hook(lambda module, args: args[0] + 1)
    third = m.register_forward_hook(lambda module, args, out: out * args[0])
    x = Tensor([1.0, 2.0])
    assert m(x).tolist() == [4.0, 9.0]
    assert seen[0][0] is m and seen[0][1][0] is x
    third.remove()
    assert m(x).tolist() == [2.0, 3.0]
    first.remove()
    second.remove()
    second.remove()  # a second time does nothing
    once = m.register_forward_pre_hook(lambda module, args: once.remove())
    assert m(x) is x and len(seen) == 2
    assert m._hooks is None, "without hooks, calls go straight to forward again"


def test_keyword_arguments_pass_hooks_unchanged():
    class Add(nn.Module):
        def forward(self, x, *, by):
            return x + by

    m = Add()
    m.register_forward_hook(lambda module, args, out: out * 10)
    assert m(1, by=2) == 30


def test_a_full_backward_hook_gets_and_replaces_gradients():
    m, seen = nn.Linear(3, 2), []

    def hook(module, grad_input, grad_output):
        seen.append((module, grad_input, grad_output))
        return (grad_input[0] * 10,)

    x = Tensor.randn(4, 3, requires_grad=True)
    (m(x) * 2).sum().backward()
    plain, weight_grad = x.grad.numpy(), m.weight.grad.numpy()
    x.grad = None
    m.zero_grad()
    handle = m.register_full_backward_hook(hook)
    (m(x) * 2).sum().backward()
    (module, (grad_input,), (grad_output,)), = seen
    assert module is m and grad_output.tolist() == [[2.0, 2.0]] * 4
    np.testing.assert_array_equal(grad_input.numpy(), plain)
    np.testing.assert_array_equal(x.grad.numpy(), plain * 10)
    np.testing.assert_array_equal(m.weight.grad.numpy(), weight_grad)
    handle.remove()
    x.grad = None
    (m(x) * 2).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), plain)


class Many(nn.Module):
    """Several inputs and outputs, of which some may go unused."""

    def forward(self, a, b, c):
        return a * b, b + c, c * 3.0


def test_a_full_backward_hook_with_several_inputs_fires_once_with_none_for_missing_gradients():
    m, seen = Many(), []
    m.register_full_backward_hook(lambda module, gi, go: seen.append((gi, go)))
    a, b, c = Tensor([2.0], requires_grad=True), Tensor([3.0]), Tensor([5.0], requires_grad=True)
    ab, bc, unused = m(a, b, c)
    (ab * 7 + bc).sum().backward()
    (grad_input, grad_output), = seen
    assert [g if g is None else g.item() for g in grad_input] == [21.0, None, 1.0]
    assert [g if g is None else g.item() for g in grad_output] == [7.0, 1.0, None]
    assert a.grad.item() == 21.0 and c.grad.item() == 1.0
    assert type(m(a, b, c)) is tuple


def test_a_full_backward_hook_fires_if_no_input_needs_a_gradient():
    m, seen = nn.Linear(2, 1), []
    m.register_full_backward_hook(lambda module, gi, go: seen.append((gi, go[0].item())))
    m(Tensor.ones(1, 2)).sum().backward()
    assert seen == [((None,), 1.0)] and m.weight.grad is not None
    with no_grad():
        m(Tensor.ones(1, 2))
    assert len(seen) == 1


def test_a_full_backward_hook_works_with_create_graph():
    m, seen = nn.Tanh(), []
    m.register_full_backward_hook(lambda module, gi, go: seen.append(gi[0].requires_grad))
    x = Tensor(np.array([0.5]), requires_grad=True)
    g, = m(x).sum().gradient(x, create_graph=True)
    gg, = g.sum().gradient(x)
    t = np.tanh(0.5)
    np.testing.assert_allclose([g.item(), gg.item()], [1 - t * t, -2 * t * (1 - t * t)])
    assert seen[0] is True
    with_hook = nn.Tanh()
    with_hook.register_full_backward_hook(lambda module, gi, go: (gi[0] * 1.0,))
    gradcheck(with_hook, np.array([0.1, -0.7]))


def test_a_change_in_place_is_noticed_despite_a_backward_hook():
    m = nn.LeakyReLU()
    m.register_full_backward_hook(lambda module, gi, go: None)
    x = Tensor([1.0, 2.0], requires_grad=True)
    y = m(x).sum()
    x.assign([-1.0, 2.0])
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()


def test_full_backward_hooks_refuse_wrong_shapes_and_outputs():
    m = nn.Identity()
    handle = m.register_full_backward_hook(lambda module, gi, go: (gi[0].sum(),))
    x = Tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(ValueError, match=r"hook of Identity: the returned grad_input has shapes \[\(\)\]"):
        m(x).sum().backward()
    handle.remove()
    m.register_full_backward_hook(lambda module, gi, go: None)
    with pytest.raises(TypeError, match="full backward hook: Identity must return a Tensor.*got dict"):
        m({"x": x})


def test_hooks_make_no_reference_cycles():
    gc.collect()
    gc.disable()
    try:
        m = nn.Linear(2, 2)
        m.handle = m.register_full_backward_hook(lambda module, gi, go: None)
        m.register_forward_hook(lambda module, args, out: None)
        y = m(Tensor.ones(1, 2, requires_grad=True))
        y.sum().backward()
        refs = [weakref.ref(m), weakref.ref(y.node)]
        del m, y
        assert [r() for r in refs] == [None, None]
    finally:
        gc.enable()


def test_a_deepcopy_has_its_own_hooks():
    m, seen = nn.Identity(), []
    handle = m.register_forward_hook(lambda module, args, out: seen.append(module))
    c = copy.deepcopy(m)
    handle.remove()
    m(1)
    c(1)
    assert seen == [c]


# Text -----------------------------------------------------------------------------------------------------------------


def test_repr_is_a_tree_with_equal_neighbours_folded():
    assert repr(nn.ReLU()) == "ReLU()"
    m = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.ReLU(), nn.Sequential(nn.Identity()))
    assert repr(m) == """Sequential(
  (0): Linear(in_features=2, out_features=3, bias=True)
  (1-2): 2 x ReLU()
  (3): Sequential(
    (0): Identity()
  )
)"""


def test_repr_does_not_fold_named_neighbours():
    m = nn.Module()
    m.a, m.b = nn.ReLU(), nn.ReLU()
    assert repr(m) == "Module(\n  (a): ReLU()\n  (b): ReLU()\n)"


# Parity ---------------------------------------------------------------------------------------------------------------


@pytest.mark.torch
def test_names_orders_and_ties_match_pytorch():
    import torch

    def build(nn_, parameter, tensor):
        class M(nn_.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn_.Linear(2, 2)
                self.register_buffer("late", tensor([1.0]))
                self.w = parameter(tensor([1.0]))
                self.register_buffer("hidden", tensor([1.0]), persistent=False)
                self.tied = nn_.Linear(2, 2, bias=False)
                self.tied.weight = self.fc.weight
                self.blocks = nn_.ModuleList([nn_.Sequential(nn_.Linear(1, 1), nn_.ReLU()), self.fc])

        return M()

    ours, theirs = build(nn, nn.Parameter, Tensor), build(torch.nn, torch.nn.Parameter, torch.tensor)
    for method in ("named_parameters", "named_modules", "named_children", "named_buffers"):
        assert [n for n, _ in getattr(ours, method)()] == [n for n, _ in getattr(theirs, method)()], method
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict(theirs.state_dict())
    theirs.load_state_dict({n: torch.from_dlpack(t) for n, t in ours.state_dict().items()})
    np.testing.assert_array_equal(ours.fc.weight.detach().numpy(), theirs.fc.weight.detach().numpy())
