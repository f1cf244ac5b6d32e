"""Writing down a model as an ONNX graph."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tinygrad_like import Tensor

from ..module import Module, modes_restored
from .rows import ROWS, has_row
from .trace import Call, Merge, Size, Trace

OPSET = 18
IR_VERSION = 8  # the first with this opset: older programs read the file too


def export(model: Module, inputs: Tensor | Sequence[Tensor], path: str | os.PathLike, *,
           input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None,
           batch_axis: int | None = 0) -> Any:
    """Write what `model(*inputs)` computes in evaluation mode to an ONNX file, and return it as an onnx.ModelProto.

        nn.onnx.export(model, Tensor.randn(1, 3, 224, 224), "model.onnx")
        onnxruntime.InferenceSession("model.onnx").run(None, {"x": images})

    inputs: a Tensor, or several, of the shapes the model will be given, with values that differ, such as random ones.
    input_names, output_names: those of the file; by default the parameters of `forward`, and output, or output0, ...
    batch_axis: which axis of all inputs is the batch, whose size stays open; None keeps the sizes of `inputs`.

    All other sizes are those of `inputs`. Needs onnx: pip install 'tinygrad-like[onnx]'.

    Raises NotImplementedError, which names the op, for one that has no counterpart, and ValueError if the model does
    something with its input that is not made of ops, or what it does depends on the size of the batch.
    """
    onnx = _onnx()
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not inputs or not all(isinstance(x, Tensor) for x in inputs):
        raise TypeError("onnx.export: inputs must be a Tensor or several, got "
                        f"{', '.join(type(x).__name__ for x in inputs) or 'none'}")
    if batch_axis is not None:
        _check_batch(inputs, batch_axis)
    others = [_another(x, batch_axis) for x in inputs]
    with modes_restored(model):
        model.eval()
        first, second = (Trace(model, xs, has_row) for xs in (inputs, others))
    merge = Merge(first, second, inputs, None if batch_axis is None else inputs[0].shape[batch_axis])
    names = _names("input_names", input_names, [*inspect.signature(model.forward).parameters], len(inputs))
    graph = Graph(onnx, model, dict(zip(names, inputs, strict=True)), batch_axis)
    for call in merge.calls:
        graph.add(call)
    made = ["output"] if len(first.outputs) == 1 else [f"output{i}" for i in range(len(first.outputs))]
    ends = [(name, first.root(y), other) for name, y, other in zip(
        _names("output_names", output_names, made, len(made)), first.outputs, second.outputs, strict=True)]
    proto = graph.finished(type(model).__name__, [
        (name, y, merge.setting("the model", y.shape, other.shape)) for name, y, other in ends])
    onnx.checker.check_model(proto, full_check=True)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(proto, os.fspath(path))
    return proto


class Graph:
    """The nodes so far, and the name of the value that each Tensor became. What rows call.

    A value is a Tensor of the trace, or the name of one that is in the graph already.
    """

    def __init__(self, onnx: Any, model: Module, inputs: dict[str, Tensor], batch_axis: int | None):
        self.onnx, self.helper = onnx, onnx.helper
        self.inputs, self.batch_axis = inputs, batch_axis
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.names = {id(x): name for name, x in inputs.items()}
        self.weights = {id(x): name for name, x in model._state()}
        self.held: list[Any] = []  # so that none of them gets the id of another
        self.sizes: dict[tuple, str] = {}
        self.taken = set(inputs)

    def add(self, call: Call) -> None:
        """The nodes of an op."""
        row = ROWS.get(call.op.name)
        if row is None:
            raise NotImplementedError(f"onnx.export: the op {call.op.name} has no ONNX counterpart here; add a row for "
                                      "it to nn/onnx/rows.py, or write it in other ops")
        self.like = call.output.dtype
        self.names[id(call.output)] = row(self, call.op.name, call.inputs, call.options, call.output)
        self.held.append(call.output)

    def node(self, kind: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        """Add a node; returns the name of its output, or a list of names if there are several."""
        for name, value in attributes.items():
            if any(isinstance(n, Size) for n in (value if isinstance(value, tuple | list) else [value])):
                raise ValueError(f"onnx.export: {name} of {kind} depends on the size of the batch; export it for one "
                                 "size, with batch_axis=None")
        made = [self.fresh(kind) for _ in range(outputs)]
        self.nodes.append(self.helper.make_node(kind, [self.value(x) for x in inputs], made, name=made[0],
                                                **{k: v for k, v in attributes.items() if v is not None}))
        return made[0] if outputs == 1 else made

    def value(self, x: Any) -> str:
        """The name of a value. A number becomes one of the dtype of the op's output; None is an input left out."""
        if isinstance(x, str):
            return x
        if x is None:
            return ""
        if id(x) in self.names:
            return self.names[id(x)]
        if isinstance(x, Tensor):
            name = self.fresh(self.weights.get(id(x), "constant"))
            self.names[id(x)] = name
            self.held.append(x)
            return self._initializer(name, x.detach().numpy())
        return self.constant(x, None if isinstance(x, np.ndarray) else self.like)

    def constant(self, x: Any, dtype: Any = None) -> str:
        """An array, or a number, as a value."""
        return self._initializer(self.fresh("constant"), np.asarray(x, dtype))

    def integers(self, numbers: Sequence[int]) -> str:
        """A vector of integers, such as a shape, as a value: computed from the batch where it depends on it."""
        fixed, per_example = ([getattr(n, name, other) for n, other in zip(numbers, others, strict=True)]
                              for name, others in (("fixed", numbers), ("per_example", [0] * len(numbers))))
        key = tuple(map(int, fixed)), tuple(per_example)
        if key not in self.sizes:
            self.sizes[key] = value = self.constant(np.array(key[0], np.int64))
            if any(per_example):
                scaled = self.node("Mul", self.batch(), self.constant(np.array(per_example, np.int64)))
                self.sizes[key] = self.node("Add", scaled, value)
        return self.sizes[key]

    def batch(self) -> str:
        """The size of the batch, a vector of one number."""
        if () not in self.sizes:
            name, x = next(iter(self.inputs.items()))
            axis = (self.batch_axis or 0) % x.ndim
            self.sizes[()] = self.node("Shape", name, start=axis, end=axis + 1)
        return self.sizes[()]

    def fresh(self, name: str) -> str:
        """A name that no other value has."""
        new, i = name, 1
        while new in self.taken:
            new, i = f"{name}_{i}", i + 1
        self.taken.add(new)
        return new

    def finished(self, name: str, outputs: Sequence[tuple[str, Tensor, Sequence[int]]]) -> Any:
        """The whole model."""
        for new, y, _ in outputs:
            if new in self.taken:
                raise ValueError(f"onnx.export: the output {new!r} has the name of another value; give output_names")
            self.nodes.append(self.helper.make_node("Identity", [self.value(y)], [new], name=new))
        ends = [self._described(new, y, ["batch" if isinstance(n, Size) and (n.per_example, n.fixed) == (1, 0) else
                                         None if isinstance(n, Size) else int(n) for n in shape])
                for new, y, shape in outputs]
        starts = []
        for new, x in self.inputs.items():
            shape: list[Any] = list(x.shape)
            if self.batch_axis is not None:
                shape[self.batch_axis] = "batch"
            starts.append(self._described(new, x, shape))
        graph = self.helper.make_graph(self.nodes, name, starts, ends, list(self.initializers.values()))
        return self.helper.make_model(graph, opset_imports=[self.helper.make_opsetid("", OPSET)], ir_version=IR_VERSION,
                                      producer_name="tinygrad_like")

    def _described(self, name: str, x: Tensor, shape: Sequence[Any]) -> Any:
        return self.helper.make_tensor_value_info(name, self.code(x.dtype), shape)

    def code(self, dtype: Any) -> int:
        """ONNX's number for a dtype."""
        return self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def _initializer(self, name: str, array: np.ndarray) -> str:
        array = np.ascontiguousarray(array).reshape(array.shape)  # which would have an axis more, if it had none
        self.initializers[name] = self.onnx.numpy_helper.from_array(array, name)
        return name


