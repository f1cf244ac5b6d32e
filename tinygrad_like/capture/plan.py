"""How a program uses memory: fused loops, and one arena for all buffers.

A buffer is the memory of an array that a step makes. It is pinned if something outside the steps looks at it: inputs,
results, gradients, state that lasts from call to call, and values that Python reads. All other buffers live from the
first step that writes to them to the last that uses them, and then free their place. So the arena is about as large as
all buffers alive at one time, and most data that a step reads was just written and is still in the cache.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..dtypes import memory
from ..kernels.kinds import Table
from ..kernels.loops import Loop, Value, place
from ..kernels.memory import give_back, pages
from ..kernels.program import Call, Copy
from ..kernels.views import address
from .instructions import Refused, Step

LINE = 64  # bytes of a cache line
BYTE = np.dtype(np.uint8)
_LONGEST = 24  # arrays of a loop, at most
_HARD = 1000  # steps of a search for elements that two arrays share
_REACH = 40  # steps that a loop may be moved across


class Uses:
    """The steps that read and write each block of memory."""

    def __init__(self, steps: Sequence[Step]):
        self.reads: list[Set[int]] = [step.uses()[0].keys() for step in steps]
        self.writes: list[Set[int]] = [step.uses()[1].keys() for step in steps]
        self.readers: dict[int, list[int]] = defaultdict(list)
        self.writers: dict[int, list[int]] = defaultdict(list)
        for i, (read, written) in enumerate(zip(self.reads, self.writes, strict=True)):
            for key in read:
                self.readers[key].append(i)
            for key in written:
                self.writers[key].append(i)


# Arrays elsewhere -----------------------------------------------------------------------------------------------------


def bounds(x: np.ndarray) -> tuple[int, int]:
    return (address(x), address(x) + x.nbytes) if x.flags.c_contiguous else byte_bounds(x)


def shown(x: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The view of target's memory that corresponds to x, a view of source's."""
    offset = address(x) - address(source)
    base = memory(target)
    return np.ndarray(x.shape, x.dtype, in_bytes(base), address(target) - address(base) + offset, x.strides)


def in_bytes(x: np.ndarray) -> np.ndarray:
    """The memory of an array, as the array that owns it."""
    if x.dtype is BYTE and x.ndim == 1:
        return x
    return (x if x.flags.c_contiguous else x.T).reshape(-1).view(np.uint8)


def repointed(step: Step, moved: Callable[[np.ndarray], np.ndarray]) -> Step:
    """The step on other arrays: moved(x) in place of each x. The same step if nothing moves."""
    parts = step.call, step.alone, step.arguments, step.options, step.outputs, step.changes
    call, alone, *others = new = [*[_call_on(c, moved) for c in parts[:2]], *[_with(v, moved) for v in parts[2:]]]
    if _same(parts, new):
        return step
    made = Step(step.name, call, step.function, *others)
    made.line, made.alone = step.line, alone
    return made


def _same(values: Iterable, others: Iterable) -> bool:
    return all([a is b for a, b in zip(values, others, strict=True)])


def _call_on(call: Any, moved: Callable) -> Any:
    if isinstance(call, Loop):
        return Loop(call.shape, _with(call.operands, moved), call.values,
                    tuple([(i, moved(x)) for i, x in call.stores]))
    if isinstance(call, Copy):
        return Copy(moved(call.source), moved(call.target))
    if isinstance(call, Call):
        arguments = tuple([moved(x) if type(x) is np.ndarray else x if type(x) is int else _with(x, moved)
                           for x in call.arguments])
        return call if _same(arguments, call.arguments) else Call(call.kernel, call.beside, arguments)
    return call


def _with(value: Any, moved: Callable) -> Any:
    """A value with its arrays replaced; the same object if it has none. (As a function inside `repointed` it would make
    a cycle that keeps the arena alive.)"""
    kind = type(value)
    if kind is np.ndarray:
        return moved(value)
    if kind is tuple or kind is list:
        new = [_with(v, moved) for v in value]
        return value if _same(value, new) else kind(new)
    if kind is Table:
        rows = [tuple([x if x is None else moved(x) for x in row]) for row in value.rows]
        return value if all(map(_same, rows, value.rows)) else Table(rows, value.dtype)
    if kind is dict:
        others = {k: _with(v, moved) for k, v in value.items()}
        return value if _same(value.values(), others.values()) else others
    return moved(value) if isinstance(value, np.ndarray) else value


# Loops ----------------------------------------------------------------------------------------------------------------


