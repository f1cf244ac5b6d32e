"""A recorded graph step by step, forward and backward: every value, every cotangent, and each rule's results.

The backward here is a slow version of the engine's walk (`core/graph.py`): it frees nothing, and keeps every term of a
summed cotangent.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.graph import Node, setting
from ..core.tensor import Tensor
from ..ops.cotangents import Scattered
from ..transforms.picture import Given, Watch, behind, opened, saved, with_data

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = tuple(os.path.join(os.path.dirname(_HERE), part, "") for part in ("tinygrad_like", "nn", "optim"))
_EXAMPLES = os.path.join(_HERE, "learn", "examples.py")  # ours, but it acts as a user's program
Key = Node | Tensor | Given


class Called(NamedTuple):
    """Facts known only during a call: inputs, options, output, the calling module, the line."""

    inputs: Sequence[Any]
    options: dict[str, Any]
    out: np.ndarray
    module: tuple[tuple[int, str], ...]  # id and class of the modules it happened in, outermost first
    line: str


class Calls(Watch):
    """Records everything about each recorded op call: `with calls: loss = ...`."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[Key, Called] = {}

    def note(self, op: Any, inputs: Sequence[Any], options: dict, y: Tensor) -> None:
        super().note(op, inputs, options, y)
        if y.node is None or y.node not in self.inputs or y.node in self.calls:
            return
        inside: list[tuple[int, str]] = []
        line = ""
        frame: Any = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_argcount:
                owner = frame.f_locals.get(frame.f_code.co_varnames[0])
                if hasattr(type(owner), "named_modules") and (id(owner), type(owner).__name__) not in inside:
                    inside.append((id(owner), type(owner).__name__))
            file = frame.f_code.co_filename
            if not line and (file == _EXAMPLES or not file.startswith(_OURS)):
                line = f"{file}:{frame.f_lineno}"
            frame = frame.f_back
        self.calls[y.node] = Called(self.inputs[y.node], dict(options), y._data, tuple(reversed(inside)), line)


class Step(NamedTuple):
    """One node of the backward walk: its cotangent, and the rule's result for each parent."""

    terms: list[tuple[Any, int, Any]]  # (the node it came from or None, which of its inputs, array)
    g: Any
    raw: list  # the rule's results, before undoing broadcasting
    given: list


class Trace:
    """A graph with its values, and a backward through it."""

    def __init__(self, y: Tensor, g: Any = None, calls: dict | None = None):
        self.root: Key = y.node or y
        self.parents = behind(y)
        self.calls: dict[Key, Called] = calls or {}
        self.values = self._values(y)
        self.inputs = self._inputs()
        self.steps: dict[Key, Step] = {}
        self.order: list[Key] = []  # nodes in backward's order, then the leaves
        self._walk(np.ones(y.shape, y.dtype) if g is None else np.asarray(g, y.dtype))

    @property
    def forward(self) -> list[Node]:
        return [n for n in self.parents if isinstance(n, Node)]

    def _inputs(self) -> dict[Any, list]:
        """The parents of every node, including inputs that need no gradient."""
        return with_data(self.parents, {n: c.inputs for n, c in self.calls.items()})

    @property
    def data(self) -> list[Given]:
        return list(dict.fromkeys(p for row in self.inputs.values() for p in row if isinstance(p, Given)))

    def _values(self, y: Tensor) -> dict[Key, np.ndarray]:
        """The known values: of watched calls, of leaves, and those saved by nodes."""
        known: dict[Key, np.ndarray] = {n: n._data for n in self.parents if isinstance(n, Tensor)}
        known[self.root] = y._data
        known |= {n: self.calls[n].out for n in self.parents if n in self.calls}
        for node in self.forward:
            out = getattr(node.op, "out", None)
            if out is not None and node.saved is not None:
                value: Any = node.saved[out]
                known.setdefault(node, value._data if isinstance(value, Tensor) else np.asarray(value))
            got = self.calls[node].inputs if node in self.calls else saved(node)
            for parent, x in zip(self.parents[node], got, strict=False):
                if parent is not None and isinstance(x, np.ndarray) and x.shape == parent.shape:
                    known.setdefault(parent, x)
        return known

    def _walk(self, g: np.ndarray) -> None:
        terms: dict[Key, list] = {self.root: [(None, 0, g)]}
        with setting("recording", False), np.errstate(all="ignore"):
            for node in reversed(self.forward):
                if node not in terms:
                    continue
                total, parents = _sum(terms[node]), self.parents[node]
                raw, given = pulled(node, total, parents)
                self.steps[node] = Step(terms[node], total, raw, given)
                self.order.append(node)
                for i, (parent, c) in enumerate(zip(parents, given, strict=True)):
                    if c is not None:
                        terms.setdefault(parent, []).append((node, i, c))
        for leaf in self.parents:
            if isinstance(leaf, Tensor) and leaf in terms:
                self.steps[leaf] = Step(terms[leaf], _sum(terms[leaf]), [], [])
                self.order.append(leaf)

    def inside(self, node: Node) -> Trace | None:
        """The definition of a composite, walked with the composite's cotangent."""
        if node not in self.steps:
            return None
        with Calls() as watch:
            found = opened(node)
        if found is None or not isinstance(found[0], Node):
            return None
        y = Tensor(watch.calls[found[0]].out)
        y.node, y.requires_grad = found[0], True
        inner = Trace(y, self.steps[node].g, watch.calls)
        inner.aliases = found[1]
        return inner

    aliases: Sequence[Any] = ()  # of an inner trace: its leaves, in the order of the composite's inputs


def pulled(node: Node, g: Any, parents: Sequence) -> tuple[list, list]:
    """The rule's results, and the cotangents passed to the parents."""
    op: Any = node.op
    given = [None if c is None else _array(c) for c in op.pull(node, g, parents)]
    raw = given
    if getattr(op, "joint", None) is None and any(
            c is not None and getattr(c, "shape", None) != getattr(g, "shape", None) for c in given):
        made = op.cotangents(node, g, parents) if hasattr(op, "cotangents") else given
        raw = [None if p is None else _array(c) for c, p in zip(made, parents, strict=True)]
    return raw, given


def _array(c: Any) -> Any:
    if isinstance(c, Scattered):
        return c.written()
    return c._data if isinstance(c, Tensor) else c


def _sum(terms: list) -> Any:
    total = terms[0][2]
    for _, _, c in terms[1:]:
        total = total + c
    return total


def watched(f: Callable[[], Tensor]) -> tuple[Tensor, dict]:
    """f() and the calls watched in it."""
    with Calls() as watch:
        y = f()
    return y, watch.calls