def _another(x: Tensor, batch_axis: int | None) -> Tensor:
    """The values in other places, since the model may not take any others; with a batch axis, and one row more."""
    values = np.flip(x.numpy())
    if batch_axis is None:
        return Tensor(values)
    return Tensor(np.concatenate([values, values.take([0], batch_axis)], batch_axis))


def _check_batch(inputs: Sequence[Tensor], batch_axis: int) -> None:
    for x in inputs:
        if not -x.ndim <= batch_axis < x.ndim or not x.shape[batch_axis]:
            raise ValueError(f"onnx.export: an input of shape {x.shape} has no batch along axis {batch_axis}; use "
                             "batch_axis=None")
    if len({x.shape[batch_axis] for x in inputs}) > 1:
        raise ValueError(f"onnx.export: the inputs {', '.join(str(x.shape) for x in inputs)} must agree in the batch, "
                         f"axis {batch_axis}")


def _names(what: str, given: Sequence[str] | None, default: Sequence[str], count: int) -> list[str]:
    names = list(default[:count] if given is None else given)
    if len(names) != count or len(set(names)) != count:
        raise ValueError(f"onnx.export: {what} must have {count} different names, got {names}")
    return names


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise ImportError("nn.onnx.export needs onnx: pip install 'tinygrad-like[onnx]'") from None
    return onnx
