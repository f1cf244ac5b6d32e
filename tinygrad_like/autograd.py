"""Reverse-mode differentiation on one screen: the recorded graph, the switches, and the backward walk.

Nothing here knows arrays or mathematics. A cotangent is anything with `+`; what it means is the op's business
(`primitive.py`), and `tests/test_autograd.py` drives this file with plain floats.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from contextlib import ContextDecorator
from heapq import heappop, heappush
from typing import Any

# One clock stamps every recorded op and every in-place change, so "was this value changed after it was saved?"
# and "which op came later?" are both a comparison of two numbers.
tick = itertools.count(1).__next__


class Node:
    """One recorded op: where its inputs came from and what its VJP rules need.

    A parent is the Node that made the input, the leaf itself, or None if no gradient flows there. Nodes know their
    parents and never their children, so dropping the output frees the graph by reference counting alone.
    """

    __slots__ = ("op", "parents", "saved", "order", "shape", "dtype", "extra", "__weakref__")

    op: Any  # has a `name`, and `pull(node, g, parents)`, which gives the parents' cotangents
    parents: Any
    saved: Any
    order: int  # the tick at which it was recorded
    shape: Any
    dtype: Any
    extra: Extra | None

    def add_hook(self, hook) -> None:
        """Call `hook(cotangent)` when this node's cotangent is complete; a result other than None replaces it."""
        self.details().hooks.append(hook)

    def details(self) -> Extra:
        if self.extra is None:
            self.extra = Extra()
        return self.extra


class Extra:
    """What few nodes have: hooks, the version of an output that has views, the user's line (anomaly mode)."""

    __slots__ = ("hooks", "version", "line")

    def __init__(self):
        self.hooks, self.version, self.line = [], None, None


class _Mode(threading.local):
    recording = True
    anomaly = False


mode = _Mode()  # per thread


class Switch(ContextDecorator):
    """Set a field of `mode` for a `with` block or a decorated function, and restore it afterwards."""

    field: str
    value: bool

    def __enter__(self):
        self._before = getattr(mode, self.field)
        setattr(mode, self.field, self.value)
        return self

    def __exit__(self, *error):
        setattr(mode, self.field, self._before)

    def _recreate_cm(self):
        return type(self)()  # one instance per call: a decorated function may recurse


class no_grad(Switch):
    """Record nothing inside: results do not require grad. `with no_grad(): ...` or `@no_grad()`; per thread."""

    field, value = "recording", False


class enable_grad(Switch):
    """Record again inside a `no_grad` block. `with enable_grad(): ...` or `@enable_grad()`; per thread."""

    field, value = "recording", True


def is_grad_enabled() -> bool:
    """Whether ops called in this thread are being recorded."""
    return mode.recording


class recording:
    """Set whether ops are recorded, by value; the internal form of `no_grad` and `enable_grad`."""

    __slots__ = ("flag", "before")

    def __init__(self, flag: bool):
        self.flag = flag

    def __enter__(self):
        self.before, mode.recording = mode.recording, self.flag

    def __exit__(self, *error):
        mode.recording = self.before


def plus(total, c, owned: bool):
    """total + c; if the buffer of total is owned, it may be reused."""
    if owned:
        total += c
        return total
    return total + c


def walk(root, g, *, targets=(), since: int = 0, retain: bool = False, plus: Callable = plus) -> dict[Any, Any]:
    """Carry the cotangent `g` of `root` back through the graph: leaf (or target) -> cotangent.

    Nodes are taken from a heap, latest first. Every consumer of a value was recorded after the value was made, so
    when a node is taken its cotangent is complete. Nothing recurses: a graph may be any number of ops deep.

    targets: Nodes whose cotangents are wanted besides the leaves'; only paths leading to a target are walked.
    since: stop at nodes recorded up to this tick, and return their cotangents.
    retain: keep what the nodes saved; otherwise each is released as the walk passes.
    plus: how cotangents are added.
    """
    table = {root: g}
    owned = set()  # entries whose buffer was made here by an addition, and may be added to in place
    heap = [(-root.order, root)] if type(root) is Node else []
    needed = _leading_to(root, targets) if targets else None
    while heap:
        node = heappop(heap)[1]
        g = table[node] if node in targets else table.pop(node)
        if node.parents is None:
            raise RuntimeError(
                f"backward: the graph through {node.op.name} was already freed by an earlier backward; "
                "pass retain_graph=True to that one to walk it again"
            )
        if node.extra is not None:
            for hook in tuple(node.extra.hooks):  # a hook may remove itself
                g = _replaced(g, hook(g))
            if node in targets:
                table[node] = g
        parents = node.parents
        if needed is not None:
            parents = [p if p in needed else None for p in parents]
        for parent, c in zip(parents, node.op.pull(node, g, parents)):  # noqa: B905
            if c is None:
                continue
            if parent not in table:
                table[parent] = c
                if type(parent) is Node and parent.order > since:
                    heappush(heap, (-parent.order, parent))
            else:
                table[parent] = plus(table[parent], c, parent in owned)
                owned.add(parent)
        owned.discard(node)
        if not retain:
            node.parents = node.saved = None
    return table


def _replaced(g, new):
    return g if new is None else new


def _leading_to(root, targets: Iterable) -> set:
    """All on a path from `root` to one of `targets`, the targets included; and freed nodes, for the walk to report."""
    seen, stack, nodes, needed = {root}, [root], [], set(targets)
    while stack:
        node = stack.pop()
        if type(node) is Node and node.parents is None:
            needed.add(node)
        elif type(node) is Node:
            nodes.append(node)
            for parent in node.parents:
                if parent is not None and parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
    for node in sorted(nodes, key=lambda node: node.order):  # inputs before outputs
        if not needed.isdisjoint(node.parents):
            needed.add(node)
    return needed
