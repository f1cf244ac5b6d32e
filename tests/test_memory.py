"""Memory is returned by reference counting alone: the garbage collector is off, or must find nothing."""

import gc
import tracemalloc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

from tinygrad_like import Tensor, no_grad, ops, primitive
from tinygrad_like.autograd import Node
from tinygrad_like.memory import empty, fills

rng = np.random.default_rng(0)


@contextmanager
def no_collector():
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def engine_objects():
    return sum(type(x) in (Node, Tensor) for x in gc.get_objects())


class MLP:
    def __init__(self, *sizes, batch=16):
        self.layers = [
            (Tensor(rng.standard_normal((n, m)) / np.sqrt(m), requires_grad=True, dtype="float32"),
             Tensor(np.zeros(n), requires_grad=True, dtype="float32"))
            for m, n in zip(sizes, sizes[1:], strict=False)
        ]
        self.x = Tensor(rng.standard_normal((batch, sizes[0])), dtype="float32")
        self.t = Tensor(rng.integers(0, sizes[-1], batch))

    def loss(self):
        h = self.x
        for w, b in self.layers[:-1]:
            h = ops.relu(ops.linear(h, w, b)) * 1.5
        return ops.cross_entropy(ops.linear(h, *self.layers[-1]), self.t)

    def update(self):
        for p in [p for layer in self.layers for p in layer]:
            p.data -= 0.01 * p.grad.data
            p.touch()
            p.zero_grad()


def plain_step(model):
    model.loss().backward()
    model.update()


def second_order_step(model):
    """A gradient penalty: every op and its VJP are on the graph."""
    loss = model.loss()
    w = model.layers[0][0]
    g, = loss.gradient(w, create_graph=True)
    (loss + (g * g).sum()).backward()
    model.update()


def hooked_step(model):
    h = ops.linear(model.x, *model.layers[0]).retain_grad()
    h.register_hook(lambda g: g * 2)
    remove = model.layers[0][0].register_hook(lambda g: g * h.grad.mean())  # a hook that holds on to the graph
    loss = model.loss() + (h * h).mean()
    loss.backward(retain_graph=True)
    loss.backward()
    remove()
    model.update()


STEPS = [plain_step, second_order_step, hooked_step]


@pytest.mark.parametrize("step", STEPS, ids=lambda f: f.__name__)
def test_a_step_leaves_no_cycles(step):
    model = MLP(8, 16, 16, 4)
    step(model)
    with no_collector():
        before = engine_objects()
        step(model)
        assert engine_objects() == before
        assert gc.collect() == 0


@pytest.mark.parametrize(("step", "steps"), [(plain_step, 1000), (second_order_step, 200), (hooked_step, 200)],
                         ids=lambda v: getattr(v, "__name__", ""))
def test_memory_is_flat(step, steps):
    model = MLP(8, 64, 64, 4, batch=64)
    with no_collector():
        tracemalloc.start()
        try:
            for _ in range(20):
                step(model)
            before, objects = tracemalloc.get_traced_memory()[0], len(gc.get_objects())
            for _ in range(steps):
                step(model)
            grown, more = tracemalloc.get_traced_memory()[0] - before, len(gc.get_objects()) - objects
        finally:
            tracemalloc.stop()
    # A forgotten activation would be 16 KiB a step, a forgotten node or Tensor an object a step. (NumPy's own caches of
    # small blocks appear to tracemalloc as some 100 bytes a step.)
    assert grown < 1024 * steps and more < steps / 10


def test_backward_frees_the_graph_while_the_loss_lives():
    model = MLP(8, 16, 4)
    with no_collector():
        h = ops.linear(model.x, *model.layers[0])
        y = ops.relu(h)
        loss = ops.cross_entropy(ops.linear(y, *model.layers[1]), model.t)
        refs = [weakref.ref(t.data) for t in (h, y)] + [weakref.ref(t.node) for t in (h, y)]
        del h, y
        assert [ref() is None for ref in refs] == [True, False, False, False]  # relu keeps its output only
        loss.backward()
        assert all(ref() is None for ref in refs)


