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
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..dtypes import memory
from ..errors import user_line

_MOST = 2**20  # bytes that are compared before each replay


class Grounds:
    """The memory behind the values that a tape's function reads."""

    def __init__(self, tape: Any):
        self.tape, self.found = tape, list[tuple[set[int], str]]()
        self.begins: list[tuple[int, bytes]] = []  # inputs, and the bytes they held,
        self.outside: list[tuple[np.ndarray, bytes]] = []  # and likewise other memory
        self.why = ""

    def hold(self, x: Any, why: str, remedy: str, outside: bool = False) -> bool:
        """Whether to make the program for just these values of a Tensor or array. why, remedy: reported if they differ
        each time. outside: only if they depend on no argument and on nothing trained."""
        tape, m = self.tape, memory(getattr(x, "_data", x))
        if not tape.inside:  # else the calls belong to the op that looks
            tape.flush()
        if id(m) not in tape.known and hasattr(x, "_data"):
            tape.from_outside(x)
        if id(m) not in tape.known or (origins := self._origins(tape.known[id(m)])) is None:
            return False
        if outside and not origins.keys().isdisjoint({*tape.input_of, *self._trained()}):
            return False
        self.why = f"{why}, which are others in each call, at {user_line()}; {remedy}"
        self.found.append((set(origins), self.why))
        for key, m in origins.items():
            if key in tape.input_of:
                self.begins += [(i, x.tobytes()) for i, x in enumerate(tape.inputs) if id(memory(x)) == key]
            else:
                self.outside.append((m, m.tobytes()))
        return True

    def same(self, inputs: Sequence[Tensor]) -> bool:
        """Whether a call with these inputs starts with the same values."""
        return all([inputs[i]._data.tobytes() == value for i, value in self.begins]) and (
            all([m.tobytes() == value for m, value in self.outside]))

    def _trained(self) -> set[int]:
        return {id(memory(array)) for t, array in self.tape.tensors.values() if t.requires_grad}

    def trouble(self) -> str:
        """Why the program fits only this call, if the function has changed a value that it read."""
        state = self.tape.state() if self.found else {}
        return next((why for origins, why in self.found if not origins.isdisjoint(state)), "")

    def _origins(self, m: np.ndarray) -> dict[int, np.ndarray] | None:
        """The memory, unchanged so far, that m was computed from; None if m depends on anything else."""
        needed, written = {id(m): m}, set[int]()
        for step in reversed(self.tape.steps):
            writes = {id(memory(x)) for x in step.writes()}
            written |= writes
            if not writes.isdisjoint(needed):
                if step.changes:
                    return None  # its result depends on more than it reads
                needed.update((id(memory(x)), memory(x)) for x in step.reads())
        origins = {key: m for key, m in needed.items() if key not in self.tape.made}
        known = all([key not in written and (key in self.tape.input_of or key in self.tape.lasting)
                     for key in origins])
        return origins if known and sum([m.nbytes for m in origins.values()]) <= _MOST else None
