"""A table that lowers NumPy calls in a captured function to compiled loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..core.graph import setting
from ..dtypes import BOOL, INT64, arrays_in
from ..kernels.loops import MAKE
from .fuse import At, Body, each, loop
from .instructions import Step
from .recorder import Tape

# Each function takes the output of a step, its arguments and options. It returns pairs of an array and the array, the
# number, or the function of a loop's body that fills it. Raises KeyError if there is no loop.
Pairs = list[tuple[np.ndarray, Any]]


def _each(name: str, out: np.ndarray, *inputs: Any, **_: Any) -> Pairs:
    if name in _OF_FLOATS and out.dtype.kind != "f":
        raise KeyError(name)
    return [each(name, out, *inputs)]


_OF_FLOATS = {"div", "reciprocal", "sqrt", "rsqrt", "abs", "floor", "ceil", "trunc", "round", "sign"}


def _compared(name: str, out: np.ndarray, *inputs: Any) -> Pairs:
    return [(out, lambda body: body.make(name, *inputs, dtype=BOOL, of=np.result_type(*inputs)))]


def _mod(out: np.ndarray, a: Any, b: Any) -> Pairs:
    kinds = (int,) if out.dtype == INT64 else (int, float) if out.dtype.kind == "f" else ()
    if type(b) not in kinds or not 0 < b < 1e38:
        raise KeyError("mod")
    return [each("mod", out, a, b)]


def _where(out: np.ndarray, condition: Any, a: Any, b: Any) -> Pairs:
    return [(out, lambda body: body.make("where", body.take(condition, BOOL), a, b, dtype=out.dtype))]


def _clip(out: np.ndarray, x: Any, min: Any = None, max: Any = None) -> Pairs:
    def value(body: Body) -> At:
        value = body.take(x, out.dtype)
        for name, limit in ("maximum", min), ("minimum", max):
            value = value if limit is None else body.make(name, value, limit, dtype=out.dtype)
        return value

    return [(out, value)]


def _pow(out: np.ndarray, a: Any, b: Any) -> Pairs:
    def value(body: Body) -> At:
        x = value = body.take(a, out.dtype)
        for name in _POWERS[b]:
            value = body.make(name, value, *[x] * (name == "mul"), dtype=out.dtype)
        return value

    return [(out, value)]


_POWERS: dict[Any, tuple[str, ...]] = {2: ("square",), 3: ("square", "mul"), 4: ("square", "square"),
                                       -1: ("reciprocal",), -2: ("reciprocal", "square"), 0.5: ("sqrt",)}


def _spread(out: np.ndarray, x: Any, axis: Any = None, keepdim: bool = False, divisor: Any = 1, **_: Any) -> Pairs:
    if not keepdim and x.ndim:
        x = np.expand_dims(x, tuple(range(out.ndim)) if axis is None else axis)
    return [(out, x) if divisor == 1 else each("div", out, x, divisor)]


def _reshape(out: np.ndarray, x: np.ndarray, **_: Any) -> Pairs:
    if not out.flags.c_contiguous:
        raise KeyError("reshape")
    return [(out.reshape(x.shape), x)]


def _part(array: np.ndarray, index: Any) -> np.ndarray:
    """array[index], as an array even if it is a single number."""
    index = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, np.ndarray | list) for i in index):
        raise KeyError("index")
    return array[index if any(i is ... for i in index) else (*index, ...)]


def _assign(array: np.ndarray, _: Any, index: Any, value: Any) -> Pairs:
    target = _part(array, index)
    if np.may_share_memory(target, value) and target.__array_interface__ != value.__array_interface__:
        raise KeyError("assign")
    return [(target, value)]


def _cat(out: np.ndarray, *parts: np.ndarray, axis: int = 0) -> Pairs:
    before, ends = (slice(None),) * (axis % max(out.ndim, 1)), np.cumsum([x.shape[axis] for x in parts])
    return [(out[(*before, slice(end - x.shape[axis], end))], x) for x, end in zip(parts, ends, strict=True)]


def _stack(out: np.ndarray, *parts: np.ndarray, axis: int = 0) -> Pairs:
    return [(_part(out, (*(slice(None),) * (axis % out.ndim), i)), x) for i, x in enumerate(parts)]


def _roll(out: np.ndarray, x: np.ndarray, shifts: Any, axis: Any = None) -> Pairs:
    if type(shifts) is not int or type(axis) is not int or not x.size:
        raise KeyError("roll")
    before, n, cut = (slice(None),) * (axis % x.ndim), x.shape[axis], shifts % x.shape[axis]
    return [(out[(*before, slice(to, to + end - begin))], x[(*before, slice(begin, end))])
            for begin, end, to in ((0, n - cut, cut), (n - cut, n, 0))]


LOWER: dict[str, Callable[..., Pairs]] = {
    **{name: partial(_each, name) for name in MAKE},
    **{name: partial(_compared, name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "isnan")},
    **dict.fromkeys(("clone", "contiguous", "cast", "copy", "identity", "tensor"), lambda out, x, *_, **__: [(out, x)]),
    "filled": lambda out, shape, value, **_: [(out, value)],
    "mod": _mod, "where": _where, "clip": _clip, "pow": _pow, "spread": _spread, "reshape": _reshape,
    "put": lambda out, x, index, **_: [(out, 0), (_part(out, index), x)],
    "surround": lambda out, x, index, value=0.0, **_: [(out, value), (_part(out, index), x)],
    "set_at": lambda out, value, x, index, **_: [(out, x), (_part(out, index), value)],
    "assign": _assign, "add_part": lambda array, _, index, x: [each("add", part := _part(array, index), part, x)],
    "cat": _cat, "stack": _stack, "roll": _roll,
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
    try:
        pairs = LOWER[step.name](*step.outputs, *step.changes, *step.arguments, **step.options)
        return [Step(step.name, call=loop(out, value)) for out, value in pairs if out.size]
    except (KeyError, AttributeError, TypeError, ValueError):  # a dtype or an option that has no loop
        return []


def _kernels(step: Step, tape: Tape) -> list[Step]:
    """The kernels for larger arrays, if there are any that can do the step; and copies to the step's outputs."""
    if step.function is None or not step.outputs or step.changes:
        return []
    again = tape
    try:
        for _ in range(2):  # the second time, the kernels' cached constants are known
            again = Tape(before=again)
            again.origins = tape.origins
            with setting("compiled", True), again:
                results = [*arrays_in(again.unit(step.name, step.function, step.arguments, step.options))]
            if again.steps and all(s.call for s in again.steps) and [x.shape for x in results] == [
                    x.shape for x in step.outputs]:  # else it saves other values for its VJP
                return [*again.steps, *[Step(step.name, call=loop(out, x)) for x, out in zip(
                    map(tape.origins.noted, results), step.outputs, strict=True)]]
    except Exception:  # its memory may hold anything now, such as a matrix that is not positive definite
        pass
    return []
