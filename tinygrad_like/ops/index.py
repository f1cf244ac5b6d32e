"""Taking elements by index, and its adjoint: adding them back in place.

Gather and scatter follow from it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..core.graph import mode
from ..core.listener import made, pure
from ..core.primitive import fresh, primitive
from ..core.replaceable import replaceable
from ..core.tensor import wrap
from ..dtypes import BOOL, INT64
from .axes import one_axis
from .cotangents import Scattered
from .values import looked_at

# take and put: every index there is -----------------------------------------------------------------------------------


@primitive
def take(x, *, index):
    """x[index], for an index as `plain_index` returns it. A view if the index is made of slices and integers."""
    if type(index) is not tuple:
        raise TypeError(f"take: the index must be a tuple, as plain_index makes it, got {type(index).__name__}")
    try:
        if not _is_basic(index):
            return take_at(x, index)
        y = x[index]
        return y if type(y) is np.ndarray else x[(*index, ...)]  # a view, also of a single number
    except IndexError as error:
        why = error
    check_range(index, x.shape)  # which says more
    raise why


@replaceable
def take_at(x, index):
    axis = axis_of_array(index)
    if axis is not None and x.flags.c_contiguous:
        return x.take(index[axis], axis)  # in a third of the time of x[index]
    return x[index]


def axis_of_array(index: tuple) -> int | None:
    """The axis of the only entry of an index that is no whole slice, if that is an array of integers."""
    axes = [axis for axis, i in enumerate(index) if type(i) is not slice or i != _WHOLE]
    i = index[axes[0]] if len(axes) == 1 else None
    return axes[0] if type(i) is np.ndarray and i.dtype is INT64 else None


_WHOLE = slice(None)


@primitive
def put(x, *, shape, index):
    """Zeros of `shape`, with x added at `index`; an element named twice is added twice. The adjoint of take."""
    return added(x, shape, index)


def added(x, shape, index, base=None):
    """`put`, onto an array of this shape instead of zeros."""
    try:
        return add_at(x, shape, index, base)
    except IndexError as error:
        why = error
    check_range(index, shape)
    raise why


@replaceable
def add_at(x, shape, index, base=None):
    out = np.zeros(shape, x.dtype) if base is None else np.array(base)
    if not (arrays := _arrays_of(index)) or len(arrays) == 1 and arrays[0].dtype is BOOL:
        out[index] += x  # names no element twice
    else:
        np.add.at(out, index, x)
    return out


def _arrays_of(index: tuple) -> list[np.ndarray]:
    return [i for i in index if type(i) is np.ndarray]


def _put_later(g, x_shape, index):
    """put; but if nothing is recorded, and no element named twice, the sum of cotangents (`plus`) does it in place."""
    basic = _is_basic(index)
    if basic and math.prod(g.shape) == math.prod(x_shape) and all([type(i) is not slice or i.step in (None, 1)
                                                                   for i in index]):
        return g if g.shape == x_shape else g.reshape(x_shape)  # all of x, as of x[:, None]
    if basic and not mode.recording:
        return Scattered(x_shape, index, g)
    return put(g, shape=x_shape, index=index)


take.vjp(x=_put_later)
put.vjp(x=lambda g, index: take(g, index=index))


_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})


def _is_basic(index) -> bool:
    for i in index:  # all(...) takes longer
        if type(i) not in _BASIC:
            return False
    return True


def getitem(x, index):
    """x[index] as in PyTorch: integers, slices with step, None, Ellipsis, integer and boolean arrays, in any mix.

    The rules are NumPy's, but an integer does not count as an array: x[0, :, [0, 2]] is x[0][:, [0, 2]].
    Raises IndexError for what is out of range or too many, TypeError for what is no index.
    """
    index, basic = index_and_kind(index, x.shape)
    if basic or (axes := torch_order(index, len(x.shape))) is None:
        return take(x, index=index)
    from .shape import permute

    return permute(take(x, index=index), axes=axes)


def torch_order(index: tuple, ndim: int) -> tuple[int, ...] | None:
    """How to permute the axes of NumPy's x[index] for those of PyTorch's; None if they are the same.

    Both put the axes of index arrays where these stand if they stand side by side, else first. To NumPy integers beside
    them are arrays too; in PyTorch they are taken before, and so are in nobody's way, nor is an empty Ellipsis.
    """
    if len(index) < 3 or _is_basic(index):  # there is an integer, an array, and what stands between them
        return None
    rest = ndim - sum(_axes_of(i) for i in index)
    numpys, torchs, before, rank = [], [], 0, 0  # of each entry, whether it is an array, and the axes before it
    for i in index:
        array = type(i) is np.ndarray and (i.ndim > 0 or i.dtype is BOOL)
        integer = not array and type(i) in (int, np.ndarray)
        numpys.append((array or integer, before))
        if not integer and (i is not Ellipsis or rest):
            torchs.append((array, before))
        if array:
            rank = max(rank, i.ndim if i.dtype is not BOOL else 1)
        elif not integer:
            before += rest if i is Ellipsis else 1
    if not rank or (place := _place_of_arrays(torchs)) == _place_of_arrays(numpys):
        return None
    others = before + (0 if any([i is Ellipsis for i in index]) else rest)
    return (*range(rank, rank + place), *range(rank), *range(rank + place, rank + others))  # which NumPy has first


def _place_of_arrays(entries: list[tuple[bool, int]]) -> int:
    places = [n for n, (array, _) in enumerate(entries) if array]
    return entries[places[0]][1] if places[-1] - places[0] == len(places) - 1 else 0


def assign(x: np.ndarray, index: tuple, value, axes: tuple[int, ...]) -> None:
    """x[index] = value, where x[index] has the axes of `torch_order`."""
    part = x[index].transpose(axes)
    part[...] = value
    x[index] = part.transpose(np.argsort(axes))


def plain_index(index, shape: tuple[int, ...]) -> tuple:
    """A user's index as a tuple of ints, slices, None, Ellipsis and arrays, as many as `shape` has axes for."""
    return index_and_kind(index, shape)[0]


