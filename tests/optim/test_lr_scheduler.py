"""Schedulers follow their formulas and PyTorch, alone, together, and in a resumed run."""

import math
import random

import pytest

import optim
from optim import lr_scheduler
from tinygrad_like import Tensor

OPTIONS = {  # options, and the rate at an epoch if the first is 0.5
    "StepLR": (dict(step_size=3, gamma=0.5), lambda e: 0.5 * 0.5 ** (e // 3)),
    "MultiStepLR": (dict(milestones=[2, 5, 5, 9], gamma=0.7),
                    lambda e: 0.5 * 0.7 ** ((e >= 2) + 2 * (e >= 5) + (e >= 9))),
    "ExponentialLR": (dict(gamma=0.9), lambda e: 0.5 * 0.9**e),
    "LinearLR": (dict(start_factor=0.1, end_factor=0.9, total_iters=6), lambda e: 0.05 + 0.4 * min(1, e / 6)),
    "CosineAnnealingLR": (dict(T_max=7, eta_min=0.01), lambda e: 0.01 + 0.49 * (1 + math.cos(math.pi * e / 7)) / 2),
    "LambdaLR": (dict(lr_lambda=lambda epoch: 1 / (2 + epoch)), lambda e: 0.5 / (2 + e)),
    "OneCycleLR": (dict(max_lr=2.0, total_steps=40), None),
}
WITH_FORMULA = [name for name, (_, formula) in OPTIONS.items() if formula]
MORE = [
    ("OneCycleLR", dict(max_lr=[1.0], epochs=5, steps_per_epoch=4, anneal_strategy="linear", div_factor=5)),
    ("OneCycleLR", dict(max_lr=1.0, total_steps=14, final_div_factor=10, cycle_momentum=False)),
    ("LinearLR", {}), ("CosineAnnealingLR", dict(T_max=12)), ("OneCycleLR", dict(max_lr=1.0, total_steps=20)),
]


def optimizer(cls="SGD", lr=0.5, **options):
    return getattr(optim, cls)([Tensor([1.0], requires_grad=True)], lr=lr, **options)


def made(name, o, lib=lr_scheduler, **more):
    return getattr(lib, name)(o, **OPTIONS[name][0], **more)


def rates(scheduler, count=12):
    found = []
    for _ in range(count):
        found.append(scheduler.get_last_lr()[0])
        scheduler.step()
    return found


@pytest.mark.parametrize("name", WITH_FORMULA)
def test_rates_follow_their_formulas_and_continue_from_a_saved_state_or_epoch(name):
    first, other = optimizer(), optimizer()
    scheduler, resumed = made(name, first), made(name, other)
    for epoch in range(12):
        assert scheduler.get_last_lr() == pytest.approx([OPTIONS[name][1](epoch)])
        resumed.load_state_dict(scheduler.state_dict())
        assert other.lr == first.lr
        if epoch == 5:
            third = optimizer()
            third.load_state_dict(first.state_dict())
        scheduler.step()
    again = made(name, third, last_epoch=4)  # the rates are already those of epoch 5
    assert rates(again, 7) == pytest.approx([OPTIONS[name][1](epoch) for epoch in range(5, 12)])


def test_a_run_continues_from_the_last_epoch():
    with pytest.raises(ValueError, match="needs each group's initial rate"):
        lr_scheduler.ExponentialLR(optimizer(), 0.5, last_epoch=3)
    third = optim.SGD([{"params": [Tensor([1.0], requires_grad=True)], "initial_lr": 0.5}], lr=0.125)
    assert lr_scheduler.StepLR(third, 1, 0.5, last_epoch=2).get_last_lr() == [0.0625]


def test_a_plateau_reduces_the_rate():
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer(), patience=1, factor=0.5, min_lr=0.2)
    for _ in range(6):
        scheduler.step(1.0)
    assert scheduler.get_last_lr() == [0.2]
    scheduler, other = (lr_scheduler.ReduceLROnPlateau(optimizer(), patience=1, factor=0.5) for _ in range(2))
    scheduler.step(1.0), scheduler.step(1.0)
    other.load_state_dict(scheduler.state_dict())
    for metric, rate in (2.0, 0.25), (1.5, 0.25), (1.2, 0.125):  # both continue their counts
        scheduler.step(metric), other.step(metric)
        assert other.get_last_lr() == scheduler.get_last_lr() == [rate]


# Together -------------------------------------------------------------------------------------------------------------


class Warmup(lr_scheduler._LRScheduler):
    """A scheduler written for PyTorch."""

    def get_lr(self):
        return [base * min(1.0, (self.last_epoch + 1) / 4) for base in self.base_lrs]


def test_a_scheduler_written_for_pytorch_works():
    assert rates(Warmup(optimizer(lr=1.0)), 6) == [0.25, 0.5, 0.75, 1, 1, 1]


def test_a_schedule_continues_after_an_invalid_rate():
    o, broken = optimizer(), [False]
    scheduler = lr_scheduler.LambdaLR(o, lambda epoch: float("nan") if broken[0] else 1 / (1 + epoch))
    broken[0] = True
    with pytest.raises(ValueError, match="the rate would be nan"):
        scheduler.step()
    assert o.param_groups[0]["lr"] == 0.5 and scheduler.last_epoch == 0
    broken[0] = False
    scheduler.step()
    assert o.param_groups[0]["lr"] == 0.25


@pytest.mark.parametrize("call, error, message", [
    (lambda o: lr_scheduler.StepLR([1], 3), TypeError, "StepLR: takes an Optimizer, got list"),
    (lambda o: lr_scheduler.StepLR(optimizer(lr=optim.schedule.constant(0.1)), 2), TypeError, "already a schedule"),
    (lambda o: lr_scheduler.LinearLR(o, total_iters=0), ValueError, "LinearLR: total_iters=0 must be > 0"),
    (lambda o: lr_scheduler.OneCycleLR(o, 0.1), ValueError, "pass total_steps, or epochs and steps_per_epoch"),
    (lambda o: lr_scheduler.OneCycleLR(o, 0.1, epochs=3), ValueError, "pass total_steps, or epochs and steps"),
    (lambda o: lr_scheduler.OneCycleLR(o, 0.1, steps_per_epoch=3), ValueError, "pass total_steps, or epochs and"),
    (lambda o: lr_scheduler.OneCycleLR(o, 0.1, 2), ValueError, "2 steps, 30% of them rising, peak at"),
    (lambda o: lr_scheduler.OneCycleLR(o, 0.1, 9, anneal_strategy="no"), ValueError, "='no' must be 'cos' or 'linear'"),
    (lambda o: lr_scheduler.OneCycleLR(o, [0.1, 0.2], 10), ValueError, "2 numbers for 1 parameter groups"),
    (lambda o: lr_scheduler.OneCycleLR(optimizer("Adagrad"), 0.1, 20), ValueError,
     "OneCycleLR: Adagrad has no momentum to cycle; pass cycle_momentum=False"),
    (lambda o: lr_scheduler.ExponentialLR(o, gamma=float("nan")).step(), ValueError, "the rate would be nan"),
    (lambda o: lr_scheduler.LambdaLR(o, lambda epoch: -1.0), ValueError, "LambdaLR: the rate would be -0.5"),
    (lambda o: lr_scheduler.ReduceLROnPlateau(o, threshold_mode="rough"), ValueError, "threshold_mode='rough' must be"),
])
def test_bad_arguments_raise(call, error, message):
    with pytest.raises(error, match=message):
        call(optimizer(momentum=0.9))


# PyTorch's ------------------------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize("cls", ["SGD", "Adam"])
@pytest.mark.parametrize("name, options", [*MORE, *((name, OPTIONS[name][0]) for name in WITH_FORMULA)])
def test_rates_equal_pytorchs(name, options, cls):
    torch = pytest.importorskip("torch")
    found = []
    for lib, p in (optim, Tensor([1.0], requires_grad=True)), (torch.optim, torch.zeros(1, requires_grad=True)):
        o = getattr(lib, cls)([p], lr=0.5, **{"momentum": 0.9} if cls == "SGD" else {})
        scheduler = getattr(lib.lr_scheduler, name)(o, **options)
        for _ in range(12):
            group = o.param_groups[0]
            found.append((group["lr"], *group.get("betas", (group.get("momentum"),))))
            scheduler.step()
    for a, b in zip(found[:12], found[12:], strict=True):
        assert a == pytest.approx(b, rel=1e-9)


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:Detected call of")
@pytest.mark.parametrize("first", OPTIONS)
def test_several_schedulers_together_set_pytorchs_rates(first):
    """Also if the rate is changed by hand."""
    torch = pytest.importorskip("torch")
    draw = random.Random(first)
    for names in [(first, second) for second in OPTIONS] + [(first, *draw.sample(list(OPTIONS), 2)) for _ in range(8)]:
        by_hand, found = draw.randrange(30) if "OneCycleLR" not in names else None, []
        theirs = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5, momentum=0.9)
        for lib, o in (torch.optim.lr_scheduler, theirs), (lr_scheduler, optimizer(momentum=0.9)):
            parts = [made(name, o, lib) for name in names]
            for epoch in range(30):
                found.append(o.param_groups[0]["lr"])
                for part in parts:
                    part.step()
                if epoch == by_hand:
                    o.param_groups[0]["lr"] *= 0.5
        assert found[30:] == pytest.approx(found[:30], rel=1e-9, abs=1e-12), (names, by_hand)
