"""Export models as ONNX files, which other programs run.

A `Trace` listens to a call of the model and turns each op on values that depend on the inputs into the ONNX nodes of
its row (`rows.py`); an op without a row is expanded into its definition. A second call, with another batch size and
other values, must yield the same graph, except for constants of the form `a * batch + b`. Finally, the graph runs on
batches of other sizes, and the results are compared with the model's.
"""

from __future__ import annotations

import inspect
import operator
import os
import warnings
from collections.abc import Callable, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from tinygrad_like.core.listener import Listener
from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.dtypes import arrays_in, memory
from tinygrad_like.environment import require
from tinygrad_like.errors import user_line
from tinygrad_like.ops.composite import Composite
from tinygrad_like.ops.pointwise import Pointwise
from tinygrad_like.transforms.switches import no_grad

from ..module import Module, modes_restored
from .rows import ROWS, code, has_row

__all__ = ["export"]

OPSET, IR_VERSION = 18, 8  # the first IR version with this opset, so older programs can read the file
SIZES = (2, 3, 5, 7, 11, 13)  # candidate sizes of other batches; those that divide the example's size are skipped


def export(model: Module, inputs: Tensor | Sequence[Tensor], path: str | os.PathLike, *,
           input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None,
           batch_axis: int | None = 0) -> Any:
    """Write the graph of `model(*inputs)` in evaluation mode to an ONNX file, and return it as an onnx.ModelProto.

        nn.onnx.export(model, Tensor.randn(1, 3, 224, 224), "model.onnx")
        onnxruntime.InferenceSession("model.onnx").run(None, {"x": images})

    inputs: a Tensor, or several, of the shapes that the model will get. It is called with them, and with batches of
    other sizes whose values are drawn from theirs. input_names, output_names: names in the file; by default the
    parameters of `forward`, and output, or output0, ... batch_axis: the batch axis of all inputs, whose size stays
    variable; None fixes all sizes.

    Needs onnx: pip install 'tinygrad-like[onnx]'. Raises NotImplementedError, naming the op, for an op without
    counterpart; ValueError, naming the line, if the model reads values of its inputs, uses them in code that is not
    made of ops, or depends on the batch size in another way, and if graph and model differ.
    """
    require("nn.onnx.export", "onnx")
    import onnx

    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not inputs or not all(isinstance(x, Tensor) for x in inputs):
        raise TypeError("onnx.export: inputs must be a Tensor or several, got "
                        f"{', '.join(type(x).__name__ for x in inputs) or 'none'}")
    names = list(input_names or [*inspect.signature(model.forward).parameters][: len(inputs)])
    if len(set(names)) != len(inputs):
        raise ValueError(f"onnx.export: input_names must have {len(inputs)} different names, got {names}")
    sizes, axis = ([], 0) if batch_axis is None else _batches(inputs, batch_axis)

    def drawn(size: int | None, seed: int) -> dict[str, Tensor]:
        """Inputs for another batch, with values drawn from the given ones: the model may not accept others."""
        rng, made = np.random.default_rng(seed), {}
        for name, x in zip(names, inputs, strict=True):
            shape = list(x.shape)
            shape[axis:axis + 1] = shape[axis:axis + 1] if size is None else [size]
            made[name] = Tensor(rng.choice(x.detach().numpy().ravel(), shape))
        return made

    with modes_restored(model):
        model.eval()
        trace = Trace(model, {name: Tensor(x.detach().numpy()) for name, x in zip(names, inputs, strict=True)})
        others = drawn(sizes[1] if sizes else None, 1)
        try:
            other = Trace(model, others)
        except Exception as error:
            if str(error).startswith("onnx.export:"):
                raise
            raise ValueError(f"onnx.export: the model fails for other values, in shape "
                             f"{', '.join(str(y.shape) for y in others.values())}: {error}; batch_axis=None fixes the "
                             "sizes to the example's") from error
        trace.agree(other, sizes[:2], (names[0], axis))
        proto = trace.model(onnx, type(model).__name__, {name: [
            "batch" if sizes and a == axis else n for a, n in enumerate(x.shape)]
            for name, x in zip(names, inputs, strict=True)}, [x.dtype for x in inputs], output_names)
        onnx.checker.check_model(proto, full_check=True)
        for n in [1, sizes[3]] if sizes else [None]:
            _check(proto, model, drawn(n, 3), may_fail=n == 1)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(proto, os.fspath(path))
    return proto


def _batches(inputs: list[Tensor], batch_axis: int) -> tuple[list[int], int]:
    """The batch sizes to compare, the inputs' first; and the batch axis, counted from the front."""
    batches = {x.shape[batch_axis] if -x.ndim <= batch_axis < x.ndim else 0 for x in inputs}
    if len(batches) > 1 or 0 in batches:
        raise ValueError(f"onnx.export: the inputs {', '.join(str(x.shape) for x in inputs)} must have the same batch "
                         f"size along axis {batch_axis}; use batch_axis=None if there is no batch")
    size = batches.pop()
    return [size, *[n for n in SIZES if size % n]], batch_axis % inputs[0].ndim


