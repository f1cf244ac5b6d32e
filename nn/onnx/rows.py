"""The ONNX nodes of each op: a function of the graph, the op's name, inputs, options and output.

`g.node(kind, *inputs, **attributes)` adds a node and returns the name of its value. Inputs are Tensors, arrays, numbers
or such names. Where a number may depend on the size of the batch, it has to be an input, as `g.integers` makes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinygrad_like.core.primitive import Primitive
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.ops.conv import margins_of
from tinygrad_like.ops.elementwise import square
from tinygrad_like.ops.reduce import mean
from tinygrad_like.ops.reduce import sum as total
from tinygrad_like.ops.shape import stack

Row = Callable[..., Any]
ROWS: dict[str, Row] = {}


def has_row(op: Primitive, inputs: Sequence[Any]) -> bool:
    """Whether the op stands for itself; a batch norm by the batch's own statistics has no node."""
    return op.name in ROWS and not (op.name == "batch_norm" and inputs[3] is None)


def row(*names: str) -> Callable[[Row], Row]:
    """Enter a function as the row of these ops."""
    def enter(f: Row) -> Row:
        ROWS.update(dict.fromkeys(names, f))
        return f

    return enter


# One node each --------------------------------------------------------------------------------------------------------

SAME = """
    abs Abs, neg Neg, exp Exp, log Log, sqrt Sqrt, reciprocal Reciprocal, sin Sin, cos Cos, tan Tan, asin Asin,
    acos Acos, atan Atan, sinh Sinh, cosh Cosh, asinh Asinh, acosh Acosh, atanh Atanh, tanh Tanh, sigmoid Sigmoid,
    relu Relu, erf Erf, floor Floor, ceil Ceil, round Round, sign Sign, isnan IsNaN, isinf IsInf, logical_not Not,
    add Add, sub Sub, mul Mul, div Div, pow Pow, maximum Max, minimum Min, logical_and And, logical_or Or,
    logical_xor Xor, batched_matmul MatMul, matrix_vector MatMul, identity Identity, clone Identity,
    contiguous Identity, cat Concat, softmax Softmax, log_softmax LogSoftmax, mish Mish, softsign Softsign
"""
NODES = dict(pair.split() for pair in SAME.split(","))


LOGICAL = {"logical_not", "logical_and", "logical_or", "logical_xor"}


