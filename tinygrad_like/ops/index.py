"""What an index means: integers, slices with step, None, Ellipsis, integer and boolean arrays, in any mix.

The rules are NumPy's, except that, as in PyTorch, an integer is not an array: x[0, :, [0, 2]] is x[0][:, [0, 2]].
"""

from __future__ import annotations

import numpy as np

from ..core.graph import mode
from ..core.listener import pure, tell
from ..dtypes import BOOL, INT64
from ..errors import refusal
from .axes import broadcast

_BASIC = frozenset({int, slice, type(None), type(Ellipsis)})
_WHOLE = slice(None)


def is_basic(index) -> bool:
    """Whether an index consists of integers, slices, None and Ellipsis alone, and so selects a view."""
    for i in index:  # faster than all(...)
        if type(i) not in _BASIC:
            return False
    return True


def arrays_of(index: tuple) -> list[np.ndarray]:
    """The arrays in an index."""
    return [i for i in index if type(i) is np.ndarray]


def axis_of_array(index: tuple) -> int | None:
    """The axis of the only entry that is not a whole slice, if that entry is an integer array."""
    axes = [axis for axis, i in enumerate(index) if type(i) is not slice or i != _WHOLE]
    i = index[axes[0]] if len(axes) == 1 else None
    return axes[0] if type(i) is np.ndarray and i.dtype is INT64 else None


def torch_order(index: tuple, ndim: int) -> tuple[int, ...] | None:
    """The permutation from the axes of NumPy's x[index] to PyTorch's; None if they agree.

    Both put the axes of index arrays in the arrays' place if these are adjacent, else first. NumPy counts integers next
    to arrays as arrays. PyTorch applies integers first, so neither they nor an empty Ellipsis separate arrays.
    """
    if len(index) < 3 or is_basic(index):  # to differ, it needs an integer, an array, and an entry between them
        return None
    rest = ndim - sum(_axes_of(i) for i in index)
    numpys, torchs, before, rank = [], [], 0, 0  # per entry: whether it is an array, and the axes before it
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
    return (*range(rank, rank + place), *range(rank), *range(rank + place, rank + others))  # arrays' axes first


def _place_of_arrays(entries: list[tuple[bool, int]]) -> int:
    places = [n for n, (array, _) in enumerate(entries) if array]
    return entries[places[0]][1] if places[-1] - places[0] == len(places) - 1 else 0


def assign(x: np.ndarray, index: tuple, value, axes: tuple[int, ...]) -> None:
    """x[index] = value, where x[index] has the axes of `torch_order`."""
    part = x[index].transpose(axes)
    part[...] = value
    x[index] = part.transpose(np.argsort(axes))


def plain_index(index, shape: tuple[int, ...]) -> tuple:
    """A user's index as a tuple of ints, slices, None, Ellipsis and arrays. Arrays are copied: the graph keeps the
    index, and the caller may change theirs. Raises IndexError for too many entries, and for masks and arrays that do
    not fit, TypeError for other types. `take` checks the range.
    """
    index = index if isinstance(index, tuple) else (index,)
    if mode.listener is not None:  # the listener sees here that slice bounds are Tensors
        index = tuple([slice(*map(_bound, (i.start, i.stop, i.step))) if type(i) is slice else i for i in index])
    if not (basic := is_basic(index)):
        index = tuple([i if type(i) in _BASIC else _array_or_number(i) for i in index])
    first = index[0] if len(index) == 1 and shape else None  # a single entry fits, unless it is a mask of another shape
    if (first is None or getattr(first, "dtype", None) is BOOL and first.shape != shape[: first.ndim]) and (
            why := _too_many(index, shape, basic) or (None if basic else _misfits(index, shape))) is not None:
        raise refusal("getitem", IndexError(why))
    if not basic and (mode.listener is not None or first is None):  # the layout of x[:, mask] is that of x[:, places]
        index = tuple([place for i in index for place in _places_of(i)])
    return index


def _too_many(index: tuple, shape: tuple[int, ...], basic: bool) -> str | None:
    dots = (index if basic else [i if i is Ellipsis else 0 for i in index]).count(Ellipsis)  # arrays have another ==
    used = len(index) - index.count(None) - dots if basic else sum([_axes_of(i) for i in index])
    if used > len(shape):
        return f"{used} indices for the {len(shape)} axes of shape {shape}"
    return "an index has at most one Ellipsis (...)" if dots > 1 else None


def _places_of(i) -> tuple:
    """An entry of an index; for a mask, the places where it is true. Our own kernel finds them."""
    return i.nonzero() if type(i) is np.ndarray and i.dtype is BOOL and i.ndim else (i,)


