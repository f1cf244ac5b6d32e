"""A call of a captured function, recorded or audited."""

from __future__ import annotations

import weakref
from collections.abc import Set
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.tensor import Tensor
from ..dtypes import memory
from .instructions import Refused
from .origins import INPUT, MADE
from .program import ROUNDING, Program, proved
from .pytree import FIELDS, containers_in, parts_within, plain_in, tensors_in
from .recorder import Tape
from .snapshots import Saved
from .world import World

if TYPE_CHECKING:
    from .capture import Kind, capture

_TRIES = 4  # recordings of one kind of call, at most, until two are alike


def record(self: capture, kind: Kind, tensors: list[Tensor], args: tuple, options: dict) -> Any:
    """Call the function, and record its steps; if they are those of the call before, make a program of them."""
    watched, known = (args, options), set(self.trace.ran)
    if kind.world is None and known:
        kind.world = _world(self, watched)
    world, inputs = kind.world, tensors
    kind.first = world is None
    if world is not None:
        inputs = kind.watch(world, tensors)
    given, self.trace.unknown, parts = [(t, _marks(t)) for t in tensors], "", parts_within(watched)
    apart = [] if kind.tape is None or kind.wrote else _apart(inputs)
    tape = Tape([t._data for t in inputs], kind.tape, world.memories() if world else None)
    before = Saved(kind.tape, inputs) if kind.tape is not None else None
    gradients = [(t, t._grad is not None and weakref.ref(t._grad))
                 for t in [*(world.tensors if world else ()), *inputs]]
    try:
        with tape, self.trace.on():
            result = self.function(*args, **options)
    finally:
        for t, array in apart:
            t._data = array
    kind.wrote = any([id(memory(x)) in tape.input_of for step in tape.steps for x in step.writes()])
    tape.leaves.update((id(t), t) for t, grad in gradients if (grad() if grad else None) is not t._grad
                       or grad and grad() is None)
    outside = {id(t) for t, _ in gradients}
    tape.leaves = {key: t for key, t in tape.leaves.items() if key in outside or not (
        id(memory(t._data)) in tape.seen or tape.origins.kind(t._data) in (INPUT, MADE))}
    tape.gradients = {key: tape.origins.noted(t._grad._data) for key, t in tape.leaves.items() if t._grad is not None}
    kind.tries, effects = kind.tries + 1, {id(d) for d in tape.counted()}
    marked = next((f"it sets {name} of an argument" for t, marks in given for name, a in _marks(t).items()
                   if marks.get(name) is not a), "")
    now = parts_within(watched)
    if len(now) != len(parts) or any([a is not b and type(a) is not int for a, b in zip(parts, now, strict=True)]):
        marked = marked or "it changes a list, a dict or a dataclass that it is given; return what is new"
    marked = marked or next((f"it sets {name} of its result" for t in tensors_in(result) for name in vars(t)
                             if name not in FIELDS), "")
    if why := tape.trouble or self.trace.unknown or marked:
        return self.stop(kind, why, result)
    what, places = world.changed(effects) if world is not None else ("", [])
    self.places |= {(id(place.where), place.key): place for place in places}
    if what:
        why = f"{what} is changed by the function itself; make it a Tensor, or change it outside and pass it"
        if what in self.changed:
            self.end(why)
            return result
        self.changed.add(what)
    elif world is not None and world.unknown:
        return self.stop(kind, world.unknown, result)
    different = "" if kind.tape is None else tape.different or (
        "" if before is not None and before.covers(tape) else "it changes other arrays in each call")
    whole = world is not None and self.trace.ran.keys() == known and not (what or places)
    if whole and before is not None and not different:
        return _made(self, kind, tape, before, result, inputs, watched)
    if different and kind.tries >= _TRIES:
        return self.stop(kind, different, result)
    tape.release()
    kind.tape = tape
    if not whole:
        kind.watch(_world(self, watched, effects, world), tensors)
    return result


def _apart(inputs: list[Tensor]) -> list[tuple[Tensor, np.ndarray]]:
    """Copy the arrays of Tensors that lie in the memory of earlier ones, so that it is clear which of them an op reads.
    Returns these Tensors, with the arrays that they had."""
    found = [(t, t._data) for i, t in enumerate(inputs) if any([
        u is not t and memory(u._data) is memory(t._data) for u in inputs[:i]])]
    for t, array in found:
        t._data = np.array(array)
    return found


def _world(self: capture, watched: tuple, effects: Set[int] = frozenset(), before: World | None = None) -> World:
    """All that the code that ran may read; and which gradients existed `before` the call, where that is known."""
    return World(self.function, (*watched[0], *watched[1].values()), self.trace, self.places, effects, before)


def _made(self: capture, kind: Kind, tape: Tape, before: Saved, result: Any, inputs: list[Tensor],
          watched: tuple) -> Any:
    world = kind.world
    assert world is not None
    both = result, [place.get() for place in world.bound]
    try:
        kept = containers_in(both)
        if len(kept) > len({*kept} - world.ids - {*containers_in(watched)}):
            raise Refused("it returns or keeps a list, a dict or an object that was there before, or one of them twice"
                          "; return a copy")
        kind.program = proved(
            lambda fuse: Program(tape, inputs, both, fuse, world.tensors),
            lambda program: program.differs(before, both, inputs), self.fuse)
    except Refused as error:
        return self.stop(kind, str(error), result)
    kind.program.names = [place.name for place in world.bound]
    kind.tape, kind.first = tape if tape.grounds else None, False
    return result


def audit(self: capture, kind: Kind, program: Program, inputs: list[Tensor], args: tuple, options: dict) -> Any:
    """Call the function, and check that its program would have done the same."""
    world = kind.world
    assert world is not None
    before = Saved(program.tape, inputs)
    program.release()
    result = self.function(*args, **options)
    try:
        wrong, _ = world.changed({id(d) for d in program.tape.counted()})
        wrong = wrong or plain_in(result) != plain_in(program.result[0]) and "what it returns" or ""
        both = result, [place.get() for place in world.bound]
        wrong = wrong or program.differs(before, both, inputs)
    except Refused as error:
        wrong = str(error)
    if wrong and not (self.fuse and wrong == ROUNDING):
        kind.program, kind.stopped = None, True
        self.warn(f"replayed, it gives other numbers, first in {wrong}")
    return result


def _marks(t: Tensor) -> dict[str, Any]:
    """The attributes set on a Tensor, besides its array and its gradient."""
    marks = {key: value for key, value in vars(t).items() if key not in FIELDS}
    return {"data": t._data, "requires_grad": t.requires_grad, "a graph": t.node, "a hook": t._hooks, **marks}

