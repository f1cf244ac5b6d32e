"""What a model does in a call, written down as a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinygrad_like import Tensor, eager, no_grad
from tinygrad_like.anomaly import user_line
from tinygrad_like.autograd import setting
from tinygrad_like.ops.pointwise import Pointwise
from tinygrad_like.primitive import Fused
from tinygrad_like.shown import shown
from tinygrad_like.steps import arrays_in, memory
from tinygrad_like.tensor import wrap

from .graph import Graph, refused
from .rows import ROWS, cast, has_row


class Output(NamedTuple):
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


class Trace:
    """The graph of `model(*inputs)`, for inputs by their names.

    While the model runs, this takes the place of a tape (`tinygrad_like/tape.py`), and so is told what happens beside
    ops. Changes in place become nodes. Where Python or NumPy look at what follows from the inputs is an error: what
    they make of it would be the same for all inputs from then on.
    """

    inside = False  # whether an op runs

    def __init__(self, model: Any, inputs: dict[str, Tensor], code: Callable[[Any], int]):
        self.state = {id(memory(x._data)): name for name, x in model._state()}
        self.graph = Graph({id(x._data): name for name, x in model._state()}, code)
        self.graph.taken.update(inputs)
        for name, x in inputs.items():
            self.graph.name(x._data, name)
        with no_grad(), eager(), setting("tape", self), setting("watchers", (self._note,)):
            made = model(*inputs.values())
            found = [y for y in (made if isinstance(made, tuple | list) else [made]) if y is not None]
            if not found or not all(isinstance(y, Tensor) for y in found):
                raise TypeError("onnx.export: the model must return a Tensor, or a tuple or list of Tensors, got "
                                f"{type(made).__name__}")
            self.outputs = [Output(self.graph.value(y), y.dtype, y.shape) for y in found]

    def _note(self, op: Any, inputs: Sequence[Any], options: dict[str, Any], y: Tensor) -> None:
        """Add the nodes of an op: those of its row, or of the ops or the formula that define it."""
        g = self.graph
        indexed = any(map(g.follows, arrays_in(options)))
        if not indexed and not any(map(g.follows, inputs)):
            return  # a constant
        g.where, g.like = f"{op.name}, called at {user_line()}", y.dtype
        if has_row(op, inputs) and (op.name == "take" or not indexed):
            name = ROWS[op.name](g, op.name, list(inputs), {**op.options, **options}, y)
        elif isinstance(op, Fused | Pointwise):
            definition = op.reference if isinstance(op, Fused) else op.__wrapped__
            name = g.value(definition(*inputs, **options))
        else:
            raise NotImplementedError(f"onnx.export: the op {op.name}{' with a computed index' * indexed} has no ONNX "
                                      "counterpart here; add a row for it to nn/onnx/rows.py, or write it in other "
                                      f"ops: {g.where}")
        g.name(y._data, name)

    # What a tape is told ----------------------------------------------------------------------------------------------

    def forward(self, op: Any, inputs: Sequence[Any], arrays: Sequence[Any], options: dict[str, Any]) -> Any:
        return self._run(op.forward, arrays, options)

    def _run(self, function: Callable, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        before, self.inside = self.inside, True
        try:
            return function(*arguments, **options)
        finally:
            self.inside = before

    def unit(self, name: str, function: Callable, arguments: Sequence[Any], options: dict | None = None) -> Any:
        """Work in NumPy. What is cast is an index."""
        result = self._run(function, arguments, options or {})
        if not self.inside and any(map(self.graph.follows, arrays_in([*arguments, options or {}]))):
            if name != "cast":
                raise refused(f"{name}, which NumPy does")
            self.graph.name(result, self.graph.node("Cast", arguments[0], to=self.graph.code(result.dtype)))
        return result

    def python(self, name: str, function: Callable, *arguments: Any, changes: Sequence[np.ndarray] = ()) -> None:
        """A change in place; array[index] = value is a node, if the inputs have to do with it."""
        if not self.inside:
            for x in changes:
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

    def refuse(self, what: str, remedy: str, looks: bool = False, x: Any = None) -> None:
        """Python is about to do what needs the value of a Tensor, of x if that is given."""
        if not self.inside and (x is None or self.graph.follows(x)):
            raise refused(what.rstrip(","))

    grounds = property(lambda self: self)

    def hold(self, x: Any, why: str, remedy: str, outside: bool = False) -> bool:
        """NumPy is about to do what depends on the values of x."""
        if self.graph.follows(x):
            raise refused(why)
        return True

    def data(self, x: Tensor) -> Tensor:
        return shown(x)

    def set_data(self, x: Tensor, value: Any) -> None:
        self._keep(x._data)
        with setting("tape", None):
            x.data = getattr(value, "_data", value)

    def drawn(self, draw: Callable[[], Any]) -> Any:
        return draw()  # if it is random, it is another one in the next trace

    def end(self, what: str, remedy: str) -> None:
        """Programs cannot do this; but here names are those of arrays, whichever Tensor shows them."""

    def node(self, node: Any) -> None:
        """An op is recorded within the model, for gradients that are none of the graph's."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise ValueError(f"onnx.export: gradients, optimizers, generators of random numbers and their seeds cannot be "
                         f"exported, at {user_line()}; use them outside the model")
