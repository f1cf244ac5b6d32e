"""Elementwise steps as loops, NumPy's among them, and loops over the same places as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from ..core.graph import setting
from ..dtypes import BOOL, SUPPORTED, arrays_in, memory
from ..kernels.copies import across
from ..kernels.loops import KINDS, MAKE, Loop, Value, place
from ..kernels.program import Call
from .instructions import Step
from .recorder import Tape

_LONGEST = 24  # arrays of a loop, at most
_HARD = 1000  # steps of a search for elements that two arrays share
_REACH = 40  # steps that a loop may be moved across
_TRUE_OR_FALSE = {"eq", "ne", "lt", "le", "gt", "ge", "isnan"}
_OF_FLOATS = {"div", "reciprocal", "sqrt", "rsqrt", "abs", "floor", "ceil", "trunc", "round", "sign", "isnan", "relu"}


def loop(filled: Sequence[tuple[np.ndarray, Any]], inside: Set[int] = frozenset()) -> Loop:
    """The loop that fills arrays with values, one after another at each place. A value is an array, a number, or a
    function of values, as (name, *values).

    inside: memory that is used nowhere else; the loop stores there only what it reads at another place. Raises KeyError
    or ValueError if there is no such loop."""
    shape, known = filled[0][0].shape, dict[tuple, int]()
    operands, values, stores = list[np.ndarray](), list[Value](), dict[tuple, tuple[int, np.ndarray]]()
    for out, value in filled:
        view = _view(out)
        known[view] = i = _added(value, out.dtype, shape, known, operands, values)
        stores[view] = i, out
    written, inside = [out for _, out in stores.values()], inside - {id(memory(x)) for x in operands}
    kept = tuple([(i, out) for i, out in stores.values() if id(memory(out)) not in inside])
    if not all([v.dtype in KINDS for v in values]):
        raise KeyError("it has a dtype without code")
    if len(operands) + len(kept) > _LONGEST or any([
            memory(x) is memory(y) and _view(x) != _view(y) and np.may_share_memory(x, y, _HARD)  # type: ignore
            for x in written for y in (*operands, *written)]):
        raise ValueError("it has too many arrays, or uses elements that it writes at other places")
    return Loop(shape, tuple(operands), tuple(values), kept)


def _added(value: Any, dtype: np.dtype, shape: tuple, known: dict[tuple, int], operands: list[np.ndarray],
           values: list[Value]) -> int:
    """Add a value in this dtype to those of a loop; returns its index. known: the indices of arrays' values."""
    if isinstance(value, np.ndarray):
        x = value if value.shape == shape else np.broadcast_to(value, shape)
        if (view := _view(x)) not in known:
            known[view] = len(values)
            values.append(Value("load", (len(operands),), SUPPORTED[x.dtype]))
            operands.append(x)
        if x.dtype == dtype:
            return known[view]
        name, arguments = "cast", [known[view]]
    elif not isinstance(value, tuple):
        name, arguments = "number", [value if dtype.kind in "fb" else int(dtype.type(value))]  # if it fits
    else:
        name, *inputs = value
        of = np.result_type(*inputs) if name in _TRUE_OR_FALSE else dtype
        if of.kind != "f" and name in _OF_FLOATS or (name, of) == ("add", BOOL) or name == "mod" and (
                of.kind not in "fi" or type(inputs[1]) not in (int, float) or not 0 < inputs[1] < 1e38):
            raise KeyError(name)
        arguments = [_added(x, BOOL if name == "where" and i == 0 else of, shape, known, operands, values)
                     for i, x in enumerate(inputs)]
    values.append(Value(name, tuple(arguments), SUPPORTED[dtype]))
    return len(values) - 1


def filling(name: str, out: np.ndarray, value: Any) -> Step:
    """A loop that fills an array with a value."""
    return Step(name, loop([(out, value)]), None, [value], None, [out])


