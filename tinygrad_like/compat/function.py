"""PyTorch's custom ops, `autograd.Function`: classes with a forward and a backward.

    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 2 * x * g

    y = Square.apply(x)

A call records one node, whose rule is `backward`, and above it one for each output. An op of ours
is declared with `@primitive`, where the names in a rule say what is saved (see `primitive.py`).
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.dispatch import Op
from ..core.graph import Node, freed, mode, setting
from ..core.tensor import Tensor, wrap
from ..dtypes import FLOATS, get_default_dtype
from ..methods.gradients import Bundle, node_of, output_node, output_of
from ..ops.cotangents import Scattered


class Context:
    """`ctx`, shared by a Function's forward and backward. You may set attributes on it.

    needs_input_grad: for each argument of `apply`, whether a gradient is wanted.
    """

    _given: tuple = ()  # saved by forward
    _fixed: tuple = ()  # outputs without a gradient
    _zeros = True  # whether backward gets zeros, not None, for unused outputs
    _outputs: tuple = ()  # shape, dtype and whether it is differentiable, of each output
    _saved: tuple = ()

    def __init__(self, needs_input_grad: tuple[bool, ...]):
        self.needs_input_grad = needs_input_grad
        self._node: Any = None  # the call's node, weakly, since the node keeps this
        self._nodes: dict[int, Any] = {}

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save inputs, outputs or other Tensors for backward, as `ctx.saved_tensors`."""
        for x in tensors:
            if x is not None and not isinstance(x, Tensor):
                raise TypeError(f"save_for_backward: takes Tensors and None, got {type(x).__name__}; "
                                "keep anything else as an attribute, ctx.name = value")
        self._given = tensors

    def mark_non_differentiable(self, *outputs: Tensor) -> None:
        """Declare that these outputs have no gradient; outputs that are not floating point never have one."""
        self._fixed = outputs

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros, in place of None, for an output that the loss does not depend on."""
        self._zeros = value

    def mark_dirty(self, *inputs: Tensor) -> None:
        raise NotImplementedError("mark_dirty: a Function must not change its inputs in place; compute a new Tensor, "
                                  "as x + 1 in place of x += 1, and return that")

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The Tensors passed to `save_for_backward`. Raises RuntimeError if one was changed in place since."""
        if not self._saved:  # forward is still running, or nothing is recorded
            return self._given
        return tuple([None if x is None else x() for x in self._saved])

    saved_variables = saved_tensors

    def _made(self, i: int) -> Node:
        """The node of output i; over time there may be several."""
        node = self._nodes[i]() if i in self._nodes else None
        if node is None:
            node = output_node(self._node(), i, *self._outputs[i][:2])
            self._nodes[i] = weakref.ref(node)
        return node

    def _keep(self, x: Tensor, name: str, args: tuple, outputs: tuple, results: list) -> Callable[[], Tensor]:
        """A function that returns a saved Tensor. An output's Tensor gets its node, held weakly, since that keeps
        this."""
        i = next((i for i, y in enumerate(outputs) if y is x and y is not results[i]), -1)
        output = i >= 0 and not any(x is a for a in args)
        version = (results[i] if output else x).shared_version()
        array, order, given = x._data, self._node().order, None if output else x

        def saved() -> Tensor:
            if version[0] > order or given is not None and given._data is not array:
                raise RuntimeError(f"backward: a Tensor of shape {array.shape} was changed in place after {name} saved "
                                   "it; change it after backward, or compute from a clone()")
            if given is not None:
                return given
            out = wrap(array)
            if mode.recording:
                out.node, out.requires_grad = self._made(i), True
            return out

        return saved


