"""What a captured function did in NumPy, as loops of compiled code: one small table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .autograd import setting
from .dtypes import BOOL, FLOAT32, INT64, SUPPORTED
from .kernels.loops import MAKE, Loop, Value
from .kernels.program import Call
from .tape import Step, Tape, arrays_in


class _Body:
    """A loop in the making."""

    def __init__(self, shape: tuple[int, ...]):
        self.shape, self.operands, self.values = shape, [], []  # type: ignore[var-annotated]

    def take(self, x: Any, dtype: np.dtype) -> int:
        """Number of the value of an array, or a number, at each place."""
        if not isinstance(x, np.ndarray):
            return self.make("number", x, dtype=dtype)
        self.operands.append(np.broadcast_to(x, self.shape))
        value = self.make("load", len(self.operands) - 1, dtype=SUPPORTED[x.dtype])
        return value if x.dtype == dtype else self.make("cast", value, dtype=dtype)

    def make(self, name: str, *arguments: Any, dtype: np.dtype) -> int:
        self.values.append(Value(name, arguments, SUPPORTED[dtype]))
        return len(self.values) - 1

    def to(self, value: int, out: np.ndarray) -> Loop:
        return Loop(self.shape, tuple(self.operands), tuple(self.values), ((value, out),))


def _copied(x: Any, out: np.ndarray) -> Loop:
    body = _Body(out.shape)
    return body.to(body.take(x, out.dtype), out)


def _copy(step: Step) -> Iterator[Loop]:
    yield _copied(step.arguments[0], step.outputs[0])


def _reshape(step: Step) -> Iterator[Loop]:
    x, out = step.arguments[0], step.outputs[0]
    if not out.flags.c_contiguous:
        raise KeyError("reshape")
    yield _copied(x, out.reshape(x.shape))


def _mod(step: Step) -> Iterator[Loop]:
    out, (a, b) = step.outputs[0], step.arguments
    if out.dtype != INT64 or not isinstance(b, int) or b <= 0:
        raise KeyError("mod")
    body = _Body(out.shape)
    yield body.to(body.make("mod", body.take(a, INT64), body.take(b, INT64), dtype=INT64), out)


def _each(name: str) -> Callable[[Step], Iterator[Loop]]:
    """The function of this name of its inputs, in the output's dtype."""

    def lower(step: Step) -> Iterator[Loop]:
        out = step.outputs[0]
        body = _Body(out.shape)
        if name in _OF_FLOATS and out.dtype.kind != "f":
            raise KeyError(name)
        taken = [body.take(x, out.dtype) for x in step.arguments]
        yield body.to(body.make(name, *taken, dtype=out.dtype), out)

    return lower


_OF_FLOATS = {"div", "reciprocal", "sqrt", "rsqrt", "abs", "floor", "ceil", "trunc", "round", "sign"}


def _compared(name: str) -> Callable[[Step], Iterator[Loop]]:
    def lower(step: Step) -> Iterator[Loop]:
        out, dtype = step.outputs[0], np.result_type(*step.arguments)
        body = _Body(out.shape)
        yield body.to(body.make(name, *[body.take(x, dtype) for x in step.arguments], dtype=BOOL), out)

    return lower


def _where(step: Step) -> Iterator[Loop]:
    out, (condition, a, b) = step.outputs[0], step.arguments
    body = _Body(out.shape)
    taken = body.take(condition, BOOL), body.take(a, out.dtype), body.take(b, out.dtype)
    yield body.to(body.make("where", *taken, dtype=out.dtype), out)


def _clip(step: Step) -> Iterator[Loop]:
    out = step.outputs[0]
    body = _Body(out.shape)
    value = body.take(step.arguments[0], out.dtype)
    for name, limit in ("maximum", step.options.get("min")), ("minimum", step.options.get("max")):
        if limit is not None:
            value = body.make(name, value, body.take(limit, out.dtype), dtype=out.dtype)
    yield body.to(value, out)


def _pow(step: Step) -> Iterator[Loop]:
    out, (a, b) = step.outputs[0], step.arguments
    if isinstance(b, np.ndarray) or b not in _POWERS:
        raise KeyError("pow")
    body = _Body(out.shape)
    x = value = body.take(a, out.dtype)
    for name in _POWERS[b]:
        value = body.make(name, value, *([x] if name == "mul" else []), dtype=out.dtype)
    yield body.to(value, out)


