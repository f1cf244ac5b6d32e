"""A tape: what a function does, noted while it does it, so that it can be done again without Python.

While a tape is open in `mode.tape`, every op that is called on Tensors is noted as one of three things:

    a view      its result shows memory that the tape knows: nothing needs to be done again
    calls       its result was written by kernels, which read nothing but memory that the tape knows
    Python      anything else: the forward is called again, and its result copied to where it was

VJP rules run on Tensors meanwhile, as they do for the graph of a gradient; so a rule is noted as the ops it is made of.
Known is memory that was there before, and memory that a step on the tape has written. So whatever a step reads is, when
the tape is played, what it was when it was noted: by induction the result of every step is the one that eager code
would compute, as long as Python would take the same path again. Of that `capture.py` makes sure.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..core.graph import mode
from ..core.tensor import Tensor, wrap
from ..dtypes import arrays_in, memory
from ..errors import user_line
from .grounds import Grounds
from .instructions import Refused, Step, as_arrays
from .listening import Communicates, Listening
from .numbers import Number, plain, shown

_RESULTS = ("stats",)  # options that are arrays to write to


class _Made(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype


class Tape(Listening):
    """What was done since it was opened, by this thread; see this module's docstring.

    inputs: arrays that will hold other numbers when it is played. before: an earlier tape of the same function; what it
    knew and this one meets again has lasted from one call to the next.
    """

    def __init__(self, inputs: Iterable[np.ndarray] = (), before: Tape | None = None):
        from ..kernels import program  # which takes longer to import than most programs need
        from ..kernels.checks import Check
        from .data_view import set_data, shown
        from .placeholders import StandIns
        from .plan import repointed

        self.program, self.Check, self.repointed, self.before = program, Check, repointed, before
        self.view, self.put = shown, set_data
        self.steps: list[Step] = []
        self.calls: list = []  # of kernels, not yet in steps
        self.made: dict[int, np.ndarray] = {}  # memory that steps have written; while it is open, its stand-ins
        self.stand_ins = StandIns(self._gone, None if before is None else before.stand_ins)
        given = [memory(x) for x in inputs]
        self.known: dict[int, np.ndarray] = {id(m): m for m in given}
        self.inputs = {id(m): i for i, m in reversed([*enumerate(given)])}  # which of them lies there, or the first
        self.lasting: dict[int, np.ndarray] = {}  # arrays that were there, or seem to have been
        self.met: dict[int, np.ndarray] = {}  # memory that calls read and nobody wrote: constants, if met again
        self.log: list[tuple] = []  # what was done, for comparison with another tape
        self.tensors: dict[int, tuple] = {}  # Tensors from outside, with their arrays
        self.leaves: dict[int, Any] = {}  # Tensors whose .grad the function sets
        self.accumulated: dict[int, tuple] = {}  # leaves, with the gradients that more is added to
        self.optimizers: dict[int, Any] = {}  # that take a step
        self.draws: list[Callable[[], None]] = []
        self.follow: list[weakref.ref] = []  # nodes that have saved numbers that are followed
        self.drawing = False  # whether what is asked of such numbers will be asked anew
        self.scheduled: dict[int, dict] = {}  # what steps of schedulers change: their attributes, and groups
        self.flags: dict[int, np.ndarray] = {}  # that kernels set only if something is wrong
        self.kept_state: dict[int, np.ndarray] | None = None
        self.holders: list[Any] = []  # objects whose methods Python calls
        self.inside = self.trying = False  # whether an op runs; and whether it may yet be done in another way
        self.told: list[tuple[np.ndarray, np.ndarray]] = []  # what was sent to other ranks, and what came,
        self.between_calls, self.trouble = 0, ""  # of which so many by `between`; and why it cannot be played
        self.goes_on = False  # whether the function goes on where it looks at a value
        self.seen: dict[int, np.ndarray] = {}  # memory of Tensors that the function finds
        self.unsettled: set[int] = set()  # the memory of what other ranks gave
        self.grounds = Grounds(self)
        self.places: Any = None  # what follows numbers that Python reads,
        self.rates_set = False  # and whether a scheduler has set some of those in this call

    def __enter__(self) -> Tape:
        self.program.stop_trace()  # what Ctrl-C may have left: one tape is open at a time
        outer = mode.listener
        try:
            super().__enter__()
            self.program.start_trace(self.calls)
            mode.tape = self
        except BaseException:
            mode.tape, mode.listener = None, outer
            self.program.stop_trace()
            raise
        return self

    def __exit__(self, *error: Any) -> None:
        mode.tape = None
        super().__exit__(*error)
        self.program.stop_trace()
        self.flush()
        self.trouble = self.trouble or self.grounds.trouble()
        for node in [node for reference in self.follow if (node := reference()) is not None]:
            node.saved = node.saved and tuple(map(plain, node.saved))
        for key, m in self.stand_ins.alive().items():
            del self.made[key], self.known[key]
            self.made[id(m)] = self.known[id(m)] = m
        if back := self.stand_ins.back:
            self.steps = [self.repointed(step, self.stand_ins.returned) if any(
                [not back.keys().isdisjoint(uses) for uses in step.uses()]) else step for step in self.steps]
            self.stand_ins.back = {}

    def _gone(self, key: int) -> None:
        del self.known[key]

    def state(self) -> dict[int, np.ndarray]:
        """What lasts from call to call and is written to: memory that was there before."""
        written = {id(m): m for step in self.steps for m in map(memory, step.writes())}
        if self.kept_state is not None:
            return self.kept_state
        given = self.inputs.keys() | {id(memory(grad._data)) for _, grad in self.accumulated.values()}
        own = self.made.keys() | self.flags.keys() | given
        return {key: m for key, m in written.items() if key not in own}

    def shrink(self) -> None:
        """Let go of the arrays that it has made: what another tape is compared with does not need them."""
        state, holders = self.state(), [getattr(step.function, "__self__", None) for step in self.steps]
        self.log = [self._without(entry) for entry in self.log]
        self.known = {key: m for key, m in self.known.items() if key not in self.made}
        self.met = {key: m for key, m in self.met.items() if key not in self.made}
        self.steps, self.made, self.draws, self.before, self.told = [], {}, [], None, []
        self.kept_state, self.holders = state, holders

    def _without(self, x: Any) -> Any:
        """What is noted, with a shape and a dtype in place of arrays that were made."""
        if isinstance(x, tuple):
            return tuple(map(self._without, x))
        return _Made(x.shape, x.dtype) if isinstance(x, np.ndarray) and id(memory(x)) not in self.lasting else x

    def forget(self) -> None:
        """Let go of all arrays but those that it is played on."""
        self.steps, self.calls, self.log, self.before, self.told = [], [], [], None, []
        for held in (self.made, self.known, self.lasting, self.met, self.tensors, self.seen):
            held.clear()

    def differs(self, other: Tape, so_far: bool = False) -> str:
        """What this tape notes that the other one does not; nothing if they are alike, `so_far` or to the end."""
        for mine, theirs in zip(self.log, other.log, strict=False):
            if len(mine) != len(theirs) or mine[0] != theirs[0]:
                return f"it calls {mine[0]} where it called {theirs[0]} before"
            for a, b in zip(mine, theirs, strict=True):
                if reason := self._differ(a, b):
                    return f"{mine[0]} gets {reason}"
        if len(self.log) > len(other.log) if so_far else len(self.log) != len(other.log):
            return f"it calls {len(self.log)} ops where it called {len(other.log)} before"
        return ""

    def _differ(self, a: Any, b: Any) -> str:
        if isinstance(a, np.ndarray) and isinstance(b, _Made):
            same = a.shape == b.shape and a.dtype is b.dtype
            return "" if same else f"an array {a.dtype} {a.shape} that was {b.dtype} {b.shape} before"
        if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
            if a.shape != b.shape or a.dtype is not b.dtype:
                return f"an array {a.dtype} {a.shape} that was {b.dtype} {b.shape} before"
            if a is not b and id(memory(a)) in self.lasting and a.tobytes() != b.tobytes():
                return f"an array {a.dtype} {a.shape} from outside, another one in each call; make it an argument"
            return ""
        if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
            return next(filter(None, (self._differ(x, y) for x, y in zip(a, b, strict=True))), "")
        return "" if type(a) is type(b) and (a == b or a != a) else f"{a!r} that was {b!r} before; make it a Tensor"

    # Ops --------------------------------------------------------------------------------------------------------------

    def node(self, node: Any) -> None:
        """Keep no numbers that are followed for who walks the graph after the tape is closed."""
        if Number in map(type, node.saved):
            self.follow.append(weakref.ref(node))

    def noted_rule(self, op: Any, rule: Callable, on_arrays: Callable, g: Any, values: Sequence) -> Any:
        """rule(g, *values), noted: as on arrays if it is made of kernels then, else as the ops that it calls."""
        if Number in map(type, values):
            c = self.unit(f"the VJP of {op.name}", on_arrays, [*map(_array, (g, *values))])
            return wrap(c) if isinstance(c, np.ndarray) else rule(g, *map(shown, values))
        self.trying = True
        try:
            with self._apart() as calls:
                c = on_arrays(*map(_array, (g, *values)))
        except Communicates:
            c = None
        finally:
            self.trying = False
        if isinstance(c, np.ndarray) and self._suffices(calls, [c]):
            self.log.append((f"the VJP of {op.name}",))
            self._add(calls, f"the VJP of {op.name}")
            return wrap(c)
        return rule(g, *values)

    def leaf(self, leaf: Any) -> None:
        """Note that a Tensor gets a gradient, or more of it, or that the one it has is used."""
        self.leaves[id(leaf)] = leaf
        if leaf.grad is not None and id(memory(leaf.grad._data)) not in self.known:
            self.accumulated[id(leaf)] = leaf, leaf.grad
            self.known[id(memory(leaf.grad._data))] = memory(leaf.grad._data)

    def changes(self, grad: Any) -> None:
        """Note that a gradient is changed in place, of which a program has a copy: if the function finds it elsewhere
        too, there is none."""
        if not self.inside and id(memory(grad._data)) in self.seen:
            self.end("a gradient is changed that is found elsewhere too", "set it to None before backward, or keep a "
                     "clone() of it")

    def joint(self, op: Any, rule: Callable, g: Any, values: Sequence) -> Any:
        """The cotangents that a joint rule gives, which is code for arrays."""
        given = self.unit(f"the VJP of {op.name}", rule, tuple(map(_array, (g, *values))))
        return given if given is NotImplemented else [wrap(c) if isinstance(c, np.ndarray) else c for c in given]

    def unit(self, name: str, function: Callable, arguments: Sequence, options: dict | None = None) -> Any:
        """function(*arguments, **options), which gives an array, several, or None, noted."""
        options, told = options or {}, len(self.told) - self.between_calls
        if self.inside:
            return function(*arguments, **options)
        follows = Number in map(type, (*arguments, *options.values()))
        with self._apart() as calls:
            result = as_arrays(function(*map(plain, arguments), **{n: plain(x) for n, x in options.items()}))
        if result is NotImplemented:  # a kernel does not take these: what is done instead is noted
            return result
        if follows and not self._is_new(result):
            arguments, options, follows = [*map(shown, arguments)], {n: shown(x) for n, x in options.items()}, False
        read = {n: x for n, x in options.items() if n not in _RESULTS}
        outputs, given = list(arrays_in(result)), [x for n, x in options.items() if n in _RESULTS and x is not None]
        self.log.append((name, *map(self._noted, arguments), *[(n, self._noted(x)) for n, x in sorted(read.items())]))
        for x in arrays_in([*arguments, *read.values()]):
            self._know(x)
        by_kernels = len(self.told) - self.between_calls == told
        enough = not follows and by_kernels and self._suffices(calls, [*outputs, *given])
        if enough:
            self._add(calls, name)
        for x in [*outputs, *given]:
            self._write(x)
        if not enough:
            step = Step(name, function=function, arguments=arguments, options=options, outputs=outputs, changes=given)
            step.line = user_line()
            self._append(step)
            if not by_kernels:
                self.unsettled.update(id(memory(x)) for x in self.steps[-1].outputs)
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
        """Do function(*arguments), and whenever the tape is played. changes: the arrays that it writes to."""
        with self._apart():
            function(*map(plain, arguments))
        self.note_python(name, function, *arguments, changes=changes)

    def note_python(self, name: str, function: Callable, *arguments: Any, changes: Sequence[np.ndarray] = ()) -> None:
        """Do function(*arguments) whenever the tape is played, as was just done."""
        self.log.append((name,))
        for x in arrays_in(arguments):
            if not any(x is y for y in changes):
                self._know(x)
        self._changed(changes)
        self._append(Step(name, function=function, arguments=arguments, changes=changes))

    def between(self, name: str, function: Callable, *arguments: Any, changes: Sequence[np.ndarray]) -> None:
        """In code that is noted as its calls of kernels: do function(*arguments) between them, as `python` does."""
        told = len(self.told)
        function(*arguments)
        self.between_calls += len(self.told) - told
        self.calls.append(Step(name, function=function, arguments=arguments, changes=changes))

    def flush(self) -> None:
        """Note calls that no op made, such as an optimizer's."""
        calls, self.calls[:] = self.calls[:], []
        self._keep_flags(calls)
        for call in calls:
            self.log.append((call.kernel.name,) if hasattr(call, "kernel") else ("copy",))
            for x in call.reads():
                self._know(x)
            self._changed(call.writes())
            self._add([call], call.kernel.name if hasattr(call, "kernel") else "copy")

    def _keep_flags(self, calls: Sequence) -> None:  # before a call writes to them, or they would seem to be results
        self.flags.update((id(memory(c.flag)), memory(c.flag)) for c in calls if type(c) is self.Check and c.lasting)
        self.known.update(self.flags)

    def _add(self, calls: Sequence, name: str) -> None:
        self._keep_flags(calls)
        for call in calls:
            if type(call) is self.Check:
                self._append(Step(name, call=call.call, function=call.function, arguments=call.arguments))
                continue
            for x in call.writes():
                self._write(x)
            step = call if type(call) is Step else Step(name, call=call)
            self._append(step)

    def _append(self, step: Step) -> None:
        self.steps.append(self.stand_ins.step(step))

    def _noted(self, x: Any) -> Any:
        """What a call of the same function must have in the same place."""
        if isinstance(x, np.ndarray):
            return self.stand_ins.noted(x)
        if type(x) is Number:
            return "followed"
        return tuple(map(self._noted, x)) if isinstance(x, tuple | list) else x

    # What is known ----------------------------------------------------------------------------------------------------

    def _know(self, x: np.ndarray) -> None:
        """Take memory that was not seen before for something that lasts; `compared` finds out whether it does."""
        m = memory(x)
        if id(m) not in self.known:
            self.known[id(m)] = m
            self.lasting[id(m)] = x

    def _changed(self, arrays: Sequence[np.ndarray]) -> None:
        """Note what is written to outside ops: if it was not seen before, the next tape finds out whether it lasts."""
        for x in arrays:
            before = self.before
            first = before is None or id(memory(x)) not in before.known and self.differs(before, so_far=True)
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

    def has_made(self, x: np.ndarray) -> bool:
        """Whether the memory that x shows is new in this call."""
        return id(self.known.get(id(memory(x)))) in self.made

    def _suffices(self, calls: Sequence, outputs: Sequence[np.ndarray]) -> bool:
        """Whether calls read only what is known, and write all outputs that are not: so they do all there is to do."""
        written, enough = set(self.known), True
        for call in calls:
            given = call.writes() if type(call) is Step else []
            for x in [] if type(call) is self.Check else call.reads():
                if id(memory(x)) not in written and not any(x is y for y in given):
                    self.met[id(memory(x))] = memory(x)
                    if self.before is not None and id(memory(x)) in self.before.met:
                        self._know(x)
                    else:
                        enough = False
            written.update(id(memory(x)) for x in call.writes())
        return enough and all(id(memory(out)) in written for out in outputs)

    def _is_new(self, result: Any) -> bool:
        """Whether there is nothing but arrays of memory that was not there before, which can all be written anew."""
        if isinstance(result, tuple | list | dict):
            return all([self._is_new(x) for x in (result.values() if isinstance(result, dict) else result)])
        return result is None or isinstance(result, np.ndarray) and id(memory(result)) not in self.known

    def from_outside(self, t: Any) -> None:
        self.tensors[id(t)] = (t, t._data)
        self._know(t._data)

    # What Python would do ---------------------------------------------------------------------------------------------

    def drawn(self, draw: Callable[[], np.ndarray]) -> np.ndarray:
        """An array of numbers that Python has, made now, and anew at the beginning whenever the tape is played."""
        self.drawing, before = True, self.drawing
        try:
            value = draw()
        finally:
            self.drawing = before
        self.log.append(("numbers", value.shape))
        self.known[id(memory(value))] = memory(value)
        self.draws.append(Step("numbers", function=draw, outputs=[value]).run)
        return value

    def option(self, group: dict, name: str, value: Any) -> Any:
        """The value of an option of an optimizer that Python reads: if it is a number, one that follows it."""
        if self.inside or self.places is None or (followed := self.places.option(group, name, value)) is value:
            return value
        if self.rates_set:
            self.trouble = (f"it reads {name} of an optimizer after a step of a scheduler, at {user_line()}; read it "
                            "before that, or step the scheduler outside")
        return followed

    def end(self, what: str, remedy: str) -> None:
        """Note that the function does what no program could; it goes on, and runs without capture from then on."""
        self.trouble = self.trouble or f"{what}, at {user_line()}; {remedy}"

    def refuse(self, what: str, remedy: str, looks: bool = False, x: Any = None) -> None:
        """Raise Refused, if an op is not what asks; or, if it only looks at a value, note that instead, if told to. It
        may look at a Tensor x whose values come of what lies outside."""
        seen = f"it looks at values: {what.rstrip(',')}"
        if self.inside or x is not None and self.grounds.hold(x, seen, remedy, outside=True):
            return
        why = f"{what} inside a captured function, at {user_line()}; {remedy}"
        if not (looks and self.goes_on):
            raise Refused(f"capture: {why}")
        self.trouble = self.trouble or why


def _array(x: Any) -> Any:
    """The array of a Tensor, those of a tuple of them; anything else as it is."""
    return tuple(map(_array, x)) if type(x) is tuple else x._data if isinstance(x, Tensor) else x