class Function:
    """The base of custom ops: a subclass defines static `forward(ctx, *args)` and `backward(ctx, *grad_outputs)`.

    forward runs without recording, and returns a Tensor or a tuple; `forward(*args)` with `setup_context(ctx, inputs,
    output)` works too. backward gets one cotangent per output, and returns one gradient per argument of forward, or
    None. create_graph=True records it, so for a second derivative it must consist of ops.

    In backward, it raises RuntimeError for a wrong number of gradients, and TypeError or ValueError for one that is not
    a Tensor or does not fit its input's shape.
    """

    @staticmethod
    def forward(*args: Any, **options: Any) -> Any:
        raise NotImplementedError("Function: a subclass must define a static forward(ctx, ...)")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        raise NotImplementedError("Function: a subclass may define a static setup_context(ctx, inputs, output)")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise NotImplementedError("Function: a subclass must define a static backward(ctx, ...)")

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{type(self).__name__}: call {type(self).__name__}.apply(...), without making an object")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """The outputs of forward, with a node whose rule is backward if an argument requires grad."""
        parents = [(x.node or x) if isinstance(x, Tensor) and x.requires_grad and mode.recording else None
                   for x in args]
        ctx = Context(tuple([p is not None for p in parents]))
        with setting("recording", False):
            if cls.setup_context is Function.setup_context:
                made = cls.forward(ctx, *args)
            else:
                made = cls.forward(*args)
                cls.setup_context(ctx, args, made)
        outputs = made if isinstance(made, tuple) else (made,)
        if isinstance(made, list):
            raise TypeError(f"{cls.__name__}.forward: must give a Tensor or a tuple of them, got a list")
        if not any(ctx.needs_input_grad):
            return made
        fixed = {id(x) for x in ctx._fixed}
        ctx._outputs = tuple([(y.shape, y.dtype, y.dtype.kind in FLOATS and id(y) not in fixed)
                              if isinstance(y, Tensor) else ((), None, False) for y in outputs])
        node = node_of(_Call(cls), parents, (), None, ctx)
        ctx._node = weakref.ref(node)
        results = [output_of(ctx._made(i), y) if ctx._outputs[i][2] else y for i, y in enumerate(outputs)]
        ctx._saved = tuple([None if x is None else ctx._keep(x, cls.__name__, args, outputs, results)
                            for x in ctx._given])
        return tuple(results) if isinstance(made, tuple) else results[0]


class _Call:
    """The op of a call's node, whose rule is the class's backward."""

    fresh, saves = False, True

    def __init__(self, function: type[Function]):
        self.function, self.name = function, function.__name__

    def pull(self, node: Node, g: Bundle, parents: list) -> list:
        ctx = node.saved
        if ctx is None:  # freed by another thread in the meantime
            raise freed(node)
        given = [self._cotangent(g.get(i), y, ctx._zeros) for i, y in enumerate(ctx._outputs)]
        found = self.function.backward(ctx, *given)
        found = tuple(found) if isinstance(found, tuple | list) else (found,)
        n = len(parents)
        if len(found) < n or any(c is not None for c in found[n:]):
            raise RuntimeError(f"{self.name}.backward: gave {len(found)} gradients, but forward takes {n} arguments; "
                               "give one for each of them, None if it has no gradient")
        cotangents = [None if p is None or c is None else self._fitted(c, p, i)
                      for i, (c, p) in enumerate(zip(found[:n], parents, strict=True))]
        tensors = mode.recording or mode.listener is not None and mode.listener.on_tensors
        return cotangents if tensors else [None if c is None else c._data for c in cotangents]

    def _cotangent(self, g: Any, output: tuple, zeros: bool) -> Tensor | None:
        shape, dtype, _ = output
        if g is None:
            return wrap(np.zeros(shape, get_default_dtype() if dtype is None else dtype)) if zeros else None
        g = g.written() if type(g) is Scattered else g
        return g if isinstance(g, Tensor) else wrap(g)

    def _fitted(self, c: Any, parent: Any, i: int) -> Tensor:
        """A gradient in the shape and dtype of its argument, summed over broadcast axes."""
        if not isinstance(c, Tensor):
            raise TypeError(f"{self.rule_for(i)} returned {type(c).__name__}, not a Tensor")
        return Op.unbroadcast(self, c, parent, c, i)  # type: ignore[arg-type]

    def rule_for(self, i: int) -> str:
        return f"{self.name}.backward: for argument {i} it"


def once_differentiable(backward: Callable) -> Callable:
    """Mark a Function's backward as not differentiable: differentiating its result is an error."""
    @functools.wraps(backward)
    def call(ctx: Any, *grad_outputs: Any) -> Any:
        if mode.recording:
            raise RuntimeError("backward: a Function marked once_differentiable has no second derivative; call "
                               "without create_graph=True, or write its backward in ops")
        return backward(ctx, *grad_outputs)

    return call
