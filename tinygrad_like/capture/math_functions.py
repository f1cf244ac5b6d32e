"""math's functions, of Numbers: of what changes from call to call of a captured function (see `numbers.py`)."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from numba import core
from numba.core.registry import cpu_target

from .numbers import Number

_OF_NUMBERS = [(math, name) for name in "sqrt exp expm1 log log1p log2 log10 pow sin cos tan tanh asin acos atan sinh "
                                        "cosh fabs hypot isnan isinf isfinite".split()] + [(builtins, "pow")]


class _Functions(core.event.Listener):
    """math's functions, replaced by others that follow Numbers, but while numba compiles, which looks for its own."""

    def __init__(self, follow: Callable[[Callable], Callable]):
        before = [(where, name, getattr(where, name)) for where, name in _OF_NUMBERS]
        self.before, self.after = before, [(where, name, follow(function)) for where, name, function in before]
        self.depth = 0  # a compilation may begin others

    def put(self, functions: list[tuple]) -> None:
        for where, name, function in functions:
            setattr(where, name, function)

    def on_start(self, event: Any) -> None:
        self.depth += 1
        self.put(self.before)

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.put(self.after)


@cache
def _know_functions() -> None:
    """Have numba's modules imported, which name math's functions: later ones would be others."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


@contextmanager
def math_follows() -> Iterator[None]:
    """In a `with` block `math.sqrt(x)` and the like give a Number for a Number, of which they would ask a float."""
    def following(function: Callable) -> Callable:
        def call(*values: Any) -> Any:
            number = next((x for x in values if type(x) is Number), None)
            if number is None:
                return function(*values)
            result = number.computed(function, *values)
            return result.shown() if type(result.value) is bool else result

        return call

    _know_functions()
    functions = _Functions(following)
    try:
        core.event.register("numba:compile", functions)
        functions.put(functions.after)
        yield
    finally:
        core.event.unregister("numba:compile", functions)
        functions.put(functions.before)
