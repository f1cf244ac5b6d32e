"""A program: a tape made ready to be replayed; see `capture.py`."""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import groupby
from sys import getrefcount
from typing import Any

import numpy as np

from ..core.graph import tick
from ..core.tensor import Tensor, wrap
from ..dtypes import memory
from ..environment import without_interrupts
from ..kernels.loops import Loop, addresses
from ..kernels.memory import give_back
from ..kernels.program import Call, run_records
from ..kernels.views import address
from .fuse import joined, lowered
from .guards import Guards
from .instructions import Refused, Step
from .plan import in_bytes, placed, shown
from .pytree import FIELDS, alive, plain_in, rebuilt, tensors_in
from .recorder import LASTING, MADE, UNKNOWN, Tape
from .snapshots import OTHER, ROUNDED, SAME, Saved, apart

ROUNDING = "the last bits"
_SAFE = _DRAW, _NUMBERS = "draw", "numbers of an optimizer"  # steps in Python that raise no error


class Program:
    """The steps of a tape on their own memory, with inputs and results; calling it with Tensors replays them.
    inputs: Tensors that change from call to call. flags: their requires_grad after it. result: what it returned, and
    bound to places. world: what was there, returned as it is. fuse: whether kernels may replace NumPy."""

    def __init__(self, tape: Tape, inputs: Sequence[Tensor], flags: list[bool], result: Any, world: Guards, fuse: bool):
        self.tape, self.fuse, self.world, outside = tape, fuse, world, world.tensors
        self.source: dict[int, tuple[str, Any]] = {id(t): ("outside", t) for t in outside}
        input_of = {id(x): i for i, x in reversed([*enumerate(inputs)])}
        self.source |= {i: ("gradient", input_of.get(key, tape.leaves[key])) for key, (i, _) in tape.gradients.items()}
        self.source |= {key: ("input", i) for key, i in input_of.items()}
        there = {id(memory(t._data)) for t in outside}
        lasting = {*tape.input_of, *there, *[id(memory(x)) for _, x in tape.gradients.values()]}
        for t in tensors_in(result):
            if id(t) not in self.source and t.requires_grad and t.node is not None and alive(t.node):
                raise Refused("its result has a graph, on which backward could be called outside; return its "
                              "detach(), capture the whole step, or wrap it in no_grad")
            if id(t) not in self.source and id(memory(tape.origins.noted(t._data))) in lasting:
                raise Refused("it returns or stores a view of a Tensor from outside, or of a gradient; clone() it")
            if id(t) not in self.source and (t._grad is not None or t._hooks or type(t) is not Tensor):
                raise Refused("its result has a gradient or hooks, or is of a subclass of Tensor; return its detach()")
        changed = {key for step in tape.steps for key in step.uses()[1]}
        self.added = {key: leaf for key, (leaf, _) in tape.accumulated.items()}  # whose gradients it reads or adds to
        given = [*tape.inputs, *[grad._data for _, grad in tape.accumulated.values()]]
        self.changed = [i for i, x in enumerate(given) if id(memory(x)) in changed]
        self.places = len({id(memory(x)) for x in given})  # leaves may share a gradient
        # The memory that it uses besides its own and that of arguments, and what it writes there.
        used = {key: m for step in tape.steps for part in step.uses() for key, m in part.items()}
        self.outer = {*there, *world.tables, *[key for key, m in used.items() if tape.origins.kind(m) == LASTING]}
        self.written = changed & self.outer
        self.touched = {id(t): t for t in (*outside, *tape.leaves.values()) if id(memory(t._data)) in changed}.values()
        if not self.added.keys().isdisjoint(input_of):
            raise Refused("it adds to the gradient of an argument; set that to None before")
        lent = {key for key, (_, t) in tape.lent.items() if id(t) in tape.leaves.keys() - input_of.keys()}
        if not (there.isdisjoint(map(id, map(memory, given))) and lent.isdisjoint(tape.input_of)):
            raise Refused("an argument, or a gradient that it adds to, is on memory held elsewhere too; clone() it")
        kept = dict.fromkeys([id(memory(tape.origins.noted(t._data))) for t in tensors_in(result)], False)
        kept |= {id(memory(x)): key not in tape.dropped for key, (_, x) in tape.gradients.items()}
        steps = self._planned(given, kept)
        self.inputs = [*map(self.moved, given)]
        self.blocks = Counter([id(memory(t._data)) for t in {id(t): t for t in tensors_in(result)}.values()])
        self.instead: dict[int, Any] = {}  # Tensors of the result, and memory of several, by what they stand for
        self.result = rebuilt(result, self._standin)
        self.plain, self.ends = plain_in([self.result, flags]), tensors_in(self.result)
        del self.instead, self.blocks
        self._plan_gradients(input_of, {id(t) for t in outside})
        self.arrays = [self.grads[j][1]._data for j in self.owned]
        self.arrays += [memory(x) for x in self.arrays]
        runs = groupby(steps, lambda step: step.call is None)
        self.parts = [part for python, run in runs for part in (run if python else [Calls(run)])]
        del self.moved, self.source  # they would keep the recording's results alive
        self.views = sum(map(getrefcount, self.arrays))  # its own references to them
        self.flags, self.audited = flags, False  # audited: whether gradients may be Python's
        self.small = self.arena.nbytes + sum([m.nbytes for m in tape.state.values()]) < 2**21  # bytes

    def _plan_gradients(self, input_of: dict[int, int], known: set[int]) -> None:
        """Note whose gradients it sets, and where they lie. input_of, known: inputs and Tensors from outside, by id."""
        # Leaves, gradients, and the numbers of inputs that are the gradient or the leaf.
        self.grads: list[tuple[Tensor, Any, int | None, int | None]] = []
        self.owned: list[int] = []  # indices of gradients on memory of the program
        tape, added = self.tape, {id(grad) for _, grad in self.tape.accumulated.values()}
        for key, leaf in tape.leaves.items():
            at, x = tape.gradients.get(key, (0, None))  # of the recorded call; there may be others since then
            grad: Any = leaf._grad if at else None
            if grad is not None and (grad.requires_grad or grad.node is not None or vars(grad).keys() - FIELDS):
                raise Refused("its gradients have a graph or attributes; detach() them")
            if at in added:
                if id(tape.accumulated.get(key, (None, None))[1]) != at:
                    raise Refused("it gives a Tensor the gradient of another one; clone() it")
                continue
            kind, of = self.source.get(at, ("", None))
            if kind == "gradient" and at not in known:
                if of is not input_of.get(key, leaf):
                    raise Refused("it gives a Tensor the gradient of another one; clone() it")
                self.owned.append(len(self.grads))
                grad = wrap(self.moved(x))
            self.grads.append((leaf, grad, of if kind == "input" else None, input_of.get(key)))

    def _standin(self, t: Tensor) -> Tensor:
        """A Tensor on memory of the program, in place of one of the result."""
        if (made := self.instead.get(id(t))) is not None:
            return made
        kind, of = self.source.get(id(t), ("made", None))
        made = wrap(np.empty(0, np.uint8))
        if kind == "made":
            m = memory(t._data)
            if (block := self.instead.get(id(m))) is None:
                moved = self.moved(m)
                block = self.instead[id(m)] = in_bytes(m).copy() if moved is m else in_bytes(moved)
            made = wrap(shown(t._data, block, address(m)))  # a copy of it alone would close gaps, and round otherwise
            of = block if self.blocks[id(m)] > 1 or not made._data.flags.forc else None
        made.requires_grad, made.node = t.requires_grad, t.node  # the node is freed
        self.standins[id(made)], self.instead[id(t)] = (kind, of), made
        return made

    def _planned(self, given: Sequence[np.ndarray], kept: dict[int, bool]) -> list[Step]:
        """The steps as compiled code, with fewer passes over memory, and in one arena. given: arrays that may be others
        in each call. kept: memory that outlasts it, and whether until it is written again."""
        tape = self.tape
        # For each Tensor of the result: its kind; and its source, or the memory that it shares with others.
        self.standins: dict[int, tuple[str, Any]] = {}
        with np.errstate(all="ignore"):  # ops run again to record their kernels, on whatever their memory holds by now
            steps = _sorted(lowered(tape, self.fuse))
        read, written = [{key: m for step in steps for key, m in step.uses()[i].items()} for i in (0, 1)]
        own = {key for key, m in written.items() if tape.origins.kind(m) in (UNKNOWN, MADE)}
        used = read.keys() | written.keys()
        pinned = used - own | tape.input_of.keys()
        self.needed = [i for i, x in enumerate(given) if id(memory(x)) in used]
        steps = joined(steps, pinned | kept.keys(), self.fuse)
        # The number of steps until none may fail: of Python functions, and of checks.
        self.risky = max([i for i, step in enumerate(steps, 1) if step.function and step.name not in _SAFE], default=0)
        before = [step for step in steps[:self.risky] if step.name != _NUMBERS]
        changed = {key for step in before for key in step.uses()[1]}
        self.undone = [m for key, m in tape.state.items() if key in changed]
        effects = [step for step in before if id(getattr(step.function, "__self__", None)) in tape.effects]
        self.holders = tape.counted() if effects else []
        steps, self.arena, moved = placed(steps, pinned, kept, given)
        self.moved = lambda x: moved(tape.origins.noted(x))
        return steps

    # Replaying it ---------------------------------------------------------------------------------------------------

    def given(self, tensors: Sequence[Tensor]) -> Sequence[Any]:
        """The Tensors of a call, and the gradients that it reads or adds to."""
        return [*tensors, *[leaf.grad for leaf in self.added.values()]] if self.added else tensors

    def suits(self, tensors: Sequence[Tensor]) -> bool:
        """Whether it may be replayed: no Tensor is on memory that it changes, none that changes is on other memory that
        it uses, gradients that it reads have the recorded layout, and no view of the last call's gradients is kept."""
        given, n = self.given(tensors), len(tensors)
        places = [id(memory(t._data)) for t in given] if self.written or self.changed else []
        return self.written.isdisjoint(places) and self.outer.isdisjoint([places[k] for k in self.changed]) and (
            not self.changed or len({*places}) == self.places) and (
            not self.added or [(t._data.strides, t._data.flags.writeable) for t in given[n:]] == [
                (x.strides, True) for x in self.inputs[n:]]) and sum(map(getrefcount, self.arrays)) <= self.views

    def __call__(self, tensors: Sequence[Tensor]) -> Any:
        """The function's result; NotImplemented if an error stopped it and all is as it was before, so that Python may
        run the call. Tensors of the result and in places are copies; those from outside are found themselves."""
        given, now = self.given(tensors), tick()
        for t in self.touched:
            if (cell := t.version) is None or cell.split:
                t.shared_version().change(now)
            else:  # without a call, which takes longer
                cell[0] = now
        self._keep_gradients()
        if self.audited:
            self.drop_gradients()
        undo = Saved(self.undone, self.holders) if self.undone or self.holders else None
        try:
            self.replay(given)
        except BaseException as error:
            if self._done() >= self.risky:
                raise
            if undo is not None:
                undo.restore()
            for leaf, *_ in self.grads:
                if id(leaf) in self.tape.dropped:  # other data is there
                    leaf._grad = None
            if not isinstance(error, Exception):
                raise
            return NotImplemented
        for k in self.changed:
            given[k]._data[...] = self.inputs[k]
            given[k].touch()
        if [t.requires_grad for t in tensors] != self.flags:
            for t, flag in zip(tensors, self.flags, strict=True):
                t.requires_grad = flag
        self._give_gradients(tensors)
        copy = partial(self._copy, tensors, {})  # a function inside that calls itself would keep them alive
        (returned, bound), left = self.result, self.world.left
        returned, bound = rebuilt(returned, copy), bound and [rebuilt(value, copy) for value in bound]
        for place, value in [*zip(self.world.bound, bound, strict=True), *left] if bound else left:
            place.put(value)
        return returned

    def _keep_gradients(self) -> None:
        """Preserve the values of gradients from the last call that are still in use."""
        for j, x in zip(self.owned, self.arrays, strict=False):
            leaf, grad, i, k = self.grads[j]
            if getrefcount(grad) > 3 + (leaf._grad is grad) or grad._data is not x or len(vars(grad)) > 1 and (
                    vars(grad).keys() - {"_data", "version"}):  # or it has been made another one
                self.grads[j] = leaf, wrap(x), i, k
                grad._data = x.copy() if grad._data is x else grad._data

    def _give_gradients(self, tensors: Sequence[Tensor]) -> None:
        for leaf, grad, i, k in self.grads:
            if k is not None:
                tensors[k].grad = None if grad is None else wrap(grad._data.copy())
            elif i is not None:
                leaf._grad = tensors[i]
            else:  # the next call may read it before it sets another one
                read = grad is not None and id(leaf) in self.added
                leaf._grad = wrap(grad._data.copy()) if read else grad

    def _copy(self, tensors: Sequence[Tensor], made: dict[int, Any], t: Tensor) -> Tensor:
        kind, of = self.standins[id(t)]
        if kind != "made":
            found: Any = tensors[of] if type(of) is int else of
            return found.grad if kind == "gradient" else found
        if (new := made.get(id(t))) is None:
            x = t._data
            if of is None:
                new = wrap(np.array(x))
            else:
                if (block := made.get(id(of))) is None:
                    block = made[id(of)] = of.copy()
                new = wrap(shown(x, block, address(of)))
            made[id(t)] = new
            if t.requires_grad:
                new.requires_grad, new.node = True, t.node
        return new

    def replay(self, given: Sequence[Any]) -> None:
        for k in self.needed:
            self.inputs[k][...] = given[k]._data
        for part in self.parts:
            self.part = part
            part.run()

    def _done(self) -> int:
        """The number of steps that a replay had done when an error stopped it."""
        before = [len(getattr(part, "steps", [part])) for part in self.parts[:self.parts.index(self.part)]]
        return sum(before) + getattr(self.part, "done", 0)

    # Auditing it ----------------------------------------------------------------------------------------------------

    @without_interrupts()
    def make_room(self) -> None:
        """Return the pages of the program's large memory to the system until the next replay, and gradients on it to
        Python."""
        self._keep_gradients()
        held = [self.grads[j][:2] for j in self.owned if self.grads[j][0]._grad is self.grads[j][1]]
        kept = Saved([grad._data for _, grad in held])
        if isinstance(pages := getattr(memory(self.arena).base, "obj", None), mmap.mmap):
            pages.madvise(mmap.MADV_DONTNEED)
        for i, (leaf, grad) in enumerate(held):
            leaf._grad = wrap(np.empty_like(grad._data))
            kept.arrays[i] = leaf._grad._data
        kept.restore()

    def drop_gradients(self) -> None:
        """Drop Python's gradients, of an audit, that the function drops first: the program's take their room."""
        for leaf, _, _, k in [self.grads[j] for j in self.owned]:
            if k is None and id(leaf) in self.tape.dropped:
                leaf._grad = None
        give_back(self.arena.nbytes)
        self.audited = False

    def before(self, given: Sequence[Any]) -> Saved:
        """A copy of all that a call may change."""
        return Saved([*self.tape.state.values(), *[given[k]._data for k in self.changed]], self.tape.counted())

    @without_interrupts()  # between the two states there is neither
    def differs(self, before: Saved, result: Any, given: Sequence[Any], wrong: str) -> str:
        """Replay the call that Python has just run, from the state before it, and keep Python's. Returns the first
        difference, `wrong` if known, or ""; ROUNDING if fused steps explain it, or if an error stopped the replay."""
        self._keep_gradients()
        # Gradients that the next call does not read: Python's may lie in memory of the program, too.
        shared = [j for j in self.owned if self.grads[j][3] is None and (leaf := self.grads[j][0])._grad is not None
                  and id(leaf) not in self.added]
        moving: list[Any] = [self.grads[j][0]._grad for j in shared]
        count = len(before.arrays)
        after = Saved([*before.arrays, *[t._data for t in moving]], [holder for holder, _ in before.numbers])
        for t, j in zip(moving, shared, strict=True):  # Python's gradients move to memory of the program
            leaf, grad, i, k = self.grads[j]
            t._data, self.grads[j] = grad._data, (leaf, t, i, k)
        after.arrays[count:] = moved = [t._data for t in moving]
        give_back(self.arena.nbytes)  # memory that Python has freed makes room for the program
        if self.tape.steps:  # it is new: whatever reads memory before a step writes it gets NaN or -1
            in_bytes(self.arena)[...] = 255
        before.restore()
        stopped = False
        try:
            self.replay(given)
        except Exception as error:
            wrong = wrong or str(error) or repr(error)
            stopped = not isinstance(error, Refused) and self._done() < self.risky
        wrong = wrong or after.other_number()
        mine = [*before.arrays[:count - len(self.changed)], *[self.inputs[k] for k in self.changed], *moved]
        found = after.compared(mine)
        ends = zip(self.ends, tensors_in(result), strict=False)
        pairs: list[Any] = [("result", a._data, b) for a, b in ends if self.standins[id(a)][0] == "made"]
        pairs += [("gradient", grad._data, (leaf if k is None else given[k]).grad) for j, (leaf, grad, i, k) in
                  enumerate(self.grads) if grad is not None and i is None and j not in shared]
        found += [(OTHER if t is None else apart(x, t._data), f"a {what} of shape {x.shape}") for what, x, t in pairs]
        wrong = wrong or next((what for how, what in found if how > (ROUNDED if self.fuse else SAME)), "")
        return ROUNDING if stopped or not wrong and any([how > SAME for how, _ in found]) else wrong

    def described(self) -> str:
        """A program's parts: calls, memory, and steps that stayed Python."""
        steps = [step for part in self.parts for step in getattr(part, "steps", [part])]
        by = ["Python" if s.call is None else "loop" if isinstance(s.call, Loop) else s.call.kernel.name for s in steps]
        loops, python = by.count("loop"), by.count("Python")
        kinds = ", ".join([f"{x.dtype} {x.shape}" for x in self.inputs])
        lines = [f"({kinds}), {len(steps) - loops - python} calls of kernels, {loops} loops, {python} steps in Python; "
                 f"{self.arena.nbytes / 1e3:,.1f} kB of memory"]
        for i, step in enumerate(steps):
            written = ", ".join([f"{x.dtype} {x.shape}" for x in step.writes()[:2]])
            why = f"   no compiled code does this; called at {step.line}" if step.call is None and step.line else ""
            lines.append(f"{i:5} {by[i]:24} {step.name:40} -> {written}{why}")
        return "\n".join(lines)


