"""The parts of a tape: steps, each a call of a kernel or of a Python function, and the memory they use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import arrays_in, memory


class Refused(RuntimeError):
    """The function does something that cannot be repeated without Python."""


class Step:
    """One step: the call of a kernel or a loop, or else a Python function whose results are copied to `outputs`. A
    kernel's call may have a function too, which raises an error if the call reports one. changes: arrays that the
    function writes to, besides its results. line: where the user called it."""

    def __init__(self, name: str, call: Any = None, function: Callable | None = None, arguments: Sequence = (),
                 options: dict | None = None, outputs: Sequence[np.ndarray] = (), changes: Sequence[np.ndarray] = (),
                 line: str = ""):
        self.name, self.call, self.function, self.arguments = name, call, function, tuple(arguments)
        self.options, self.outputs, self.changes, self.line = options or {}, tuple(outputs), tuple(changes), line
        self.used: Sequence[dict[int, np.ndarray]] = ()

    def reads(self) -> list[np.ndarray]:
        """The arrays that it reads, including those that it reads only for an error."""
        given = arrays_in([*self.arguments, *self.options.values()]) if self.function else []
        return [*self.call.reads(), *given] if self.call else given

    def writes(self) -> list[np.ndarray]:
        return self.call.writes() if self.call else [*self.outputs, *self.changes]

    def uses(self) -> Sequence[dict[int, np.ndarray]]:
        """The memory that it reads, and that it writes, by id."""
        if not self.used:
            self.used = [{id(m): m for m in map(memory, found)} for found in (self.reads(), self.writes())]
        return self.used

    def run(self) -> None:
        """Run the Python function again."""
        assert self.function is not None
        result = self.function(*self.arguments, **self.options)
        for old, new in zip(self.outputs, arrays_in(as_arrays(result)) if self.outputs else (), strict=True):
            if old.shape != new.shape:
                raise Refused(f"{self.name} returns shape {new.shape}, but returned {old.shape} when it was captured")
            old[...] = new


def as_arrays(result: Any) -> Any:
    """Turn NumPy's scalars, results for 0-d arrays, into arrays, which can be written to."""
    if isinstance(result, np.generic):
        return np.asarray(result)
    if type(result) in (tuple, list):
        return type(result)(map(as_arrays, result))
    return result
