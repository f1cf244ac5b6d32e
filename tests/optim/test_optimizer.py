"""All optimizers: groups, steps, the learning rate, checkpoints, and helpful messages."""

import copy
import pickle
import re
import sys
from collections import defaultdict
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import optim
from optim import SGD, Adam, AdamW, Optimizer, RMSProp, schedule
from tests.optim.test_formulas import CASES
from tinygrad_like import Tensor, capture, enable_grad, no_grad, ops
from tinygrad_like.kernels import threads

ALL = [(getattr(optim, name), {k: v for k, v in options.items() if k != "lr"}) for name, options in CASES
       if name != "Adafactor"]


def make(*shapes, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    return [Tensor(rng.standard_normal(shape).astype(dtype), requires_grad=True) for shape in shapes]


def fill(params, seed):
    rng = np.random.default_rng(seed)
    for p in params:
        p.grad = Tensor(rng.standard_normal(p.shape).astype(p.dtype))


def run(optimizer, params, count, first=0):
    for n in range(first, first + count):
        fill(params, n)
        optimizer.step()


def assert_close(actual, desired):
    """Equal up to float32 rounding, which is relative to the largest summands."""
    np.testing.assert_allclose(actual, desired, rtol=0, atol=1e-6 * np.max(np.abs(desired), initial=1.0))


# A step -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls, options", ALL)
def test_a_step_is_in_place_and_changes_no_gradient(cls, options):
    (p,) = make((4, 6))
    p.grad = Tensor(p._data)
    data, before, g = p._data, p._data.copy(), p.grad._data.copy()
    optimizer = cls([p], lr=0.1, **options)
    optimizer.step()
    optimizer.step()
    assert p._data is data and not np.array_equal(data, before)
    assert np.array_equal(p.grad._data, g)
    arrays = [v for v in optimizer._states[p].values() if isinstance(v, np.ndarray)]
    assert not any(np.shares_memory(p.grad._data, v) for v in arrays)


def test_backward_notices_a_step():
    (x,) = make((3,))
    y = ops.sum(x * x)
    y.backward(retain_graph=True)
    SGD([x], lr=0.1).step()
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()


def test_a_parameter_without_gradient_stays():
    a, b = make((3,), (2,))
    before = a._data.copy()
    b.grad = Tensor(b._data)
    optimizer = AdamW([a, b], lr=0.1)
    optimizer.step()
    assert np.array_equal(a._data, before) and optimizer.steps == 1
    assert optimizer.state_dict()["state"].keys() == {1}


def test_step_takes_a_closure():
    (x,) = make((3,))
    before, optimizer = x._data.copy(), SGD([x], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = ops.sum(x * x)
        loss.backward()
        return loss

    with no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == pytest.approx((before**2).sum(), rel=1e-6)
    np.testing.assert_allclose(x._data, 0.8 * before, rtol=1e-6)
    assert SGD([x], lr=0.1).step() is None


def test_zero_grad_sets_gradients_to_none_or_0():
    a, b = make((3,), (2,))
    a.grad = Tensor(a._data)
    optimizer = SGD([a, b], lr=0.1)
    optimizer.zero_grad(set_to_none=False)
    assert np.array_equal(a.grad._data, np.zeros(3)) and a.grad.dtype == np.float32 and b.grad is None
    optimizer.zero_grad()
    assert a.grad is None


# Changes of a parameter between two steps -----------------------------------------------------------------------------


def cast(p, dtype):
    p.data = p._data.astype(dtype)


@pytest.mark.parametrize("cls, options", ALL)
def test_state_follows_a_cast_there_and_back(cls, options):
    (p,), (exact,) = make((5, 7)), make((5, 7), dtype="float64")
    exact.data = p._data.astype("float64")
    a, b = cls([p], lr=0.01, **options), cls([exact], lr=0.01, **options)
    for n, dtype in enumerate(["float32", "float32", "float64", "float64", "float32", "float32"]):
        cast(p, dtype)
        run(a, [p], 1, first=n)
        fill([exact], n)
        exact.grad = Tensor(exact.grad._data.astype(dtype).astype("float64"))
        b.step()
        assert all(v.dtype == dtype for name, v in a._states[p].items() if name != "step")
    assert_close(p._data, exact._data)


def swapped(p):
    """Move p's values to new memory, in the other order."""
    other = "C" if p._data.flags.f_contiguous else "F"
    p.data = np.array(p._data, order=other)


def within(p):
    """Move p's values into every second column of a wider array."""
    wide = np.full((p.shape[0], 2 * p.shape[1]), 7, p.dtype)
    wide[:, ::2] = p._data
    p.data = wide[:, ::2]


@pytest.mark.parametrize("cls, options", ALL)
@pytest.mark.parametrize("first", ["C", "F"])
@pytest.mark.parametrize("move", [swapped, within], ids=lambda f: f.__name__)
def test_the_layout_of_a_parameter_may_change(cls, options, first, move):
    values = np.random.default_rng(0).standard_normal((4, 6)).astype("float32")
    p, plain = (Tensor(np.array(values, order=order), requires_grad=True) for order in (first, "C"))
    a, b = cls([p], lr=0.01, **options), cls([plain], lr=0.01, **options)
    run(b, [plain], 6)
    run(a, [p], 2)
    move(p)
    memory = p._data.base
    run(a, [p], 2, first=2)
    p.data = p._data.copy()
    run(a, [p], 2, first=4)
    assert_close(p._data, plain._data)
    if move is within:
        assert memory is not None and (memory[:, 1::2] == 7).all()


@pytest.mark.parametrize("cls, options", ALL)
@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_a_copy_of_parameters_and_optimizer_continues_identically(cls, options, again):
    params = make((4, 6), (3,))
    params[0].data = np.asfortranarray(params[0]._data)
    optimizer = cls(params, lr=0.01, **options)
    run(optimizer, params, 2)
    params2, optimizer2 = again((params, optimizer))
    run(optimizer, params, 2, first=2)
    run(optimizer2, params2, 2, first=2)
    for p, q in zip(params, params2, strict=True):
        assert_close(q._data, p._data)


def read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("data, message", [
    (np.zeros((8, 9)), r"a parameter of shape \(8, 9\) has a gradient of shape \(4, 6\); they must be equal"),
    (read_only(np.zeros((4, 6))), r"a parameter of shape \(4, 6\) has read-only memory"),
])
def test_data_that_cannot_be_trained_is_refused(dtype, data, message):
    p, q = make((4, 6), (2,))
    fill([p, q], 0)
    data = data.astype(dtype)
    data.flags.writeable = "read-only" not in message
    p.data, before = data, q._data.copy()
    optimizer = Adam([q, p], lr=0.1)
    with pytest.raises(ValueError, match=f"Adam.step: {message}"):
        optimizer.step()
    assert np.array_equal(q._data, before) and optimizer.steps == 0 and not any(
        np.array(v).any() for state in optimizer.state.values() for v in state.values())


@pytest.mark.parametrize("shape", [(8, 9), (6, 4), (24,), (4,), (0,)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("cls, options", [
    (cls, options) for cls, options in ALL if "momentum" in options or not issubclass(cls, SGD)])
def test_data_of_another_shape_is_refused_if_there_is_state(cls, options, dtype, shape):
    p, q = make((4, 6), (2,))
    optimizer = cls([q, p], lr=0.1, **options)
    run(optimizer, [p, q], 1)
    p.data = np.ones(shape, dtype)
    fill([p, q], 1)
    before, steps = q._data.copy(), optimizer.state[q].get("step")
    with pytest.raises(ValueError, match=rf"of shape {re.escape(str(shape))} has \w+ of shape \(4, 6\); if you"):
        optimizer.step()
    assert (p._data == 1).all() and np.array_equal(q._data, before) and optimizer.state[q].get("step") == steps
    optimizer.state[p].clear()
    optimizer.step()
    assert optimizer.steps == 2


def plainly(step):
    return step


@pytest.mark.parametrize("wrap", [plainly, capture])
@pytest.mark.parametrize("change", [
    lambda state: [s["exp_avg"].mul_(0.5) for s in state.values()],
    lambda state: [v.zero_() for s in state.values() for v in s.values() if isinstance(v, Tensor)],
    lambda state: [s["exp_avg_sq"].__setitem__(0, 0.25) for s in state.values()]])
def test_a_program_may_change_the_state_in_place(wrap, change):
    """In a captured function too."""
    (p,), (q,) = make((4, 6)), make((4, 6))
    a, b = Adam([p], lr=0.01), Adam([q], lr=0.01)
    calls = []

    def step(x):
        p.grad = None
        (p * x).sum().backward()
        a.step()
        change(a.state)
        len(calls) or calls.append(1)

    step = wrap(step)
    for n in range(6):
        x = Tensor(np.random.default_rng(n).standard_normal((4, 6)).astype("float32"))
        step(x)
        q.grad = Tensor(x)
        b.step()
        arrays = b._states[q]
        change({q: {k: Tensor.from_numpy(v) for k, v in arrays.items() if k != "step"}})
    np.testing.assert_allclose(p._data, q._data, rtol=1e-6)
    for name in "exp_avg", "exp_avg_sq":
        np.testing.assert_allclose(a.state[p][name].numpy(), b.state[q][name].numpy(), rtol=1e-6)
        assert a.state[p][name]._data is a._states[p][name]
    if wrap is capture:
        assert "calls of kernels" in str(step)


def test_state_is_a_mapping():
    p, q = make((3,), (2,))
    optimizer = SGD([p, q], lr=0.1, momentum=0.9)
    run(optimizer, [p, q], 2)
    state, other = optimizer.state, Tensor([1.0])
    assert set(state) == {p, q} and p in state and other not in state and state.get(other) is None and len(state) == 2
    assert "momentum_buffer" in state[p] and state[p].get("no") is None
    before = state[p]["momentum_buffer"].clone()
    for kept in state.values():
        for name, value in kept.items():
            if isinstance(value, Tensor):
                kept[name] = value.to("cpu")
    state[p]["momentum_buffer"] = before * 2
    assert type(optimizer._states[p]["momentum_buffer"]) is np.ndarray
    assert (state[p]["momentum_buffer"] == before * 2).all() and "momentum_buffer" in repr(state)
    state[q] = {}
    optimizer.step()
    assert np.array_equal(state[q]["momentum_buffer"], q.grad) and optimizer.steps == 3
    del state[p]["momentum_buffer"], state[q]
    optimizer.step()
    assert np.array_equal(state[p]["momentum_buffer"], p.grad)


@pytest.mark.parametrize("views", [lambda a: (a[:6], a[4:]), lambda a: (a, a), lambda a: (a[::2], a[:3])])
def test_parameters_that_share_memory_are_refused(views):
    a, b = (Tensor.from_numpy(view).requires_grad_() for view in views(np.zeros(10, "float32")))
    with pytest.raises(ValueError, match=r"SGD: parameters of shapes .* share memory; copy one"):
        SGD([a, b], lr=0.1)
    optimizer = SGD([a], lr=0.1)
    with pytest.raises(ValueError, match="share memory"):
        optimizer.add_param_group({"params": [b]})
    assert len(optimizer.param_groups) == 1


def test_interleaved_views_may_be_parameters():
    memory = np.zeros((2, 6), "float32")
    a, b = (Tensor.from_numpy(memory[:, i::2]).requires_grad_() for i in (0, 1))
    a.grad, b.grad = Tensor.ones(2, 3), Tensor.full((2, 3), 2.0)
    SGD([a, b], lr=1.0).step()
    assert memory.tolist() == [[-1, -2] * 3] * 2


# Interrupts -----------------------------------------------------------------------------------------------------------


PACKAGES = tuple(str(Path(optim.__file__).parents[1] / name) for name in ("optim", "tinygrad_like"))


def interrupted(step, n):
    """Call `step`, raising KeyboardInterrupt at the packages' n-th bytecode; return whether there is one."""
    left = count(n, -1)

    def trace(frame, event, argument):
        if not frame.f_code.co_filename.startswith(PACKAGES):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and next(left) == 0:
            raise KeyboardInterrupt
        return trace

    old = sys.gettrace()
    sys.settrace(trace)
    try:
        step()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(old)
        while threads.pool._is_owned():  # Python handles no signal between a block and its exit
            threads.pool.release()
    return False


@pytest.mark.parametrize("cls, options", [(SGD, dict(momentum=0.9, dampening=0.3)), (AdamW, {})])
def test_an_interrupted_step_is_either_complete_or_not_begun(cls, options):
    """At every third bytecode: with kernels for two groups of options, and a formula for float64."""
    def start():
        params = make((3, 5), (2,)) + make((4,), dtype="float64")
        optimizer = cls([{"params": params[:1]}, {"params": params[1:], "weight_decay": 0.1}], lr=0.1, **options)
        return params, optimizer

    def picture(params, optimizer):
        return ([p._data.tolist() for p in params], optimizer.steps,
                [{k: np.array(v).tolist() for k, v in optimizer.state[p].items() if np.array(v).any()} for p in params])

    params, optimizer = start()
    fill(params, 0)
    pictures = [picture(params, optimizer)]
    for _ in range(2):
        optimizer.step()
        pictures.append(picture(params, optimizer))
    seen = []
    for n in count(step=3):
        params, optimizer = start()
        fill(params, 0)
        if not interrupted(optimizer.step, n):
            break
        now = picture(params, optimizer)
        assert now in pictures[:2], f"bytecode {n}"
        seen.append(pictures.index(now))
        optimizer.step()
        assert picture(params, optimizer) == pictures[seen[-1] + 1]
    assert seen == sorted(seen) and set(seen) == {0, 1} and len(seen) > 150


# The learning rate --------------------------------------------------------------------------------------------------


def test_a_schedule_is_followed():
    (x,) = make((1,))
    rates = [0.5, 0.25, 0.125]
    optimizer = SGD([x], lr=lambda step: np.float64(rates[step]))
    for rate in rates:
        assert optimizer.lr == rate and type(optimizer.lr) is float
        before = x._data.copy()
        x.grad = Tensor([1.0])
        optimizer.step()
        np.testing.assert_allclose(before - x._data, rate, rtol=1e-6)
        assert x.dtype == np.float32


def test_setting_lr_sets_every_group():
    a, b = make((1,), (1,))
    optimizer = SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1)
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 0.5] and optimizer.lr == 0.1
    optimizer.lr = 0.3
    assert [g["lr"] for g in optimizer.param_groups] == [0.3, 0.3]
    with pytest.raises(ValueError, match="lr=-1 must be"):
        optimizer.lr = -1


# Groups -------------------------------------------------------------------------------------------------------------


def test_groups_have_their_own_options():
    a, b, c = make((1,), (1,), (1,))
    optimizer = SGD(({"params": [p], **o} for p, o in [(a, {}), (b, {"lr": 0.5, "weight_decay": 1.0})]), lr=0.1)
    optimizer.add_param_group({"params": c, "lr": schedule.constant(2.0)})
    before = [p._data.copy() for p in (a, b, c)]
    for p in (a, b, c):
        p.grad = Tensor([1.0])
    optimizer.step()
    for p, old, expected in zip((a, b, c), before, (0.1, 0.5 * (1 + before[1]), 2.0), strict=True):
        np.testing.assert_allclose(old - p._data, expected, rtol=1e-5)


def test_repr_shows_groups_and_steps():
    a, b = make((40, 30), (2,))
    optimizer = SGD([{"params": [a]}, {"params": [b], "lr": schedule.linear(1, 0, 4)}], lr=0.1, momentum=0.9)
    optimizer.steps = 1
    assert repr(optimizer) == """\
SGD(
  1 parameters of 1,200 numbers: lr=0.1, momentum=0.9, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False
  1 parameters of 2 numbers: lr=0.75, momentum=0.9, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False
) after 1 steps"""


# Checkpoints --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls, options", ALL)
def test_resuming_is_exact(cls, options):
    shapes = [(3, 5), (4,)]
    rate = schedule.warmup(3, schedule.cosine(0.1, 10), start=0.01)
    straight, resumed = make(*shapes), make(*shapes)
    run(cls(straight, rate, **options), straight, 8)

    first = cls(resumed, rate, **options)
    run(first, resumed, 4)
    tree = first.state_dict()
    second = cls(resumed, rate)
    second.load_state_dict(tree)
    assert second.steps == 4 and second.lr == rate(4)
    run(second, resumed, 4, first=4)
    for p, q in zip(straight, resumed, strict=True):
        assert np.array_equal(p._data, q._data)


def test_a_state_dict_is_a_copy_and_a_plain_tree():
    params = make((3,), (2,))
    optimizer = AdamW([{"params": params[:1]}, {"params": params[1:], "lr": schedule.linear(1.0, 0.0, 4)}], lr=0.1)
    run(optimizer, params, 2)
    tree = optimizer.state_dict()
    m = tree["state"][0]["exp_avg"].copy()
    run(optimizer, params, 1)
    assert np.array_equal(tree["state"][0]["exp_avg"], m)
    assert tree["step"] == 2 and tree["state"][1]["step"] == 2
    assert [g["params"] for g in tree["param_groups"]] == [[0], [1]]
    assert [g["lr"] for g in tree["param_groups"]] == [0.1, 0.5]

    def leaves(x):
        if isinstance(x, dict):
            return [leaf for v in x.values() for leaf in leaves(v)]
        return [leaf for v in x for leaf in leaves(v)] if isinstance(x, list | tuple) else [x]

    assert {type(leaf) for leaf in leaves(tree)} <= {int, float, bool, np.ndarray}

    optimizer.load_state_dict(tree)
    run(optimizer, params, 1)
    assert np.array_equal(tree["state"][0]["exp_avg"], m)
    assert optimizer.param_groups[0]["lr"] == 0.1 and optimizer.lr == 0.1 and callable(optimizer.param_groups[1]["lr"])


def test_state_is_loaded_in_the_parameters_dtype_and_string_keys_are_indices():
    (p,) = make((3,))
    optimizer = SGD([p], lr=0.1, momentum=0.9)
    group = {**optimizer.state_dict()["param_groups"][0], "lr": 0.7, "foreach": None}
    optimizer.load_state_dict({"state": {"0": {"momentum_buffer": np.arange(3.0)}}, "param_groups": [group]})
    assert optimizer.state[p]["momentum_buffer"].dtype == np.float32
    assert optimizer.lr == 0.7 and optimizer.steps == 0
    assert optimizer.param_groups[0]["foreach"] is None  # kept, like any unknown key


@pytest.mark.parametrize("change, message", [
    (lambda tree: tree.pop("state"), "expected a dict with .*, got a dict with keys 'param_groups', 'step'"),
    (lambda tree: tree["param_groups"].append({"params": [2]}), r"have \[2, 1\] parameters, this optimizer.s have"),
    (lambda tree: tree["state"][1].update(exp_avg=np.zeros(5)), r"exp_avg of parameter 1 has shape \(5,\), but"),
    (lambda tree: tree["state"][0].update(momentum_buffer=np.zeros(3)),
     "momentum_buffer of parameter 0 is not part of Adam's state, which has exp_avg, exp_avg_sq, max_exp_avg_sq"),
    (lambda tree: tree["param_groups"][0].update(eps=-1), "Adam: eps=-1 must be >= 0"),
    (lambda tree: tree["state"][1].update(exp_avg=np.zeros(2, complex)), "exp_avg of parameter 1 is complex128, but"),
    (lambda tree: tree["state"][1].update(exp_avg=["a", "b"]), "exp_avg of parameter 1 is <U1, but the parameter is f"),
    (lambda tree: tree["state"][1].update(step=-1), "step of parameter 1 is -1, but it must be a count of steps"),
    (lambda tree: tree.update(step=float("inf")), r"not have the form of a state_dict \(OverflowError"),
    (lambda tree: tree.update(state=[]), "not have the form of a state_dict"),
    (lambda tree: tree["param_groups"][0].pop("params"), r"not have the form of a state_dict \(KeyError\('params'\)\)"),
    (lambda tree: tree["param_groups"][0].update(lr="fast"), "Adam: lr='fast' must be a number"),
    (lambda tree: tree["state"].update({7: {"step": 1}}), "the state has a parameter 7, but there are only 2"),
])
def test_a_checkpoint_that_does_not_fit_changes_nothing(change, message):
    params = make((3,), (2,))
    optimizer = Adam(params, lr=0.1)
    run(optimizer, params, 2)
    tree = optimizer.state_dict()
    tree["param_groups"][0]["lr"] = 9.0
    change(tree)
    with pytest.raises(ValueError, match=message):
        optimizer.load_state_dict(tree)
    assert optimizer.lr == 0.1 and optimizer.state[params[0]]["step"] == 2


@pytest.mark.parametrize("cls, options", ALL)
@pytest.mark.parametrize("forget", [lambda o: o.state.clear(), lambda o: setattr(o, "state", defaultdict(dict))])
def test_cleared_state_starts_again(cls, options, forget):
    first, second = make((3, 2), (2,)), make((3, 2), (2,))
    a, b = cls(first, lr=0.1, **options), cls(second, lr=0.1, **options)
    run(a, first, 3)
    for p, q in zip(first, second, strict=True):
        q.data[...] = p._data
    forget(a)
    assert a.state_dict()["state"] == {}
    first[0].grad = None
    run(a, first[1:], 1)
    run(b, second[1:], 1)
    assert a.state_dict()["state"].keys() == b.state_dict()["state"].keys()
    run(a, first, 2)
    run(b, second, 2)
    for p, q in zip(first, second, strict=True):
        np.testing.assert_array_equal(p._data, q._data)
    a.load_state_dict(b.state_dict())


@pytest.mark.parametrize("cls", [SGD, Adam, RMSProp])
def test_the_users_keys_are_kept_in_groups_and_checkpoints(cls):
    (x, y), own = make((3,), (2,)), {"lr_scale": 0.5, "use_muon": True, "initial_lr": 0.3, "name": "head"}
    optimizer = cls([{"params": [x]}, {"params": [y], **own}], lr=0.1)
    assert own.items() <= optimizer.param_groups[1].items() and not own.keys() & optimizer.param_groups[0].keys()
    optimizer.add_param_group({"params": make((4,)), "depth": 3})
    (x, y, z) = make((3,), (2,), (4,))
    other = cls([{"params": [p]} for p in (x, y, z)], lr=0.2)
    other.load_state_dict(optimizer.state_dict())
    assert own.items() <= other.param_groups[1].items() and other.param_groups[2]["depth"] == 3
    for group in other.param_groups:
        group["lr"] *= group.get("lr_scale", 1.0)
    assert [group["lr"] for group in other.param_groups] == [0.1, 0.05, 0.1]


@pytest.mark.parametrize("cls", [SGD, Adam, optim.LBFGS])
def test_a_step_without_any_gradient_warns(cls):
    (x, y) = make((3,), (2,))
    optimizer, before = cls([x, y], lr=0.1), x.tolist()
    closure = [lambda: Tensor(1.0)] if cls is optim.LBFGS else []
    with pytest.warns(UserWarning, match=f"{cls.__name__}.step: no parameter has a gradient, so none changes") as seen:
        optimizer.step(*closure)
    assert len(seen) == 1 and x.tolist() == before
    assert seen[0].filename == __file__
    if cls is not optim.LBFGS:
        y.grad = Tensor([1.0, 1.0])  # one is enough
        optimizer.step()
        y.grad = Tensor([0.0, 0.0])
        optimizer.step()


# Bad input ----------------------------------------------------------------------------------------------------------

X, Y = make((3,), (2,))


@pytest.mark.parametrize("params, error, message", [
    ([], ValueError, r"SGD: no parameters; a generator like model.parameters\(\) can be read only once"),
    ([{"params": []}], ValueError, "SGD: no parameters"),
    (X, TypeError, r"SGD: params is a single Tensor; pass a list of Tensors or of groups, such as .* \[x\]"),
    (3, TypeError, "SGD: params is a single int; pass a list"),
    ({"w": X}, TypeError, "SGD: params is a single dict; pass a list"),
    ([X, np.zeros(3)], TypeError, "SGD: parameter 1 is a ndarray, not a Tensor; pass model.parameters"),
    ([("w", X)], TypeError, "SGD: parameter 0 is a tuple"),
    ([Tensor([1.0])], ValueError, r"SGD: parameter 0 \(shape \(1,\)\), as all others, does not require grad; call"),
    ([X * 2], ValueError, r"SGD: parameter 0 \(shape \(3,\)\) was computed by mul; only leaves"),
    ([X, Y, X], ValueError, r"SGD: parameter 2 \(shape \(3,\)\) is given twice"),
    ([{"params": [X]}, {"params": [Y, X]}], ValueError, r"SGD: parameter 1 \(shape \(3,\)\) is given twice"),
    ([{"params": [X]}, Y], TypeError, "SGD: params mixes groups"),
    ([{"param": [X]}], TypeError, "SGD: a group must be a dict with \"params\", got a dict with keys 'param'"),
    ([{"params": [X], "momentun": 0.9}], ValueError, "unknown option 'momentun' of a group; did you mean 'momentum'"),
    ([{"params": [X], "momentum": -1}], ValueError, "SGD: momentum=-1 must be >= 0"),
    ([{"params": [X], "lr": "fast"}], ValueError, "SGD: lr='fast' must be a number >= 0, or a schedule"),
])
def test_bad_parameters_are_refused(params, error, message):
    with pytest.raises(error, match=message):
        SGD(params, lr=0.1)


def test_the_base_class_says_what_is_missing():
    (x,) = make((2,))
    x.grad = Tensor(x._data)
    with pytest.raises(NotImplementedError, match="Optimizer must define update"):
        Optimizer([x], lr=0.1).step()


def test_users_define_an_optimizer_by_its_formula():
    class SignDescent(Optimizer):
        def update(self, x, g, state, lr):
            x -= lr * np.sign(g)

    (x,) = make((4,))
    before = x._data.copy()
    x.grad = Tensor([1.0, -2.0, 0.0, 3.0])
    optimizer = SignDescent([x], lr=0.5)
    optimizer.step()
    np.testing.assert_allclose(before - x._data, [0.5, -0.5, 0.0, 0.5], atol=1e-6)
    assert optimizer.state_dict()["state"] == {0: {"step": 1}}


class Signs(Optimizer):
    """An optimizer written for PyTorch."""

    def __init__(self, params, lr=1e-4, beta=0.9):
        if lr is optim.optimizer.required:
            raise ValueError
        super().__init__(params, dict(lr=lr, beta=beta))

    def __setstate__(self, state):
        super().__setstate__(state)

    @no_grad()
    def step(self, closure=None):
        with enable_grad():
            loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if len(state) == 0:
                    state["step"], state["exp_avg"] = 0, Tensor.zeros_like(p)
                state["step"] += 1
                state["exp_avg"].mul_(group["beta"]).add_(p.grad, alpha=1 - group["beta"])
                p.add_(state["exp_avg"].sign(), alpha=-group["lr"])
        return loss


def test_an_optimizer_written_for_pytorch_works():
    def trained(x, optimizer, steps):
        def closure():
            optimizer.zero_grad()
            loss = (x ** 2).sum()
            loss.backward()
            return loss

        for _ in range(steps):
            assert optimizer.step(closure).requires_grad
        return x.detach().numpy()

    x = Tensor([1.0, -2.0, 3.0], requires_grad=True)
    optimizer = Signs([{"params": x, "note": "any"}], lr=0.1)
    np.testing.assert_allclose(trained(x, optimizer, 2), [0.8, -1.8, 2.8], rtol=1e-6)
    saved = optimizer.state_dict()
    assert saved["state"][0]["step"] == 2 and isinstance(saved["state"][0]["exp_avg"], Tensor)
    assert saved["param_groups"][0]["note"] == "any"
    y = Tensor(x.detach().numpy(), requires_grad=True)
    again = Signs([y], lr=1.0)
    again.load_state_dict(saved)
    np.testing.assert_array_equal(trained(x, optimizer, 12), trained(y, again, 12))
    assert copy.deepcopy(again).param_groups[0]["lr"] == 0.1
    optim.lr_scheduler.StepLR(again, 1, gamma=0.5).step()
    assert again.param_groups[0]["lr"] == 0.05


def test_an_optimizer_may_take_anothers_groups():
    x = Tensor([1.0, 2.0], requires_grad=True)

    class Wrapped(Optimizer):
        def __init__(self, params, rho):
            super().__init__(params, dict(rho=rho))
            self.base = SGD(self.param_groups, lr=0.1)
            self.param_groups = self.base.param_groups

        def step(self):
            return self.base.step()

    optimizer = Wrapped([x], 0.05)
    (x * x).sum().backward()
    optimizer.step()
    np.testing.assert_allclose(x.detach().numpy(), [0.8, 1.6], rtol=1e-6)
    assert optimizer.param_groups[0]["rho"] == 0.05 and optimizer.state_dict()["param_groups"][0]["lr"] == 0.1
