"""Training steps with every kind of Python state that we could think of: captured, they give the same bits."""

import os

import pytest

from .attack import HABITS, Program, difference

# Known to give other numbers; each is to be guarded or refused.
WRONG = {"number of a base class", "class reassigned", "op patched", "descriptor through its class",
         "long list that changes", "long dict that changes", "identity of the argument", "flag of the argument",
         "flag set on the argument", "argument changed in place", "Tensor as a key", "exception for the caller",
         "group replaced", "environment", "context variable", "distribution's field", "nested capture"}


@pytest.mark.parametrize("name", [pytest.param(h.name, marks=[pytest.mark.xfail(strict=True)] * (h.name in WRONG))
                                  for h in HABITS])
def test_a_step_with_this_habit(name):
    found = difference(Program.of(7, name))
    assert not found or found.startswith("loud: ") and "Refused" in found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(int(os.environ.get("TINYGRAD_LIKE_ATTACKS", 40))))
def test_a_step_with_several_habits(seed):
    program = Program.of(1000 + seed)
    found = difference(program)
    if not WRONG.isdisjoint(program.habits):
        pytest.skip("one of them is known to be wrong")
    assert not found or found.startswith("loud: ") and "Refused" in found, program.text
