"""The engine: first on plain floats, where nothing but the walk can be at work, then through Tensors."""

import gc
import importlib.util
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tinygrad_like import Tensor, autograd, detect_anomaly, enable_grad, is_grad_enabled, no_grad, ops
from tinygrad_like.autograd import Node, tick, walk

# The engine alone -----------------------------------------------------------------------------------------------------
# A leaf is any hashable object, here a string; a cotangent is anything with +, here a float.


class Linear:
    """y = sum of slope * input: pulls g back to slope * g, and notes when it was asked."""

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
    """Loaded by itself, the file brings in neither NumPy nor anything else of the package."""
    code = ("import importlib.util, sys; spec = importlib.util.spec_from_file_location('alone', sys.argv[1]); "
            "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module); "
            "print([m for m in sys.modules if m.split('.')[0] in ('numpy', 'numba', 'tinygrad_like')])")
    path = Path(importlib.util.find_spec("tinygrad_like").origin).parent / "autograd.py"
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_chain(record):
    y = record("y", (record("h", ("x", 3.0)), 5.0))
    assert walk(y, 2.0) == {"x": 30.0}


def test_a_root_that_is_a_leaf():
    assert walk("x", 2.0) == {"x": 2.0}


def test_diamonds(record, log):
    b = record("b", ("a", 1.0), ("a", 1.0))
    c = record("c", (b, 1.0), (b, 1.0))
    assert walk(c, 1.0) == {"a": 4.0}
    assert log == ["c", "b"]


def test_every_node_is_pulled_once(record, log):
    """100 diamonds on top of each other have 2^100 paths; the walk passes each node once."""
    y = "x"
    for i in range(100):
        y = record(i, (y, 1.0), (y, 1.0))
    assert walk(y, 1.0) == {"x": 2.0**100}
    assert log == list(range(99, -1, -1))


def test_a_value_used_early_and_late_is_pulled_after_its_last_use(record, log):
    b = record("b", ("x", 2.0))
    c = record("c", (b, 3.0))
    d = record("d", (c, 5.0), (b, 7.0), ("x", 11.0))
    assert walk(d, 1.0) == {"x": 5.0 * 3.0 * 2.0 + 7.0 * 2.0 + 11.0}
    assert log == ["d", "c", "b"]


def test_the_order_is_reverse_creation_not_depth(record, log):
    """The long branch is older than the short one, and still is walked after it."""
    long = record("l2", (record("l1", ("x", 1.0)), 1.0))
    short = record("s", ("x", 1.0))
    walk(record("y", (long, 1.0), (short, 1.0)), 1.0)
    assert log == ["y", "s", "l2", "l1"]


def test_no_gradient_flows_where_a_parent_is_none(record):
    y = record("y", (None, 2.0), ("x", 3.0))
    assert walk(y, 1.0) == {"x": 3.0}


def test_a_cotangent_is_anything_that_adds(record):
    y = record("y", ("x", Fraction(1, 3)), ("x", Fraction(1, 7)))
    assert walk(y, 1) == {"x": Fraction(10, 21)}


