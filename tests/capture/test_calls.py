"""Differences between calls of a captured function: in its arguments, and in all that it reads."""

import gc
import time
import types
import warnings
import weakref
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from types import SimpleNamespace

import numpy as np
import pytest

import nn
import optim
import tinygrad_like as tg
from tinygrad_like import Tensor, capture

X = np.array([[0.5, -1.0], [2.0, 0.25]], np.float32)


def same_in_each_call(make, calls=10):
    """make(decorator) returns a function of a call's number; captured and eager, it must return the same bits."""
    captured = make(lambda f: capture(f, fuse=False))
    eager = make(lambda f: f)
    for i in range(calls):
        assert captured(i) == eager(i), f"call {i}"


class Trainer:
    def __init__(self, factor=1.0):
        self.w = nn.Parameter(X.copy())
        self.optimizer = optim.SGD([self.w], lr=0.1)
        self.factor = factor

    def _step(self, x):
        self.optimizer.zero_grad()
        loss = (x @ self.w * self.factor).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    step = capture(_step, fuse=False)


def test_a_new_object_at_an_old_address_is_told_apart():
    x = Tensor(X)
    trainer = Trainer()
    for _ in range(4):
        trainer.step(x)
    address = id(trainer)
    del trainer
    pool = [Trainer.__new__(Trainer) for _ in range(20000)]
    trainer = next((t for t in pool if id(t) == address), pool[0])
    trainer.__init__()
    for _ in range(4):
        trainer.step(x)
    eager = Trainer()
    for _ in range(4):
        eager._step(x)
    assert trainer.w.tolist() == eager.w.tolist()


def test_trainers_that_share_a_captured_method_are_freed():
    class Many(Trainer):
        step, scaled = capture(Trainer._step, fuse=False), capture(staticmethod(scale))

    x, gone = Tensor(X), []
    for k in range(20):
        trainer = Many(1.0 + k)
        for _ in range(4):
            trainer.step(x)
        assert len(Many.step.programs) <= 3 and not Many.step.gave_up and trainer.step == trainer.step
        assert trainer.step.__name__ == "_step" and trainer.scaled(x, 2).tolist() == (2 * X).tolist()
        gone.append(weakref.ref(trainer.w))
    del trainer
    gc.collect()
    assert sum(ref() is not None for ref in gone) <= 3


def scale(x, by=3):
    return x * by


@pytest.mark.parametrize("others", [
    lambda i: (lambda t: t * 2) if i < 5 else (lambda t: t * 3),
    lambda i: partial(scale, by=2 if i < 5 else 3),
    lambda i: types.SimpleNamespace(by=2 if i < 5 else 3),
    lambda i: range(2 if i < 5 else 3),
    lambda i: 1j * (2 if i < 5 else 3),
    lambda i: frozenset([2 if i < 5 else 3]),
], ids=["function", "partial", "namespace", "range", "complex", "frozenset"])
@pytest.mark.filterwarnings("ignore:capture. .* eagerly")
def test_an_argument_may_be_a_new_object_in_each_call(others):
    def make(decorate):
        def f(x, given):
            if callable(given):
                return given(x)
            by = getattr(given, "by", None) or (len(given) if isinstance(given, range) else None)
            return x * (by or (next(iter(given)) if isinstance(given, frozenset) else abs(given)))

        f = decorate(f)
        return lambda i: f(Tensor(X), others(i)).tolist()

    same_in_each_call(make, 12)


def test_a_bound_method_as_an_argument_needs_one_program():
    layer = nn.Linear(2, 2)
    f = capture(lambda x, forward: forward(x).detach())
    for _ in range(4):
        f(Tensor(X), layer.forward)
    assert len(f.programs) == 1


@dataclass
class Point:
    x: Tensor
    by: float


def with_more(i):
    point = Point(Tensor(X), 1.0)
    point.more = 2 if i < 5 else 3
    return point


