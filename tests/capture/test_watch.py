"""What captured functions depend on, changed from outside and by themselves: as eager code, or it says why not."""

import array
import ctypes
import itertools
import multiprocessing
import random
import threading
import types
import warnings
import weakref
from argparse import Namespace
from collections import deque

import numpy as np
import pytest

import nn
import nn.functional as F
import optim
import tinygrad_like as tg
from tinygrad_like import Tensor, capture
from tinygrad_like.autograd import Function
from tinygrad_like.capture.instructions import Refused

CALLS = 12


def training(model, optimizer):
    def update(x, y, scale=1.0):
        loss = F.cross_entropy(model(x), y) * scale
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.detach()

    return update


def net(kind="SGD", **options):
    tg.manual_seed(0)
    layer = nn.Linear(4, 3)
    optimizer = getattr(optim, kind)(layer.parameters(), **(options or dict(lr=0.1, momentum=0.5)))

    return layer, optimizer, training(layer, optimizer)


def trained(make, decorate, change_at=7):
    """The losses and weights of some steps, between two of which something changes."""
    layer, step, change = (*make(), None)[:3]
    step, found = decorate(step), []
    for i in range(CALLS):
        if i == change_at and change is not None:
            change()
        rng = np.random.default_rng(i)
        x, y = Tensor(rng.standard_normal((6, 4)).astype("f")), Tensor(rng.integers(0, 3, 6))
        found.append(step(x, y).item())
    return found + layer.weight.detach().numpy().ravel().tolist(), step


class Config:
    weight = 1.0

    def scale(self):
        return self.weight


class Slots:
    __slots__ = ("weight",)

    def __init__(self):
        self.weight = 1.0


def with_holder(holder, read, write):
    def make():
        layer, _, update = net()
        held = holder()
        return layer, lambda x, y: update(x, y, read(held)), lambda: write(held)

    return make


def set_weight(held):
    held.weight = 0.1


def own_class():
    return type("Own", (Config,), {"weight": 1.0})


def frozen():
    layer, _, update = net()
    return layer, update, lambda: layer.bias.requires_grad_(False)


def unfrozen():
    layer, optimizer, _ = net()
    first = nn.Linear(4, 4)
    first.requires_grad_(False)
    optimizer.add_param_group({"params": first.parameters()})
    return first, training(lambda x: layer(first(x)), optimizer), lambda: first.requires_grad_(True)


def another_group():
    layer, optimizer, update = net()
    scale = nn.Parameter(np.ones(4, "f"))
    return layer, lambda x, y: update(x * scale, y), lambda: optimizer.add_param_group({"params": [scale]})


def loaded():
    layer, optimizer, update = net("Adam", lr=0.1)
    state = optimizer.state_dict()
    return layer, update, lambda: optimizer.load_state_dict(state)


def options(**new):
    def make():
        layer, optimizer, update = net("Adam", lr=0.1) if "betas" in new or "eps" in new else net()
        return layer, update, lambda: optimizer.param_groups[0].update(new)

    return make


def evaluated(layers):
    def make():
        layer, optimizer, _ = net()
        model = nn.Sequential(layer, *layers())
        return layer, training(model, optimizer), model.eval

    return make


def hooked(register):
    def make():
        layer, _, update = net()
        return layer, update, lambda: register(layer)

    return make


def file_of_settings():
    layer, _, update = net()
    settings = types.ModuleType("settings")
    settings.weight = 1.0
    return layer, lambda x, y: update(x, y, settings.weight), lambda: setattr(settings, "weight", 0.1)


def file_that_another_function_reads():
    layer, _, update = net()
    settings = types.ModuleType("settings")
    settings.weight, settings.factor = 1.0, 1.0

    def scale():
        return settings.weight

    def step(x, y, settings=settings, zscale=scale):
        return update(x, y, settings.factor * zscale())

    return layer, step, lambda: setattr(settings, "weight", 0.1)


def default_argument():
    layer, _, update = net()

    def step(x, y, scale=1.0):
        return update(x, y, scale)

    return layer, step, lambda: setattr(step, "__defaults__", (0.1,))


def attribute_of_a_function():
    layer, _, update = net()

    def scale():
        return scale.weight

    scale.weight = 1.0
    return layer, lambda x, y: update(x, y, scale()), lambda: setattr(scale, "weight", 0.1)


