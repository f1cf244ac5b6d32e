"""What a captured function is given while it is recorded: copies of Tensors, on which its program will be played."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.graph import Node
from ..core.tensor import Tensor, wrap
from ..dtypes import memory
from ..kernels.views import address
from .bindings import Places
from .graph_boundary import end
from .guards import Watch
from .plan import in_bytes
from .pytree import alive, overlap, parts_of, structure, tensors_in
from .snapshots import differ


class Arguments:
    """Copies of the Tensors of a call, and of those in the places that it binds; one for each of them."""

    def __init__(self, args: tuple, options: dict, tensors: list[Tensor], places: Places, watch: Watch):
        self.places, self.call, self.given = places, (args, options, places.values), [*tensors, *places.tensors]
        self.watch = watch
        copies: dict[int, Tensor] = {}
        for t in self.given:
            if id(t) not in copies:
                copies[id(t)] = x = wrap(np.array(t._data))  # axes in the same order, as sums depend on it
                x.requires_grad, x.grad, x.node = t.requires_grad, t.grad, _end_of(t)
        self.pairs = [(t, copies[id(t)]) for t in {id(t): t for t in self.given}.values()]
        self.arrays = [x._data for _, x in self.pairs]
        self.inputs = [copies[id(t)] for t in self.given]
        self.gradients = {id(x): x.grad._data.copy() for _, x in self.pairs if x.grad is not None}
        self.args, self.options, self.values = self.used = structure(self.call, replace=lambda t: copies.get(id(t), t))
        self.changed: list[tuple[np.ndarray, np.ndarray]] = []  # arrays that the function has changed, and from what
        self.trouble = ""  # why it cannot be played

    def memories(self) -> set[int]:
        """The ids of the memory of the Tensors that it is given, and of the copies of those in which others lie too."""
        shared = {id(t) for t in overlap(self.given)}
        return {id(memory(t._data)) for t in [*self.given, *[x for t, x in self.pairs if id(t) in shared]]}

    def back(self, result: tuple) -> Any:
        """Give the Tensors of the call what the function has done to the copies. Returns what it returned, with the
        call's Tensors in place of their copies; the second of `result`, what it bound the places to, is put there."""
        for (t, x), array in zip(self.pairs, self.arrays, strict=True):
            if differ(array, t._data, rounded=False):
                self.changed.append((array, t._data.copy()))
                t._data[...] = array
                t.touch()
            if x._data is not array:
                t._data = _shown_as(x._data, array, t._data)
                t.touch()
            t.grad = x.grad
        back = {id(x): t for t, x in self.pairs}
        self._keep_views(tensors_in(result[1]), back)
        self.watch.give_back(back)
        if _changed(self.call, self.used, back):
            self.trouble = "it changes a list, a dict or an object that it is given, which would not happen again"
        return self.places.put(structure(result, replace=lambda t: back.get(id(t), t)))

    def _keep_views(self, bound: list[Tensor], back: dict[int, Tensor]) -> None:
        """Have those of some Tensors that are views of copies, which places hold too, be views of the originals."""
        held = {id(memory(x._data)): x for x in bound if id(x) in back}
        for t in bound:
            x = held.get(id(memory(t._data)))
            if x is not None and id(t) not in back:
                t._data = _shown_as(t._data, x._data, back[id(x)]._data)
                self.trouble = "it keeps a Tensor and a view of it, which would not be one when it is played"


def _shown_as(new: np.ndarray, copy: np.ndarray, original: np.ndarray) -> np.ndarray:
    """What an argument has by now, whose copy had the array `copy` and has a new one, as after `x.unsqueeze_(0)`: the
    same part of the original, or if that cannot be, as after `x.data = y`, the new one."""
    if memory(new) is not copy or not original.flags.c_contiguous or not copy.flags.c_contiguous:
        return new
    return np.ndarray(new.shape, new.dtype, in_bytes(original), address(new) - address(copy), new.strides)


def _changed(given: Any, used: Any, back: dict[int, Tensor]) -> bool:
    """Whether a container that a function was given a copy of is not as the copy is now; if so, it is made so."""
    before, now, new = dict(parts_of(given) or ()), dict(parts_of(used) or ()), {}
    changed = before.keys() != now.keys()
    for key, part in now.items():
        old, part = before.get(key), back.get(id(part), part)
        if type(part) is type(old) and parts_of(part) is not None:
            changed, part = _changed(old, part, back) or changed, old
        changed, new[key] = changed or part is not old, part
    if changed and isinstance(given, list):
        given[:] = new.values()
    elif changed and isinstance(given, dict):
        given.clear()
        given.update(new)
    elif changed and not isinstance(given, tuple):
        for key, part in new.items():
            object.__setattr__(given, key, part)
    return changed


def _end_of(t: Tensor) -> Node | None:
    """What the copy of t has for a node: that of t, if it was freed, at which backward raises as it does eagerly."""
    return t.node if t.node is None or not alive(t.node) else end(
        t, "an argument", "the graph of an argument goes on outside of the captured function, where backward would not "
        "run again; capture what computes it too, or pass its detach()")
