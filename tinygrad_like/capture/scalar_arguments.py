"""Numbers among the arguments of a captured function, put where they are watched like those in variables.

    step(x, y, 0.1 * 0.99**i)

They lie in a list that the function is called with: an item that is another one in a later call is a place like any
other that changes (`bindings.py`), and what is computed of it is followed (`numbers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

NUMBERS = frozenset((int, float, np.float64))


class Mark:
    """In an argument's place: which of the numbers, and of what type, it is."""

    def __init__(self, i: int):
        self.i = i


_MARKS = {kind: tuple(map(Mark, range(64))) for kind in NUMBERS}


class Lifted:
    """A function that takes marks in place of numbers, which lie in `numbers`."""

    def __init__(self, function: Callable):
        self.function, self.__name__ = function, getattr(function, "__name__", "a function")
        self.numbers: list[int | float] = []

    def __call__(self, *args: Any, **options: Any) -> Any:
        numbers = self.numbers
        return self.function(*[numbers[x.i] if type(x) is Mark else x for x in args],
                             **{n: numbers[x.i] if type(x) is Mark else x for n, x in options.items()})

    @staticmethod
    def lift(args: tuple, options: dict) -> tuple[tuple, dict, list[int | float]]:
        """The arguments with marks in place of numbers, and the numbers."""
        numbers: list = []
        if NUMBERS.isdisjoint(map(type, args)) and (not options or NUMBERS.isdisjoint(map(type, options.values()))):
            return args, options, numbers

        def marked(x: Any) -> Any:
            if type(x) not in NUMBERS or len(numbers) == 64:
                return x
            numbers.append(x)
            return _MARKS[type(x)][len(numbers) - 1]

        return tuple(map(marked, args)), {n: marked(x) for n, x in options.items()}, numbers