FROM_OUTSIDE = {
    "class attribute": with_holder(own_class, lambda k: k.weight, set_weight),
    "class attribute by a method": with_holder(lambda: own_class()(), lambda o: o.scale(),
                                               lambda o: set_weight(type(o))),
    "method exchanged": with_holder(lambda: own_class()(), lambda o: o.scale(),
                                    lambda o: setattr(type(o), "scale", lambda self: 0.1)),
    "attribute that hides the class's": with_holder(Config, lambda o: o.weight, set_weight),
    "default of getattr": with_holder(type("Empty", (), {}), lambda o: getattr(o, "weight", 1.0), set_weight),
    "slots": with_holder(Slots, lambda o: o.weight, set_weight),
    "namespace": with_holder(lambda: Namespace(weight=1.0), lambda o: o.weight, set_weight),
    "simple namespace": with_holder(lambda: types.SimpleNamespace(weight=1.0), lambda o: o.weight, set_weight),
    "deque": with_holder(lambda: deque([1.0]), lambda q: q[0], lambda q: q.__setitem__(0, 0.1)),
    "small array": with_holder(lambda: np.ones(2), lambda a: float(a[0]), lambda a: a.__setitem__(0, 0.1)),
    "frozen": frozen, "unfrozen": unfrozen, "another group": another_group, "loaded state": loaded,
    "momentum": options(momentum=0.9), "weight decay": options(weight_decay=0.5), "nesterov": options(nesterov=True),
    "no momentum": options(momentum=0.0), "betas": options(betas=(0.5, 0.6)), "eps": options(eps=0.5),
    "eval of batch norm": evaluated(lambda: [nn.BatchNorm1d(3)]),
    "eval of dropout": evaluated(lambda: [nn.Dropout(0.5)]),
    "forward hook": hooked(lambda m: m.register_forward_hook(lambda m, given, out: out * 3)),
    "hook of a parameter": hooked(lambda m: m.weight.register_hook(lambda g: g * 3)),
    "module of settings": file_of_settings, "module that another function reads": file_that_another_function_reads,
    "default argument": default_argument,
    "attribute of a function": attribute_of_a_function,
}


@pytest.mark.parametrize("make", FROM_OUTSIDE.values(), ids=FROM_OUTSIDE)
def test_what_is_changed_from_outside_is_seen(make):
    eager, _ = trained(make, lambda f: f)
    captured, step = trained(make, lambda f: capture(f, fuse=False))
    assert captured == eager and step.programs and not step.gave_up
    unchanged, _ = trained(lambda: make()[:2], lambda f: f)
    assert unchanged != eager  # or this shows nothing


def counted(source, limit=7):
    """A step whose loss is scaled where what `source` makes, such as a function that counts its calls, gives much."""
    def make():
        layer, _, update = net()
        number = source()
        return layer, lambda x, y: update(x, y, 1.0 if number() < limit else 0.1)

    return make


def following(iterator):
    return lambda: next(iterator)


class Counter:
    total = 0

    def __call__(self):
        type(self).total += 1
        return type(self).total


def counting_hook(register):
    def make():
        layer, _, update = net()
        seen = []
        register(layer, lambda g: seen.append(1) or g * (1.0 if len(seen) < 7 else 0.1))
        return layer, update

    return make


def counting_function():
    layer, _, update = net()

    class Scaled(Function):
        calls = 0

        @staticmethod
        def forward(ctx, x):
            Scaled.calls += 1
            return x * (1.0 if Scaled.calls < 7 else 0.1)

        @staticmethod
        def backward(ctx, g):
            return g

    return layer, lambda x, y: update(Scaled.apply(x), y)


def array_counter():
    a = np.zeros(1000)

    def count():
        a[0] += 1
        return a[0]

    return count


def function_counter():
    def count():
        count.calls += 1
        return count.calls

    count.calls = 0
    return count


def own_optimizer():
    class Own(optim.Optimizer):
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    state = self.state[p]
                    state["step"] = state.get("step", 0) + 1
                    p.data -= (0.1 if state["step"] < 7 else 0.01) * p.grad.data

    layer, _, _ = net()
    return layer, training(layer, Own(layer.parameters(), {"lr": 0.1}))


