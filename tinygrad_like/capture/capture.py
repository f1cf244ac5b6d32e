"""Capture: a function is watched while it runs, and from then on played as one program, without Python in between.

    @capture
    def step(x, y):
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

A call is told from others by the shapes and dtypes of the Tensors it is given, and by its other arguments. The first
two calls of a kind run as they would without capture, while a tape (`recorder.py`) notes what they do. If they did the
same things, the second is played from a copy of all that was there before it, on memory filled with NaN, and compared
with what Python did, to the bit. Only then is the third call played: its Tensors are copied in, the numbers that change
from call to call (learning rates, Adam's corrections, seeds of dropout) are worked out, and the kernels run.

Why that is right: a step on the tape reads inputs, what the steps before it have written, and what lasts from call to
call: parameters, state, constants. The same steps on the same numbers give the same bits. What remains is whether
Python would take the same steps again; so before it is played, all that it may have looked at (`guards.py`) must be as
it was, but for places that the function binds anew in each call: they are inputs and results (`bindings.py`).

What capture cannot do, it says, once, and the function runs as it would without. `item()`, `numpy()` and the truth of a
Tensor raise: what comes of them would be a number that never changes again.
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable
from typing import Any

from .. import dtypes, random
from ..core.graph import mode, setting
from ..core.tensor import Tensor
from ..kernels.memory import thrifty
from ..transforms.picture import Picture
from ..transforms.switches import Switch
from .bindings import Places
from .graph_boundary import Ends
from .guards import Watching
from .instructions import Refused
from .pytree import Gradients, Unsuited, alike, structure, tensors_in
from .recorder import Tape
from .specializations import OTHERS, Kind, Kinds

mode.declare(eager=False, tape=None)  # whether captured functions run without capture; where ops are noted
_recording = threading.RLock()  # kernels note their calls for one thread at a time
_TRIES = 4  # recordings of one kind of call until two are alike


class eager(Switch):
    """Run captured functions without capture, for this thread: `with eager(): ...` or `@eager()`."""

    def on(self):
        before, mode.eager = mode.eager, True
        return before

    def off(self, before):
        mode.eager = before


class capture:
    """Decorate a function, such as a training step, so that its calls are played without Python.

    fuse: whether kernels may take the place of NumPy also where sums then have other last bits.
    strict: whether to raise where a Tensor's value is looked at, and to warn where something else cannot be captured;
        otherwise the function runs without capture then.

    Its arguments are Tensors, alone or in tuples, lists, dicts and dataclasses, numbers, or what tells one kind of call
    from another: strings, modules. It may return the same. `print(step)` shows its programs.
    Raises Refused for what needs a Tensor's value in Python; warns where it gives up, and why.
    """

    keeps_numbers = True  # in its programs, see `numbers.settled`

    def __new__(cls, function: Callable | None = None, **options: Any) -> Any:
        return functools.partial(cls, **options) if function is None else super().__new__(cls)

    def __init__(self, function: Callable, *, fuse: bool = True, strict: bool = True):
        functools.update_wrapper(self, function)
        self.name = getattr(function, "__name__", "a function")
        if any([kind(function) for kind in (inspect.isgeneratorfunction, inspect.iscoroutinefunction,
                                            inspect.isasyncgenfunction)]):
            raise TypeError(f"capture: {self.name} is a generator or `async def`, which runs on after it was called; "
                            "decorate a function that it calls in each of its steps")
        self.function, self.fuse, self.strict = function, fuse, strict
        self.kinds, self.watching, self.ends = Kinds(), Watching(function), Ends()
        self.lifted = self.watching.function  # which takes numbers apart from other arguments
        self.gave_up, self.ended, self.lock = "", False, threading.RLock()
        self.bytes: int | None = None  # of the memory that a call makes

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **options: Any) -> Any:
        if (recording := mode.usual) is None or mode.eager or self.ended:
            return self.function(*args, **options)
        tensors: list[Tensor] = []
        used, named, numbers = self.lifted.lift(args, options)
        try:
            key = (structure(used, tensors), structure(named, tensors) if named else None, recording,
                   random.rows and random.rows.count, dtypes.get_default_dtype(), *alike(tensors))
        except Unsuited as error:
            return self.function(*args, **options) if self.kinds.closed else self._give_up(str(error), args, options)
        with self.lock:
            self.lifted.numbers[:] = numbers
            kinds = self.kinds.get(key) or self.kinds.new(key)
            for kind in kinds:
                if not kind.program:
                    if kind.recorded_for(tensors):
                        break
                elif (given := kind.given(tensors)) is not None:
                    return kind.places.put(kind.program(given))
            else:
                if self.kinds.closed:
                    return self.function(*args, **options)
                if self.kinds.full(key):
                    return self._give_up(kinds[-1].why() if kinds else OTHERS, args, options)
                kinds.append(kind := Kind())
            if kind.stopped or not _recording.acquire(blocking=False):  # another thread is: the next call may
                return self.function(*args, **options)
            try:
                with thrifty(self.bytes):
                    return self._record(kind, tensors, used, named)
            finally:
                _recording.release()
                kinds.sort(key=lambda kind: kind.program is None)

    def _give_up(self, why: str, args: tuple, options: dict) -> Any:
        self.kinds.close()
        self.ended = not self.programs
        return self._stop(why, None) or self.lifted(*args, **options)

    def _record(self, kind: Kind, tensors: list[Tensor], args: tuple, options: dict) -> Any:
        """Call the function, and note what it does; if that was what it did before, make a program of it."""
        from .arguments import Arguments
        from .data_view import arrays_wanted
        from .program import proved  # with the kernels
        from .snapshots import Again, Saved, Undo

        before, kind.tries = kind.tape, kind.tries + 1
        kind.watch = watch = self.watching(args, options)
        kind.fixed = watch.fixed(tensors)
        tensors = [t for i, t in enumerate(tensors) if i not in kind.fixed]
        kind.places = places = Places(watch.bound, tensors, watch.settle, watch.exact)
        arguments = Arguments(args, options, tensors, places, watch)
        tape, undo = Tape([x._data for x in arguments.inputs], before), None if self.strict else Undo(watch, places)
        tape.goes_on, tape.stand_ins.guarded = not self.strict, arguments.memories()
        proof = Saved(before, self.bytes) if before is not None else None
        gradients, tape.seen = Gradients((*watch.all_tensors(), *arguments.inputs)), watch.memories()
        try:
            with tape, arrays_wanted(), places.lent(arguments.values):
                result = self.lifted(*arguments.args, **arguments.options)
                tensors_in(result)  # also indices that are found only if they are asked for
                result = result, places.now()
        except Refused as error:
            if undo is None:
                raise
            undo(tape)
            with setting("answer", Again(tape.told, end=False)):
                return self._give_up(str(error), args, options)
        tape.leaves.update(gradients.changed())
        out, self.bytes = arguments.back(result), tape.stand_ins.bytes
        if tape.trouble or arguments.trouble:
            return self._stop(tape.trouble or arguments.trouble, out, kind)
        kind.tape, different = tape, "" if before is None else tape.differs(before)
        if not watch.knows(tape.optimizers.values()) or before is not None and (
                not watch.same_after(tape.scheduled)):
            return self._stop(watch.what, out, kind)
        places.left = watch.left
        self.ends.add(out, bool(tape.leaves))
        new = watch.rebound or places.filled(self.watching.places, tape) or self.ends.too_early()
        if proof is not None and proof.covers(tape, arguments) and not different and not new:
            try:
                program = proved(tape, arguments.inputs, result, proof, self.fuse, watch.all_tensors(),
                                 self.ends.may_be_walked())
            except Refused as error:
                return self._stop(str(error), out, kind)
            kind.program, kind.tape = program, None
            self.watching.rest()
            program.names = places.close()
            return places.put_again(program.copied(arguments.given))
        kind.tape.shrink()
        kind.recorded()
        if kind.tries == _TRIES:
            return self._stop(different or "it changes other arrays in each call", out, kind)
        return out

    def _stop(self, why: str, result: Any, kind: Kind | None = None) -> Any:
        self.gave_up = why
        if kind is not None:
            kind.stopped, kind.tape = True, None
        if self.strict:
            who = f"calls of {self.name} like this one run" if self.programs else f"{self.name} runs"
            warnings.warn(f"capture: {who} without capture from now on, since {why}", stacklevel=4)
        return result

    def __reduce__(self) -> tuple:
        return functools.partial(capture, fuse=self.fuse, strict=self.strict), (self.function,)  # without programs

    @property
    def programs(self) -> list[Any]:
        """What was made so far, one for each kind of call."""
        return self.kinds.programs

    def picture(self) -> Picture:
        """The steps of the last program. Raises ValueError if there is none."""
        if not self.programs:
            why = f", since {self.gave_up}" if self.gave_up else " yet"
            raise ValueError(f"graph: {self.name} has not been captured{why}")
        return Picture(self.programs[-1].boxes, self.programs[-1].arrows)

    def __repr__(self) -> str:
        lines = [p.described() for p in self.programs] + ([f"not captured, since {self.gave_up}"] * bool(self.gave_up))
        return "\n\n".join([f"{self.name}: {line}" for line in lines or ["not yet captured"]])
