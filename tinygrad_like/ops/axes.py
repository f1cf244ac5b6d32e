"""Arguments that name axes, or hold a number per axis: normalised and checked in one place."""

from __future__ import annotations

import operator

import numpy as np


def one_axis(who: str, axis, ndim: int, scalar: bool = False) -> int:
    """`axis` counted from the front. Raises TypeError or IndexError in the name of `who`.

    scalar: accept a 0-d Tensor too, as a vector of one number: its axis is 0 or -1.
    """
    if type(axis) is not int:
        if not is_integer(axis):
            raise TypeError(f"{who}: axis must be an integer, got {axis!r}")
        axis = operator.index(axis)
    if scalar and not ndim and axis in (0, -1):
        return 0
    if not -ndim <= axis < ndim:
        valid = f"with {ndim} axes it lies between {-ndim} and {ndim - 1}" if ndim else "a 0-d Tensor has none"
        raise IndexError(f"{who}: axis {axis} is out of range; {valid}")
    return axis % ndim


def is_integer(x) -> bool:
    """Whether x is an integer, and so a count or an axis. True does not count: it is more likely a positional
    keepdim."""
    return hasattr(x, "__index__") and not isinstance(x, bool | np.bool) and getattr(x, "ndim", 0) == 0


def axes(who: str, axis, ndim: int) -> tuple[int, ...]:
    """`axis` (None for all, a number or a tuple) as a tuple of different axes, counted from the front.

    The empty tuple names no axis. A 0-d Tensor accepts 0 or -1, see `one_axis`.
    """
    if type(axis) is int and -ndim <= axis < ndim:
        return (axis % ndim,)
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, tuple | list):
        axis = (axis,)
    found = tuple([one_axis(who, a, ndim, scalar=True) for a in axis])
    if len(found) > 1 and len(set(found)) != len(found):
        raise ValueError(f"{who}: axis {tuple(axis)} names an axis twice")
    return found if ndim else ()


def broadcast(*shapes: tuple[int, ...]) -> bool:
    """Whether shapes broadcast together: counted from the last axis, sizes are equal or 1."""
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        return False
    return True


def each(who: str, name: str, value, rank: int, least: int) -> tuple[int, ...]:
    """One number per spatial axis, `rank` of them; a single number applies to all. Raises TypeError or ValueError."""
    values = tuple(value) if isinstance(value, tuple | list | np.ndarray) else (value,) * rank
    try:
        numbers = tuple([operator.index(v) for v in values])
    except TypeError:
        raise TypeError(f"{who}: {name} must be made of integers, got {value!r}") from None
    if len(numbers) != rank or min(numbers) < least or max(numbers) >= 1 << 31:
        wanted = ("a number", "a number or a pair of numbers", "a number or three numbers")[rank - 1]
        limit = " and below 2^31" if max(numbers, default=0) >= 1 << 31 else ""
        raise ValueError(f"{who}: {name} must be {wanted}, at least {least}{limit}, got {value!r}")
    return numbers


def broadcasts(shape, to) -> bool:
    """Whether an array of this shape broadcasts to the other one."""
    return len(shape) <= len(to) and all([n in (1, m) for n, m in zip(shape[::-1], to[::-1], strict=False)])


def plain_shape(args: tuple) -> tuple:
    """`f(2, 3)`, `f((2, 3))` and `f([2, 3])` mean the same."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], tuple | list) else args