BY_ITSELF = {
    "count": (counted(lambda: following(itertools.count(1))), "the place in"),
    "iterator of a list": (counted(lambda: following(iter(range(1, 99)))), "the place in"),
    "generator": (counted(lambda: (i for i in range(1, 99)).__next__), "the place in|is changed"),
    "array": (counted(array_counter), "a constant from outside|the array a"),
    "random": (counted(lambda: random.Random(5).random, 0.7), "the state of"),
    "global random": (counted(lambda: random.seed(5) or (lambda: random.random()), 0.7), "Python's random"),
    "numpy generator": (counted(lambda: np.random.default_rng(5).random, 0.7), "the state of"),
    "global numpy": (counted(lambda: np.random.seed(5) or (lambda: np.random.rand()), 0.7), "np.random"),
    "hook of a parameter": (counting_hook(lambda m, h: m.weight.register_hook(h)), "seen"),
    "forward hook": (counting_hook(lambda m, h: m.register_forward_hook(lambda m, given, out: h(out))), "seen"),
}


@pytest.mark.parametrize("make, why", BY_ITSELF.values(), ids=BY_ITSELF)
def test_what_it_changes_itself_is_said(make, why):
    eager, _ = trained(make, lambda f: f)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        captured, step = trained(make, lambda f: capture(f, fuse=False))
    assert captured == eager
    assert len(said) == 1 and step.gave_up
    assert any(part in step.gave_up for part in why.split("|")), step.gave_up


class Annealed:
    temperature = 1.0

    def __call__(self):
        self.temperature = np.maximum(self.temperature * np.exp(-0.1), 0.5)  # of NumPy's type from the first call on
        return self.temperature


FOLLOWED = {
    "a number of NumPy's": counted(Annealed, 0.7),
    "class attribute": counted(lambda: type("Mine", (Counter,), {"total": 0})()),
    "attribute of a function": counted(function_counter),
    "function": counting_function,
    "optimizer of one's own": own_optimizer,
}


@pytest.mark.parametrize("make", FOLLOWED.values(), ids=FOLLOWED)
def test_numbers_that_it_changes_itself_are_followed(make):
    eager, _ = trained(make, lambda f: f)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        captured, step = trained(make, lambda f: capture(f, fuse=False))
    assert captured == eager
    assert step.programs