def _sorted(steps: Iterable[Step]) -> list[Step]:
    """Steps in Python before kernel calls, which then run without a stop: draws, as they read only generators' states,
    and the numbers of an optimizer that no earlier step changes. None is moved across an effect, which may change what
    it reads."""
    early, late, changed, effects = list[Step](), list[Step](), set[int](), False
    for step in steps:
        read, written = step.uses()
        if not effects and (step.name == _DRAW or step.name == _NUMBERS and changed.isdisjoint({*read, *written})):
            early.append(step)
        else:
            late.append(step)
            changed.update(read, written)
            effects = effects or not (step.call or step.outputs)
    return early + late


class Calls:
    """Consecutive calls of kernels: one row of records, for one call of compiled code."""

    def __init__(self, steps: Iterable[Step]):
        self.steps = [*steps]
        calls = [step.call for step in self.steps]
        found = [call for call in calls if isinstance(call, Loop)]
        with without_interrupts():  # after Ctrl-C inside LLVM's compiler, the next compilation ends the process
            codes = iter(addresses(found) if found else [])
        records = [call.packed() if isinstance(call, Call) else call.record(next(codes)) for call in calls]
        self.offsets = np.cumsum([0, *map(len, records)]).tolist()
        self.records = np.frombuffer(b"".join(records), np.uint8).copy()
        self.address = self.records.ctypes.data

    def run(self) -> None:
        self.done = run_records(self.address, self.offsets)
        if self.done != len(self.steps):
            step = self.steps[self.done]
            if step.function is not None:
                step.function(*step.arguments)  # which raises
            raise step.call.misfit()
