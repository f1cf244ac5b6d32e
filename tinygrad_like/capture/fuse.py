"""Elementwise steps as loops, and loops over the same places as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import BOOL, SUPPORTED, memory
from ..kernels.copies import across
from ..kernels.loops import KINDS, MAKE, Loop, Value, place
from ..kernels.program import Call
from .instructions import Step

_LONGEST = 24  # arrays of a loop, at most
_HARD = 1000  # steps of a search for elements that two arrays share
_REACH = 40  # steps that a loop may be moved across
_TRUE_OR_FALSE = {"eq", "ne", "lt", "le", "gt", "ge", "isnan"}
_OF_FLOATS = {"div", "reciprocal", "sqrt", "rsqrt", "abs", "floor", "ceil", "trunc", "round", "sign", "isnan"}


def loop(out: np.ndarray, value: Any) -> Loop:
    """The loop that fills an array with a value: an array, a number, or a function of values, as (name, *values).

    Raises KeyError or ValueError if there is no such loop.
    """
    operands, values = list[np.ndarray](), list[Value]()
    last = _added(value, out.dtype, operands, values)
    read = tuple([np.broadcast_to(x, out.shape) for x in operands])
    if _cross([out], read):
        raise ValueError("it reads elements that it writes at other places")
    return Loop(out.shape, read, tuple(values), ((last, out),))


def _added(value: Any, dtype: np.dtype, operands: list[np.ndarray], values: list[Value]) -> int:
    """Add a value in this dtype to those of a loop; returns its index."""

    def add(make: str, arguments: tuple, dtype: np.dtype) -> int:
        if dtype not in KINDS:
            raise KeyError(dtype)
        values.append(Value(make, arguments, SUPPORTED[dtype]))
        return len(values) - 1

    if isinstance(value, np.ndarray):
        operands.append(value)
        loaded = add("load", (len(operands) - 1,), value.dtype)
        return loaded if value.dtype == dtype else add("cast", (loaded,), dtype)
    if not isinstance(value, tuple):
        return add("number", (value,), dtype)
    name, *inputs = value
    of = np.result_type(*inputs) if name in _TRUE_OR_FALSE else dtype
    if of.kind != "f" and name in _OF_FLOATS:
        raise KeyError(name)
    return add(name, tuple([_added(x, BOOL if name == "where" and i == 0 else of, operands, values)
                            for i, x in enumerate(inputs)]), dtype)


# The functions of kernels that equal NumPy's to the bit, besides those of `MAKE`.
_EXACT: dict[str, Callable[..., tuple]] = {
    "relu": lambda x: ("where", ("le", x, 0.0), 0.0, x),
    "relu vjp": lambda g, out: ("where", ("le", out, 0.0), 0.0, g),
    "leaky relu": lambda x, slope: ("where", ("gt", x, 0.0), x, ("mul", x, slope)),
    "leaky relu vjp": lambda g, x, slope: ("where", ("gt", x, 0.0), g, ("mul", g, slope)),
}


def _as_loop(step: Step, kernels: bool) -> Loop | None:
    """A step as a loop, if it can be one: also a formula's call, if kernels may replace NumPy, though its last bits may
    differ where two formulas share a subexpression."""
    call = step.call
    if not isinstance(call, Call) or step.function is not None:
        return call if isinstance(call, Loop) else None
    name, (*inputs, out) = call.kernel.name, call.arguments
    if name == "copy to":  # a loop over an array that lies across would touch a cache line for each number
        return None if across(inputs[0]) else loop(out, inputs[0])
    if call.kernel.formula is None:
        return None
    key, arrays, numbers = call.kernel.formula
    given = *inputs[:arrays], *inputs[3:3 + numbers]
    if name in _EXACT:
        return loop(out, _EXACT[name](*given))
    return loop(out, (name if name in MAKE else key, *given)) if name in MAKE or kernels else None


# Joining --------------------------------------------------------------------------------------------------------------


def joined(steps: Sequence[Step], pinned: set[int], kernels: bool) -> list[Step]:
    """The steps, with loops over the same places fused if one reads data that the other writes or reads. What memory
    that is not pinned gets, and no step reads, is left out.

    kernels: whether kernels may replace NumPy, see `_as_loop`.
    """
    readers = defaultdict[int, set[int]](set)
    for i, step in enumerate(steps):
        for key in step.uses()[0]:
            readers[key].add(i)
    beside = [*[bool(getattr(step.call, "beside", 0)) for step in steps], False]
    made: list[tuple[Step, Loop | None, list[int]]] = []  # each with the numbers of the steps in it
    for i, step in enumerate(steps):
        second = None if beside[i] or beside[i + 1] else _as_loop(step, kernels)  # concurrent calls stay as they are
        new, at = (step, second, [i]), len(made)
        reads, writes = [uses.keys() for uses in step.uses()]
        for j in reversed(range(at)) if second else ():
            other, first, parts = made[j]
            if i - parts[0] >= _REACH:
                break
            read, written = [uses.keys() for uses in other.uses()]
            if first and second and first.shape == second.shape and not reads.isdisjoint({*read, *written}):
                own = [*parts, i]
                both = _one(first, second, pinned | {key for key in (*written, *writes) if readers[key] - {*own}})
                if both is not None:
                    new, at = (Step(f"{other.name}, {step.name}", both), both, own), j
                    break
            if not (written.isdisjoint({*reads, *writes}) and read.isdisjoint(writes)):
                break
        made[at:at + 1] = [new]
    needed = {*pinned, *[key for step, _, _ in made for key in step.uses()[0]]}
    return [step for step, whole, _ in made if whole is None or not needed.isdisjoint(step.uses()[1])]


def _one(first: Loop, second: Loop, needed: set[int]) -> Loop | None:
    """Both in one loop, the second after the first at each place, without stores to memory that is neither needed nor
    read; None if that is impossible, or the loop would have too many arrays."""
    if _cross(first.writes(), second.operands) or _cross(second.writes(), [*first.operands, *first.writes()]):
        return None
    known = {_view(first.operands[v.arguments[0]]): i for i, v in enumerate(first.values) if v.make == "load"}
    known |= {_view(x): i for i, x in first.stores}
    operands, values = [*first.operands], [*first.values]
    number: list[int] = []  # of each of the second loop's values among those of both
    for make, arguments, dtype in second.values:
        at = None
        if make == "load":
            x = second.operands[arguments[0]]
            at, arguments = known.get(_view(x)), (len(operands),)
            operands += [x] * (at is None)
        elif make != "number":
            arguments = tuple([number[k] for k in arguments])
        if at is None:
            at = len(values)
            values.append(Value(make, arguments, dtype))
        number.append(at)
    stores = {_view(x): (i, x) for i, x in (*first.stores, *[(number[i], x) for i, x in second.stores])}
    needed = needed | {id(memory(x)) for x in operands}
    kept = tuple([(i, x) for i, x in stores.values() if id(memory(x)) in needed])
    if len(operands) + len(kept) > _LONGEST:
        return None
    return Loop(first.shape, tuple(operands), tuple(values), kept)


def _cross(written: Sequence[np.ndarray], others: Sequence[np.ndarray]) -> bool:
    """Whether two of these arrays share elements that are at different places of the loop."""
    return any([memory(x) is memory(y) and _view(x) != _view(y) and meet(x, y) for x in written for y in others])


def meet(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays share an element."""
    try:
        return np.shares_memory(x, y, max_work=_HARD)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _view(x: np.ndarray) -> tuple:
    return *place(x), x.dtype