SCHEDULERS = {
    "StepLR": lambda o: optim.lr_scheduler.StepLR(o, 5, 0.1),
    "MultiStepLR": lambda o: optim.lr_scheduler.MultiStepLR(o, [4, 8]),
    "ConstantLR": lambda o: optim.lr_scheduler.ConstantLR(o, 0.5, 6),
    "CosineAnnealingLR": lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 10),
    "LambdaLR": lambda o: optim.lr_scheduler.LambdaLR(o, lambda epoch: 1 / (1 + epoch // 3)),
    "OneCycleLR": lambda o: optim.lr_scheduler.OneCycleLR(o, 0.2, total_steps=20),
    "SequentialLR": lambda o: optim.lr_scheduler.SequentialLR(
        o, [optim.lr_scheduler.LinearLR(o, total_iters=4), optim.lr_scheduler.ExponentialLR(o, 0.5)], [5]),
}


@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_schedulers_are_stepped(kind, scheduler, inside):
    rates = []

    def run(decorate):
        layer, optimizer, update = net(kind, lr=0.1, **({"momentum": 0.5} if kind == "SGD" else {}))
        schedule = SCHEDULERS[scheduler](optimizer)

        def step(x, y):
            loss = update(x, y)
            if inside:
                schedule.step()
            return loss

        step = decorate(step)

        def both(x, y):
            loss = step(x, y)
            if not inside:
                schedule.step()
            rates.append(optimizer.param_groups[0]["lr"])
            return loss

        return trained(lambda: (layer, both), lambda f: f)[0], step

    eager, _ = run(lambda f: f)
    captured, step = run(lambda f: capture(f, fuse=False))
    assert captured == eager and rates[:CALLS] == rates[CALLS:] and step.programs


# Arguments that are changed -------------------------------------------------------------------------------------------


def compared(run):
    eager, captured = run(lambda f: f), run(lambda f: capture(f, fuse=False))
    assert eager == captured and len({str(x) for x in eager}) > 2


def test_parameters_that_are_arguments_are_trained():
    def run(decorate):
        @decorate
        def step(params, x):
            loss = ((x @ params[0] + params[1]) ** 2).mean()
            loss.backward()
            with tg.no_grad():
                for p in params:
                    p -= 0.1 * p.grad
                    p.grad = None
            return loss.detach()

        params = [Tensor(np.ones((3, 2), "f"), requires_grad=True), Tensor(np.ones(2, "f"), requires_grad=True)]
        losses = [step(params, Tensor(np.random.default_rng(i).standard_normal((5, 3)).astype("f"))).item()
                  for i in range(8)]
        return losses + [p.detach().numpy().tolist() for p in params]

    compared(run)


def test_states_in_arguments():
    def run(decorate):
        @decorate
        def step(x, h):
            h.copy_((x + h).tanh())
            x.mul_(2)
            return h.sum()

        h, found = Tensor(np.zeros(3, "f")), []
        for i in range(8):
            x = Tensor(np.full(3, 0.1 * i, "f"))
            found += [step(x, h).item(), x.tolist(), h.tolist()]
        return found

    compared(run)


def test_lists_and_dicts_in_arguments():
    def run(decorate):
        @decorate
        def step(x, state, more):
            state["h"] = (state["h"] + x).tanh()
            more.append(x * 2)
            more[0] = more[0] + 1
            return state["h"].sum()

        state, more, found = {"h": Tensor(np.zeros(2, "f"))}, [Tensor([0.0])], []
        for i in range(8):
            found.append(step(Tensor(np.full(2, 0.1 * i, "f")), state, more).item())
        return [*found, state["h"].tolist(), [t.tolist() for t in more]]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compared(run)


def test_gradients_of_arguments():
    def run(decorate):
        @decorate
        def step(x, y, z):
            (x * y).sum().backward()
            z.grad = x.grad * 3
            return x.grad.sum()

        x, z, found = Tensor([1.0, 2.0], requires_grad=True), Tensor([0.0, 0.0], requires_grad=True), []
        for i in range(10):
            if i == 6:
                x.grad = None
            found += [step(x, Tensor([1.0 * i, 2.0]), z).item(), x.grad.tolist(), z.grad.tolist()]
        return found

    compared(run)


def test_results_that_are_arguments_or_were_there_before():
    weight, memory = nn.Parameter(np.ones(3, "f")), Tensor(np.zeros(3, "f"))

    @capture
    def f(x):
        memory.add_(x)
        return x, x[0], weight, memory, x * 2

    found, given = [], [Tensor(np.full(3, float(i), "f")) for i in range(6)]
    for x in given:
        same, part, w, m, double = f(x)
        assert same is x and w is weight and m is memory
        m.mul_(0.5)
        found.append((part, double))
    assert f.programs
    assert [(p.item(), d.tolist()) for p, d in found] == [(float(i), [2.0 * i] * 3) for i in range(6)]
    expected = np.zeros(3, "f")
    for i in range(6):
        expected = (expected + i) * 0.5
    assert memory.tolist() == expected.tolist()


def test_arguments_in_the_same_memory_of_which_one_is_changed():
    f = capture(lambda a, b: (a.mul_(2), b + 0)[1])
    x = Tensor([1.0, 2.0])
    for _ in range(3):
        with pytest.raises(Refused, match=r"an argument lies in memory that the function changes, at .*clone"):
            f(x, x[:1])
    assert x.tolist() == [1, 2]
    g = capture(lambda a, b: (a.mul_(2), b + 0)[1])
    x = Tensor([1.0, 2.0])
    assert [g(x, x).tolist() for _ in range(5)] == [[2.0 ** i, 2.0 ** (i + 1)] for i in range(1, 6)] and g.programs


def test_arguments_that_are_views_of_one_array():
    """As the tokens that a language model reads and those that come next."""
    text = Tensor(np.random.default_rng(0).integers(0, 5, 40))

    def losses(decorate):
        tg.manual_seed(0)
        layer = nn.Embedding(5, 5)
        optimizer = optim.SGD(layer.parameters(), lr=0.5)

        def step(x, y):
            optimizer.zero_grad()
            loss = F.cross_entropy(layer(x), y)
            loss.backward()
            optimizer.step()
            return loss

        step = decorate(step)
        return [step(text[i:i + 6], text[i + 1:i + 7]).item() for i in range(8)], step

    expected, _ = losses(lambda f: f)
    found, step = losses(lambda f: capture(f, fuse=False))
    assert found == expected and step.programs


def test_stacks_of_numbers():
    f = capture(lambda x: tg.stack([(x * k).sum() for k in (1.0, 2.0)]) * 2)
    assert [f(Tensor([1.0 * i, 1.0])).tolist() for i in range(5)] == [[2.0 * i + 2, 4.0 * i + 4] for i in range(5)]
    assert f.programs


@pytest.mark.rejected
@pytest.mark.parametrize("size", [3, 100_000])
def test_a_proof_sees_what_compiled_code_leaves_out(size, monkeypatch):
    """Memory that nothing writes to holds NaN when a program is proved, and not what it held when it was recorded."""
    from tinygrad_like.capture import lower

    monkeypatch.setitem(lower.LOWER, "stack", lambda step: iter([lower.copied(step.arguments[0], step.outputs[0][0])]))
    f = capture(lambda x: tg.stack([x, x + 1]) * 2)
    for i in range(5):
        x = Tensor(np.full(size, float(i), "f"))
        np.testing.assert_array_equal(f(x).numpy(), np.stack([x.numpy(), x.numpy() + 1]) * 2)


def test_a_kind_of_call_that_cannot_be_captured_leaves_the_others():
    layer, _, update = net()

    @capture
    def step(x, y):
        return update(x, y) if layer.training else F.cross_entropy(layer(x), y)  # a graph

    def calls(count):
        for i in range(count):
            rng = np.random.default_rng(i)
            yield step(Tensor(rng.standard_normal((6, 4)).astype("f")), Tensor(rng.integers(0, 3, 6))).item()

    layer.eval()
    with pytest.warns(UserWarning, match="step runs without capture .* return its detach"):
        first = list(calls(3))
    layer.train()
    list(calls(5))
    assert len(step.programs) == 1 and "matrix product" in str(step) and "detach" in str(step)
    layer.eval()
    rng = np.random.default_rng(0)
    x, y = Tensor(rng.standard_normal((6, 4)).astype("f")), Tensor(rng.integers(0, 3, 6))
    assert list(calls(1)) == [F.cross_entropy(layer(x), y).item()] != first[:1]


def test_objects_of_a_file_that_python_does_not_list():
    """Such as one that `importlib.util.module_from_spec` made, or a text that was executed."""
    source = """
class Warmup:
    def __init__(self, optimizer):
        self.optimizer, self.count = optimizer, 0
    def step(self):
        self.count += 1
        for group in self.optimizer.param_groups:
            group["lr"] = 0.01 * self.count
        self.optimizer.step()
"""
    made = {"__name__": "a_file_that_is_not_listed"}
    exec(source, made)
    results = []
    for kind in (lambda f: capture(f, fuse=False), lambda f: f):
        w = nn.Parameter(np.ones(3, np.float32))
        warmup = made["Warmup"](optim.SGD([w], lr=0.1))

        def step(x):
            warmup.optimizer.zero_grad()  # noqa: B023
            loss = (w * x).square().sum()  # noqa: B023
            loss.backward()
            warmup.step()  # noqa: B023
            return loss.detach()

        step = kind(step)
        results.append([step(Tensor([1.0, 2.0, 3.0])).item() for _ in range(8)])
    assert results[0] == results[1] and len(set(results[0])) == 8


PACKAGE = """
from tinygrad_like import Tensor, capture
import nn, optim

class Trainer:
    def __init__(self, fuse):
        self.w, self.count = nn.Parameter(Tensor.ones(3).numpy()), 0
        self.optimizer = optim.SGD([self.w], lr=0.1)
        self.step = capture(self.plain, fuse=False) if fuse else self.plain

    def plain(self, x):
        self.count += 1
        self.optimizer.zero_grad()
        loss = (self.w * x).square().sum() * 0.9**self.count
        loss.backward()
        self.optimizer.step()
        return loss.detach()
"""


def test_a_program_that_is_an_installed_package(tmp_path, monkeypatch):
    from tinygrad_like.capture import user_code as users

    own, installed, pythons = users._places()
    monkeypatch.setattr(users, "_places", lambda: (own, (f"{tmp_path}/", *installed), pythons))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "a_users_package.py").write_text(PACKAGE)
    (tmp_path / "another_package.py").write_text("import math\n\ndef f(): pass\n")
    import a_users_package
    import another_package

    results = []
    for captured in False, True:
        trainer = a_users_package.Trainer(captured)
        results.append([trainer.step(Tensor([1.0, 2.0, 3.0])).item() for _ in range(8)])
    assert results[0] == results[1] and trainer.step.programs
    assert not users.ours(a_users_package) and users.ours(another_package) and users.ours(another_package.f)
    assert users.ours(nn.Linear.forward) and users.ours(random) and users.ours(np.linalg) and users.ours(pytest.fixture)


