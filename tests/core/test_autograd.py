"""The engine: first on plain floats, where only the walk is at work, then through Tensors."""

import gc
import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tinygrad_like as torch
from tinygrad_like import Tensor, checkpoint, detect_anomaly, enable_grad, is_grad_enabled, no_grad, ops, primitive
from tinygrad_like.core import graph as autograd
from tinygrad_like.core.dispatch import declared
from tinygrad_like.core.graph import Node, mode, setting, tick, walk
from tinygrad_like.transforms import switches

# The engine alone -----------------------------------------------------------------------------------------------------
# A leaf is any hashable object, here a string; a cotangent is anything with +, here a float.


class Linear:
    """y = sum of slope * input: pulls g back to slope * g, and logs the call."""

    fresh, saves = False, True

    def __init__(self, name, log):
        self.name, self.log = name, log

    def pull(self, node, g, parents):
        self.log.append(self.name)
        return [None if p is None else slope * g for p, slope in zip(parents, node.saved, strict=True)]


@pytest.fixture
def log():
    return []


@pytest.fixture
def record(log):
    def record(name, *terms):
        node = Node()
        node.op, node.parents, node.saved = Linear(name, log), [p for p, _ in terms], [slope for _, slope in terms]
        node.order, node.extra = tick(), None
        return node

    return record


def test_the_engine_imports_no_arrays():
    """Loaded by itself, the file imports neither NumPy nor anything else of the package."""
    code = ("import importlib.util, sys; spec = importlib.util.spec_from_file_location('alone', sys.argv[1]); "
            "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module); "
            "print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'numba', 'tinygrad_like')])")
    path = Path(importlib.util.find_spec("tinygrad_like").origin).parent / "core" / "graph.py"
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_root_may_be_a_leaf():
    assert walk("x", 2.0) == {"x": 2.0}


def test_every_node_is_pulled_once(record, log):
    """100 stacked diamonds have 2^100 paths; the walk passes each node once."""
    y = "x"
    for i in range(100):
        y = record(i, (y, 1.0), (y, 1.0))
    assert walk(y, 1.0, targets={"x"}, retain=True) == walk(y, 1.0) == {"x": 2.0**100}
    assert log == 2 * list(range(99, -1, -1))


def test_the_order_is_reverse_creation_not_depth(record, log):
    """The long branch is older than the short one, so it is walked after it."""
    long = record("l2", (record("l1", ("x", 1.0)), 1.0))
    short = record("s", ("x", 1.0))
    walk(record("y", (long, 1.0), (short, 1.0)), 1.0)
    assert log == ["y", "s", "l2", "l1"]