def _check(proto: Any, model: Module, inputs: dict[str, Tensor], may_fail: bool) -> None:
    """Raise ValueError unless the ONNX graph agrees with the model, up to rounding, which may flip a few comparisons.
    may_fail: the model may raise for these inputs."""
    from onnx.reference import ReferenceEvaluator

    given = {name: x.numpy().copy() for name, x in inputs.items()}  # the model may change its inputs
    try:
        with no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as for the variance of one example
            expected = [y.numpy() for y in outputs_of(model, inputs)]
    except Exception:
        if may_fail:
            return
        raise
    with np.errstate(all="ignore"):
        found = ReferenceEvaluator(proto).run(None, given)
    for y, z in zip(expected, found, strict=True):
        same = y.shape == z.shape and y.dtype == z.dtype
        if same and y.dtype.kind == "f":
            largest = abs(y[np.isfinite(y)].astype(np.float64)).max(initial=0)
            rounded = 1e-2 if y.dtype.itemsize == 2 else 1e-3
            same = np.allclose(z, y, rtol=rounded, atol=rounded * largest, equal_nan=True)
        elif same:
            same = (y != z).sum() <= y.size // 100
        if not same:
            raise ValueError(f"onnx.export: for inputs of shape {', '.join(str(x.shape) for x in given.values())} the "
                             f"graph returns {z.dtype} {z.shape} where the model returns {y.dtype} {y.shape}, or other "
                             "values. Look for code that depends on the batch size, such as squeeze() without an "
                             "axis, or on values")


def outputs_of(model: Any, inputs: dict[str, Tensor]) -> list[Tensor]:
    """The Tensors that the model returns."""
    made = model(*inputs.values())
    found = [y for y in (made if isinstance(made, tuple | list) else [made]) if y is not None]
    if not found or not all(isinstance(y, Tensor) for y in found):
        raise TypeError(f"onnx.export: the model must return Tensors, got {type(made).__name__}")
    return found


