"""What lies in place of the caller's lists and numbers while a function is recorded.

    losses.append(loss.detach())

In place of a list to which the function appends, and which it does not read, lies a `Growing`. What is appended is one
more result of the program; a play appends it to the list that lies there by then.

    step(x, y, 0.1 * 0.99**i)

Numbers among the arguments lie in a list that the function is called with: an item that is another one in a later call
is a place like any other that changes (`bindings.py`), and what is computed of it is followed (`numbers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import user_line

NUMBERS = frozenset((int, float, np.float64))


class Growing(list):
    """All that is in a list, `of`, and what is appended; it notes where it is read, or changed otherwise."""

    def __init__(self, of: list, name: str):
        super().__init__(of)
        self.of, self.name, self.had, self.read = of, name, len(of), ""

    def new(self) -> list:
        """What was appended."""
        return [] if self.read else list.__getitem__(self, slice(self.had, None))

    def trouble(self) -> str:
        """Why it cannot be played."""
        if not self.read and len(self.of) == self.had:
            return ""
        return (f"it appends to {self.name}, which it reads or changes {self.read or 'under another name'}; return "
                "what is to be added, and add it outside")

    def __radd__(self, other: list) -> list:
        return other + [*self]


def _noting(method: Callable) -> Callable:
    def call(self: Growing, *args: Any, **options: Any) -> Any:
        self.read = self.read or f"at {user_line()}"
        return method(self, *args, **options)

    return call


for _name in ("__add__ __contains__ __delitem__ __eq__ __ge__ __getitem__ __gt__ __imul__ __iter__ __le__ __len__ "
              "__lt__ __mul__ __ne__ __repr__ __reversed__ __rmul__ __setitem__ __reduce_ex__ clear copy count index "
              "insert pop remove reverse sort").split():
    setattr(Growing, _name, _noting(getattr(list, _name)))


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
