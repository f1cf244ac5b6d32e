"""Declare and run kernels: one way for all of them.

A kernel is a function over arrays and numbers that does share number `task` of `tasks` of some work. The shares do not
depend on the threads that do them, so the number of threads changes no bit of a result.

    @kernel(x=READ, y=WRITE, slope=REAL, cost=0.06)
    def _scale(x, slope, y, task, tasks):
        for i in range(task * x.size // tasks, (task + 1) * x.size // tasks):
            y[i] = F(slope) * x[i]

    _scale(x, 2.0, y)

The decorator says how the kernel uses each array; arguments that it does not name are integers. A call packs its
arguments into a record (`record.py`), a row of numbers in which an array is the address of its NumPy object. Compiled
code unpacks it, so every kernel is called as `f(record, task, tasks)`; before it touches any element, it compares the
dtype, layout and size of each array with the declaration. If one does not fit, Python passes a copy of an array that is
read, and raises an error for one that would be written.

Each kernel declares the work of a call in nanoseconds: `cost` for each element of its largest array, or `work`, a
function of the same arguments. That alone decides, in `_run`, how many threads share a call.

A `Call` holds the record and the arrays it names.
"""

from __future__ import annotations

import inspect
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..dtypes import FLOAT32
from . import blocks, threads
from .atomics import call, get, put
from .cache import compiled
from .kinds import INTEGER, Array, Plan, Rows
from .record import BESIDE, CODE, SIZE, TASKS, compiled_for
from .registry import ACCELERATED
from .simd import inner
from .threads import (
    ALONE,
    BUSY,
    COUNT,
    COUNTERS,
    GRAIN,
    GROUP,
    LINE,
    MOST,
    RESTING,
    SEVERAL,
    acquire,
    region,
)
from .views import integer_at

_MANY = ACCELERATED["copied"][1]  # elements that a kernel copies faster than NumPy
_WAKE = 20_000  # nanoseconds of work worth waking a sleeping thread for