def joined(steps: Sequence[Step], pinned: set[int]) -> list[Step]:
    """The steps, with loops over the same places fused if one reads data that the other writes or reads."""
    made: list[Step | None] = list(steps)
    uses = Uses(steps)
    reads, writes, parts = uses.reads, uses.writes, [{i} for i in range(len(steps))]  # the original steps of each

    def few(loop: Loop, own: set[int]) -> bool:
        """Whether a loop made of some steps has few enough arrays, without those that no other step reads."""
        seen = [x for x in loop.writes() if id(memory(x)) in pinned or not own.issuperset(uses.readers[id(memory(x))])]
        return len(loop.operands) + len(seen) <= _LONGEST

    for i, step in enumerate(steps):
        if not isinstance(step.call, Loop):
            continue
        for j in range(i - 1, max(-1, i - _REACH), -1):
            other = made[j]
            if other is None:
                continue
            related = writes[j] & reads[i] or reads[j] & reads[i]
            if related and isinstance(other.call, Loop) and other.call.shape == step.call.shape:
                both = _one(other.call, step.call)
                if both is not None and few(both, parts[i] | parts[j]):
                    parts[j] |= parts[i]
                    made[j], made[i] = Step(f"{other.name}, {step.name}", call=both), None
                    reads[j], writes[j] = reads[j] | reads[i], writes[j] | writes[i]
                    break
            if writes[j] & reads[i] or writes[j] & writes[i] or reads[j] & writes[i]:
                break
    return _without_unread([step for step in made if step is not None], pinned)


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


def _without_unread(steps: Sequence[Step], pinned: set[int]) -> list[Step]:
    """The steps, without the loops' stores to memory that is never read."""
    read = {key for step in steps for key in step.uses()[0]}
    made = []
    for step in steps:
        loop = step.call
        if isinstance(loop, Loop):
            stores = tuple([(i, x) for i, x in loop.stores if id(memory(x)) in pinned or id(memory(x)) in read])
            if not stores:
                continue
            if len(stores) < len(loop.stores):
                step = Step(step.name, call=loop._replace(stores=stores))
        made.append(step)
    return made


# Memory ---------------------------------------------------------------------------------------------------------------


def placed(steps: Sequence[Step], pinned: set[int], kept: dict[int, np.ndarray],
           inputs: Sequence[np.ndarray]) -> tuple[list[Step], list[np.ndarray], Callable]:
    """The steps on their own memory, and that memory: an arena for unpinned buffers, the buffers `kept` to the end, and
    memory for each input; and the function from old arrays to new ones. Other pinned memory stays."""
    uses, time, now = Uses(steps), [], -1
    buffers: dict[int, np.ndarray] = {}
    for step in steps:  # calls side by side happen at the same time
        now += not getattr(step.call, "beside", 0)
        time.append(now)
    for step in steps:
        for memories in step.uses():
            buffers.update(memories)
    lives: list[tuple[int, int, int, np.ndarray]] = []
    for key, m in buffers.items():
        if key not in pinned and uses.writers[key] and m.nbytes:
            used = [time[i] for i in (*uses.readers[key], *uses.writers[key])]
            lives.append((min(used), max(used), key, m))
    lives.sort(key=lambda life: life[0])
    offsets, size = _offsets([(begin, end, m.nbytes + address(m) % LINE) for begin, end, _, m in lives])
    ends, much = _offsets([(0, 0, m.nbytes + address(m) % LINE) for m in kept.values()])
    give_back(size + much)
    arena, rest = pages(size + LINE), pages(much + LINE)
    place = {key: (m, arena, -address(arena) % LINE + offset + address(m) % LINE) for offset, (_, _, key, m) in zip(
        offsets, lives, strict=True)}
    place |= {key: (m, rest, -address(rest) % LINE + offset + address(m) % LINE) for offset, (key, m) in zip(
        ends, kept.items(), strict=True)}
    spans: dict[int, list[tuple[int, int, np.ndarray, np.ndarray, int]]] = defaultdict(list)
    own = [arena, rest]
    for x in inputs:
        low, high = bounds(x)
        others = [y for _, _, y, *_ in spans[id(memory(x))] if meet(x, y)]
        if any(y is not x for y in others):
            raise Refused("two arguments lie in the same memory; pass a clone()")
        if not others:
            own.append(pages(high - low + 2 * LINE))
            spans[id(memory(x))].append((low, high, x, own[-1], -address(own[-1]) % LINE + low % LINE))

    def moved(x: np.ndarray) -> np.ndarray:
        key = id(memory(x))
        if (found := place.get(key)) is not None:
            m, whole, offset = found
            return np.ndarray(x.shape, x.dtype, whole, offset + address(x) - address(m), x.strides)
        if key in spans:
            low, high = bounds(x)
            for first, last, y, whole, offset in spans[key]:
                if first <= low and high <= last and (len(spans[key]) == 1 or meet(x, y)):
                    return np.ndarray(x.shape, x.dtype, whole, offset + address(x) - first, x.strides)
            raise Refused("it reads more of an argument's memory than the argument shows; pass a clone()")
        return x

    return [repointed(step, moved) for step in steps], own, moved


def _offsets(lives: Iterable[tuple[int, int, int]]) -> tuple[list[int], int]:
    """Offsets for blocks, given as (begin, end, bytes) in order of begin: each goes into the smallest gap."""
    alive: list[tuple[int, int, int]] = []  # blocks, as (offset, bytes, end), by offset
    offsets, size = [], 0
    for begin, end, count in lives:
        count = -(-count // LINE) * LINE
        alive = [block for block in alive if block[2] >= begin]
        gaps, at = [], 0
        for offset, n, _ in alive:
            if offset - at >= count:
                gaps.append((offset - at, at))
            at = offset + n
        offset = min(gaps)[1] if gaps else at
        insort(alive, (offset, count, end))
        offsets.append(offset)
        size = max(size, offset + count)
    return offsets, size
