"""What `x.data` gives: NumPy's array, which takes the methods of Tensors too."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np


class Array(np.ndarray):
    """The memory of a Tensor as a NumPy array, on which `p.data.uniform_(-k, k)` and `p.data.norm()` work too.

    What NumPy's arrays have means what it means there (`sum`, `std`), unless it is called as PyTorch's: with `dim=` or
    `keepdim=`, `max(1)`, `sort(1)`, `repeat(2, 1)`, `size(0)`. That, and another name, is of the Tensor on the same
    memory, which records nothing; a method that ends in _ changes this memory. Raises AttributeError for a name that
    neither has.
    """

    @property
    def size(self) -> Any:  # type: ignore[override]
        """The number of elements, and PyTorch's `size()`, `size(dim)`."""
        from .tensor import wrap

        return wrap(np.asarray(self)).size

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # of protocols, which NumPy and others ask for
            raise AttributeError(f"an array has no attribute {name!r}")
        from .tensor import wrap

        found = getattr(wrap(np.asarray(self)), name)
        if not callable(found) or not name.endswith("_"):
            return found

        def change(*inputs: Any, **options: Any) -> Array:  # without its name and docstring: that would take longer
            found(*inputs, **options)
            return self

        return change

    def view(self, *shape: Any, **options: Any) -> Any:
        """NumPy's, or a Tensor's if sizes are given: `x.data.view(-1, 10)`."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        if sizes and all(isinstance(size, int | np.integer) for size in sizes):
            return self.reshape(*sizes)
        return super().view(*shape, **options)

    # What is shown, kept in a file or sent to another process is a plain array.
    def __repr__(self) -> str:
        return repr(np.asarray(self))

    def __reduce__(self) -> Any:
        return np.asarray(self).__reduce__()


def _either(name: str) -> Any:
    """A method of NumPy's, or of Tensors if it is called as PyTorch's is."""
    numpys = getattr(np.ndarray, name)

    @functools.wraps(numpys)
    def method(self: Array, *inputs: Any, **options: Any) -> Any:
        counted = len(inputs) > (name == "repeat") and all(isinstance(n, int | bool) for n in inputs)
        if options.keys() & {"dim", "keepdim", "unbiased", "descending"} or name in _OTHERS and counted:
            from .tensor import wrap

            return getattr(wrap(np.asarray(self)), name)(*inputs, **options)
        return numpys(self, *inputs, **options)

    return method


_OTHERS = "max", "min", "sort", "repeat"  # with numbers alone they are something else in PyTorch
for _name in (*_OTHERS, "sum", "mean", "std", "var", "prod", "argmax", "argmin", "all", "any", "cumsum", "cumprod",
              "argsort", "squeeze"):
    setattr(Array, _name, _either(_name))


def shows(value: Any, array: np.ndarray) -> bool:
    """Whether `value` is this array, or the view of all of it that `.data` gave."""
    return value is array or (type(value) is Array and value.base is array and value.shape == array.shape
                              and value.strides == array.strides and value.dtype is array.dtype)
