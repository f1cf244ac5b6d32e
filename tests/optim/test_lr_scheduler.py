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
