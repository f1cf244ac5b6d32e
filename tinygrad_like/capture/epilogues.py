"""Loops that become the epilogue of the matrix product whose result they read; see `kernels/epilogue.py`."""

from __future__ import annotations

from collections.abc import Sequence

from ..dtypes import FLOAT32, memory
from ..kernels.epilogue import WithEpilogue, takes
from ..kernels.loops import Loop
from ..kernels.program import Call
from .instructions import Step
from .plan import REACH, Uses, repointed, shown


def with_epilogues(steps: Sequence[Step], pinned: set[int]) -> list[Step]:
    """The steps, with loops made epilogues of the product before them where possible; other single loops become
    kernels again."""
    made: list[Step | None] = list(steps)
    uses = Uses(steps)
    for i, step in enumerate(steps):
        j = _product(made, uses, i) if isinstance(step.call, Loop) else -1
        product = made[j] if j >= 0 else None
        if product is not None:
            both = Step(f"{product.name}, {step.name}", call=WithEpilogue(product.call, step.call))
            made[j], made[i] = _in_one_place(both, uses, i, j, pinned), None
            uses.reads[j], uses.writes[j] = uses.reads[j] | uses.reads[i], uses.writes[j] | uses.writes[i]
    kept = [step for step in made if step is not None]
    return [step if step.alone is None else Step(step.name, call=step.alone) for step in kept]


def _product(steps: Sequence[Step | None], uses: Uses, i: int) -> int:
    """The number of the product that loop number i can be the epilogue of; -1 for none."""
    loop, read, written = steps[i].call, uses.reads[i], uses.writes[i]  # type: ignore[union-attr]
    for j in range(i - 1, max(-1, i - REACH), -1):
        step = steps[j]
        if step is None or not (uses.writes[j] & (read | written) or uses.reads[j] & written):
            continue
        if not isinstance(step.call, Call) or step.function is not None or (
                not takes(step.call, loop)):
            return -1
        (out,) = step.call.writes()
        clash = (uses.writes[j] | uses.reads[j]) & written - {id(memory(out))} or any([
            uses.writes[k] & (read | written) or uses.reads[k] & written for k in _beside(steps, j)])
        return -1 if clash else j
    return -1


def _beside(steps: Sequence[Step | None], j: int) -> list[int]:
    """The earlier steps at whose time step j runs, by number."""
    found: list[int] = []
    for k in range(j, -1, -1):
        step = steps[k]
        if step is not None:
            if k < j:
                found.append(k)
            if not getattr(step.call, "beside", False):
                break
    return found


def _in_one_place(step: Step, uses: Uses, i: int, j: int, pinned: set[int]) -> Step:
    """The step, with the product written to where the loop's result will be, if only the loop reads the product."""
    call, loop = step.call
    (out,) = call.writes()
    key = id(memory(out))
    if key in pinned or uses.readers[key] != [i] or uses.writers[key] != [j]:
        return step
    read = [id(memory(x)) for x in loop.operands]
    places = [y for _, y in loop.stores if y.dtype is FLOAT32 and y.flags.c_contiguous and id(memory(y)) not in read]
    return repointed(step, lambda x: shown(x, out, places[0]) if memory(x) is memory(out) else x) if places else step
