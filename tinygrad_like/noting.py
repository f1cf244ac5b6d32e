"""Work in NumPy that is no op, and that a captured function does again whenever it is played (see tape.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from .autograd import mode
from .counted import followed


def noted(function: Callable) -> Callable:
    """A function that makes arrays of what it is given, and changes nothing."""

    @wraps(function)
    def run(*arguments: Any, **options: Any) -> Any:
        tape = mode.tape
        if tape is None:
            return function(*arguments, **options)
        return tape.unit(function.__name__.lstrip("_"), function, [*map(followed, arguments)],
                         {n: followed(x) for n, x in options.items()})

    return run


def change(name: str, function: Callable, *arguments: Any, changes: Sequence[np.ndarray]) -> None:
    """Do function(*arguments), which writes to the arrays `changes`."""
    tape = mode.tape
    if tape is None or tape.inside:
        function(*arguments)
    else:
        tape.python(name, function, *arguments, changes=changes)


def refuse(what: str, remedy: str) -> None:
    """Raise an error in a captured function, which could not do `what` again."""
    if mode.tape is not None:
        mode.tape.refuse(what, remedy)
