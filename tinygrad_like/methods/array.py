"""`x.data`: a NumPy array that also has a Tensor's methods."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..core.graph import setting
from ..core.tensor import wrap
from ..dtypes import views
from ..ops import operands


class Array(np.ndarray):
    """The memory of a Tensor as a NumPy array, on which `p.data.uniform_(-k, k)` and `p.data.norm()` work too.

    Methods that NumPy's arrays have (`sum`, `std`) behave as in NumPy, unless called in PyTorch's way: with `dim=` or
    `keepdim=`, `max(1)`, `size(0)`. These, and all other names, go to a Tensor on the same memory, which records
    nothing; a method that ends in _ changes this memory. Raises AttributeError for a name that neither has, and
    TypeError for `sort(1)` and `repeat(2, 1)`, which differ between the two.
    """

    @property
    def size(self) -> Any:  # type: ignore[override]
        """The number of elements, and PyTorch's `size()`, `size(dim)`."""
        return wrap(np.asarray(self)).size

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # of protocols, which NumPy and others ask for
            raise AttributeError(f"an array has no attribute {name!r}")
        found = getattr(wrap(np.asarray(self)), name)
        if not callable(found) or not name.endswith("_"):
            return found

        def change(*inputs: Any, **options: Any) -> Array:  # without its name and docstring: that would take longer
            with setting("recording", False):  # else what it is given could make a graph of it, and leave the memory
                found(*inputs, **options)
            return self

        return change

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        """The result of a NumPy function; a float64 scalar becomes a weak number, so that m * p.data keeps its
        dtype."""
        if array.dtype is _FLOAT64 and context is not None and any(type(x) is np.float64 for x in context[1]):
            y = context[0](*map(plain, context[1][:context[0].nin]))
            return y[context[2]] if type(y) is tuple else y
        return super().__array_wrap__(array, context, return_scalar)

    def view(self, *shape: Any, **options: Any) -> Any:
        """NumPy's, or a Tensor's if sizes are given: `x.data.view(-1, 10)`."""
        sizes = sizes_in(shape)
        return self.reshape(*sizes) if sizes else super().view(*shape, **options)

    # What is shown, kept in a file or sent to another process is a plain array.
    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()


_FLOAT64 = np.dtype(np.float64)


def plain(x: Any) -> Any:
    """A number of NumPy's as Python's."""
    return float(x) if issubclass(type(x), np.floating) else x  # by its type: one that only poses as NumPy's is not


def sizes_in(shape: tuple) -> Any:
    """The sizes of `view(*shape)`; () for other arguments."""
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
    return sizes if all(isinstance(size, int | np.integer) for size in sizes) else ()


def as_pytorchs(name: str, inputs: tuple, options: dict) -> bool:
    """Whether a method that NumPy's arrays have too is called in PyTorch's way. Raises TypeError if it is ambiguous."""
    counted = len(inputs) > (name == "repeat") and all(isinstance(n, int | bool) for n in inputs)
    if name in _UNLIKE and counted and not options:
        raise TypeError(f"{name}: of numbers alone it is {_UNLIKE[name]}")
    return bool(options.keys() & {"dim", "keepdim", "unbiased", "descending"}) or name in ("max", "min") and counted


def _either(name: str) -> Any:
    """A method of NumPy's, or of Tensors if it is called as PyTorch's is."""
    numpys = getattr(np.ndarray, name)

    @functools.wraps(numpys)
    def method(self: Array, *inputs: Any, **options: Any) -> Any:
        if as_pytorchs(name, inputs, options):
                return getattr(wrap(np.asarray(self)), name)(*inputs, **options)
        return numpys(self, *inputs, **options)

    return method


_UNLIKE = {"sort": "in place in NumPy, a pair in PyTorch; write sort(axis=1) or sort(dim=1)",
           "repeat": "elements along an axis in NumPy, copies side by side in PyTorch; write repeat(2, axis=1), or "
                     "x.repeat(2, 1) of the Tensor"}
EITHER = (*_UNLIKE, "max", "min", "sum", "mean", "std", "var", "prod", "argmax", "argmin", "all", "any", "cumsum",
          "cumprod", "argsort", "squeeze")
for _name in EITHER:
    setattr(Array, _name, _either(_name))


def shows(value: Any, array: np.ndarray) -> bool:
    """Whether `value` is this array, or the view of all of it that `.data` gave."""
    return value is array or (type(value) is Array and value.base is array and value.shape == array.shape
                              and value.strides == array.strides and value.dtype is array.dtype)


views.append(Array)
operands.views.add(Array)
