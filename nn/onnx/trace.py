"""What a model does in a call, written down as a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from tinygrad_like.core.listener import Listener
from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.dtypes import arrays_in, memory
from tinygrad_like.errors import user_line
from tinygrad_like.ops.composite import Composite
from tinygrad_like.ops.pointwise import Pointwise
from tinygrad_like.transforms.switches import no_grad

from .rows import ROWS, has_row


class Node(NamedTuple):
    """A node of the ONNX graph, and the op and the user's line that it comes from."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    where: str = ""


class Trace(Listener):
    """The graph of `model(*inputs)`, for inputs by their names.

    What was computed from the inputs has a name, by its array; all else is a constant. A change in place of a whole
    Tensor is a node. Where Python or NumPy look at what follows from the inputs is an error: what they make of it would
    be the same for all inputs from then on.
    """

    inside = False  # whether an op runs
    forward: Any = None  # of the op that is being called
    last: Any = None  # what the last op gave
    like: Any = None  # the dtype of an op's output, which numbers among its inputs have
    where = "the model"

    def __init__(self, model: Any, inputs: dict[str, Tensor]):
        state = list(model._state())
        self.state = {id(memory(x._data)): name for name, x in state}
        self.weights, self.weight_names = {id(x._data): name for name, x in state}, dict[int, str]()
        self.nodes: list[Node] = []
        self.constants: dict[str, tuple[np.ndarray, str]] = {}  # and where they are used first; nowhere for weights
        self.taken = set(inputs)
        # Of memory that follows from the inputs: itself, its arrays with their names, where it was changed in place.
        self.named: dict[int, tuple[Any, dict[int, tuple[Any, str]], str]] = {}
        for name, x in inputs.items():
            self.name(x._data, name)
        with no_grad(), self:
            found = outputs_of(model, inputs)
            self.outputs: list[tuple[str, Any, Any]] = [(self.value(y), y.dtype, y.shape) for y in found]

    # What rows call

    @staticmethod
    def code(dtype: Any) -> int:
        """ONNX's number for a dtype."""
        import onnx

        return onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def node(self, kind: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; returns the name of its output, or a list of names if there are several."""
        names, made = [self.value(x) for x in inputs], [self.fresh(kind) for _ in range(outputs)]
        given = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(Node(kind, names, made, given, self.where))
        return made[0] if outputs == 1 else made

    def cast(self, x: Any, dtype: Any) -> Any:
        """A Tensor, array or name with that dtype; numbers take it when they are used."""
        if isinstance(x, np.ndarray):
            return x.astype(dtype)
        if isinstance(x, str) or isinstance(x, Tensor) and x.dtype != dtype:
            return self.node("Cast", x, to=self.code(dtype))
        return x

    def value(self, x: Any) -> str:
        """The name of a Tensor, an array, a number (see `like`) or a name; None is an input left out."""
        if x is None or isinstance(x, str):
            return x or ""
        array = x._data if isinstance(x, Tensor) else x
        if not self.follows(array):
            return self.constant(array, None if isinstance(array, np.ndarray) else self.like)
        _, names, changed = self.named[id(memory(array))]
        if id(array) not in names:
            raise ValueError(f"onnx.export: a Tensor is used, at {user_line()}, whose memory another one shows, which "
                             f"was changed in place: {changed or 'by NumPy'}. Write it with where, cat or stack")
        return names[id(array)][1]

    def constant(self, x: Any, dtype: Any = None) -> str:
        """The name of an array, a number or a list of numbers that does not follow from the inputs."""
        if (weight := self.weights.get(id(x))) is None:
            name = self.fresh("constant")
            self.constants[name] = np.array(x, dtype), self.where  # a copy, since it may change in place
            return name
        if id(x) not in self.weight_names:
            name = self.weight_names[id(x)] = self.fresh(weight)
            self.constants[name] = x, ""
        return self.weight_names[id(x)]

    def integers(self, numbers: Sequence[int]) -> str:
        """The name of a vector of integers, such as a shape."""
        return self.constant(list(numbers), np.int64)

    def fresh(self, name: str) -> str:
        """A name that no other value has."""
        new, i = name, 1
        while new in self.taken:
            new, i = f"{name}_{i}", i + 1
        self.taken.add(new)
        return new

    def follows(self, x: Any) -> bool:
        """Whether an array, or that of a Tensor, lies in memory that holds what was computed from the inputs."""
        x = getattr(x, "_data", x)
        return isinstance(x, np.ndarray) and id(memory(x)) in self.named

    def name(self, array: np.ndarray, name: str, changed: bool = False) -> None:
        """Name an array. changed: its memory holds other numbers now, so what else shows it has no name any more."""
        m = memory(array)
        if changed or id(m) not in self.named:
            self.named[id(m)] = m, {}, self.where if changed else ""
        self.named[id(m)][1][id(array)] = array, name

    # What the model does

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
        indexed = any(map(self.follows, arrays_in(options)))
        if not indexed and not any(map(self.follows, inputs)):
            return  # a constant
        self.where, self.like = f"{op.name}, called at {user_line()}", y.dtype
        if has_row(op, inputs) and (op.name == "take" or not indexed):
            name = ROWS[op.name](self, y, *inputs, **{**op.options, **options})
        elif isinstance(op, Composite | Pointwise):
            definition = op.definition if isinstance(op, Composite) else op.__wrapped__
            given = {n: value for n, value in options.items() if n != "stats"}  # to which it would write
            name = self.value(definition(*inputs, **given))
        else:
            raise NotImplementedError(f"onnx.export: the op {op.name}{' with a computed index' * indexed} has no ONNX "
                                      "counterpart here; add a row for it to nn/onnx/rows.py, or write it in other "
                                      f"ops: {self.where}")
        self.name(y._data, name)

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
        if beside and any(map(self.follows, arrays_in([*arguments, options]))):
            if name != "cast":
                raise _refused(f"{name}, which NumPy does")
            self.name(result, self.node("Cast", arguments[0], to=self.code(result.dtype)))
        return result

    def effect(self, name: str, function: Callable, arguments: Sequence[Any], writes: Sequence[np.ndarray]) -> None:
        """A change in place; array[...] = value is a node, if the inputs have to do with it."""
        for x in writes if not self.inside else ():
            if kept := self.state.get(id(memory(x))):
                raise ValueError(f"onnx.export: {kept} of the model changes in each call, at {user_line()}: an ONNX "
                                 "model keeps nothing; make it an input and an output")
        if not self.inside and any(map(self.follows, arrays_in(arguments))):
            if function is not operator.setitem or arguments[1] is not Ellipsis:
                raise NotImplementedError(f"onnx.export: {name} changes a part of a Tensor, at {user_line()}, which "
                                          "has no node here: write it with where, cat or stack")
            array, _, value = arguments
            self.where, self.like = f"a change in place at {user_line()}", array.dtype
            value = wrap(value) if isinstance(value, np.ndarray) else value
            self.name(array, self.value(self.cast(value, array.dtype)), changed=True)
        self._run(function, arguments, {})

    def observe(self, what: str, tensor: Any, remedy: str) -> None:
        """Python is about to do what needs the value of a Tensor, if one is given."""
        if not self.inside and (tensor is None or self.follows(tensor)):
            raise _refused(what.rstrip(","))

    def tell(self, event: str, *about: Any) -> Any:
        if event == "looked at":  # NumPy is about to do what depends on the values of a Tensor
            if self.follows(about[0]):
                raise _refused(about[1])
            return True
        if event == "varies" or event == "refuse" and not self.inside:
            raise _refused(about[0])
        if event == "cannot":
            return None  # shapes may change, since names are those of arrays, whichever Tensor shows them
        if event == "set data":
            raise _refused(".data = ...")
        raise ValueError(f"onnx.export: gradients and optimizers cannot be exported, at {user_line()}; use them "
                         "outside the model")

    # The other trace

    def agree(self, other: Trace, sizes: tuple[int, int] | None, batch: tuple[str, int]) -> None:
        """Compute the constants that differ in a batch of another size; raise ValueError if all else is not the same.

        batch: an input that has the first of the sizes along this axis.
        """
        remedy = " or in a batch of another size, which is allowed with batch_axis=None" * bool(sizes)
        for mine, its in zip_longest(self.nodes, other.nodes):
            if mine is None or its is None or mine[:4] != its[:4]:
                raise ValueError(f"onnx.export: the model runs other ops for other inputs{remedy}: "
                                 f"{'; '.join(dict.fromkeys(node.where for node in (mine, its) if node))}")
        if [(name, len(shape)) for name, _, shape in self.outputs] != [(name, len(s)) for name, _, s in other.outputs]:
            raise ValueError(f"onnx.export: the model returns other Tensors for other inputs{remedy}")
        nodes, self.nodes, known = self.nodes, [], dict[Any, Any]()
        for name, (x, where) in list(self.constants.items()):
            y, self.where = other.constants[name][0], where
            if x is y or x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind == "f"):
                continue
            key = x.dtype, x.shape, y.shape, x.tobytes(), y.tobytes()
            if key not in known:
                known[key] = None if sizes is None else self._computed(x, y, sizes, batch)
            if known[key] is None:
                raise ValueError(f"onnx.export: there is another constant in each call, {_brief(x)} and {_brief(y)}: "
                                 f"{self.where}. Only a * batch + b can be computed in its place, and nothing that "
                                 "comes from values by way of Python, from random numbers or from an earlier call")
            del self.constants[name]
            self.nodes.append(Node("Identity", [known[key]], [name], {}))
        self.nodes += nodes
        size = "batch" if sizes else None
        self.outputs = [(name, dtype, [a if a == b else size if (a, b) == sizes else None
                                       for a, b in zip(shape, others, strict=True)])
                        for (name, dtype, shape), (_, _, others) in zip(self.outputs, other.outputs, strict=True)]

    def _computed(self, x: np.ndarray, y: np.ndarray, sizes: tuple[int, int], batch: tuple[str, int]) -> str | None:
        """a * batch + b, spread along axes whose size differs, if all numbers along them are equal."""
        shapes = x.shape, y.shape
        value: str | None
        for axis in range(min(x.ndim, y.ndim)):
            if x.shape[axis] != y.shape[axis]:
                x, y = (z.take([0], axis) if (z == z.take([0], axis)).all() else z for z in (x, y))
        if x.shape != y.shape or x.dtype != y.dtype:
            return None
        if (x == y).all():
            value = self.constant(x)
        else:
            a = (y - x.astype(np.float64)) / (sizes[1] - sizes[0])
            if not (a == np.round(a)).all():
                return None
            name, axis = batch
            n = self.node("Squeeze", self.node("Shape", name, start=axis, end=axis + 1))
            value = self.node("Add", self.node("Mul", self.node("Cast", n, to=self.code(x.dtype)),
                                               self.constant(a.astype(x.dtype))),
                              self.constant((x - a * sizes[0]).astype(x.dtype)))
        if shapes[0] != shapes[1]:
            shape = self._computed(np.array(shapes[0], np.int64), np.array(shapes[1], np.int64), sizes, batch)
            value = shape and self.node("Expand", value, shape)
        return value


def _refused(what: str) -> ValueError:
    """The error for what is done with the inputs, or with what was computed from them."""
    return ValueError(f"onnx.export: {what}, at {user_line()}: only ops on the inputs can be "
                      "exported; compute it with ops of Tensors, or outside the model")


def _brief(x: np.ndarray) -> str:
    return str(x.tolist()) if x.size <= 6 else f"{x.dtype} {x.shape}"


def outputs_of(model: Any, inputs: dict[str, Tensor]) -> list[Tensor]:
    """The Tensors that the model returns."""
    made = model(*inputs.values())
    found = [y for y in (made if isinstance(made, tuple | list) else [made]) if y is not None]
    if not found or not all(isinstance(y, Tensor) for y in found):
        raise TypeError(f"onnx.export: the model must return Tensors, got {type(made).__name__}")
    return found
