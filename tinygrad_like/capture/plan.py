"""How a program uses memory: one arena for all buffers.

A buffer is the memory of an array that a step makes. It lives from the first step that writes to it to the last that
uses it, and at other times its place is free. So the arena is about as large as all buffers alive at one time, and most
data that a step reads was just written and is still in the cache. Gradients and results live all the time, since after
an error the gradients of the call before are there. Memory that lasts from call to call is pinned: it stays where it
is.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..dtypes import memory
from ..kernels.kinds import Table
from ..kernels.loops import Loop
from ..kernels.memory import pages
from ..kernels.program import Call
from ..kernels.views import address
from .fuse import meet
from .instructions import Refused, Step

LINE = 64  # bytes of a cache line
BYTE = np.dtype(np.uint8)


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
    parts = step.arguments, step.options, step.outputs, step.changes
    call, *others = _call_on(step.call, moved), *[_with(v, moved) for v in parts]
    if call is step.call and _same(parts, others):
        return step
    return Step(step.name, call, step.function, *others, step.line)  # type: ignore[call-arg]


def _same(values: Iterable, others: Iterable) -> bool:
    return all([a is b for a, b in zip(values, others, strict=True)])


def _call_on(call: Any, moved: Callable) -> Any:
    if isinstance(call, Loop):
        return Loop(call.shape, _with(call.operands, moved), call.values,
                    tuple([(i, moved(x)) for i, x in call.stores]))
    if call is None:
        return None
    arguments = tuple([moved(x) if type(x) is np.ndarray else x if type(x) is int else _with(x, moved)
                       for x in call.arguments])
    return call if _same(arguments, call.arguments) else Call(call.kernel, call.beside, arguments)


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


# Memory ---------------------------------------------------------------------------------------------------------------


def placed(steps: Sequence[Step], pinned: set[int], kept: set[int],
           inputs: Sequence[np.ndarray]) -> tuple[list[Step], list[np.ndarray], Callable]:
    """The steps on their own memory, and that memory: an arena for unpinned buffers, and memory for each input; and the
    function from old arrays to new ones. The buffers `kept` live all the time. Pinned memory stays."""
    now, lives = -1, dict[int, list[int]]()  # when each buffer is used
    buffers, written = dict[int, np.ndarray](), set[int]()
    for step in steps:  # calls side by side happen at the same time
        now += not getattr(step.call, "beside", 0)
        for memories in step.uses():
            buffers.update(memories)
            for key in memories:
                lives.setdefault(key, []).append(now)
        written.update(step.uses()[1])
    mine = [key for key in lives if key in written and key not in pinned and buffers[key].nbytes]
    mine.sort(key=lambda key: key not in kept)
    offsets, size = _offsets([(0, now, _room(buffers[key])) if key in kept else
                              (lives[key][0], lives[key][-1], _room(buffers[key])) for key in mine])
    arena = pages(size + LINE)
    place = {key: -address(arena) % LINE + offset + address(buffers[key]) % LINE
             for key, offset in zip(mine, offsets, strict=True)}
    spans: dict[int, list[tuple[int, int, np.ndarray, np.ndarray, int]]] = defaultdict(list)
    own = [arena]
    for x in inputs:
        low, high = bounds(x)
        others = [y for _, _, y, *_ in spans[id(memory(x))] if meet(x, y)]
        if any(y is not x for y in others):
            raise Refused("two arguments lie in the same memory; pass a clone()")
        if not others:
            own.append(pages(high - low + 2 * LINE))
            spans[id(memory(x))].append((low, high, x, own[-1], -address(own[-1]) % LINE + low % LINE))

    def moved(x: np.ndarray) -> np.ndarray:
        m = memory(x)
        if (offset := place.get(id(m))) is not None:
            return np.ndarray(x.shape, x.dtype, arena, offset + address(x) - address(m), x.strides)
        if id(m) in spans:
            low, high = bounds(x)
            for first, last, y, whole, offset in spans[id(m)]:
                if first <= low and high <= last and (len(spans[id(m)]) == 1 or meet(x, y)):
                    return np.ndarray(x.shape, x.dtype, whole, offset + address(x) - first, x.strides)
            raise Refused("it reads more of an argument's memory than the argument shows; pass a clone()")
        return x

    return [repointed(step, moved) for step in steps], own, moved


def _room(m: np.ndarray) -> int:
    """The bytes of a buffer, from a cache line on."""
    return m.nbytes + address(m) % LINE


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
