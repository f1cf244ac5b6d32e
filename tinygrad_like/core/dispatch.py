"""Call an op, and pull the cotangent of its output back to its inputs.

Called on Tensors, an op returns a Tensor and records a node; called on arrays, it just runs its forward. So rules
written in ops run on arrays for plain gradients, and on Tensors under `create_graph=True`.

A call unwraps the arrays, runs the forward and makes a node (`apply`, `record`); on the way back, `unbroadcast` undoes
broadcasting. When `ops` is imported, `ops/operands.py` wraps `run`, `record`, `failed` and `pull`, and replaces
`__call__`: it decides what may stand in for a Tensor, and a result's dtype.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import numpy as np

from ..dtypes import FLOATS
from ..errors import Contracts, P, blame, explain
from .basics import basics
from .graph import Node, freed, mode, tick
from .tensor import Tensor, wrap

NOTHING: dict = {}  # the residuals of a forward that returns none
declared: WeakSet[Any] = WeakSet()  # all ops, for tests that loop over them


class Op(Contracts[P]):
    """A forward on arrays and its VJP rules, as `Primitive` declares them, ready to be called."""

    save: Any  # returns the values that a node saves
    array_rules: Any = property(lambda self: self.rules)  # the rules on arrays; `ops/on_arrays.py` has faster ones

    def __init__(self, forward: Callable[P, Any]):
        self.forward: Any = forward
        self.name, self.called = forward.__name__, forward.__name__.lstrip("_")  # its name in errors
        self.__name__, self.__doc__, self.__module__ = forward.__name__, forward.__doc__, forward.__module__
        self.__wrapped__ = forward
        self.contracts, self.explanations = [], []
        kinds = inspect.signature(forward).parameters.values()
        positional = [p for p in kinds if p.kind is not p.KEYWORD_ONLY]
        self.inputs = [p.name for p in positional]
        self.required = sum(p.default is p.empty for p in positional)  # the number of inputs without a default
        self.options: dict[str, Any] = {p.name: p.default for p in kinds if p.kind is p.KEYWORD_ONLY}
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in kinds)
        self.arity = None if self.variadic else len(positional)
        if "out" in self.inputs or "out" in self.options:
            raise TypeError(f"{self.name}: 'out' names the output in VJP rules; call the parameter something else")
        # Next to each rule, and to the joint one, are the positions in `saved` of the values that it names.
        self.rules: dict[int, tuple[Callable, list[int]]] = {}
        self.joint: tuple[Callable, list[int]] | None = None
        self.saved: list[str] = []  # the names of the values that a node saves
        self.out: int | None = None  # the position of the output among them
        self.differentiable = False  # whether it has rules
        self.fresh = False  # whether its cotangents are arrays of their own (see `primitive.fresh`)
        self.saves = False  # whether its nodes hold values, rather than shapes and options alone
        self.family: Any = type(self)  # not the class that `kernels/specialize.py` makes once it has `met` the op
        self.met = self.ours = False  # ours: declared in `ops`
        declared.add(self)

    def __repr__(self) -> str:
        return f"<op {self.name}({', '.join([*self.inputs, *self.options])})>"

    # Forward --------------------------------------------------------------------------------------------------------

    def __call__(self, *inputs: P.args, **options: P.kwargs) -> Tensor:
        return self.run(inputs, options)

    def run(self, inputs, options: dict):
        """Run `apply`, or the listener in its place."""
        if mode.listener is not None and any([isinstance(x, Tensor) for x in inputs]):
            return mode.listener.op(self, inputs, options, self.apply)
        return self.apply(inputs, options)

    def apply(self, inputs, options: dict):
        """Run the forward on the arrays of Tensors and on numbers; if there is a Tensor, record the op."""
        arrays = [x._data if isinstance(x, Tensor) else x for x in inputs]
        tensors = any([isinstance(x, Tensor) for x in inputs])
        try:
            if self.contracts:
                self.check(self.contracts, arrays, options)
            if tensors and mode.listener is not None:
                out = mode.listener.compute(self.name, self.forward, arrays, options)
            else:
                out = self.forward(*arrays, **options)
        except Exception as error:
            if (y := self.failed(error, inputs, arrays, options)) is NotImplemented:
                raise
            return y
        if tensors:
            return self.record(inputs, arrays, options, out)
        return out[0] if type(out) is tuple else out

    def record(self, inputs, arrays, options: dict, out, residuals=NOTHING) -> Tensor:
        """The Tensor that shows the array `out`, with its node if one of the inputs requires grad."""
        if type(out) is tuple:
            out, residuals = out
        y = wrap(out := np.asarray(out))
        parents = [(x.node or x) if isinstance(x, Tensor) and x.requires_grad else None for x in inputs]
        recorded = mode.recording and self.differentiable and out.dtype.kind in FLOATS
        if recorded and any([p is not None for p in parents]):
            y.node = node = Node()
            node.op, node.parents, node.extra = self, parents, None
            node.saved = self.save(inputs, out, options, residuals)
            node.order, node.shape, node.dtype, y.requires_grad = tick(), out.shape, out.dtype, True
        if out.base is not None or any([x is out for x in arrays]):
            basics.share_version(y, inputs)
        return y

    def failed(self, error: Exception, inputs, arrays, options: dict):
        """Raise an error that the caller understands."""
        explain(self, error, arrays, options)
        return NotImplemented

    # Backward -------------------------------------------------------------------------------------------------------

    def pull(self, node: Node, g, parents) -> list:
        """Cotangents of the inputs from the cotangent `g` of the output; None where `parents` has None."""
        cotangents = self.cotangents(node, g, parents)
        for i, parent in enumerate(parents):
            if parent is None:
                cotangents[i] = None
                continue
            c = cotangents[i]
            try:
                fits = c.shape == parent.shape and c.dtype is parent.dtype
            except AttributeError:
                raise TypeError(f"{self.rule_for(i)} returned {type(c).__name__}, not an array") from None
            if not fits:
                cotangents[i] = self.unbroadcast(c, parent, g, i)
        return cotangents

    def cotangents(self, node: Node, g, parents) -> list:
        """The cotangents that the rules return for the inputs whose parent is not None."""
        saved = self.values(node)
        if self.joint is not None:
            rule, uses = self.joint
            wanted = [p is not None for p in parents]
            given = self._run(node, None, rule, g, [wanted if k < 0 else saved[k] for k in uses])
            if given is NotImplemented:
                return given
            if len(given) != len(parents):
                raise TypeError(f"the joint VJP of {self.name} returned {len(given)} cotangents, not {len(parents)}")
            return list(given)
        cotangents: list = []
        rules = self.rules if mode.recording else self.array_rules
        for i, parent in enumerate(parents):
            if parent is None:
                cotangents.append(None)
                continue
            entry = rules.get(0 if self.variadic else i)
            if entry is None:
                raise NotImplementedError(f"{self.name} has no VJP for input {self.inputs[i]!r}; pass it detach()ed")
            rule, uses = entry
            cotangents.append(self._run(node, i, rule, g, [i if k < 0 else saved[k] for k in uses]))
        return cotangents

    def _run(self, node: Node, i: int | None, rule: Callable, g, values: list):
        try:
            return rule(g, *values) if mode.listener is None else mode.listener.rule(self, node, i, rule, g, values)
        except Exception as error:
            blame(self.rule_for(i), error)
            raise

    def values(self, node: Node) -> list:
        """The values that the rules name, as arrays; or as Tensors on the graph while recording."""
        recording, order, values, saved = mode.recording, node.order, [], node.saved
        tensors = recording or mode.listener is not None and mode.listener.on_tensors
        if saved is None:  # freed by another thread in the meantime
            raise freed(node)
        for x in saved:
            if isinstance(x, Tensor):
                if x.version is not None and x.version[0] > order:
                    self._changed(node, "an input")
                if not tensors:
                    x = x._data
            values.append(x)
        if self.variadic and self.saved and self.saved[0] in self.inputs:
            n = len(node.parents)
            values[:n] = [tuple(values[:n])]
        if self.out is not None and values[self.out] is not None:
            extra = node.extra
            if extra is not None and extra.version is not None and extra.version[0] > order:
                self._changed(node, "the output")
            if tensors:
                out = values[self.out] = wrap(values[self.out])
            if recording:
                out.node, out.requires_grad = node, True  # attached only now: on the node it would make a cycle
                out.shared_version()  # a rule's ops save this Tensor, while the user may change theirs
        return values

    def _changed(self, node, what):
        raise RuntimeError(f"backward: {what} of {self.name} (output shape {node.shape}) was changed in place after "
                           f"{self.name} saved it; change it after backward, or compute from a clone()")

    def unbroadcast(self, c, parent, g, i):
        """Undo broadcasting and promotion, for all ops: a cotangent has its input's shape and dtype."""
        if hasattr(c, "written"):  # zeros except in one part, still implicit
            c = c.written()
        if c.shape != parent.shape:
            if (summed := basics.sum_to(c, parent.shape)) is None:
                raise ValueError(f"{self.rule_for(i)} returned shape {c.shape}, not a broadcast of "
                                 f"{parent.shape}")
            c = summed
        if c.dtype is not parent.dtype:
            if c.dtype is not g.dtype or c.dtype.kind not in FLOATS:
                raise TypeError(f"{self.rule_for(i)} returned {c.dtype}, but the input is {parent.dtype}, the output "
                                f"{g.dtype}")
            c = basics.cast(c, dtype=parent.dtype)
        return c

    def rule_for(self, i: int | None) -> str:
        if i is None:
            return f"the joint VJP of {self.name}"
        return f"the VJP of {self.name} for input {self.inputs[0 if self.variadic else i]!r}"
