"""More points at which to check an op: options away from their defaults, and larger and smaller inputs."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.primitive import Primitive
from .inputs import chosen_options
from .measure import LARGEST, Point, close
from .source import source

_SCALES = (1.0, 3.0, -1.0, 0.3, 10.0, -10.0, 0.1, 100.0, -100.0)  # tried until an option makes a difference
_BEYOND = (10.0, -10.0, 0.1)  # of the inputs, so that both sides of most branches are met


def varied(op: Primitive, base: Sequence[Point]) -> tuple[list[Point], list[str]]:
    """The points and more of their kind; and which options could not be tried, as texts."""
    options, untried = _with_options(op, base)
    found = [*base, *options]
    for point in (base[0], *options):
        found += [there for scale in _BEYOND if (there := _scaled(point, scale)) is not None and _smooth(there)]
    return found, untried


def _smooth(point: Point) -> bool:
    """Whether differences tell the slopes there, as those of another step do."""
    return all(close(point.numeric(i), point.with_step(i, 3), 1e-7) for i in point.vary)


def _scaled(point: Point, scale: float) -> Point | None:
    """The point with those inputs multiplied that were filled in; None if the op is not finite there."""
    inputs = [x * scale if k in point.filled else x for k, x in enumerate(point.inputs)]
    return _point(point, inputs, point.options) if point.filled and scale != 1 else None


def _point(point: Point, inputs: Sequence[Any], options: dict) -> Point | None:
    op: Any = point.op
    try:
        there = Point(op, point.like(inputs), options)
    except Exception:
        return None
    if there.out.dtype.kind != "f" or not 0 < there.out.size <= LARGEST or not np.isfinite(there.out).all():
        return None
    there.tried, there.filled, there.changed = point.tried, point.filled, point.changed
    return there


# Options --------------------------------------------------------------------------------------------------------------


def _with_options(op: Any, base: Sequence[Point]) -> tuple[list[Point], list[str]]:
    """For every option that nobody has chosen a point where it has another value; and one where all have."""
    found: list[Point] = []
    values: dict[str, Any] = {}
    untried = []
    for name, default in op.options.items():
        if name in chosen_options(op) or name in base[0].options:
            continue
        others = _with_others(base, name, _others(op, name, default))
        if not others:
            untried.append(f"{name} other than {default!r}")
        else:
            values[name] = others[0].options[name]
            found += others
    if len(values) > 1:
        there = _point(base[0], base[0].inputs, {**base[0].options, **values})
        if there is not None:
            there.changed = values
            found.append(there)
    return found, untried


def _with_others(base: Sequence[Point], name: str, values: Sequence[Any]) -> list[Point]:
    """Points at which one or two other values of an option make a difference."""
    for scale in _SCALES:
        for point in base:
            before = point if scale == 1 else _scaled(point, scale)
            found = []
            for value in values:
                there = _point(before, before.inputs, {**before.options, name: value}) if before is not None else None
                if before is not None and there is not None and not np.array_equal(there.out, before.out):
                    there.changed = {name: value}
                    found.append(there)
            if found:
                return found[:2]
    return []


def _others(op: Any, name: str, default: Any) -> list[Any]:
    """Values that an option may have instead of its default."""
    if isinstance(default, bool):
        return [not default]
    if "axis" in name or "dim" in name:
        return [n for n in (0, 1, -1, -2) if n != default]
    if isinstance(default, int):
        return [default + 1, default - 1, default + 2]
    if isinstance(default, float):
        if abs(default) < 0.05:
            return [0.3, -0.3, 0.7]
        return [0.6 * default, 1.7 * default] if 0 < default < 1 else [1.7 * default, 0.6 * default]
    if isinstance(default, str):
        tree = source(op.__wrapped__).tree
        written = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
                   and n.value.isidentifier()] if tree is not None else []
        return [w for w in dict.fromkeys([*written, "sum", "mean", "none"]) if w != default]
    return []