# --- Declaration ------------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A kernel with its arguments; `record` holds their addresses, and is valid as long as `arguments` are.

    In a call that is not packed yet, `record` is only the entry `beside` of its future record.
    """

    kernel: Kernel
    record: bytes | int
    arguments: tuple

    def reads(self) -> list[np.ndarray]:
        return self.kernel.arrays(self.arguments, False)

    def writes(self) -> list[np.ndarray]:
        return self.kernel.arrays(self.arguments, True)

    def fitted(self) -> Call:
        """The call with copies of input arrays whose layout does not fit. Raises ValueError for other misfits."""
        arguments = tuple([self._fitted(kind, x) if isinstance(kind, Array) and x is not None else x
                           for kind, x in zip(self.kernel.kinds.values(), self.arguments, strict=True)])
        return Call(self.kernel, self.kernel.pack(*arguments, beside=self.beside), arguments)

    def _fitted(self, kind: Array, x: Any) -> np.ndarray:
        if not isinstance(x, np.ndarray) or x.dtype != kind.dtype or (kind.axes > 1 and x.ndim != kind.axes):
            raise self.misfit()
        y = np.asarray(x)  # an instance of a subclass, such as np.memmap
        if y.dtype == kind.dtype and y.flags.aligned and (y.flags.c_contiguous or (kind.writes and kind.axes == 0)):
            if kind.writes and not y.flags.writeable:
                raise self.misfit()
            return y
        if kind.writes:
            raise self.misfit()
        return _copied(y)

    @property
    def beside(self) -> int:
        """Whether it runs at the same time as the call before it."""
        record = self.record
        return record if isinstance(record, int) else struct.unpack_from("q", record, 8 * BESIDE)[0]

    def packed(self) -> bytes:
        """The record, made if necessary."""
        record = self.record
        return self.kernel.pack(*self.arguments, beside=record) if isinstance(record, int) else record

    def misfit(self) -> ValueError:
        arrays = self.reads() + self.writes()
        given = ", ".join(f"{getattr(x, 'dtype', type(x).__name__)} {np.shape(x)}" for x in arrays)
        return ValueError(f"{self.kernel.name}: arrays do not fit, or are not aligned float32: {given}; if one was "
                          "replaced after forward, such as by assigning to a Tensor's data, run forward again")


class Kernel:
    """A compiled function, which a call runs on all threads; see the docstring of this module."""

    def __init__(self, body: Callable, kinds: dict[str, Any], cost: float, work: Callable | None, tasks: int,
                 options: dict):
        self.body, self.cost, self.work, self.tasks, self.options = body, cost, work, tasks, options
        self.formula: tuple[str, int, int] | None = None  # its key in `FORMULAS`; the counts of arrays and numbers
        self.name, self.__name__, self.__doc__ = body.__name__.strip("_").replace("_", " "), body.__name__, body.__doc__
        names = list(inspect.signature(body).parameters)[:-2]
        if unknown := kinds.keys() - set(names):
            raise TypeError(f"kernel {self.name}: no argument is called {unknown.pop()!r}")
        self.kinds = {name: kinds.get(name, INTEGER) for name in names}
        numbered: dict[int, Any] = dict(enumerate(self.kinds.values()))
        self.places = [[i for i, kind in numbered.items() if type(kind) is Array and kind.writes == writes]
                       for writes in (False, True)]  # of arrays that it reads, and that it writes, among the arguments
        self.holders = [(i, kind) for i, kind in numbered.items() if type(kind) in (Rows, Plan)]

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(self.kinds)})>"

    def __call__(self, *arguments) -> None:
        """Run it now. Raises ValueError for arrays that do not fit the declaration, MemoryError without memory."""
        record = self.pack(*arguments)
        done = _run(_BOARD, id(record) + _CONTENT, 1)
        if trace is not None or done != 1:
            _finish([Call(self, record, arguments)], done)

    def arrays(self, arguments: tuple, written: bool) -> list[np.ndarray]:
        """The arrays that it writes, or those that it reads, including those of plans and tables."""
        found = [x for i in self.places[written] if (x := arguments[i]) is not None]
        for i, kind in self.holders:
            if type(kind) is Rows:  # most of its arrays are read, too
                found += arguments[i].arrays()
            elif not written:
                found += [getattr(arguments[i], name) for name in kind.axes]
        return found

    def __getattr__(self, name: str):
        if name != "pack":
            raise AttributeError(name)
        with threads.pool:  # otherwise two threads would compile it twice
            self.entry, self.pack = compiled_for(self)
        return self.pack


def kernel(*, cost: float = 1.0, work: Callable | None = None, tasks: int = 8, fastmath: Any = False,
           **kinds: Any) -> Callable[[Callable], Kernel]:
    """Declare a kernel (see the module's docstring).

    cost: nanoseconds of work for each element of the largest array; or work: a function of the arguments that returns
    nanoseconds, or -1 if the arrays' sizes do not fit one another. tasks: how many per thread, so that threads end
    together; 1 if a task has a long setup.
    """
    return lambda body: Kernel(body, kinds, cost, work, tasks, {"fastmath": fastmath})


# --- Running ----------------------------------------------------------------------------------------------------------

_CONTENT = bytes.__basicsize__ - 1  # offset of the bytes in a bytes object
_BOARD = threads.board
counters = [threads.board + COUNTERS + i * MOST * LINE for i in range(2)]  # lines that hold 0 when a call begins


@compiled()
def _several(record, task, tasks):
    """A task of one of several calls that run side by side: each thread gets the same share of every call."""
    calls, at = integer_at(record, 0), integer_at(record, 1)
    for _ in range(task % calls):
        at += integer_at(at, SIZE)
    return call(integer_at(at, CODE), at, task // calls, tasks // calls)


@inner
def _done(board, at, count):
    """The result of `_run_calls`, and whether a call ran out of memory."""
    done = 0
    while done < count:
        first, calls, work, tasks = at, 0, 0, 0
        while done + calls < count and (calls == 0 or integer_at(at, BESIDE) != 0):
            more = call(integer_at(at, CODE), at, -1, 0)
            if more < 0:
                return done, False
            work, tasks = work + more, max(tasks, integer_at(at, TASKS))
            at, calls = at + integer_at(at, SIZE), calls + 1
        sharing = max(1, min(get(board + COUNT), work // get(board + GRAIN)))
        if sharing > 1 and get(board + RESTING) != 0 and (work >= _WAKE or get(board + ALONE) != 0):
            return -1 - done, False
        for i in range(sharing):
            put(board + COUNTERS + i * LINE, 0)
            put(board + COUNTERS + (MOST + i) * LINE, 0)
        code = integer_at(first, CODE)
        if calls > 1:
            put(board + GROUP, calls)
            put(board + GROUP + 8, first)
            code, first, tasks = get(board + SEVERAL), board + GROUP, calls * tasks
        if region(board, code, first, tasks * sharing if sharing > 1 else calls, sharing):
            return done, True
        done += calls
    return done, False


@compiled()
def _run_calls(board, at, count):
    """Run calls whose records are contiguous. Returns the number of calls that ran before one did not fit; or, if the
    threads should be woken first, -1 - that number. Raises MemoryError."""
    acquire(board)
    done, failed = _done(board, at, count)
    put(board + BUSY, 0)
    if failed:
        raise MemoryError  # its text is added outside
    return done


def _run(board, at, count):
    """`_run_calls`, once it is compiled."""
    global _run
    with threads.pool:
        threads.several.value = _several.code["code"]
        _run = _run_calls.call
    return _run(board, at, count)


def run(calls: Sequence[tuple]) -> None:
    """Run calls one after another, without Python in between.

    Raises ValueError for arrays that do not fit their kernel's declaration.
    """
    records = b"".join([call[1] for call in calls])
    done = _run(_BOARD, id(records) + _CONTENT, len(calls))
    if trace is not None or done != len(calls):
        _finish(calls, done)


def run_records(address: int, offsets: Sequence[int]) -> int:
    """Run calls whose records are contiguous at an address, each at an offset; returns how many ran: all, unless
    the arrays of the next do not fit its kernel's declaration."""
    done, count = 0, len(offsets) - 1
    while True:
        more = _run(_BOARD, address + offsets[done], count - done)
        if more >= 0:
            return done + more
        done += -1 - more
        with threads.pool:
            threads.wake_workers()


def beside(*calls: tuple) -> None:
    """Run several calls, each a kernel and its arguments, at the same time: none writes to an array of another."""
    run([(call[0], call[0].pack(*call[1:], beside=i), call[1:]) for i, call in enumerate(calls)])


def _finish(tuples: Sequence[tuple], done: int) -> None:
    """Run the remaining calls: threads were asleep, or arrays do not have the declared layout."""
    calls, fitted, told = [Call(*each) for each in tuples], set[int](), 0
    while done != len(calls):
        if done < 0:
            done = -1 - done
            with threads.pool:
                threads.wake_workers()
        else:  # only that call: later ones may read data that is not written yet
            i = _first_misfit(calls, done)
            if i in fitted:
                raise calls[i].misfit()
            note(*calls[told:done])  # before the copies
            calls[i], told = calls[i].fitted(), done
            fitted.add(i)
        rest = b"".join([each.packed() for each in calls[done:]])
        more = _run(_BOARD, id(rest) + _CONTENT, len(calls) - done)
        done = done + more if more >= 0 else more - done
    note(*calls[told:])


def _first_misfit(calls: Sequence[Call], first: int) -> int:
    for i in range(first, len(calls)):
        if _amount(id(calls[i].record) + _CONTENT) < 0:
            return i
    return first


@compiled()
def _amount(at):
    """The work of a call in nanoseconds; -1 if its arrays do not fit."""
    return call(integer_at(at, CODE), at, -1, 0)


# --- Traces -----------------------------------------------------------------------------------------------------------

trace: list[Any] | None = None  # the calls of the traced thread, and the copies made for them
_traced = 0  # the traced thread


def in_order(x: np.ndarray) -> np.ndarray:
    """x in C order, to be read: x itself, or a copy, which is cheaper here than after a call that did not fit."""
    return x if x.flags.c_contiguous else _copied(x)


def _copied(x: np.ndarray) -> np.ndarray:
    if x.size >= _MANY and x.dtype is FLOAT32 and x.flags.aligned:
        from .copies import copied  # a kernel itself

        return copied(x)
    y = np.empty(x.shape, x.dtype)
    y[...] = x
    note(Copy(x, y))
    return y


class Copy(NamedTuple):
    """A traced copy, target[...] = source, of an array that did not have the declared layout."""

    source: np.ndarray
    target: np.ndarray

    def reads(self) -> list[np.ndarray]:
        return [self.source]

    def writes(self) -> list[np.ndarray]:
        return [self.target]


def note(*calls: Any) -> None:
    """Add calls to the trace, if this thread is traced."""
    if trace is not None and _traced == threading.get_ident():
        trace.extend(calls)


def start_trace(calls: list) -> None:
    """Trace all calls of this thread into a list, in place of an earlier trace, which Ctrl-C may have left."""
    global trace, _traced
    _traced = threading.get_ident()
    trace = calls


def stop_trace() -> None:
    global trace
    trace = None


blocks.install()
