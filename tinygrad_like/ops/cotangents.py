"""How the backward walk adds up the cotangents that meet in one place, and what becomes a gradient."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..core.basics import basics
from ..core.graph import mode
from ..core.listener import effect
from ..core.tensor import Tensor, wrap
from ..rings import replaceable
from .compare import clone
from .elementwise import add


class Scattered:
    """The cotangent of x from a part x[index]: `value` there, and zeros elsewhere that are not written out.

    So those of many parts, as `split` makes them, go into one array. The value is an array, or a Tensor.
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
        # A sum of numbers is no array yet, but a number of NumPy's, even where it is owned.
        total = total if owned and isinstance(total, np.ndarray) else np.array(total)
        add_part(total, c.index, c.value)
        return total
    return total + c


def add_part(total, index, value):
    """total[index] += value"""
    part = total[index]
    if type(part) is np.ndarray:
        part += value  # a view: to write it back as well would take as long again
    else:
        total[index] += value


@replaceable
def accumulate(total, c):
    """total += c."""
    total += c
    return total


def fills(array: np.ndarray) -> bool:
    """Whether an array is all that lies in the memory it keeps."""
    base = array.base
    return base is None or isinstance(base, np.ndarray) and base.nbytes <= array.nbytes


def own(c: Any, owned: bool) -> Tensor:
    """A cotangent as a gradient, on memory of its own: without a copy if the walk owned it."""
    if type(c) is Scattered:
        c, owned = c.written(), True
    array = c if type(c) is np.ndarray else getattr(c, "_data", None)
    alone = owned and array is not None and array.flags.c_contiguous and fills(array)
    if isinstance(c, Tensor):
        return c if alone and not mode.recording else basics.clone(c)
    return wrap(np.array(c) if array is None else array if alone else basics.copied(array))


@lru_cache(maxsize=16)
def one(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The cotangent that backward begins with: always the same array, so that nothing has to be written for it."""
    array = np.ones(shape, dtype)
    array.flags.writeable = False
    return array
