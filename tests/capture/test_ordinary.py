"""Steps that ordinary users write run as programs, and return eager code's bits."""

import pytest

from benchmarks.programs import programs
from tinygrad_like import Tensor, capture, manual_seed

from .ordinary import PROGRAMS


def by_hand(program):
    """A program of benchmarks/, on the same inputs in all calls."""
    def made(captured):
        step, inputs, weights = program.make("ours")
        return captured(step), lambda i: inputs, list(weights.values())

    return made


PROGRAMS |= {f"{name}, by hand": by_hand(program) for name, program in programs().items()}


def plain(value):
    if isinstance(value, Tensor):
        return value.detach().numpy().tobytes()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else value


def run(name, captured):
    """The results and the final weights; and the captured functions that were not replayed."""
    functions = []

    def wrapped(f):
        functions.append(capture(f, fuse=False) if captured else f)
        return functions[-1]

    manual_seed(0)
    step, arguments, trained = PROGRAMS[name](wrapped)
    manual_seed(1)
    calls = 8 if name.endswith("by hand") else 20
    results = [plain(step(*arguments(i))) for i in range(calls)]
    functions = [getattr(step, "captured", f) for f in functions] if captured else []
    return results + plain(trained), [f for f in functions if not replays(f, calls // 2)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_ordinary_program_is_replayed(name):
    expected, _ = run(name, False)
    found, left = run(name, True)
    assert found == expected
    assert not left


def replays(function, half):
    """Whether most calls of a captured function are replayed, and whether the quick expression for a kind's guards
    holds. Else each call would take the slower way to find a change."""
    used = [kind for kinds in function.kinds.values() for kind in kinds if kind.replays]
    return bool(function.programs) and sum([kind.replays for kind in used]) > half and not function.gave_up and any(
        [kind.world.quick() for kind in used if kind.world.quick])