def test_a_captured_method_that_is_an_attribute_of_its_object():
    class Trainer:
        def __init__(self, kind):
            self.w, self.count = nn.Parameter(np.ones(3, np.float32)), 0
            self.step, self.others = kind(self.plain), [kind]

        def plain(self, x):
            self.count += 1
            loss = (self.w * x).square().sum() * 0.9**self.count
            loss.backward()
            with tg.no_grad():
                self.w -= 0.1 * self.w.grad
            self.w.grad = None
            return loss.detach()

    found = []
    for kind in (lambda f: f, lambda f: capture(f, fuse=False)):
        trainer = Trainer(kind)
        found.append([trainer.step(Tensor([1.0, 2.0, 3.0])).item() for _ in range(8)])
    assert found[0] == found[1] and trainer.step.programs


@pytest.mark.filterwarnings("ignore:capture")
def test_an_optimizer_that_is_not_found():
    found = []
    for kind in (lambda f: f, lambda f: capture(f, fuse=False)):
        w = nn.Parameter(np.ones(3, np.float32))
        optimizer = optim.SGD([w], lr=0.1)
        thread = threading.Thread()
        thread.optimizer = optimizer

        def step(x):
            opt = thread.optimizer  # noqa: B023
            opt.param_groups[0]["lr"] *= 0.9
            loss = (w * x).square().sum()  # noqa: B023
            loss.backward()
            opt.step()
            opt.zero_grad()
            return loss.detach()

        step = kind(step)
        found.append([step(Tensor([1.0, 2.0, 3.0])).item() for _ in range(8)])
    assert found[0] == found[1] and "SGD is reached through" in step.gave_up


