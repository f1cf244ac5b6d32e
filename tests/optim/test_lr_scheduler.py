"""Schedulers set the rates that PyTorch's set."""

import math

import pytest

import optim
from optim import lr_scheduler
from tinygrad_like import Tensor


def optimizers(cls="SGD", **options):
    return getattr(optim, cls)([Tensor([1.0], requires_grad=True)], lr=0.5, **options)


def rates(optimizer, scheduler, count=12):
    found = []
    for _ in range(count):
        found.append((scheduler.get_last_lr()[0], optimizer.param_groups[0].get("momentum"),
                      optimizer.param_groups[0].get("betas")))
        scheduler.step()
    return found


CASES = {
    "StepLR": dict(step_size=3, gamma=0.5), "MultiStepLR": dict(milestones=[2, 5, 6], gamma=0.1),
    "ExponentialLR": dict(gamma=0.9), "LinearLR": dict(), "CosineAnnealingLR": dict(T_max=5, eta_min=0.01),
    "LambdaLR": dict(lr_lambda=lambda epoch: 1 / (1 + epoch)), "OneCycleLR": dict(max_lr=1.0, total_steps=20),
    "ConstantLR": dict(factor=0.3, total_iters=4),
}
MORE = [
    ("OneCycleLR", dict(max_lr=[1.0], epochs=5, steps_per_epoch=4, anneal_strategy="linear", div_factor=5)),
    ("OneCycleLR", dict(max_lr=1.0, total_steps=14, final_div_factor=10, cycle_momentum=False)),
    ("CosineAnnealingLR", dict(T_max=12)),
]
COMBINED = {
    "two at once": lambda lib, o: [lib.ExponentialLR(o, 0.9), lib.MultiStepLR(o, [2, 6], 0.5)],
    "warmup beside": lambda lib, o: [lib.LinearLR(o, 0.1, total_iters=4), lib.CosineAnnealingLR(o, 8, 0.01)],
    "in sequence": lambda lib, o: [lib.SequentialLR(
        o, [lib.LinearLR(o, 0.1, total_iters=3), lib.CosineAnnealingLR(o, 5), lib.StepLR(o, 2)], [3, 8])],
    "a constant, then decay": lambda lib, o: [lib.SequentialLR(
        o, [lib.ConstantLR(o, 0.1, 2), lib.ExponentialLR(o, 0.9)], milestones=[2])],
}


def test_by_hand():
    optimizer = optimizers()
    scheduler = lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    assert [r for r, *_ in rates(optimizer, scheduler, 5)] == [0.5, 0.5, 0.25, 0.25, 0.125]
    optimizer.load_state_dict(optimizer.state_dict())
    other = lr_scheduler.StepLR(optimizers(), step_size=2, gamma=0.5)
    other.load_state_dict(scheduler.state_dict())
    assert other.get_last_lr() == scheduler.get_last_lr()


def test_a_plateau():
    optimizer = optimizers()
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5, min_lr=0.2)
    for metric in (1.0, 1.0, 1.0, 1.0, 1.0, 1.0):
        scheduler.step(metric)
    assert scheduler.get_last_lr() == [0.2]
    other = lr_scheduler.ReduceLROnPlateau(optimizers(), patience=1, factor=0.5, min_lr=0.2)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizers(), patience=1, factor=0.5, min_lr=0.2)
    scheduler.step(1.0)
    scheduler.step(1.0)
    other.load_state_dict(scheduler.state_dict())
    for metric in (2.0, 1.5, 1.2):  # the next one that is no better reduces; each counts from where it was
        scheduler.step(metric)
        other.step(metric)
        assert other.get_last_lr() == scheduler.get_last_lr()
    assert other.get_last_lr() != optimizers().param_groups[0]["lr"]


def test_misuse():
    with pytest.raises(TypeError, match="takes an Optimizer"):
        lr_scheduler.StepLR(3, 2)
    scheduled = optim.SGD([Tensor([1.0], requires_grad=True)], lr=optim.schedule.constant(0.1))
    with pytest.raises(TypeError, match="already a schedule"):
        lr_scheduler.StepLR(scheduled, 2)
    with pytest.raises(ValueError, match="give total_steps"):
        lr_scheduler.OneCycleLR(optimizers(), 0.1)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Detected call of", "ignore:The epoch parameter")
