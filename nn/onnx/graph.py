"""The nodes of a graph as they come up, and the names of its values: what rows call."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tinygrad_like.core.tensor import Tensor
from tinygrad_like.dtypes import memory
from tinygrad_like.errors import user_line


class Node(NamedTuple):
    """A node of the ONNX graph, and the op and the user's line that it comes from."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any]
    where: str


class Constant(NamedTuple):
    """An array that does not follow from the inputs, and where it is used first; a weight is nowhere in particular."""

    array: np.ndarray
    where: str


class Graph:
    """What was computed from the inputs has a name, by its array; all else is a constant.

    weights: their names in the model, by the ids of their arrays. code: ONNX's number for a dtype.
    """

    def __init__(self, weights: dict[int, str], code: Callable[[Any], int]):
        self.weights, self.code = weights, code
        self.nodes: list[Node] = []
        self.constants: dict[str, Constant] = {}
        self.taken: set[str] = set()
        self.weight_names: dict[int, str] = {}  # of those in use
        # Of memory that follows from the inputs: itself, its arrays with their names, where it was changed in place.
        self.named: dict[int, tuple[Any, dict, str]] = {}
        self.like: Any = None  # the dtype of an op's output, which numbers among its inputs have
        self.where = "the model"

    def node(self, kind: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; returns the name of its output, or a list of names if there are several."""
        names, made = [self.value(x) for x in inputs], [self.fresh(kind) for _ in range(outputs)]
        given = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(Node(kind, names, made, given, self.where))
        return made[0] if outputs == 1 else made

    def value(self, x: Any) -> str:
        """The name of a Tensor, an array, a number (see `like`) or a name; None is an input left out."""
        if x is None or isinstance(x, str):
            return x or ""
        array = x._data if isinstance(x, Tensor) else x
        return self.name_of(array) or self.constant(array, None if isinstance(array, np.ndarray) else self.like)

    def constant(self, x: Any, dtype: Any = None) -> str:
        """The name of an array, a number or a list of numbers that does not follow from the inputs."""
        if (weight := self.weights.get(id(x))) is None:
            name = self.fresh("constant")
            self.constants[name] = Constant(np.array(x, dtype), self.where)  # a copy, since it may change in place
            return name
        if id(x) not in self.weight_names:
            name = self.weight_names[id(x)] = self.fresh(weight)
            self.constants[name] = Constant(x, "")
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
        if not isinstance(x, np.ndarray):
            return False
        m = memory(x)
        return id(m) in self.named and self.named[id(m)][0]() is m

    def name_of(self, array: Any) -> str | None:
        """The name of an array that follows from the inputs."""
        if not self.follows(array):
            return None
        _, names, changed = self.named[id(memory(array))]
        held, name = names.get(id(array), (lambda: None, ""))
        if held() is not array:
            raise ValueError(f"onnx.export: a Tensor is used, at {user_line()}, whose memory another one shows, which "
                             f"was changed in place: {changed or 'by NumPy'}. Write it with where, cat or stack")
        return name

    def name(self, array: np.ndarray, name: str, changed: bool = False) -> None:
        """Name an array. changed: its memory holds other numbers now, so what else shows it has no name any more."""
        m = memory(array)
        if changed or not self.follows(array):
            self.named[id(m)] = weakref.ref(m), {}, self.where if changed else ""
        self.named[id(m)][1][id(array)] = weakref.ref(array), name


def refused(what: str) -> ValueError:
    """The error for what is done with the inputs, or with what was computed from them."""
    return ValueError(f"onnx.export: {what}, at {user_line()}: of what follows from the inputs only ops can be "
                      "exported; compute it with ops of Tensors, or outside the model")
