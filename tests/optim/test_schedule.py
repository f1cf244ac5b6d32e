import numpy as np
import pytest

import optim
from optim import schedule
from tinygrad_like import Tensor

by_one, halving = schedule.constant(1.0), schedule.exponential(0.5, 0.5)


@pytest.mark.parametrize("f, steps, expected", [
    (schedule.constant(0.1), [0, 5, 10**6], [0.1] * 3),
    (schedule.linear(1.0, 0.5, 4), [0, 1, 2, 4, 100], [1.0, 0.875, 0.75, 0.5, 0.5]),
    (schedule.cosine(1.0, 8, end=0.2), [0, 2, 4, 8, 100], [1.0, 0.6 + 0.4 * 2**-0.5, 0.6, 0.2, 0.2]),
    (schedule.step(1.0, every=3, factor=0.5), range(7), [1, 1, 1, 0.5, 0.5, 0.5, 0.25]),
    (schedule.exponential(2.0, 0.5), range(4), [2, 1, 0.5, 0.25]),
    (schedule.one_cycle(1.0, 21, warm=11 / 21, start=0.1, end=0.01), [0, 5, 10, 15, 20, 100],  # the peak is at 10
     [0.1, 0.55, 1.0, 0.5005, 0.001, 0.001]),
    (schedule.warmup(4, schedule.linear(1.0, 0.0, 10), start=0.2), [0, 1, 3, 4, 5, 14, 99],
     [0.2, 0.4, 0.8, 1.0, 0.9, 0.0, 0.0]),
    (schedule.joined([by_one, halving, schedule.constant(3.0)], [2, 4]), range(6), [1, 1, 0.5, 0.25, 3, 3]),
], ids=lambda f: getattr(f, "__qualname__", "").partition(".")[0])
def test_schedules_have_these_values(f, steps, expected):
    assert [f(n) for n in steps] == pytest.approx(expected)


def rates(plateau, metrics):
    result = []
    for step, metric in enumerate(metrics):
        plateau.update(metric)
        result.append(plateau(step))
    return result


@pytest.mark.parametrize("options, metrics, expected", [
    (dict(patience=2), [3, 2, 2, 2, 2, 1, 1, 1, 1], [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25]),
    (dict(mode="max"), [1, 2, 3, 3, 4], [1, 1, 1, 0.5, 0.5]), (dict(threshold=0.5), [8, 5, 4, 1], [1, 0.5, 0.25, 0.25]),
    (dict(mode="max", threshold=1, relative=False), [0, 1, 2], [1, 0.5, 0.5]),
    (dict(cooldown=2), [1] * 6, [1, 0.5, 0.5, 0.5, 0.25, 0.25]), (dict(least=0.3), [1] * 4, [1, 0.5, 0.3, 0.3]),
    ({}, [float("inf"), 5, float("nan"), 4, float("-inf")], [0.5, 0.5, 0.25, 0.25, 0.125]),  # no improvements
    (dict(lr=schedule.linear(1.0, 0.0, 10)), [1, 0, 0, -1], [1, 0.9, 0.4, 0.35]),  # scales another schedule
    (dict(patience=1, cooldown=1), [3, 2, 2, 2, 1, 1, 1, 1, 0], [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25]),
], ids=lambda x: str(x).partition(" at 0x")[0])
def test_a_plateau_has_these_rates_and_continues_from_its_state(options, metrics, expected):
    def make():
        return schedule.ReduceOnPlateau(**{"lr": 1.0, "factor": 0.5, "patience": 0, **options})

    assert rates(make(), metrics) == pytest.approx(expected)
    first, second, half = make(), make(), len(metrics) // 2
    rates(first, metrics[:half])
    second.load_state_dict(first.state_dict())
    for step, metric in enumerate(metrics[half:], half):
        second.update(metric)
        assert second(step) == pytest.approx(expected[step])


@pytest.mark.parametrize("change", [{"scale": "x"}, {"scale": 2.0}, {"waited": -1}, {"cooling": "x"}])
def test_a_state_that_does_not_fit_changes_nothing(change):
    plateau = schedule.ReduceOnPlateau(1.0)
    before = plateau.state_dict()
    with pytest.raises(ValueError):
        plateau.load_state_dict({**before, "best": 3.0, "waited": 2, **change})
    assert plateau.state_dict() == before


@pytest.mark.parametrize("make, message", [
    (lambda: schedule.ReduceOnPlateau(1.0, "up"), "mode='up' must be 'min' or 'max'"),
    (lambda: schedule.ReduceOnPlateau(1.0, factor=1.0), "factor=1.0 must lie between 0 and 1"),
    (lambda: schedule.linear(0, 1, 0), "linear: steps=0 must be > 0"),
    (lambda: schedule.warmup(0, by_one), "warmup: steps=0 must be > 0"),
    (lambda: schedule.cosine(1, -1), "cosine: steps=-1 must be > 0"),
    (lambda: schedule.step(1, every=0), "step: every=0 must be > 0"),
    (lambda: schedule.one_cycle(1, 10, warm=0.05), "one_cycle: 10 steps, 5% of them rising, peak at step -0.5"),
    (lambda: schedule.one_cycle(1, 10, warm=1.0), "peak at step 9; .* and the last, 9"),
    (lambda: schedule.joined([by_one] * 2, []), r"joined: 2 schedules need 1 boundaries .* got \[\]"),
    (lambda: schedule.joined([by_one] * 3, [4, 2]), r"joined: 3 schedules need 2 boundaries .* \[4, 2\]"),
])
def test_bad_arguments_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.torch
@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("options", [{}, dict(patience=2, factor=0.5), dict(patience=1, cooldown=2, min_lr=1e-3),
                                     dict(patience=1, threshold=0.1, threshold_mode="abs"),
                                     dict(patience=1, threshold=0.1)], ids=str)
@pytest.mark.parametrize("least", [0.1, -1])
def test_a_plateau_equals_pytorchs(options, mode, least):
    torch = pytest.importorskip("torch")
    ours, theirs = (lib.lr_scheduler.ReduceLROnPlateau(lib.SGD([p], lr=0.1), mode, eps=0, **options) for lib, p in (
        (optim, Tensor([1.0], requires_grad=True)), (torch.optim, torch.zeros(1))))
    for metric in np.random.default_rng(0).uniform(least, 1, 200):
        ours.step(metric)
        theirs.step(metric)
        assert ours.get_last_lr() == pytest.approx(theirs.get_last_lr(), rel=1e-9)
    assert ours.get_last_lr()[0] < 0.1
