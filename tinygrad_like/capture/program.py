"""A program: a tape made ready to be played; see `capture.py`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..core.graph import setting
from ..core.tensor import Tensor, wrap
from ..dtypes import memory
from ..environment import without_interrupts
from ..kernels.epilogue import WithEpilogue
from ..kernels.loops import Loop, addresses
from ..kernels.memory import give_back
from ..kernels.program import Call, play_records
from ..ops import collective
from ..transforms.picture import Box
from .epilogues import with_epilogues
from .graph_boundary import end_of_result
from .instructions import Refused, Step
from .lower import lowered
from .plan import in_bytes, joined, placed, without_copies
from .pytree import alive, closed, overlap, structure, tensors_in
from .recorder import Tape
from .scattered_zeros import without_zeros
from .snapshots import Again, Copies, Saved, differ

PLAIN, EXACT, FUSED = range(3)  # as noted; as compiled code with the same bits; with other kernels for small arrays
ROUNDING = "the last bits"


class Program:
    """The steps of a tape, its inputs and what it gives; called with Tensors, it plays them on their values."""

    def __init__(self, tape: Tape, inputs: list[Tensor], result: Any, level: int,
                 outside: Sequence[Tensor] = (), graphs: bool = True):
        self.tape, self.level = tape, level
        self.inputs = [x._data for x in inputs]
        self.input_of = {id(x): i for i, x in enumerate(inputs)}
        self.result = result  # what it returns, and what it binds places to
        self.outputs = tensors_in(result)
        self.arena, self.bytes = np.empty(0, np.uint8), 0
        self.names: list[str] = []  # of places that it binds, or whose numbers it follows
        self.rejected: list[str] = []  # what faster code gave other numbers in, when that was proved
        self.ended: list[Tensor] = []  # results whose graphs are for nobody
        self.boxes: list[Box] = []
        self.arrows: list[tuple[int, int]] = []
        if isinstance(result[0], Iterator | Awaitable | AsyncIterator):
            raise Refused("it returns an iterator or a coroutine, which runs on after it was called; return a list")
        for holder, t in closed(result):
            if id(memory(t._data)) in tape.made:
                raise Refused(f"it returns a {type(holder).__name__}, whose Tensors would be those of an earlier call; "
                              "return them alone, or in tuples, lists, dicts or dataclasses")
        memories = {id(memory(t._data)) for t in outside}
        self.kept = {id(t) for t in self.outputs if t.node is None and id(memory(t._data)) in memories}
        for t in self.outputs:
            if id(t) in self.kept or id(t) in self.input_of:  # that were there before
                continue
            if t.requires_grad and t.node is not None and alive(t.node):
                self.ended.append(t)
                if not graphs:
                    continue
                raise Refused("its result stands on a graph, for which backward may be called outside; return its "
                              "detach(), capture the whole step, or wrap it in no_grad")
            if t.grad is not None:
                raise Refused("its result has a gradient; return that as well")
            if id(memory(t._data)) not in tape.known:
                raise Refused(f"it returns a Tensor of shape {t.shape} that no op has made")
        lasting = [*tensors_in(result[1]), *[t for t in self.outputs if t.requires_grad and t.node is None]]
        self.lasting = [t for t in lasting if id(t) not in self.kept and id(t) not in self.input_of]
        changed = {key for step in tape.steps for key in step.uses()[1]}
        self.changed = [i for i, x in enumerate(self.inputs) if id(memory(x)) in changed]
        self.written = changed & memories  # of Tensors from outside
        leaves = list(tape.leaves.values())
        self.touched = [t for t in {id(t): t for t in (*outside, *leaves)}.values() if id(memory(t._data)) in changed]
        self.grads = [(leaf, leaf.grad) for leaf in leaves]
        self.of_inputs = [(leaf.grad, self.input_of[id(leaf)]) for leaf in leaves if id(leaf) in self.input_of]
        self.parts = self._packed(self._planned())

    def _planned(self) -> list[Step]:
        """The steps as compiled code, in fewer passes over memory, and their memory in one arena."""
        steps = self.tape.steps
        if self.level != PLAIN:
            # Ops are run again to note their kernels, on whatever memory holds by now.
            with np.errstate(all="ignore"):
                steps = lowered(self.tape, kernels=self.level == FUSED)
        read, written = [{key: m for step in steps for key, m in step.uses()[i].items()} for i in (0, 1)]
        made = written.keys() - self.tape.known.keys() | self.tape.made.keys()
        pinned = (read.keys() | written.keys()) - made
        seen = [*self.outputs, *[grad for _, grad in self.grads if grad is not None]]
        seen += [grad for _, grad in self.tape.accumulated.values()]
        pinned |= {id(memory(t._data)) for t in seen}
        self.needed = [i for i, x in enumerate(self.inputs) if id(memory(x)) in pinned]
        for step in steps:
            if step.call is None:
                pinned.update(*step.uses())
        self.bytes = sum(m.nbytes for key, m in written.items() if key not in pinned)
        if self.level != PLAIN:
            steps = without_copies(without_zeros(steps), pinned)
            steps = with_epilogues(joined(steps, pinned), pinned)
        self.boxes, self.arrows = pictured(steps, self.inputs)
        steps, self.arena = placed(steps, pinned)
        used = {key for step in steps for keys in step.uses() for key in keys}
        self.outside_arena = [m for key, m in self.tape.made.items() if key in used or key in pinned]
        return steps

    def _packed(self, steps: list[Step]) -> list[Any]:
        """Runs of kernel calls as one row of records each, and what Python does between them."""
        parts: list[Any] = []
        for step in sorted(steps, key=lambda step: step.name != "draw"):  # which reads nothing but generators' states
            if not isinstance(step.call, Call | Loop | WithEpilogue):
                parts.append(step)
            elif parts and type(parts[-1]) is Calls:
                parts[-1].add(step)
            else:
                parts.append(Calls(step))
        for part in parts:
            if type(part) is Calls:
                part.close()
        return parts

    def writes_to(self, tensors: list[Tensor]) -> bool:
        """Whether one of some Tensors lies in memory from outside that a call changes, so that a copy would not do."""
        for t in tensors:
            x = t._data
            if id(x if x.base is None else memory(x)) in self.written:
                return True
        return False

    # Playing it -----------------------------------------------------------------------------------------------------

    def __call__(self, tensors: list[Tensor]) -> Any:
        if self.changed and overlap(tensors):
            raise Refused("capture: two arguments lie in the same memory, of which one is changed; pass a clone()")
        for k in self.needed:
            self.inputs[k][...] = tensors[k]._data
        for leaf, grad in self.tape.accumulated.values():
            i = self.input_of.get(id(leaf))
            now = leaf.grad if i is None else tensors[i].grad
            if now is not None and now is not grad:
                grad._data[...] = now._data
        for leaf, grad in self.grads:
            if leaf.grad is not grad:
                leaf.grad = grad
        for t in self.touched:
            t.touch()
        self.play()
        for k in self.changed:
            tensors[k]._data[...] = self.inputs[k]
            tensors[k].touch()
        return self.copied(tensors)

    def copied(self, tensors: list[Tensor]) -> Any:
        """What the function returns, and what it binds places to, in memory of its own; but what it was given, or found
        outside, is the same."""
        made: dict[int, Tensor] = {}
        for grad, i in self.of_inputs:
            tensors[i].grad = None if grad is None else wrap(grad._data.copy())

        def copy(t: Tensor) -> Tensor:
            place = self.input_of.get(id(t))
            if place is not None or id(t) in self.kept:
                return t if place is None else tensors[place]
            if id(t) not in made:
                made[id(t)] = wrap(np.array(t._data))
            return made[id(t)]

        returned, bound = self.result
        result = structure(returned, replace=copy), structure(bound, replace=copy) if bound else bound
        for t in self.lasting:
            made[id(t)].node, made[id(t)].requires_grad = t.node, t.requires_grad
        for t in self.ended:
            made[id(t)].node, made[id(t)].requires_grad = end_of_result(t), True
        return result

    def play(self) -> None:
        for draw in self.tape.draws:
            draw()
        for part in self.parts:
            part.run()

    # Proving it -----------------------------------------------------------------------------------------------------

    def prove(self, before: Saved) -> str:
        """Play the tape from what was there before it was recorded; what is not as it is now, or nothing.

        ROUNDING, if steps were fused and no number differs by more; unless all is equal to the bit, it is put back.
        """
        tape = self.tape
        results = [*self.outputs, *[grad for _, grad in self.grads if grad is not None]]
        after = Saved(tape, self.bytes)
        ends = Copies([*[t._data for t in results], *[x for x, _ in before.inputs]], self.bytes)
        for m in (*self.outside_arena, self.arena):
            if not m.flags.writeable:
                raise Refused("an op gives an array that cannot be written to")
            in_bytes(m)[...] = 255  # NaN, and -1
        before.restore()
        for key, (_, grad) in tape.accumulated.items():
            grad._data[...] = before.gradients[key]
        again, wrong = Again(tape.told), "what Python did"
        try:
            with setting("answer", again):
                self.play()
            wrong = again.wrong or _first(after, ends, rounded=False)
            if wrong and self.level == FUSED:
                wrong = again.wrong or _first(after, ends, rounded=True) or ROUNDING
        except Exception as error:
            if self.level == PLAIN:
                raise
            wrong = str(error) or repr(error)  # of code that has only been made to be faster
        finally:
            if wrong:
                after.restore()
                for key in tape.accumulated.keys() & after.gradients.keys():  # another one may have none by now
                    tape.accumulated[key][1]._data[...] = after.gradients[key]
                ends.restore()
        return wrong

    def described(self) -> str:
        """What is played: calls, memory, and what stayed Python."""
        steps = [step for part in self.parts for step in getattr(part, "steps", [part])]
        loops = sum(isinstance(step.call, Loop) for step in steps)
        python = [step for step in steps if step.call is None]
        kinds = ", ".join([f"{x.dtype} {x.shape}" for x in self.inputs])
        lines = [f"({kinds}), {len(steps) - loops - len(python)} calls of kernels, {loops} loops, "
                 f"{len(python)} steps in Python; {_size(self.arena.nbytes)} in one arena "
                 f"in place of {_size(self.bytes)}"
                 + (f"; others in each call: {', '.join(self.names)}" if self.names else "")
                 + (f"; faster code gave other numbers, in {self.rejected[-1]}" if self.rejected else "")]
        for i, step in enumerate(steps):
            what = "Python" if step.call is None else "loop" if isinstance(step.call, Loop) else (
                step.call.kernel.name if isinstance(step.call, Call) else
                f"{step.call.kernel.name} + loop" if isinstance(step.call, WithEpilogue) else "copy")
            written = ", ".join([f"{x.dtype} {x.shape}" for x in step.writes()[:2]])
            why = f"   no compiled code does this; called at {step.line}" if step.call is None and step.line else ""
            lines.append(f"{i:5} {what:24} {step.name:40} -> {written}{why}")
        return "\n".join(lines)


def proved(tape: Tape, inputs: list[Tensor], result: Any, before: Saved, fuse: bool, outside: Sequence[Tensor],
           graphs: bool) -> Program:
    """The fastest program of a tape that gives what Python gave, from what was there before it; Refused if none does.

    outside: Tensors that were there, which are no new ones when they are returned. graphs: whether those of its results
    may be walked outside.
    """
    program = _fastest(partial(Program, tape, inputs, result, outside=outside, graphs=graphs), before, fuse)
    for t in program.ended:
        t.node = None  # or the graph of the recorded call would live on
    tape.forget()
    give_back(program.bytes)
    return program


def _fastest(make: Callable[..., Program], before: Saved, fuse: bool) -> Program:
    rejected: list[str] = []
    alone = collective.ranks() == 1  # or bits must be alike, also of a rank that plays and one that records
    for level in (FUSED, EXACT, PLAIN) if fuse and alone else (EXACT, PLAIN):
        program: Program | None = None  # whose memory the next one takes
        program = make(level)
        wrong = program.prove(before)
        if not wrong:
            program.rejected = rejected
            return program
        rejected.append(wrong)
        if wrong == ROUNDING:  # then it is the plain one, equal to the bit, that tells whether all is on the tape
            program = None
            wrong = make(PLAIN).prove(before)
            if not wrong:
                return make(level)
            break
    raise Refused(f"played, it gives other numbers, first in {wrong}; what made them is not on the tape, such as NumPy "
                  "on a Tensor's data")


def _first(after: Saved, ends: Copies, rounded: bool) -> str:
    """The first that is not as it was after a call: of what lasts, and of results."""
    return after.differ(rounded) or next((f"a result of shape {x.shape}" for x, end in ends if differ(x, end, rounded)),
                                         "")


def pictured(steps: list[Step], inputs: list[np.ndarray]) -> tuple[list[Box], list[tuple[int, int]]]:
    """Boxes and arrows of a graph: of the steps, and of what they read that none has written."""
    boxes: list[Box] = []
    arrows: set[tuple[int, int]] = set()
    of: dict[int, int] = {}
    given = {id(memory(x)) for x in inputs}
    for step in steps:
        sources = []
        for x in step.reads():
            key = id(memory(x))
            if key not in of:
                of[key] = len(boxes)
                boxes.append(Box("input" if key in given else "state", x.shape, True))
            sources.append(of[key])
        written = step.writes()
        boxes.append(Box(step.name, written[0].shape if written else (), False))
        arrows.update((a, len(boxes) - 1) for a in sources)
        of.update((id(memory(x)), len(boxes) - 1) for x in written)
    return boxes, sorted(arrows)


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


class Calls:
    """Calls of kernels that follow one another: one row of records, for one call of compiled code."""

    def __init__(self, first: Step):
        self.steps = [first]
        self.changing: list[tuple] = []

    def add(self, step: Step) -> None:
        self.steps.append(step)

    def close(self) -> None:
        calls = [step.call for step in self.steps]
        found = [(call, False) if isinstance(call, Loop) else (call.loop, True) for call in calls
                 if not isinstance(call, Call)]
        with without_interrupts():  # Ctrl-C inside LLVM's compiler ends the process the next time it compiles
            codes = iter(addresses(found) if found else [])
        records = [call.packed() if isinstance(call, Call) else call.record(next(codes)) for call in calls]
        self.offsets = np.cumsum([0, *map(len, records)]).tolist()
        self.records = np.frombuffer(b"".join(records), np.uint8).copy()
        self.address = self.records.ctypes.data
        for step, a, b in zip(self.steps, self.offsets, self.offsets[1:], strict=False):
            if step.renew is not None:
                self.changing.append((
                    step.renew, step.call.arguments, step.call.kernel.pack, step.call.beside, self.records.data[a:b]))

    def run(self) -> None:
        for renew, arguments, pack, beside, record in self.changing:
            record[:] = pack(*renew(arguments), beside=beside)
        done = play_records(self.address, self.offsets)
        if done != len(self.steps):
            step = self.steps[done]
            if step.function is not None:
                step.function(*step.arguments)  # which raises
            raise step.call.misfit()
