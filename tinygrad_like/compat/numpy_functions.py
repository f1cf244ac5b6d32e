"""NumPy's functions on Tensors: np.sin(x) is x.sin(), on the graph. What has no op here computes with the values, or
raises an error if they require grad.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import tinygrad_like.core.tensor as tensor  # `from . import tensor` may give the function

from .. import ops
from ..core.graph import mode
from ..dtypes import FLOATS, wide
from ..methods.array import Array


def norm(x: Any, p: Any = 2.0, axis: Any = None, keepdim: bool = False) -> Any:
    """(sum |x|^p)^(1/p) over `axis`, see `linalg.vector_norm`; "fro" is 2."""
    p = 2 if p is None or isinstance(p, str) and p == "fro" else p
    if not isinstance(p, int | float | np.number):  # and no Tensor, whose == is an op
        raise TypeError(f"norm: p must be a number, inf or 'fro', got {p!r}")
    if p == 2:
        return ops.norm(x, axis=axis, keepdim=keepdim)
    return ops.linalg.vector_norm(x, p, axis, keepdim)


_UFUNCS: dict[str, str] = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "power": "pow", "remainder": "mod",
    "floor_divide": "floordiv", "negative": "neg", "absolute": "abs", "fabs": "abs", "arcsin": "asin",
    "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "rint": "round", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le",
    "greater": "gt", "greater_equal": "ge", "bitwise_and": "logical_and", "bitwise_or": "logical_or",
    "bitwise_xor": "logical_xor", "invert": "logical_not", "logical_and": "", "logical_or": "", "logical_xor": "",
    "logical_not": "", "positive": "identity",
}


def _op_of(name: str) -> Any:
    return getattr(ops, name, None) if name else None


def _along(op: str) -> Callable:
    """The function of an op along an axis, of all numbers in one row if there is none."""
    return lambda a, axis=None: getattr(ops, op)(ops.flatten(a) if axis is None else a, axis=axis or 0)


def _op(name: str) -> Callable:
    return lambda *inputs, **options: getattr(ops, name)(*inputs, **options)


_PADDING = {"constant": "constant", "edge": "replicate", "reflect": "reflect", "wrap": "circular"}


def _pad(array: Any, pad_width: Any, mode: Any = "constant", constant_values: Any = 0) -> Any:
    if mode not in _PADDING or isinstance(pad_width, dict) or np.ndim(constant_values):
        return NotImplemented
    pairs = np.broadcast_to(pad_width, (array.ndim, 2)).tolist()
    return ops.pad(array, padding=pairs, mode=_PADDING[mode], value=constant_values)


def _solve(a: Any, b: Any) -> Any:
    if np.ndim(b) not in (1, np.ndim(a)):
        return NotImplemented
    a, b = [x if isinstance(x, tensor.Tensor) else np.asarray(x) for x in (a, b)]
    both = np.result_type(a.dtype, b.dtype)
    return ops.linalg.solve(*[x if x.dtype == both else ops.cast(x, dtype=both) for x in (a, b)])


def _split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    n = indices_or_sections
    return NotImplemented if not np.ndim(n) and ary.shape[axis] % n else ops.tensor_split(ary, n, axis)


# With NumPy's parameters, where they are not already ours. NotImplemented: there is no op for that.
_NUMPY: dict[str, Callable] = {
    "concatenate": lambda arrays, axis=0: ops.cat(*arrays, axis=axis),
    "stack": lambda arrays, axis=0: ops.stack(*arrays, axis=axis),
    "vstack": lambda tup: ops.vstack(*tup), "hstack": lambda tup: ops.hstack(*tup),
    "split": _split, "array_split": lambda ary, indices_or_sections, axis=0: ops.tensor_split(
        ary, indices_or_sections, axis),
    "where": lambda condition, *ab: ops.where(condition, *ab) if ab else NotImplemented,
    "max": lambda a, axis=None, out=None, keepdims=False: ops.max(a, axis=axis, keepdim=keepdims),
    "min": lambda a, axis=None, out=None, keepdims=False: ops.min(a, axis=axis, keepdim=keepdims),
    "var": lambda a, axis=None, *, ddof=0, keepdims=False: ops.var(a, axis=axis, keepdim=keepdims, correction=ddof),
    "std": lambda a, axis=None, *, ddof=0, keepdims=False: ops.std(a, axis, keepdims, ddof),
    "cumsum": _along("cumsum"), "cumprod": _along("cumprod"), "pad": _pad,
    "repeat": lambda a, repeats, axis=None: ops.repeat_interleave(a, repeats, axis),
    "transpose": lambda a, axes=None: ops.permute(a, axes=tuple(range(a.ndim))[::-1] if axes is None else tuple(axes)),
    "dot": lambda a, b: ops.matmul(a, b) if {np.ndim(a), np.ndim(b)} <= {1, 2} else NotImplemented,
    "tensordot": _op("tensordot"), "kron": _op("kron"), "inner": _op("inner"), "einsum": _op("einsum"),
    "cross": lambda a, b, *, axis=-1: ops.cross(a, b, axis),
    "reshape": lambda a, shape: ops.reshape(a, shape=shape if isinstance(shape, tuple | list) else (shape,)),
    "ravel": lambda a: ops.reshape(a, shape=(-1,)),
    "expand_dims": lambda a, axis: ops.unsqueeze(a, axis),
    "broadcast_to": lambda array, shape: ops.expand(array, shape=shape),
    "sort": lambda a, axis=-1: ops.sort(a, axis)[0],
    "round": lambda a, decimals=0: NotImplemented if decimals else ops.round(a),
    "nan_to_num": lambda x, copy=True, nan=0.0, posinf=None, neginf=None: ops.nan_to_num(x, nan, posinf, neginf),
    "shape": lambda a: a.shape, "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a._data.size if axis is None else a.shape[axis],
}
_NUMPY |= {"amax": _NUMPY["max"], "amin": _NUMPY["min"], "around": _NUMPY["round"]}
_SAME_IN_NUMPY = frozenset({
    "sum", "mean", "prod", "any", "all", "argmax", "argmin", "squeeze", "clip", "swapaxes", "flip", "roll", "tril",
    "triu", "diagonal", "outer", "trace", "argsort", "tile", "zeros_like", "ones_like", "full_like", "matmul"})
_LINALG: dict[str, Callable] = {
    "norm": lambda x, ord=None, axis=None, keepdims=False: norm(x, ord or 2, axis, keepdims)
    if ord is None or axis is not None or np.ndim(x) == 1 else NotImplemented,
    "solve": _solve,
    "inv": lambda a: ops.linalg.inv(a), "det": lambda a: ops.linalg.det(a), "slogdet": lambda a: ops.linalg.slogdet(a),
    "cholesky": lambda a, *, upper=False: ops.linalg.cholesky(a, upper),
    "matmul": _op("matmul"), "outer": _op("outer"), "tensordot": _op("tensordot"),
    "cross": _NUMPY["cross"],
}


def _of_numpy(function: Any, inputs: tuple, options: dict) -> Any:
    """What a function of NumPy's gives of Tensors; NotImplemented if no op does that."""
    name, module = function.__name__, function.__module__
    op = {"numpy": _NUMPY, "numpy.linalg": _LINALG}.get(module, {}).get(name)
    if op is None and module == "numpy" and name in _SAME_IN_NUMPY:
        op = getattr(tensor.Tensor, name)
    elif (code := getattr(op, "__code__", None)) is not None:
        count = code.co_argcount + code.co_kwonlyargcount
        many = len(inputs) > code.co_argcount and not code.co_flags & inspect.CO_VARARGS
        if many or not options.keys() <= {*code.co_varnames[:count]} and not code.co_flags & inspect.CO_VARKEYWORDS:
            return NotImplemented
    return NotImplemented if op is None else op(*inputs, **options)


