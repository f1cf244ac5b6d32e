"""A program: a tape made ready to be replayed; see `capture.py`."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Sequence
from functools import partial
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
from .fuse import joined, meet
from .instructions import Refused, Step
from .lower import lowered
from .plan import bounds, in_bytes, placed
from .pytree import Unsuited, alive, rebuilt, tensors_in
from .recorder import Tape
from .snapshots import OTHER, SAME, Saved, apart

PLAIN, EXACT, FUSED = range(3)  # as recorded; compiled, with the same bits; with other kernels for small arrays
ROUNDING = "the last bits"


class Program:
    """The steps of a tape on their own memory, with inputs and results; calling it with Tensors replays them.

    inputs: the Tensors that change from call to call. result: the function's result, and the values it bound to places.
    outside: Tensors from before the call, which are returned as they are.
    """

    def __init__(self, tape: Tape, inputs: Sequence[Tensor], result: Any, level: int, outside: Sequence[Tensor] = ()):
        self.tape, self.level = tape, level
        self.names: list[str] = []  # of places that it binds
        self.rejected: list[str] = []  # differences of faster code in the proof
        self.source: dict[int, tuple[str, Any]] = {id(t): ("outside", t) for t in outside}
        self.source |= {id(leaf.grad): ("gradient", leaf) for leaf in tape.leaves.values() if leaf.grad is not None}
        self.source |= {id(x): ("input", i) for i, x in reversed([*enumerate(inputs)])}
        leaves = [(leaf, leaf._grad) for leaf in tape.leaves.values()]
        lasting = {*tape.input_of, *[id(memory(t._data)) for t in outside]}
        lasting |= {id(memory(grad._data)) for _, grad in leaves if grad is not None}
        for t in tensors_in(result):
            if id(t) not in self.source and t.requires_grad and t.node is not None and alive(t.node):
                raise Refused("its result stands on a graph, for which backward may be called outside; return its "
                              "detach(), capture the whole step, or wrap it in no_grad")
            if id(t) not in self.source and id(memory(t._data)) in lasting:
                raise Refused("it returns or keeps a view of a Tensor that was there, or of a gradient; clone() it")
            if t._grad is not None and id(t) not in self.source:
                raise Refused("its result has a gradient; return that as well")
        changed = {key for step in tape.steps for key in step.uses()[1]}
        self.changed = [i for i, x in enumerate(tape.inputs) if id(memory(x)) in changed]
        self.written = changed & {id(memory(t._data)) for t in outside}  # of Tensors from outside
        self.touched = [t for t in {id(t): t for t in (*outside, *tape.leaves.values())}.values()
                        if id(memory(t._data)) in changed]
        steps = self._planned([*tensors_in(result), *[grad for _, grad in leaves if grad is not None]])
        self.inputs = [*map(self.moved, tape.inputs)]
        # Leaves with gradients that it adds to or reads, memory for their numbers, and whether it changes these.
        self.accumulated = [(leaf, self.moved(grad._data), id(memory(grad._data)) in changed)
                            for leaf, grad in tape.accumulated.values()]
        if any([self.source.get(id(leaf), ("",))[0] == "input" for leaf, _, _ in self.accumulated]):
            raise Refused("it adds to the gradient of an argument; set that to None before")
        self.instead: dict[int, Tensor] = {}
        self.result = rebuilt(result, self._standin)
        self.bases = _views([t for t in self.instead.values() if self.standins[id(t)][0] == "made"])
        del self.instead
        input_of = {id(x): i for i, x in enumerate(inputs)}
        # Leaves, gradients, and the numbers of inputs that are the gradient or the leaf.
        self.grads: list[tuple[Tensor, Any, int | None, int | None]] = []
        self.owned: set[int] = set()  # the ids of gradients on memory of the program
        added = {id(grad) for _, grad in tape.accumulated.values()}
        for leaf, grad in leaves:
            kind, of = self.source.get(id(grad), ("made", None)) if grad is not None else ("", None)
            if grad is not None and (grad.requires_grad or grad.node is not None):
                raise Refused("its gradients stand on a graph; detach() them")
            if id(grad) in added:
                if tape.accumulated.get(id(leaf), (None, None))[1] is not grad:
                    raise Refused("it gives a Tensor the gradient of another one; clone() it")
                continue
            existing = kind in ("outside", "input")
            mine = grad if existing or grad is None else wrap(self.moved(grad._data))
            self.grads.append((leaf, mine, of if kind == "input" else None, input_of.get(id(leaf))))
            if mine is not grad:
                self.owned.add(id(mine))
                added.add(id(grad))  # no other leaf may have it
        self.arrays = [grad._data for _, grad, _, _ in self.grads if id(grad) in self.owned]
        self.different = _different([grad for _, grad in tape.accumulated.values()])
        self.parts = self._packed(steps)
        del self.moved, self.source  # they would keep the recording's results alive
        self.scales: dict[Any, float] = {}  # the largest number of each result, gradient and state in the proof
        self.held = 0  # the program's own references to the memory of results and gradients
        self.views = 0  # to the arrays of gradients

    def _standin(self, t: Tensor) -> Tensor:
        """A Tensor on memory of the program, in place of one of the result."""
        if id(t) in self.instead:
            return self.instead[id(t)]
        array = self.moved(t._data)
        made = wrap(array if array is not t._data else array.copy())
        kind = self.source.get(id(t), ("made", None))
        if kind[0] != "made":
            made = wrap(np.empty(0, np.uint8))
        made.requires_grad, made.node = t.requires_grad, t.node  # the node is freed
        self.standins[id(made)], self.instead[id(t)] = kind, made
        return made

    def _planned(self, seen: Sequence[Tensor]) -> list[Step]:
        """The steps as compiled code, with fewer passes over memory, and in one arena."""
        tape, steps = self.tape, self.tape.steps
        self.standins: dict[int, tuple[str, Any]] = {}  # for each Tensor of the result: its kind, and its source
        if self.level != PLAIN:
            # Ops run again to record their kernels, on whatever their memory holds by now.
            with np.errstate(all="ignore"):
                steps = lowered(tape, kernels=self.level == FUSED)
        read, written = [{key: m for step in steps for key, m in step.uses()[i].items()} for i in (0, 1)]
        made = {**tape.made, **{key: m for key, m in written.items() if key not in tape.known}}
        given = tape.input_of.keys()
        ends = {id(memory(t._data)) for t in seen}
        for step in steps:
            if step.call is None:
                ends.update(*step.uses())
        used = read.keys() | written.keys()
        kept = {key: made[key] for key in sorted(ends & made.keys() - given & used) if made[key].nbytes}
        pinned = used - made.keys() | kept.keys() | given
        self.needed = [i for i, x in enumerate(tape.inputs) if id(memory(x)) in used]
        self.bytes = sum(m.nbytes for key, m in written.items() if key not in pinned)
        if self.level != PLAIN:
            steps = joined(steps, pinned, kernels=self.level == FUSED)
        gradients = [grad._data for _, grad in tape.accumulated.values()]
        steps, self.own, self.moved = placed(steps, pinned, kept, [*tape.inputs, *gradients])
        return steps

    def _packed(self, steps: list[Step]) -> list[Any]:
        """Each run of kernel calls as one row of records, with the Python steps in between."""
        parts: list[Any] = []
        for step in sorted(steps, key=_Early()):
            if step.call is None:
                parts.append(step)
            elif parts and type(parts[-1]) is Calls:
                parts[-1].steps.append(step)
            else:
                parts.append(Calls(step))
        for part in parts:
            if type(part) is Calls:
                part.close()
        return parts

    # Replaying it ---------------------------------------------------------------------------------------------------

    def suits(self, tensors: Sequence[Tensor]) -> bool:
        """Whether it may be replayed: no Tensor is on memory that a call changes, and no view of the last call's
        results or gradients is kept."""
        if self.written:
            for t in tensors:
                x = t._data
                if id(x if x.base is None else memory(x)) in self.written:
                    return False
        if len(self.changed) and len({id(memory(t._data)) for t in tensors}) < len({*map(id, tensors)}):
            return False
        if self.accumulated and _different([leaf.grad for leaf, _, _ in self.accumulated]) != self.different:
            return False
        return getrefcount(self.own[1]) <= self.held and sum(map(getrefcount, self.arrays)) <= self.views

    def __call__(self, tensors: Sequence[Tensor]) -> Any:
        for k in self.needed:
            self.inputs[k][...] = tensors[k]._data
        added = [(mine, leaf.grad, changes) for leaf, mine, changes in self.accumulated]
        for mine, grad, _ in added:
            mine[...] = grad._data
        if self.touched:
            now = tick()
            for t in self.touched:
                cell = t.version
                if cell is None or cell.split:
                    t.shared_version().change(now)
                else:
                    cell[0] = now
        self._keep_gradients()
        self.replay()
        for k in self.changed:
            tensors[k]._data[...] = self.inputs[k]
            tensors[k].touch()
        for mine, grad, changes in added:
            if changes:
                grad._data[...] = mine
                grad.touch()
        self._give_gradients(tensors)
        return self.copied(tensors)

    def _keep_gradients(self) -> None:
        """Preserve the values of gradients from the last call that are still in use."""
        for j, (leaf, grad, i, k) in enumerate(self.grads):
            if id(grad) in self.owned and getrefcount(grad) > 3 + (leaf._grad is grad):
                self.grads[j] = leaf, wrap(grad._data), i, k
                self.owned.add(id(self.grads[j][1]))
                grad._data = grad._data.copy()

    def _give_gradients(self, tensors: Sequence[Tensor]) -> None:
        for leaf, grad, i, k in self.grads:
            if k is not None:
                tensors[k].grad = None if grad is None else wrap(grad._data.copy())
            elif i is not None:
                leaf._grad = tensors[i]
            else:  # the next call may read it before it sets another one
                read = grad is not None and id(leaf) in self.tape.accumulated
                leaf._grad = wrap(grad._data.copy()) if read else grad

    def copied(self, tensors: Sequence[Tensor]) -> Any:
        """The function's result, and the values it binds to places, as copies; arguments and Tensors from outside are
        returned themselves."""
        copy = partial(self._copy, tensors, {})  # a function inside that calls itself would keep them alive
        returned, bound = self.result
        return rebuilt(returned, copy), [rebuilt(value, copy) for value in bound] if bound else bound

    def _copy(self, tensors: Sequence[Tensor], made: dict[int, Tensor], t: Tensor) -> Tensor:
        kind, of = self.standins[id(t)]
        if kind != "made":
            return tensors[of] if kind == "input" else of.grad if kind == "gradient" else of
        if (new := made.get(id(t))) is None:
            x = t._data
            if (base := self.bases.get(id(t))) is None:
                new = wrap(np.array(x))
            elif base is t:
                new = wrap(np.ndarray(x.shape, x.dtype, np.empty(x.nbytes, np.uint8), 0, x.strides))
                new._data[...] = x
            else:
                whole = memory(self._copy(tensors, made, base)._data)
                new = wrap(np.ndarray(x.shape, x.dtype, whole, address(x) - address(base._data), x.strides))
            made[id(t)] = new
            if t.requires_grad:
                new.requires_grad, new.node = True, t.node
        return new

    def replay(self) -> None:
        for part in self.parts:
            part.run()

    # Proving it -----------------------------------------------------------------------------------------------------

    def release(self) -> None:
        """Return the pages of its large memory to the system until the next replay."""
        for x in self.own:
            base = getattr(memory(x).base, "obj", None)
            if isinstance(base, mmap.mmap):
                base.madvise(mmap.MADV_DONTNEED)

    @without_interrupts()  # between the two states there is neither
    def differs(self, before: Saved, result: Any, tensors: Sequence[Tensor]) -> str:
        """Replay the call that Python has just run, from the state before it. Returns the first difference, or nothing;
        ROUNDING if steps were fused and no number differs by more. Keeps the state that Python has left."""
        ends = list(zip(tensors_in(self.result), tensors_in(result), strict=False))
        pairs: list[tuple[np.ndarray, Any]] = [(a._data, b._data) for a, b in ends if self.standins[id(a)][0] == "made"]
        pairs += [(grad._data, getattr((leaf if k is None else tensors[k]).grad, "_data", None))
                  for leaf, grad, i, k in self.grads if grad is not None and i is None]
        pairs += [(self.inputs[k], tensors[k]._data) for k in self.changed]
        if self.held:
            self._keep_gradients()
        else:  # it was never replayed
            for m in self.own:
                in_bytes(m)[...] = 255  # NaN, and -1
        after = before.now()
        before.restore()
        for k, (_, values) in enumerate(before.inputs):
            self.inputs[k][...] = values
        gradients = [(mine, before.gradients.get(id(leaf), mine)) for leaf, mine, _ in self.accumulated]
        for mine, x in gradients:
            mine[...] = x
        wrong = ""
        try:
            self.replay()
        except Exception as error:
            if self.level == PLAIN:
                raise
            wrong = str(error) or repr(error)  # faster code is optional
        finally:
            for mine, x in gradients:
                x[...] = mine
            found = after.restored(self.scales)
        found += [(apart(x, y, self.scales, f"result {i}"), f"a result of shape {x.shape}")
                  for i, (x, y) in enumerate(pairs)]
        least = OTHER if self.level == FUSED else SAME + 1
        wrong = wrong or next((what for how, what in found if how >= least), "")
        return wrong or (ROUNDING if any([how > SAME for how, _ in found]) else "")

    def described(self) -> str:
        """A program's parts: calls, memory, and steps that stayed Python."""
        steps = [step for part in self.parts for step in getattr(part, "steps", [part])]
        loops = sum(isinstance(step.call, Loop) for step in steps)
        python = [step for step in steps if step.call is None]
        kinds = ", ".join([f"{x.dtype} {x.shape}" for x in self.inputs])
        lines = [f"({kinds}), {len(steps) - loops - len(python)} calls of kernels, {loops} loops, "
                 f"{len(python)} steps in Python; {_size(self.own[0].nbytes)} in one arena "
                 f"in place of {_size(self.bytes)}"
                 + (f"; others in each call: {', '.join(self.names)}" if self.names else "")
                 + (f"; faster code gave other numbers, in {self.rejected[-1]}" if self.rejected else "")]
        for i, step in enumerate(steps):
            what = "Python" if step.call is None else "loop" if isinstance(step.call, Loop) else step.call.kernel.name
            written = ", ".join([f"{x.dtype} {x.shape}" for x in step.writes()[:2]])
            why = f"   no compiled code does this; called at {step.line}" if step.call is None and step.line else ""
            lines.append(f"{i:5} {what:24} {step.name:40} -> {written}{why}")
        return "\n".join(lines)


