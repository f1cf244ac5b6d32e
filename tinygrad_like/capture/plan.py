"""How a program uses memory: one arena for all buffers.

A buffer is the memory of an array that a step makes. Before its first use and after its last, its place is free. So the
arena is about as large as all buffers alive at one time, and most data that a step reads is still in the cache. Results
and gradients live to the end; gradients that the function does not drop first live all the time, since they are there
if an error stops it. Memory that lasts from call to call is pinned: it stays where it is.
"""

from __future__ import annotations

from bisect import insort
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
from .instructions import Refused, Step
from .pytree import PLAIN

LINE = 64  # bytes of a cache line
BYTE = np.dtype(np.uint8)


def shown(x: np.ndarray, target: np.ndarray, source: int) -> np.ndarray:
    """The view of target, an array of bytes, that corresponds to x, a view of the bytes at the address `source`. Raises
    ValueError if there is none."""
    return np.ndarray(x.shape, x.dtype, target, address(x) - source, x.strides)


def in_bytes(x: np.ndarray) -> np.ndarray:
    """The memory of an array without gaps."""
    return x.ravel(order="K").view(BYTE)


def repointed(value: Any, moved: Callable[[np.ndarray], Any]) -> Any:
    """A step, or a part of one, on other arrays: moved(x) in place of each x."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        return moved(value)
    if kind in (tuple, list, Loop):  # numbers and most arrays without a call
        made = [moved(x) if type(x) is np.ndarray else x if type(x) in PLAIN else repointed(x, moved) for x in value]
        return Loop(*made) if kind is Loop else kind(made)
    if kind is Step:
        call, arguments, options, outputs, changes = [part and repointed(part, moved) for part in (
            value.call, value.arguments, value.options, value.outputs, value.changes)]
        return Step(value.name, call, value.function, arguments, options, outputs, changes, value.line)
    if kind is Call:
        return Call(value.kernel, value.beside, repointed(value.arguments, moved))
    if kind is Table:
        return Table(repointed(value.rows, moved), value.dtype)
    return {key: repointed(part, moved) for key, part in value.items()} if kind is dict else value


def placed(steps: Sequence[Step], pinned: set[int], kept: dict[int, bool],
           inputs: Iterable[np.ndarray]) -> tuple[list[Step], np.ndarray, Callable]:
    """The steps in an arena, which has all buffers that are not pinned, and room for each input; the arena; and the
    function from old arrays to new ones. Inputs live all the time, pinned memory stays. kept: buffers that live to the
    end, and whether from the start."""
    now, lives, written = -1, dict[int, list[int]](), dict[int, np.ndarray]()
    for step in steps:  # calls side by side happen at the same time
        now += not getattr(step.call, "beside", 0)
        read, writes = step.uses()
        for key in (*read, *writes):
            lives.setdefault(key, [now, now])[1] = now
        written |= writes
    # A buffer's first and last use, its address and its size.
    blocks = {key: [*lives[key], address(m), m.nbytes] for key, m in written.items() if key not in pinned and m.nbytes}
    for key in blocks.keys() & kept:
        blocks[key][:2] = -1 if kept[key] else blocks[key][0], now
    given = dict[int, np.ndarray]()
    for x in inputs:
        if given.setdefault(id(memory(x)), x) is not x:
            raise Refused("two arguments share memory; pass a clone()")
        low, high = byte_bounds(x)
        blocks[id(memory(x))] = [-1, now, low, high - low]
    offsets, count = _offsets(blocks)
    arena = pages(count + LINE)
    start = -address(arena) % LINE
    data = arena.data  # once, since NumPy takes long to make it
    # Where memory lies from now on, as memory of its own, and the address before of its first byte.
    place = {key: (np.frombuffer(data[(at := start + offsets[key] + first % LINE):at + size], BYTE), first)
             for key, (_, _, first, size) in blocks.items()}

    def moved(x: np.ndarray) -> np.ndarray:
        if (found := place.get(id(memory(x)))) is None:
            return x
        try:
            return shown(x, *found)
        except ValueError:
            raise Refused("it reads more of an argument's memory than the argument shows; pass a clone()") from None

    return [repointed(step, moved) for step in steps], arena, moved


def _offsets(blocks: dict[int, list[int]]) -> tuple[dict[int, int], int]:
    """Offsets of the blocks, and the size of all: each goes into the smallest gap."""
    alive: list[tuple[int, int, int]] = []  # blocks, as (offset, offset after it, end), by offset
    offsets, most = dict[int, int](), 0
    for key, (begin, end, first, size) in sorted(blocks.items(), key=lambda item: item[1][0]):
        count = -(-(first % LINE + size) // LINE) * LINE
        alive = [block for block in alive if block[2] >= begin]
        ends = [0, *[after for _, after, _ in alive]]
        gaps = [(block[0] - at, at) for at, block in zip(ends, alive, strict=False) if block[0] - at >= count]
        offsets[key] = offset = min(gaps)[1] if gaps else ends[-1]
        insort(alive, (offset, offset + count, end))
        most = max(most, offset + count)
    return offsets, most
