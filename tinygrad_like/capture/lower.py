"""A table that lowers NumPy calls in a captured function to compiled loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..core.graph import setting
from ..dtypes import BOOL, INT64, arrays_in
from ..kernels.loops import MAKE, Loop
from ..kernels.program import Call
from .elementwise_loops import Body, accumulated, as_loop, copied
from .instructions import Step
from .recorder import Tape


def _copy(step: Step) -> Iterator[Loop]:
    yield copied(step.arguments[0], step.outputs[0])


def _filled(step: Step) -> Iterator[Loop]:
    yield copied(step.arguments[1], step.outputs[0])


def _reshape(step: Step) -> Iterator[Loop]:
    x, out = step.arguments[0], step.outputs[0]
    if not out.flags.c_contiguous:
        raise KeyError("reshape")
    yield copied(x, out.reshape(x.shape))


def _mod(step: Step) -> Iterator[Loop]:
    out, (a, b) = step.outputs[0], step.arguments
    kinds = (int,) if out.dtype == INT64 else (int, float) if out.dtype.kind == "f" else ()
    if type(b) not in kinds or not 0 < b < 1e38:
        raise KeyError("mod")
    dtype, body = out.dtype, Body(out.shape)
    yield body.to(body.make("mod", body.take(a, dtype), body.take(b, dtype), dtype=dtype), out)


def _each(name: str) -> Callable[[Step], Iterator[Loop]]:
    """The function of this name of its inputs, in the output's dtype."""

    def lower(step: Step) -> Iterator[Loop]:
        out = step.outputs[0]
        body = Body(out.shape)
        if name in _OF_FLOATS and out.dtype.kind != "f":
            raise KeyError(name)
        taken = [body.take(x, out.dtype) for x in step.arguments]
        yield body.to(body.make(name, *taken, dtype=out.dtype), out)

    return lower


_OF_FLOATS = {"div", "reciprocal", "sqrt", "rsqrt", "abs", "floor", "ceil", "trunc", "round", "sign"}


def _compared(name: str) -> Callable[[Step], Iterator[Loop]]:
    def lower(step: Step) -> Iterator[Loop]:
        out, dtype = step.outputs[0], np.result_type(*step.arguments)
        body = Body(out.shape)
        yield body.to(body.make(name, *[body.take(x, dtype) for x in step.arguments], dtype=BOOL), out)

    return lower


def _where(step: Step) -> Iterator[Loop]:
    out, (condition, a, b) = step.outputs[0], step.arguments
    body = Body(out.shape)
    taken = body.take(condition, BOOL), body.take(a, out.dtype), body.take(b, out.dtype)
    yield body.to(body.make("where", *taken, dtype=out.dtype), out)


def _clip(step: Step) -> Iterator[Loop]:
    out = step.outputs[0]
    body = Body(out.shape)
    value = body.take(step.arguments[0], out.dtype)
    for name, limit in ("maximum", step.options.get("min")), ("minimum", step.options.get("max")):
        if limit is not None:
            value = body.make(name, value, body.take(limit, out.dtype), dtype=out.dtype)
    yield body.to(value, out)


def _pow(step: Step) -> Iterator[Loop]:
    out, (a, b) = step.outputs[0], step.arguments
    if isinstance(b, np.ndarray) or b not in _POWERS:
        raise KeyError("pow")
    body = Body(out.shape)
    x = value = body.take(a, out.dtype)
    for name in _POWERS[b]:
        value = body.make(name, value, *([x] if name == "mul" else []), dtype=out.dtype)
    yield body.to(value, out)


_POWERS: dict[Any, tuple[str, ...]] = {2: ("square",), 3: ("square", "mul"), 4: ("square", "square"),
                                       -1: ("reciprocal",), -2: ("reciprocal", "square"), 0.5: ("sqrt",)}


