"""Elementwise steps as loops, and loops over the same places as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import BOOL, FLOAT32, SUPPORTED, memory
from ..kernels.copies import across
from ..kernels.loops import KINDS, Loop, Value, place
from ..kernels.program import Call
from .instructions import Step

_LONGEST = 24  # arrays of a loop, at most
_HARD = 1000  # steps of a search for elements that two arrays share
_REACH = 40  # steps that a loop may be moved across


class At(int):
    """The index of a value in a loop."""


class Body:
    """A builder of a loop."""

    def __init__(self) -> None:
        self.operands, self.values = list[np.ndarray](), list[Value]()

    def take(self, x: Any, dtype: np.dtype) -> At:
        """An array's value at each place, or a number."""
        if isinstance(x, At):
            return x
        if not isinstance(x, np.ndarray):
            return self._add("number", (x,), dtype)
        self.operands.append(x)
        value = self._add("load", (len(self.operands) - 1,), x.dtype)
        return value if x.dtype == dtype else self._add("cast", (value,), dtype)

    def make(self, name: str, *inputs: Any, dtype: np.dtype, of: np.dtype | None = None) -> At:
        """A function of inputs in the dtype `of`, by default in that of the result."""
        return self._add(name, tuple([self.take(x, of or dtype) for x in inputs]), dtype)

    def _add(self, name: str, arguments: tuple, dtype: np.dtype) -> At:
        if dtype not in KINDS:
            raise KeyError(dtype)
        self.values.append(Value(name, arguments, SUPPORTED[dtype]))
        return At(len(self.values) - 1)


def loop(out: np.ndarray, value: Any) -> Loop:
    """The loop that writes to out: an array, a number, or the value that a function adds to a body."""
    if not isinstance(out, np.ndarray):  # a number, array[1], is not part of the array
        raise TypeError("a loop writes to arrays")
    body = Body()
    last = value(body) if callable(value) else body.take(value, out.dtype)
    operands = tuple([np.broadcast_to(x, out.shape) for x in body.operands])
    return Loop(out.shape, operands, tuple(body.values), ((last, out),))


def each(name: str, out: np.ndarray, *inputs: Any) -> tuple[np.ndarray, Callable]:
    """The function of this name of inputs in the output's dtype, and where it goes."""
    return out, lambda body: body.make(name, *inputs, dtype=out.dtype)


# Kernels --------------------------------------------------------------------------------------------------------------

_EXACT = frozenset("add sub mul div neg square reciprocal sqrt rsqrt abs sign".split())  # with the same bits as loops


def _relu(g: np.ndarray, x: np.ndarray, c: np.ndarray, p: float, q: float, out: np.ndarray) -> tuple:
    return out, lambda body: body.make("where", body.make("le", x, 0.0, dtype=BOOL, of=FLOAT32), 0.0, g, dtype=FLOAT32)


def _leaky_relu(g: np.ndarray, x: np.ndarray, c: np.ndarray, slope: float, q: float, out: np.ndarray) -> tuple:
    def value(body: Body) -> At:
        g_at = body.take(g, FLOAT32)
        above, less = body.make("gt", x, 0.0, dtype=BOOL, of=FLOAT32), body.make("mul", g_at, slope, dtype=FLOAT32)
        return body.make("where", above, g_at, less, dtype=FLOAT32)

    return out, value


_OF_KERNELS: dict[str, Callable[..., tuple]] = {
    "copy to": lambda x, out: (out, x), "relu": _relu, "relu vjp": _relu, "leaky relu": _leaky_relu,
    "leaky relu vjp": _leaky_relu}


def _as_loop(step: Step, following: Step | None, kernels: bool) -> Loop | None:
    """A step as a loop, if it can be one: also a formula's call, if kernels may replace NumPy, though its last bits may
    differ where two formulas share a subexpression. Concurrent calls stay as they are."""
    call = step.call
    if not isinstance(call, Call) or step.function is not None or call.beside or following is not None and (
            getattr(following.call, "beside", False)):
        return call if isinstance(call, Loop) else None
    name, formula, arguments = call.kernel.name, call.kernel.formula, call.arguments
    if name in _OF_KERNELS:
        # A loop over an array that lies across would touch a cache line for each number.
        return None if name == "copy to" and across(arguments[0]) else loop(*_OF_KERNELS[name](*arguments))
    if formula is None or not (kernels or name in _EXACT):
        return None
    key, arrays, numbers = formula
    given = *arguments[:arrays], *arguments[3:3 + numbers]
    return loop(*each(name if name in _EXACT else key, arguments[-1], *given))


