"""Training steps with every kind of Python state that we could think of: captured, they give the same bits."""

import os
import pathlib

import pytest

from .attack import difference, seen
from .attack_habits import AIMED, HABITS
from .attack_programs import Program

# Known to give other numbers: `python -m tests.capture.attack wrong` writes this list.
WRONG = set((pathlib.Path(__file__).parent / "attack_wrong.txt").read_text().splitlines())


# Compiled loops choose another zero of 0 and -0; the proof finds it, and the program does without them.
REJECTED = {"maximum of special numbers"}


def marked(name):
    marks = [pytest.mark.xfail(strict=True)] * (name in WRONG) + [pytest.mark.rejected] * (name in REJECTED)
    return pytest.param(name, marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize("name", [marked(h.name) for h in AIMED])
def test_a_step_with_this_habit(name):
    found = difference(program := Program.of(name))
    assert not found, program.text


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(int(os.environ.get("TINYGRAD_LIKE_ATTACKS", 300))))
def test_a_step_with_several_habits(seed):
    program = Program.random(seed)
    found = difference(program)
    if not WRONG.isdisjoint(program.habits):
        pytest.skip("one of them is known to be wrong")
    assert not found, program.text


@pytest.mark.parametrize("part", range(8))
def test_habits_matter(part):
    """A step with a habit gives other numbers if each call begins as the first one did: else nothing is tried."""
    for habit in AIMED[part::8]:
        if habit.kept:
            kept, anew = (seen(Program.of(habit.name), False, reset)[0] for reset in (False, True))
            assert [a for a in kept if a[0] != "state"] != [a for a in anew if a[0] != "state"], habit.name


def test_a_wrong_habit_is_one_that_there_is():
    assert set(HABITS) >= WRONG
