"""Module hooks: functions that run before and after the forward, and after backward has passed through the module."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tinygrad_like.core.graph import Node, mode
from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.methods.gradients import Bundle, Handle, node_of, output_node, output_of

if TYPE_CHECKING:
    from .module import Module


class Hooks:
    """The hooks of one module, by kind, in the order in which they were registered."""

    def __init__(self) -> None:
        self.before: list[Callable] = []
        self.after: list[Callable] = []
        self.backward: list[Callable] = []

    def add(self, module: Module, kind: str, hook: Callable) -> Handle:
        ref = weakref.ref(module)  # the module may hold the handle: avoid a cycle

        def removed() -> None:
            if not (self.before or self.after or self.backward) and (module := ref()) is not None:
                module._hooks = None  # makes calls fast again

        getattr(self, kind).append(hook)
        return Handle(getattr(self, kind), hook, removed)

    def call(self, module: Module, args: tuple, kwargs: dict) -> Any:
        """Run the module's forward with its hooks around it. A hook may remove itself while it runs."""
        for hook in list(self.before):
            new = hook(module, args)
            if new is not None:
                args = new if isinstance(new, tuple) else (new,)
        crossing = None
        if self.backward and mode.recording:
            crossing = _Crossing(module, list(self.backward))
            args = crossing.enter(args)
        output = module.forward(*args, **kwargs)
        for hook in list(self.after):
            new = hook(module, args, output)
            if new is not None:
                output = new
        return output if crossing is None else crossing.leave(output)


class _Crossing:
    """One call of a module with backward hooks: one gate before its inputs and another after its outputs.

    Backward passes the outputs' gate first, which stores `grad_output`, and the inputs' gate last, which calls the
    hooks with the complete `grad_input`; they may replace it.
    """

    def __init__(self, module: Module, hooks: list[Callable]):
        self.module, self.hooks = module, hooks
        self.grad_output: tuple = ()
        self.inputs = 0
        self.has_gate = False

    def enter(self, args: tuple) -> tuple:
        self.inputs = len(args)
        self.has_gate = any(isinstance(x, Tensor) and x.requires_grad for x in args)
        return tuple(_gate(args, self.at_inputs, "inputs of " + type(self.module).__name__))

    def leave(self, output: Any) -> Any:
        many = isinstance(output, tuple | list)
        outputs = list(output) if many else [output]
        if not all(isinstance(y, Tensor) for y in outputs):
            raise TypeError(f"full backward hook: {type(self.module).__name__} must return a Tensor, or a tuple or "
                            f"list of Tensors, got {type(output).__name__}")
        outputs = _gate(outputs, self.at_outputs, "outputs of " + type(self.module).__name__)
        if not many:
            return outputs[0]
        # A named tuple takes its fields as arguments; a list or tuple takes one sequence.
        return type(output)(*outputs) if hasattr(output, "_fields") else type(output)(outputs)

    def at_outputs(self, cotangents: list) -> list:
        self.grad_output = tuple(map(_shown, cotangents))
        if not self.has_gate:  # the first layer: its inputs are data, and backward ends here
            self._call_hooks((None,) * self.inputs)
        return cotangents

    def at_inputs(self, cotangents: list) -> list:
        given = tuple(map(_shown, cotangents))
        new = self._call_hooks(given)
        return cotangents if new is given else [_like(c, x) for c, x in zip(cotangents, new, strict=True)]

    def _call_hooks(self, grad_input: tuple) -> tuple:
        for hook in self.hooks:
            new = hook(self.module, grad_input, self.grad_output)
            if new is not None:
                new = new if isinstance(new, tuple) else (new,)
                self._check(new, grad_input)
                grad_input = new
        self.grad_output = ()
        return grad_input

    def _check(self, new: tuple, old: tuple) -> None:
        """Raise ValueError unless a replacement has a Tensor of the right shape for each gradient."""
        def shapes(grads: tuple) -> list:
            return [getattr(g, "shape", g) for g in grads]

        if shapes(new) != shapes(old):
            raise ValueError(f"full backward hook of {type(self.module).__name__}: the returned grad_input has "
                             f"shapes {shapes(new)}, but grad_input has {shapes(old)}")


def _shown(c: Any) -> Tensor | None:
    """A cotangent as a Tensor for the user's hook: the walk carries arrays, except under create_graph."""
    return c if c is None or isinstance(c, Tensor) else wrap(np.array(c))


def _like(c: Any, new: Tensor | None) -> Any:
    return new if new is None or isinstance(c, Tensor) else new._data.astype(c.dtype, copy=False)


# A gate is a node with one output per Tensor. The backward walk reaches it when all cotangents have arrived, and passes
# on the results of `receive`.


def _gate(values: Sequence, receive: Callable[[list], list], name: str) -> list:
    """`values` with each Tensor that requires grad replaced by an alias behind the gate."""
    parents = [(x.node or x) if isinstance(x, Tensor) and x.requires_grad else None for x in values]
    if not mode.recording or not any(p is not None for p in parents):
        return list(values)
    gate = node_of(_Gate(name, receive), parents, (), None)
    return [x if p is None else output_of(output_node(gate, i, x.shape, x.dtype), x)
            for i, (x, p) in enumerate(zip(values, parents, strict=True))]


class _Gate:
    fresh = saves = False  # passes its arguments on

    def __init__(self, name: str, receive: Callable[[list], list]):
        self.name, self.receive = name, receive

    def pull(self, node: Node, g: Bundle, parents: list) -> list:
        cotangents = self.receive([g.get(i) for i in range(len(parents))])
        return [c if p is not None else None for c, p in zip(cotangents, parents, strict=True)]