# Joining --------------------------------------------------------------------------------------------------------------


def joined(steps: Sequence[Step], pinned: set[int], kernels: bool) -> list[Step]:
    """The steps, with loops over the same places fused if one reads data that the other writes or reads. What memory
    that is not pinned gets, and no step reads, is left out.

    kernels: whether kernels may replace NumPy, see `_as_loop`.
    """
    loops = [_as_loop(*pair, kernels) for pair in zip(steps, [*steps[1:], None], strict=False)]
    reads, writes = [[{*step.uses()[i]} for step in steps] for i in (0, 1)]
    parts = [[i] for i in range(len(steps))]  # the original steps of each
    readers = defaultdict[int, set[int]](set)
    for i, keys in enumerate(reads):
        for key in keys:
            readers[key].add(i)

    def few(both: Loop, own: set[int]) -> bool:
        """Whether a loop made of some steps has few enough arrays, without those that no other step reads."""
        keys = [id(memory(x)) for x in both.writes()]
        return len(both.operands) + sum([key in pinned or not readers[key] <= own for key in keys]) <= _LONGEST

    for i, second in enumerate(loops):
        if second is None:
            continue
        for j in range(i - 1, max(-1, i - _REACH), -1):
            first = loops[j]
            if not parts[j]:
                continue
            related = writes[j] & reads[i] or reads[j] & reads[i]
            if related and first is not None and first.shape == second.shape:
                both = _one(first, second)
                if both is not None and few(both, {*parts[i], *parts[j]}):
                    loops[j], parts[j], parts[i] = both, parts[j] + parts[i], []
                    reads[j], writes[j] = reads[j] | reads[i], writes[j] | writes[i]
                    break
            if writes[j] & reads[i] or writes[j] & writes[i] or reads[j] & writes[i]:
                break
    made, read = list[Step](), {*pinned}
    for whole, part in zip(loops, parts, strict=True):
        read.update([id(memory(x)) for x in whole.operands] if whole and part else [
            key for i in part for key in steps[i].uses()[0]])
    for whole, part in zip(loops, parts, strict=True):
        stores = () if whole is None else tuple([(i, x) for i, x in whole.stores if id(memory(x)) in read])
        if whole is None or len(part) == 1 and len(stores) == len(whole.stores):
            made += [steps[i] for i in part]
        elif part and stores:
            made.append(Step(", ".join([steps[i].name for i in part]), call=whole._replace(stores=stores)))
    return made


def _one(first: Loop, second: Loop) -> Loop | None:
    """Both in one loop, the second after the first at each place; None if that is impossible."""
    stored = {_view(x): i for i, x in first.stores}
    loaded = {_view(first.operands[v.arguments[0]]): i for i, v in enumerate(first.values) if v.make == "load"}
    if _cross(first.writes(), second.operands) or _cross(second.writes(), [*first.operands, *first.writes()]):
        return None
    operands, values = list(first.operands), list(first.values)
    number: list[int] = []  # of each of the second loop's values among those of both
    for v in second.values:
        if v.make == "load":
            x = second.operands[v.arguments[0]]
            known = stored.get(_view(x), loaded.get(_view(x)))
            if known is None:
                operands.append(x)
                values.append(Value("load", (len(operands) - 1,), v.dtype))
                known = len(values) - 1
        else:
            arguments = v.arguments if v.make == "number" else tuple([number[k] for k in v.arguments])
            values.append(Value(v.make, arguments, v.dtype))
            known = len(values) - 1
        number.append(known)
    replaced = {_view(x) for _, x in second.stores}
    stores = [(i, x) for i, x in first.stores if _view(x) not in replaced]
    return Loop(first.shape, tuple(operands), tuple(values),
                (*stores, *[(number[i], x) for i, x in second.stores]))


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
