"""Models as ONNX files, which other programs run.

A model is called while a `Trace` listens (`trace.py`), and each op that computes something from its inputs becomes the
ONNX nodes of its row (`rows.py`); an op without a row opens into its definition. A call in a batch of another size, and
with other values, must give the same graph, but for constants that are `a * batch + b`. At last the graph is run, in
batches of other sizes, and compared with the model.
"""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tinygrad_like.core.tensor import Tensor
from tinygrad_like.environment import require
from tinygrad_like.transforms.switches import no_grad

from ..module import Module, modes_restored
from .trace import Trace, outputs_of

__all__ = ["export"]

OPSET, IR_VERSION = 18, 8  # the first version with this opset: older programs read the file too
SIZES = (2, 3, 5, 7, 11, 13, 17)  # of other batches, of which those are taken that do not divide the example's


def export(model: Module, inputs: Tensor | Sequence[Tensor], path: str | os.PathLike, *,
           input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None,
           batch_axis: int | None = 0) -> Any:
    """Write what `model(*inputs)` computes in evaluation mode to an ONNX file, and return it as an onnx.ModelProto.

        nn.onnx.export(model, Tensor.randn(1, 3, 224, 224), "model.onnx")
        onnxruntime.InferenceSession("model.onnx").run(None, {"x": images})

    inputs: a Tensor, or several, of the shapes the model will be given. The model is called with them, and in batches
        of other sizes with values that are drawn from theirs.
    input_names, output_names: those of the file; by default the parameters of `forward`, and output, or output0, ...
    batch_axis: which axis of all inputs is the batch, whose size stays open; None keeps the sizes of `inputs`.

    All other sizes are those of `inputs`. Needs onnx: pip install 'tinygrad-like[onnx]'.

    Raises NotImplementedError, which names the op, for one that has no counterpart; and ValueError, with the line, if
    the model looks at values of its inputs, does something with them that is not made of ops, or depends on the size of
    the batch in a way that cannot be written down, and if graph and model differ.
    """
    require("nn.onnx.export", "onnx")
    import onnx

    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    if not inputs or not all(isinstance(x, Tensor) for x in inputs):
        raise TypeError("onnx.export: inputs must be a Tensor or several, got "
                        f"{', '.join(type(x).__name__ for x in inputs) or 'none'}")
    names = _names("input_names", input_names, [*inspect.signature(model.forward).parameters], len(inputs))
    given, axis = dict(zip(names, inputs, strict=True)), 0
    sizes: list[Any] = [None] * 3
    if batch_axis is not None:
        size, axis = _batch(inputs, batch_axis), batch_axis % inputs[0].ndim
        sizes = [n for n in SIZES if size % n]
    with modes_restored(model):
        model.eval()
        trace = Trace(model, {name: Tensor(x.detach().numpy()) for name, x in given.items()})
        others = _others(given, sizes[0], batch_axis, 1)
        try:
            other = Trace(model, others)
        except Exception as error:
            if str(error).startswith("onnx.export:"):
                raise
            shapes = ", ".join(str(y.shape) for y in others.values())
            raise ValueError(f"onnx.export: the model fails with inputs of other values, and of shape {shapes}: {error}"
                             "; with batch_axis=None, the sizes stay those of the example") from error
        trace.agree(other, None if sizes[0] is None else (size, sizes[0]), (names[0], axis))
        count = len(trace.outputs)
        made = ["output"] if count == 1 else [f"output{i}" for i in range(count)]
        proto = _model(onnx, trace, type(model).__name__, given, batch_axis,
                       _names("output_names", output_names, made, count))
        onnx.checker.check_model(proto, full_check=True)
        for n in dict.fromkeys([1, sizes[2]] if sizes[0] else [None]):
            _check(proto, model, _others(given, n, batch_axis, 3), may_fail=n == 1)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    onnx.save(proto, os.fspath(path))
    return proto