class Buffer:
    """A mutable number, like an array: += writes, + makes a new one."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Buffer(self.value + other.value)

    def __iadd__(self, other):
        self.value += other.value
        return self


@pytest.mark.parametrize("kinds", list(itertools.product([True, False], repeat=3)), ids=str)
def test_a_sum_takes_one_new_buffer_unless_an_ops_is_fresh(record, monkeypatch, kinds):
    """Some uses of x return fresh buffers, the others a buffer that someone else holds."""
    held = [Buffer(10.0**i) for i in range(3)]
    made = []

    class Use:
        name, saves = "use", False

        def __init__(self, fresh, buffer):
            self.fresh, self.buffer = fresh, buffer

        def pull(self, node, g, parents):
            return [Buffer(self.buffer.value) if self.fresh else self.buffer]

    def add(a, b):
        made.append(Buffer(a.value + b.value))
        return made[-1]

    monkeypatch.setattr(Buffer, "__add__", add)
    nodes = [record(i, ("x", None)) for i in range(3)]
    for node, fresh, buffer in zip(nodes, kinds, held, strict=True):
        node.op = Use(fresh, buffer)
    root, owned = record("root", *[(node, 1.0) for node in nodes]), set()
    assert walk(root, 1.0, owned=owned)["x"].value == 111.0 and "x" in owned
    assert [b.value for b in held] == [1.0, 10.0, 100.0]
    assert len(made) == (not kinds[2] and not kinds[1])  # the latest use is pulled first


def test_since_stops_at_older_nodes_and_returns_their_cotangents(record, log):
    old = record("old", ("x", 7.0))
    now = tick()
    y = record("y2", (record("y1", (old, 2.0), ("z", 3.0)), 5.0))
    for since in now, old.order:  # a node of exactly this tick is old
        assert walk(y, 1.0, since=since, retain=True) == {old: 10.0, "z": 15.0}
    assert log == ["y2", "y1"] * 2 and old.parents is not None


def test_targets_prune_the_other_branches(record, log):
    b = record("b", ("x", 2.0))
    aside = record("aside", ("w", 1.0))
    c = record("c", (b, 3.0), (aside, 1.0))
    d = record("d", (c, 5.0), (b, 1.0))
    assert walk(d, 1.0, targets={b}, retain=True) == {b: 16.0}
    assert log == ["d", "c"]  # b's hooks run, but b is not pulled
    assert walk(d, 1.0, targets={"w", b}, retain=True) == {"w": 5.0, b: 16.0}
    assert walk(d, 1.0, targets={d}, retain=True) == {d: 1.0}
    assert walk(d, 1.0, targets={"elsewhere"}, retain=True).get("elsewhere") is None
    b.add_hook(lambda g: g * 2)
    assert walk(d, 1.0, targets={b, "x"}) == {b: 32.0, "x": 64.0}


def test_a_leaf_is_older_than_the_very_first_node(record):
    h = record("h", ("x", 2.0))
    h.order = 1
    assert walk(record("y", (h, 3.0)), 1.0, targets={"x"}) == {"x": 6.0}


def test_a_node_freed_during_the_walk_is_reported():
    """By another thread, after the walk took its parents and before its rule reads the saved values."""
    for op in (lambda x: x.exp(), lambda x: ops.linear(x, x), lambda x: checkpoint(lambda x: x * x, x)):
        y = op(leaf([[2.0]]))
        parents, y.node.saved = y.node.parents, None
        with pytest.raises(RuntimeError, match=f"through {y.node.op.name} was already freed"):
            y.node.op.pull(y.node, np.ones(y.shape, np.float32), parents)


# Through Tensors: backward --------------------------------------------------------------------------------------------


def leaf(*values, **options):
    return Tensor(values[0] if len(values) == 1 else list(values), requires_grad=True, **options)


def assert_close(tensor, expected, rtol=1e-6):
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=rtol)


def test_backward_fills_leaves_and_accumulates():
    x, w, c = leaf(1.0, 2.0), leaf(3.0, 4.0), Tensor([5.0, 6.0])
    y = (x * w + c).sum()
    y.backward()
    assert_close(x.grad, [3, 4])
    assert_close(w.grad, [1, 2])
    assert c.grad is None and y.grad is None
    (x * 10).sum().backward()
    assert_close(x.grad, [13, 14])
    x.zero_grad()
    assert x.grad is None
    (x * x).sum().backward(create_graph=True)
    assert x.grad.requires_grad
    (x * x).sum().backward()  # adds numbers to a gradient with a graph
    assert_close(x.grad, [4, 8])


def test_a_gradient_shares_no_memory_with_the_cotangent():
    x, g = leaf(1.0, 2.0), Tensor([1.0, 1.0])
    (x + 0.0).backward(g)
    g.assign([7.0, 7.0])
    assert_close(x.grad, [1, 1])
    x = leaf(1.0, 2.0)
    x.backward(g)
    g.assign([8.0, 8.0])
    assert_close(x.grad, [7, 7])


def test_a_rule_cannot_write_into_the_shared_initial_cotangent():
    op = primitive(lambda x: x * 2)
    op.vjp(x=lambda g: np.multiply(g, 2, out=g))
    x = Tensor(1.0, requires_grad=True)
    with pytest.raises(ValueError, match="read-only"):
        op(x).backward()
    assert (x * 1.0).gradient(x)[0].item() == 1


def test_a_vector_needs_a_cotangent():
    with pytest.raises(ValueError, match=r"shape \(2,\) needs gradient=.*\.sum\(\) or \.mean\(\)"):
        (leaf(1.0, 2.0) * 2).backward()
    with pytest.raises(ValueError, match=r"gradient has shape \(3,\) but the Tensor has shape \(2,\)"):
        (leaf(1.0, 2.0) * 2).backward([1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match="backward: this Tensor does not require grad"):
        Tensor([1.0]).backward()


@pytest.mark.parametrize("made", [
    lambda x: x.double(), lambda x: x.view(4), lambda x: x.T, lambda x: x[0], lambda x: x + 1, lambda x: -x,
    lambda x: x.sum(0), lambda x: x.mean(), lambda x: x.expand(2, 2, 2), lambda x: x.pad((1, 1)), lambda x: x.clone(),
    lambda x: x.cat(x), lambda x: x.flip(0).cumsum(0)])
def test_a_cast_or_view_serves_many_losses(made):
    """As in PyTorch: such ops save nothing, so backward frees nothing."""
    x, alone = leaf([[1.0, 2.0], [3.0, 4.0]]), leaf([[1.0, 2.0], [3.0, 4.0]])
    h = made(x)
    for k in (2.0, 3.0):
        (h * h * k).sum().backward()
        y = made(alone)
        (y * y * k).sum().backward()
    assert_close(x.grad, alone.grad)
    once, = h.sum().gradient(x)
    again, = h.sum().gradient(x)
    assert_close(once, again)


# gradient -------------------------------------------------------------------------------------------------------------


def test_gradient_of_an_inner_value_and_of_itself():
    x = leaf(2.0)
    h = x * x
    y = h * h
    dh, dx, dy, again = y.gradient(h, x, y, h)
    assert (dh.item(), dx.item(), dy.item(), again.item()) == (8, 32, 1, 8)
    assert dh._data is not again._data


def test_gradient_refuses_unreachable_targets_unless_materialized():
    x, z = leaf(1.0), leaf([1.0, 2.0])
    with pytest.raises(ValueError, match=r"does not depend on target 1 \(shape \(2,\)\); pass materialize_grads=True"):
        (x * 2).gradient(x, z)
    dx, dz = (x * 2).gradient(x, z, materialize_grads=True)
    assert dx.item() == 2
    assert_close(dz, [0, 0])
    with pytest.raises(ValueError, match="target 0, a Tensor, is not a Tensor that requires grad"):
        (x * 2).gradient(Tensor([1.0]))


def test_gradient_fills_no_grad():
    x = leaf(2.0)
    h = (x * x).retain_grad()
    (h * 3).gradient(x)
    assert h.grad is None
    (x * x * 3).backward()
    x.register_hook(lambda g: (x * x).retain_grad().backward())  # a backward inside still fills .grad
    assert x.grad.item() == 12


# Switches -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("switch", "inside"), [
    (no_grad, False), (enable_grad, True), (torch.inference_mode, False),
    *[(switch, inside) for inside in (False, True) for switch in (
        lambda inside=inside: torch.set_grad_enabled(inside), lambda inside=inside: torch.set_grad_enabled(mode=inside),
        lambda inside=inside: torch.inference_mode(not inside))]])
@pytest.mark.parametrize("outside", [False, True])
def test_every_form_of_a_recording_switch_works(switch, inside, outside):
    def steps():
        yield is_grad_enabled()

    class Model:
        @switch()
        def forward(self):
            return is_grad_enabled()

    with torch.set_grad_enabled(outside):
        function, generator = switch()(lambda: is_grad_enabled()), switch()(steps)
        assert is_grad_enabled() == outside
        for _ in range(2):
            assert function() == Model().forward() == inside and list(generator()) == [inside]
            assert is_grad_enabled() == outside
        with switch():
            assert is_grad_enabled() == inside and function() == inside
        assert is_grad_enabled() == outside
        with pytest.raises(ZeroDivisionError):
            switch()(lambda: 1 / 0)()
        assert is_grad_enabled() == outside
        if isinstance(switch, type):  # without brackets
            assert switch(is_grad_enabled)() == inside and list(switch(steps)()) == [inside]
    assert is_grad_enabled() and switches._entered() == []


@pytest.mark.parametrize("switch", [no_grad, enable_grad, detect_anomaly])
def test_a_switch_may_be_entered_again(switch):
    before = mode.recording, mode.listener, np.geterr()
    once = switch()
    with once as entered, once:
        assert entered is once
        with once, switch():
            inside = mode.recording, mode.listener, np.geterr()
        assert (mode.recording, mode.listener, np.geterr()) == inside != before or switch is enable_grad
    assert (mode.recording, mode.listener, np.geterr()) == before


def test_switches_may_end_out_of_order():
    def steps():
        with no_grad():
            yield

    walking = steps()
    next(walking)  # leaves recording off, as a generator's with block does
    with enable_grad():
        walking.close()
    assert switches._entered() == [] and not is_grad_enabled()
    mode.recording = True


def test_a_decorated_generator_runs_its_own_steps_inside_the_switch():
    x, closed = leaf(1.0), []

    @no_grad()
    def steps():
        """Words."""
        try:
            given = yield (x * 2).requires_grad
            assert given == "sent" and not is_grad_enabled()
            try:
                yield is_grad_enabled()
            except KeyError:
                yield "caught", is_grad_enabled()
            return "returned"
        finally:
            closed.append(is_grad_enabled())

    def outer():
        return (yield from steps())

    assert steps.__doc__ == "Words."
    walking = outer()
    assert next(walking) is False and is_grad_enabled()
    assert walking.send("sent") is False and is_grad_enabled()
    assert walking.throw(KeyError()) == ("caught", False) and is_grad_enabled()
    with pytest.raises(StopIteration) as end:
        next(walking)
    assert end.value.value == "returned" and closed == [False] and is_grad_enabled()
    walking = steps()
    next(walking)
    walking.close()
    assert closed == [False, False] and is_grad_enabled()
    walking = steps()
    next(walking)
    with pytest.raises(ZeroDivisionError):
        walking.throw(ZeroDivisionError())
    assert list(no_grad()(lambda: [1, 2])()) == [1, 2]


def test_switches_refuse_asynchronous_functions():
    async def work():
        pass

    async def steps():
        yield

    for function in work, steps:
        with pytest.raises(TypeError, match=f"no_grad: {function.__name__} is asynchronous.*with block"):
            no_grad()(function)


# Exceptions in a walk -------------------------------------------------------------------------------------------------


def some_step(a, b, w):
    """Ops of every kind: plain, with views, fused, with several uses, checkpointed."""
    h = ops.linear(a, w, b).retain_grad()
    parts = h[:, :2] * h[:, 1:] + h.sum(axis=1, keepdim=True)
    k = checkpoint(lambda h: h.tanh() * b, h)
    return (ops.softmax(parts).sum() + (k * k).mean() + a.mean()) * 2.0


def leaves_of_a_step():
    r = np.random.default_rng(0)
    return [Tensor(r.standard_normal(s), requires_grad=True) for s in ((4, 5), (3,), (3, 5))]


def state_of_the_engine():
    return mode.recording, mode.listener, mode.filling, list(switches._entered()), np.geterr()


def interrupted(monkeypatch, method, at, error):
    """Make call number `at` of a method of ops raise, once."""
    calls = iter(range(10**6))

    def instead(op):
        def call(*args, **options):
            if next(calls) == at:
                raise error
            return getattr(type(op), method)(op, *args, **options)

        return call

    for op in declared:
        monkeypatch.setattr(op, method, instead(op))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), ValueError("planned")], ids=repr)
@pytest.mark.parametrize("how", [{}, {"retain_graph": True}, {"create_graph": True}], ids=str)
def test_an_exception_in_any_rule_leaves_everything_unchanged(monkeypatch, error, how):
    expected = leaves_of_a_step()
    some_step(*expected).backward(**how)
    before, stopped = state_of_the_engine(), 0
    for at in range(100):
        xs = leaves_of_a_step()
        loss = some_step(*xs)
        with monkeypatch.context() as patch:
            interrupted(patch, "pull", at, error)
            try:
                loss.backward(**how)
                assert state_of_the_engine() == before
                break
            except type(error):
                stopped += 1
        assert state_of_the_engine() == before and all(x.grad is None for x in xs)
        try:  # a retained or untouched graph can be walked; a freed one raises
            loss.backward(**how)
            assert how or at == 0
        except RuntimeError as freed:
            assert not how and "was already freed by an earlier backward, even if an exception stopped" in str(freed)
            some_step(*xs).backward(**how)
        for x, wanted in zip(xs, expected, strict=True):
            assert_close(x.grad, wanted.grad.detach().numpy())
    assert stopped > 10


# Simultaneous walks ---------------------------------------------------------------------------------------------------


def test_a_hook_may_call_backward():
    x, w, calls = leaf(2.0), leaf(5.0), []
    h, other = x * x, w * w
    h.register_hook(lambda g: other.backward())
    (h * 3).backward()
    assert x.grad.item() == 12 and w.grad.item() == 10
    x.zero_grad()
    h = x * x  # a part of the graph that backward walks
    y = h * 3
    h.register_hook(lambda g: calls.append(0) or len(calls) == 1 and y.backward(retain_graph=True) or None)
    y.backward(retain_graph=True)
    assert x.grad.item() == 24


def test_many_threads_may_add_to_one_leaf(in_threads):
    """Reading, adding and writing .grad are several steps."""
    x = leaf(*[1.0] * 50)

    def work(thread):
        for _ in range(100):
            (x * 1.0).sum().backward()

    in_threads(work)
    assert_close(x.grad, [400] * 50)


# Depth ----------------------------------------------------------------------------------------------------------------


def test_a_graph_of_40000_ops_can_be_walked_and_freed():
    """Forward, both kinds of walk, and deletion, without a RecursionError or a crash."""
    x, y = leaf(1.0), None
    for walk_it in (True, False):  # else the graph is deleted whole
        y = x
        for _ in range(20_000):
            y = (y * y.detach()).tanh()
        if walk_it:
            y.gradient(x, retain_graph=True)
            y.backward()
    assert np.isfinite(x.grad.item())
    del y
    gc.collect()


# Anomaly mode ---------------------------------------------------------------------------------------------------------


def test_anomaly_backward_names_op_and_the_line_of_the_forward():
    x = leaf(0.0)
    with detect_anomaly(), np.errstate(all="ignore"):
        y = x ** 0.5  # fine at 0, unlike its slope
        z = y * 2
        with pytest.raises(FloatingPointError, match=r"the VJP of pow made the first infinity .*"
                                                     r"test_autograd\.py:\d+: y = x \*\* 0\.5  # fine at 0"):
            z.backward()


def test_anomaly_names_the_line_of_an_op_with_a_hook():
    x = leaf(0.0)
    y = x ** 0.5  # before anomaly mode
    y.register_hook(lambda g: None)
    with detect_anomaly(), pytest.raises(FloatingPointError, match=r"VJP of pow .*test_autograd\.py:\d+: y\.backw"):
        y.backward()


def test_anomaly_mode_accepts_the_users_infinities():
    """A mask of -inf is the user's and not an op's fault; NaN computed from it still is."""
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    mask = Tensor(np.triu(np.full((2, 2), -np.inf, np.float32), 1))
    with detect_anomaly():
        for y in (ops.softmax(x + mask), ops.softmax(x.masked_fill(mask < 0, -np.inf)),
                  x.pad((1, 1), value=-np.inf).amax(1), ops.scaled_dot_product_attention(x, x, x, mask),
                  ops.scaled_dot_product_attention(x, x, x, is_causal=True), ops.logsumexp(x + mask),
                  ops.log_softmax(x + mask).exp()):
            y.sum().backward()
        for make, what in ((lambda: ops.softmax(x + mask - np.inf), "softmax made the first NaN"),
                           (lambda: (x + mask) * 0.0, "mul made the first NaN"),
                           (lambda: x / 0.0, "div made the first infinity"),
                           (lambda: Tensor([1.0, np.nan]) + 1.0, "add was given the first NaN"),
                           (lambda: x * np.nan, "mul was given the first NaN")):
            with pytest.raises(FloatingPointError, match=what):
                make()
        y = x * 2.0
        y.backward(np.full((2, 2), np.inf))
        with pytest.raises(FloatingPointError, match="the VJP of mul was given the first NaN"):
            (x * 2.0).backward(np.full((2, 2), np.nan))
    assert np.isinf(x.grad.numpy()).all()


# Hooks ----------------------------------------------------------------------------------------------------------------


def test_leaves_and_inner_tensors_may_have_hooks():
    x, seen = leaf(1.0, 2.0), []
    h = x * 3
    remove_leaf = x.register_hook(lambda g: seen.append(("x", g.numpy().tolist())))
    h.register_hook(lambda g: seen.append(("h", g.numpy().tolist())))
    (h * h).sum().backward()
    assert seen == [("h", [6, 12]), ("x", [18, 36])]
    remove_leaf()
    remove_leaf()  # a second time is harmless
    with x.register_hook(seen.append):
        pass
    (x * 1).sum().backward()
    assert len(seen) == 2
    assert_close(x.grad, [19, 37])


def test_a_hook_must_return_a_matching_tensor_or_none():
    for bad, got in [(lambda g: g.sum(), r"float32 \(\)"), (lambda g: g.double(), r"float64 \(2,\)"),
                     (lambda g: 0, "int")]:
        x = leaf(1.0, 2.0)
        x.register_hook(bad)
        with pytest.raises(ValueError,
                           match=rf"register_hook: the hook must return None or a Tensor, float32 \(2,\); got {got}"):
            x.sum().backward()
    with pytest.raises(RuntimeError, match="register_hook: this Tensor does not require grad"):
        Tensor([1.0]).register_hook(print)


def test_a_hook_may_change_its_gradient_in_place():
    """An inner hook gets a copy: keeping or changing it does not disturb the walk."""
    x, kept = leaf(1.0, 2.0), []
    h = x * 3
    h.register_hook(lambda g: kept.append(g.assign([0.0, 0.0])) and None)
    h.sum().backward()
    assert_close(x.grad, [3, 3])
    assert_close(kept[0], [0, 0])


def test_retain_grad_keeps_and_adds_up_inner_gradients():
    x = leaf(1.0, 2.0)
    h = (x * 3).retain_grad().retain_grad()  # twice is once
    y = h * h
    y.sum().backward(retain_graph=True)
    assert_close(h.grad, [6, 12])
    y.sum().backward()
    assert_close(h.grad, [12, 24])
    assert x.retain_grad() is x
    with pytest.raises(RuntimeError, match="retain_grad: this Tensor does not require grad"):
        Tensor([1.0]).retain_grad()


@pytest.mark.parametrize("retain_first", [True, False])
def test_retain_grad_keeps_the_gradient_after_hooks(retain_first):
    x = leaf(2.0)
    h = x * 3
    if retain_first:
        h.retain_grad()
    h.register_hook(lambda g: g * 10)
    h.retain_grad()
    (h * 1).backward()
    assert h.grad.item() == 10 and x.grad.item() == 30


def test_a_retained_gradient_shares_no_memory():
    x = leaf(1.0, 2.0)
    for how in ({}, {"create_graph": True}):
        h = (x * 1).retain_grad()
        seen = []
        h.register_hook(lambda g, seen=seen: seen.append(g * 2) or seen[0])
        x.zero_grad()
        h.sum().backward(**how)
        for other in (seen[0], x.grad):
            assert not np.shares_memory(h.grad._data, other._data)


# In-place change ------------------------------------------------------------------------------------------------------

CHANGED = r"was changed in place after {} saved it; change it after backward, or compute from a clone\(\)"


@pytest.mark.parametrize("change", [
    lambda w: w.assign([5.0, 6.0]),
    lambda w: w.detach().assign([5.0, 6.0]),
    lambda w: w.detach().__setitem__(0, 9.0),
    lambda w: w.detach()[1:].assign([9.0]),
    lambda w: w.detach().reshape(2, 1).T.__setitem__((0, 0), 9.0),
    lambda w: (np.multiply(w._data, 2, out=w._data), w.touch()),  # like an optimizer
], ids=["assign", "detach", "setitem", "slice", "views of views", "touch"])
def test_a_change_of_a_saved_input_is_detected(change):
    w, x = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = (w * x).sum()
    change(w)
    with pytest.raises(RuntimeError,
                       match=r"backward: an input of mul \(output shape \(2,\)\) " + CHANGED.format("mul")):
        y.backward()


def test_setting_data_is_a_change_in_place():
    def times(w):
        w.data *= 2

    def new(w):
        w.data = w._data * 2

    def of_a_tensor(w):
        w.data = Tensor([7.0, 8.0])

    def of_a_view(w):
        w.data = Tensor([7.0, 8.0, 9.0])[:2]

    for change in times, new, of_a_tensor, of_a_view:
        w, x = leaf(1.0, 2.0), leaf(3.0, 4.0)
        for y in ((w * x).sum(), (w[:1] * 2.0 * w.detach()).sum(), checkpoint(lambda w, x=x: w * x, w).sum()):
            change(w)
            with pytest.raises(RuntimeError, match="was changed in place"):
                y.backward()
        (w * x).sum().backward()  # a new graph is right
        assert_close(x.grad, w.detach().numpy())


def test_a_tensor_set_as_data_shares_its_version():
    w, t = leaf(1.0, 2.0), Tensor([3.0, 4.0])
    w.data = t
    y = (w * w).sum()
    t.assign([5.0, 6.0])
    assert w.tolist() == [5, 6]
    with pytest.raises(RuntimeError, match="was changed in place"):
        y.backward()


def test_an_op_that_returns_its_input_shares_the_version():
    """Some NumPy functions return their input; then a change of one is a change of the other."""
    same, second = primitive(lambda x: x), primitive(lambda a, b, c: b)
    same.vjp(x=lambda g: g)
    second.vjp(b=lambda g: g)
    for array in (np.ones(3), np.ones(6)[::2]):
        for op in (same, lambda x: second(1.0, x, 2.0), lambda x: same(same(x)), lambda x: same(x)[1:]):
            x = Tensor.from_numpy(array.copy()).requires_grad_()
            y = (op(x) ** 2).sum()
            x.assign([5.0, 6.0, 7.0])
            with pytest.raises(RuntimeError, match="an input of square"):
                y.backward()


def test_an_op_that_returns_its_input_may_save_its_output():
    half = primitive(lambda x: x[1:])
    same = primitive(lambda x: x)
    for op in half, same:
        op.vjp(x=lambda g, out, x_shape: ops.parts.put(
            g * out, shape=x_shape, index=(slice(x_shape[0] - len(g), None),)))
        x = leaf(1.0, 2.0, 3.0)
        y = op(x).sum()
        x.assign([5.0, 6.0, 7.0])
        with pytest.raises(RuntimeError, match="the output of <lambda>"):
            y.backward()


def test_changes_through_views_of_views_are_noticed():
    """Whichever view an op saved, whichever is changed, and whether it was taken before or after."""
    views = [lambda t: t, lambda t: t.reshape(-1), lambda t: t.T, lambda t: t[::2], lambda t: t.detach(),
             lambda t: t.unsqueeze(0), lambda t: t.flip(0), lambda t: t.clone(), ops.identity]
    raised = 0
    for first, then in itertools.product(views, views):
        for saved, changed, late in itertools.product(range(3), range(3), (False, True)):
            w = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
            middle = first(w)
            chain = [w, middle, then(middle)]
            x = chain[saved].detach()  # mul saves its value, but x gets no gradient
            y = (x * w.sum()).sum()
            again = first(w) if late else middle
            t = ([w, again, then(again)] if late else chain)[changed].detach()
            shared = np.shares_memory(t._data, x._data)
            t.assign(t.numpy() + 1)
            raised += shared
            if shared:
                with pytest.raises(RuntimeError, match="an input of mul"):
                    y.backward()
            else:
                y.backward()
    assert raised > 1000


@pytest.mark.parametrize("switch", [enable_grad, detect_anomaly])
def test_an_output_changed_between_first_and_second_order_is_noticed(switch):
    x, g = leaf(0.5), leaf(1.0)
    with switch():
        y = x.exp()
        dx, = y.gradient(x, gradient=g, create_graph=True)
        y.detach().add_(1.0)
        for target in x, g:
            with pytest.raises(RuntimeError, match="was changed in place"):
                dx.gradient(target, retain_graph=True)


def test_set_detect_anomaly_lasts_until_it_is_turned_off():
    from tinygrad_like.transforms.anomaly import set_detect_anomaly

    def wrong():
        return (Tensor([0.0], requires_grad=True) * np.inf).sum()

    errors = np.geterr()
    with np.errstate(invalid="ignore"):
        set_detect_anomaly(True)
        set_detect_anomaly(True)
        with pytest.raises(FloatingPointError, match="mul"):
            wrong()
        with set_detect_anomaly(False):
            wrong()
        with pytest.raises(FloatingPointError, match="mul"):
            wrong()
        set_detect_anomaly(False)
        set_detect_anomaly(False)
        wrong()
        with set_detect_anomaly(True), pytest.raises(FloatingPointError, match="mul"):
            wrong()
        wrong()
    assert np.geterr() == errors and mode.listener is None


@pytest.mark.parametrize("bad, error, message", [
    (Tensor([1.0, 2.0]), RuntimeError, r"must be float64 \(2,\) like its Tensor, got float32 \(2,\)"),
    (Tensor(np.ones((2, 1))), RuntimeError, r"must be float64 \(2,\) like its Tensor, got float64 \(2, 1\)"),
    (np.ones(2), TypeError, "another Tensor, or None, got ndarray"), (3.0, TypeError, "got float")])
def test_setting_a_gradient_that_does_not_fit_raises(bad, error, message):
    x = Tensor([1.0, 2.0], requires_grad=True, dtype="float64")
    (x * x).sum().backward()
    with pytest.raises(error, match=f"grad: .*{message}"):
        x.grad = bad
    with pytest.raises(TypeError, match="grad: .* this Tensor itself"):
        x.grad = x
    assert x.grad.tolist() == [2, 4]
    x.grad = Tensor(np.array([5.0, 6.0]))
    x.sum().backward()
    assert x.grad.tolist() == [6, 7]
    del x.grad
    assert x.grad is None


def test_anomaly_mode_can_skip_the_check_for_nan():
    x = Tensor([-1.0], requires_grad=True)
    with detect_anomaly(check_nan=False), np.errstate(all="ignore"):
        y = x.log()
        y.backward()

    @detect_anomaly(check_nan=False)
    def logarithms():
        yield x.log()

    with np.errstate(all="ignore"):
        assert np.isnan(next(logarithms()).item())
    with pytest.raises(FloatingPointError, match="log"):
        detect_anomaly(lambda: x.log())()


SWITCHES = {"no_grad": no_grad, "enable_grad": enable_grad, "eager": torch.eager, "detect_anomaly": detect_anomaly,
            "inference_mode": switches.inference_mode, "setting": lambda: setting("recording", False)}


@pytest.mark.parametrize("name", SWITCHES)
def test_ctrl_c_while_a_block_begins_leaves_no_switch_on(name):
    """Python raises it where a function begins, or after one returns; then the block's exit never runs."""
    switch = SWITCHES[name]()
    before, entered, presses = {**vars(mode)}, list(switches._entered()), itertools.count(1)
    for press in presses:
        seen = itertools.count(1)

        def note(frame, event, arg, seen=seen, press=press):
            inside = frame.f_back is not None and frame.f_back.f_code.co_filename in (
                autograd.__file__, switches.__file__)
            if event in ("call", "return") and inside and next(seen) == press:
                sys.setprofile(None)
                raise KeyboardInterrupt

        sys.setprofile(note)
        try:
            switch.__enter__()
        except KeyboardInterrupt:
            assert {**vars(mode)} == before and switches._entered() == entered
        else:
            break
        finally:
            sys.setprofile(None)
    switch.__exit__(None, None, None)
    assert press > 2 and {"usual": True, **vars(mode)}["usual"] is True and mode.recording