def _on_arrays(who: str, f: Callable, inputs: Any, options: Mapping[str, Any] = {}) -> Any:  # noqa: B006
    """What NumPy gives for the values. Raises TypeError if they have a gradient, which it would lose."""
    cut = False

    def plain(x: Any) -> Any:
        nonlocal cut
        if isinstance(x, tensor.Tensor):
            cut = cut or x.requires_grad and mode.recording
            return x.detach().numpy()
        if isinstance(x, list | tuple):
            return type(x)(map(plain, x)) if type(x) in (list, tuple) else x
        return x

    inputs, options = plain(tuple(inputs)), {name: plain(x) for name, x in options.items()}
    lost = TypeError(f"{who}: NumPy computes it off the graph, but a Tensor requires grad; use an op or a Tensor "
                     "method, or x.detach() if no gradient is wanted")
    if cut and options.get("out") is not None:
        raise lost
    y = f(*inputs, **options)
    if cut and any(getattr(part, "dtype", np.dtype(bool)).kind in FLOATS for part in (y if type(y) is tuple else (y,))):
        raise lost
    return y


class ForNumPy:
    """The part of Tensor that NumPy's functions, and PyTorch's, ask for."""

    if TYPE_CHECKING:
        requires_grad: bool
        _data: np.ndarray

    @classmethod
    def __torch_function__(cls, function, types, inputs=(), options=None):
        """`copy_` of PyTorch's tensors takes a Tensor, and `load_state_dict` of its modules a state_dict from here."""
        if getattr(function, "__name__", "") != "copy_" or isinstance(inputs[0], tensor.Tensor):
            return NotImplemented
        to, x, *others = inputs
        values = x.numpy()
        values = np.array(values, wide(values.dtype))  # a copy, which may be written; PyTorch cannot read ml_dtypes'
        return function(to, sys.modules["torch"].from_numpy(values), *others, **(options or {}))

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if method == "__call__" and len(options) == 1 and "out" in options and mode.listener is None:  # `array -= x`
            tensors = [x for x in (*inputs, *options["out"]) if isinstance(x, tensor.Tensor)]
            if len(inputs) == 2 and inputs[0] is options["out"][0] and len(tensors) == 1 and (
                    not self.requires_grad or type(inputs[0]) is Array):  # what is done to `x.data` is not recorded
                return ufunc(inputs[0], self._data, **options)
        op = _op_of(_UFUNCS.get(ufunc.__name__, ufunc.__name__)) if method == "__call__" and not options else None
        return op(*inputs) if op else _on_arrays(f"np.{ufunc.__name__}", getattr(ufunc, method), inputs, options)

    def __array_function__(self, function, types, inputs, options):
        y = _of_numpy(function, inputs, options)
        return y if y is not NotImplemented else _on_arrays(f"np.{function.__name__}", function, inputs, options)
