"""Axis arguments: one place that normalises them and explains what is wrong with them."""

from __future__ import annotations

import operator


def one_axis(who: str, axis, ndim: int) -> int:
    """`axis` counted from the front. Raises TypeError or IndexError in the name of `who`."""
    try:
        axis = operator.index(axis)
    except TypeError:
        raise TypeError(f"{who}: axis must be an integer, got {axis!r}") from None
    if not -ndim <= axis < ndim:
        valid = f"with {ndim} axes it lies between {-ndim} and {ndim - 1}" if ndim else "a 0-d Tensor has none"
        raise IndexError(f"{who}: axis {axis} is out of range; {valid}")
    return axis % ndim


def axes(who: str, axis, ndim: int) -> tuple[int, ...]:
    """`axis` (None for all, a number or a tuple) as a tuple of different axes, counted from the front."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, tuple | list):
        return (one_axis(who, axis, ndim),)
    found = tuple(one_axis(who, a, ndim) for a in axis)
    if len(set(found)) != len(found):
        raise ValueError(f"{who}: axis {tuple(axis)} names an axis twice")
    return found