def _filled(step: Step, kernels: bool) -> list[tuple[np.ndarray, Any]]:
    """What a loop would fill in place of a step, with the values, if one can: also of a formula's call, if kernels may
    replace NumPy, though its last bits may differ where two formulas share a subexpression."""
    call = step.call
    if not isinstance(call, Call):
        return [*zip(step.outputs, step.arguments, strict=True)] if isinstance(call, Loop) else []
    name, (*inputs, out) = call.kernel.name, call.arguments
    if name == "copy to":  # a loop over an array that lies across would touch a cache line for each number
        return [] if across(inputs[0]) else [(out, inputs[0])]
    if call.kernel.formula is None:  # as of all kernels that run side by side
        return []
    key, arrays, numbers = call.kernel.formula
    given = *inputs[:arrays], *inputs[3:3 + numbers]
    return [(out, (name if name in MAKE else key, *given))] if name in MAKE or kernels else []


def joined(steps: Sequence[Step], pinned: set[int], kernels: bool) -> list[Step]:
    """The steps, with loops over the same places fused if one reads data that the other writes or reads. What memory
    that is not pinned gets, and no step reads, is left out. kernels: whether these may replace NumPy, see `_filled`."""
    readers = defaultdict[int, set[int]](set)
    for i, step in enumerate(steps):
        for key in step.uses()[0]:
            readers[key].add(i)
    made: list[tuple[Step, list, list[int]]] = []  # each with what it fills, and the numbers of the steps in it
    for i, step in enumerate(steps):
        second = _filled(step, kernels)
        new, at = (step, second, [i]), len(made)
        reads, writes = [uses.keys() for uses in step.uses()]
        for j in reversed(range(at)) if second else ():
            other, first, parts = made[j]
            if i - parts[0] >= _REACH:
                break
            read, written = [uses.keys() for uses in other.uses()]
            if first and first[0][0].shape == second[0][0].shape and not reads.isdisjoint({*read, *written}):
                both, own = [*first, *second], [*parts, i]
                with suppress(KeyError, ValueError):
                    call = loop(both, {key for out, _ in both if (key := id(memory(out))) not in pinned
                                       and not readers[key] - {*own}})
                    new, at = (Step(f"{other.name}, {step.name}", call), both, own), j
                    break
            if not (written.isdisjoint({*reads, *writes}) and read.isdisjoint(writes)):
                break
        made[at:at + 1] = [new]
    needed = {*pinned, *[key for step, _, _ in made for key in step.uses()[0]]}
    return [step for step, filled, _ in made if not filled or not needed.isdisjoint(step.uses()[1])]


def _view(x: np.ndarray) -> tuple:
    return *place(x), x.dtype


# NumPy's functions as loops -------------------------------------------------------------------------------------------


def _clip(_: np.ndarray, x: Any, min: Any = None, max: Any = None) -> Any:
    if min is None or max is None:
        return ("minimum", x, max) if min is None else ("maximum", x, min)
    return ("minimum", max, ("maximum", min, x))  # between two numbers, NumPy keeps a zero's sign


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
    "clip": _clip, "pow": lambda _, a, b: _POWERS[b](a), "spread": _spread,
    "reshape": lambda out, x, **_: [(out.reshape(x.shape, copy=False), x)],
    "put": lambda out, x, index, **_: [(out, 0), (_part(out, index), x)],
    "assign": lambda array, _, index, value: [(_part(array, index), value)],
    "add_part": lambda array, _, index, x: [(part := _part(array, index), ("add", part, x))],
    "cat": _cat,
    "stack": lambda out, *parts, axis=0: [
        (part.squeeze(axis), x) for part, x in zip(np.split(out, len(parts), axis), parts, strict=True)],
    "roll": lambda out, x, shifts, axis=None: _cat(out, *np.split(x, [-shifts % x.shape[axis]], axis)[::-1], axis=axis),
}


def lowered(tape: Tape, kernels: bool) -> list[Step]:
    """The steps of a tape, with compiled code in place of Python wherever there is any. kernels: whether to use kernels
    that sum in another order than NumPy."""
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
