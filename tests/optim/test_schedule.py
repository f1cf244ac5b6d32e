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


@pytest.mark.parametrize("make, message", [
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