def index_and_kind(index, shape: tuple[int, ...]) -> tuple[tuple, bool]:
    """The same, and whether it is made of integers, slices, None and Ellipsis alone; whether what it names is there,
    `take` finds out. Arrays are copied: the graph keeps the index, and the caller may change theirs."""
    if not isinstance(index, tuple):
        if shape and mode.listener is None:  # as below, sooner
            if type(index) is int or type(index) is slice:
                return (index,), True
            array = getattr(index, "_data", None)
            if type(array) is np.ndarray and (
                    array.dtype is INT64 or array.dtype is BOOL and array.ndim and array.shape == shape[: array.ndim]):
                return (array.copy(),), False
        index = (index,)
    if mode.listener is not None:  # a bound that is a Tensor is looked at here, not within the op
        index = tuple([slice(*map(_bound, (i.start, i.stop, i.step))) if type(i) is slice else i for i in index])
    if basic := _is_basic(index):
        dots = index.count(Ellipsis)
        used = len(index) - index.count(None) - dots
    else:
        index = tuple([i if type(i) in _BASIC else _index_array(i) for i in index])
        dots = used = 0
        for i in index:
            dots += i is Ellipsis
            used += _axes_of(i)
    if used > len(shape):
        raise IndexError(f"getitem: {used} indices for the {len(shape)} axes of shape {shape}")
    if dots > 1:
        raise IndexError("getitem: an index has at most one Ellipsis (...)")
    if not basic:
        _check_arrays(index, shape)
        if mode.listener is not None:
            index = tuple([place for i in index for place in _places_of(i)])
    return index, basic


def _places_of(i) -> tuple:
    """An entry of an index; of a mask the places where it is true, for which there is code that is not NumPy's."""
    return i.nonzero() if type(i) is np.ndarray and i.dtype is BOOL and i.ndim else (i,)


def _bound(i):
    return i.__index__() if hasattr(i, "_data") else i


def _axes_of(i) -> int:
    """How many axes an entry of an index takes; of an Ellipsis none are known."""
    return i.ndim if type(i) is np.ndarray and i.dtype is BOOL else i is not None and i is not Ellipsis


def _check_arrays(index: tuple, shape: tuple[int, ...]) -> None:
    """Raise IndexError if a mask does not fit its axes, or the arrays not one another."""
    arrays = _arrays_of(index)
    if all([i.dtype is not BOOL and i.shape == arrays[0].shape for i in arrays]):
        return
    axis, used = 0, sum(_axes_of(i) for i in index)
    for i in index:
        if isinstance(i, np.ndarray) and i.dtype is BOOL and i.shape != shape[axis : axis + i.ndim]:
            raise IndexError(f"getitem: a boolean mask of shape {i.shape} at axis {axis} of shape {shape}; "
                             "a mask must have the shape of the axes it selects from")
        axis += len(shape) - used if i is Ellipsis else _axes_of(i)
    if len(arrays) == 1:
        return
    shapes = [(int(i.sum()),) if i.dtype is BOOL else i.shape for i in arrays]
    try:
        np.broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(f"getitem: index arrays of shapes {' and '.join(map(str, shapes))} do not broadcast; they "
                         "are taken element by element (a mask counts as the list of its True)") from None


