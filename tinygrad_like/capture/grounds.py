"""The origins of values that Python reads in a captured function.

    F.nll_loss(out[train_mask], labels[train_mask])

The number of rows depends on the values of the mask. If these depend only on values that existed when the call began,
such as an argument, a buffer, or `edge_type == 2` of one, Python may read them; the program is then valid only for
calls that start with the same values, which are compared before each replay. State that the function changes, such as
parameters, differs in each call, and random numbers are unknown beforehand, so values that depend on them cannot be
read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.tensor import Tensor
from ..dtypes import memory
from ..errors import user_line
from .origins import INPUT, LASTING, MADE

if TYPE_CHECKING:
    from .recorder import Tape

_MOST = 2**20  # bytes that are compared before each replay


class Grounds:
    """The memory behind the values that a tape's function reads."""

    def __init__(self) -> None:
        self.found: list[tuple[Any, bytes]] = []  # the index of an input, or other memory; and the bytes it held
        self.why = ""

    def hold(self, tape: Tape, x: Any, why: str, remedy: str, outside: bool = False) -> bool:
        """Whether to make the program for just these values of a Tensor or array. why, remedy: reported if they differ
        each time. outside: only if they depend on no argument."""
        if not tape.inside:  # else the calls belong to the op that looks
            tape.flush()
        if isinstance(x, Tensor):
            tape.know(x := x._data)
        origins = _origins(tape, tape.origins.noted(x))
        if origins is None or outside and not origins.keys().isdisjoint(tape.input_of):
            return False
        self.why = f"{why}, which are others in each call, at {user_line()}; {remedy}"
        for m in origins.values():
            self.found += [(i, x.tobytes()) for i, x in enumerate(tape.inputs) if memory(x) is m] or [(m, m.tobytes())]
        return True

    def same(self, inputs: Sequence[Tensor]) -> bool:
        """Whether a call with these inputs starts with the same values."""
        return all([(inputs[of]._data if type(of) is int else of).tobytes() == value for of, value in self.found])


def _origins(tape: Tape, x: np.ndarray) -> dict[int, np.ndarray] | None:
    """The memory, unchanged so far, that an array was computed from; None if it depends on anything else."""
    needed, written = {id(memory(x)): memory(x)}, set[int]()
    for step in reversed(tape.steps):
        read, writes = step.uses()
        written.update(writes)
        if not writes.keys().isdisjoint(needed):
            if step.changes:
                return None  # its result depends on more than it reads
            needed.update(read)
    origins = {key: m for key, m in needed.items() if tape.origins.kind(m) != MADE}
    known = all([key not in written and tape.origins.kind(m) in (INPUT, LASTING) for key, m in origins.items()])
    return origins if known and sum([m.nbytes for m in origins.values()]) <= _MOST else None