@pytest.mark.parametrize("given", [
    lambda i: [2] if i < 5 else [2.0],
    lambda i: {"on": True} if i < 5 else {"on": 1},
    lambda i: {1: 5} if i < 5 else {True: 5},
    lambda i: 0.0 if i < 5 else -0.0,
    lambda i: [0.0] if i < 5 else [-0.0],
    with_more,
])
def test_equal_arguments_of_other_types_or_signs_are_told_apart(given):
    def f(x, a):
        if isinstance(a, Point):
            return a.x * a.more
        part = next(iter(a.values())) if isinstance(a, dict) else a[0] if isinstance(a, list) else a
        key = type(next(iter(a))) is bool if isinstance(a, dict) else False
        return x.long() * part + (key or type(part) is bool)

    def make(decorate):
        g = decorate(f)
        return lambda i: repr(g(Tensor([1.0, 2.0]), given(i)).numpy())

    same_in_each_call(make)


# Arguments that must not be copied -----------------------------------------------------------------------------------


@pytest.mark.parametrize("as_list", [False, True])
def test_an_argument_may_be_a_parameter(as_list):
    def make(decorate):
        w = nn.Parameter(X.copy())
        optimizer = optim.SGD([w], lr=0.1)

        def f(given, x):
            optimizer.zero_grad()
            loss = (x @ (given[0] if as_list else given)).square().mean()
            loss.backward()
            grads = [p.grad.sum() for p in (given if as_list else [given])]
            optimizer.step()
            return loss.detach(), grads

        g = decorate(f)

        def call(i):
            loss, grads = g([w] if as_list else w, Tensor(X + i))
            return loss.item(), grads[0].item(), w.tolist(), w.grad.tolist()

        call.captured = g
        return call

    same_in_each_call(make)
    call = make(lambda f: capture(f, fuse=False))
    for i in range(4):
        call(i)
    assert len(call.captured.programs) == 1


def test_state_that_shows_a_parameter_is_refused_in_words():
    w, state = nn.Parameter(X.copy()), {"h": None}
    step = capture(lambda x: [state.update(h=w.detach()), (x * w).sum().detach()][1], strict=False)
    assert [step(Tensor(X)) for _ in range(9)] and "clone() it" in step.gave_up


@pytest.mark.filterwarnings("ignore:capture. .* eagerly")
def test_state_may_become_a_view_of_a_parameter():
    def make(decorate):
        w = nn.Parameter(X.copy())
        optimizer, state = optim.SGD([w], lr=0.1), types.SimpleNamespace(h=Tensor(X))

        def f(x):
            optimizer.zero_grad()
            (x * w).sum().backward()
            optimizer.step()
            state.h = state.h * 0.5 + x
            return state.h.sum()

        g = decorate(f)

        def call(i):
            if i == 6:
                state.h = w.detach()
            return g(Tensor(X + i)).item(), w.tolist()

        return call

    same_in_each_call(make)


def test_axes_of_an_argument_keep_their_order():
    a = np.random.default_rng(0).standard_normal((53, 137)).astype(np.float32)

    def make(decorate):
        f = decorate(lambda x: (x.sum(), x.is_contiguous()))
        return lambda i: [(total.item(), flag) for total, flag in (f(Tensor(a).T), f(Tensor(a.T.copy())))]

    same_in_each_call(make, 6)


# What a call leaves behind --------------------------------------------------------------------------------------------


def test_gradients_kept_for_the_next_call_may_be_dropped_by_it():
    for seed in range(3):
        tg.manual_seed(seed)
        layer = nn.Linear(4, 2)
        optimizer = optim.SGD(layer.parameters(), lr=0.1)

        @capture
        def f(x, last, layer=layer, optimizer=optimizer):
            loss = layer(x).square().mean() / 2
            loss.backward()
            if last:
                optimizer.step()
                optimizer.zero_grad()
            return loss.detach()

        for i in range(8):
            f(Tensor.randn(8, 4), i % 2 == 1)
        assert f.programs and not f.gave_up