def _spread(step: Step) -> Iterator[Loop]:
    x, out, options = step.arguments[0], step.outputs[0], step.options
    axis, divisor = options.get("axis"), options.get("divisor", 1)
    axis = range(out.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not options.get("keepdim") and x.ndim:
        x = np.expand_dims(x, tuple(axis))
    body = Body(out.shape)
    value = body.take(x, out.dtype)
    if divisor != 1:
        value = body.make("div", value, body.take(divisor, out.dtype), dtype=out.dtype)
    yield body.to(value, out)


def _put(step: Step) -> Iterator[Loop]:
    out, index = step.outputs[0], step.options["index"]
    if any(isinstance(i, np.ndarray) for i in index):
        raise KeyError("put")
    yield copied(0, out)
    yield copied(step.arguments[0], _part(out, index))


def _part(array: np.ndarray, index: tuple) -> np.ndarray:
    """array[index], as an array even if it is a single number."""
    return array[index if any(i is ... for i in index) else (*index, ...)]


def _assign(step: Step) -> Iterator[Loop]:
    array, index, value = step.arguments
    if any(isinstance(i, np.ndarray | list) for i in (index if isinstance(index, tuple) else (index,))):
        raise KeyError("assign")
    target = _part(array, index if isinstance(index, tuple) else (index,))
    if np.may_share_memory(target, value) and target.__array_interface__ != value.__array_interface__:
        raise KeyError("assign")
    yield copied(value, target)


def _add_part(step: Step) -> Iterator[Loop]:
    array, index, value = step.arguments
    yield accumulated(_part(array, index), value)


def _surround(step: Step) -> Iterator[Loop]:
    out, index = step.outputs[0], step.options["index"]
    if any(isinstance(i, np.ndarray) for i in index):
        raise KeyError("surround")
    yield copied(step.options.get("value", 0.0), out)
    yield copied(step.arguments[0], _part(out, index))


def _set_at(step: Step) -> Iterator[Loop]:
    out, index, (value, x) = step.outputs[0], step.options["index"], step.arguments
    if any(isinstance(i, np.ndarray) for i in index):
        raise KeyError("set_at")
    yield copied(x, out)
    yield copied(value, _part(out, index))


def _cat(step: Step) -> Iterator[Loop]:
    out, axis, start = step.outputs[0], step.options.get("axis", 0) % max(step.outputs[0].ndim, 1), 0
    for x in step.arguments:
        yield copied(x, out[(slice(None),) * axis + (slice(start, start + x.shape[axis]),)])
        start += x.shape[axis]


def _stack(step: Step) -> Iterator[Loop]:
    out, axis = step.outputs[0], step.options.get("axis", 0) % step.outputs[0].ndim
    for i, x in enumerate(step.arguments):
        yield copied(x, _part(out, (*(slice(None),) * axis, i)))


def _roll(step: Step) -> Iterator[Loop]:
    x, out, shift, axis = step.arguments[0], step.outputs[0], step.options["shifts"], step.options.get("axis")
    if type(shift) is not int or type(axis) is not int or not x.size:
        raise KeyError("roll")
    before, n, cut = (slice(None),) * (axis % x.ndim), x.shape[axis], shift % x.shape[axis]
    for begin, end, to in (0, n - cut, cut), (n - cut, n, 0):
        yield copied(x[(*before, slice(begin, end))], out[(*before, slice(to, to + end - begin))])


LOWER: dict[str, Callable[[Step], Iterator[Loop]]] = {
    **{name: _each(name) for name in MAKE},
    **{name: _compared(name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "isnan")},
    **dict.fromkeys(("clone", "contiguous", "cast", "copy", "identity", "tensor"), _copy),
    "reshape": _reshape, "filled": _filled, "mod": _mod, "where": _where, "clip": _clip, "pow": _pow,
    "spread": _spread, "put": _put, "assign": _assign, "add_part": _add_part, "cat": _cat, "stack": _stack,
    "surround": _surround, "set_at": _set_at, "roll": _roll,
}


def lowered(tape: Tape, kernels: bool) -> list[Step]:
    """The steps of a tape, with compiled code in place of Python wherever there is any.

    kernels: whether to use kernels that sum in another order than NumPy.
    """
    made: list[Step] = []
    for step, following in itertools.pairwise([*tape.steps, Step("")]):
        if isinstance(step.call, Call):
            made.append(as_loop(step, following, kernels))
        else:
            made.extend(_loops(step) or kernels and _anew(step, tape) or [step])
    return made


def _anew(step: Step, tape: Tape) -> list[Step]:
    try:
        return _kernels(step, tape)
    except Exception:  # its memory may hold anything now, such as a matrix that is not positive definite
        return []


def _kernels(step: Step, tape: Tape) -> list[Step]:
    """The kernels for larger arrays, if there are any that can do the step; and copies to the step's outputs."""
    if step.call is not None or step.function is None or not step.outputs or step.changes:
        return []
    before = tape
    for _ in range(2):  # the second time, the kernels' cached constants are known
        again = Tape(before=before)
        again.known.update(tape.known)
        with setting("compiled", True), again:
            result = again.unit(step.name, step.function, step.arguments, step.options)
        steps = [as_loop(s, following) if isinstance(s.call, Call) else s
                 for s, following in itertools.pairwise([*again.steps, Step("")])]
        if made := _in_place_of(step, steps, again, list(arrays_in(result)), tape):
            return made
        before = again
    return []


def _in_place_of(step: Step, steps: list[Step], again: Tape, results: list, tape: Tape) -> list[Step]:
    """Steps recorded on another tape, and copies of their results to a step's outputs; or an empty list."""
    if not steps or any(s.call is None for s in steps) or [np.shape(x) for x in results] != [
            x.shape for x in step.outputs]:  # it saves other values for its VJP
        return []
    tape.flags.update(again.flags)
    tape.known.update(again.flags)
    return [*steps, *[Step(step.name, call=copied(x, out)) for x, out in zip(results, step.outputs, strict=True)]]


def _loops(step: Step) -> list[Step]:
    if step.call is not None:
        return [Step("copy", call=copied(step.call.source, step.call.target))]
    if step.name not in LOWER or len(step.outputs) + len(step.changes) != 1:
        return []
    try:
        loops = list(LOWER[step.name](step))
    except (KeyError, AttributeError, TypeError, ValueError):  # a dtype or an option that has no loop
        return []
    return [Step(step.name, call=loop) for loop in loops if loop.writes()[0].size]
