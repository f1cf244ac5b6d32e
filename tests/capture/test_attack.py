"""Training steps with every kind of Python state that we could think of: captured, they give the same bits.

By default 300 programs run with several habits of all that there are, and alone those of attack_alone.txt: they take
each step from line to line of capture/ that any habit takes ten times, or as often as all habits together do. With
TINYGRAD_LIKE_ATTACKS, so many programs run, and every habit alone.
"""

import os
import pathlib

import pytest

from .attack import CALLS, difference, seen
from .attack_habits import AIMED, HABITS
from .attack_programs import Program

# Known to give other numbers: `python -m tests.capture.attack wrong` writes this list.
WRONG, ALONE = (set((pathlib.Path(__file__).parent / name).read_text().splitlines())
                for name in ("attack_wrong.txt", "attack_alone.txt"))
PROGRAMS = os.environ.get("TINYGRAD_LIKE_ATTACKS")

# Compiled loops choose another zero of 0 and -0; the proof finds it, and the program does without them.
REJECTED = {"maximum of special numbers"}


def marked(name):
    marks = [pytest.mark.xfail(strict=True)] * (name in WRONG) + [pytest.mark.rejected] * (name in REJECTED)
    return pytest.param(name, marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize("name", [marked(h.name) for h in AIMED if PROGRAMS or h.name in ALONE])
def test_a_step_with_this_habit(name):
    """Its habit matters: if each call begins as the first one did, the step gives other numbers."""
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
def test_a_step_with_several_habits(seed):
    program = Program.random(seed)
    found = difference(program, seen(program, False)[0])
    if not WRONG.isdisjoint(program.habits):
        pytest.skip("one of them is known to be wrong")
    assert not found, f"{found}\n{program.text}"


def test_a_habit_that_is_listed_is_one_that_there_is():
    assert {*HABITS} >= WRONG | ALONE
