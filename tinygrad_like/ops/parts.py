"""Parts of an array: taking them by index, the adjoint, which adds them back, and writing them into a copy.

Every index here is a tuple, as `plain_index` of index.py returns it.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.graph import mode
from ..core.primitive import fresh, primitive
from ..dtypes import BOOL
from ..rings import replaceable
from .compare import clone
from .cotangents import Scattered
from .elementwise import add
from .index import arrays_of, axis_of_array, is_basic, missing

# Taken, and added back ------------------------------------------------------------------------------------------------


@primitive
def take(x, *, index):
    """x[index], for an index as `plain_index` returns it. A view if the index is made of slices and integers."""
    if not is_basic(index):
        return take_at(x, index)
    y = x[index]
    return y if type(y) is np.ndarray else x[(*index, ...)]  # a view, also of a single number


take.called = "getitem"


@take.requires
def _(index):
    return None if type(index) is tuple else TypeError(
        f"the index must be a tuple, as plain_index makes it, got {type(index).__name__}")


@take.explains
def _(x, index):
    return missing(index, x.shape)


@replaceable
def take_at(x, index):
    axis = axis_of_array(index)
    if axis is not None and x.flags.c_contiguous:
        return x.take(index[axis], axis)  # three times as fast as x[index]
    return x[index]


@primitive
def put(x, *, shape, index):
    """Zeros of `shape`, with x added at `index`; a repeated index adds repeatedly. The adjoint of take."""
    return add_at(x, shape, index)


put.called = "getitem"


@put.explains
def _(shape, index):
    return missing(index, shape)


@replaceable
def add_at(x, shape, index, base=None):
    """`put`, but added to a copy of `base`, if given, instead of zeros."""
    out = np.zeros(shape, x.dtype) if base is None else np.array(base)
    if not (arrays := arrays_of(index)) and base is None:
        out[index] = x  # as `Scattered.written`; 0 + -0 would be 0
    elif not arrays or len(arrays) == 1 and arrays[0].dtype is BOOL:
        out[index] += x  # no repeated index
    else:
        np.add.at(out, index, x)
    return out


def _put_later(g, x_shape, index):
    """`put`; but with no graph recorded and no repeated index, defer it: the sum of cotangents (`plus`) adds in
    place."""
    basic = is_basic(index)
    if basic and math.prod(g.shape) == math.prod(x_shape) and all([type(i) is not slice or i.step in (None, 1)
                                                                   for i in index]):
        return g if g.shape == x_shape else g.reshape(x_shape)  # the index selects all of x, as in x[:, None]
    if basic and not mode.recording:
        return Scattered(x_shape, index, g)
    return put(g, shape=x_shape, index=index)


take.vjp(x=_put_later)
put.vjp(x=lambda g, index: take(g, index=index))

# Written into, and onto -----------------------------------------------------------------------------------------------


@primitive
def surround(x, *, shape, index, value=0.0):
    """A Tensor full of `value`, with x at `index`."""
    return surrounded(x, shape, index, value)


surround.called = "pad"


@surround.requires
def _(value):
    if type(value) is not float and np.iscomplexobj(value):
        return TypeError(f"value must be a real number, got {value!r}")


def surrounded(x, shape, index, value):
    out = np.full(shape, value, x.dtype) if value else np.zeros(shape, x.dtype)
    out[index] = x
    return out


surround.vjp(x=lambda g, index: take(g, index=index))


@primitive
def set_at(value, x, *, index, reuse=False):
    """x with `value`, which broadcasts, at `index`, which may not select an element twice.

    reuse: whether it may overwrite x, which nobody else needs.
    """
    out = x if reuse else np.array(x)
    out[index] = value
    return out


set_at.called = "setitem"


@set_at.explains
def _(value, x, index):
    return f"a value of shape {np.shape(value)} does not broadcast to {x[index].shape}, the shape of x[index]"


set_at.vjp(value=fresh(lambda g, index: clone(take(g, index=index))),  # a copy: a captured function may overwrite g
           x=fresh(lambda g, index: set_at(0.0, g, index=index)))


@primitive
def put_onto(x, src, *, index):
    """x with src added at an index with arrays; a repeated index adds repeatedly."""
    if x.dtype is src.dtype:
        return add_at(src, x.shape, index, x)
    return add.forward(x, add_at(src, x.shape, index))


put_onto.called = "getitem"


@put_onto.explains
def _(x, index):
    return missing(index, x.shape)


put_onto.vjp(x=fresh(lambda g: clone(g)),
             src=fresh(lambda g, index: take(g, index=index)))
