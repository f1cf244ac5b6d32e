"""Places that a captured function binds to new Tensors: variables, attributes, items of lists and dicts."""

import warnings
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

import nn
import optim
import tinygrad_like as tg
from tinygrad_like import Tensor, capture, no_grad


def weight(*shape, seed=0, dtype=np.float32):
    return Tensor(0.3 * np.random.default_rng(seed).standard_normal(shape).astype(dtype), requires_grad=True)


def descend(loss, *weights):
    for w in weights:
        w.grad = None
    loss.backward()
    for w in weights:
        w.data -= 0.1 * w.grad
    return loss


def updating(optimizer, w):
    """A step of an optimizer, and its state."""
    def step(x):
        loss = ((x @ w).tanh() ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, lambda: [w, *optimizer.state[w].values()]


def attribute():
    class Net:
        def __init__(self):
            self.h, self.w, self.u = Tensor.zeros(4, 8), weight(8, 8), weight(5, 8, seed=1)

    net = Net()

    def step(x):
        net.h = (x @ net.u + net.h @ net.w).tanh()
        loss = descend((net.h * net.h).mean(), net.w, net.u)
        net.h = net.h.detach()
        return loss

    return step, lambda: [net.h, net.w, net.u]


def attribute_of_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.of_x, self.of_h, self.h = nn.Linear(5, 8), nn.Linear(8, 8), Tensor.zeros(4, 8)

        def forward(self, x):
            self.h = (self.of_x(x) + self.of_h(self.h.detach())).tanh()
            return self.h

    tg.manual_seed(0)
    net = Net()
    optimizer = optim.Adam(net.parameters(), lr=0.01)

    def step(x):
        loss = (net(x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step, lambda: [net.h, *net.parameters()]


def buffer():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(5, 8)
            self.register_buffer("mean", Tensor.zeros(8))

        def forward(self, x):
            h = self.linear(x)
            self.mean = 0.9 * self.mean + 0.1 * h.detach().mean(0)
            return h - self.mean

    tg.manual_seed(0)
    net = Net()
    return lambda x: descend((net(x) ** 2).mean(), *net.parameters()), lambda: [net.mean, *net.parameters()]


def dicts():
    weights = {"w": weight(5, 8), "b": weight(8, seed=2)}
    m = {name: Tensor.zeros(*w.shape) for name, w in weights.items()}
    v: dict = {}

    def step(x):
        loss = ((x @ weights["w"] + weights["b"]).tanh() ** 2).mean()
        for w in weights.values():
            w.grad = None
        loss.backward()
        with no_grad():
            for name, w in weights.items():
                m[name] = 0.9 * m[name] + 0.1 * w.grad
                v[name] = 0.99 * v.get(name, 0) + 0.01 * w.grad**2  # not there before the first call
                w -= 0.01 * m[name] / (v[name].sqrt() + 1e-3)
        return loss

    return step, lambda: [*weights.values(), *m.values(), *v.values()]


def items_of_a_list():
    w, average = weight(5, 8), [Tensor.zeros(5, 8)]

    def step(x):
        loss = descend(((x @ w).tanh() ** 2).mean(), w)
        average[0] = 0.9 * average[0] + 0.1 * w.detach()
        return loss

    return step, lambda: [w, average[0]]


def shifted_list():
    w, last = weight(5, 8), SimpleNamespace(values=[Tensor.zeros(4, 8) for _ in range(3)])

    def step(x):
        h = (x @ w).tanh()
        loss = descend(((h - sum(last.values)) ** 2).mean(), w)
        last.values = [*last.values[1:], h.detach()]
        return loss

    return step, lambda: [w, *last.values]


def queue():
    w, last = weight(5, 8), deque([Tensor.zeros(4, 8) for _ in range(3)], maxlen=3)

    def step(x):
        h = (x @ w).tanh()
        loss = descend(((h - last[0] - last[1]) ** 2).mean(), w)
        last.append(h.detach())
        return loss

    return step, lambda: [w, *last]


def variable():
    w, u, h = weight(8, 8), weight(5, 8, seed=1), Tensor.zeros(4, 8)

    def step(x):
        nonlocal h
        h = (x @ u + h @ w).tanh()
        loss = descend((h * h).mean(), w, u)
        h = h.detach()
        return loss

    return step, lambda: [h, w, u]


def pair():
    w, u, state = weight(8, 8), weight(5, 8, seed=1), SimpleNamespace(pair=None)

    def step(x):
        h, c = state.pair or (Tensor.zeros(4, 8), Tensor.zeros(4, 8))
        c = (x @ u + h @ w).tanh() + 0.5 * c
        h = c.sigmoid()
        loss = descend((h * h).mean(), w, u)
        state.pair = h.detach(), c.detach()
        return loss

    return step, lambda: [*state.pair, w, u]


def views_of_one_array():
    w, state = weight(5, 16), SimpleNamespace(h=Tensor.zeros(4, 8), c=Tensor.zeros(4, 8))

    def step(x):
        h, c = (x @ w).chunk(2, axis=1)
        loss = descend(((h + state.c) * (c + state.h)).mean(), w)
        state.h, state.c = h.detach(), c.detach()  # views of one memory
        return loss

    return step, lambda: [state.h, state.c, w]


def one_in_two_places():
    w, state = weight(5, 8), SimpleNamespace(now=Tensor.zeros(4, 8), before=Tensor.zeros(4, 8))

    def step(x):
        h = (x @ w).tanh()
        loss = descend(((h - state.now - state.before) ** 2).mean(), w)
        state.now = state.before = h.detach()
        return loss

    return step, lambda: [state.now, state.before, w]


def kept_activations():
    class Layer:
        def __init__(self, *shape):
            self.w = weight(*shape)

        def __call__(self, x):
            self.out = (x @ self.w).tanh()  # its graph is freed when the step ends
            return self.out

    layers = [Layer(5, 8), Layer(8, 8)]

    def step(x):
        return descend((layers[1](layers[0](x)) ** 2).mean(), *[layer.w for layer in layers])

    return step, lambda: [*[layer.out for layer in layers], *[layer.w for layer in layers]]


def new_weights():
    state = {"w": weight(5, 8)}

    def step(x):
        w = state["w"]
        loss = ((x @ w).tanh() ** 2).mean()
        w.grad = None
        loss.backward()
        state["w"] = (w - 0.1 * w.grad).detach().requires_grad_()
        return loss

    return step, lambda: [state["w"]]


def filled_once():
    w, state = weight(5, 5), SimpleNamespace(mask=None, total=None)

    def step(x):
        if state.mask is None:
            state.mask, state.total = Tensor.ones(5, 5).tril(), Tensor.zeros(1)
        loss = descend(((x @ (w * state.mask)) ** 2).mean(), w)
        state.total += loss.detach()  # in the memory that the first call made
        return loss

    return step, lambda: [w, state.total]


def state_of_an_optimizer():
    class Average(optim.Optimizer):
        def __init__(self, parameters):
            super().__init__(parameters, {"lr": 0.1})

        def step(self):
            with no_grad():
                for p in self.param_groups[0]["params"]:
                    state = self.state[p]
                    if not state:
                        state["mean"] = Tensor.zeros(*p.shape)
                    state["mean"] = 0.9 * state["mean"] + p.grad
                    p -= 0.1 * state["mean"]

    w = weight(5, 8)
    return updating(Average([w]), w)


MAKERS = [attribute, attribute_of_a_module, buffer, dicts, items_of_a_list, shifted_list, queue, variable, pair,
          views_of_one_array, one_in_two_places, kept_activations, new_weights, filled_once, state_of_an_optimizer]


def trained(make, wrap, steps=9):
    step, state = make()
    step, rng, found = wrap(step), np.random.default_rng(5), []
    for _ in range(steps):
        loss = step(Tensor(rng.standard_normal((4, 5)).astype(np.float32)))
        found.append([loss.item(), *[(t.requires_grad, t.numpy().tobytes()) for t in map(Tensor.detach, state())]])
    return found, step, state


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_places_are_bound_to_the_same_bits_as_in_eager_code(make):
    eager, _, _ = trained(make, lambda f: f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        captured, step, _ = trained(make, lambda f: capture(f, fuse=False))
    assert captured == eager
    assert len(step.programs) == 1


def test_an_old_tensor_that_is_kept_is_not_overwritten():
    def run(wrap):
        step, state = variable()
        step, x, kept = wrap(step), Tensor.ones(4, 5), []
        for _ in range(8):
            step(x)
            kept.append(state()[0])
        assert len({id(h) for h in kept}) == 8
        return [h.numpy().tolist() for h in kept]

    assert run(lambda f: capture(f, fuse=False)) == run(lambda f: f)


def test_state_may_be_set_between_calls():
    def run(wrap):
        state, w = SimpleNamespace(h=Tensor.zeros(2)), Tensor([1.0, 2.0])

        def step(x):
            state.h = 0.5 * state.h + w * x
            return state.h.sum()

        step, found = wrap(step), []
        for i in range(12):
            if i % 5 == 4:
                state.h = Tensor([100.0, 0.0])
            found.append(step(Tensor([1.0, float(i)])).item())
        return found, step

    (captured, step), (eager, _) = run(capture), run(lambda f: f)
    assert captured == eager
    assert len(step.programs) == 1


def test_another_shape_of_the_state_gets_another_program():
    def run(wrap):
        state, w = SimpleNamespace(h=Tensor.zeros(2, 3)), weight(3, 3)

        def step(x):
            if state.h.shape[0] != x.shape[0]:
                state.h = Tensor.zeros(*x.shape)
            state.h = ((x + state.h) @ w).tanh().detach()
            return state.h.sum()

        step = wrap(step)
        return [step(Tensor.ones(n, 3)).item() for n in [2, 2, 2, 2, 4, 2] * 4], step

    (captured, step), (eager, _) = run(lambda f: capture(f, fuse=False)), run(lambda f: f)
    assert captured == eager
    assert len(step.programs) == 3 and not step.gave_up


def test_a_tensor_in_two_places_is_changed_in_both():
    def run(wrap):
        state, w = SimpleNamespace(h=Tensor.zeros(2)), Tensor([1.0, 2.0])
        everything = [state.h]

        def step(x):
            state.h = everything[0] = (state.h + w * x).clone()
            everything[0] += 1
            return state.h.sum() + everything[0].sum()

        step = wrap(step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return [step(Tensor([1.0, float(i)])).item() for i in range(8)]

    assert run(capture) == run(lambda f: f)


def test_a_graph_may_grow_from_call_to_call():
    def run(wrap):
        w, state = weight(3, 3), SimpleNamespace(h=Tensor.ones(2, 3))

        def step(x):
            state.h = (x + state.h) @ w  # no backward here, so that its graph grows from call to call
            return state.h.detach().sum()

        step = wrap(step)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            losses = [step(Tensor.ones(2, 3)).item() for _ in range(6)]
        state.h.sum().backward()
        return losses, w.grad.numpy().tolist()

    assert run(capture) == run(lambda f: f)


@pytest.mark.parametrize("wrap", [lambda f: f, capture], ids=["eager", "captured"])
def test_backward_through_undetached_state_raises(wrap):
    w, state = weight(3, 3), SimpleNamespace(h=Tensor.ones(2, 3))

    def step(x, detached):
        state.h = ((x + (state.h.detach() if detached else state.h)) @ w).tanh()
        return descend(state.h.sum(), w)

    step = wrap(step)
    for _ in range(6):
        step(Tensor.ones(2, 3), True)
    assert state.h.requires_grad
    with pytest.raises(RuntimeError, match="already freed"):
        step(Tensor.ones(2, 3), False)
        state.h.sum().backward()


def test_a_call_that_is_begun_again_has_its_effects_once():
    state, seen, named = SimpleNamespace(h=Tensor.ones(3), count=0), [], {}

    def step(x):
        state.h = state.h + x
        state.count += 1
        seen.append(state.count)
        named.setdefault("first", x)
        return float(state.h.sum()) * x

    step, x = capture(step, strict=False), Tensor.ones(3)
    assert [step(x).numpy()[0] for _ in range(4)] == [6, 9, 12, 15]
    assert state.h.numpy().tolist() == [5, 5, 5]
    assert state.count == 4 and seen == [1, 2, 3, 4] and named["first"] is x


def test_a_leaf_that_the_function_makes_is_returned():
    def step(x):
        return (2 * x).requires_grad_()

    step = capture(step)
    for _ in range(5):
        y = step(Tensor([1.0, 2.0]))
        (y * y).sum().backward()
        assert y.grad.numpy().tolist() == [4, 8]


def with_a_norm(wrap):
    w = weight(3, 3)

    def step(x):
        return descend(((x @ w) ** 2).sum(), w), (3 * w).sum()

    return wrap(step), w


@pytest.mark.parametrize("use", ["walked", "kept"])
def test_results_on_a_graph_allow_backward_outside(use):
    found = []
    for wrap in (lambda f: f, capture):
        (step, w), kept = with_a_norm(wrap), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(6):
                kept = kept if use == "kept" else []
                kept.append(step(Tensor.ones(2, 3))[1])
                if use == "walked":
                    kept[0].backward()
        sum(kept).backward() if use == "kept" else None
        found.append(w.grad.numpy().tolist())
    assert found[0] == found[1]
    assert "has a graph" in step.gave_up


def test_an_unbound_variable_may_be_bound_later():
    def make(decorate):
        @decorate
        def step(x):
            return x * factor if ready else x + 1

        ready = False
        if ready:
            factor = None

        def begin():
            nonlocal ready, factor
            ready, factor = True, Tensor(3.0)

        return step, begin

    found = []
    for decorate in (lambda f: f, capture):
        step, begin = make(decorate)
        values = [step(Tensor([float(i)])).item() for i in range(6)]
        begin()
        found.append([*values, *[step(Tensor([float(i)])).item() for i in range(6)]])
    assert found[0] == found[1] and step.programs


def test_what_an_object_gives_numpy_is_watched():
    class Row:
        def __array__(self, dtype=None, copy=None):
            return np.full(2, scale, np.float32)

        def __index__(self):
            return scale // 5

    row, x = Row(), np.array([[1, 2], [3, 4]], np.float32)
    step = capture(lambda x: (x + Tensor(row)).sum(row))
    for scale in (1, 1, 1, 1, 1, 1, 5, 5):
        assert step(Tensor(x)).tolist() == (x + scale).sum(scale // 5).tolist()
    assert step.programs
