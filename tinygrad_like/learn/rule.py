"""A rule at some points, and what can be asked of it: would this be right instead?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..ops.composite import Composite
from . import repair
from .measure import Point, close, fitted
from .source import Source, parameters, source

Array = np.ndarray


class Diagnosis(NamedTuple):
    """A kind of mistake in one word, a sentence, and the line if it is known better than that of the rule."""

    kind: str
    text: str
    line: int | None = None


class Rule:
    """The rule of one input of an op, at some points."""

    def __init__(self, points: Sequence[Point], i: int):
        self.points, self.i, self.op = list(points), i, points[0].op
        op: Any = self.op
        entry = op.joint if op.joint is not None else op.rules.get(0 if op.variadic else i)
        self.joint = op.joint is not None
        self.function: Callable = entry[0]
        self.names = ["wanted", *op.saved] if isinstance(op, Composite) else parameters(entry[0])[1:]
        self.input = points[0].input_name(i)

    @cached_property
    def source(self) -> Source:
        return source(self.function)

    def raw(self, point: Point, g: Array | None = None) -> Array | None:
        """What the rule gives, or None if it raises."""
        try:
            c = point.call_rule(self.function, self.names, self.i, point.g if g is None else g, self.joint)
        except Exception:
            return None
        return c if c.dtype.kind in "fiub" else None

    @cached_property
    def running(self) -> list[tuple[Point, Array]]:
        """The points at which the rule gives something that fits, with that."""
        found = []
        for point in self.points:
            c = self.raw(point)
            c = None if c is None or c.dtype.kind != "f" else fitted(c, point.inputs[self.i].shape)
            if c is None:
                continue
            try:
                point.analytic(self.i)
            except Exception:  # what it gives for other inputs may be what is wrong
                continue
            found.append((point, c))
        return found

    @cached_property
    def wrong(self) -> list[tuple[Point, Array]]:
        """Those of the running points at which it is wrong."""
        return [(p, c) for p, c in self.running if not close(p.analytic(self.i), p.numeric(self.i))]

    def right_at(self, point: Point) -> bool:
        """Whether the rule is right at a point."""
        return self._right(point, self.raw)

    def explains(self, predict: Callable[..., Any]) -> bool:
        """Whether `predict(point)` is what differences give, at every point.

        A point of which nobody said that the op should take it, and at which neither the rule nor `predict` works,
        says nothing.
        """
        for point in self.points:
            unsaid = point.tried and point is not self.points[0] and not point.changed
            if not self._right(point, predict, lenient=unsaid and self.raw(point) is None):
                return False
        return True

    def explains_running(self, predict: Callable[..., Any]) -> bool:
        """The same where the rule itself runs; its error elsewhere is then a consequence."""
        return bool(self.running) and all(self._right(point, predict) for point, _ in self.running)

    def _right(self, point: Point, predict: Callable[..., Any], lenient: bool = False) -> bool:
        try:
            c = predict(point)
        except Exception:
            return lenient
        c = np.asarray(c)
        if c.dtype.kind != "f":
            return False
        c = fitted(c, point.inputs[self.i].shape)
        return lenient if c is None else close(c, point.wanted(self.i))

    def repaired(self, families: Sequence[Callable], seconds: float) -> repair.Repair | None:
        """A change of the rule's source that makes it right at every point."""
        def right(made: Callable, names: list[str]) -> bool:
            for point in self.points:
                lenient = point.tried and point is not self.points[0] and not point.changed
                for i in point.vary if self.joint else [self.i]:
                    if not Rule(self.points, i)._right(
                            point, lambda p, i=i: p.call_rule(made, names, i, p.g, self.joint), lenient):
                        return False
            return True

        values = self.points[0].values
        arrays = [n for n, v in values.items()
                  if isinstance(v, float) or (isinstance(v, np.ndarray) and v.dtype.kind == "f")]
        return repair.find(self.function, self.source, self.names, list(values), arrays, right, families, seconds)
