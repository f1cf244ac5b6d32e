"""A tape: the steps of a function, recorded while it runs, so that they can be repeated without Python.
An op on Tensors is a view, if its result shows memory that the tape knows; calls of kernels, if these wrote its result
and read nothing but such memory; else Python: its forward is called again, and its result copied to the same place. VJP
rules run on Tensors meanwhile, as for the graph of a gradient, so that a rule is recorded as the ops that it calls.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ..core.graph import mode
from ..core.listener import Listener, observe
from ..core.tensor import Tensor, wrap
from ..dtypes import arrays_in, memory
from ..errors import user_line
from ..kernels import program
from ..kernels.checks import Check
from ..kernels.program import Copy
from ..kernels.views import address
from .instructions import Step, as_arrays
from .plan import BYTE, LINE, repointed, shown

# The origin of memory: not known; an input; from before the call; a step of the tape; what kernels write only after an
# error; the gradient of a leaf that the function adds to.
UNKNOWN, INPUT, LASTING, MADE, FLAG, GRADIENT = range(6)
_PAGES = 2**26  # bytes of pages that are mapped at once
_MOST = 2**20  # bytes that Python may look at
_HANDLERS = {"looked at": "hold", "varies": "end", "failed": "fail", "gradient": "note_gradients",
             "new gradient": "note_leaves"}


class Origin(NamedTuple):
    kind: int
    of: ref  # the memory
    step: int  # the length of the log when an op made it; ~i of input i; else 0
    stand_in: np.ndarray | None = None


class Origins:
    """A table of memory, which it does not hold."""

    def __init__(self) -> None:
        self.table: dict[int, Origin] = {}  # by the id of the memory
        self.left = -1  # bytes of `pages`, once there are any

    def get(self, m: np.ndarray) -> Origin | None:
        found = self.table.get(id(m))  # or that of memory which is gone
        return found if found is not None and found.of() is m else None

    def kind(self, x: np.ndarray) -> int:
        """The origin of an array's memory."""
        found = self.get(memory(x))
        return UNKNOWN if found is None else found.kind

    def add(self, kind: int, m: np.ndarray, step: int = 0, stand_in: np.ndarray | None = None) -> None:
        self.table[id(m)] = Origin(kind, ref(m), step, stand_in)

    def make(self, m: np.ndarray, step: int) -> None:
        """Add memory that a step has made, with a stand-in for it: as many bytes on pages that nobody touches."""
        count = -(-m.nbytes // LINE) * LINE
        if count > self.left:
            self.left = max(count, _PAGES)
            self.pages = mmap.mmap(-1, self.left)
        self.left -= count
        room = np.ndarray((m.nbytes,), BYTE, self.pages, self.left)
        self.add(MADE, m, step, np.ndarray(m.shape, m.dtype, room, 0, m.strides))
        self.add(MADE, room)

    def noted(self, x: np.ndarray) -> np.ndarray:
        """An array as steps have it: on the stand-in for its memory, if there is one."""
        found = self.get(m := memory(x))
        if found is None or (stand_in := found.stand_in) is None:
            return x
        return stand_in if x is m else shown(x, memory(stand_in), address(m))

    def room(self, m: np.ndarray) -> np.ndarray:
        """Known memory as steps have it."""
        stand_in = self.table[id(m)].stand_in
        return m if stand_in is None else stand_in.base  # type: ignore[return-value]


class Tape(Listener):
    """The steps of this thread since it was opened; see this module's docstring.
    inputs: arrays that will hold other numbers when it is replayed. before: an earlier tape of the same function.
    leaves: Tensors that may have gradients from before. first: called before the first op, if it is only compared.
    """

    on_tensors = True  # type: ignore[assignment]

    def __init__(self, inputs: Iterable[np.ndarray] = (), before: Tape | None = None, leaves: Iterable[Any] = (),
                 first: Sequence[Callable] = ()):
        self.inputs, self.before, self.first, self.outside = list(inputs), before, [*first], leaves
        self.compares = bool(first and before and not before.grounds)  # whether steps are only compared
        self.steps: list[Step] = []
        self.calls: list = []  # calls of kernels, not yet in steps
        self.origins = Origins()
        for i, x in enumerate(self.inputs):
            self.origins.add(INPUT, memory(x), ~i)
        self.input_of = {id(memory(x)): i for i, x in reversed([*enumerate(self.inputs)])}  # the first on this memory
        self.state: dict[int, np.ndarray] = {}  # memory that lasts from call to call and is written to
        self.log: list[tuple] = []  # what it has done, with what, and the constants it met, as the tape before it
        self.different = ""  # the first difference between their logs
        self.leaves: dict[int, Any] = {}  # Tensors whose .grad the function sets,
        self.dropped: set[int] = set()  # and those that lose one before anything else
        self.gradients: dict[int, tuple[int, np.ndarray]] = {}  # the ids of these, and their arrays, as steps have them
        self.lent = self._lent()  # leaves, by the memory of the gradients that they have before
        self.accumulated: dict[int, tuple] = {}  # leaves, with gradients that the function reads or adds to
        self.effects: dict[int, Any] = {}  # objects whose methods are effects
        self.inside, self.failed, self.trouble, self.why = False, False, "", ""  # why: it is not replayed; has grounds
        self.grounds: list[tuple[Any, bytes]] = []  # inputs, by index, and memory that Python looks at, with its bytes

    def __enter__(self) -> Tape:
        try:
            program.start_trace(self.calls)
            return super().__enter__()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        program.stop_trace()
        self.flush()
        self._log("the end")
        if any([id(x) in self.state for x, _ in self.grounds]):
            self.trouble = self.trouble or self.why

    def _lent(self) -> dict[int, tuple[ref, Any]]:
        return {id(m := memory(t._grad._data)): (ref(m), t) for t in self.outside if t._grad is not None}

    def release(self) -> None:
        """Drop the steps, and all arrays but those that last, with which another tape is compared."""
        table = self.origins.table
        self.origins.table = {key: origin for key, origin in table.items() if origin.kind not in (INPUT, MADE)}
        self.steps, self.calls, self.inputs, self.outside, self.before = [], [], [], [], None
        self.gradients, self.accumulated = {}, {}

    def end_with(self, tensors: Sequence[Any]) -> None:
        """Note what the function returns, and the gradients that it has set."""
        grads = [leaf._grad._data for leaf in self.leaves.values() if leaf._grad is not None]
        self._log("return", self._told([[t._data for t in tensors], grads]))

    # Steps ------------------------------------------------------------------------------------------------------------

    def unit(self, name: str, function: Callable, arguments: Sequence, options: dict | None = None,
             changes: Sequence[np.ndarray] | None = None, by_kernels: bool = False) -> Any:
        """Record function(*arguments, **options), which returns an array, several arrays, or None. changes: what an
        effect writes to; it runs again in each replay. by_kernels: NotImplemented unless kernels compute an array."""
        options, new = options or {}, changes is None
        given = arrays_in([*arguments, *options.values()])
        if self.inside or new and not given and name != "filled":  # within an op, or a constant
            return function(*arguments, **options)
        self.flush()
        written = changes or [x for x in [options.get("stats")] if x is not None]  # an array that gets results
        for x in given:
            if not any([x is y for y in written]):
                self.know(x)
        self.inside = True
        try:
            result = as_arrays(function(*arguments, **options))
        except Exception:
            self.fail(name)
            raise
        finally:
            self.inside, steps = False, self._taken(name)
        outputs = arrays_in(result) if new else []
        enough = new and self._suffices(steps, [*outputs, *written])
        if result is NotImplemented or by_kernels and not (enough and type(result) is np.ndarray):
            return NotImplemented  # record the code that runs instead
        self._log(name, self._told([*arguments, *options.items()]) if new else ())
        if not enough:
            steps = [Step(name, None, function, arguments, options, outputs, written, user_line() if new else "")]
        for step in steps:
            self._add(step, new)
        return result

    def _taken(self, name: str = "") -> list[Step]:
        """The calls of kernels since the last time, as steps."""
        calls, self.calls[:] = self.calls[:], []
        steps = []
        for call in calls:
            if type(call) is Copy:
                steps.append(Step("copy", None, np.asarray, [call.source], outputs=[call.target]))
            elif type(call) is Check:
                if call.lasting:
                    self.origins.add(FLAG, memory(call.flag))  # before others write to it: it is no result
                steps.append(Step(name or "check", call.call, call.function, call.arguments))
            else:
                steps.append(Step(name or call.kernel.name, call))
        return steps

    def flush(self) -> None:
        """Record calls from outside ops, such as an optimizer's."""
        while self.first:
            self.first.pop()()
            self.lent = self._lent()
        for step in self._taken():
            self._log(step.name)
            for x in step.reads():
                self.know(x)
            self._add(step, new=False)

    def _add(self, step: Step, new: bool) -> None:
        """Add a step. new: whether it creates what it writes to; else the next tape finds out whether that lasts."""
        before = self.before
        for key, m in step.uses()[1].items():
            if (kind := self._kind(m)) == UNKNOWN:
                if before is not None and before.origins.get(m) or not new and (before is None or self.different):
                    self.origins.add(kind := LASTING, m)
                elif self.compares:
                    self.origins.add(MADE, m, new and len(self.log))
                else:
                    self.origins.make(m, new and len(self.log))
            if kind == LASTING:
                self.state[key] = m
        if self.compares:
            return
        used = step.uses()
        if before is None:  # the next tape is only compared with it
            step = Step(step.name, changes=step.changes)
        self.steps.append(step := repointed(step, self.origins.noted))
        step.used = [{id(m): m for m in map(self.origins.room, found.values())} for found in used]

    # What is known ----------------------------------------------------------------------------------------------------

    def _log(self, what: str, told: tuple = (), x: np.ndarray | None = None) -> None:
        """Note what another call of the same function must do at the same place, with the same numbers in x."""
        if self.before is not None and not self.different:
            *before, y = self.before.log[len(self.log)]
            if [what, told] != before or x is not y and x.tobytes() != y.tobytes():  # type: ignore[union-attr]
                now, then = [f"{what} {told}".replace("'", "")[:200] for what, told in ([what, told], before)]
                self.different = (
                    f"it reads other numbers of shape {told[1]} in each call; make a Tensor of them, or keep a clone()"
                    if now == then else f"it does {now} where it did {then} before; make a Tensor of what changes")
        self.log.append((what, told, x))

    def _told(self, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            found = self.origins.get(memory(x))
            return x.dtype.type.__name__, x.shape, found.step if found else 0
        if isinstance(x, Tensor):  # within an op it would become a constant
            observe("a Tensor as a size, an axis or an index")
        return tuple(map(self._told, x)) if isinstance(x, tuple | list) else repr(x)

    def know(self, x: np.ndarray) -> None:
        """Assume that memory which was not met before lasts from call to call, or is the same constant in each."""
        if self._kind(memory(x)) == UNKNOWN:
            self._log("read", self._told(x), x)
            self.origins.add(LASTING, memory(x))

    def _kind(self, m: np.ndarray) -> int:
        kind = UNKNOWN if (found := self.origins.get(m)) is None else found.kind
        if kind == UNKNOWN and (lent := self.lent.get(id(m))) and lent[0]() is m:  # the next call may find another one
            self.note_gradients(lent[1])
            kind = self.origins.kind(m)
        return kind

    def _suffices(self, steps: Sequence[Step], outputs: Sequence[np.ndarray]) -> bool:
        """Whether calls read only known memory and write all other outputs: then they do the whole step."""
        written, enough = set[int](), True
        for step in steps:
            read, writes = step.uses()
            for key, m in () if step.call and step.function else read.items():  # a check reads what is known
                if key not in written and self.origins.kind(m) == UNKNOWN:
                    constant = self.before is not None and self.before.origins.get(m) is not None  # of the kernel
                    enough = enough and constant
                    self.origins.add(LASTING if constant else UNKNOWN, m)
            written.update(writes)
        return enough and all([id(memory(x)) in written or self.origins.kind(x) != UNKNOWN for x in outputs])

    # Events ----------------------------------------------------------------------------------------------------------

    def compute(self, name: str, function: Callable, arguments: Sequence, options: dict) -> Any:
        around = mode.around or (lambda _, run, *given: run(*given))
        return around((function, *arguments, *options.values()), self.unit, name, function, arguments, options)

    def rule(self, op: Any, node: Any, i: int | None, rule: Callable, g: Any, values: Sequence) -> Any:
        if mode.recording:
            return rule(g, *values)
        given = NotImplemented if i is not None and not op.ours else self.unit(  # the user's may do more than compute
            f"the VJP of {op.name}", rule, tuple(map(_array, (g, *values))), by_kernels=i is not None)
        if given is NotImplemented and i is not None:  # no kernels compute it: record the ops that it calls
            return op.rules[0 if op.variadic else i][0](g, *values)
        return repointed(given, wrap)

    def effect(self, name: str, function: Callable, arguments: Sequence, writes: Sequence) -> None:
        owner: Any = getattr(function, "__self__", None)
        if hasattr(owner, "__dict__") and not isinstance(owner, ModuleType):
            self.effects[id(owner)] = owner
            for x in writes if hasattr(owner, "param_groups") else ():
                self.know(x)  # its state lasts, even if another call has created it
        self.unit(name, function, arguments, changes=writes)

    def counted(self) -> list[dict]:
        """The Python state that effects change: attributes of their objects, and options of optimizers."""
        return [d for o in self.effects.values() for d in (
            vars(o), *getattr(getattr(o, "optimizer", o), "param_groups", ()))]

    def hold(self, x: Any, why: str, remedy: str, outside: bool = False) -> bool:
        """Whether to make the program for just these values, such as those of the mask in `out[mask]`: they may depend
        only on what was there before the call and does not change, which is compared before each replay. outside: and
        on no argument. why, remedy: reported if it differs in each call."""
        if not self.inside:  # else the calls belong to the op that looks
            self.flush()
        if isinstance(x, Tensor):
            self.know(x := x._data)
        found = self._sources(self.origins.noted(x))
        if found is None or outside and not found.keys().isdisjoint(self.input_of):
            return False
        self.why = f"{why}, which are others in each call, at {user_line()}; {remedy}"
        for key, m in found.items():
            on = [(i, x.tobytes()) for i, x in enumerate(self.inputs) if id(memory(x)) == key]
            self.grounds += on or [(m, m.tobytes())]
        return True

    def _sources(self, x: np.ndarray) -> dict[int, np.ndarray] | None:
        """The memory, unchanged so far, that an array was computed from; None if it depends on anything else."""
        needed, written = {id(memory(x)): memory(x)}, set[int]()
        for step in reversed(self.steps):
            read, writes = step.uses()
            written.update(writes)
            if not writes.keys().isdisjoint(needed):
                if step.changes:
                    return None  # its result depends on more than it reads
                needed.update(read)
        found = {key: m for key, m in needed.items() if self.origins.kind(m) != MADE}
        known = all([key not in written and self.origins.kind(m) in (INPUT, LASTING) for key, m in found.items()])
        return found if known and sum([m.nbytes for m in found.values()]) <= _MOST else None

    def same(self, inputs: Sequence[Tensor]) -> bool:
        """Whether a call with these inputs starts with the same values that Python looked at."""
        return all([(inputs[of]._data if type(of) is int else of).tobytes() == value for of, value in self.grounds])

    def observe(self, what: str, tensor: Any, remedy: str) -> None:
        what = f"it looks at values: {what.rstrip(',')}"
        if not (self.inside or tensor is not None and self.hold(tensor, what, remedy, outside=True)):
            self.end(what, remedy)

    def tell(self, event: str, *about: Any) -> Any:
        return getattr(self, _HANDLERS[event])(*about)

    def end(self, what: str, remedy: str) -> None:
        """Note that no program can repeat the function; from now on it runs without capture."""
        self.trouble = self.trouble or f"{what}, at {user_line()}; {remedy}"

    def fail(self, name: str) -> None:
        self.failed = True
        self.end(f"it catches an error of {name}", "do outside what may fail")

    def note_leaves(self, *leaves: Any) -> None:
        """Note that Tensors get other gradients, or none."""
        self.leaves |= {id(leaf): leaf for leaf in leaves}
        if not (self.steps or self.calls):
            self.dropped.update(map(id, leaves))

    def note_gradients(self, *leaves: Any) -> None:
        """Note that gradients of Tensors are added to, used or changed."""
        self.leaves |= {id(leaf): leaf for leaf in leaves}
        for leaf, grad in [(leaf, leaf._grad) for leaf in leaves if leaf._grad is not None]:
            m = memory(grad._data)
            if self.origins.kind(m) in (UNKNOWN, GRADIENT):  # several may lie in it
                self.accumulated.setdefault(id(leaf), (leaf, grad))
                self.origins.add(GRADIENT, m)


def _array(x: Any) -> Any:
    """The array of a Tensor, those of a tuple of them; anything else as it is."""
    return tuple(map(_array, x)) if type(x) is tuple else x._data if isinstance(x, Tensor) else x