def proved(make: Callable[[int], Program], prove: Callable[[Program], str], fuse: bool) -> Program:
    """The fastest program of a tape that has Python's results. Raises Refused if there is none."""
    rejected: list[str] = []
    for level in (FUSED, EXACT, PLAIN) if fuse else (EXACT, PLAIN):
        try:
            program = make(level)
        except Unsuited as error:
            raise Refused(str(error)) from None
        wrong = prove(program)
        if wrong == ROUNDING:  # then the plain one, equal to the bit, tells whether the tape is complete
            program.release()
            wrong = prove(make(PLAIN))
            if wrong:
                break
        if not wrong:
            program.rejected = rejected
            program.tape.forget()
            program.held = getrefcount(program.own[1])
            program.views = sum(map(getrefcount, program.arrays))
            give_back(program.bytes)
            return program
        rejected.append(wrong)
    raise Refused(f"replayed, it gives other numbers, first in {wrong}; what made them is not on the tape, such as "
                  "NumPy on a Tensor's data")


def _different(gradients: list[Any]) -> int:
    """In how many arrays gradients lie: leaves may share one."""
    return len({id(memory(grad._data)) for grad in gradients})


def _views(made: list[Tensor]) -> dict[int, Tensor]:
    """id of a Tensor that is a view -> its base; and, for bases, themselves."""
    bases, found = list[Tensor](), dict[int, Tensor]()
    for t in sorted(made, key=lambda t: -t._data.nbytes):
        low, high = bounds(t._data)
        for base in bases:
            first, last = bounds(x := base._data)
            if low < last and first < high and meet(t._data, x):
                if not (first == address(x) <= low and high <= last == first + x.nbytes):
                    raise Refused("two of its results share memory; clone() one of them")
                found[id(t)] = found[id(base)] = base
                break
        else:
            bases.append(t)
    return found


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


