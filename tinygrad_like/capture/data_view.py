"""What `x.data` is inside a captured function: a Tensor that does only what the array would do.

The array that `x.data` gives elsewhere cannot be followed by a tape. Most of what is written with it is an update,

    p.data -= lr * p.grad
    q.data.copy_(0.99 * q.data + 0.01 * p.data)

which a Tensor on the same memory does as well. But its `std` is not an array's: names that both have give what the
array's do, and the function is not captured.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.graph import mode, setting
from ..core.listener import observe
from ..core.tensor import Tensor
from ..dtypes import FLOATS
from ..methods.array import EITHER, as_pytorchs, plain, sizes_in

_OPERATORS: dict[Any, Callable] = {np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul,
                                   np.true_divide: operator.truediv}


class Shown(Tensor):
    """Made by `x.data` while a tape is open; later it is a Tensor."""

    def __getitem__(self, index: Any) -> Shown:
        return shown(super().__getitem__(index))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        operate = _OPERATORS.get(ufunc)
        if method != "__call__" or options or operate is None or not issubclass(type(inputs[0]), np.floating):
            _only_arrays("__array_ufunc__")
            return super().__array_ufunc__(ufunc, method, *inputs, **options)
        return operate(plain(inputs[0]), *inputs[1:])  # as in m * p.data, where m is a number of NumPy's

    def view(self, *shape: Any, **options: Any) -> Shown:
        if options or not sizes_in(shape):
            _only_arrays("view")
        return shown(super().view(*shape, **options))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(np.ndarray, name):
            _only_arrays(name)
            return getattr(self._data, name)
        return object.__getattribute__(self, name)  # which raises what it did


def shown(x: Tensor) -> Shown:
    """x.data for a tape."""
    s = Shown.__new__(Shown)
    s._data = x._data
    return s


def set_data(tape: Any, x: Tensor, value: Any) -> None:
    """x.data = value for a tape: what `x.data -= ...` ends in. Another array is not captured."""
    if type(value) is not Shown or value._data is not x._data:
        tape.end("data is set to another array", "change it in place, as x.data -= ... and x.data.copy_(...) do")
        with setting("listener", None):
            x.data = value._data if type(value) is Shown else value
        return
    x.touch()


def _only_arrays(what: str) -> None:
    observe(f"x.data.{what}", remedy="write x.detach() in place of x.data: it is a Tensor, as x is")


def _arithmetic(name: str) -> Callable:
    """An operator between Tensors of one floating dtype, or one and a number: NumPy gives the same."""
    of_tensors, in_place = getattr(Tensor, name), name.startswith("__i")

    def operate(self: Shown, *others: Any) -> Any:
        others = tuple(map(plain, others))
        for y in others:
            if self.dtype.kind not in FLOATS or type(y) not in (int, float) and not (
                    isinstance(y, Tensor) and y.dtype is self.dtype):
                _only_arrays(f"{name} of {type(y).__name__}")
        with setting("recording", mode.recording and not in_place):
            out = of_tensors(self, *others)
        return out if in_place or any(isinstance(y, Tensor) and type(y) is not Shown for y in others) else shown(out)

    return operate


def _changing(name: str) -> Callable:
    of_tensors = getattr(Tensor, name)

    def change(self: Shown, *inputs: Any, **options: Any) -> Shown:
        with setting("recording", False):  # as that of an array
            of_tensors(self, *inputs, **options)
        return self

    return change


def _refused(name: str) -> Any:
    """What Tensors have of that name, but while a tape is open."""
    def method(self: Shown, *inputs: Any, **options: Any) -> Any:
        _only_arrays(name)
        return getattr(self._data, name)(*inputs, **options)

    def attribute(self: Shown) -> Any:
        _only_arrays(name)
        return getattr(self._data, name)

    return method if name.startswith("__") else property(attribute)


def _either(name: str) -> Any:
    """What Tensors have of that name, called as PyTorch's is."""
    def method(self: Shown, *inputs: Any, **options: Any) -> Any:
        if not as_pytorchs(name, inputs, options):
            _only_arrays(name)
            return getattr(self._data, name)(*inputs, **options)
        return getattr(super(Shown, self), name)(*inputs, **options)

    return method


_ALIKE = frozenset(("shape", "ndim", "dtype", "nbytes", "size"))
_ARITHMETIC = frozenset(("add", "radd", "iadd", "sub", "rsub", "isub", "mul", "rmul", "imul", "truediv", "rtruediv",
                         "itruediv", "pow", "matmul", "neg", "abs", "lt", "le", "gt", "ge", "eq", "ne"))
_OTHER_OPERATORS = ("floordiv rfloordiv ifloordiv mod rmod imod rpow ipow rmatmul imatmul and rand iand or ror ior xor "
                    "rxor ixor invert lshift rshift array_ufunc array_function dlpack").split()
for _name in dir(Tensor):
    _operator = _name.strip("_")
    if _name == f"__{_operator}__":
        if _operator in _ARITHMETIC:
            setattr(Shown, _name, _arithmetic(_name))
        elif _operator in _OTHER_OPERATORS and _name not in vars(Shown):
            setattr(Shown, _name, _refused(_name))
    elif _name.startswith("_") or _name in _ALIKE or _name in vars(Shown):
        continue
    elif _name.endswith("_"):
        setattr(Shown, _name, _changing(_name))
    elif _name in EITHER:
        setattr(Shown, _name, _either(_name))
    elif hasattr(np.ndarray, _name):  # names that arrays do not have are Tensors' there too
        setattr(Shown, _name, _refused(_name))
Shown.__hash__ = Tensor.__hash__  # type: ignore[method-assign]