@pytest.mark.parametrize("name", COMBINED)
def test_combined_rates_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    found = []
    for lib, o in ((torch.optim.lr_scheduler, torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)),
                   (lr_scheduler, optimizers())):
        schedulers, rates = COMBINED[name](lib, o), []
        for epoch in range(14):
            rates.append(o.param_groups[0]["lr"])
            for scheduler in schedulers:
                scheduler.step()
            if epoch == 9 and "sequence" not in name:  # by hand; a sequence sets its own rates
                o.param_groups[0]["lr"] *= 0.5
        found.append(rates)
    assert found[1] == pytest.approx(found[0], rel=1e-9, abs=1e-12)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize("cls", ["SGD", "Adam"])
@pytest.mark.parametrize("name, options", MORE)
def test_other_options_are_pytorchs(name, options, cls, monkeypatch):
    monkeypatch.setitem(CASES, name, options)
    test_rates_are_pytorchs(name, cls)


def test_a_sequence_resumes():
    def make():
        optimizer = optimizers()
        return optimizer, COMBINED["in sequence"](lr_scheduler, optimizer)[0]

    optimizer, scheduler = make()
    expected = rates(optimizer, scheduler)
    for stop in (1, 3, 5, 9):
        (optimizer, scheduler), (other, resumed) = make(), make()
        rates(optimizer, scheduler, stop)
        other.load_state_dict(optimizer.state_dict())
        resumed.load_state_dict(scheduler.state_dict())
        left = [rate for rate, *_ in rates(other, resumed, 12 - stop)]
        assert left == pytest.approx([rate for rate, *_ in expected[stop:]])


def tenth(o):
    return lr_scheduler.ConstantLR(o, 0.1, 9)


def halved(o):
    return lr_scheduler.ExponentialLR(o, 0.5)


@pytest.mark.parametrize("parts, milestones, expected", [
    ([tenth, halved], [0], [0.5, 0.25, 0.125, 0.0625]), ([tenth, halved, tenth], [0, 2], [0.5, 0.25, 0.05, 0.05]),
    ([tenth, halved, halved], [2, 2], [0.05, 0.05, 0.5, 0.25]),
    ([tenth, lambda o: lr_scheduler.SequentialLR(o, [halved(o), tenth(o)], [1])], [2],
     [0.05, 0.05, 0.5, 0.05])])
def test_one_after_the_other(parts, milestones, expected):
    optimizer = optimizers()
    scheduler = lr_scheduler.SequentialLR(optimizer, [part(optimizer) for part in parts], milestones)
    assert [r for r, *_ in rates(optimizer, scheduler, 4)] == pytest.approx(expected)


def test_a_run_goes_on_from_the_last_epoch():
    optimizer = optimizers()
    with pytest.raises(ValueError, match="needs the rate at which each group began"):
        lr_scheduler.ExponentialLR(optimizer, 0.5, last_epoch=3)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    for _ in range(4):
        scheduler.step()
    after = lr_scheduler.ExponentialLR(optimizer, 0.5, last_epoch=4)
    assert after.last_epoch == 5 and after.get_last_lr() == [0.5 * 0.5**5]


def test_a_scheduler_of_ones_own():
    class Warmup(lr_scheduler._LRScheduler):
        def __init__(self, optimizer, steps, last_epoch=-1):
            self.steps = steps
            super().__init__(optimizer, last_epoch)

        def get_lr(self):
            return [base * min(1.0, (self.last_epoch + 1) / self.steps) for base in self.base_lrs]

    optimizer = optimizers()
    scheduler = Warmup(optimizer, 4)
    assert [r for r, *_ in rates(optimizer, scheduler, 6)] == [0.125, 0.25, 0.375, 0.5, 0.5, 0.5]


