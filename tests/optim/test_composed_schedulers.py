"""Schedulers in sequence, chained and side by side: each with every other."""

import random

import pytest

import optim
from optim import lr_scheduler, swa_utils
from tinygrad_like import Tensor

OPTIONS = {
    "StepLR": dict(step_size=5, gamma=0.5), "MultiStepLR": dict(milestones=[2, 5, 5, 9], gamma=0.7),
    "ExponentialLR": dict(gamma=0.9), "LinearLR": dict(start_factor=0.1, end_factor=0.9, total_iters=6),
    "ConstantLR": dict(factor=0.1, total_iters=5),
    "CosineAnnealingLR": dict(T_max=7, eta_min=0.01),
    "LambdaLR": dict(lr_lambda=lambda epoch: 1 / (2 + epoch)),
    "OneCycleLR": dict(max_lr=2.0, total_steps=40), "SWALR": dict(swa_lr=0.05, anneal_epochs=6),
}
KINDS = ["sequence", "side by side"]


def composed(lib, optimizer, kind, names, milestones, epochs=30):
    """The rates that the schedulers set, from the first epoch on."""
    parts = []
    for name in names:
        parts.append(getattr(lib, name)(optimizer, **OPTIONS[name]))
    if kind == "sequence":
        parts = [lib.SequentialLR(optimizer, parts, milestones)]
    found = []
    for _ in range(epochs):
        found.append(optimizer.param_groups[0]["lr"])
        for part in parts:
            part.step()
    return found


class Library:
    """Schedulers of both of the library's modules."""

    def __init__(self, *modules):
        self.modules = modules

    def __getattr__(self, name):
        return next(getattr(module, name) for module in self.modules if hasattr(module, name))


HERE = Library(lr_scheduler, swa_utils)


def optimizer():
    return optim.SGD([Tensor([1.0], requires_grad=True)], lr=0.5, momentum=0.9)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Detected call of", "ignore:The epoch parameter", "ignore:Seems like")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", OPTIONS)
def test_pairs_and_triples_have_pytorchs_rates(first, kind):
    torch = pytest.importorskip("torch")
    there = Library(torch.optim.lr_scheduler, torch.optim.swa_utils)
    draw = random.Random(f"{first} {kind}")
    for names in [(first, second) for second in OPTIONS] + [(first, *draw.sample(list(OPTIONS), 2)) for _ in range(8)]:
        milestones = sorted(draw.randrange(16) for _ in names[1:])
        theirs = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5, momentum=0.9)
        expected = composed(there, theirs, kind, names, milestones)
        found = composed(HERE, optimizer(), kind, names, milestones)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), (names, milestones)


def pair(first, second, milestones):
    """Seven rates of an optimizer that began with 1, under two schedulers in sequence."""
    o = optim.SGD([Tensor([1.0], requires_grad=True)], lr=1.0, momentum=0.9)
    scheduler = lr_scheduler.SequentialLR(o, [first(o), second(o)], milestones)
    return rates(o, scheduler, 7)


def rates(o, scheduler, count):
    found = []
    for _ in range(count):
        found.append(scheduler.get_last_lr()[0])
        scheduler.step()
    return pytest.approx(found)


def tenth(o, total_iters=9):
    return lr_scheduler.ConstantLR(o, 0.1, total_iters)


def halved(o):
    return lr_scheduler.ExponentialLR(o, 0.5)


def test_a_milestone_of_0_leaves_the_first_out():
    expected = [1, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625]
    assert pair(tenth, halved, [0]) == expected
    o = optimizer()
    parts = [tenth(o), halved(o), lr_scheduler.ConstantLR(o, 0.5, 2)]
    assert rates(o, lr_scheduler.SequentialLR(o, parts, [0, 3]), 7) == [0.5, 0.25, 0.125, 0.25, 0.25, 0.5, 0.5]
    o = optimizer()
    parts = [tenth(o), lr_scheduler.ConstantLR(o, 0.2), halved(o)]
    assert rates(o, lr_scheduler.SequentialLR(o, parts, [0, 0]), 4) == [0.5, 0.25, 0.125, 0.0625]
    o = optimizer()
    parts = [tenth(o), lr_scheduler.ConstantLR(o, 0.2), halved(o)]
    assert rates(o, lr_scheduler.SequentialLR(o, parts, [2, 2]), 4) == [0.05, 0.05, 0.5, 0.25]


@pytest.mark.parametrize("first, second, milestone, expected", [
    (tenth, lambda o: lr_scheduler.SequentialLR(o, [halved(o), tenth(o)], [2]), 2,
     [0.1, 0.1, 1, 0.5, 0.1, 0.1, 0.1]),
    (lambda o: lr_scheduler.SequentialLR(o, [halved(o), tenth(o)], [2]), halved, 4, [1, 0.5, 0.1, 0.1, 1, 0.5, 0.25]),
])
def test_in_sequence(first, second, milestone, expected):
    assert pair(first, second, [milestone]) == expected


def test_a_scheduler_that_has_ended_leaves_the_rate_alone():
    o = optimizer()
    scheduler = lr_scheduler.LinearLR(o, 1.0, 0.0, 2)
    for _ in range(3):
        scheduler.step()
    o.param_groups[0]["lr"] = 0.3
    scheduler.step()
    assert o.param_groups[0]["lr"] == 0.3


@pytest.mark.parametrize("name", [name for name in OPTIONS if name not in ("OneCycleLR", "SWALR")])
def test_a_run_that_goes_on_has_the_rates_of_one_that_was_not_interrupted(name):
    o = optimizer()
    scheduler, expected = getattr(HERE, name)(o, **OPTIONS[name]), []
    for _ in range(12):
        scheduler.step()
        expected.append(o.param_groups[0]["lr"])
    o = optimizer()
    scheduler = getattr(HERE, name)(o, **OPTIONS[name])
    for _ in range(5):
        scheduler.step()
    resumed = type(scheduler)(o, last_epoch=4, **OPTIONS[name])  # the rates are already of epoch 5
    found = [o.param_groups[0]["lr"]]
    for _ in range(7):
        resumed.step()
        found.append(o.param_groups[0]["lr"])
    assert found == pytest.approx(expected[4:])


def test_a_scheduler_written_for_pytorch_starts_in_a_sequence():
    class Rising(lr_scheduler.LRScheduler):
        def get_lr(self):
            if self._is_initial or self.last_epoch > 3:
                return [group["lr"] for group in self.optimizer.param_groups]
            return [group["lr"] * 2 for group in self.optimizer.param_groups]

        def _get_closed_form_lr(self):
            return [base * 2 ** min(self.last_epoch, 3) for base in self.base_lrs]

    assert pair(tenth, Rising, [2]) == [0.1, 0.1, 1, 2, 4, 8, 8]
    assert pair(Rising, tenth, [2]) == [1, 2, 0.1, 0.1, 0.1, 0.1, 0.1]


def test_what_compositions_refuse():
    o = optimizer()
    plateau = lr_scheduler.ReduceLROnPlateau(o)
    for make, message in [
        (lambda: lr_scheduler.SequentialLR(o, [halved(o), tenth(o), halved(o)], [3, 1]), r"milestones=\[3, 1\]"),
        (lambda: lr_scheduler.SequentialLR(o, [halved(o), plateau], [3]), "scheduler 1, a ReduceLROnPlateau"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()
    scheduler = lr_scheduler.SequentialLR(o, [halved(o)], [])
    with pytest.raises(TypeError, match="step takes no epoch"):
        scheduler.step(2)
    assert isinstance(scheduler, lr_scheduler.LRScheduler)
