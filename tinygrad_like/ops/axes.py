"""Axis arguments: one place that normalises them and explains what is wrong with them."""

from __future__ import annotations

import operator


def one_axis(who: str, axis, ndim: int, scalar: bool = False) -> int:
    """`axis` counted from the front. Raises TypeError or IndexError in the name of `who`.

    scalar: take a 0-d Tensor too, as a row of one number: its axis is 0, or -1.
    """
    if type(axis) is int and -ndim <= axis < ndim:  # as below, sooner
        return axis % ndim
    try:
        axis = operator.index(axis)
    except TypeError:
        raise TypeError(f"{who}: axis must be an integer, got {axis!r}") from None
    if scalar and not ndim and axis in (0, -1):
        return 0
    if not -ndim <= axis < ndim:
        valid = f"with {ndim} axes it lies between {-ndim} and {ndim - 1}" if ndim else "a 0-d Tensor has none"
        raise IndexError(f"{who}: axis {axis} is out of range; {valid}")
    return axis % ndim


def axes(who: str, axis, ndim: int) -> tuple[int, ...]:
    """`axis` (None for all, a number or a tuple) as a tuple of different axes, counted from the front.

    The empty tuple names no axis. A 0-d Tensor has none, but may be asked for 0 or -1, see `one_axis`.
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
