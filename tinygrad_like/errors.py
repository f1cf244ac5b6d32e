"""Errors that nobody foresaw, in the name of what the user called: the last resort, where an op's own checks end.

Python, NumPy and numba complain of what happens inside an op. The user called the op, and should read its name, what it
was given, and only then what went wrong.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

_OURS = re.compile(r"(\w|\.)+(\(\))?: |the (joint )?VJP of ")  # how our messages begin
# A key that is missing is a wrong index, a division by zero a wrong value. What is not listed here is not touched.
_KINDS = {AttributeError: TypeError, TypeError: TypeError, IndexError: IndexError, KeyError: IndexError,
          MemoryError: MemoryError, OverflowError: ValueError, ZeroDivisionError: ValueError, ValueError: ValueError}


def in_the_name_of(who: str, error: Exception, inputs, options=None) -> Exception:
    """The error to raise in place of `error`: itself if its message is one of ours, else one that begins with `who`."""
    text = str(error)
    if _OURS.match(text):
        return error
    numba = type(error).__module__.startswith("numba")
    kind = TypeError if numba else next((ours for raw, ours in _KINDS.items() if isinstance(error, raw)), None)
    if kind is None:
        return error
    given = ", ".join([*map(_brief, inputs), *(f"{name}={_brief(value)}" for name, value in (options or {}).items())])
    why = "no kernel takes these types" if numba else text.partition("\n")[0]
    return kind(f"{who}: cannot work with ({given}): {why}")


def _brief(x: Any) -> str:
    if hasattr(x, "dtype") and hasattr(x, "shape"):
        return f"{x.dtype} {tuple(x.shape)}"
    if isinstance(x, list | tuple) and x and all(hasattr(part, "dtype") for part in x):
        return f"[{', '.join(map(_brief, x))}]"
    text = repr(x)
    return text if len(text) <= 60 else f"{text[:57]}..."


def named(function: Callable, constructs: str = "") -> Callable:
    """`function`, whose unforeseen errors come in its name; or, of an `__init__`, in that of what it constructs."""
    who = constructs or function.__name__

    @functools.wraps(function)
    def call(*inputs, **options):
        try:
            return function(*inputs, **options)
        except Exception as error:
            ours = in_the_name_of(who, error, inputs[1:] if constructs else inputs, options)
            if ours is error:
                raise
            raise ours from error

    return call