class Trace(Listener):
    """The graph of `model(*inputs)`, for a dict of inputs.

    Arrays computed from the inputs have names; all others are constants. An in-place change of a whole Tensor is a
    node. It is an error if Python or NumPy read a value computed from the inputs: the result would become a constant of
    the graph.
    """

    inside = False  # whether an op is running
    forward: Any = None  # of the op being called
    last: Any = None  # the last op's result
    like: Any = None  # an op's output dtype, which numbers among its inputs take
    where = "the model"

    def __init__(self, model: Any, inputs: dict[str, Tensor]):
        self.weights = {id(x._data): name for name, x in model._state()}
        self.nodes: list[tuple] = []  # kind, inputs, outputs, attributes, and the user's line
        self.constants: dict[str, tuple[np.ndarray, str]] = {}  # array and line of first use
        self.taken = set(inputs)
        # Memory computed from the inputs -> itself, and its arrays with their names.
        self.named: dict[int, tuple[Any, dict[int, tuple[Any, str]]]] = {}
        for name, x in inputs.items():
            self.name(x._data, name)
        with no_grad(), self:
            self.outputs: list[tuple] = [(self.value(y), y.dtype, y.shape) for y in outputs_of(model, inputs)]

    # Called by rows

    def node(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node; returns the name of its output. A last input of None is left out."""
        names, made = [self.value(x) for x in inputs if x is not None], self.fresh(kind)
        given = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append((kind, names, [made], given, self.where))
        return made

    def cast(self, x: Any, dtype: Any) -> Any:
        """Cast a Tensor, array or name to a dtype; numbers take their dtype when used."""
        if isinstance(x, np.ndarray):
            return x.astype(dtype)
        named = isinstance(x, str) or isinstance(x, Tensor) and x.dtype != dtype
        return self.node("Cast", x, to=code(dtype)) if named else x

    def value(self, x: Any) -> str:
        """The name of a Tensor, an array, a number (see `like`) or a name."""
        if isinstance(x, str):
            return x
        array = x._data if isinstance(x, Tensor) else x
        if not self.follows(array):
            return self.constant(array, None if isinstance(array, np.ndarray) else self.like)
        names = self.named[id(memory(array))][1]
        if id(array) not in names:
            raise ValueError(f"onnx.export: the Tensor used at {user_line()} has memory that was changed in place "
                             "through another Tensor or by NumPy; write the change with where, cat or stack")
        return names[id(array)][1]

    def constant(self, x: Any, dtype: Any = None) -> str:
        """The name of a constant array, number or list of numbers."""
        if (weight := self.weights.get(id(x))) in self.constants:
            return weight  # type: ignore[return-value]
        name = self.fresh(weight or "constant")
        self.constants[name] = (np.array(x, dtype), self.where) if weight is None else (x, self.where)
        return name

    def integers(self, numbers: Sequence[int]) -> str:
        """The name of a vector of integers, such as a shape."""
        return self.constant(list(numbers), np.int64)

    def fresh(self, name: str) -> str:
        """An unused name."""
        name = next(n for i in range(len(self.taken) + 1) if (n := f"{name}_{i}" if i else name) not in self.taken)
        self.taken.add(name)
        return name

    def follows(self, *values: Any) -> bool:
        """Whether any array, in Tensors or nested tuples or dicts, lies in memory computed from the inputs."""
        return any([id(memory(x)) in self.named for x in arrays_in([getattr(x, "_data", x) for x in values])])

    def name(self, array: np.ndarray, name: str, changed: bool = False) -> None:
        """Name an array. changed: its memory has new values, so other views of it lose their names."""
        m = memory(array)
        if changed or id(m) not in self.named:
            self.named[id(m)] = m, {}
        self.named[id(m)][1][id(array)] = array, name

    # Called while the model runs

    def op(self, op: Any, inputs: Sequence[Any], options: dict[str, Any], run: Callable) -> Any:
        if self.inside:
            return run(inputs, options)
        before, self.forward = self.forward, getattr(op, "kernel", op.forward)
        whole = isinstance(op, Composite) and has_row(op, inputs)  # else its parts are recorded
        try:
            y = self._run(run, (inputs, options), {}) if whole else run(inputs, options)
        finally:
            self.forward = before
        if y is not self.last:  # not by an inner call, such as one that renames an option
            self.last = y
            self._note(op, inputs, options, y)
        return y

    def _note(self, op: Any, inputs: Sequence[Any], options: dict[str, Any], y: Tensor) -> None:
        """Add an op's nodes: those of its row, or of the ops or formula that define it."""
        indexed = self.follows(options)
        if not indexed and not self.follows(*inputs):
            return  # a constant
        self.where, self.like = f"{op.name}, called at {user_line()}", y.dtype
        if has_row(op, inputs) and (op.name == "take" or not indexed):
            name = ROWS[op.name](self, y, *inputs, **{**op.options, **options})
        elif isinstance(op, Composite | Pointwise):
            definition = op.definition if isinstance(op, Composite) else op.__wrapped__
            given = {n: value for n, value in options.items() if n != "stats"}  # which the forward would write to
            name = self.value(definition(*inputs, **given))
        else:
            raise NotImplementedError(f"onnx.export: the op {op.name}{' with a computed index' * indexed} has no ONNX "
                                      "counterpart here; add a row to nn/onnx/rows.py, or use other "
                                      f"ops: {self.where}")
        self.name(y._data, name)

    def _run(self, function: Callable, arguments: Sequence[Any], options: dict[str, Any]) -> Any:
        before, self.inside = self.inside, True
        try:
            return function(*arguments, **options)
        finally:
            self.inside = before

    def compute(self, name: str, function: Callable, arguments: Sequence[Any], options: dict) -> Any:
        """NumPy computes something. A cast is allowed: it is an index's."""
        result = self._run(function, arguments, options)
        if not self.inside and function is not self.forward and self.follows(*arguments, options):
            if name != "cast":
                raise _refused(f"{name}, which NumPy computes")
            self.name(result, self.node("Cast", arguments[0], to=code(result.dtype)))
        return result

    def effect(self, name: str, function: Callable, arguments: Sequence[Any], writes: Sequence[np.ndarray]) -> None:
        """An in-place change; array[...] = value is a node if the inputs are involved."""
        if writes and not self.inside and name != "statistics" and self.follows(*arguments):  # it reads none
            if function is not operator.setitem or arguments[1] is not Ellipsis:
                raise NotImplementedError(f"onnx.export: {name} changes a part of a Tensor at {user_line()}, which "
                                          "has no ONNX node here; write it with where, cat or stack")
            array, _, value = arguments
            self.where, self.like = f"an in-place change at {user_line()}", array.dtype
            value = wrap(value) if isinstance(value, np.ndarray) else value
            self.name(array, self.value(self.cast(value, array.dtype)), changed=True)
        self._run(function, arguments, {})

    def observe(self, what: str, tensor: Any, remedy: str) -> None:
        """Python is about to read the value of a Tensor, if one is given."""
        if not self.inside and (tensor is None or self.follows(tensor)):
            raise _refused(what.rstrip(","))

    def rule(self, *of: Any) -> Any:
        raise _refused("a gradient")

    def tell(self, event: str, *about: Any) -> Any:
        if event == "failed" or event == "looked at" and not self.follows(about[0]):
            return True
        raise _refused({"looked at": about[1:2]}.get(event, about)[0] if event in ("looked at", "varies")
                       else "a gradient")

    # Compare with the other trace, and build the file

    def agree(self, other: Trace, sizes: list[int], batch: tuple[str, int]) -> None:
        """Compute the constants that depend on the batch size; raise ValueError if anything else differs.

        batch: an input and its axis that has the first of the sizes.
        """
        remedy = " or for another batch size (fix the size with batch_axis=None)" * bool(sizes)
        for mine, its in zip_longest(self.nodes, other.nodes):
            if mine is None or its is None or mine[:4] != its[:4]:
                raise ValueError(f"onnx.export: the model runs other ops for other inputs{remedy}: "
                                 f"{'; '.join(dict.fromkeys(node[4] for node in (mine, its) if node))}")
        nodes, self.nodes = self.nodes, []
        for name, (x, where) in list(self.constants.items()):
            y, self.where = other.constants[name][0], where
            if x is y or x.dtype == y.dtype and np.array_equal(x, y, equal_nan=x.dtype.kind == "f"):
                continue
            if (computed := self._computed(x, y, sizes, batch) if sizes else None) is None:
                raise ValueError(f"onnx.export: a constant differs between calls, {x} and {y}: {where}. Only a * "
                                 "batch + b can replace it, and nothing derived from values in "
                                 "Python, from random numbers, or from an earlier call")
            del self.constants[name]
            self.nodes.append(("Identity", [computed], [name], {}, where))
        self.nodes += nodes
        self.outputs = [(name, dtype, [a if a == b else "batch" if [a, b] == sizes else None
                                       for a, b in zip(shape, others, strict=True)])
                        for (name, dtype, shape), (_, _, others) in zip(self.outputs, other.outputs, strict=True)]

    def _computed(self, x: np.ndarray, y: np.ndarray, sizes: list[int], batch: tuple[str, int]) -> str | None:
        """a * batch + b, broadcast along axes whose size differs if all elements along them are equal."""
        shapes = x.shape, y.shape
        for axis in range(min(x.ndim, y.ndim)):
            if x.shape[axis] != y.shape[axis]:
                x, y = (z.take([0], axis) if (z == z.take([0], axis)).all() else z for z in (x, y))
        if x.shape != y.shape or x.dtype != y.dtype:
            return None
        a = (y - x.astype(np.float64)) / (sizes[1] - sizes[0])
        if not (a == np.round(a)).all():
            return None
        name, axis = batch
        n = self.node("Squeeze", self.node("Shape", name, start=axis, end=axis + 1))
        value = self.node("Add", self.node("Mul", self.node("Cast", n, to=code(x.dtype)), self.constant(
            a.astype(x.dtype))), self.constant((x - a * sizes[0]).astype(x.dtype)))
        if shapes[0] != shapes[1]:
            shape = self._computed(np.array(shapes[0], np.int64), np.array(shapes[1], np.int64), sizes, batch)
            return shape and self.node("Expand", value, shape)
        return value

    def model(self, onnx: Any, name: str, inputs: dict[str, list], dtypes: list, output_names: Any) -> Any:
        """The graph as an onnx.ModelProto."""
        helper, count = onnx.helper, len(self.outputs)
        names = list(output_names or (["output"] if count == 1 else [f"output{i}" for i in range(count)]))
        if len(set(names)) != count or self.taken.intersection(names):
            raise ValueError(f"onnx.export: output_names must have {count} different names that no other value has, "
                             f"got {names}")
        self.nodes += [("Identity", [value], [new], {}, "") for new, (value, _, _) in zip(names, self.outputs,
                                                                                         strict=True)]
        nodes = [helper.make_node(kind, given, made, name=made[0], **attributes)
                 for kind, given, made, attributes, _ in self.nodes]
        starts, ends = ([helper.make_tensor_value_info(new, code(dtype), shape) for new, dtype, shape in values]
                        for values in (zip(inputs, dtypes, inputs.values(), strict=True),
                                       [(new, dtype, shape) for new, (_, dtype, shape)
                                        in zip(names, self.outputs, strict=True)]))
        constants = [onnx.numpy_helper.from_array(np.ascontiguousarray(x).reshape(x.shape), new)
                     for new, (x, _) in self.constants.items()]
        return helper.make_model(helper.make_graph(nodes, name, starts, ends, constants), ir_version=IR_VERSION,
                                 opset_imports=[helper.make_opsetid("", OPSET)], producer_name="tinygrad_like")


def _refused(what: str) -> ValueError:
    """The error for unsupported code on the inputs, or on values computed from them."""
    return ValueError(f"onnx.export: {what}, at {user_line()}: only ops on the inputs can be "
                      "exported; compute it with ops on Tensors, or outside the model")
