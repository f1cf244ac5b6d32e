"""A call of a captured function, recorded or audited."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import zip_longest
from traceback import walk_tb
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.graph import setting, tick
from ..core.tensor import Tensor
from ..dtypes import memory
from .instructions import Refused
from .program import ROUNDING, Program
from .pytree import FIELDS, containers_in, parts_within, plain_in, tensors_in, tensors_of
from .recorder import INPUT, MADE, Tape
from .trace import USERS, owner_of
from .world import World

if TYPE_CHECKING:
    from .capture import Kind, capture

_TRIES = 4  # recordings of one kind of call, at most, until two are alike


def record(self: capture, kind: Kind, found: list[Any], args: tuple, options: dict) -> Any:
    """Call the function, and record its steps; if they are those of the call before, make a program of them."""
    known, watched = set(self.trace.ran), (args, options)
    parts = parts_within(watched)
    tensors = tensors_of(found)
    if kind.world is None and known:
        kind.world = World(self, parts)
    world, kind.first, self.trace.unknown = kind.world, kind.world is None, ""
    inputs = tensors if world is None else kind.watch(world, found)
    given = [(t, _marks(t)) for t in tensors]
    outside = {id(t): t for t in [*(world.tensors if world else ()), *inputs]}
    with _apart(kind, inputs) as arrays, Tape(arrays, kind.tape, outside.values()) as tape, self.trace.on():
        result = self.function(*args, **options)
        try:
            tape.end_with(tensors_in(result))
        except RecursionError:
            tape.end("its result is nested too deeply, or holds itself", "return its Tensors")
    wrote = [*[step.uses()[1] for step in tape.steps], [id(memory(t._data)) for t in tensors_in(result)]]
    kind.wrote = not all(map(tape.input_of.keys().isdisjoint, wrote))
    seen = {id(memory(t._data)) for t in outside.values()}
    tape.leaves = {key: t for key, t in tape.leaves.items() if key in outside or not (
        id(memory(t._data)) in seen or tape.origins.kind(t._data) in (INPUT, MADE))}
    tape.gradients = {key: (id(grad), tape.origins.noted(grad._data)) for key, t in tape.leaves.items()
                      if (grad := t._grad) is not None}
    kind.tries, effects = kind.tries + 1, {id(d) for d in tape.counted()}
    try:
        if why := tape.trouble or self.trace.unknown or _marked(given, parts, parts_within(watched), result):
            raise Refused(why)
        what, places = world.changed(effects, tape.state) if world is not None else ("", [])
        self.places |= {(id(place.where), place.key): place for place in places}
        if what in self.changed or what and kind.tries > _TRIES:  # as each last entry of a list
            self.give_up(f"it changes {what}; make that a Tensor, or change it outside and pass it")
            return result
        self.changed |= {what} - {""}
        if not what and world is not None and world.unknown:
            raise Refused(world.unknown)
        lists = [o.optimizer.param_groups for o in tape.effects.values() if hasattr(o, "optimizer")]
        groups = {id(g) for groups in lists for g in (groups, *groups)}
        for entry in world.entries if groups and world is not None else ():
            named = entry.key not in {"params"} and (world.options or entry.key in world.pairs.get("", ()))  # type: ignore
            of = entry.value.__self__ if isinstance(entry.value, type({}.get)) else entry.value  # type: ignore
            if named and id(entry.where) in groups or id(of) in groups and "param_groups" not in entry.name:
                raise Refused(f"it reads {entry.name}, which a schedule changes in the same call; read it outside")
        whole = world is not None and self.trace.ran.keys() == known and not (what or places)
        if whole and kind.tape is not None and not tape.different:
            _make(self, kind, tape, result, inputs, {*map(id, found)})
            return result
        if kind.tries >= _TRIES and (tape.different or places):
            raise Refused(tape.different or f"it sets {places[0].name} to a Tensor held elsewhere too; clone() it")
    except Refused as error:
        self.give_up(str(error), kind)
        return result
    tape.release()
    kind.tape = tape
    if not whole:
        kind.watch(World(self, parts, effects, world), found)
    return result


def _marked(given: list[tuple[Tensor, dict]], parts: list[Any], now: list[Any], result: Any) -> str:
    """What the function has done to its arguments or its result that no program would do."""
    for t, marks in given:
        for name, value in _marks(t).items():
            if marks.get(name) is not value:
                return f"it sets {name} of an argument"
    if any([a is not b and (type(a) is not int or a != b) for a, b in zip_longest(parts, now)]):
        return "it changes an argument that is a list, a dict or a dataclass; return what is new"
    return next((f"it sets {name} of its result" for t in tensors_in(result) for name in vars(t) if name not in FIELDS),
                "")


def _make(self: capture, kind: Kind, tape: Tape, result: Any, inputs: list[Tensor], given: set[int]) -> None:
    world = kind.world
    assert world is not None
    both = result, [place.get() for place in world.bound]
    kept = containers_in(both, given)
    if len(kept) > len({*kept} - world.known - given):
        raise Refused("it returns or stores a list, dict or object that existed before, or one twice; return a copy")
    inner = {str(x) for code in self.trace.inner for x in (*code.co_names, *code.co_freevars, *code.co_consts)}
    counted = {id(d) for d in tape.counted()}
    for place in [*world.bound, *[place for place, _ in world.left]]:
        if id(place.where) in counted or not inner.isdisjoint(re.findall(r"\w+", place.name)):
            raise Refused(f"it sets {place.name}, which an optimizer or code inside an op may read; set it outside")
    kind.make = partial(Program, tape, inputs, [t.requires_grad for t in inputs], both, world)
    kind.program, kind.fused = kind.make(self.fuse), None
    if world.names.isdisjoint(("grad", "_grad")):
        world.drop_gradients(tape.leaves.keys() - tape.accumulated.keys())
    kind.tape, kind.first = tape if tape.grounds else None, False


def audit(self: capture, kind: Kind, inputs: list[Tensor], args: tuple, options: dict) -> Any:
    """Call the function, and compare what it does with the tape, and what comes of it with a replay. Python's result
    stands; a program that would do something else goes. Once proven, small ones are only replayed, in less time than a
    tape takes, unless the clock ticked more or less often in the last audit; large ones are compared by tape."""
    world, program = kind.world, kind.program
    assert world is not None and program is not None
    tape = program.tape
    alone, start = kind.make is None and program.small and kind.ticks > 0, tick()  # alone: without a tape
    before = program.before(given := program.given(inputs)) if alone or kind.make is not None else None
    with setting("eager", alone), _apart(kind, [] if alone else inputs) as arrays, nullcontext() if alone else Tape(
            arrays, tape, [*world.tensors, *inputs], [program.make_room]) as now:
        try:
            result = self.function(*args, **options)
        except Exception as error:
            *_, (frame, _) = walk_tb(error.__traceback__)
            if not (now.failed if now else error.__context__ or owner_of(
                    frame.f_globals, frame.f_code.co_filename) != USERS):  # else a replay stops there, too
                self.give_up(f"it raised {type(error).__name__}, and a replay would not have", kind)
            raise
        ticks = tick() - start
        if now:
            now.end_with(tensors_in(result))
    program.audited = before is None
    if now and now.failed:  # such an error stops a replay, so that Python runs the call
        return result
    left, returned, different = world.left, (result, [place.get() for place in world.bound]), now and now.different
    wrong, _ = world.changed({id(d) for d in tape.counted()})
    if [x for _, x in left] != [x for _, x in world.left] or program.plain != plain_in(
            [returned, [t.requires_grad for t in inputs]]):
        wrong = wrong or "what it returns, or a flag that it sets"
    if before is not None and not different:
        known, wrong = wrong, program.differs(before, returned, given, wrong)
        if alone and kind.fused and not known:  # it may decide all, as in Adam's step where a gradient should be 0
            ticks, wrong = ticks * (wrong in ("", ROUNDING)), ""
    if alone and ticks != kind.ticks:
        kind.replays, ticks = 2 * kind.replays - 1, 0  # the next call has a tape
    kind.ticks = ticks
    if different or wrong and wrong != ROUNDING and not (kind.make and program.fuse):
        self.give_up(f"a replay gave other numbers, first in {wrong}; it does something that is not recorded, such as "
                     "NumPy on a Tensor's data, or setting an option" if wrong else
                     f"replays missed a change: {different}", kind)
    elif kind.make is not None and not wrong:
        kind.program, kind.make = kind.fused or program, None
        tape.release()
    elif kind.make is not None and program.fuse:
        kind.fused, kind.program = program if wrong == ROUNDING else None, None
        with suppress(Refused):
            kind.program = kind.make(False)
    return result


@contextmanager
def _apart(kind: Kind, inputs: list[Tensor]) -> Iterator[list[np.ndarray]]:
    """The arrays of inputs. Copies of those on others' memory tell which of them an op reads."""
    of = Counter([id(memory(t._data)) for t in (*inputs, *(kind.world.tensors if kind.world else ()))])
    shared = [(t, t._data) for t in inputs if of[id(memory(t._data))] > 1 and kind.tries and not kind.wrote]
    for t, array in shared:
        t._data = np.array(array)
    try:
        yield [t._data for t in inputs]
    finally:
        for t, array in shared:
            t._data = array


def _marks(t: Tensor) -> dict[str, Any]:
    """The attributes set on a Tensor, besides its array and its gradient."""
    marks = {key: value for key, value in vars(t).items() if key not in FIELDS}
    return {"data": t._data, "a graph": t.node, "a hook": t._hooks, **marks}

