"""Where graphs end, since captured functions have none: at what they are given, and at what they return."""

from __future__ import annotations

import weakref
from typing import Any

from ..core.graph import Node, tick
from ..core.tensor import Tensor
from .instructions import Refused
from .pytree import alive, tensors_in


class _End:
    """In place of an op: a walk cannot go on here."""

    fresh, saves = False, False

    def __init__(self, name: str, why: str):
        self.name, self.why = name, why

    def pull(self, node: Node, g: Any, parents: Any):
        raise Refused(f"capture: {self.why}")


def end(t: Tensor, name: str, why: str) -> Node:
    """A node for a copy of t, at which backward raises Refused."""
    node = Node()
    node.op, node.parents, node.saved, node.extra = _End(name, why), (), None, None
    node.order, node.shape, node.dtype = tick(), t.shape, t.dtype
    return node


def end_of_result(t: Tensor) -> Node:
    return end(t, "a captured function", "backward of a result of a captured function, which has no graph; call it "
               "inside of the function, or take capture off it")


class Ends:
    """Results of recorded calls that stand on a graph, and whether that is for anybody.

    They may be for a backward outside. Or they are only looked at, such as the norm of some weights.
    """

    def __init__(self) -> None:
        self.walked = False
        self.calls: list[list[weakref.ref]] = []

    def add(self, result: Any, inside: bool) -> None:
        """inside: whether the function calls backward itself; if it does not, it is likely that somebody else does."""
        nodes = [t.node for t in tensors_in(result) if t.node is not None and alive(t.node)]
        self.walked = self.walked or not inside
        for node in nodes:
            node.add_hook(self._walk)
        self.calls.append([weakref.ref(node) for node in nodes])

    def _walk(self, g: Any) -> None:
        self.walked = True

    def too_early(self) -> bool:
        """Whether there are results that stand on a graph, and too few to say what for."""
        return len(self.calls) < 3 and not self.walked and any(self.calls)

    def may_be_walked(self) -> bool:
        """Whether somebody has walked one, or keeps one of a call before the last two, which variables may hold."""
        return self.walked or any([node() is not None for nodes in self.calls[:-2] for node in nodes])
