"""Training steps with every kind of Python state that we could think of: captured, they return the same bits.

By default 300 programs with several habits run, and each habit of attack_alone.txt alone. These take each step from
line to line of capture/ that any habit takes ten times, or as often as all habits together do. TINYGRAD_LIKE_ATTACKS is
another number of programs; every habit is then also tried alone.
"""

import os
import pathlib

import pytest

from .attack import CALLS, difference, seen
from .attack_habits import AIMED, HABITS
from .attack_programs import Program

# Habits known to change results: `python -m tests.capture.attack wrong` writes this list.
WRONG, ALONE = (set((pathlib.Path(__file__).parent / name).read_text().splitlines())
                for name in ("attack_wrong.txt", "attack_alone.txt"))
PROGRAMS = os.environ.get("TINYGRAD_LIKE_ATTACKS")


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(h.name, marks=[pytest.mark.xfail(strict=True)] * (h.name in WRONG))
                                  for h in AIMED if PROGRAMS or h.name in ALONE])
def test_a_step_with_one_habit_runs_as_in_python(name):
    """The habit matters: if each call starts from the first call's state, the results differ."""
    program = Program.of(name)
    expected, _ = seen(program, False)
    assert not (found := difference(program, expected)), f"{found}\n{program.text}"
    if HABITS[name].kept:
        assert any(shown(expected, calls) != shown(seen(program, False, calls, reset=True)[0], calls)
                   for calls in (3, CALLS))


def shown(found, calls):
    return [a for a in found[:5 * calls] if a[0] != "state"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(int(PROGRAMS or 300)))
def test_a_step_with_several_habits_runs_as_in_python(seed):
    program = Program.random(seed)
    found = difference(program, seen(program, False)[0])
    if not WRONG.isdisjoint(program.habits):
        pytest.skip("one of its habits is known to change results")
    assert not found, f"{found}\n{program.text}"


def test_all_listed_habits_exist():
    assert {*HABITS} >= WRONG | ALONE