def test_a_graph_never_walked_is_freed_with_its_result():
    x = Tensor(np.ones(4), requires_grad=True)
    with no_collector():
        h = x.exp()
        y = (h * h).sin()
        refs = [weakref.ref(h.node), weakref.ref(h.data), weakref.ref(y.node)]
        del h, y
        assert all(ref() is None for ref in refs)


def test_backward_frees_as_it_passes():
    """When the walk reaches the first layer, what the last one kept is gone: the peak is not graph plus gradients."""
    x, alive = Tensor(np.ones(4), requires_grad=True), []
    h = x * 1.0
    h.register_hook(lambda g: alive.append(ref() is not None))
    y = h.exp()
    ref = weakref.ref(y.data)
    loss = y.sum()
    del y
    loss.backward()
    assert alive == [False]


def test_under_no_grad_nothing_is_kept():
    x = Tensor(np.ones(4), requires_grad=True)
    with no_collector(), no_grad():
        h = x.exp()
        y = h * h
        ref = weakref.ref(h.data)
        del h
        assert ref() is None and y.node is None


def test_an_error_in_a_forward_or_a_hook_leaves_nothing_behind():
    x = Tensor(np.ones(4), requires_grad=True)

    def fail(g):
        raise KeyError("hook")

    with no_collector():
        before = engine_objects()
        for _ in range(3):
            with pytest.raises(ValueError, match="do not broadcast"):
                x.exp() + np.ones(3)
            h = x.exp()
            h.register_hook(fail)
            with pytest.raises(KeyError):
                (h * h).sum().backward()
            del h
        gc.collect()  # pytest.raises itself leaves a traceback in a cycle
        assert engine_objects() == before


def test_a_detached_value_does_not_hold_the_graph():
    x = Tensor(np.ones(4), requires_grad=True)
    with no_collector():
        y = x.exp()
        total, ref = y.detach(), weakref.ref(y.node)
        del y
        assert ref() is None and total.numpy().tolist() == pytest.approx([np.e] * 4)


def test_gradients_hold_no_graph():
    x = Tensor(np.ones(4), requires_grad=True)
    y = (x * x).sum()
    ref = weakref.ref(y.node)
    y.backward()
    del y
    assert ref() is None and x.grad.node is None


# Where arrays lie -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(), (0, 5), (3, 5), (257, 1031), (2**15,)])
def test_empty_is_an_ordinary_array_and_begins_a_cache_line_if_large(shape, dtype):
    kept = [empty(shape, np.dtype(dtype)) for _ in range(9)]  # malloc gives every multiple of 16 in turn
    for x in kept:
        assert x.shape == shape and x.dtype == dtype and x.flags.carray and fills(x)
        assert x.nbytes < 2**17 or x.ctypes.data % 64 == 0
    for i, x in enumerate(kept):
        x[...] = i
    assert [np.unique(x).tolist() for x in kept] == [[i] if x.size else [] for i, x in enumerate(kept)]


def test_a_view_does_not_fill_its_memory():
    for x in np.zeros((300, 300), np.float32), empty((300, 300)):
        assert fills(x) and not fills(x[1:])


def test_gradients_are_moved_to_leaves_not_copied():
    x = Tensor(rng.standard_normal((8, 256)), dtype="float32")
    w = Tensor(rng.standard_normal((200, 256)), requires_grad=True, dtype="float32")
    made = []
    y = ops.linear(x, w)
    rule = ops.linear.joint[0]

    def watched(*saved):
        cotangents = rule(*saved)
        made.append(cotangents[1].ctypes.data)
        return cotangents

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ops.linear, "joint", (watched, ops.linear.joint[1]))
        y.sum().backward()
    assert made == [w.grad.data.ctypes.data]


def test_leaves_never_share_the_memory_of_their_gradients():
    @primitive
    def twice(a, b):
        return np.add(a, b)

    def rule(g):
        c = empty(g.shape)
        c[...] = g
        return c, c.reshape(g.shape)

    twice.joint_vjp(rule)
    a, b = (Tensor(rng.standard_normal((200, 200)), requires_grad=True, dtype="float32") for _ in range(2))
    twice(a, b).sum().backward()
    assert not np.shares_memory(a.grad.data, b.grad.data)
    a.grad.data += 1
    assert (b.grad.data == 1).all()
