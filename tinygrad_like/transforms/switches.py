"""Switches for a block or a function, such as `no_grad`, and the number of threads."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import wraps
from typing import Any, Self, TypeVar

from ..core.graph import mode
from ..core.listener import Listener
from ..rings import replaceable

F = TypeVar("F", bound=Callable[..., Any])
_thread = threading.local()


def _entered() -> list:
    """The active switches of this thread, with the values to restore."""
    if not hasattr(_thread, "entered"):
        _thread.entered = []
    return _thread.entered


class Switch(ContextDecorator):
    """Set something for a `with` block, for each call of a function, or each step of a generator.

    An object may be entered again inside itself, and by several threads. A decorator needs no parentheses.
    """

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        if len(arguments) == 1 and not options and callable(arguments[0]):
            return cls()(arguments[0])  # a function, though type checkers see a switch
        return super().__new__(cls)

    def __init__(self, *arguments: Any):
        if arguments:
            name = type(self).__name__
            raise TypeError(f"{name}: takes no arguments, got {arguments[0]!r}; write with {name}(): or decorate a "
                            "function with it")

    on: Callable  # sets it, and returns what `off` needs to restore the old value
    off: Callable

    def __enter__(self) -> Self:
        mine, entered = mode.__dict__, _entered()
        before, count = mine.copy(), len(entered)
        try:
            entered.append((self, self.on()))  # not on self, which other threads may have entered
        except BaseException:  # see `setting`
            del entered[count:]
            mine.clear()
            mine.update(before)
            raise
        return self

    def __exit__(self, *error: object) -> None:
        entered = _entered()
        i = -1
        while entered[i][0] is not self:  # a suspended generator may have entered another since
            i -= 1
        self.off(entered.pop(i)[1])

    def __call__(self, function: F) -> F:
        if inspect.isasyncgenfunction(function) or inspect.iscoroutinefunction(function):
            raise TypeError(f"{type(self).__name__}: {function.__name__} is asynchronous, and between its steps "
                            "it would stay on; use a with block around each step")
        if inspect.isgeneratorfunction(function):
            steps: Any = wraps(function)(lambda *args, **options: _steps(self, function(*args, **options)))
            return steps
        return super().__call__(function)


def _steps(switch: Switch, inner: Any):
    """A generator whose steps run inside the switch, and the code between them outside."""
    resume, given = inner.send, None
    try:
        while True:
            with switch:
                made, given = resume(given), None  # no cycle of an error and this frame
            try:
                resume, given = inner.send, (yield made)
            except GeneratorExit:
                with switch:
                    inner.close()
                raise
            except BaseException as error:
                resume, given = inner.throw, error
    except StopIteration as end:
        return end.value


class Setting(Switch):
    """Sets a field of this thread's mode to a value."""

    field, value = "recording", True

    def on(self):
        before = getattr(mode, self.field)
        setattr(mode, self.field, self.value)
        return before

    def off(self, before):
        setattr(mode, self.field, before)


class no_grad(Setting):
    """Record nothing inside: results do not require grad. `with no_grad(): ...` or `@no_grad()`; per thread."""

    value = False


class enable_grad(Setting):
    """Record again inside a `no_grad` block. `with enable_grad(): ...` or `@enable_grad()`; per thread."""


class set_grad_enabled(Setting):
    """Record or not: from this call on, in a block, `with set_grad_enabled(training): ...`, or in a function alone,
    `@set_grad_enabled(False)`; per thread. Raises TypeError unless it is True or False."""

    def __init__(self, mode: bool):
        self.value = true_or_false("set_grad_enabled", mode)
        self.before = super().on()

    def on(self):
        now = super().on()
        return vars(self).pop("before", now)

    def __call__(self, function: F) -> F:
        self.off(vars(self).pop("before", mode.recording))  # it applies only to the decorated function
        return super().__call__(function)


class inference_mode(Setting):
    """PyTorch's name for `no_grad`; with mode=False for `enable_grad`."""

    def __init__(self, mode: bool = True):
        self.value = not true_or_false("inference_mode", mode)


def true_or_false(who: str, value: Any) -> bool:
    """The setting of a switch. Raises TypeError unless it is True or False."""
    if value != bool(value):
        raise TypeError(f"{who}: takes True or False, got {value!r}")
    return bool(value)


def is_grad_enabled() -> bool:
    """Whether this thread records ops."""
    return mode.recording


class after(Listener):
    """Call `watch(op, inputs, options, result)` after every op in a `with` block."""

    def __init__(self, watch: Callable):
        self.watch = watch

    def op(self, op: Any, inputs: Any, options: dict, run: Callable) -> Any:
        y = super().op(op, inputs, options, run)
        self.watch(op, inputs, options, y)
        return y


# Threads --------------------------------------------------------------------------------------------------------------
# Without kernels: one thread, and nothing to compile.


@replaceable
def get_num_threads() -> int:
    """The number of threads for kernels; NumPy's matrix products have their own."""
    return 1


@replaceable
def most_threads() -> int:
    """The largest number that `set_num_threads` accepts."""
    return 1


@replaceable
def set_num_threads(n: int) -> None:
    """Compute in n threads. Raises ValueError for an impossible n."""
    if isinstance(n, bool) or n != 1:
        raise ValueError(f"set_num_threads: there are no kernels that could use n={n!r} threads")


@replaceable
def compiling_seconds() -> float:
    """The time that this process has spent compiling."""
    return 0.0