def _bound(i):
    return i.__index__() if hasattr(i, "_data") else i


def _axes_of(i) -> int:
    """The number of axes that an entry of an index consumes; 0 for an Ellipsis, which is not resolved yet."""
    return i.ndim if type(i) is np.ndarray and i.dtype is BOOL else i is not None and i is not Ellipsis


def _misfits(index: tuple, shape: tuple[int, ...]) -> str | None:
    """The error if a mask does not fit its axes, or the arrays do not broadcast."""
    arrays = arrays_of(index)
    if all([i.dtype is not BOOL and i.shape == arrays[0].shape for i in arrays]):
        return None
    axis, used = 0, sum(_axes_of(i) for i in index)
    for i in index:
        if isinstance(i, np.ndarray) and i.dtype is BOOL and i.shape != shape[axis : axis + i.ndim]:
            return (f"a boolean mask of shape {i.shape} at axis {axis} of shape {shape}; a mask must have the shape of "
                    "the axes it selects from")
        axis += len(shape) - used if i is Ellipsis else _axes_of(i)
    if len(arrays) == 1:
        return None
    shapes = [(int(i.sum()),) if i.dtype is BOOL else i.shape for i in arrays]
    return None if broadcast(*shapes) else (
        f"index arrays of shapes {' and '.join(map(str, shapes))} do not broadcast; they pair up element by element "
        "(a mask counts as the indices of its True entries)")


def missing(index: tuple, shape: tuple[int, ...]) -> IndexError | None:
    """The error for an index that is out of range, or None."""
    if (why := _too_many(index, shape, is_basic(index))) is not None:
        return IndexError(why)
    axis, used = 0, sum(_axes_of(i) for i in index)
    for i in index:
        if isinstance(i, int) or isinstance(i, np.ndarray) and i.dtype is not BOOL:
            low, high = (i, i) if isinstance(i, int) else (i.min(initial=0), i.max(initial=0))
            if low < -shape[axis] or high >= shape[axis] and np.size(i):
                bad = low if low < -shape[axis] else high
                return IndexError(f"index {bad} is out of range for axis {axis} of size {shape[axis]} (shape {shape})")
        axis += len(shape) - used if i is Ellipsis else _axes_of(i)
    return None


def _array_or_number(i):
    array = getattr(i, "_data", i)
    if type(array) is np.ndarray and (array.dtype is INT64 or array.dtype is BOOL and mode.listener is None):
        return copied(array)  # mostly
    if isinstance(i, np.integer):
        return int(i)
    if hasattr(i, "__index__") and not hasattr(i, "dtype"):
        return i.__index__() if not isinstance(i, bool) else np.array(i)
    array = np.asarray(array)
    if array.size == 0 and not hasattr(i, "dtype"):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iub":
        raise refusal("getitem", TypeError(f"{type(i).__name__} of dtype {array.dtype} is not an index; use integers, "
                                           "slices, None, ... or integer or boolean arrays"))
    if array.dtype.kind == "b" and hasattr(i, "_data") and mode.listener is not None and array.ndim:
        if looked_at(i, "a mask selects a number of elements that depends on its values",
                     "use where, or multiply with it"):
            return array.copy()
    return copied(array, BOOL if array.dtype.kind == "b" else INT64)


@pure
def _cast(array: np.ndarray, dtype=None) -> np.ndarray:
    return array.copy() if dtype is None or dtype is array.dtype else np.array(array, dtype)


copied = _cast  # the graph keeps the index, and the caller may change theirs


# Where an op reads values in NumPy: a captured function is replayed only for these values, or not at all

_OUTSIDE = "do that outside, and capture the code before or after it"


def varying(why: str, remedy: str = _OUTSIDE) -> None:
    """Announce that a shape depends on values; a captured function then cannot be replayed."""
    tell("varies", why, remedy)


def looked_at(x, why: str, remedy: str = _OUTSIDE) -> bool:
    """Announce that the code depends on the values of a Tensor: a captured function is replayed for those values only,
    or, if they are not known before the replay, not at all (`varying`). Returns whether the code may depend on them."""
    if tell("looked at", x, why, remedy) in (NotImplemented, True):
        return True
    varying(why, remedy)
    return False


def values_of(who: str, x, why: str, *remedy: str):
    """The array of a Tensor or of anything array-like, for code that depends on its values; see `looked_at`."""
    if hasattr(x, "_data"):
        looked_at(x, f"{who} {why}", *remedy)
        return x._data
    return np.asarray(x)