@pytest.mark.parametrize("change", ["training", "own"])
def test_a_flag_that_is_another_one_in_every_call_from_the_first_on(change):
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    net[0].scaled = True

    def step(x):
        y = net(x)
        return (y * 3 if net[0].scaled else y + 1).square().sum().detach()  # y itself sums to rounding errors

    captured, x = capture(step), Tensor.randn(5, 3)
    for i in range(10):
        on = i % 2 == 0
        net.train(on) if change == "training" else setattr(net[0], "scaled", on)
        mean = net[1].running_mean.clone()
        expected = step(x)
        net[1].running_mean.assign(mean)
        assert abs(captured(x).item() - expected.item()) < 1e-4
    assert len(captured.programs) == 2 and not captured.gave_up


@pytest.mark.parametrize("changed", ["a module", "a function", "None", "a list"])
def test_an_object_that_is_another_one_in_every_call_from_the_first_on(changed):
    nets, more, now = [nn.Linear(3, 3), nn.Linear(3, 3)], [], Namespace(net=None, activation=Tensor.relu, loss=None)
    optimizers = [optim.SGD(net.parameters(), lr=0.1) for net in nets]
    now.net, now.optimizer = nets[0], optimizers[0]

    def step(x):
        y = now.activation(now.net(x))
        for part in more:
            y = y + part
        loss = y.square().mean() if now.loss is None else now.loss(y, x)
        now.optimizer.zero_grad()
        loss.backward()
        now.optimizer.step()
        return loss.detach()

    def run(step):
        for net in nets:
            net.load_state_dict({"weight": np.eye(3, dtype="f"), "bias": np.zeros(3, "f")})
        for i in range(12):
            odd = i % 2
            if changed == "a module":
                now.net, now.optimizer = nets[odd], optimizers[odd]
            elif changed == "a function":
                now.activation = (Tensor.relu, Tensor.tanh)[odd]
            elif changed == "None":
                now.loss = F.l1_loss if odd else None
            else:
                more[:] = [Tensor.ones(3)] * odd
            yield step(Tensor(np.random.default_rng(i).standard_normal((5, 3)).astype("f"))).item()

    captured = capture(step, fuse=False)
    assert list(run(captured)) == list(run(step)) and len(captured.programs) >= 2 and not captured.gave_up


