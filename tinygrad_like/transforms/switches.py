"""Switches for a block or for a function: whether ops are recorded; others are made of `Switch`."""

from __future__ import annotations

import inspect
import threading
import types
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import wraps
from typing import Any

from ..core.graph import mode

_thread = threading.local()


def _entered() -> list:
    """The switches that are on in this thread, with what they will restore."""
    if not hasattr(_thread, "entered"):
        _thread.entered = []
    return _thread.entered


class Switch(ContextDecorator):
    """Set something for a `with` block, or for each call of a function, each step of a generator or coroutine.

    One object may be entered again inside itself, and by several threads.
    """

    def __init__(self, *arguments):
        if arguments:
            name = type(self).__name__
            raise TypeError(f"{name}() takes no arguments; to decorate a function write @{name}()")

    on: Callable  # sets it, and returns what `off` takes to restore what was before
    off: Callable

    def __enter__(self):
        _entered().append((self, self.on()))  # not to self, which other threads may have entered
        return self

    def __exit__(self, *error):
        entered = _entered()
        i = -1
        while entered[i][0] is not self:  # a suspended generator may have entered another since
            i -= 1
        self.off(entered.pop(i)[1])

    def __call__(self, function: Any) -> Any:
        again = self._recreate_cm
        if inspect.isasyncgenfunction(function):
            raise TypeError(f"{type(self).__name__}: {function.__name__} is an asynchronous generator, between whose "
                            "steps it would stay on; use a with block around each step")
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def stepwise(*args, **options):
                return await _steps(again, function(*args, **options))

            return stepwise
        if inspect.isgeneratorfunction(function):
            return wraps(function)(lambda *args, **options: _steps(again, function(*args, **options)))
        return super().__call__(function)

    def _recreate_cm(self):
        return type(self)()  # one instance per call: a decorated function may recurse


@types.coroutine
def _steps(switch: Callable, inner: Any):
    """A generator or coroutine, each step inside a new switch, and what happens between its steps outside."""
    resume, given = inner.send, None
    try:
        while True:
            with switch():
                made, given = resume(given), None  # no cycle of an error and this frame
            try:
                resume, given = inner.send, (yield made)
            except GeneratorExit:
                with switch():
                    inner.close()
                raise
            except BaseException as error:
                resume, given = inner.throw, error
    except StopIteration as end:
        return end.value


class _Recording(Switch):
    value: bool

    def on(self):
        before, mode.recording = mode.recording, self.value
        return before

    def off(self, before):
        mode.recording = before


class no_grad(_Recording):
    """Record nothing inside: results do not require grad. `with no_grad(): ...` or `@no_grad()`; per thread."""

    value = False


class enable_grad(_Recording):
    """Record again inside a `no_grad` block. `with enable_grad(): ...` or `@enable_grad()`; per thread."""

    value = True


class set_grad_enabled:
    """Record or not from this call on, or in a block, `with set_grad_enabled(training): ...`; per thread."""

    def __init__(self, enabled: bool):
        self.before, mode.recording = mode.recording, bool(enabled)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        mode.recording = self.before


def is_grad_enabled() -> bool:
    """Whether ops called in this thread are being recorded."""
    return mode.recording
