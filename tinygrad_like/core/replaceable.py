"""Functions of arrays, defined in NumPy, for which faster ones may stand in.

    @replaceable
    def running_sum(x, axis):
        return np.cumsum(x, axis)

The definitions alone are the whole engine. Whoever has something faster sets `replace` before functions are declared,
and decides which arrays it takes: a declaration says nothing about that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Called with a definition, its name, and what it is made of; returns what stands in for it, or the definition. What it
# returns may say, as `least`, from how many numbers on it is faster.
replace: Callable[..., Callable] | None = None


def replaceable(definition: Callable, name: str = "", **made_of: Any) -> Callable:
    """Mark a function of arrays by its definition: a faster one of that name, which computes the same, may replace it.

    made_of: for a function of each number by itself, the `formula` that it computes, and its `options`, if any.
    """
    return definition if replace is None else replace(definition, name or definition.__name__.lstrip("_"), **made_of)