def reloaded():
    """A function whose code a notebook loads anew."""
    def scale():
        return 1.0

    def other():
        return 2.0

    return scale, lambda: setattr(scale, "__code__", other.__code__)


def weak():
    box, found = Namespace(scale=1.0), []
    found += [weakref.ref(box), weakref.WeakKeyDictionary({Config: box}), weakref.WeakSet([Config]), {Config: 1}, box]
    return lambda: found[0]().scale * len(found[2]), lambda: setattr(box, "scale", 2.0)


def of_keys(make):
    key = Config()
    holder = make(key)
    return lambda: next(iter(holder)).weight, lambda: setattr(key, "weight", 2.0)


def local():
    own = threading.local()
    own.scale = 1.0
    return lambda: own.scale, lambda: setattr(own, "scale", 2.0)


def event():
    stop = threading.Event()
    return lambda: 2.0 if stop.is_set() else 1.0, stop.set


def of_bytes(x):
    return (lambda: x.value, lambda: setattr(x, "value", 2)) if hasattr(x, "value") else (
        lambda: x[0], lambda: x.__setitem__(0, 2))


def proxy():
    scales = {"scale": 1.0}
    shown = types.MappingProxyType(scales)
    return lambda: shown["scale"], lambda: scales.update(scale=2.0)


@pytest.mark.parametrize("make", [
    reloaded, weak, local, event, proxy, lambda: of_keys(lambda key: {key: 0}), lambda: of_keys(lambda key: {key}),
    lambda: of_keys(lambda key: weakref.WeakKeyDictionary({key: 0})),
    lambda: of_keys(lambda key: weakref.WeakSet([key])),
    lambda: of_bytes(bytearray([1])), lambda: of_bytes(array.array("d", [1.0])),
    lambda: of_bytes(memoryview(bytearray([1]))), lambda: of_bytes(ctypes.c_double(1.0)),
    lambda: of_bytes((ctypes.c_int * 2)(1, 0)), lambda: of_bytes(multiprocessing.Value("d", 1.0)),
], ids=["code", "weak", "local", "event", "proxy", "keys", "set", "weak keys", "weak set", "bytearray", "array",
        "memoryview", "c_double", "c_int", "Value"])
def test_what_python_itself_has_is_looked_into(make):
    scale, change = make()
    step = capture(lambda x: x * scale())
    assert [step(Tensor([3.0])).item() for _ in range(4)] == [3.0] * 4 and len(step.programs) == 1
    change()
    assert [step(Tensor([3.0])).item() for _ in range(4)] == [6.0] * 4


def swapped(s, x):
    s.a, s.b = s.b, s.a
    s.view = s.a[:2]
    s.a.add_(x)


def kept_view(s, x):
    s.b = s.b.view(3)
    s.a[0] += x[0]


def kept_in_lists(s, x):
    s.list[1] = s.list[0].detach()
    s.list[0] = (s.list[0] + x).detach()
    s.list[0].mul_(0.5)
    s.list[1].add_(x)
    s.a = s.list[0].detach()


def kept_gradient(s, x):
    s.view = s.w.grad
    s.w.grad.zero_()
    s.a = s.a + s.view.sum()


def zeroed_gradient(s, x):
    s.view = s.w.grad
    optim.SGD([s.w], lr=0.1).zero_grad(set_to_none=False)
    s.a = s.a + s.view.sum()


@pytest.mark.parametrize("change", [swapped, kept_view, kept_in_lists, kept_gradient, zeroed_gradient])
@pytest.mark.filterwarnings("ignore:capture")
def test_state_that_is_a_view_of_other_state(change):
    found = []
    for kind in (lambda f: f, lambda f: capture(f, fuse=False)):
        s = Namespace(a=Tensor.zeros(3), b=Tensor.ones(3), view=Tensor.zeros(2), turn=False,
                      w=Tensor.ones(3).requires_grad_(), list=[Tensor.zeros(3), Tensor.ones(3)])

        def step(x, s=s):
            s.turn = not s.turn
            (s.w * x).sum().backward()
            change(s, x)
            return s.a + s.w.grad

        step, got = kind(step), []
        for i in range(CALLS):
            if i == 4:
                s.a = s.b
            got.append([step(Tensor([i, 1.0, 2.0])).tolist(), s.a.tolist(), s.b.tolist(), s.view.tolist()])
        found.append(got)
    assert found[0] == found[1]