def _batch(inputs: Sequence[Tensor], batch_axis: int) -> int:
    """The size of the batch."""
    for x in inputs:
        if not -x.ndim <= batch_axis < x.ndim or not x.shape[batch_axis]:
            raise ValueError(f"onnx.export: an input of shape {x.shape} has no batch along axis {batch_axis}; use "
                             "batch_axis=None")
    if len({x.shape[batch_axis] for x in inputs}) > 1:
        raise ValueError(f"onnx.export: the inputs {', '.join(str(x.shape) for x in inputs)} must agree in the batch, "
                         f"axis {batch_axis}")
    return inputs[0].shape[batch_axis]


def _names(what: str, given: Sequence[str] | None, default: Sequence[str], count: int) -> list[str]:
    names = list(default[:count] if given is None else given)
    if len(names) != count or len(set(names)) != count:
        raise ValueError(f"onnx.export: {what} must have {count} different names, got {names}")
    return names


def _others(inputs: dict[str, Tensor], size: int | None, batch_axis: int | None, seed: int) -> dict[str, Tensor]:
    """Inputs of another batch, with values drawn from those of the inputs: the model may not take any others."""
    rng, made = np.random.default_rng(seed), dict[str, Tensor]()
    for name, x in inputs.items():
        shape = list(x.shape)
        if batch_axis is not None and size is not None:
            shape[batch_axis] = size
        made[name] = Tensor(rng.choice(x.detach().numpy().ravel(), shape) if x.numel() else np.zeros(shape, x.dtype))
    return made


def _model(onnx: Any, trace: Trace, name: str, inputs: dict[str, Tensor], batch_axis: int | None,
           output_names: Sequence[str]) -> Any:
    """The graph as onnx has it."""
    helper = onnx.helper
    nodes = [helper.make_node(node.kind, node.inputs, node.outputs, name=node.outputs[0], **node.attributes)
             for node in trace.nodes]
    starts, ends = [], []
    for new, x in inputs.items():
        shape: list[Any] = list(x.shape)
        if batch_axis is not None:
            shape[batch_axis] = "batch"
        starts.append(helper.make_tensor_value_info(new, trace.code(x.dtype), shape))
    for new, (value, dtype, sizes) in zip(output_names, trace.outputs, strict=True):
        if new in trace.taken:
            raise ValueError(f"onnx.export: the output {new!r} has the name of another value; give output_names")
        nodes.append(helper.make_node("Identity", [value], [new], name=new))
        ends.append(helper.make_tensor_value_info(new, trace.code(dtype), sizes))
    constants = [onnx.numpy_helper.from_array(np.ascontiguousarray(x).reshape(x.shape), name)
                 for name, (x, _) in trace.constants.items()]
    return helper.make_model(helper.make_graph(nodes, name, starts, ends, constants), ir_version=IR_VERSION,
                             opset_imports=[helper.make_opsetid("", OPSET)], producer_name="tinygrad_like")


def _check(proto: Any, model: Module, inputs: dict[str, Tensor], may_fail: bool) -> None:
    """Raise ValueError unless onnx agrees with the model, which for may_fail need not take the inputs."""
    from onnx.reference import ReferenceEvaluator

    given = {name: x.numpy().copy() for name, x in inputs.items()}  # the model may change what it is given
    try:
        with no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # as of a variance of one example
            expected = [y.numpy() for y in outputs_of(model, inputs)]
    except Exception:
        if may_fail:
            return
        raise
    with np.errstate(all="ignore"):
        found = ReferenceEvaluator(proto).run(None, given)
    for y, z in zip(expected, found, strict=True):
        if not _agree(y, z):
            raise ValueError(f"onnx.export: for inputs of shape {', '.join(str(x.shape) for x in given.values())} the "
                             f"graph gives {z.dtype} {z.shape}, where the model gives {y.dtype} {y.shape}, or other "
                             "numbers. Look for what it does only in batches of some sizes, as squeeze() without an "
                             "axis, or for some values")


def _agree(expected: np.ndarray, found: np.ndarray) -> bool:
    """Whether they are equal up to rounding, which also moves a few numbers across the bounds of comparisons."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return False
    if expected.dtype.kind != "f":
        return bool((expected != found).sum() <= expected.size // 100)
    finite = expected[np.isfinite(expected)].astype(np.float64)
    rounded = 1e-2 if expected.dtype.itemsize == 2 else 1e-3
    return np.allclose(found, expected, rtol=rounded, atol=rounded * abs(finite).max(initial=0), equal_nan=True)