def check_range(index: tuple, shape: tuple[int, ...]) -> None:
    """Raise IndexError for a place that is not there."""
    axis, used = 0, sum(_axes_of(i) for i in index)
    for i in index:
        if isinstance(i, int) or isinstance(i, np.ndarray) and i.dtype is not BOOL:
            low, high = (i, i) if isinstance(i, int) else (i.min(initial=0), i.max(initial=0))
            if low < -shape[axis] or high >= shape[axis] and np.size(i):
                bad = low if low < -shape[axis] else high
                raise IndexError(f"getitem: index {bad} is out of range for axis {axis} of size {shape[axis]} "
                                 f"(shape {shape})")
        axis += len(shape) - used if i is Ellipsis else _axes_of(i)


def _index_array(i):
    array = getattr(i, "_data", i)
    if type(array) is np.ndarray and array.dtype is INT64:  # mostly
        return copied(array)
    if isinstance(i, np.integer):
        return int(i)
    if hasattr(i, "__index__") and not hasattr(i, "dtype"):
        return i.__index__() if not isinstance(i, bool) else np.array(i)
    array = np.asarray(array)
    if array.size == 0 and not hasattr(i, "dtype"):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise TypeError(f"getitem: {type(i).__name__} of dtype {array.dtype} is no index; "
                        "use integers, slices, None, ... or integer or boolean arrays")
    if array.dtype.kind == "b" and hasattr(i, "_data") and mode.listener is not None and array.ndim:
        if looked_at(i, "a mask selects a number of elements that depends on its values",
                     "use where, or multiply with it"):
            return array.copy()
    return copied(array, BOOL if array.dtype.kind == "b" else INT64)


def copied(array: np.ndarray, dtype=None) -> np.ndarray:
    """A copy: the graph keeps it, and the caller may change theirs."""
    if mode.listener is not None:
        return mode.listener.compute("cast", np.array, [array], {"dtype": dtype or array.dtype})
    return array.copy() if dtype is None else np.array(array, dtype)


# Gather and scatter: indices along one axis ---------------------------------------------------------------------------


_FEW = 256  # of so many numbers NumPy's index is sooner there than the kernel


@primitive
def take_along(x, index, *, axis, keepdim=True):
    """out[i, j] = x[i, index[i, j]] for axis=1, and so for any axis; no other axis of the two differs in size. With
    keepdim=False out[i] = x[i, index[i]]: index and out lack the axis. An index counts from 0 on, never from the end.
    """
    try:
        if keepdim:
            return along(x, index, axis)
        if index.size < _FEW and not mode.compiled:
            before, after = _grid_around(index.shape, axis, True)
            return x[(*before, index, *after)]
        return along(x, _with_axis(index, axis), axis).reshape(index.shape)
    except IndexError as error:
        why = error
    in_range("gather", x.shape, index, axis)  # which says more
    raise why


@replaceable
def along(x, index, axis):
    return x[_places(index, axis)]  # what np.take_along_axis does


@primitive
def add_along(x, index, *, size, axis, keepdim=True):
    """Zeros, of this size along `axis`, with x added: out[i, index[i, j]] += x[i, j] for axis=1; see `take_along`."""
    return added_along(*([x, index] if keepdim else [_with_axis(x, axis), _with_axis(index, axis)]), size, axis)


def _with_axis(x, axis):
    return x.reshape((*x.shape[:axis], 1, *x.shape[axis:]))


