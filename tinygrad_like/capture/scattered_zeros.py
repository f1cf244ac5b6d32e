"""Zeros that need not be written, since other data overwrites them: in gradients of the parts of `split`, say."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..dtypes import memory
from ..kernels.loops import Loop, Value, place
from ..kernels.views import address
from .instructions import Step
from .plan import Uses

_MOST = 2**22  # elements of an array of zeros, at most, since each is counted by itself


def without_zeros(steps: Sequence[Step]) -> list[Step]:
    """The steps, in which what is added to zeros that were just written is written in their place; and without those
    zeros that are all written over."""
    zeros = [i for i, step in enumerate(steps) if isinstance(step.call, Loop) and _is_zero(step.call)]
    if not zeros:
        return list(steps)
    made: list[Step | None] = list(steps)
    uses = Uses(steps)
    for i in zeros:
        (_, out), = steps[i].call.stores
        key, taken = id(memory(out)), np.zeros(out.size, bool)
        for j in sorted({*uses.readers[key], *uses.writers[key]}):
            if j > i:
                loop = None if made[j] is None else _beside_others(made[j].call, out, taken)  # type: ignore[union-attr]
                if loop is None:
                    break
                made[j] = Step(steps[j].name, call=loop)
        if taken.all():
            made[i] = None
    return [step for step in made if step is not None]


def _is_zero(loop: Loop) -> bool:
    """Whether a loop writes zeros to a whole array that owns its memory, or is the only one there."""
    (value, *others), (_, out) = loop.values, loop.stores[0]
    return (not others and value.make == "number" and value.arguments[0] == 0 and out.flags.c_contiguous
            and out.nbytes == memory(out).nbytes and out.size <= _MOST)


def _beside_others(loop: object, out: np.ndarray, taken: np.ndarray) -> Loop | None:
    """A loop that writes to free places of `out`, with 0 for the values that it reads there; the places are taken from
    then on. None for any other step that uses `out`."""
    if not isinstance(loop, Loop) or len(loop.stores) != 1:
        return None
    (stored, target), = loop.stores
    own = [memory(x) is memory(out) for x in loop.operands]
    if memory(target) is not memory(out) or any([
            mine and (place(x) != place(target) or x.dtype != out.dtype)
            for x, mine in zip(loop.operands, own, strict=True)]):
        return None
    places = np.ndarray(target.shape, bool, taken, (address(target) - address(out)) // out.itemsize,
                        tuple([s // out.itemsize for s in target.strides]))
    if target.dtype != out.dtype or places.any():
        return None
    places[...] = True
    number = np.cumsum([not mine for mine in own]) - 1  # of each operand among the remaining ones
    values = tuple([v if v.make != "load" else Value("number", (0.0,), v.dtype) if own[v.arguments[0]]
                    else Value("load", (int(number[v.arguments[0]]),), v.dtype) for v in loop.values])
    operands = tuple([x for x, mine in zip(loop.operands, own, strict=True) if not mine])
    return Loop(loop.shape, operands, values, ((stored, target),))
