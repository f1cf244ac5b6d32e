"""What a forward and a rule may not do, whatever their numbers: change what they are given, or remember."""

from __future__ import annotations

import dis
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ..core.graph import setting
from ..core.primitive import Primitive
from .measure import Point
from .remedy import IN_PLACE
from .rule import Diagnosis
from .source import namespace


def of_forward(point: Point) -> Diagnosis | None:
    """A forward that writes into its inputs."""
    if not point.written:
        return None
    name = point.input_name(point.written[0])
    return Diagnosis("in place", f"the forward changes its input {name!r} in place (as {name} -= ..., {name}[...] = "
                     "..., or an option out= do), and so what its caller has; compute a new array.")


def narrowed(point: Point) -> Diagnosis | None:
    """A forward that rounds: differences of it say nothing."""
    if point.out.dtype.itemsize >= 8:
        return None
    return Diagnosis("dtype", f"the forward gives {point.out.dtype} for float64: it must keep the dtype of its inputs, "
                     "without astype or arrays of another dtype.")


def of_rules(point: Point) -> tuple[int, Diagnosis] | None:
    """Rules that write into g or what was saved, or whose result depends on what was computed in between."""
    for i in point.vary:
        g, saved = point.g.copy(), {n: v.copy() for n, v in point.values.items() if isinstance(v, np.ndarray)}
        point.forward(point.inputs)  # what it leaves behind is then of this point
        first = _given(point, i, g)
        changed = next((n for n, v in saved.items() if not np.array_equal(v, point.values[n], equal_nan=True)), None)
        if not np.array_equal(g, point.g) or changed:
            for n, v in saved.items():
                point.values[n][...] = v
            return i, Diagnosis("in place", f"{changed or 'g'!r} is changed: {IN_PLACE}")
        if first is None or _remembered(point, i) is None:
            continue
        point.forward([0.9 * x if k in point.vary else x for k, x in enumerate(point.inputs)])
        second = _given(point, i, point.g.copy())
        point.forward(point.inputs)
        if second is None or not np.array_equal(first, second, equal_nan=True):
            return i, Diagnosis("state", f"the rule reads the global {_remembered(point, i)!r}, which a later call of "
                                "the forward changes before backward comes; let the rule name what it needs: an "
                                "input, out, or what the forward returns with Residuals.")
    return None


def _given(point: Point, i: int, g: np.ndarray) -> np.ndarray | None:
    op: Any = point.op
    parents = [p if k == i else None for k, p in enumerate(point.node.parents)]
    try:
        with setting("recording", False), np.errstate(all="ignore"):
            c = op.cotangents(point.node, g, parents)[i]
        return None if c is None else np.array(c)
    except Exception:
        return None


def _remembered(point: Point, i: int) -> str | None:
    """A global of the file that is not a function, a class or a module, and that a rule reads."""
    op: Any = point.op
    entry = op.joint if op.joint is not None else op.rules.get(0 if op.variadic else i)
    if entry is None or not hasattr(entry[0], "__code__"):
        return None
    known = namespace(entry[0])
    used = [x.argval for x in dis.get_instructions(entry[0]) if x.opname in ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME")]
    return next((n for n in used if n in known and not callable(known[n])
                 and not isinstance(known[n], ModuleType | Primitive | int | float | str)
                 or n in _assigned(op.__wrapped__)), None)


def _assigned(function: Any) -> Sequence[str]:
    return [x.argval for x in dis.get_instructions(function) if x.opname in ("STORE_GLOBAL", "STORE_DEREF")]
