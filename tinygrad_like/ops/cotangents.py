"""How the backward walk sums cotangents."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..core.basics import basics
from ..core.listener import effect
from ..core.tensor import Tensor
from ..rings import replaceable
from .compare import clone
from .elementwise import add


class Scattered:
    """The cotangent of x from a part x[index]: `value` there, implicit zeros elsewhere.

    The cotangents of many parts, such as those of `split`, can then be added into one array. `value` is an array or a
    Tensor.
    """

    __slots__ = "shape", "dtype", "index", "value"

    def __init__(self, shape, index, value):
        self.shape, self.dtype, self.index, self.value = shape, value.dtype, index, value

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.written())

    def written(self):
        """The whole cotangent, with its zeros."""
        if isinstance(self.value, Tensor):
            return basics.put(self.value, shape=self.shape, index=self.index)
        out = np.zeros(self.shape, self.dtype)
        out[self.index] = self.value
        return out


def plus(total, c, owned: bool):
    """total + c for the backward walk; if the buffer of total is owned, it may be written to."""
    if type(total) is np.ndarray is type(c):
        return accumulate(total, c) if owned else add.forward(total, c)
    if type(total) is Scattered:
        total, c, owned = c, total, False
    if type(c) is Scattered:
        if type(total) is Scattered:
            total, owned = total.written(), True
        if isinstance(total, Tensor) and isinstance(c.value, Tensor):
            total = total if owned else clone(total)
            effect("add_part", add_part, total._data, c.index, c.value._data, writes=[total._data])
            return total
        # A sum of 0-d arrays is a NumPy scalar, not an array, even if it is owned.
        total = total if owned and isinstance(total, np.ndarray) else np.array(total)
        add_part(total, c.index, c.value)
        return total
    return total + c


def add_part(total, index, value):
    """total[index] += value"""
    part = total[index]
    if type(part) is np.ndarray:
        part += value  # a view: `total[index] += value` would also write it back, and take twice as long
    else:
        total[index] += value


@replaceable
def accumulate(total, c):
    """total += c."""
    total += c
    return total


@lru_cache(maxsize=16)
def one(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The cotangent that backward starts with, a shared array."""
    array = np.ones(shape, dtype)
    array.flags.writeable = False
    return array
