"""Capture: watch a function while it runs, then replay it as one program. README.md in this folder says how."""

from __future__ import annotations

import functools
import inspect
import threading
from collections import Counter
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes, random
from ..core.graph import mode
from ..core.tensor import Tensor
from ..errors import warn
from ..ops import collective
from ..transforms.switches import Setting
from .instructions import Refused
from .pytree import alike, gone, structure, tensors_of
from .trace import OURS, USERS, Trace, owner_of, owner_of_class

if TYPE_CHECKING:
    from .guards import Entry
    from .program import Program
    from .recorder import Tape
    from .world import World

mode.declare(eager=False)  # whether captured functions run without capture
_recording = threading.RLock()  # kernels record their calls for one thread at a time
_errors: Any = np._core.umath._extobj_contextvar  # type: ignore[attr-defined]  # what `np.geterr` reads, but slowly
_USUAL, _MILD = _errors.get(), {"ignore", "warn"}
_NUMPY = {key: x for key, x in vars(np).items() if callable(x)}
_MISSES, _MOST = 8, 32  # limits: kinds of calls that came only once, and all kinds


def _not_now() -> str:
    """The reason to record nothing, if there is one."""
    if collective.ranks() > 1:
        return "this job has several ranks, and a program cannot tell the others anything"
    replaced = [f"{k.__name__}.{key}" for k in [*Tensor.__subclasses__(), Tensor] if owner_of_class(k) == OURS
                for key, f in vars(k).items() if key[:2] == "__" and isinstance(f, FunctionType) and (
                    owner_of(f.__globals__, f.__code__.co_filename) == USERS)]
    replaced += [f"np.{key}" for key, x in _NUMPY.items() if vars(np).get(key) is not x]
    return f"{replaced[0]} is replaced by a function of yours, which a program would not call" if replaced else ""


class eager(Setting):
    """Run captured functions without capture, for this thread: `with eager(): ...` or `@eager()`."""

    field = "eager"


class Kind:
    """Similar calls: their last recording, what it may read, and their program, if it exists."""

    world: World | None = None
    tape: Tape | None = None
    program: Program | None = None
    fused: Program | None = None  # the program, if it rounds differently; before it is trusted, another one is audited
    make: Callable[[bool], Program] | None = None  # until an audit has shown that the tape is complete
    tries, replays, stopped = 0, 0, False
    ticks = 0  # of the clock in a call; 0 if the next audit must listen to it with a tape
    wrote = False  # whether its last recording wrote to an input
    first = True  # whether its tape was recorded before it was known what the call reads

    def given(self, found: list[Any]) -> list[Tensor] | None:
        """The program's inputs in a call whose arguments have these parts; None if the call is of another kind."""
        if self.world is None:
            return tensors_of(found)
        if not self.world.same():
            return None
        parts, likeness = self._parts(self.world, found)
        inputs = [parts[i] for i in self.at] if likeness == self.likeness else None
        same = inputs is None or self.tape is None or self.tape.same(tensors_of(found) if self.first else inputs)
        return inputs if same else None

    def _parts(self, world: World, found: list[Any]) -> tuple[list[Any], list[Any]]:
        """The parts of the arguments and of the values in places; and all that must be the same in each call."""
        likeness: list[Any] = []
        if world.bound:
            found = [*found]
            try:
                likeness = [structure([place.get() for place in world.bound], found), *alike(found)]
            except Refused as error:
                likeness = [error]  # equal to nothing
        return found, likeness + [id(x) in world.known and id(x) for x in found]  # those also found in the world

    def why(self) -> str:
        """The difference that made the last call another kind."""
        if self.world is not None and self.world.what:
            return f"{self.world.what} is different in each call; make it a Tensor, or pass it as one"
        return "" if self.tape is None else self.tape.why

    def watch(self, world: World, found: list[Any]) -> list[Tensor]:
        """Make this the kind of calls in the world as it is now. Returns the inputs of their program."""
        self.world, (parts, self.likeness) = world, self._parts(world, found)
        self.at = [i for i, x in enumerate(parts) if isinstance(x, Tensor) and id(x) not in world.known]
        return [parts[i] for i in self.at]