@pytest.mark.parametrize("ask", [
    lambda y, x: y.backward(inputs=[x]), lambda y, x: y.gradient(),
    lambda y, x: torch.autograd.grad(y, [x], allow_unused=True),
    lambda y, x: torch.autograd.grad(y, [x], allow_unused=True, materialize_grads=True)])
def test_asking_for_an_unused_input_leaves_the_graph_alone(ask):
    """On branches without a target no hook is called, no gradient is filled and nothing is freed."""
    seen, w, x = [], leaf(1.0, 2.0), leaf(3.0, 4.0)
    h = w.exp()
    x.register_hook(seen.append)
    h.register_hook(seen.append)
    h.retain_grad()
    y = (h * h).sum()
    ask(y, x)
    assert not seen and w.grad is None and h.grad is None and (x.grad is None or not x.grad.any())
    y.backward()
    assert len(seen) == 1 and w.grad is not None and h.grad is not None


@pytest.mark.parametrize("ask", [
    lambda y, x: y.backward(inputs=[x]), lambda y, x: torch.autograd.grad(y, [x], allow_unused=True)])
def test_an_input_beyond_a_freed_graph_is_not_called_unused(ask):
    x = leaf(1.0, 2.0)
    h = x.exp()
    (h * h).sum().backward()
    with pytest.raises(RuntimeError, match="through exp was already freed"):
        ask(h.sum(), x)
