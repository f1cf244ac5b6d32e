"""NumPy's functions of each number on Tensors: np.sin(x) is x.sin(), on the graph.

Those that have no op here compute with the values, or raise an error if they require grad. Of other functions NumPy
calls the method of that name, as np.sum(x) does, or takes the values.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

import tinygrad_like.core.tensor as tensor  # `from . import tensor` may give the function

from .. import ops
from ..core.graph import mode
from ..dtypes import wide

# NumPy's names that differ from ours; "" if the name means something else there.
_UFUNCS: dict[str, str] = {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "power": "pow", "remainder": "mod",
    "floor_divide": "floordiv", "negative": "neg", "absolute": "abs", "fabs": "abs", "arcsin": "asin",
    "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "rint": "round", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le",
    "greater": "gt", "greater_equal": "ge", "bitwise_and": "logical_and", "bitwise_or": "logical_or",
    "bitwise_xor": "logical_xor", "invert": "logical_not", "logical_and": "", "logical_or": "", "logical_xor": "",
    "logical_not": "", "positive": "identity",
}


def _array(x: Any) -> Any:
    """The values of a Tensor; raises if it requires grad, which NumPy would lose."""
    if not isinstance(x, tensor.Tensor):
        return x
    return np.asarray(x) if mode.recording else x.numpy(force=True)


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
        name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
        if name and method == "__call__" and not options and (op := getattr(ops, name, None)):
            return op(*inputs)
        if "out" in options:  # as of `array -= x`
            options["out"] = tuple(map(_array, options["out"]))
        return getattr(ufunc, method)(*map(_array, inputs), **options)
