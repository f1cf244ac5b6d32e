"""Gradients with respect to any Tensors, gradients of inner Tensors, and hooks on complete gradients."""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.basics import basics
from ..core.graph import Node, setting, tick, walk
from ..core.listener import effect, tell
from ..core.tensor import Tensor, _adding, wrap


class Handle:
    """The handle of a hook: `remove()`, calling it, or leaving its `with` block removes the hook."""

    def __init__(self, hooks: list[Callable], hook: Callable, removed: Callable[[], Any] | None = None):
        self._hooks, self._hook, self._removed = hooks, hook, removed

    def remove(self) -> None:
        hooks, self._hooks = self._hooks, []  # a second time does nothing
        if self._hook in hooks:
            hooks.remove(self._hook)
        if self._removed is not None:
            self._removed()

    __call__ = remove

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *error: Any) -> None:
        self.remove()


def _set_grad(x: Tensor, gradient: Tensor | None) -> None:
    """x.grad = gradient. Raises TypeError unless it is another Tensor, RuntimeError for another dtype or shape."""
    if gradient is not None:
        if not isinstance(gradient, Tensor) or gradient is x:
            got = "this Tensor itself" if gradient is x else type(gradient).__name__
            raise TypeError(f"grad: a gradient must be another Tensor, or None, got {got}")
        if gradient._data.shape != x._data.shape or gradient.dtype is not x.dtype:
            raise RuntimeError(f"grad: a gradient must be {x.dtype} {x.shape} like its Tensor, got "
                               f"{gradient.dtype} {gradient.shape}; cast or reshape it, or change .data first")
    tell("new gradient", x)
    x._grad = gradient


class Gradients:
    """The part of Tensor for gradients and hooks."""

    grad: Tensor | None = property(operator.attrgetter("_grad"), _set_grad,  # type: ignore[assignment]
                                   lambda self: _set_grad(self, None))

    def zero_grad(self: Any) -> None:
        self.grad = None

    def gradient(self: Any, *targets: Tensor, gradient: Any = None, create_graph: bool = False,
                 retain_graph: bool | None = None, materialize_grads: bool = False) -> list[Tensor]:
        """The gradients of this Tensor with respect to `targets`, in order; leaves every `.grad` alone.

        It walks, and frees, only the graph between the two: after `dh, = loss.gradient(h)`, `h.backward(dh)` continues.

        gradient: the cotangent of this Tensor (1 for a single element).
        retain_graph: keep the graph (default: create_graph).
        materialize_grads: return zeros for a target this Tensor does not depend on, instead of raising ValueError.
        """
        retain = create_graph if retain_graph is None else retain_graph
        found = self._gradients("gradient", targets, gradient, create_graph, retain)
        for i, (t, c) in enumerate(zip(targets, found, strict=True)):
            if c is None and not materialize_grads:
                raise ValueError(f"gradient: the result does not depend on target {i} (shape {t.shape}); "
                                 "pass materialize_grads=True to get zeros")
        return [wrap(np.zeros(t.shape, t.dtype)) if c is None else c for t, c in zip(targets, found, strict=True)]

    def _gradients(self: Any, who: str, targets: Any, gradient: Any, create_graph: bool, retain: bool) -> list:
        """The gradients with respect to targets; None for a target that this Tensor does not depend on."""
        g = self._seed(who, gradient, create_graph)
        for i, t in enumerate(targets):
            if not isinstance(t, Tensor) or not t.requires_grad:
                raise ValueError(f"{who}: target {i}, a {type(t).__name__}, is not a Tensor that requires grad; pass "
                                 "Tensors one by one, made with requires_grad=True before use")
        if not targets:
            return []  # the walk takes no targets as all leaves
        with setting("recording", create_graph), setting("filling", False):
            owned: set = set()
            wanted = [t.node or t for t in targets]
            table = walk(self.node or self, g, targets=set(wanted), retain=retain, plus=basics.plus, owned=owned)
            found: dict[Any, Any] = {}
            given: list[Tensor | None] = []
            for t, key in zip(targets, wanted, strict=True):
                if key in found:  # a repeated target: hooks run once, and memory is not shared
                    given.append(None if found[key] is None else basics.clone(found[key]))
                else:
                    c = table.get(key)
                    given.append(found.setdefault(key, None if c is None else t._completed(c, key in owned)))
            return given

    def _gradients_of(self: Any, who: str, inputs: Any, *options: Any) -> list[tuple]:
        """(x, its gradient) for each input that this Tensor depends on."""
        targets = [inputs] if isinstance(inputs, Tensor) else list(inputs)
        if not targets:
            raise ValueError(f"{who}: inputs is empty; leave it out for all leaves")
        found = self._gradients(who, targets, *options)
        return [(x, c) for x, c in zip(targets, found, strict=True) if c is not None]

    def register_hook(self: Any, hook: Callable[[Tensor], Tensor | None]) -> Handle:
        """Call `hook(gradient)` when this Tensor's gradient is complete; a result other than None replaces it.

        Returns a handle, whose `remove()` removes the hook.
        """
        if not self.requires_grad:
            raise RuntimeError("register_hook: this Tensor does not require grad")

        def call(g):
            given = g if isinstance(g, Tensor) else wrap(np.array(g))
            new = hook(given)
            if new is None:
                return g
            if not isinstance(new, Tensor) or new.shape != given.shape or new.dtype is not given.dtype:
                got = f"{new.dtype} {new.shape}" if isinstance(new, Tensor) else type(new).__name__
                raise ValueError(f"register_hook: the hook must return None or a Tensor, {given.dtype} {given.shape}; "
                                 f"got {got}")
            return new if isinstance(g, Tensor) else new._data

        if self.node is not None:
            self.node.add_hook(call)
            hooks = self.node.details().hooks
        else:
            hooks = self._hooks = self._hooks or []
            hooks.append(call)
        return Handle(hooks, call)

    def retain_grad(self: Any) -> Tensor:
        """Make backward fill the `.grad` of this inner Tensor too, after its hooks; returns the Tensor."""
        if not self.requires_grad:
            raise RuntimeError("retain_grad: this Tensor does not require grad")
        if self.node is not None:
            ref = weakref.ref(self)  # weak: a reference from the node would be a cycle

            def keep(g):
                t = ref()
                if t is not None:
                    with _adding:
                        c = basics.own(g, False)
                        t._grad = c if t._grad is None else t._grad + c

            self.node.details().keep = keep
        return self


