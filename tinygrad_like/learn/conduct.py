"""Side effects that forwards and rules must not have: changing their inputs, or keeping state."""

from __future__ import annotations

from typing import Any

import numpy as np

from .measure import Point
from .remedy import IN_PLACE
from .rule import Diagnosis, Rule


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
    op: Any = point.op
    for i in point.vary:
        if op.joint is None and (0 if op.variadic else i) not in op.rules:
            continue
        rule, g = Rule([point], i), point.g.copy()
        saved = {n: v.copy() for n, v in point.values.items() if isinstance(v, np.ndarray)}
        point.forward(point.inputs)  # what it leaves behind is then of this point
        first = rule.raw(point, g)
        changed = next((n for n, v in saved.items() if not np.array_equal(v, point.values[n], equal_nan=True)), None)
        if not np.array_equal(g, point.g) or changed:
            for n, v in saved.items():
                point.values[n][...] = v
            return i, Diagnosis("in place", f"{changed or 'g'!r} is changed: {IN_PLACE}")
        point.forward([0.9 * x if k in point.vary else x for k, x in enumerate(point.inputs)])
        second = rule.raw(point, point.g.copy())
        point.forward(point.inputs)
        if first is not None and (second is None or not np.array_equal(first, second, equal_nan=True)):
            return i, Diagnosis("state", "the rule gives something else if the forward is called once more before "
                                "backward comes, as where the forward leaves something in a global; let the rule name "
                                "what it needs: an input, out, or what the forward returns with Residuals.")
    return None
