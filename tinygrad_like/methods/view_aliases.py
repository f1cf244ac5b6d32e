"""Recorded in-place changes of Tensors that share memory.

A recorded change puts new values into new memory, so backward still has the old ones. One Tensor, the base, covers all
of the memory. It becomes the result, and every other Tensor becomes the part of the new memory that it was of the old:
`a = u[0]; u += 1` changes `a`, and `a += 1` changes `u`. Tensors on changed parts join the base's graph; other parts
keep their values and their graph.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from .. import ops
from ..core.graph import tick
from ..core.tensor import Tensor, wrap
from .versions import Version

UNSEEN = ("another Tensor shares this one's memory, as views and detach() do, and a recorded change cannot be "
          "written into it")


OF_A_LEAF = "this Tensor shares the memory of a leaf that requires grad; change the leaf under no_grad()"


def sharing(x: Tensor, *own: Tensor) -> list[Tensor]:
    """The Tensors other than x and `own` that share the memory of x."""
    if x.version is None:
        return []
    row = x.version.shown
    return [t for t in (seen() for seen in tuple(row)) if t is not None and t.version is not None and
            t.version.shown is row and all([t is not each for each in (x, *own)])]


def follow(x: Tensor, y: Tensor, part: np.ndarray | None, others: Sequence[Tensor], with_items: Callable) -> str:
    """Make x become y, and the others their parts of y. If that is impossible, do nothing and return the reason.

    Tensors detached from x, or from which x was detached, follow only in their values.
    part: the changed part of x. with_items: a function (Tensor, index, values), like `x[index] = values`.
    """
    index = (x._viewed[1],) if x._viewed is not None and x._viewed[0]() is others[0] else None  # for an indexed part
    if index is not None and len(others) == 1 and others[0]._apart is x._apart:
        return _write_back(x, y, others[0], index, with_items)
    part = x._data if part is None else part
    touched = [t for t in others if _meet(part, t._data)]
    base = next((t for t in (x, *others) if t._apart is x._apart and _shows_all(t, (x, *others))), None)
    if base is None:
        if any([_meet(x._data, t._data) for t in others]):  # overlapping, now or after a later change
            return UNSEEN
        become(x, y)
        return ""
    if any([t.requires_grad and t.node is None for t in (base, *touched)]):
        return OF_A_LEAF
    was, axes, whole = base._data, _axes(base._data), y
    if base is not x:
        whole = _placed(twin(base, None), x, y)
    memory = ops.contiguous(ops.permute(whole.detach(), axes=axes))._data
    row = [weakref.ref(base)]
    changed = Version.of(tick(), row, True)
    same: dict[int, Version] = {}
    base._data = memory.transpose(np.argsort(axes))
    base.node, base.requires_grad, base.version = whole.node, True, changed
    for t in (x, *others):
        if t is base:
            continue
        position, there = _position(t._data, was), t._data
        t._data = np.ndarray(there.shape, there.dtype, memory, position, there.strides)
        t._data.flags.writeable = there.flags.writeable  # expand's results are read-only
        if t is x or any([t is each for each in touched]):
            if t._apart is x._apart:
                t.node, t.requires_grad = _taken(base, there, position).node, True
            changed.show(t)
        else:
            assert t.version is not None
            same.setdefault(id(t.version), Version.of(t.version[0], row, True)).show(t)
    return ""


def _write_back(x: Tensor, y: Tensor, base: Tensor, index: tuple, with_items: Callable) -> str:
    """`follow` for base[index] = y, where x is base[index] and no other Tensor shares the memory."""
    if base.requires_grad and base.node is None:
        return OF_A_LEAF
    become(base, with_items(twin(base, None), *index, y))
    new = ops.getitem(base, *index)
    x._data, x.node, x.requires_grad = new._data, new.node, True
    base.version.show(x)  # type: ignore[union-attr]
    return ""


def twin(x: Tensor, version: Version | None) -> Tensor:
    """A Tensor with the same memory and graph, to record a change of x in place of x, which becomes its result."""
    y = wrap(x._data)
    y.node, y.requires_grad, y.version = x.node, x.requires_grad, version
    return y


def become(x: Tensor, y: Tensor) -> None:
    """Give x the memory and graph of y."""
    x._data, x.node, x.requires_grad = y._data, y.node, True
    x.version = Version.of(tick(), [weakref.ref(x)])


def _meet(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=10**5)  # type: ignore
    except np.exceptions.TooHardError:
        return True


def _shows_all(base: Tensor, tensors: Sequence[Tensor]) -> bool:
    """Whether all of these are parts of the base, which must be contiguous in some axis order."""
    if not base._data.transpose(_axes(base._data)).flags.c_contiguous:
        return False
    low, high = np.lib.array_utils.byte_bounds(base._data)
    for t in tensors:
        first, last = np.lib.array_utils.byte_bounds(t._data)
        if first < low or last > high or t.dtype is not base.dtype or (first - low) % base._data.itemsize:
            return False
    return True


def _position(part: np.ndarray, whole: np.ndarray) -> int:
    """The offset in bytes of a part's memory in the whole's."""
    return part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]


def _placed(base: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The base, with the values y in the place of x."""
    places = _numbers(_position(x._data, base._data), x._data.itemsize, x.shape, x._data.strides)
    axes = _axes(base._data)
    row = ops.parts.set_at(y, _row(base, axes), index=(places,))
    return ops.permute(ops.reshape(row, shape=[base.shape[a] for a in axes]), axes=np.argsort(axes).tolist())


def _taken(base: Tensor, there: np.ndarray, position: int) -> Tensor:
    """The part of the base that an array covers, on the graph."""
    places = _numbers(position, there.itemsize, there.shape, there.strides)
    return ops.take(_row(base, _axes(base._data)), index=(places,))


def _axes(array: np.ndarray) -> tuple[int, ...]:
    """The axes in memory order."""
    return tuple(sorted(range(array.ndim), key=lambda a: -array.strides[a]))


def _row(base: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The elements of the base in memory order."""
    return ops.reshape(ops.permute(base, axes=axes), shape=(-1,))


@lru_cache(256)
def _numbers(position: int, size: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """The elements of a row that an array with these strides, in bytes, covers."""
    places = np.asarray(position // size)
    for n, stride in zip(shape, strides, strict=True):
        places = places[..., None] + np.arange(n) * (stride // size)
    return places
