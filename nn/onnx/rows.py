"""The ONNX nodes of each op: f(g, out, *inputs, **options) returns the name of the value of its output `out`.

`g.node(kind, *inputs, **attributes)` adds a node and returns the name of its value. Inputs are Tensors, arrays, numbers
or such names. A number that may depend on the batch size must be an input, made by `g.integers`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tinygrad_like import ops
from tinygrad_like.ops.conv import margins_of

END = np.iinfo(np.int64).max

SAME = """
    abs Abs, neg Neg, exp Exp, log Log, sqrt Sqrt, reciprocal Reciprocal, sin Sin, cos Cos, tan Tan, asin Asin,
    acos Acos, atan Atan, sinh Sinh, cosh Cosh, asinh Asinh, acosh Acosh, atanh Atanh, tanh Tanh, sigmoid Sigmoid,
    relu Relu, erf Erf, floor Floor, ceil Ceil, round Round, sign Sign, add Add, sub Sub, mul Mul, div Div, pow Pow,
    maximum Max, minimum Min, batched_matmul MatMul, matrix_vector MatMul, identity Identity, clone Identity,
    contiguous Identity, cat Concat, softmax Softmax, log_softmax LogSoftmax, isnan IsNaN, isinf IsInf, eq Equal,
    lt Less, le LessOrEqual, gt Greater, ge GreaterOrEqual, logical_not Not, logical_and And, logical_or Or,
    logical_xor Xor