class _Early:
    """A key that sorts steps in Python before kernel calls, which then run without a stop: draws, as they read only
    generators' states, and the numbers of an optimizer, unless an earlier step changes its groups or its count."""

    def __init__(self) -> None:
        self.changed, self.effects = set[int](), False

    def __call__(self, step: Step) -> bool:
        read, written = step.uses()
        early = step.name == "draw" or step.name == "numbers of an optimizer" and not self.effects and (
            self.changed.isdisjoint({*read, *written}))
        if not early:
            self.changed.update(read, written)
            self.effects = self.effects or not (step.call or step.outputs)
        return not early


class Calls:
    """Consecutive calls of kernels: one row of records, for one call of compiled code."""

    def __init__(self, first: Step):
        self.steps = [first]

    def close(self) -> None:
        calls = [step.call for step in self.steps]
        found = [call for call in calls if isinstance(call, Loop)]
        with without_interrupts():  # after Ctrl-C inside LLVM's compiler, the next compilation ends the process
            codes = iter(addresses(found) if found else [])
        records = [call.packed() if isinstance(call, Call) else call.record(next(codes)) for call in calls]
        self.offsets = np.cumsum([0, *map(len, records)]).tolist()
        self.records = np.frombuffer(b"".join(records), np.uint8).copy()
        self.address = self.records.ctypes.data

    def run(self) -> None:
        done = run_records(self.address, self.offsets)
        if done != len(self.steps):
            step = self.steps[done]
            if step.function is not None:
                step.function(*step.arguments)  # which raises
            raise step.call.misfit()
