"""Reference counting alone frees memory: the garbage collector is off, or must find nothing."""

import gc
import tracemalloc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

from tinygrad_like import Tensor, checkpoint, ops, primitive
from tinygrad_like.core.dispatch import declared
from tinygrad_like.core.graph import Node
from tinygrad_like.ops.operands import fills
from tinygrad_like.transforms.switches import after

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
            for m, n in zip(sizes, sizes[1:], strict=False)]
        self.x = Tensor(rng.standard_normal((batch, sizes[0])), dtype="float32")
        self.t = Tensor(rng.integers(0, sizes[-1], batch))

    def loss(self):
        h = self.x
        for w, b in self.layers[:-1]:
            h = ops.relu(ops.linear(h, w, b)) * 1.5
        return ops.cross_entropy(ops.linear(h, *self.layers[-1]), self.t)

    def update(self):
        for p in [p for layer in self.layers for p in layer]:
            p.data -= 0.01 * p.grad._data
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
    remove = model.layers[0][0].register_hook(lambda g: g * h.grad.mean())  # this hook holds the graph
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


@pytest.mark.parametrize("step", STEPS, ids=lambda f: f.__name__)
def test_memory_does_not_grow_from_step_to_step(step):
    model, steps = MLP(8, 64, 64, 4, batch=64), 50
    with no_collector():
        tracemalloc.start()
        try:
            for _ in range(10):
                step(model)
            before, objects = tracemalloc.get_traced_memory()[0], len(gc.get_objects())
            for _ in range(steps):
                step(model)
            grown, more = tracemalloc.get_traced_memory()[0] - before, len(gc.get_objects()) - objects
        finally:
            tracemalloc.stop()
    # A leaked activation takes 16 KiB a step, a leaked node or Tensor is an object a step. NumPy's caches of small
    # blocks appear to tracemalloc as some 100 bytes a step.
    assert grown < 1024 * steps and more < steps / 2


@pytest.mark.parametrize("use", [
    lambda x, y: y,  # a graph that is never walked is freed with its result
    lambda x, y: y.backward(),
    lambda x, y: y.detach(),
    lambda x, y: y.gradient(x, create_graph=True)])
def test_a_graph_is_freed_with_its_result(use):
    x = Tensor(np.ones(4), requires_grad=True)
    with no_collector():
        h = x.exp()
        y = (h * h).sum()
        refs = [weakref.ref(h.node), weakref.ref(h._data), weakref.ref(y.node)]
        kept = use(x, y)
        del h, y
        if isinstance(kept, Tensor) and kept.node is None:
            assert kept.item() == pytest.approx(4 * np.e ** 2)
        del kept
        assert all(ref() is None for ref in refs) and (x.grad is None or x.grad.node is None)


# Shared memory --------------------------------------------------------------------------------------------------------


def test_only_whole_arrays_fill_their_memory():
    for x in np.zeros((300, 300), np.float32), np.empty(90000).reshape(300, 300):
        assert fills(x) and not fills(x[1:])


class Everything:
    """Residual blocks with a convolution, norms, an embedding, attention, views, leaves used twice and sums."""

    def __init__(self):
        r = np.random.default_rng(3)
        self.leaves = [Tensor(r.standard_normal(s), requires_grad=True, dtype="float32") for s in (
            (16, 64), (192, 64), (192,), (64, 64), (64,), (64,), (64,), (4, 1, 3, 3), (8, 64), (3,))]

    def loss(self, hook=lambda g: None):
        table, qkv, bias, w, scale, shift, offset, kernel, rows, seed = self.leaves
        x = ops.embedding(Tensor([[1, 2, 3, 1], [0, 5, 15, 2]]), table) + rows[:4]
        h = x + ops.self_attention(ops.linear(ops.layer_norm(x, scale, shift), qkv, bias), num_heads=2)
        h.register_hook(hook)
        k = h + ops.linear(ops.linear(h, w, offset).relu(), w, offset).relu() + (h @ w) * scale
        images = ops.conv2d(k.reshape(2, 1, 16, 16), kernel, padding=1)
        parts = images[:, :2] * images[:, 2:] + checkpoint(lambda h: h.tanh() * scale, h).sum()
        return parts.mean() + (k.T * k.T).mean() + ops.linear(ops.linear(x, w), table).tanh().mean() + seed.sum()


@pytest.mark.needs("kernels")
def test_arrays_that_others_hold_are_neither_changed_nor_shared(monkeypatch):
    """A listener, a hook and the rules hold all values. None of them is written to later."""
    plain = Everything()
    plain.loss().backward()
    model, held, made = Everything(), [], {}

    def noting(op):
        def pull(node, g, parents):
            arrays = [x._data if isinstance(x, Tensor) else x for x in [g, *node.saved]]
            held.extend((x, x.copy()) for x in arrays if isinstance(x, np.ndarray))
            cotangents = type(op).pull(op, node, g, parents)
            made.update((id(c), c) for c in cotangents if isinstance(c, np.ndarray))
            return cotangents

        return pull

    for op in declared:
        monkeypatch.setattr(op, "pull", noting(op))
    with after(lambda op, inputs, options, y: held.append((y._data, y._data.copy()))):
        loss = model.loss(lambda g: held.append((g._data, g._data.copy())))
    loss.backward()
    for x, copy_ in held:
        np.testing.assert_array_equal(x, copy_)
    grads = [x.grad._data for x in model.leaves]
    for i, (grad, leaf) in enumerate(zip(grads, plain.leaves, strict=True)):
        np.testing.assert_array_equal(grad, leaf.grad._data)
        assert not any(np.shares_memory(grad, x) for x in [x for x, _ in held] + grads[:i])
    # These gradients are arrays that rules made; w's is a sum in the first of them. None was copied.
    assert all(id(x.grad._data) in made for x in (model.leaves[1], model.leaves[2], model.leaves[3], model.leaves[7]))


def test_leaves_never_share_the_memory_of_their_gradients():
    @primitive
    def twice(a, b):
        return np.add(a, b)

    def rule(g):
        c = np.empty(g.shape, g.dtype)
        c[...] = g
        return c, c.reshape(g.shape)

    twice.joint_vjp(rule)
    a, b = (Tensor(rng.standard_normal((200, 200)), requires_grad=True, dtype="float32") for _ in range(2))
    twice(a, b).sum().backward()
    assert not np.shares_memory(a.grad._data, b.grad._data)
    a.grad.data += 1
    assert (b.grad._data == 1).all()
