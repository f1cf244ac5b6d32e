"""Listeners: the one way in which capture, anomaly mode, checkpoints and tracers watch the engine.

While `mode.listener` is set, it hears of every op, every array computation outside ops, every write to memory, and
every time Python reads a value. What a listener does not handle, it passes on to the listener outside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from .graph import mode


class Listener:
    """Passes everything on. It listens during a `with` block, inside any outer listener."""
    outer: Any = None

    @property
    def on_tensors(self) -> bool:
        """Whether VJP rules run on Tensors, so that a listener sees the ops that they call."""
        return self.outer is not None and self.outer.on_tensors

    def op(self, op: Any, inputs: Any, options: dict, run: Callable) -> Any:
        """An op is called on Tensors; `run(inputs, options)` returns its result."""
        return run(inputs, options) if self.outer is None else self.outer.op(op, inputs, options, run)

    def compute(self, name: str, function: Callable, arguments: Sequence, options: dict) -> Any:
        """Arrays are computed from arrays: the forward of an op, or a computation outside ops."""
        if self.outer is None:
            return function(*arguments, **options)
        return self.outer.compute(name, function, arguments, options)

    def rule(self, op: Any, node: Any, i: int | None, rule: Callable, g: Any, values: Sequence) -> Any:
        """A VJP rule runs on the saved values: the rule of input i, or the joint rule if i is None."""
        return rule(g, *values) if self.outer is None else self.outer.rule(op, node, i, rule, g, values)

    def effect(self, name: str, function: Callable, arguments: Sequence, writes: Sequence) -> None:
        """function(*arguments) writes to the arrays `writes`."""
        if self.outer is None:
            function(*arguments)
        else:
            self.outer.effect(name, function, arguments, writes)

    def observe(self, what: str, tensor: Any, remedy: str) -> None:
        """Python reads a value, that of `tensor` if given, and its next steps may depend on it."""
        if self.outer is not None:
            self.outer.observe(what, tensor, remedy)

    def tell(self, event: str, *about: Any) -> Any:
        """Something else happens, such as setting a `.grad`; returns NotImplemented unless a listener handles it."""
        return NotImplemented if self.outer is None else self.outer.tell(event, *about)

    def __enter__(self) -> Any:
        self.outer, mode.listener = mode.listener, self
        return self

    def __exit__(self, *error: Any) -> None:
        mode.listener, self.outer = self.outer, None


def pure(function: Callable) -> Callable:
    """Declare a function outside ops that computes arrays from arrays and changes nothing."""
    name = function.__name__.lstrip("_")

    @wraps(function)
    def run(*arguments: Any, **options: Any) -> Any:
        listener = mode.listener
        return function(*arguments, **options) if listener is None else listener.compute(
            name, function, arguments, options)

    return run


def effect(name: str, function: Callable, *arguments: Any, writes: Sequence) -> None:
    """Run function(*arguments), which writes to the arrays `writes`."""
    if mode.listener is None:
        function(*arguments)
    else:
        mode.listener.effect(name, function, arguments, writes)


def observe(what: str, tensor: Any = None, remedy: str = "return the Tensor and do it outside, or decorate the code "
            "before it") -> None:
    """Tell the listener that Python reads a value, as item() does."""
    if mode.listener is not None:
        mode.listener.observe(what, tensor, remedy)


def tell(event: str, *about: Any) -> Any:
    """Tell the listener of an event; returns NotImplemented unless it is handled."""
    return NotImplemented if mode.listener is None else mode.listener.tell(event, *about)
