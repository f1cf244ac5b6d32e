"""Reverse-mode differentiation: the recorded graph, the backward walk, and each thread's mode.

Nothing here knows arrays or mathematics. A cotangent is anything with `+`, and `tests/core/test_autograd.py` runs this
file on plain floats. What a cotangent means is up to the op (`dispatch.py`).

The walk adds cotangents in place where it may. It owns a buffer if nothing else refers to it: its own sums, and the
results of rules marked `fresh`, which make only new arrays. An owned buffer may be written to, and may become a
gradient without a copy. Once its node leaves the heap, it is no longer owned, since hooks and rules then see it and may
keep it.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable
from heapq import heappop, heappush
from typing import Any

# One clock stamps recorded ops and in-place changes, so comparing two ticks tells which came later.
tick = itertools.count(1).__next__

# The graph ------------------------------------------------------------------------------------------------------------


class Node:
    """One recorded op: where its inputs came from and what its VJP rules need.

    A parent is the Node that made the input, or the leaf itself, or None if no gradient flows there. No node knows its
    children, so dropping the output frees the graph at once, without the garbage collector.
    """

    __slots__ = ("op", "parents", "saved", "order", "shape", "dtype", "extra", "__weakref__")

    op: Any  # `pull(node, g, parents)` returns cotangents; `fresh`: see above; `saves`: whether its nodes hold values
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


class Extra:  # rarely needed fields: hooks, who keeps the gradient, the version if there are views, the user's line
    __slots__ = ("hooks", "keep", "version", "line")

    def __init__(self):
        self.hooks, self.keep, self.version, self.line = [], None, None, None

# The walk -------------------------------------------------------------------------------------------------------------


def plus(total, c, owned: bool):
    """total + c, in the buffer of total if it is owned, for any values. For Tensors, see `ops/cotangents.py`."""
    if owned:
        total += c
        return total
    return total + c


def walk(root, g, *, targets=(), since: int = 0, retain: bool = False, plus: Callable = plus,
         owned: set | None = None) -> dict[Any, Any]:
    """Carry the cotangent `g` of `root` back through the graph: leaf (or target) -> cotangent.

    Nodes come from a heap, latest first. Every use of a value was recorded after it, so when a node comes up, its
    cotangent is complete. Nothing recurses: a graph may be any number of ops deep.

    targets: nodes whose cotangents are wanted besides the leaves'; the walk takes only paths that lead to one.
    since: stop at nodes recorded up to this tick, and return their cotangents.
    retain: keep the saved values; otherwise nodes that hold values are freed as the walk passes.
    plus: adds cotangents. owned: an empty set, which gets the keys of cotangents that the caller may keep and change.
    To understand the backward pass of a loss, skip each line with `needed` or `targets`.
    """
    table, owned = {root: g}, set() if owned is None else owned
    heap = [(-root.order, root)] if type(root) is Node else []
    first, needed = 0, None
    if targets:
        first = min([t.order if type(t) is Node else 0 for t in targets])  # leaves are older than any node
        needed = _leading_to(root, targets, first)
    while heap:
        node = heappop(heap)[1]
        g = table[node] if targets and node in targets else table.pop(node)
        owned.discard(node)
        parents = node.parents
        if needed is not None and (parents is not None or node.order == first):
            parents = [p if p in needed else None for p in parents or ()]
        if parents is None:
            raise freed(node)
        if (extra := node.extra) is not None:
            for hook in tuple(extra.hooks):  # a hook may remove itself
                g = g if (new := hook(g)) is None else new
            if node in targets:
                table[node] = g
            if extra.keep is not None and mode.filling:
                extra.keep(g)
        if needed is not None and all([p is None for p in parents]):
            continue  # nothing is wanted beyond this target
        op, fresh, i = node.op, node.op.fresh, -1
        for c in op.pull(node, g, parents):
            i += 1  # zip is slower
            parent = parents[i]
            if c is None:
                continue
            if parent not in table:
                table[parent] = c
                if fresh:
                    owned.add(parent)
                if type(parent) is Node and parent.order > since:
                    heappush(heap, (-parent.order, parent))
            else:
                total = table[parent]
                if fresh and parent not in owned:
                    total, c = c, total  # swapped, since only c is writable
                table[parent] = plus(total, c, fresh or parent in owned)
                owned.add(parent)
        if op.saves and not retain:
            node.parents = node.saved = None
    return table


def freed(node: Node) -> RuntimeError:
    return RuntimeError(f"backward: the graph through {node.op.name} was already freed by an earlier backward, even if "
                        "an exception stopped that one; compute the loss again, or pass retain_graph=True to the first")


def _leading_to(root, targets: Iterable, first: int) -> set:
    """All nodes on paths from `root` to `targets`, ends included; and freed nodes, for the walk to report.

    first: the tick of the oldest target; no path leads on from an older node.
    """
    seen, stack, nodes, needed = {root}, [root], [], set(targets)
    while stack:
        node = stack.pop()
        if type(node) is not Node or node.order <= first:
            continue
        if node.parents is None:
            needed.add(node)
        else:
            nodes.append(node)
            for parent in node.parents:
                if parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
    for node in sorted(nodes, key=lambda node: node.order):  # inputs before outputs
        if not needed.isdisjoint(node.parents):
            needed.add(node)
    return needed

# The mode -------------------------------------------------------------------------------------------------------------


class _Mode(threading.local):
    """The current settings of one thread. A ring adds fields of its own with `declare(field=default)`."""

    recording = True  # whether ops make nodes
    filling = True  # whether a walk fills .grad after retain_grad
    listener: Any = None  # see `listener.py`

    def declare(self, **defaults: Any) -> None:
        for field, value in defaults.items():
            setattr(type(self), field, value)


mode: Any = _Mode()


class setting:
    """Set a field of `mode` for a `with` block."""

    def __init__(self, field: str, value: Any):
        self.field, self.value = field, value

    def __enter__(self):
        self.before = getattr(mode, self.field)
        try:
            setattr(mode, self.field, self.value)
        except BaseException:  # Ctrl-C after the field was set: the block never starts, so it never ends
            setattr(mode, self.field, self.before)
            raise

    def __exit__(self, *error):
        setattr(mode, self.field, self.before)