@replaceable
def added_along(x, index, size, axis):
    out = np.zeros((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
    np.add.at(out, _places(index, axis), x)
    return out


take_along.vjp(x=fresh(lambda g, index, x_shape, axis, keepdim: add_along(
    g, index, size=x_shape[axis], axis=axis, keepdim=keepdim)))
add_along.vjp(x=fresh(lambda g, index, axis, keepdim: take_along(g, index, axis=axis, keepdim=keepdim)))


def _beside(x, index):
    """An index that is already a copy, for a call of an op with x, which would copy an array beside a Tensor again."""
    return wrap(index) if hasattr(x, "_data") else index


def gather(x, index, *, axis):
    """out[i, j] = x[i, index[i, j]] for axis=1, and so for any axis.

    index has as many axes as x, none longer but `axis`. Raises IndexError for what it does not name, or below 0.
    """
    array, n = getattr(index, "_data", None), x.ndim
    if (type(array) is np.ndarray and array.dtype is INT64 and array.flags.c_contiguous and array.ndim == n and n
            and type(axis) is int and -n <= axis < n and mode.listener is None):  # as below, sooner
        axis %= n
        if array.shape[:axis] == x.shape[:axis] and array.shape[axis + 1 :] == x.shape[axis + 1 :]:
            return take_along(x, _beside(x, array.copy()), axis=axis)
    axis, index, rows = _axis_and_index("gather", x.shape, index, axis)
    if not x.ndim:
        in_range("gather", (), index, 0)
        return take(x, index=())
    if rows:
        return take(x, index=_rows_along("gather", x.shape, index, axis))
    return take_along(_beginning(x, index.shape, axis), _beside(x, index), axis=axis)


def source(src, x, index):
    """A number stands for a src full of it; of a src larger than the index the beginning counts."""
    shape = np.shape(index)
    if isinstance(src, int | float):
        src = made(lambda number=src: np.full(shape, number, x.dtype), src)
    if isinstance(src, np.ndarray) and hasattr(x, "_data"):
        src = wrap(src)  # or what is made of it would be on no tape
    return src if src.shape == shape else take(src, index=tuple([slice(0, n) for n in shape]))


def _places(index, axis) -> tuple:
    if index.size and index.min() < 0:  # to NumPy the last
        raise IndexError(f"index {index.min()} is negative")
    before, after = _grid_around(index.shape, axis)
    return (*before, index, *after) if index.ndim else ()


def _axis_and_index(who, shape, index, axis, src=None) -> tuple:
    """The axis, the index (copied, see `copied`), and whether it is an expanded one of the axis alone."""
    axis = one_axis(who, axis, len(shape), scalar=True)
    array = np.asarray(getattr(index, "_data", index))
    if array.dtype.kind not in "iu":
        raise TypeError(f"{who}: index must hold integers, got {array.dtype}; cast with .long()")
    if array.ndim != len(shape) or any(
            [n > m for a, (n, m) in enumerate(zip(array.shape, shape, strict=True)) if a != axis]):
        raise ValueError(f"{who}: index of shape {array.shape} does not fit shape {shape}: "
                         f"it needs as many axes, and none but axis {axis} may be longer")
    if src is not None and not isinstance(src, int | float) and (src.ndim != array.ndim or any(
            n < m for n, m in zip(src.shape, array.shape, strict=True))):
        raise ValueError(f"{who}: src has shape {src.shape} but index has shape {array.shape}; src must be as large")
    rows = array.ndim > 1 and 0 in array.strides and array.size > 0 and all(
        [stride == 0 and n == m for a, (stride, n, m) in enumerate(zip(array.strides, array.shape, shape, strict=True))
         if a != axis])
    return axis, array if rows else copied(array, INT64), rows


def _rows_along(who, shape, index, axis) -> tuple:
    """What `take` takes for an index made by expand, of one axis: whole slices go where it says."""
    row = index[tuple([slice(None) if a == axis else 0 for a in range(index.ndim)])]
    return (*(slice(None),) * axis, in_range(who, shape, row, axis))


@pure
def in_range(who: str, shape: tuple[int, ...], index: np.ndarray, axis: int, wraps: bool = False) -> np.ndarray:
    """A copy of an index along an axis of `shape`, whose entries count from 0. wraps: those below 0, from the end.

    Raises IndexError, in the name of `who`, for what is out of range.
    """
    n = shape[axis] if shape else 1
    least = -n if wraps else 0
    if index.size and ((low := index.min()) < least or index.max() >= n):
        hint = "; only x[index] counts from the end" if -n <= low < least else ""
        raise IndexError(f"{who}: index {low if low < least else index.max()} is out of range for axis {axis} of size "
                         f"{n} (shape {shape}){hint}")
    return np.where(index < 0, index + n, index).astype(INT64) if wraps else np.array(index, INT64)


def _beginning(x, shape, axis):
    """x, cut to the sizes of the other axes of an index."""
    if all([n == m for a, (n, m) in enumerate(zip(x.shape, shape, strict=True)) if a != axis]):
        return x
    return take(x, index=tuple([slice(None) if a == axis else slice(0, n) for a, n in enumerate(shape)]))


@lru_cache(64)
def _grid_around(shape: tuple[int, ...], axis: int, between: bool = False) -> tuple[tuple, tuple]:
    """`_grid` before the axis and after it; between: of a shape that lacks the axis."""
    grid = _grid(shape)
    return grid[:axis], grid[axis + (not between):]


@lru_cache(64)
def _grid(shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """The index of every place, as arrays that broadcast; nobody writes to them."""
    return tuple(np.indices(shape, sparse=True)) if shape else ()
