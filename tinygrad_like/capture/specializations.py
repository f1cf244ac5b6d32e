"""Kinds of calls of a captured function: those of one kind are alike, as far as their arguments tell."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from .bindings import Places, can_be_bound, get
from .guards import Watch, same
from .pytree import Same, tensors_in
from .recorder import Tape

OTHERS = "shapes, dtypes or other arguments are others in each call"
_MOST = 8  # kinds of calls with the same objects that came once; twice as many of all


class Kind:
    """Calls that are alike, how they were recorded, and their program, once there is one."""

    def __init__(self) -> None:
        self.watch, self.places = Watch(None, ((), {})), Places()  # before the last recording
        self.fixed: dict[int, Tensor] = {}  # which of the Tensors that it is given must be the very same again
        self.tape: Tape | None = None
        self.program: Any = None
        self.tries, self.stopped, self.played = 0, False, False
        self.left: list[tuple] = []  # of what the watch looks at, what the last recording left as it was,
        self.lengths: list[tuple] = []  # and of how long lists and dicts are

    def others(self, tensors: list[Tensor]) -> list[Tensor] | None:
        """Those of a call's Tensors that may be others than before; None if one is that must not be."""
        if not self.fixed:
            return tensors
        same = all([tensors[i] is t for i, t in self.fixed.items()])
        return [t for i, t in enumerate(tensors) if i not in self.fixed] if same else None

    def given(self, tensors: list[Tensor]) -> list[Tensor] | None:
        """What its program takes in a call with these Tensors; None if it is not the program for this call."""
        others = self.others(tensors)
        if others is None or (given := self.places.given(others)) is None or not self.watch.same():
            return None
        if self.program.writes_to(given):
            return None
        self.played = True
        return given

    def why(self) -> str:
        """What a call that is not of this kind differs in."""
        what = self.watch.what
        return self.places.looked_at() or (f"{what} is another one in each call" if what else OTHERS)

    def recorded_for(self, tensors: list[Tensor]) -> bool:
        """Whether a call with these Tensors is one more to record for it."""
        others = self.others(tensors)
        return others is not None and self.watch.same_flags() and self._same_objects() and (
            self.watch.same_gradients() and self.places.seen_again([*others, *tensors_in(self.places.now())]))

    def recorded(self) -> None:
        """Keep what the function, which just ran, has left as it was: if it is another one later, others set it."""
        self.left = [entry for entry in self.watch.entries if get(entry[0], entry[1]) is entry[2] and (
            not can_be_bound(entry[0], entry[2]))]
        self.lengths = [entry for entry in self.watch.lengths if len(entry[0]) == entry[1]]

    def _same_objects(self) -> bool:
        """Whether no object but Tensors is another one than before the last recording."""
        for where, key, value, name in self.left:
            if not same(where, key, value) and not can_be_bound(where, get(where, key)):
                self.watch.what = name
                return False
        for container, length, name in self.lengths:
            if len(container) != length:
                self.watch.what = f"the length of {name}"
                return False
        return True


class Kinds(dict[Any, list[Kind]]):
    """Those there are, by what `structure` says of their arguments."""

    unused = 0  # of calls with objects that were gone before there was a program
    closed = False  # whether there are to be no more

    def new(self, key: tuple) -> list[Kind]:
        return [] if self.closed else self.setdefault(key, [])

    def full(self, key: tuple) -> bool:
        """Whether there are enough with the objects of this key; those with objects that are gone are dropped."""
        for old in [old for old in self if any(object_.get() is None for object_ in Same.of(old))]:
            self.unused += not any(kind.program for kind in self.pop(old))
        objects, count = Same.of(key), sum(map(len, self.values()))
        these = [kind for other, kinds in self.items() if Same.of(other) == objects for kind in kinds]
        once = sum(kind.tries < 2 for kind in these)
        return max(once, len(these) // 2, self.unused, count // _MOST) >= _MOST

    def close(self) -> None:
        """Have no more; of those there are, only the ones that were played."""
        self.closed = True
        for key, kinds in list(self.items()):
            self[key] = [kind for kind in kinds if kind.played]

    @property
    def programs(self) -> list[Any]:
        return [kind.program for kinds in self.values() for kind in kinds if kind.program is not None]