class Buffer:
    """A mutable number, as an array is: += writes, + makes a new one."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return Buffer(self.value + other.value)

    def __iadd__(self, other):
        self.value += other.value
        return self


def test_only_buffers_the_walk_made_are_written_to(record):
    """An op may hand on one buffer to several inputs: the first addition must make a new one."""

    class Share:
        name = "share"

        def pull(self, node, g, parents):
            return [g for _ in parents]

    node = record("n", *[("x", None)] * 4, ("y", None))
    node.op = Share()
    g = Buffer(1.0)
    table = walk(node, g)
    assert table["x"].value == 4.0 and table["y"] is g and g.value == 1.0


def test_hooks_see_the_complete_cotangent_and_may_replace_it(record):
    seen = []
    b = record("b", ("x", 1.0))
    c = record("c", (b, 2.0), (b, 3.0))
    b.add_hook(lambda g: seen.append(g))  # returns None: keeps it
    b.add_hook(lambda g: g * 10)
    b.add_hook(lambda g: seen.append(g))
    assert walk(c, 1.0) == {"x": 50.0}
    assert seen == [5.0, 50.0]


def test_a_hook_that_removes_itself_does_not_hide_the_next(record):
    b, seen = record("b", ("x", 1.0)), []

    def once(g):
        b.extra.hooks.remove(once)
        seen.append("once")

    b.add_hook(once)
    b.add_hook(lambda g: seen.append("always"))
    walk(b, 1.0, retain=True)
    walk(b, 1.0)
    assert seen == ["once", "always", "always"]


def test_nodes_are_released_as_the_walk_passes(record):
    b = record("inner", ("x", 1.0))
    c = record("outer", (b, 2.0))
    walk(c, 1.0)
    assert b.parents is b.saved is c.parents is c.saved is None
    with pytest.raises(RuntimeError, match="through outer was already freed.*retain_graph=True"):
        walk(c, 1.0)
    with pytest.raises(RuntimeError, match="through inner was already freed"):
        walk(record("new", (b, 1.0)), 1.0)


def test_retain_keeps_them(record):
    c = record("c", (record("b", ("x", 3.0)), 2.0))
    assert walk(c, 1.0, retain=True) == walk(c, 1.0, retain=True) == walk(c, 1.0) == {"x": 6.0}


def test_since_stops_at_older_nodes_and_gives_their_cotangents(record, log):
    old = record("old", ("x", 7.0))
    now = tick()
    y = record("y2", (record("y1", (old, 2.0), ("z", 3.0)), 5.0))
    assert walk(y, 1.0, since=now) == {old: 10.0, "z": 15.0}
    assert log == ["y2", "y1"] and old.parents is not None


def test_targets_prune_what_does_not_lead_to_them(record, log):
    b = record("b", ("x", 2.0))
    aside = record("aside", ("w", 1.0))
    c = record("c", (b, 3.0), (aside, 1.0))
    d = record("d", (c, 5.0), (b, 1.0))
    assert walk(d, 1.0, targets={b}, retain=True) == {b: 16.0}
    assert log == ["d", "c"]  # b itself is taken, for its hooks, but not pulled
    assert walk(d, 1.0, targets={"w", b}, retain=True) == {"w": 5.0, b: 16.0}
    assert walk(d, 1.0, targets={d}, retain=True) == {d: 1.0}
    assert walk(d, 1.0, targets={"elsewhere"}, retain=True).get("elsewhere") is None
    b.add_hook(lambda g: g * 2)
    assert walk(d, 1.0, targets={b, "x"}) == {b: 32.0, "x": 64.0}


def test_a_freed_node_on_the_way_to_a_target_is_reported(record):
    b = record("b", ("x", 2.0))
    walk(b, 1.0)
    with pytest.raises(RuntimeError, match="through b was already freed"):
        walk(record("c", (b, 3.0)), 1.0, targets={"x"})


def test_no_recursion(record):
    y = "x"
    for _ in range(100_000):
        y = record("op", (y, 1.0))
    assert walk(y, 1.0, targets={"x"}, retain=True) == {"x": 1.0}
    assert walk(y, 1.0) == {"x": 1.0}


# Through Tensors: what backward gives ---------------------------------------------------------------------------------


def leaf(*values, **options):
    return Tensor(values[0] if len(values) == 1 else list(values), requires_grad=True, **options)


def assert_close(tensor, expected, rtol=1e-6):
    np.testing.assert_allclose(tensor.numpy(), expected, rtol=rtol)


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


def test_diamonds_of_tensors():
    a = leaf(1.5)
    b = a + a
    c = b + b
    c.backward()
    assert a.grad.item() == 4
    a = leaf(2.0)
    b = a * a
    (b * b + b).backward()  # a^4 + a^2
    assert a.grad.item() == 4 * 8 + 2 * 2


def test_double_use_in_one_op():
    x = leaf(3.0)
    (x * x).backward()
    assert x.grad.item() == 6
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    (x @ x).sum().backward()
    ones = np.ones((2, 2))
    assert_close(x.grad, ones @ x.numpy().T + x.numpy().T @ ones)


def test_backward_of_a_leaf():
    x = leaf(3.0)
    x.backward()
    assert x.grad.item() == 1


def test_a_cotangent_is_contracted():
    x = leaf(1.0, 2.0)
    (x * x).backward([10.0, 100.0])
    assert_close(x.grad, [20, 400])
    x.zero_grad()
    (x * x).backward(Tensor([1, 0]))  # any dtype: it is cast
    assert_close(x.grad, [2, 0])
    assert x.grad.dtype == "float32"


def test_the_cotangent_given_is_not_the_gradient_received():
    x, g = leaf(1.0, 2.0), Tensor([1.0, 1.0])
    (x + 0.0).backward(g)
    g.assign([7.0, 7.0])
    assert_close(x.grad, [1, 1])
    x = leaf(1.0, 2.0)
    x.backward(g)
    g.assign([8.0, 8.0])
    assert_close(x.grad, [7, 7])


def test_a_vector_needs_a_cotangent():
    with pytest.raises(ValueError, match=r"shape \(2,\) needs gradient=.*\.sum\(\) or \.mean\(\)"):
        (leaf(1.0, 2.0) * 2).backward()
    with pytest.raises(ValueError, match=r"gradient has shape \(3,\) but the Tensor has shape \(2,\)"):
        (leaf(1.0, 2.0) * 2).backward([1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match="backward: this Tensor does not require grad"):
        Tensor([1.0]).backward()


def test_a_second_backward_is_an_error_unless_retained():
    x = leaf(2.0)
    y = x.exp()
    y.backward(retain_graph=True)
    y.backward()
    assert_close(x.grad, 2 * np.exp(2))
    with pytest.raises(RuntimeError, match="through exp was already freed by an earlier backward.*retain_graph=True"):
        y.backward()


def test_a_graph_on_top_of_a_freed_one_is_an_error():
    x = leaf(2.0)
    y = x * 2
    (y * 3).backward()
    with pytest.raises(RuntimeError, match="through mul was already freed"):
        (y * 4).backward()
    with pytest.raises(RuntimeError, match="through mul was already freed"):
        (y * 4).gradient(x, materialize_grads=True)


# gradient -------------------------------------------------------------------------------------------------------------


def test_gradient_touches_no_grad():
    x, w = leaf(2.0), leaf(3.0)
    y = x * x * w
    dx, dw = y.gradient(x, w)
    assert dx.item() == 12 and dw.item() == 4
    assert x.grad is None and w.grad is None and not dx.requires_grad


def test_gradient_of_an_inner_value_and_of_itself():
    x = leaf(2.0)
    h = x * x
    y = h * h
    dh, dx, dy, again = y.gradient(h, x, y, h)
    assert (dh.item(), dx.item(), dy.item(), again.item()) == (8, 32, 1, 8)
    assert dh.data is not again.data


def test_gradient_with_a_cotangent():
    x = leaf(1.0, 2.0)
    dx, = (x * x).gradient(x, gradient=[1.0, 10.0])
    assert_close(dx, [2, 40])


def test_gradient_of_what_is_not_reached():
    x, z = leaf(1.0), leaf([1.0, 2.0])
    with pytest.raises(ValueError, match=r"does not depend on target 1 \(shape \(2,\)\); pass materialize_grads=True"):
        (x * 2).gradient(x, z)
    dx, dz = (x * 2).gradient(x, z, materialize_grads=True)
    assert dx.item() == 2
    assert_close(dz, [0, 0])
    with pytest.raises(ValueError, match="target 0 does not require grad"):
        (x * 2).gradient(Tensor([1.0]))


def test_gradient_frees_unless_told():
    x = leaf(2.0)
    y = x.exp()
    y.gradient(x, retain_graph=True)
    y.gradient(x)
    with pytest.raises(RuntimeError, match="already freed"):
        y.gradient(x)


# Higher order ---------------------------------------------------------------------------------------------------------


def test_three_orders():
    x = leaf(0.7, dtype="float64")
    y, expected = x.sin(), [np.cos(0.7), -np.sin(0.7), -np.cos(0.7)]
    for value in expected:
        y, = y.gradient(x, create_graph=True)
        assert_close(y, value, rtol=1e-12)


def test_three_orders_through_a_fused_op():
    x = leaf(0.3, -1.2, dtype="float64")
    first, = ops.softplus(x, beta=2.0).sum().gradient(x, create_graph=True)
    second, = first.sum().gradient(x, create_graph=True)
    third, = second.sum().gradient(x, create_graph=True)
    s = 1 / (1 + np.exp(-2 * x.numpy()))
    assert_close(first, s, rtol=1e-12)
    assert_close(second, 2 * s * (1 - s), rtol=1e-12)
    assert_close(third, 4 * s * (1 - s) * (1 - 2 * s), rtol=1e-12)
    assert third.requires_grad


def test_backward_with_create_graph_fills_differentiable_gradients():
    x = leaf(2.0)
    (x * x * x).backward(create_graph=True)
    assert x.grad.item() == 12 and x.grad.requires_grad
    g, x.grad = x.grad, None
    g.backward()
    assert x.grad.item() == 12  # 6 x


def test_a_gradient_penalty():
    """d/dw of ||d/dx (w x^2)||^2 = 8 w x^2."""
    x, w = leaf(1.0, 2.0), leaf(3.0)
    g, = (w * x * x).sum().gradient(x, create_graph=True)
    (g * g).sum().backward()
    assert w.grad.item() == 8 * 3 * (1 + 4)


def test_gradients_without_create_graph_are_not_recorded():
    x = leaf(2.0)
    (x * x).backward()
    assert not x.grad.requires_grad and x.grad.node is None


# Switches -------------------------------------------------------------------------------------------------------------


def test_no_grad_and_enable_grad():
    x = leaf(1.0)
    assert is_grad_enabled()
    with no_grad():
        assert not is_grad_enabled() and not (x * 2).requires_grad
        with enable_grad():
            assert (x * 2).requires_grad
            with no_grad():
                assert not (x * 2).requires_grad
            assert is_grad_enabled()
        assert not is_grad_enabled()
    assert (x * 2).requires_grad


def test_switches_as_decorators():
    x = leaf(1.0)

    @no_grad()
    def inference(depth):
        return (x * 2).requires_grad if depth == 0 else inference(depth - 1)

    @enable_grad()
    def training():
        return (x * 2).requires_grad

    assert not inference(0) and not inference(3) and is_grad_enabled()
    with no_grad():
        assert training() and not is_grad_enabled()


def test_switches_are_restored_by_exceptions():
    with pytest.raises(ZeroDivisionError), no_grad():
        1 / 0  # noqa: B018
    assert is_grad_enabled()
    with pytest.raises(ZeroDivisionError), detect_anomaly():
        1 / 0  # noqa: B018
    assert not autograd.mode.anomaly


def test_switches_are_per_thread():
    inside = {}
    with no_grad():
        thread = threading.Thread(target=lambda: inside.update(enabled=is_grad_enabled()))
        thread.start()
        thread.join()
    assert inside == {"enabled": True}


def test_threads_record_independently():
    results = {}

    def work(k):
        x = leaf(float(k))
        for _ in range(50):
            y = x * x * x
            x.zero_grad()
            y.backward()
        results[k] = x.grad.item()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == {k: 3 * k * k for k in range(4)}


def test_backward_does_not_change_the_switches():
    x = leaf(1.0)
    (x * x).backward(create_graph=True)
    assert is_grad_enabled()
    with no_grad(), enable_grad():
        (x * x).backward()
        assert is_grad_enabled()
    y = x * x
    with no_grad():
        y.backward()
        assert not is_grad_enabled()


# Depth ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", [lambda y: y + 1.0, lambda y: y * y.detach(), lambda y: y.tanh()],
                         ids=["saves nothing", "saves inputs", "saves the output"])
def test_100000_ops(op):
    """Forward, backward and deletion, before backward and after, without a RecursionError or a crash."""
    x = leaf(1.0)
    with np.errstate(all="ignore"):
        for _ in range(2):
            y = x
            for _ in range(100_000):
                y = op(y)
            y.backward()
        y = x
        for _ in range(100_000):
            y = op(y)
    assert np.isfinite(x.grad.item())
    del y
    gc.collect()


# Anomaly mode ---------------------------------------------------------------------------------------------------------


def test_anomaly_forward_names_op_and_line():
    x = leaf(-1.0, 1.0)
    with detect_anomaly(), np.errstate(all="ignore"):
        with pytest.raises(FloatingPointError, match=r"log made the first NaN \(shape \(2,\)\), called at .*"
                                                     r"test_autograd\.py:\d+: x\.log\(\)  # the culprit$"):
            x.log()  # the culprit
        with pytest.raises(FloatingPointError, match="div made the first infinity"):
            x / 0.0
    with np.errstate(all="ignore"):
        x.log()


def test_anomaly_backward_names_op_and_the_line_of_the_forward():
    x = leaf(0.0)
    with detect_anomaly(), np.errstate(all="ignore"):
        y = x ** 0.5  # fine at 0, but its slope is not
        z = y * 2
        with pytest.raises(FloatingPointError, match=r"the VJP of pow made the first infinity .*"
                                                     r"test_autograd\.py:\d+: y = x \*\* 0\.5  # fine at 0"):
            z.backward()


def test_anomaly_with_create_graph_and_through_composed_ops():
    x = leaf(0.0, 0.0)
    with detect_anomaly(), np.errstate(all="ignore"):
        assert_close(x.norm().gradient(x, create_graph=True)[0], [0, 0])
        with pytest.raises(FloatingPointError, match=r"called at .*test_autograd\.py:\d+: ops\.logsumexp\("):
            ops.logsumexp(x * np.inf)


def test_anomaly_passes_what_is_finite():
    x = leaf(1.0, 2.0)
    with detect_anomaly():
        (x.log() * Tensor([1, 2])).sum().backward()
        assert (x > 1).any()
    assert_close(x.grad, [1, 1])


# Hooks ----------------------------------------------------------------------------------------------------------------


def test_hooks_on_leaves_and_inner_tensors():
    x, seen = leaf(1.0, 2.0), []
    h = x * 3
    remove_leaf = x.register_hook(lambda g: seen.append(("x", g.numpy().tolist())))
    h.register_hook(lambda g: seen.append(("h", g.numpy().tolist())))
    (h * h).sum().backward()
    assert seen == [("h", [6, 12]), ("x", [18, 36])]
    remove_leaf()
    remove_leaf()  # a second time is harmless
    (x * 1).sum().backward()
    assert len(seen) == 2
    assert_close(x.grad, [19, 37])


def test_hooks_replace():
    x = leaf(1.0, 2.0)
    h = x * 3
    h.register_hook(lambda g: g * 10)
    remove = h.register_hook(lambda g: g * 100)
    remove()
    x.register_hook(lambda g: -g)
    h.sum().backward()
    assert_close(x.grad, [-30, -30])
    h = x * 3
    h.register_hook(lambda g: g * 10)
    dh, dx = h.sum().gradient(h, x)
    assert_close(dh, [10, 10])
    assert_close(dx, [-30, -30])


def test_hooks_see_the_sum_over_all_uses():
    x, seen = leaf(2.0), []
    h = x * 1
    h.register_hook(lambda g: seen.append(g.item()))
    x.register_hook(lambda g: seen.append(g.item()))
    (h * h + h).backward()
    assert seen == [5, 5]


def test_a_hook_may_remove_itself():
    x, seen = leaf(2.0), []
    remove = x.register_hook(lambda g: (seen.append("once"), remove())[-1])
    x.register_hook(lambda g: seen.append("always"))
    for _ in range(2):
        (x * 1).backward()
    assert seen == ["once", "always", "always"]


def test_hooks_are_differentiable_under_create_graph():
    x = leaf(2.0)
    x.register_hook(lambda g: g * g)
    g, = (x * x).gradient(x, create_graph=True)  # (2x)^2
    assert g.item() == 16
    assert g.gradient(x)[0].item() == (8 * 2) ** 2  # and the hook again


def test_a_hook_must_return_what_fits():
    for bad, got in [(lambda g: g.sum(), r"float32 \(\)"), (lambda g: g.double(), r"float64 \(2,\)"),
                     (lambda g: 0, "int")]:
        x = leaf(1.0, 2.0)
        x.register_hook(bad)
        with pytest.raises(ValueError,
                           match=rf"register_hook: the hook must return None or a Tensor, float32 \(2,\); got {got}"):
            x.sum().backward()
    with pytest.raises(RuntimeError, match="register_hook: this Tensor does not require grad"):
        Tensor([1.0]).register_hook(print)


def test_what_a_hook_does_to_its_gradient_is_its_own_affair():
    """The Tensor an inner hook gets is a copy: keeping or changing it does not disturb the walk."""
    x, kept = leaf(1.0, 2.0), []
    h = x * 3
    h.register_hook(lambda g: kept.append(g.assign([0.0, 0.0])) and None)
    h.sum().backward()
    assert_close(x.grad, [3, 3])
    assert_close(kept[0], [0, 0])


def test_retain_grad():
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


def test_retain_grad_keeps_a_graph_if_asked():
    x = leaf(2.0)
    h = (x * x).retain_grad()
    (h * h).backward(create_graph=True)
    assert h.grad.item() == 8
    assert h.grad.gradient(x)[0].item() == 2 * 2 * 2  # dh.grad/dx = d(2 x^2)/dx


# In-place change ------------------------------------------------------------------------------------------------------

CHANGED = r"was changed in place after {} saved it; change it after backward, or compute from a clone\(\)"


@pytest.mark.parametrize("change", [
    lambda w: w.assign([5.0, 6.0]),
    lambda w: w.detach().assign([5.0, 6.0]),
    lambda w: w.detach().__setitem__(0, 9.0),
    lambda w: w.detach()[1:].assign([9.0]),
    lambda w: w.detach().reshape(2, 1).T.__setitem__((0, 0), 9.0),
    lambda w: (np.multiply(w.data, 2, out=w.data), w.touch()),  # as an optimizer does
], ids=["assign", "detach", "setitem", "slice", "views of views", "touch"])
def test_a_change_of_a_saved_input_is_detected(change):
    w, x = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = (w * x).sum()
    change(w)
    with pytest.raises(RuntimeError,
                       match=r"backward: an input of mul \(output shape \(2,\)\) " + CHANGED.format("mul")):
        y.backward()


def test_a_change_seen_through_a_view_that_was_saved():
    w = leaf([[1.0, 2.0]])
    for view in (w.reshape(2, 1), w.T, w[0], w.expand(3, 2), w.flip(1), w.unsqueeze(0), ops.identity(w)):
        y = (view * view).sum()
        w.assign(w.numpy() + 1)
        with pytest.raises(RuntimeError, match="an input of mul"):
            y.backward()


def test_a_change_of_a_saved_output_is_detected():
    for view in (lambda y: y, lambda y: y[1:], lambda y: y.reshape(2, 1)):
        x = leaf(1.0, 2.0)
        y = x.exp()
        loss = y.sum()
        v = view(y).detach()
        v.assign(v.numpy() * 0)
        with pytest.raises(RuntimeError, match=r"backward: its output of exp \(output shape \(2,\)\)"):
            loss.backward()


def test_no_false_alarm():
    w, x = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (w + x).sum().backward()  # add saves nothing
    y = (w + x).sum()
    w.assign([0.0, 0.0])
    y.backward()
    w.assign([5.0, 6.0])  # before its use
    y = (w * x).sum()
    y.backward()
    w.assign([7.0, 8.0])  # after backward
    y = (w.clone() * x).sum()
    w.assign([9.0, 9.0])  # of a clone
    y.backward()
    y = (w[0] * 2.0).sum()
    w.detach()[1:].assign([3.0])
    y.backward()


def test_training_steps_raise_no_alarm():
    w = leaf(1.0, 2.0)
    for _ in range(3):
        loss = (w * w).sum()
        w.zero_grad()
        loss.backward()
        w.data -= 0.1 * w.grad.data
        w.touch()
    assert_close(w, np.array([1.0, 2.0]) * 0.8**3)


def test_a_change_is_detected_when_the_graph_of_the_gradient_is_walked():
    x = leaf(2.0)
    g, = (x * x * x).gradient(x, create_graph=True)
    x.assign(3.0)
    with pytest.raises(RuntimeError, match="was changed in place"):
        g.backward()