class capture:
    """Decorate a function, such as a training step, so that its calls are replayed without Python.

    fuse: whether kernels may replace NumPy even where the last bits of sums then differ.
    strict: whether to warn if something cannot be captured, so that the function runs without capture.

    Its arguments are Tensors, alone or in tuples, lists, dicts and dataclasses, or values that tell kinds
    of calls apart: numbers, strings, modules. It may return Tensors and numbers, too. `print(step)` shows its programs.
    """

    __slots__ = ("__dict__", "__weakref__", "changed", "closed", "function", "fuse", "gave_up", "kinds",
                 "lock", "misses", "name", "places", "said", "strict", "trace")  # others are the user's

    def __new__(cls, function: Callable | None = None, **options: Any) -> Any:
        if isinstance(function, staticmethod | classmethod):
            return type(function)(cls(function.__func__, **options))
        return functools.partial(cls, **options) if function is None else super().__new__(cls)

    def __init__(self, function: Callable, *, fuse: bool = True, strict: bool = True):
        functools.update_wrapper(self, function)
        self.name = getattr(function, "__name__", "a function")
        tests = inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction
        if any([test(function) for test in tests]):
            raise TypeError(f"capture: {self.name} is a generator or `async def`, which runs on after it was called; "
                            "decorate a function that it calls in each of its steps")
        self.function, self.fuse, self.strict = function, fuse, strict
        self.kinds: dict[Any, list[Kind]] = {}
        self.trace, self.gave_up, self.closed, self.lock = Trace(), "", False, threading.RLock()
        self.misses = Counter[Any]()  # calls in a row that found no kind: by keys that came again, and of others
        self.places: dict[tuple, Entry] = {}
        self.said, self.changed = set[str](), set[str]()  # the reasons given so far; changes that the function makes

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __call__(self, *args: Any, **options: Any) -> Any:
        if (recording := mode.usual) is None or mode.eager or self.closed and not self.kinds or (
                _errors.get() is not _USUAL and not _MILD.issuperset(np.geterr().values())):  # as compiled code
            return self.function(*args, **options)
        found: list[Any] = []
        try:
            key = (structure(args, found), structure(options, found) if options else None, recording,
                   random.rows and random.rows.count, dtypes.get_default_dtype(), *alike(found))
        except (Refused, RecursionError) as error:  # of a list that holds itself
            self.warn(str(error) if type(error) is Refused else "an argument is nested too deeply, or holds itself")
            return self.function(*args, **options)
        with self.lock:
            kinds = self.kinds.get(key) or self.kinds.setdefault(key, [])
            for kind in kinds:
                if (inputs := kind.given(found)) is not None:
                    break
            else:
                if not self.closed and (why := _not_now() or self._too_many(key, kinds)):
                    self.give_up(why)
                if self.closed:
                    return self.function(*args, **options)
                kind, inputs = Kind(), []
                kinds.append(kind)
            if kind.program is not None:
                if not kind.program.suits(inputs):
                    return self.function(*args, **options)
                kind.replays += 1
                if self.misses:
                    del self.misses[None], self.misses[key]
                if kind.make is None and kind.replays & kind.replays - 1:
                    result = kind.program(inputs)
                    return self.function(*args, **options) if result is NotImplemented else result
            if not kind.stopped and _recording.acquire(blocking=False):  # else another thread records
                try:
                    from .recording import audit, record  # with the kernels

                    run, of = (record, found) if kind.program is None else (audit, inputs)
                    return run(self, kind, of, args, options)
                finally:
                    _recording.release()
        return self.function(*args, **options)

    def _too_many(self, key: Any, kinds: list[Kind]) -> str:
        """The reason to make no more kinds, if any. Drops kinds whose objects are gone or replaced."""
        for old in [old for old in self.kinds if gone(old)]:
            del self.kinds[old], self.misses[old]
        self.misses[key if kinds else None] += 1
        if max(max(self.misses.values()) // _MISSES, sum(map(len, self.kinds.values())) // _MOST):
            return next(filter(None, [kind.why() for kind in reversed(kinds)]), "shapes, dtypes or other arguments are "
                        "different in each call; pass changing numbers as Tensors")
        self.places |= {(id(p.where), p.key): p for kind in kinds if kind.world and (p := kind.world.moved)}
        for old in self.kinds.values():  # those of other keys may come again, unless nothing is captured of them
            old[:] = [k for k in old if not (old is kinds or k.stopped) or k.world is None or not k.world.replaced()]
        return ""

    def give_up(self, why: str, kind: Kind | None = None) -> None:
        """Record no more calls, though existing programs stay in use; or none of one kind, and drop its program."""
        if kind is not None:
            kind.stopped, kind.tape = True, None
            kind.program = kind.fused = kind.make = None
        else:
            self.kinds = {key: kinds for key, old in self.kinds.items() if (kinds := [k for k in old if k.replays])}
            self.closed = True
        self.warn(why)

    def warn(self, why: str) -> None:
        """Warn once why something is not captured."""
        if why not in self.said and self.strict:
            who = f"{self.name} runs" if self.closed and not self.kinds else f"such calls of {self.name} run"
            warn(f"capture: {who} eagerly from now on, since {why}")
        self.said.add(why)
        self.gave_up = why

    def __reduce__(self) -> tuple:
        return functools.partial(capture, fuse=self.fuse, strict=self.strict), (self.function,)  # without programs

    @property
    def programs(self) -> list[Program]:
        """The programs made so far, one for each kind of call."""
        return [kind.program for kinds in self.kinds.values() for kind in kinds if kind.program is not None]

    def __repr__(self) -> str:
        lines = [p.described() for p in self.programs] + ([f"not captured, since {self.gave_up}"] * bool(self.gave_up))
        return "\n\n".join([f"{self.name}: {line}" for line in lines or ["not yet captured"]])
