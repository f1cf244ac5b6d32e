"""NumPy's functions on Tensors: np.sin(x) is x.sin(), on the graph. What has no op here computes with the values, or
raises an error if they require grad.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

import tinygrad_like.tensor as tensor  # `from . import tensor` may give the function

from . import ops
from .array import Array
from .autograd import mode
from .dtypes import FLOATS, wide


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


# With NumPy's parameters, where they are not already ours.
_NUMPY: dict[str, Callable] = {
    "concatenate": lambda arrays, axis=0: ops.cat(*arrays, axis=axis),
    "stack": lambda arrays, axis=0: ops.stack(*arrays, axis=axis),
    "where": lambda condition, *ab: ops.where(condition, *ab) if ab else _on_arrays("np.where", np.where, (condition,)),
    "max": lambda a, axis=None, out=None, keepdims=False: ops.max(a, axis=axis, keepdim=keepdims),
    "min": lambda a, axis=None, out=None, keepdims=False: ops.min(a, axis=axis, keepdim=keepdims),
    "var": lambda a, axis=None, ddof=0, keepdims=False: ops.var(a, axis=axis, keepdim=keepdims, correction=ddof),
    "std": lambda a, axis=None, ddof=0, keepdims=False: ops.std(a, axis, keepdims, ddof),
    "cumsum": lambda a, axis=None: ops.cumsum(ops.flatten(a) if axis is None else a, axis=0 if axis is None else axis),
    "transpose": lambda a, axes=None: ops.permute(a, axes=tuple(range(a.ndim))[::-1] if axes is None else tuple(axes)),
    "dot": lambda a, b: (ops.matmul(a, b) if {np.ndim(a), np.ndim(b)} <= {1, 2} else
                         _on_arrays("np.dot", np.dot, (a, b))),
    "norm": lambda x, ord=None, axis=None, keepdims=False: norm(x, ord or 2, axis, keepdims)
    if ord is None or axis is not None or np.ndim(x) == 1 else _on_arrays("np.norm", np.linalg.norm, (x, ord)),
    "reshape": lambda a, shape: ops.reshape(a, shape=shape if isinstance(shape, tuple | list) else (shape,)),
    "ravel": lambda a: ops.reshape(a, shape=(-1,)),
    "expand_dims": lambda a, axis: ops.unsqueeze(a, axis),
    "broadcast_to": lambda array, shape: ops.expand(array, shape=shape),
    "sort": lambda a, axis=-1: ops.sort(a, axis)[0],
    "round": lambda a, decimals=0: ops.round(a) if not decimals else _on_arrays("np.round", np.round, (a, decimals)),
    "shape": lambda a: a.shape, "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a._data.size if axis is None else a.shape[axis],
}
_NUMPY |= {"amax": _NUMPY["max"], "amin": _NUMPY["min"], "around": _NUMPY["round"]}
_SAME_IN_NUMPY = frozenset({
    "sum", "mean", "prod", "any", "all", "argmax", "argmin", "squeeze", "clip", "swapaxes", "flip", "roll", "tril",
    "triu", "diagonal", "outer", "trace", "argsort", "tile", "zeros_like", "ones_like", "full_like", "matmul"})


def _of_numpy(function: Any) -> Callable | None:
    """What computes a function of NumPy's on Tensors, if something does."""
    if function.__module__ not in ("numpy", "numpy.linalg"):
        return None
    name = function.__name__
    return _NUMPY.get(name) or (getattr(tensor.Tensor, name, None) if name in _SAME_IN_NUMPY else
                                ops.einsum if name == "einsum" else None)


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
    """The part of Tensor that NumPy and other libraries ask for its values."""

    if TYPE_CHECKING:
        requires_grad: bool
        _data: np.ndarray

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The values as a read-only array, without a copy.

        force: also of a Tensor that requires grad. Raises RuntimeError for one otherwise, since what NumPy computes is
        off the graph: detach() it.
        """
        if not force:
            self._off_the_graph("numpy")
        tensor._python("numpy()")
        view = self._data.view()
        view.flags.writeable = False
        return view

    def _off_the_graph(self, who: str) -> None:
        if self.requires_grad:
            raise RuntimeError(f"{who}: this Tensor requires grad, and what another library computes of it has no "
                               "gradient; write x.detach().numpy() if none is wanted, else compute with ops")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numpy(), dtype=dtype, copy=copy)

    def __dlpack__(self, **options: Any) -> Any:
        self._off_the_graph("__dlpack__")
        tensor._python("an array of a Tensor's memory by DLPack")
        return self._data.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._data.__dlpack_device__()

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
        if method == "__call__" and len(options) == 1 and "out" in options and mode.tape is None:  # `array -= x`
            tensors = [x for x in (*inputs, *options["out"]) if isinstance(x, tensor.Tensor)]
            if len(inputs) == 2 and inputs[0] is options["out"][0] and len(tensors) == 1 and (
                    not self.requires_grad or type(inputs[0]) is Array):  # what is done to `x.data` is not recorded
                return ufunc(inputs[0], self._data, **options)
        op = _op_of(_UFUNCS.get(ufunc.__name__, ufunc.__name__)) if method == "__call__" and not options else None
        return op(*inputs) if op else _on_arrays(f"np.{ufunc.__name__}", getattr(ufunc, method), inputs, options)

    def __array_function__(self, function, types, inputs, options):
        op = _of_numpy(function)
        if op:
            return op(*inputs, **options)
        return _on_arrays(f"np.{function.__name__}", function, inputs, options)