@row(*NODES)
def _node(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    if name not in ("isnan", "isinf"):
        inputs = [cast(g, x, bool if name in LOGICAL else out.dtype) for x in inputs]
    return g.node(NODES[name], *inputs, **options)


# A few nodes each: f(g, *inputs, **options) ---------------------------------------------------------------------------

SHORT: dict[str, Callable[..., Any]] = {
    "square": lambda g, x: g.node("Mul", x, x),
    "rsqrt": lambda g, x: g.node("Reciprocal", g.node("Sqrt", x)),
    "exp2": lambda g, x: g.node("Pow", 2, x),
    "expm1": lambda g, x: g.node("Sub", g.node("Exp", x), 1),
    "log2": lambda g, x: g.node("Div", g.node("Log", x), math.log(2)),
    "log10": lambda g, x: g.node("Div", g.node("Log", x), math.log(10)),
    "log1p": lambda g, x: g.node("Log", g.node("Add", x, 1)),
    "trunc": lambda g, x: g.node("Mul", g.node("Sign", x), g.node("Floor", g.node("Abs", x))),
    "isfinite": lambda g, x: g.node("Not", g.node("Or", g.node("IsNaN", x), g.node("IsInf", x))),
    "clip": lambda g, x, min, max: g.node("Clip", x, min, max),
    "hardtanh": lambda g, x, min_val, max_val: g.node("Clip", x, min_val, max_val),
    "leaky_relu": lambda g, x, negative_slope: g.node("LeakyRelu", x, alpha=float(negative_slope)),
    "elu": lambda g, x, alpha: g.node("Elu", x, alpha=float(alpha)),
    "permute": lambda g, x, axes: g.node("Transpose", x, perm=[a % len(axes) for a in axes]),
    "reshape": lambda g, x, shape: g.node("Reshape", x, g.integers(shape)),
    "expand": lambda g, x, shape: g.node("Expand", x, g.integers([1 if n == -1 else n for n in shape])),
    "stack": lambda g, *xs, axis: g.node(
        "Concat", *[g.node("Unsqueeze", x, g.integers([axis])) for x in xs], axis=axis),
    "tril": lambda g, x, diagonal: g.node("Trilu", x, g.constant(diagonal, np.int64), upper=0),
    "triu": lambda g, x, diagonal: g.node("Trilu", x, g.constant(diagonal, np.int64), upper=1),
    "cumsum": lambda g, x, axis: g.node("CumSum", x, g.constant(axis, np.int64)),
    "embedding": lambda g, index, weight, padding_idx: g.node("Gather", weight, index),
    "linear": lambda g, x, weight, bias: _plus(g, g.node("MatMul", x, g.node("Transpose", weight, perm=[1, 0])), bias),
}


@row(*SHORT)
def _short(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    return SHORT[name](g, *inputs, **options)


def _plus(g: Any, x: Any, bias: Any) -> Any:
    return x if bias is None else g.node("Add", x, bias)


# Numbers take the dtype of the output, but not of every op -----------------------------------------------------------

COMPARED = {"eq": "Equal", "ne": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}


@row(*COMPARED)
def _compare(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    g.like = np.result_type(*[getattr(x, "dtype", x) for x in inputs])
    y = g.node(COMPARED[name], *[cast(g, x, g.like) for x in inputs])
    return g.node("Not", y) if name == "ne" else y


@row("where")
def _where(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    condition, a, b = inputs
    return g.node("Where", cast(g, condition, bool), cast(g, a, out.dtype), cast(g, b, out.dtype))


def cast(g: Any, x: Any, dtype: Any) -> Any:
    """A Tensor or array of that dtype; numbers take it when they are used."""
    if isinstance(x, np.ndarray):
        return x.astype(dtype)
    return g.node("Cast", x, to=g.code(dtype)) if isinstance(x, Tensor) and x.dtype != dtype else x


@row("cast")
def _cast_row(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    return g.node("Cast", inputs[0], to=g.code(out.dtype))


@row("binary_step")
def _binary_step(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    return g.node("Cast", g.node("GreaterOrEqual", inputs[0], 0), to=g.code(out.dtype))


# Reductions -----------------------------------------------------------------------------------------------------------

REDUCED = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "any": "ReduceMax",
           "all": "ReduceMin", "prod": "ReduceProd", "norm": "ReduceL2", "logsumexp": "ReduceLogSumExp"}


@row(*REDUCED)
def _reduce(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    x, axis = inputs[0], options["axis"]
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else [axis]
    logical = name in ("any", "all")
    given = g.node("Cast", cast(g, x, bool), to=g.code(np.int32)) if logical else cast(g, x, out.dtype)
    y = g.node(REDUCED[name], given, g.integers([a % x.ndim for a in axes]), keepdims=int(options["keepdim"])
               ) if len(axes) else given
    return g.node("Cast", y, to=g.code(bool)) if logical else y


@row("var")
def _var(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    (x,), axis, keepdim = inputs, options["axis"], options["keepdim"]
    squares = square(x - mean(x, axis=axis, keepdim=True))
    return g.value(total(squares, axis=axis, keepdim=keepdim) / (x.size // out.size - options["correction"]))


@row("cross_product")
def _cross_product(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    axis = options["axis"]
    (a1, a2, a3), (b1, b2, b3) = ([x[(..., n, *[slice(None)] * (-1 - axis))] for n in range(3)] for x in inputs)
    return g.value(stack([a2 * b3 - a3 * b2, a3 * b1 - a1 * b3, a1 * b2 - a2 * b1], axis=axis))


@row("argmax", "argmin")
def _argument(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    x, axis = inputs[0], options["axis"]
    kind, keep = "ArgMax" if name == "argmax" else "ArgMin", int(options["keepdim"])
    if axis is None:
        y = g.node(kind, g.node("Reshape", x, g.integers([-1])), axis=0, keepdims=0)
        return g.node("Reshape", y, g.integers([1] * (x.ndim * keep)))
    return g.node(kind, x, axis=axis, keepdims=keep)


# Parts ----------------------------------------------------------------------------------------------------------------

END = np.iinfo(np.int64).max


@row("take")
def _take(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    """Slices first, then whole numbers and one array, from the last axis on, then new axes."""
    x, index = inputs[0], list(options["index"])
    if any(isinstance(i, np.ndarray) and i.dtype == bool for i in index) or sum(
            isinstance(i, np.ndarray) for i in index) > 1:
        raise NotImplementedError("onnx.export: take, of Tensor[index], is written for slices, whole numbers, None, "
                                  "and one array of integers")
    used = sum(i is not None and i is not Ellipsis for i in index)
    dots = index.index(Ellipsis) if any(i is Ellipsis for i in index) else len(index)
    index[dots:dots + 1] = [slice(None)] * (x.ndim - used)
    axes = [i for i in index if i is not None]
    cuts = [(axis, i) for axis, i in enumerate(axes) if isinstance(i, slice) and i != slice(None)]
    y: Any = x
    if cuts:
        steps = [1 if i.step is None else i.step for _, i in cuts]
        starts = [(0 if step > 0 else END) if i.start is None else i.start
                  for (_, i), step in zip(cuts, steps, strict=True)]
        stops = [(END if step > 0 else -END) if i.stop is None else i.stop
                 for (_, i), step in zip(cuts, steps, strict=True)]
        y = g.node("Slice", y, *map(g.integers, (starts, stops, [axis for axis, _ in cuts], steps)))
    for axis in reversed(range(len(axes))):
        if not isinstance(axes[axis], slice):
            i = axes[axis]
            y = g.node("Gather", y, i if isinstance(i, np.ndarray) else g.constant(i, np.int64), axis=axis)
    places, at = [], 0
    for i in index:
        places += [at] if i is None else []
        at += 1 if i is None or isinstance(i, slice) else np.ndim(i)
    y = g.node("Unsqueeze", y, g.integers(places)) if places else y
    return g.node("Identity", y) if y is x else y


@row("flip")
def _flip(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    x, axis = inputs[0], options["axis"]
    axes = list(range(x.ndim)) if axis is None else list(axis) if isinstance(axis, tuple | list) else [axis]
    n = len(axes)
    return g.node("Slice", x, *map(g.integers, ([END] * n, [-END] * n, axes, [-1] * n)))


@row("surround")
def _surround(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    x, bounds = inputs[0], list(zip(options["index"], options["shape"], strict=True))
    pads = [part.start or 0 for part, _ in bounds] + [0 if part.stop is None else n - part.stop for part, n in bounds]
    return g.node("Pad", x, g.integers(pads), g.constant(options["value"], x.dtype))


@row("set_at")
def _set_at(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    """Where a mask says so, the value, which is padded until its places are those of x."""
    (value, x), index = inputs, list(options["index"])
    dots = index.index(Ellipsis) if any(i is Ellipsis for i in index) else len(index)
    index[dots:dots + 1] = [slice(None)] * (x.ndim - sum(i is not Ellipsis for i in index))
    if any(not isinstance(i, int | slice) or isinstance(i, slice) and i.step not in (None, 1) for i in index):
        raise NotImplementedError("onnx.export: set_at, of Tensor[index] = value, is written for whole numbers and "
                                  "slices without steps")
    there = np.ones([1 if i == slice(None) else int(n) for i, n in zip(index, x.shape, strict=True)], bool)
    before, after = [0] * x.ndim, [0] * x.ndim
    v: Any = cast(g, value, x.dtype) if isinstance(value, Tensor) else g.constant(value, x.dtype)
    axes = [axis for axis, i in enumerate(index) if isinstance(i, slice)]
    axes = axes[len(axes) - getattr(value, "ndim", 0):]  # those of the value
    if dropped := [axis - x.ndim for axis, i in enumerate(index) if isinstance(i, int) and axes and axis > axes[0]]:
        v = g.node("Unsqueeze", v, g.integers(dropped))
    for axis, i in enumerate(index):
        if i != slice(None):
            n = int(x.shape[axis])
            start, stop, _ = slice(i, i + 1 or None).indices(n) if isinstance(i, int) else i.indices(n)
            there[tuple([slice(None)] * axis + [[k for k in range(n) if not start <= k < stop]])] = False
            if axis in axes and int(value.shape[axes.index(axis) - len(axes)]) != 1:
                before[axis], after[axis] = start, n - stop
    if any(before + after):
        v = g.node("Pad", v, g.integers([*before[axes[0]:], *after[axes[0]:]]), g.constant(0, x.dtype))
    return g.node("Where", g.constant(there), v, x)


@row("rotate_halves")
def _rotate_halves(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    x, cos, sin = inputs
    a, b = g.node("Split", x, outputs=2, axis=-1, num_outputs=2)
    return g.node("Concat", g.node("Sub", g.node("Mul", a, cos), g.node("Mul", b, sin)),
                  g.node("Add", g.node("Mul", a, sin), g.node("Mul", b, cos)), axis=-1)


# Convolution, pooling, normalisation ----------------------------------------------------------------------------------


def _pair(value: Any) -> list[int]:
    return list(value) if isinstance(value, tuple | list) else [value, value]


def _margins(name: str, weight: Any, options: dict) -> list[int]:
    """The padding as ONNX has it: before each axis, then after each."""
    margins = margins_of(name, options["padding"], weight.shape[2:], _pair(options["stride"]),
                         _pair(options["dilation"]))
    return [m[0] for m in margins] + [m[1] for m in margins]


@row("conv2d")
def _conv(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    return g.node("Conv", *[x for x in inputs if x is not None], pads=_margins(name, inputs[1], options),
                  strides=_pair(options["stride"]), dilations=_pair(options["dilation"]), group=options["groups"],
                  kernel_shape=list(inputs[1].shape[2:]))


@row("conv_transpose2d")
def _conv_transpose(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    return g.node("ConvTranspose", *[x for x in inputs if x is not None], pads=_margins(name, inputs[1], options),
                  strides=_pair(options["stride"]), dilations=_pair(options["dilation"]), group=options["groups"],
                  output_padding=_pair(options["output_padding"]), kernel_shape=list(inputs[1].shape[2:]))


@row("max_windows", "sum_windows")
def _windows(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    x, windows = inputs[0], options["windows"]
    after = [max(axis.extent - axis.padding - n, 0) for axis, n in zip(windows, x.shape[-2:], strict=True)]
    settings = dict(kernel_shape=[axis.kernel for axis in windows], strides=[axis.stride for axis in windows],
                    dilations=[axis.dilation for axis in windows], pads=[axis.padding for axis in windows] + after)
    if name == "max_windows":
        return g.node("MaxPool", x, **settings)
    if settings.pop("dilations") != [1, 1]:
        raise NotImplementedError("onnx.export: there is no node for sums over dilated windows")
    return g.node("Mul", g.node("AveragePool", x, count_include_pad=1, **settings),
                  math.prod(axis.kernel for axis in windows))


@row("batch_norm")
def _batch_norm(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    x, weight, bias, mean, var = inputs
    weight = np.ones(mean.shape, x.dtype) if weight is None else weight
    bias = np.zeros(mean.shape, x.dtype) if bias is None else bias
    return g.node("BatchNormalization", x, weight, bias, mean, var, epsilon=float(options["eps"]))


@row("layer_norm")
def _layer_norm(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    x, weight, bias = inputs
    shape = options["normalized_shape"]
    shape = (weight.shape if weight is not None else x.shape[-1:]) if shape is None else shape
    weight = np.ones(shape, x.dtype) if weight is None else weight
    return g.node("LayerNormalization", x, weight, *[] if bias is None else [bias], axis=-len(shape),
                  epsilon=float(options["eps"]))


# Attention ------------------------------------------------------------------------------------------------------------


@row("_self_attention")
def _self_attention(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    """qkv (..., T, 3 E) as (..., T, 3, heads, size), then (3, ..., heads, T, size)."""
    qkv, mask = inputs
    n, heads, width = qkv.ndim - 2, options["num_heads"], qkv.shape[-1]
    apart = g.node("Concat", g.node("Shape", qkv, start=0, end=n + 1),
                   g.integers([3, heads, width // 3 // heads]), axis=0)
    parts = g.node("Transpose", g.node("Reshape", qkv, apart), perm=[n + 1, *range(n), n + 2, n, n + 3])
    q, k, v = (g.node("Gather", parts, g.constant(i, np.int64), axis=0) for i in range(3))
    y = _attend(g, q, k, v, mask, options, n + 3, (qkv.shape[-2], qkv.shape[-2]))
    y = g.node("Transpose", y, perm=[*range(n), n + 1, n, n + 2])
    shape = g.node("Concat", g.node("Shape", qkv, start=0, end=n + 1), g.integers([width // 3]), axis=0)
    return g.node("Reshape", y, shape)


@row("_attention")
def _attention(g: Any, name: str, inputs: list, options: dict, out: Tensor) -> Any:
    q, k, v, mask = inputs
    return _attend(g, q, k, v, mask, options, k.ndim, (q.shape[-2], k.shape[-2]))


def _attend(g: Any, q: Any, k: Any, v: Any, mask: Any, options: dict, rank: int, lengths: tuple[int, int]) -> Any:
    """softmax(scale q k^T + mask) v, and 0 for a query that may see no key."""
    turned = g.node("Transpose", k, perm=[*range(rank - 2), rank - 1, rank - 2])
    scores = g.node("MatMul", g.node("Mul", q, options["scale"]), turned)
    allowed: Any = g.constant(np.tri(*lengths, dtype=bool)) if options["is_causal"] else None
    if mask is not None:
        boolean = mask.dtype == bool
        seen = mask if boolean else g.node("Greater", mask, np.asarray(-np.inf, mask.dtype))
        scores = scores if boolean else g.node("Add", scores, mask)
        allowed = seen if allowed is None else g.node("And", seen, allowed)
    if allowed is None:
        return g.node("MatMul", g.node("Softmax", scores, axis=-1), v)
    least = float(np.finfo(g.like).min)
    weights = g.node("Softmax", g.node("Where", allowed, scores, least), axis=-1)
    return g.node("MatMul", g.node("Where", allowed, weights, 0), v)

