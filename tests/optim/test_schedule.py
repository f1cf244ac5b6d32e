import pytest

from optim import schedule


def values(f, steps):
    return [f(n) for n in steps]


def test_constant():
    assert values(schedule.constant(0.1), [0, 5, 10**6]) == [0.1] * 3


def test_linear_stays_at_its_end():
    assert values(schedule.linear(1.0, 0.5, 4), [0, 1, 2, 4, 100]) == [1.0, 0.875, 0.75, 0.5, 0.5]


def test_cosine_stays_at_its_end():
    expected = [1.0, 0.6 + 0.4 * 2**-0.5, 0.6, 0.2, 0.2]
    assert values(schedule.cosine(1.0, 8, end=0.2), [0, 2, 4, 8, 100]) == pytest.approx(expected)


def test_step():
    assert values(schedule.step(1.0, every=3, factor=0.5), range(7)) == [1, 1, 1, 0.5, 0.5, 0.5, 0.25]


def test_exponential():
    assert values(schedule.exponential(2.0, 0.5), range(4)) == [2, 1, 0.5, 0.25]


def test_one_cycle():
    f = schedule.one_cycle(1.0, 21, warm=11 / 21, start=0.1, end=0.01)  # the peak is at step 10
    assert values(f, [0, 5, 10, 15, 20, 100]) == pytest.approx([0.1, 0.55, 1.0, 0.5005, 0.001, 0.001])


def test_warmup_leads_to_the_schedules_first_value_and_then_follows_it():
    f = schedule.warmup(4, schedule.linear(1.0, 0.0, 10), start=0.2)
    assert values(f, [0, 1, 3, 4, 5, 14, 99]) == pytest.approx([0.2, 0.4, 0.8, 1.0, 0.9, 0.0, 0.0])


def test_joined_counts_anew_at_each_boundary():
    f = schedule.joined([schedule.constant(1.0), schedule.exponential(0.5, 0.5), schedule.constant(3.0)], [2, 4])
    assert values(f, range(6)) == [1, 1, 0.5, 0.25, 3, 3]


def rates(plateau, metrics):
    result = []
    for step, metric in enumerate(metrics):
        plateau.update(metric)
        result.append(plateau(step))
    return result


def test_plateau_waits_and_then_reduces():
    plateau = schedule.ReduceOnPlateau(1.0, factor=0.5, patience=2)
    assert rates(plateau, [3, 2, 2, 2, 2, 1, 1, 1, 1]) == [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.25]


def test_plateau_modes_threshold_cooldown_and_least():
    assert rates(schedule.ReduceOnPlateau(1.0, "max", 0.5, 0), [1, 2, 3, 3, 4]) == [1, 1, 1, 0.5, 0.5]
    assert rates(schedule.ReduceOnPlateau(1.0, factor=0.5, patience=0, threshold=0.5), [8, 5, 4, 1]) == [1, 0.5, 0.25,
                                                                                                         0.25]
    assert rates(schedule.ReduceOnPlateau(1.0, "max", 0.5, 0, threshold=1, relative=False), [0, 1, 2]) == [1, 0.5, 0.5]
    assert rates(schedule.ReduceOnPlateau(1.0, factor=0.5, patience=0, cooldown=2), [1] * 6) == [1, 0.5, 0.5, 0.5, 0.25,
                                                                                                 0.25]
    assert rates(schedule.ReduceOnPlateau(1.0, factor=0.5, patience=0, least=0.3), [1] * 4) == [1, 0.5, 0.3, 0.3]


def test_plateau_knows_that_nan_and_infinity_are_no_improvement():
    plateau = schedule.ReduceOnPlateau(1.0, factor=0.5, patience=0)
    assert rates(plateau, [float("inf"), 5, float("nan"), 4, float("-inf")]) == [0.5, 0.5, 0.25, 0.25, 0.125]


def test_plateau_scales_another_schedule():
    plateau = schedule.ReduceOnPlateau(schedule.linear(1.0, 0.0, 10), factor=0.5, patience=0)
    assert rates(plateau, [1, 0, 0, -1]) == pytest.approx([1, 0.9, 0.4, 0.35])


def test_plateau_goes_on_from_its_state():
    metrics = [3, 2, 2, 2, 1, 1, 1, 1, 0]
    whole = rates(schedule.ReduceOnPlateau(1.0, factor=0.5, patience=1, cooldown=1), metrics)
    first, second = (schedule.ReduceOnPlateau(1.0, factor=0.5, patience=1, cooldown=1) for _ in range(2))
    start = rates(first, metrics[:4])
    second.load_state_dict(first.state_dict())
    assert start + rates(second, metrics[4:]) == whole


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
    (lambda: schedule.warmup(0, schedule.constant(1)), "warmup: steps=0 must be > 0"),
    (lambda: schedule.cosine(1, -1), "cosine: steps=-1 must be > 0"),
    (lambda: schedule.step(1, every=0), "step: every=0 must be > 0"),
    (lambda: schedule.one_cycle(1, 10, warm=0.05), "one_cycle: steps=10 and warm=0.05 put the peak at step -0.5"),
    (lambda: schedule.one_cycle(1, 10, warm=1.0), "peak at step 9; .* and the last, 9"),
    (lambda: schedule.joined([schedule.constant(1)] * 2, []), r"joined: 2 schedules need 1 boundaries .* got \[\]"),
    (lambda: schedule.joined([schedule.constant(1)] * 3, [4, 2]), r"joined: 3 schedules need 2 boundaries .* \[4, 2\]"),
])
def test_bad_input(make, message):
    with pytest.raises(ValueError, match=message):
        make()
