"""A tape: the steps of a function, recorded while it runs, so that they can be repeated without Python.

While a tape is open, every op that is called on Tensors is recorded as one of three things:

    a view      its result shows memory that the tape knows: nothing needs to be done again
    calls       its result was written by kernels, which read nothing but memory that the tape knows
    Python      anything else: the forward is called again, and its result copied to the same place

VJP rules run on Tensors meanwhile, as they do for the graph of a gradient, so a rule is recorded as the ops it calls.
A tape knows memory from before the call, and memory that one of its steps has written. So a step reads the same data
when the tape is replayed as when it was recorded: by induction every step has the result that eager code would compute,
as long as Python would take the same path again, which `guards.py` checks.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from ..core.graph import mode
from ..core.listener import Listener
from ..core.tensor import Tensor, wrap
from ..dtypes import arrays_in, as_array, memory
from ..errors import user_line
from ..kernels import program
from ..kernels.checks import Check
from ..kernels.program import Call, Copy
from .grounds import Grounds
from .instructions import Made, Step, as_arrays, difference
from .placeholders import StandIns
from .trace import unwatched

_RESULTS = ("stats",)  # options that are arrays to write to


class Tape(Listener):
    """The steps of this thread since it was opened; see this module's docstring.

    inputs: arrays that will hold other numbers when it is replayed. before: an earlier tape of the same function;
    memory that both of them meet has lasted from one call to the next.
    """

    on_tensors = True  # type: ignore[assignment]

    def __init__(self, inputs: Iterable[np.ndarray] = (), before: Tape | None = None,
                 seen: dict[int, np.ndarray] | None = None):
        self.before = before
        self.steps: list[Step] = []
        self.calls: list = []  # calls of kernels, not yet in steps
        self.made: dict[int, np.ndarray] = {}  # memory that steps have written, or its stand-ins
        self.stand_ins = StandIns(weakref.WeakMethod(self._gone), None if before is None else before.stand_ins)
        self.inputs = list(inputs)
        given = [memory(x) for x in self.inputs]
        self.known: dict[int, np.ndarray] = {id(m): m for m in given}
        self.input_of = {id(m): i for i, m in reversed([*enumerate(given)])}  # the first input on this memory
        self.lasting: dict[int, np.ndarray] = {}  # arrays from before the call, or so it seems
        self.met: dict[int, np.ndarray] = {}  # memory that calls read and no step wrote: constants, if met again
        self.log: list[tuple] = []  # the events, for comparison with another tape
        self.compared = 0  # how many entries agree with the tape before; -1 if one differs
        self.tensors: dict[int, tuple] = {}  # Tensors from outside, with their arrays
        self.leaves: dict[int, Any] = {}  # Tensors whose .grad the function sets
        self.gradients: dict[int, np.ndarray] = {}  # the arrays of these, as steps have them
        self.accumulated: dict[int, tuple] = {}  # leaves, with gradients that the function adds to
        self.of_gradients: set[int] = set()  # the memory of these gradients
        self.effects: dict[int, Any] = {}  # objects whose methods are effects
        self.flags: dict[int, np.ndarray] = {}  # arrays that kernels write to only after an error
        self.kept_state: dict[int, np.ndarray] | None = None
        self.inside, self.trouble = False, ""  # whether an op runs; and why the tape cannot be replayed
        self.seen = seen or {}  # memory of Tensors that the function finds
        self.grounds = Grounds(weakref.proxy(self))  # a cycle would keep all arrays

    def __enter__(self) -> Tape:
        program.stop_trace()  # Ctrl-C may have left one: only one tape is open at a time
        outer = mode.listener
        try:
            super().__enter__()
            program.start_trace(self.calls)
        except BaseException:
            mode.listener = outer
            program.stop_trace()
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        program.stop_trace()
        self.flush()
        self.trouble = self.trouble or self.grounds.trouble()

    def _gone(self, key: int) -> None:
        self.known.pop(key, None)

    def noted(self, x: np.ndarray) -> np.ndarray:
        """An array as steps have it: on the stand-in for its memory, if there is one."""
        return self.stand_ins.noted(x)

    def state(self) -> dict[int, np.ndarray]:
        """Memory that lasts from call to call and is written to."""
        if self.kept_state is not None:
            return self.kept_state
        written = {id(m): m for step in self.steps for m in map(memory, step.writes())}
        given = self.input_of.keys() | {id(memory(grad._data)) for _, grad in self.accumulated.values()}
        own = self.made.keys() | self.flags.keys() | given
        return {key: m for key, m in written.items() if key not in own}

    def shrink(self) -> None:
        """Release the arrays that it has made: comparing another tape does not need them."""
        self.kept_state = self.state()
        gone = self.made.keys() | self.input_of.keys()
        self.met = {key: m for key, m in self.met.items() if id(self.known.get(key, m)) not in self.made}
        self.known = {key: m for key, m in self.known.items() if id(m) not in gone}
        self.accumulated = {key: (leaf, None) for key, (leaf, _) in self.accumulated.items()}
        self.steps, self.calls, self.made, self.before, self.inputs, self.tensors = [], [], {}, None, [], {}

    def forget(self) -> None:
        """Drop all arrays except those that it is replayed on."""
        self.shrink()
        for held in (self.log, self.known, self.lasting, self.met, self.seen, self.gradients):
            held.clear()

    def differs(self, other: Tape) -> str:
        """The first difference between this tape and the other one; empty if they are alike."""
        if reason := difference(self.log, other.log):
            return reason
        return "" if len(self.log) == len(other.log) else (
            f"it calls {len(self.log)} ops where it called {len(other.log)} before")

    def _differs_so_far(self) -> bool:
        """Whether it differs from the tape before it. Compares each entry once, however often it is called."""
        assert self.before is not None
        if self.compared >= 0:
            apart = len(self.log) > len(self.before.log) or difference(
                self.log[self.compared:], self.before.log[self.compared:])
            self.compared = -1 if apart else len(self.log)
        return self.compared < 0

    # Ops --------------------------------------------------------------------------------------------------------------

    def unit(self, name: str, function: Callable, arguments: Sequence, options: dict | None = None) -> Any:
        """Record function(*arguments, **options), which returns an array, several arrays, or None."""
        options = options or {}
        if self.inside:
            return function(*arguments, **options)
        with unwatched(function):
            return self._unit(name, function, arguments, options)

    def _unit(self, name: str, function: Callable, arguments: Sequence, options: dict) -> Any:
        with self._apart() as calls:
            result = as_arrays(function(*arguments, **options))
        if result is NotImplemented:  # no kernel takes these inputs: record the code that runs instead
            return result
        read = {n: x for n, x in options.items() if n not in _RESULTS}
        outputs, given = list(arrays_in(result)), [x for n, x in options.items() if n in _RESULTS and x is not None]
        for x in arrays_in([*arguments, *read.values()]):
            self._know(x)
        self.log.append((name, *map(self._noted, arguments), *[(n, self._noted(x)) for n, x in sorted(read.items())]))
        enough = self._suffices(calls, [*outputs, *given])
        if enough:
            self._add(calls, name)
        for x in [*outputs, *given]:
            self._write(x)
        if not enough:
            self._append(Step(name, None, function, arguments, options, outputs, given, user_line()))
        return result

    @contextmanager
    def _apart(self) -> Iterator[list]:
        """A list that gets the calls of kernels in a `with` block."""
        self.flush()
        calls: list = []
        self.inside = True
        try:
            yield calls
        finally:
            self.inside = False
            calls[:], self.calls[:] = self.calls[:], []

    def python(self, name: str, function: Callable, *arguments: Any, changes: Sequence[np.ndarray] = ()) -> None:
        """Run function(*arguments), now and in each replay. changes: the arrays that it writes to."""
        with self._apart():
            function(*arguments)
        self.log.append((name,))
        for x in arrays_in(arguments):
            if not any(x is y for y in changes):
                self._know(x)
        self._changed(changes)
        self._append(Step(name, function=function, arguments=arguments, changes=changes))

    def flush(self) -> None:
        """Record calls from outside ops, such as an optimizer's."""
        calls, self.calls[:] = self.calls[:], []
        self._keep_flags(calls)
        for call in calls:
            name = call.kernel.name if isinstance(call, Call) else "copy"
            self.log.append((name,))
            for x in call.reads():
                self._know(x)
            self._changed(call.writes())
            self._add([call], name)

    def _keep_flags(self, calls: Sequence) -> None:  # before calls write to them: they are no results
        self.flags.update((id(memory(c.flag)), memory(c.flag)) for c in calls if type(c) is Check and c.lasting)
        self.known.update(self.flags)

    def _add(self, calls: Sequence, name: str) -> None:
        self._keep_flags(calls)
        for call in calls:
            for x in call.writes():
                self._write(x)
            if type(call) is Check:
                self._append(Step(name, call.call, call.function, call.arguments))
            elif type(call) is Copy:
                self._append(Step("copy", None, np.asarray, [call.source], outputs=[call.target]))
            else:
                self._append(Step(name, call))

    def _append(self, step: Step) -> None:
        self.steps.append(self.stand_ins.step(step))

    def _noted(self, x: Any) -> Any:
        """An entry of the log, which another call of the same function must have in the same place: an array only if
        its memory lasts."""
        if isinstance(x, np.ndarray):
            return x if id(memory(x)) in self.lasting else Made(x.shape, x.dtype)
        return tuple(map(self._noted, x)) if isinstance(x, tuple | list) else x

    # What is known ----------------------------------------------------------------------------------------------------

    def _know(self, x: np.ndarray) -> None:
        """Assume that memory which was not seen before lasts from call to call; `compared` checks this."""
        m = memory(x)
        if id(m) not in self.known:
            self.known[id(m)] = m
            self.lasting[id(m)] = x

    def _changed(self, arrays: Sequence[np.ndarray]) -> None:
        """Note a write from outside ops: if the memory is new, the next tape finds out whether it lasts."""
        for x in arrays:
            before = self.before
            first = before is None or id(memory(x)) not in before.known and self._differs_so_far()
            self._know(x) if first else self._write(x)

    def _write(self, x: np.ndarray) -> None:
        m = memory(x)
        if id(m) in self.known:
            return
        if self.before is not None and id(m) in self.before.known:
            self.known[id(m)] = m
        else:
            stand_in = self.stand_ins.add(m)
            self.known[id(m)] = self.known[id(stand_in)] = self.made[id(stand_in)] = stand_in

    def _suffices(self, calls: Sequence, outputs: Sequence[np.ndarray]) -> bool:
        """Whether calls read only known memory and write all other outputs: then they do the whole step."""
        written, enough = set(self.known), True
        for call in calls:
            for x in [] if type(call) is Check else call.reads():
                if id(memory(x)) not in written:
                    self.met[id(memory(x))] = memory(x)
                    if self.before is not None and id(memory(x)) in self.before.met:
                        self._know(x)
                    else:
                        enough = False
            written.update(id(memory(x)) for x in call.writes())
        return enough and all(id(memory(out)) in written for out in outputs)

    def from_outside(self, t: Any) -> None:
        self.tensors[id(t)] = (t, t._data)
        self._know(t._data)

    # What Python would do ---------------------------------------------------------------------------------------------

    def end(self, what: str, remedy: str) -> None:
        """Note that no program can repeat the function; from now on it runs without capture."""
        self.trouble = self.trouble or f"{what}, at {user_line()}; {remedy}"

    # Events ----------------------------------------------------------------------------------------------------------

    def op(self, op: Any, inputs: Any, options: dict, run: Callable) -> Any:
        for value in options.values():
            if isinstance(value, tuple | list) and any([isinstance(n, Tensor) for n in value]):
                # Within the op they would become constants.
                self.end(f"a Tensor is a size, an axis or an index of {op.name}", "pass a number to the function")
        for t in inputs:
            if isinstance(t, Tensor) and id(memory(t._data)) not in self.known:
                self.from_outside(t)
        with unwatched(getattr(op, "definition", op.forward)):
            return run(inputs, options)

    def compute(self, name: str, function: Callable, arguments: Sequence, options: dict) -> Any:
        if function is as_array and not isinstance(arguments[0], np.ndarray) or (
                name != "filled" and not [*arrays_in([*arguments, *options.values()])]):
            return function(*arguments, **options)  # a constant
        return self.unit(name, function, arguments, options)

    def rule(self, op: Any, node: Any, i: int | None, rule: Callable, g: Any, values: Sequence) -> Any:
        if mode.recording:
            return rule(g, *values)
        name, arrays = f"the VJP of {op.name}", tuple(map(_array, (g, *values)))
        if i is None:  # a joint rule
            given = self.unit(name, rule, arrays)
            return given if given is NotImplemented else [wrap(c) if isinstance(c, np.ndarray) else c for c in given]
        definition = op.rules[0 if op.variadic else i][0]
        with unwatched(definition), self._apart() as calls:
            c = rule(*arrays)
        if isinstance(c, np.ndarray) and self._suffices(calls, [c]):
            self.log.append((name,))
            self._add(calls, name)
            return wrap(c)
        return definition(g, *values)  # no kernels compute it: record the ops that it calls

    def effect(self, name: str, function: Callable, arguments: Sequence, writes: Sequence) -> None:
        owner: Any = getattr(function, "__self__", None)
        if hasattr(owner, "__dict__") and not isinstance(owner, ModuleType):
            self.effects[id(owner)] = owner
            for x in writes if hasattr(owner, "param_groups") else ():
                self._know(x)  # its state lasts, even if another call has created it
        if self.inside:
            function(*arguments)
        else:
            self.python(name, function, *arguments, changes=writes)

    def changes_of_effects(self) -> set[int]:
        """The ids of Python state that effects change: attributes of their objects, and options of optimizers."""
        found = {id(vars(o)) for o in self.effects.values()}
        groups = [g for o in self.effects.values() for g in getattr(getattr(o, "optimizer", o), "param_groups", ())]
        return found | {id(g) for g in groups}

    def observe(self, what: str, tensor: Any, remedy: str) -> None:
        if not (self.inside or tensor is not None and self.grounds.hold(
                tensor, f"it looks at values: {what.rstrip(',')}", remedy, outside=True)):
            self.end(f"it looks at values: {what.rstrip(',')}", remedy)

    def tell(self, event: str, *about: Any) -> Any:
        return getattr(self, "on_" + event.replace(" ", "_"))(*about)

    def on_set_data(self, x: Any) -> None:
        if not self.inside:
            self.end("data is set to another array", "change it in place, as x.data -= ... and x.data.copy_(...) do")

    def on_gradient(self, leaf: Any) -> None:
        """Note that a Tensor's gradient is set, added to, used or changed."""
        self.leaves[id(leaf)] = leaf
        if (grad := leaf._grad) is None:
            return
        m = memory(grad._data)
        if id(m) not in self.known or id(m) in self.of_gradients:  # several may lie in it
            self.accumulated.setdefault(id(leaf), (leaf, grad))
            self.known[id(m)] = m
            self.of_gradients.add(id(m))
        if not self.inside and id(m) in self.seen:
            self.end("a gradient is changed that is found elsewhere too", "set it to None before backward, or keep a "
                     "clone() of it")

    def on_varies(self, why: str, remedy: str) -> None:
        self.end(why, remedy)

    def on_looked_at(self, x: Any, why: str, remedy: str) -> bool:
        return self.grounds.hold(x, why, remedy)


def _array(x: Any) -> Any:
    """The array of a Tensor, those of a tuple of them; anything else as it is."""
    return tuple(map(_array, x)) if type(x) is tuple else x._data if isinstance(x, Tensor) else x