@pytest.mark.needs("compat")
def test_what_schedulers_refuse():
    optimizer, other = optimizers(), optimizers()
    adagrad = optimizers("Adagrad")
    for make, message in [
        (lambda: lr_scheduler.OneCycleLR(adagrad, 0.1, 10), "Adagrad has no momentum to cycle"),
        (lambda: lr_scheduler.OneCycleLR(optimizer, 0.1, 10, anneal_strategy="no"), "must be 'cos' or 'linear'"),
        (lambda: lr_scheduler.OneCycleLR(optimizer, 0.1, 2), "put the peak at step"),
        (lambda: lr_scheduler.OneCycleLR(optimizer, [0.1, 0.2], 10), "2 numbers for 1 groups"),
        (lambda: lr_scheduler.ConstantLR(optimizer, 2.0), r"must lie in \[0, 1\]"),
        (lambda: lr_scheduler.SequentialLR(optimizer, [lr_scheduler.StepLR(optimizer, 2)], [3]), "need 0 milestones"),
        (lambda: lr_scheduler.SequentialLR(optimizer, [lr_scheduler.StepLR(other, 2)], []), "another optimizer"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()
    assert lr_scheduler.StepLR(optimizer, 2, verbose=True).get_last_lr() == [0.5]
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer)
    with pytest.raises(ValueError, match="scheduler 1, a ReduceLROnPlateau"):
        lr_scheduler.SequentialLR(optimizer, [lr_scheduler.StepLR(optimizer, 2), plateau], [3])


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize("cls", ["SGD", "Adam"])
@pytest.mark.parametrize("name", CASES)
def test_rates_are_pytorchs(name, cls):
    torch = pytest.importorskip("torch")
    options = {"momentum": 0.9} if cls == "SGD" else {}
    ours = optimizers(cls, **options)
    theirs = getattr(torch.optim, cls)([torch.zeros(1, requires_grad=True)], lr=0.5, **options)
    found = rates(ours, getattr(lr_scheduler, name)(ours, **CASES[name]))
    expected = rates(theirs, getattr(torch.optim.lr_scheduler, name)(theirs, **CASES[name]))
    for (rate, momentum, betas), (rate_, momentum_, betas_) in zip(found, expected, strict=True):
        assert rate == pytest.approx(rate_, rel=1e-9)
        assert momentum == pytest.approx(momentum_) and betas == pytest.approx(betas_)


@pytest.mark.parametrize("name, formula", [
    ("StepLR", lambda e: 0.5 * 0.5 ** (e // 3)),
    ("MultiStepLR", lambda e: 0.5 * 0.1 ** ((e >= 2) + (e >= 5) + (e >= 6))),
    ("ExponentialLR", lambda e: 0.5 * 0.9**e), ("LinearLR", lambda e: 0.5 * min(1, 1 / 3 + 2 / 3 * e / 5)),
    ("CosineAnnealingLR", lambda e: 0.01 + 0.49 * (1 + math.cos(math.pi * e / 5)) / 2),
    ("LambdaLR", lambda e: 0.5 / (1 + e))])
def test_rates_are_their_formulas_and_go_on_from_a_saved_state(name, formula):
    optimizer, other = optimizers(), optimizers()
    scheduler, resumed = (getattr(lr_scheduler, name)(o, **CASES[name]) for o in (optimizer, other))
    for epoch in range(12):
        assert scheduler.get_last_lr() == pytest.approx([formula(epoch)])
        resumed.load_state_dict(scheduler.state_dict())
        assert other.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]
        scheduler.step()


def test_one_cycle_moves_the_momentum_the_other_way():
    for cls, options in (("SGD", {"momentum": 0.9}), ("Adam", {})):
        optimizer = optimizers(cls, **options)
        found = rates(optimizer, lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, epochs=5, steps_per_epoch=4), 20)
        momenta = [m if cls == "SGD" else betas[0] for _, m, betas in found]
        best = max(range(20), key=lambda i: found[i][0])
        assert best == 5 and found[best][0] == pytest.approx(1.0) and momenta[best] == pytest.approx(0.85)
        assert momenta[0] == pytest.approx(0.95) and found[0][0] == pytest.approx(1 / 25)
    with pytest.raises(ValueError, match="OneCycleLR: give total_steps"):
        lr_scheduler.OneCycleLR(optimizers(), max_lr=1.0)