def test_a_replay_that_changes_a_saved_buffer_is_noticed():
    buffer, w = Tensor(X.copy()), Tensor(X.copy(), requires_grad=True)
    f = capture(lambda x: buffer.mul_(0.5).add_(x).sum())
    for _ in range(4):
        f(Tensor(X))
    y = (w * buffer).sum()
    f(Tensor(X))
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()
    f(Tensor(X))  # with an audit
    buffer._data.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        f(Tensor(X))


def test_code_before_a_read_value_runs_once():
    def run(decorate):
        w = nn.Parameter(X.copy())
        optimizer = optim.Adam([w], lr=0.1)
        schedule = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        seen, first, xs = [], {}, [Tensor(X + i) for i in range(5)]

        @decorate
        def step(x):
            loss = (x * w).sum()
            loss.backward()
            optimizer.step()
            schedule.step()
            seen.append(loss.item())
            first.setdefault("x", x)
            return loss.detach()

        out = [step(x).item() for x in xs]
        assert first["x"] is xs[0]
        return out, seen, w.tolist(), w.grad.tolist(), optimizer.steps, optimizer.param_groups[0]["lr"]

    assert run(lambda f: capture(f, strict=False)) == run(lambda f: f)


@pytest.mark.parametrize("f", [
    lambda x, i: x.scatter(0, i, np.full(1, 9, np.float32)), lambda x, i: x.scatter(0, i, 9.0),
    lambda x, i: x.scatter_add(0, i, np.full(1, 9, np.float32)),
    lambda x, i: x.index_add(0, i, Tensor([9.0]))])
def test_an_index_may_change_after_the_recording(f):
    captured = capture(f)
    for k in (0, 0, 0, 0, 3):
        assert captured(Tensor.zeros(4), Tensor([k])).tolist() == f(Tensor.zeros(4), Tensor([k])).tolist()


def left_in_train_or_eval_mode(decorate):
    tg.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @decorate
    def train(x):
        model.train()
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    @decorate
    def validate(x):
        model.eval()
        return model(x).detach().square().mean()

    def call(i):
        losses = [train(Tensor(X + i)).item()] + [validate(Tensor(X)).item()] * (i % 4 != 2)
        return losses, model.training, model[1].training, model[1].running_mean.tolist()

    return call, (train, validate)


def left_with_gradients_or_without(decorate):
    first, second = (Tensor(X.copy(), requires_grad=True) for _ in range(2))
    places = SimpleNamespace(kind="none", best=None)

    def of_one(which, other, kind):
        @decorate
        def step(x):
            which.requires_grad_(True)
            other.requires_grad = False
            places.kind, places.best = kind, None
            which.grad = None
            loss = (x @ first @ second).tanh().square().mean()
            loss.backward()
            with tg.no_grad():
                which.sub_(0.01 * which.grad)
            places.best = "any" if places.best is None else places.best
            return loss.detach()

        return step

    steps = of_one(first, second, "first"), of_one(second, first, "second")

    def call(i):
        if i == 7:
            places.best = None
        return [(step(Tensor(X + i)).item(), first.requires_grad, second.requires_grad, places.kind, places.best)
                for step in steps]

    return call, steps


@pytest.mark.parametrize("make", [left_in_train_or_eval_mode, left_with_gradients_or_without])
def test_a_replay_sets_the_flags_that_an_eager_call_sets(make):
    call, steps = make(lambda f: capture(f, fuse=False))
    eager, _ = make(lambda f: f)
    assert [call(i) for i in range(12)] == [eager(i) for i in range(12)]
    assert all(step.programs and not step.gave_up for step in steps)


def test_the_attributes_of_a_captured_function_are_watched():
    def make(decorator):
        @decorator
        def step(x):
            return x * step.scale

        def call(i):
            step.scale = 1.0 + (i == 7)
            return step(Tensor(X)).tolist()

        return call

    same_in_each_call(make)


