"""What a model does in a call, written down as a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinygrad_like.core.graph import setting
from tinygrad_like.core.listener import Listener
from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.dtypes import arrays_in, memory
from tinygrad_like.errors import user_line
from tinygrad_like.ops.composite import Composite
from tinygrad_like.ops.pointwise import Pointwise
from tinygrad_like.transforms.switches import no_grad

from .graph import Graph, refused
from .rows import ROWS, cast, has_row


class Output(NamedTuple):
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


class Trace(Listener):
    """The graph of `model(*inputs)`, for inputs by their names.

    It listens while the model runs, and so is told what happens beside ops. Changes in place become nodes. Where
    Python or NumPy look at what follows from the inputs is an error: what they make of it would be the same for all
    inputs from then on.
    """

    inside = False  # whether an op runs
    forward: Any = None  # of the op that is being called
    last: Any = None  # what the last op gave

    def __init__(self, model: Any, inputs: dict[str, Tensor], code: Callable[[Any], int]):
        self.state = {id(memory(x._data)): name for name, x in model._state()}
        self.graph = Graph({id(x._data): name for name, x in model._state()}, code)
        self.graph.taken.update(inputs)
        for name, x in inputs.items():
            self.graph.name(x._data, name)
        with no_grad(), self:
            made = model(*inputs.values())
            found = [y for y in (made if isinstance(made, tuple | list) else [made]) if y is not None]
            if not found or not all(isinstance(y, Tensor) for y in found):
                raise TypeError("onnx.export: the model must return a Tensor, or a tuple or list of Tensors, got "
                                f"{type(made).__name__}")
            self.outputs = [Output(self.graph.value(y), y.dtype, y.shape) for y in found]

    def op(self, op: Any, inputs: Sequence[Any], options: dict[str, Any], run: Callable) -> Any:
        if self.inside:
            return run(inputs, options)
        before, self.forward = self.forward, getattr(op, "kernel", op.forward)
        whole = isinstance(op, Composite) and has_row(op, inputs)  # or else it is recorded as what it is made of
        try:
            y = self._run(run, (inputs, options), {}) if whole else run(inputs, options)
        finally:
            self.forward = before
        if y is not self.last:  # by another call, as of an option by another name
            self.last = y
            self._note(op, inputs, options, y)
        return y

    def rule(self, *of: Any) -> Any:
        return self.tell("gradient")

    def _note(self, op: Any, inputs: Sequence[Any], options: dict[str, Any], y: Tensor) -> None:
        """Add the nodes of an op: those of its row, or of the ops or the formula that define it."""
        g = self.graph
        indexed = any(map(g.follows, arrays_in(options)))
        if not indexed and not any(map(g.follows, inputs)):
            return  # a constant
        g.where, g.like = f"{op.name}, called at {user_line()}", y.dtype
        if has_row(op, inputs) and (op.name == "take" or not indexed):
            name = ROWS[op.name](g, op.name, list(inputs), {**op.options, **options}, y)
        elif isinstance(op, Composite | Pointwise):
            definition = op.definition if isinstance(op, Composite) else op.__wrapped__
            given = {n: value for n, value in options.items() if n != "stats"}  # to which it would write
            name = g.value(definition(*inputs, **given))
        else:
            raise NotImplementedError(f"onnx.export: the op {op.name}{' with a computed index' * indexed} has no ONNX "
                                      "counterpart here; add a row for it to nn/onnx/rows.py, or write it in other "
                                      f"ops: {g.where}")
        g.name(y._data, name)

    # Beside the ops ------------------------------------------------------------------------------------------------

    def _run(self, function: Callable, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        before, self.inside = self.inside, True
        try:
            return function(*arguments, **options)
        finally:
            self.inside = before

    def compute(self, name: str, function: Callable, arguments: Sequence[Any], options: dict) -> Any:
        """Work in NumPy. What is cast is an index."""
        result = self._run(function, arguments, options)
        beside = not self.inside and function is not self.forward
        if beside and any(map(self.graph.follows, arrays_in([*arguments, options]))):
            if name != "cast":
                raise refused(f"{name}, which NumPy does")
            self.graph.name(result, self.graph.node("Cast", arguments[0], to=self.graph.code(result.dtype)))
        return result

    def effect(self, name: str, function: Callable, arguments: Sequence[Any], writes: Sequence[np.ndarray]) -> None:
        """A change in place; array[index] = value is a node, if the inputs have to do with it."""
        if not self.inside:
            for x in writes:
                self._keep(x)
            if any(map(self.graph.follows, arrays_in(arguments))):
                if function is not operator.setitem:
                    raise refused(f"{name}, which NumPy does")
                self._set(*arguments)
        self._run(function, arguments, {})

    def _keep(self, x: np.ndarray) -> None:
        if name := self.state.get(id(memory(x))):
            raise ValueError(f"onnx.export: {name} of the model changes in each call, at {user_line()}: an ONNX model "
                             "keeps nothing; make it an input and an output")

    def _set(self, array: np.ndarray, index: Any, value: Any) -> None:
        g, x = self.graph, wrap(array)
        g.where, g.like = f"a change in place at {user_line()}", array.dtype
        value = wrap(value) if isinstance(value, np.ndarray) else value
        name = g.value(cast(g, value, array.dtype)) if index is Ellipsis else ROWS["set_at"](
            g, "set_at", [value, x], {"index": index}, x)
        g.name(array, name, changed=True)

    def observe(self, what: str, tensor: Any, remedy: str) -> None:
        """Python is about to do what needs the value of a Tensor, if one is given."""
        if not self.inside and (tensor is None or self.graph.follows(tensor)):
            raise refused(what.rstrip(","))

    def tell(self, event: str, *about: Any) -> Any:
        if event == "data":  # what is made of the memory is followed too
            return None if self.inside else wrap(about[0]._data)
        if event == "set data":
            self._keep(about[0]._data)
            with setting("listener", None):
                about[0].data = getattr(about[1], "_data", about[1])
            return True
        if event == "looked at":  # NumPy is about to do what depends on the values of a Tensor
            if self.graph.follows(about[0]):
                raise refused(about[1])
            return True
        if event == "varies" or event == "refuse" and not self.inside:
            raise refused(about[0])
        if event == "cannot":  # programs cannot, but here names are those of arrays, whichever Tensor shows them
            return None
        raise ValueError(f"onnx.export: gradients and optimizers cannot be exported, at {user_line()}; use them "
                         "outside the model")