"""
NODES = dict(pair.split() for pair in SAME.split(","))
REDUCED = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "any": "ReduceMax",
           "all": "ReduceMin", "prod": "ReduceProd", "norm": "ReduceL2", "logsumexp": "ReduceLogSumExp"}


def _node(name: str) -> Callable:
    """One node, whose inputs have the dtype of its output, or the dtype in which they are compared."""
    def row(g, out, *xs, **options):
        if out.dtype == bool and name not in ("logical_not", "logical_and", "logical_or", "logical_xor"):
            g.like = np.result_type(*[getattr(x, "dtype", x) for x in xs])
        return g.node(NODES[name], *[g.cast(x, g.like) for x in xs], **options)
    return row


def _reduced(name: str) -> Callable:
    def row(g, out, x, axis, keepdim):
        axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple | list) else [axis]
        logical = name in ("any", "all")
        y = g.cast(g.cast(x, bool), np.int32) if logical else g.cast(x, out.dtype)
        if len(axes):
            y = g.node(REDUCED[name], y, g.integers([a % x.ndim for a in axes]), keepdims=int(keepdim))
        return g.cast(y, bool) if logical else y
    return row


def _arg(kind: str) -> Callable:
    def row(g, out, x, axis, keepdim):
        if axis is not None:
            return g.node(kind, x, axis=axis, keepdims=int(keepdim))
        y = g.node(kind, g.node("Reshape", x, g.integers([-1])), axis=0, keepdims=0)
        return g.node("Reshape", y, g.integers([1] * (x.ndim * keepdim)))
    return row


def _var(x, axis, keepdim, correction):
    squares = (x - x.mean(axis=axis, keepdim=True)).square()
    count = x.size // squares.sum(axis=axis).size
    return squares.sum(axis=axis, keepdim=keepdim) / (count - correction)


def _flip(x, axis):
    axes = range(x.ndim) if axis is None else [a % x.ndim for a in (axis if isinstance(axis, tuple | list) else [axis])]
    return x[tuple(slice(None, None, -1 if a in axes else None) for a in range(x.ndim))]


def _rotate_halves(x, cos, sin):
    a, b = x[..., :x.shape[-1] // 2], x[..., x.shape[-1] // 2:]
    return ops.cat(a * cos - b * sin, a * sin + b * cos, axis=-1)


def _take(g, out, x, index):
    """Slices first, then integers and one array, from the last axis backwards, then new axes."""
    if any(isinstance(i, np.ndarray) and i.dtype == bool for i in index) or sum(
            isinstance(i, np.ndarray) for i in index) > 1:
        raise NotImplementedError("onnx.export: Tensor[index] supports slices, integers, None "
                                  "and one array of integers")
    index, used = list(index), sum(i is not None and i is not Ellipsis for i in index)
    dots = index.index(Ellipsis) if any(i is Ellipsis for i in index) else len(index)
    index[dots:dots + 1] = [slice(None)] * (x.ndim - used)
    axes = [i for i in index if i is not None]
    cuts = [(axis, i.start, i.stop, 1 if i.step is None else i.step) for axis, i in enumerate(axes)
            if isinstance(i, slice) and i != slice(None)]
    y = x
    if cuts:
        starts = [start if start is not None else 0 if step > 0 else END for _, start, _, step in cuts]
        stops = [stop if stop is not None else END if step > 0 else -END for _, _, stop, step in cuts]
        y = g.node("Slice", y, *map(g.integers, (starts, stops, [cut[0] for cut in cuts], [cut[3] for cut in cuts])))
    for axis, i in reversed(list(enumerate(axes))):
        if not isinstance(i, slice):
            y = g.node("Gather", y, i if isinstance(i, np.ndarray) else g.constant(i, np.int64), axis=axis)
    places, at = [], 0
    for i in index:
        places += [at] if i is None else []
        at += 1 if i is None or isinstance(i, slice) else np.ndim(i)
    return g.node("Unsqueeze", y, g.integers(places)) if places else g.node("Identity", y) if y is x else y


def _surround(g, out, x, index, shape, value):
    bounds = [part.indices(n)[:2] for part, n in zip(index, shape, strict=True)]
    pads = [start for start, _ in bounds] + [n - stop for (_, stop), n in zip(bounds, shape, strict=True)]
    return g.node("Pad", x, g.integers(pads), g.constant(value, x.dtype))


def _conv(kind: str) -> Callable:
    def row(g, out, x, weight, bias, stride, padding, dilation, groups, output_padding=None, **_):
        stride, dilation, output_padding = (list(n) if isinstance(n, tuple | list) else [n, n] if n is not None else n
                                            for n in (stride, dilation, output_padding))
        kernel = list(weight.shape[2:])
        margins = margins_of(kind, padding, kernel, stride, dilation)
        return g.node(kind, x, weight, bias, pads=[m[i] for i in (0, 1) for m in margins], strides=stride,
                      dilations=dilation, group=groups, kernel_shape=kernel, output_padding=output_padding)
    return row


def _windows(kind: str) -> Callable:
    def row(g, out, x, windows, **_):
        kernel, before, dilation = ([getattr(w, name) for w in windows] for name in ("kernel", "padding", "dilation"))
        after = [max(w.extent - w.padding - n, 0) for w, n in zip(windows, x.shape[-2:], strict=True)]
        settings = dict(kernel_shape=kernel, strides=[w.stride for w in windows], pads=before + after)
        if kind == "MaxPool":
            return g.node(kind, x, dilations=dilation, **settings)
        if dilation != [1, 1]:
            raise NotImplementedError("onnx.export: ONNX has no node for sums over dilated windows")
        return g.node("Mul", g.node(kind, x, count_include_pad=1, **settings), math.prod(kernel))
    return row


def _linear(g, out, x, weight, bias):
    y = g.node("MatMul", x, g.node("Transpose", weight, perm=[1, 0]))
    return y if bias is None else g.node("Add", y, bias)


def _batch_norm(g, out, x, weight, bias, mean, var, eps, **_):
    weight = np.ones(mean.shape, x.dtype) if weight is None else weight
    bias = np.zeros(mean.shape, x.dtype) if bias is None else bias
    return g.node("BatchNormalization", x, weight, bias, mean, var, epsilon=float(eps))


def _layer_norm(g, out, x, weight, bias, normalized_shape, eps):
    shape = (x.shape[-1:] if weight is None else weight.shape) if normalized_shape is None else normalized_shape
    weight = np.ones(shape, x.dtype) if weight is None else weight
    return g.node("LayerNormalization", x, weight, bias, axis=-len(shape), epsilon=eps)


FORMULAS: dict[str, Callable] = {  # ops composed of others, which have rows
    "square": lambda x: x * x, "rsqrt": lambda x: x.sqrt().reciprocal(), "exp2": lambda x: 2.0 ** x,
    "expm1": lambda x: x.exp() - 1, "log1p": lambda x: (x + 1).log(), "log2": lambda x: x.log() / math.log(2),
    "log10": lambda x: x.log() / math.log(10), "trunc": lambda x: x.sign() * x.abs().floor(),
    "isfinite": lambda x: ~(x.isnan() | x.isinf()), "binary_step": lambda x: (x >= 0).cast(x.dtype),
    "ne": lambda a, b: ~ops.eq(a, b), "stack": lambda *xs, axis: ops.cat(*[x.unsqueeze(axis) for x in xs], axis=axis),
    "var": _var, "flip": _flip, "rotate_halves": _rotate_halves}

ROWS: dict[str, Callable[..., Any]] = {
    **{name: make(name) for table, make in ((NODES, _node), (REDUCED, _reduced)) for name in table},
    **{name: lambda g, out, *xs, formula=formula, **options: g.value(formula(*xs, **options))
       for name, formula in FORMULAS.items()},
    "argmax": _arg("ArgMax"), "argmin": _arg("ArgMin"), "take": _take, "surround": _surround,
    "conv2d": _conv("Conv"), "conv_transpose2d": _conv("ConvTranspose"), "max_windows": _windows("MaxPool"),
    "sum_windows": _windows("AveragePool"), "linear": _linear, "batch_norm": _batch_norm, "layer_norm": _layer_norm,
    "where": lambda g, out, c, a, b: g.node("Where", g.cast(c, bool), g.cast(a, out.dtype), g.cast(b, out.dtype)),
    "cast": lambda g, out, x, **_: g.node("Cast", x, to=code(out.dtype)),
    "clip": lambda g, out, x, min, max: g.node("Clip", x, min, max),
    "permute": lambda g, out, x, axes: g.node("Transpose", x, perm=[a % len(axes) for a in axes]),
    "reshape": lambda g, out, x, shape: g.node("Reshape", x, g.integers(shape)),
    "expand": lambda g, out, x, shape: g.node("Expand", x, g.integers([1 if n == -1 else n for n in shape])),
    "tril": lambda g, out, x, diagonal: g.node("Trilu", x, g.constant(diagonal, np.int64), upper=0),
    "triu": lambda g, out, x, diagonal: g.node("Trilu", x, g.constant(diagonal, np.int64), upper=1),
    "cumsum": lambda g, out, x, axis: g.node("CumSum", x, g.constant(axis, np.int64)),
    "embedding": lambda g, out, index, weight, **_: g.node("Gather", weight, index),
}


def has_row(op: Any, inputs: Sequence[Any]) -> bool:
    """Whether the op has a row; a batch norm with the batch's own statistics has no node."""
    return op.name in ROWS and not (op.name == "batch_norm" and inputs[3] is None)


def code(dtype: Any) -> int:
    """ONNX's code of a dtype."""
    import onnx

    return onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