def zero_gradients(of: list[Tensor], set_to_none: bool) -> None:
    """Clear the gradients of Tensors, or set those that exist to zeros in place."""
    cleared = [x for x in of if set_to_none or x._grad is None]
    tell("new gradient", *cleared)
    for x in cleared:
        x._grad = None
    for x, grad in [(x, x._grad) for x in of if x._grad is not None]:
        if grad.node is not None or not grad._data.flags.writeable:
            x.grad = wrap(np.zeros(x.shape, x.dtype))
        else:
            tell("gradient", x)
            effect("assign", operator.setitem, grad._data, ..., np.zeros(x.shape, x.dtype), writes=[grad._data])
            grad.touch()


# Nodes of calls that are not ops: each output may have a node, whose parent is the call's node ------------------------


def node_of(op: Any, parents: list, shape: tuple, dtype: Any, saved: Any = ()) -> Node:
    """A node for an `op` with a name and `pull(node, g, parents)`, which returns the parents' cotangents."""
    node = Node()
    node.op, node.parents, node.saved, node.extra = op, parents, saved, None
    node.order, node.shape, node.dtype = tick(), shape, dtype
    return node


def output_of(node: Node, x: Tensor) -> Tensor:
    """A Tensor on the memory of x, as this node's output."""
    y = wrap(x._data)
    y.node, y.requires_grad = node, True
    version = node.details().version = x.shared_version()
    version.show(y)
    return y


class Bundle(dict):
    """The cotangents of a call's outputs by number, which form the cotangent of its node."""

    shape, dtype = (), None

    def __add__(self, other: Bundle) -> Bundle:
        return Bundle({**self, **{i: basics.plus(self[i], c, False) if i in self else c for i, c in other.items()}})


class Output:
    """The op of one of several outputs: it passes its cotangent on to the call's node."""

    fresh = saves = False

    def __init__(self, call: Node, number: int):
        self.name, self.number = call.op.name, number

    def pull(self, node: Node, g: Any, parents: list) -> list:
        return [None if parents[0] is None else Bundle({self.number: g})]


def output_node(call: Node, number: int, shape: tuple, dtype: Any) -> Node:
    """A node for one output of a call."""
    return node_of(Output(call, number), [call], shape, dtype)
