"""A rule at some points, and trials of changed rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..ops.composite import Composite
from .measure import Point, close, fitted
from .source import Source, parameters, source
from .special import wrong_at_special_points

Array = np.ndarray


class Diagnosis(NamedTuple):
    """A kind of mistake in one word, a sentence, and the line, if known more precisely than the rule's."""

    kind: str
    text: str
    line: int | None = None


def unsaid(point: Point, points: Sequence[Point]) -> bool:
    """Whether the checker found the point by trial; an error of a rule there proves nothing."""
    return point.tried and point is not points[0] and not point.changed


class Rule:
    """The rule of one input of an op, at some points."""

    def __init__(self, points: Sequence[Point], i: int):
        self.i, self.op = i, points[0].op
        op: Any = self.op
        entry = op.joint if op.joint is not None else op.rules.get(0 if op.variadic else i)
        self.joint = op.joint is not None
        self.function: Callable = entry[0]
        self.names = ["wanted", *op.saved] if isinstance(op, Composite) else parameters(entry[0])[1:]
        self.input = points[0].input_name(i)
        self.points = [p for p in points if not unsaid(p, points) or self.raw(p) is not None]

    @cached_property
    def source(self) -> Source:
        return source(self.function)

    def raw(self, point: Point, g: Array | None = None) -> Array | None:
        """The rule's result, or None if it raises."""
        try:
            c = point.call_rule(self.function, self.names, self.i, point.g if g is None else g, self.joint)
        except Exception:
            return None
        return c if c.dtype.kind in "fiub" else None

    @cached_property
    def running(self) -> list[tuple[Point, Array]]:
        """(point, result) wherever the rule returns a result that fits."""
        found = []
        for point in self.points:
            c = self.raw(point)
            c = None if c is None or c.dtype.kind != "f" else fitted(c, point.inputs[self.i].shape)
            if c is None:
                continue
            try:
                point.analytic(self.i)
            except Exception:  # it fails for other cotangents
                continue
            found.append((point, c))
        return found

    @cached_property
    def wrong(self) -> list[tuple[Point, Array]]:
        """The running points where it is wrong."""
        return [(p, c) for p, c in self.running if not close(p.analytic(self.i), p.numeric(self.i))]

    def right_at(self, point: Point) -> bool:
        """Whether the rule is right at a point."""
        c = self.raw(point)
        return c is not None and self.fits(point, c)

    def left(self, function: Callable) -> str:
        """Where another rule, right at all points, is wrong: at zeros or ties."""
        if isinstance(self.op, Composite):
            return ""
        op: Any = object.__new__(self.op.family)
        vars(op).update(vars(self.op), rules={**self.op.rules}, saved=[*self.op.saved])
        if self.joint:
            op.joint_vjp(function)
        else:
            op.vjp(**{op.inputs[0 if op.variadic else self.i]: function})
        found = (f for p in self.points[:2] for f in wrong_at_special_points(Point(op, p.like(p.inputs), p.options)))
        return next((f", except where {entry.partition(':')[0]}" for i, entry, _ in found if i == self.i), "")

    def fits(self, point: Point, c: Array, i: int | None = None) -> bool:
        """Whether a gradient of this input, or of another, is right at a point."""
        i = self.i if i is None else i
        made = fitted(c, point.inputs[i].shape) if c.dtype.kind == "f" else None
        return made is not None and close(made, point.wanted(i))
