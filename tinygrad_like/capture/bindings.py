"""Places that a captured function binds anew: variables, attributes, items of lists and dicts.

    self.h = (x @ self.u + self.h @ self.w).tanh().detach()

What lies in such a place before a call is one more input of its program, and what lies there after it one more result:
a new Tensor in each call, as in eager code, so that whoever has the one of before keeps it. It may be a number instead,
such as a count of steps (`numbers.py`).
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from ..core.graph import mode
from ..core.tensor import Tensor
from ..dtypes import memory
from .instructions import Refused
from .numbers import ERRORS, Number, Seen, each, plain, refreshed, set_when_played, shown
from .proxies import NUMBERS, Growing
from .pytree import Unsuited, alike, holds_only_tensors, structure, tensors_in
from .recorder import Tape

MISSING = object()


class Place(NamedTuple):
    """Where something lies: `key` of a dict, a list or an object, or nothing but the cell of a closure."""

    where: Any
    key: Any
    name: str
    new: bool = False  # whether there was nothing in it when it was found, so that it may have been filled for good

    def get(self) -> Any:
        return get(self.where, self.key)

    def put(self, value: Any) -> None:
        if type(self.where) is types.CellType:
            self.where.cell_contents = value
        elif has_items(self.where):
            self.where[self.key] = value
        else:
            setattr(self.where, self.key, value)


class GrowingPlace(Place):
    """Where a list lies to which the function appends: before a call there is nothing, after it what it has added."""

    def get(self) -> Any:
        found = get(self.where, self.key)
        return found.new() if type(found) is Growing else [] if type(found) is list else MISSING

    def put(self, value: list) -> None:
        get(self.where, self.key).extend(value)

    def lend(self) -> Growing:
        lent = Growing(get(self.where, self.key), self.name)
        Place.put(self, lent)
        return lent

    def take_back(self, lent: Growing) -> None:
        if get(self.where, self.key) is lent:
            Place.put(self, lent.of)


class Places:
    """The places that a function binds, as they are before one of its calls.

    settle: called when the call is recorded, to put numbers where Numbers are left. exact: whether the function is lent
    numbers themselves; then a program is for those alone.
    """

    def __init__(self, places: Iterable[Place] = (), tensors: Iterable[Tensor] = (), settle: Callable = tuple,
                 exact: bool = False):
        self.places, self.settle, self.exact = list(places), settle, exact
        self.values = [place.get() for place in self.places]
        self.tensors = tensors_in(self.values)
        self.bound = [True for _ in self.places]
        self.left: list[tuple[Place, Any]] = []  # places that each call leaves with the same
        self.kind = _kind(self.values, []), alike([*tensors, *self.tensors])
        self.seen: list[Seen] = []  # what Python saw of numbers and Tensors,
        self.differed: Seen | None = None  # and which of it was last seen to be another
        self.begins: list[Tensor] = []  # what a call is given, while that is asked
        self.numbers = {i: Number(x, seen=self.seen) for i, x in enumerate(self.values) if type(x) in NUMBERS}
        self.options: dict[tuple, tuple] = {}  # of optimizers, that Python read: groups, names, values, and Numbers

    @contextmanager
    def lent(self, lent: list) -> Iterator[None]:
        """In a `with` block they hold what takes the place of Tensors and numbers while a call is recorded."""
        from .math_functions import math_follows  # with numba

        numbers = {i: x.shown() if self.exact else x for i, x in self.numbers.items()}
        lent = [numbers.get(i, value) for i, value in enumerate(lent)]
        growing = [place for place in self.places if type(place) is GrowingPlace]
        for place, value in zip(self.places, lent, strict=True):
            place.put(value)
        try:
            mode.tape.places = self  # type: ignore[union-attr]
            with math_follows(), _options_followed(), _growing(growing):
                yield
        finally:
            mode.tape.places = None  # type: ignore[union-attr]
            self.bound = [place.get() is not value for place, value in zip(self.places, lent, strict=True)]
            for place, value, bound in zip(self.places, self.values, self.bound, strict=True):
                if not bound:
                    place.put(value)
            if self.numbers or self.options or growing:
                self.settle()

    def option(self, group: dict, name: str, value: Any) -> Any:
        """The value of an option of an optimizer, with Numbers in place of numbers, unless the function has set it; a
        list itself, which may be changed in place."""
        if isinstance(value, list):
            return value
        *_, before, numbers = self.options.get((id(group), name), (None, None))
        if numbers is None:
            before, numbers = value, each(value, lambda x: Number(x, seen=self.seen) if type(x) in NUMBERS else x)
            if numbers is not value:
                self.options[id(group), name] = group, name, before, numbers
        return each(numbers, lambda x: shown(x) if self.exact else x) if value is before else value

    def now(self) -> list[Any]:
        return [place.get() for place in self.places]

    def put(self, result: tuple) -> Any:
        """Put what a call has bound them to: the second of `result`, whose first is what it returns; and what it has
        left."""
        if self.places:
            for place, value, bound in zip(self.places, result[1], self.bound, strict=True):
                if bound:
                    place.put(value)
        for place, value in self.left:
            place.put(value)
        return result[0]

    def put_again(self, result: tuple) -> Any:
        """`put` in place of what was put before: what was appended to lists is taken off."""
        for place, value in zip(self.places, result[1], strict=True):
            if type(place) is GrowingPlace and value:
                del get(place.where, place.key)[-len(value):]
        return self.put(result)

    def filled(self, places: dict, tape: Tape) -> bool:
        """Whether some were only filled, once, by an earlier call: they are none of `places` any more."""
        left = [(place, value) for place, value, bound in zip(self.places, self.values, self.bound, strict=True)
                if place.new and not bound]
        for place, value in left:
            del places[id(place.where), place.key]
            for t in tensors_in(value):  # which lasts, although this tape was given a copy
                tape.known[id(memory(t._data))] = memory(t._data)
        return bool(left)

    def close(self) -> list[str]:
        """Keep no Tensors, but what they are like, and which are the same, also beside arguments; returns the names."""
        self.values, self.tensors = [], []
        return [place.name for place in self.places]

    def given(self, tensors: list[Tensor]) -> list[Tensor] | None:
        """The Tensors that a program takes, these and those in the places; None if they are not like those before."""
        if not self.places:
            return tensors if not (self.options or self.seen) or self.seen_again(tensors) else None
        more, values = [*tensors], self.now()
        try:
            if (_kind(values, more), alike(more)) != self.kind:
                return None
        except Unsuited:
            return None
        return more if self.seen_again(more) else None

    def begun(self, i: int) -> Callable[[], Any]:
        """What gives the bytes of a Tensor that a call is given, while `seen_again` asks."""
        return lambda: self.begins[i]._data.tobytes() if self.begins else None

    def seen_again(self, tensors: list[Tensor]) -> bool:
        """Whether Python would see the same of the numbers and Tensors that there are now; numbers are what is computed
        from, then."""
        for i, number in self.numbers.items():
            number.value = self.places[i].get()
        for group, name, _, numbers in self.options.values():
            if not refreshed(numbers, dict.get(group, name)):
                return False
        self.begins = tensors
        try:
            for seen in self.seen:
                if seen.again() != seen.value:
                    self.differed = seen
                    return False
        except ERRORS:
            return False
        finally:
            self.begins = []
        return True

    def looked_at(self) -> str:
        """What Python would see otherwise now, as a reason to give up, and what to do about it."""
        if self.differed is not None and self.differed.why:
            return self.differed.why
        line = next((seen.line for seen in self.seen if not seen.same()), "")
        names = " and ".join([self.places[i].name for i in self.numbers]) or "an option of an optimizer"
        if line and self.exact:
            return ("its code uses type() or another function that must be given numbers themselves, so a program is "
                    f"for {names} as it is; ask isinstance(), or do that outside")
        return (f"Python looks at {names} at {line}; each branch, size, text, float() or int() takes a program of its "
                "own, and there are too many; compute with the number as it is, or do that outside, and pass what "
                "comes of it") if line else ""


@contextmanager
def _options_followed() -> Iterator[None]:
    """In a `with` block groups of optimizers give numbers that are followed, and take such, for who has a tape."""
    from ..optim.groups import Group

    taken: dict[tuple, tuple] = {}  # what a group was given as a number, and what it has

    def read(group: dict, name: str) -> Any:
        value = dict.__getitem__(group, name)
        given, has = taken.get((id(group), name), (None, MISSING))
        if mode.tape is None or mode.tape.inside:
            return value
        return given if has is value else mode.tape.option(group, name, value)

    def write(group: dict, name: str, value: Any) -> None:
        dict.__setitem__(group, name, has := each(value, plain))
        if mode.tape is not None and has is not value:
            taken[id(group), name] = value, has
            set_when_played(group, name, value)

    followed = {"__getitem__": read, "__setitem__": write,
                "get": lambda group, name, default=None: read(group, name) if name in group else default}
    try:
        for name, method in followed.items():
            setattr(Group, name, method)
        yield
    finally:
        for name in followed:
            delattr(Group, name)


@contextmanager
def _growing(places: list) -> Iterator[None]:
    """In a `with` block the lists in places are `Growing`."""
    lent, kept = [(place, place.lend()) for place in places], []  # type: ignore[var-annotated]
    try:
        yield
        for _, x in lent:
            mode.tape.trouble = mode.tape.trouble or x.trouble()  # type: ignore[union-attr]
        kept = [x for _, x in lent if x.read]
    except Refused:  # it may be called again
        raise
    except BaseException:
        kept = [x for _, x in lent]
        raise
    finally:
        for place, x in lent:
            place.take_back(x)
        for x in kept:
            x.of[:] = list.__iter__(x)


def _kind(values: list, tensors: list[Tensor]) -> list:
    """What values are like: a number is like any of its type."""
    return [type(value) if type(value) in NUMBERS else structure(value, tensors) for value in values]


def found(entries: Iterable[tuple], before: Iterable[tuple]) -> list[Place]:
    """Places that hold other Tensors or another number than before, or that hold a Tensor and did not before."""
    values = {(id(where), key): value for where, key, value, _ in before}
    places = []
    for where, key, value, name in entries:
        old = values.get((id(where), key), None)
        if value is not old and can_be_bound(where, value):
            if type(value) in NUMBERS:
                if type(old) is type(value) and old != value:
                    places.append(Place(where, key, name))
            elif holds_only_tensors(old):
                places.append(Place(where, key, name))
            elif old is None and isinstance(value, Tensor):
                places.append(Place(where, key, name, new=True))
    return places


def can_be_bound(where: Any, value: Any) -> bool:
    return not isinstance(where, types.MappingProxyType | Tensor) and (
        type(value) in NUMBERS or holds_only_tensors(value))


def has_items(where: Any) -> bool:
    return isinstance(where, dict | list | deque | types.MappingProxyType)


def get(where: Any, key: Any) -> Any:
    """What lies there, or MISSING."""
    try:
        return where.cell_contents if type(where) is types.CellType else (
            where[key] if has_items(where) else getattr(where, key))
    except (AttributeError, LookupError, ValueError):
        return MISSING
