"""A table that lowers NumPy calls in a captured function to compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.graph import setting
from ..dtypes import arrays_in, memory
from ..kernels.loops import MAKE
from .fuse import filling
from .instructions import Step
from .recorder import Tape


def _clip(_: np.ndarray, x: Any, min: Any = None, max: Any = None) -> Any:
    x = x if min is None else ("maximum", x, min)
    return x if max is None else ("minimum", x, max)


def _mod(_: np.ndarray, a: Any, b: Any) -> Any:
    if type(b) not in (int, float) or not 0 < b < 1e38:
        raise ValueError("compiled code knows only positive divisors")
    return "mod", a, b


_POWERS: dict[Any, Callable] = {
    2: lambda x: ("square", x), 3: lambda x: ("mul", ("square", x), x), 4: lambda x: ("square", ("square", x)),
    -1: lambda x: ("reciprocal", x), -2: lambda x: ("square", ("reciprocal", x)), 0.5: lambda x: ("sqrt", x)}


def _spread(_: np.ndarray, x: Any, axis: Any = None, keepdim: bool = False, divisor: Any = 1, **__: Any) -> Any:
    x = x if keepdim or not x.ndim else np.expand_dims(x, axis)
    return x if divisor == 1 else ("div", x, divisor)


def _part(array: np.ndarray, index: Any) -> np.ndarray:
    """The view array[index], even if it is a single number. Raises ValueError if the index makes a copy."""
    index = index if isinstance(index, tuple) else (index,)
    part = array[index if any([i is ... for i in index]) else (*index, ...)]
    if memory(part) is not memory(array):
        raise ValueError("an index of arrays")
    return part


def _cat(out: np.ndarray, *parts: np.ndarray, axis: int = 0) -> list[tuple]:
    ends = np.cumsum([x.shape[axis] for x in parts])
    return [*zip(np.split(out, ends[:-1], axis), parts, strict=True)]


# Each function takes the output of a step, its arguments and options. It returns the output's value, see `fuse.loop`;
# or a list of parts of the output, with their values. It raises an error if there is no loop.
LOWER: dict[str, Callable[..., Any]] = {
    **{name: partial(lambda name, _, *inputs: (name, *inputs), name) for name in MAKE},
    **dict.fromkeys(("clone", "contiguous", "cast", "copy", "identity", "tensor"), lambda _, x, *__, **___: x),
    "filled": lambda _, shape, value, **__: value,
    "mod": _mod, "clip": _clip, "pow": lambda _, a, b: _POWERS[b](a), "spread": _spread,
    "reshape": lambda out, x, **_: [(out.reshape(x.shape, copy=False), x)],
    "put": lambda out, x, index, **_: [(out, 0), (_part(out, index), x)],
    "assign": lambda array, _, index, value: [(_part(array, index), value)],
    "add_part": lambda array, _, index, x: [(part := _part(array, index), ("add", part, x))],
    "cat": _cat,
    "roll": lambda out, x, shifts, axis=None: _cat(
        out, *np.split(x, [-shifts % x.shape[axis]], axis)[::-1], axis=axis),
}


def lowered(tape: Tape, kernels: bool) -> list[Step]:
    """The steps of a tape, with compiled code in place of Python wherever there is any.

    kernels: whether to use kernels that sum in another order than NumPy.
    """
    return [new for step in tape.steps for new in (
        [step] if step.call else _loops(step) or kernels and _kernels(step, tape) or [step])]


def _loops(step: Step) -> list[Step]:
    if step.name not in LOWER or len(step.outputs) + len(step.changes) != 1:
        return []
    [out] = *step.outputs, *step.changes
    try:
        found = LOWER[step.name](out, *step.arguments, **step.options)
        parts = found if type(found) is list else [(out, found)]
        return [filling(step.name, part, value) for part, value in parts if part.size]
    except (LookupError, ArithmeticError, AttributeError, TypeError, ValueError):  # it has no loop
        return []


def _kernels(step: Step, tape: Tape) -> list[Step]:
    """The kernels for larger arrays, if there are any that can do the step; and copies to the step's outputs."""
    if step.function is None or not step.outputs or step.changes:
        return []
    try:
        for _ in range(2):  # the second time, the kernels' cached constants are known
            again = Tape(before=tape)
            again.origins = tape.origins
            with setting("compiled", True), again:
                results = arrays_in(again.unit(step.name, step.function, step.arguments, step.options))
            if again.steps and all(s.call for s in again.steps) and [x.shape for x in results] == [
                    x.shape for x in step.outputs]:  # else it saves other values for its VJP
                return [*again.steps, *[filling(step.name, out, x) for x, out in zip(
                    map(tape.origins.noted, results), step.outputs, strict=True)]]
    except Exception:  # its memory may hold anything now, such as a matrix that is not positive definite
        pass
    return []
