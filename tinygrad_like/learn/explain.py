"""Which op makes the gradient of a function wrong, and why: gradcheck adds this to its error."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.graph import setting
from ..core.primitive import Primitive
from ..core.tensor import Tensor
from ..transforms.switches import after
from .check import check_op
from .measure import LARGEST, Point

_SECONDS = 3.0  # for all ops together
_POINTS = 3  # of one op


def explain(f: Callable, inputs: Sequence[Any]) -> str:
    """A report on the first op called by f(*inputs) whose rule is wrong; or what else it may be."""
    calls: dict[Primitive, list[tuple]] = {}
    kept: list[Tensor] = []  # so that no id is used twice
    reached: set[int] = set()

    def watch(op: Any, given: Sequence[Any], options: dict, y: Tensor) -> None:
        kept.extend([x for x in given if isinstance(x, Tensor)] + [y])
        reached.update(id(x) for x in given)
        if isinstance(op, Primitive) and y.node is not None and y.node.op is op:
            calls.setdefault(op, []).append((given, options))

    xs = [Tensor(x, requires_grad=True) if _floating(x) else x for x in inputs]
    with after(watch), setting("recording", True):
        f(*xs)
    until = time.thread_time() + _SECONDS
    for op, found in calls.items():
        points = _points(op, found)
        if points and time.thread_time() < until:
            findings = check_op(op, points)
            if findings:
                return str(findings[0])
    names = ", ".join(sorted({op.name.lstrip("_") for op in calls}))
    off = [i for i, x in enumerate(xs) if isinstance(x, Tensor) and x.requires_grad and id(x) not in reached]
    if off:
        return f"No op was called on input {off[0]}: f takes it off the graph (.data, .numpy(), NumPy's functions)."
    return (f"Every op that f calls is right by itself ({names}). So f takes something off the graph (detach, .data, "
            ".numpy(), float()), or is not smooth at these inputs.")


def _floating(x: Any) -> bool:
    return isinstance(x, Tensor | np.ndarray | np.generic) and x.dtype.kind == "f"


def _points(op: Primitive, calls: list[tuple]) -> list[Point]:
    """A few calls of an op, of different shapes, small enough to be looked into."""
    points: list[Point] = []
    seen = set()
    for given, options in calls:
        shapes = tuple(np.shape(x._data if isinstance(x, Tensor) else x) if hasattr(x, "shape") else () for x in given)
        if shapes in seen or len(points) >= _POINTS or max(map(_size, shapes), default=0) > LARGEST:
            continue
        seen.add(shapes)
        point = Point(op, given, options)
        if point.vary and point.out.size <= LARGEST:
            points.append(point)
    return points


def _size(shape: tuple) -> int:
    return int(np.prod(shape))