_POWERS: dict[Any, tuple[str, ...]] = {2: ("square",), 3: ("square", "mul"), 4: ("square", "square"),
                                       -1: ("reciprocal",), 0.5: ("sqrt",)}


def _spread(step: Step) -> Iterator[Loop]:
    x, out, options = step.arguments[0], step.outputs[0], step.options
    axis, divisor = options.get("axis"), options.get("divisor", 1)
    axis = range(out.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    if not options.get("keepdim") and x.ndim:
        x = np.expand_dims(x, tuple(axis))
    body = _Body(out.shape)
    value = body.take(x, out.dtype)
    if divisor != 1:
        value = body.make("div", value, body.take(divisor, out.dtype), dtype=out.dtype)
    yield body.to(value, out)


def _put(step: Step) -> Iterator[Loop]:
    out, index = step.outputs[0], step.options["index"]
    if any(isinstance(i, np.ndarray) for i in index):
        raise KeyError("put")
    yield _copied(0, out)
    yield _copied(step.arguments[0], _part(out, index))


def _part(array: np.ndarray, index: tuple) -> np.ndarray:
    """array[index], an array also if it is a single number."""
    return array[index if any(i is ... for i in index) else (*index, ...)]


def _assign(step: Step) -> Iterator[Loop]:
    array, index, value = step.arguments
    if any(isinstance(i, np.ndarray | list) for i in (index if isinstance(index, tuple) else (index,))):
        raise KeyError("assign")
    target = _part(array, index if isinstance(index, tuple) else (index,))
    if np.may_share_memory(target, value) and target.__array_interface__ != value.__array_interface__:
        raise KeyError("assign")
    yield _copied(value, target)


def _cat(step: Step) -> Iterator[Loop]:
    out, axis, start = step.outputs[0], step.options.get("axis", 0) % max(step.outputs[0].ndim, 1), 0
    for x in step.arguments:
        yield _copied(x, out[(slice(None),) * axis + (slice(start, start + x.shape[axis]),)])
        start += x.shape[axis]


def _stack(step: Step) -> Iterator[Loop]:
    out, axis = step.outputs[0], step.options.get("axis", 0) % step.outputs[0].ndim
    for i, x in enumerate(step.arguments):
        yield _copied(x, out[(slice(None),) * axis + (i,)])


def _roll(step: Step) -> Iterator[Loop]:
    x, out, shifts, axis = step.arguments[0], step.outputs[0], step.options["shifts"], step.options.get("axis")
    if axis is None:
        raise KeyError("roll")
    parts: list[list[tuple[slice, slice]]] = [[(slice(None), slice(None))] for _ in x.shape]
    for a, shift in zip(*[v if isinstance(v, tuple | list) else (v,) for v in (axis, shifts)], strict=True):
        n = x.shape[a]
        k = shift % n if n else 0
        parts[a] = [(slice(0, n - k), slice(k, n)), (slice(n - k, n), slice(0, k))] if k else parts[a]
    for chosen in itertools.product(*parts):
        yield _copied(x[tuple(source for source, _ in chosen)], out[tuple(target for _, target in chosen)])


LOWER: dict[str, Callable[[Step], Iterator[Loop]]] = {
    **{name: _each(name) for name in MAKE},
    **{name: _compared(name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "isnan")},
    **dict.fromkeys(("clone", "contiguous", "cast", "copy", "identity"), _copy),
    "reshape": _reshape, "mod": _mod, "where": _where,
    "clip": _clip, "pow": _pow, "spread": _spread, "put": _put, "assign": _assign, "cat": _cat,
    "stack": _stack, "roll": _roll,
}


def _arithmetic(name: str) -> Callable[..., Loop]:
    def loop(a: np.ndarray, b: np.ndarray, repeat: int, out: np.ndarray) -> Loop:
        body = _Body(out.shape)
        return body.to(body.make(name, body.take(a, FLOAT32), body.take(b, FLOAT32), dtype=FLOAT32), out)

    return loop


def _accumulated(total: np.ndarray, b: np.ndarray) -> Loop:
    body = _Body(total.shape)
    return body.to(body.make("add", body.take(total, FLOAT32), body.take(b, FLOAT32), dtype=FLOAT32), total)


def _chosen(condition: np.ndarray, a: np.ndarray, b: np.ndarray, out: np.ndarray) -> Loop:
    body = _Body(out.shape)
    taken = body.take(condition.view(bool), BOOL), body.take(a, FLOAT32), body.take(b, FLOAT32)
    return body.to(body.make("where", *taken, dtype=FLOAT32), out)


def _rectified(sign: str, chosen: Callable) -> Callable[..., Loop]:
    """where(x sign 0, ...) of a kernel's arrays g and x, or x alone, and a number."""
    def loop(a: np.ndarray, b: np.ndarray, number: float, out: np.ndarray) -> Loop:
        body = _Body(out.shape)
        g, x, zero = body.take(a, FLOAT32), body.take(b, FLOAT32), body.make("number", 0.0, dtype=FLOAT32)
        met = body.make(sign, x, zero, dtype=BOOL)
        return body.to(body.make("where", met, *chosen(body, g, zero, number), dtype=FLOAT32), out)

    return loop


def _or_zero(body: _Body, g: int, zero: int, number: float) -> tuple[int, int]:
    return zero, g


def _or_less(body: _Body, g: int, zero: int, number: float) -> tuple[int, int]:
    return g, body.make("mul", g, body.take(number, FLOAT32), dtype=FLOAT32)


# What kernels do of each number by itself, with the same bits; kernels by their names.
OF_KERNELS: dict[str, Callable[..., Loop]] = {
    **{name: _arithmetic(name) for name in ("add", "sub", "mul", "div")},
    "copy": lambda x, out: _copied(x, out), "accumulate": _accumulated, "where": _chosen,
    **dict.fromkeys(("relu", "relu vjp", "keep positive"), _rectified("le", _or_zero)),
    **dict.fromkeys(("leaky relu", "leaky relu vjp"), _rectified("gt", _or_less)),
}


def lowered(tape: Tape, kernels: bool) -> list[Step]:
    """The steps of a tape, with compiled code in place of what Python did, as far as there is any.

    kernels: also those that add up numbers in another order than NumPy.
    """
    made: list[Step] = []
    for step, following in zip(tape.steps, [*tape.steps[1:], Step("")], strict=False):
        if isinstance(step.call, Call):
            made.append(step if step.call.beside or getattr(following.call, "beside", 0) else _as_loop(step))
        else:
            made.extend(_loops(step) or kernels and _kernels(step, tape) or [step])
    return made


def _as_loop(step: Step) -> Step:
    """The call of a kernel as a loop, which others can be joined with, if it is in the table."""
    of = OF_KERNELS.get(step.call.kernel.name)
    if of is None or step.renew is not None or step.function is not None:
        return step
    loop = Step(step.name, call=of(*step.call.arguments))
    loop.alone = step.call
    return loop


def _kernels(step: Step, tape: Tape) -> list[Step]:
    """The kernels that do it for arrays of more numbers, if they can do it for any; and copies to where it was."""
    if step.call is not None or step.function is None or not step.outputs or step.changes:
        return []
    before = tape
    for _ in range(2):  # the second time, constants that kernels keep are known
        again = Tape(before=before)
        again.known.update(before.known)
        with setting("compiled", True), again:
            result = again.unit(step.name, step.function, step.arguments, step.options)
        results = list(arrays_in(result))
        if [x.shape for x in results] != [x.shape for x in step.outputs]:  # it keeps other things for its VJP
            return []
        if again.steps and all([s.call is not None for s in again.steps]):
            copies = [_copied(x, out) for x, out in zip(results, step.outputs, strict=True)]
            tape.flags.update(again.flags)
            tape.known.update(again.flags)  # which last: they are 0 unless something is wrong
            return [*again.steps, *[Step(step.name, call=loop) for loop in copies]]
        before = again
    return []


def _loops(step: Step) -> list[Step]:
    if step.call is not None:
        return [Step("copy", call=_copied(step.call.source, step.call.target))]
    if step.name not in LOWER or len(step.outputs) + len(step.changes) != 1:
        return []
    try:
        loops = list(LOWER[step.name](step))
    except (KeyError, AttributeError, TypeError, ValueError):  # a dtype or an option that has no loop
        return []
    return [Step(step.name, call=loop) for loop in loops if loop.writes()[0].size]