@pytest.mark.parametrize("read, why", [
    (tg.get_rng_state, "looks at values"), (tg.get_num_threads, "looks at values"),
    (lambda: f"{X}", "numpy._core.arrayprint"),
    (lambda: tg.detect_anomaly().__enter__(), "looks at values"), (lambda: tg.set_num_threads(1), "looks at values"),
    (lambda: tg.set_default_dtype(tg.float32), "calls set_default_dtype, which"),
    (lambda: (s := ExitStack(), s.callback(weakref.WeakKeyDictionary), s.close()), "calls weakref.WeakKeyDictionary")])
def test_a_step_that_reads_or_changes_a_setting_or_looks_for_nan_runs_eagerly(read, why):
    @capture(strict=False)
    def step(x):
        read()
        return x * 2

    with tg.detect_anomaly(check_nan=False):  # restores the outer listener
        step(Tensor(X))
    assert why in step.gave_up


def test_a_step_that_may_warn_is_captured_unless_it_warns():
    @capture(strict=False)
    def step(x):
        if len(x) > 3:
            warnings.warn("a long batch", stacklevel=1)
        return x * 2

    for i in range(12):
        with pytest.warns(UserWarning, match="a long batch") if i % 3 == 2 else nullcontext():
            step(Tensor.ones(4 if i % 3 == 2 else 2))
    assert len(step.programs) == 1 and "it calls _warnings.warn, at" in step.gave_up


def test_numpys_errors_may_call_a_function():
    heard, step = [], capture(lambda x: x.exp() / 0)
    with np.errstate(all="call", call=lambda *about: heard.append(about)):
        assert [(step(Tensor([1.0])), len(heard))[1] for _ in range(6)] == [1, 2, 3, 4, 5, 6]


def test_a_step_may_begin_with_the_update_of_the_last_one():
    w = nn.Parameter(X.copy())
    optimizer = optim.SGD([w], lr=0.1)

    @capture(fuse=False)
    def step(x):
        optimizer.step()
        optimizer.zero_grad()
        loss = (x @ w).square().mean()
        loss.backward()
        return loss

    (Tensor(X) @ w).sum().backward()
    for i in range(12):
        step(Tensor(X + i / 9))
    assert step.programs and not step.gave_up


def by_position(o):
    match o:
        case Scale(by):
            return by


@dataclass(eq=False)
class Scale:
    by: float = 2.0


@pytest.mark.parametrize("read", [
    lambda o: getattr(o, "".join("by")), lambda o: vars(o)["by"], lambda o: o.__dict__["by"], by_position,
    lambda o: asdict(o)["by"], lambda o: float("{.by}".format(o)), lru_cache(lambda o: 2.0),  # noqa: UP032
    lambda o: sum(map(eval, ["o.by"], [{"o": o}])),
], ids=["getattr", "vars", "dict", "pattern", "asdict", "format", "cache", "passed on"])
def test_a_step_that_does_not_name_what_it_reads_runs_eagerly(read):
    """The warning names the line, or the function."""
    o = Scale()

    @capture
    def step(x):
        return x * read(o)

    with pytest.warns(UserWarning, match=r"test_calls.py:\d|read, of type functools._lru_cache_wrapper"):
        assert [step(Tensor(X)).tolist() for _ in range(4)] == [(2 * X).tolist()] * 4
    assert not step.programs


def test_callbacks_of_the_garbage_collector_are_no_part_of_a_step():
    w = Tensor.randn(3, 3)

    @capture
    def step(x):
        return (x @ w).tanh().sum()

    def callback(*_):
        time.perf_counter()

    threshold, before = gc.get_threshold(), gc.callbacks[:]
    gc.callbacks[:] = [callback, *before, callback]
    gc.set_threshold(20, 10**6, 10**6)
    try:
        for _ in range(4):
            step(Tensor.ones(2, 3))
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks[:] = before
    assert step.programs


def test_an_empty_batch_is_captured():
    assert [(f := capture(lambda x: x * 2))(Tensor.zeros(0, 3)).shape, f(Tensor.zeros(0, 3)).shape] == [(0, 3)] * 2
