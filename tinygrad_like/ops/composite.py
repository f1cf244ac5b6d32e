"""Ops defined by other ops. You read the definition, autograd differentiates it, and tests compare kernels against it.

    @composite
    def linear(x, weight, bias=None):
        y = x @ transpose(weight)
        return y if bias is None else y + bias
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.basics import basics
from ..core.graph import Node, mode, setting, tick, walk
from ..core.primitive import P, Primitive
from ..core.tensor import Tensor, wrap


class Composite(Primitive[P]):
    """An op that other ops define.

    Called on Tensors, it runs its definition, and the ops in it record their nodes. Where a kernel replaces it (see
    `accelerate`), it records a single node, and the kernel computes its cotangents. If the gradient needs a graph of
    its own, or the kernel returns NotImplemented, the definition is run again and differentiated, to any order.
    """

    kernel: Callable | None = None

    def __init__(self, definition: Callable[P, Any]):
        super().__init__(definition)
        self.definition = definition
        del self.forward  # see below
        self._redeclared()
        self.fresh = True  # `rerun` returns new arrays

    def accelerate(self, kernel: Callable, vjp: Callable | None = None, out: bool = False) -> None:
        """Have `kernel(*inputs, **options)` stand in for the definition, unless it returns NotImplemented.

        It works on arrays and returns (output, residuals), residuals being whatever else `vjp(g, wanted, *inputs,
        *options, residuals)` needs. vjp returns a new array for each input that is `wanted`, or NotImplemented. out:
        whether vjp takes the output too, as its last argument.
        """
        self.kernel, self.saved = kernel, [*self.inputs, *self.options, "residuals", *["out"] * out]
        self.joint = None if vjp is None else (vjp, [-1, *range(len(self.saved))])
        self._redeclared()

    def forward(self, *arrays, **options):
        """Run on arrays: the kernel, or else the definition."""
        found = NotImplemented if self.kernel is None else self.kernel(*arrays, **{**self.options, **options})
        return self.definition(*arrays, **options) if found is NotImplemented else found[0]

    def apply(self, inputs, options: dict):
        arrays = [x._data if isinstance(x, Tensor) else x for x in inputs]
        if not any([isinstance(x, Tensor) for x in inputs]):
            return super().apply(inputs, options)
        found, listener, options = NotImplemented, mode.listener, {**self.options, **options}
        try:
            self.check(self.contracts, arrays, options)
            if self.kernel is not None:
                found = self.kernel(*arrays, **options) if listener is None else listener.compute(
                    self.name, self.kernel, arrays, options)
            if found is NotImplemented:
                return self.definition(*inputs, **options)
        except Exception as error:
            y = self.failed(error, inputs, arrays, options)
            if y is NotImplemented:
                raise
            return y
        return self.record(inputs, arrays, options, found)

    def save(self, inputs, out, options: dict, residuals) -> tuple:  # type: ignore[override]
        given = [*inputs, *[options[name] for name in self.options], residuals]
        return tuple(given if self.out is None else [*given, out])

    def cotangents(self, node: Node, g, parents) -> list:
        if self.joint is not None and not mode.recording:
            cotangents = super().cotangents(node, g, parents)
            if cotangents is not NotImplemented:
                return cotangents
        with setting("recording", True):
            saved = self.values(node)
            inputs = saved[0] if self.variadic else saved[: len(self.inputs)]
            options = dict(zip(self.options, saved[len(self.inputs) :], strict=False))
            # Aliases of the inputs: a Tensor passed twice gets two cotangents, and the backward walk stops at the
            # aliases instead of running on into the graph below.
            inputs = [x if p is None else basics.identity(x) for x, p in zip(inputs, parents, strict=True)]
            since = tick()
            y = self.definition(*inputs, **options)
        found = rerun(y, g, since, [None if p is None else x.node for x, p in zip(inputs, parents, strict=True)])
        for i, p in enumerate(parents):
            if p is not None and found[i] is None:  # the definition does not depend on it
                zeros = np.zeros(p.shape, p.dtype)
                found[i] = wrap(zeros) if mode.recording else zeros
        return found


def rerun(y: Tensor, g, since: int, keys) -> list:
    """Cotangents of nodes and leaves older than `since`, from a graph recorded just now; None where there is none.

    Each is an array of its own, so an op that reruns is fresh.
    """
    owned: set = set()
    found = walk(y.node, g, since=since, retain=mode.recording, plus=basics.plus, owned=owned)
    found = {key: c if key in owned else basics.clone(c) for key, c in found.items()}
    return [found.get(key) for key in keys]


def composite(definition: Callable[P, Any]) -> Composite[P]:
    """Declare an op by its definition in other ops."""
    return Composite(definition)
