"""NumPy's functions on Tensors: np.sin(x) is x.sin(), on the graph. A function without an op here computes with the
values, or raises an error if they require grad.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..core.graph import mode
from ..core.tensor import Tensor
from ..dtypes import FLOATS, wide

# NumPy's names that differ from our methods'; "" if the name means something else there.
_UFUNCS: dict[str, str] = {
    "power": "pow", "remainder": "mod", "fabs": "abs", "rint": "round", "equal": "eq", "invert": "bitwise_not",
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor", "logical_not"), "")}
# Functions that are methods here, with the same name and arguments.
_METHODS = frozenset({
    "sum", "mean", "prod", "max", "min", "amax", "amin", "any", "all", "argmax", "argmin", "squeeze", "clip",
    "swapaxes", "flip", "roll", "tril", "triu", "diagonal", "outer", "trace", "argsort", "tile", "ravel", "reshape",
    "zeros_like", "ones_like", "full_like", "matmul"})


def _on_arrays(who: str, f: Callable, inputs: Any, options: Mapping[str, Any]) -> Any:
    """NumPy's result for the values. Raises TypeError if they require grad, since it would be lost."""
    cut = False

    def plain(x: Any) -> Any:
        nonlocal cut
        if isinstance(x, Tensor):
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
    """The part of Tensor that NumPy's and PyTorch's functions call."""

    @classmethod
    def __torch_function__(cls, function, types, inputs=(), options=None):
        """`copy_` of PyTorch's tensors takes a Tensor, and `load_state_dict` of its modules a state_dict from here."""
        if getattr(function, "__name__", "") != "copy_" or isinstance(inputs[0], Tensor):
            return NotImplemented
        to, x, *others = inputs
        values = x.numpy()
        values = np.array(values, wide(values.dtype))  # a writable copy; PyTorch cannot read ml_dtypes' dtypes
        return function(to, sys.modules["torch"].from_numpy(values), *others, **(options or {}))

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
        op = getattr(Tensor, name, None) if name and method == "__call__" and not options else None
        return op(*inputs) if op else _on_arrays(f"np.{ufunc.__name__}", getattr(ufunc, method), inputs, options)

    def __array_function__(self, function, types, inputs, options):
        name = function.__name__
        if name in _METHODS and function.__module__ == "numpy" and isinstance(inputs[0], Tensor):
            return getattr(Tensor, name)(*inputs, **options)
        return _on_arrays(f"np.{name}", function, inputs, options)
