"""Guards: checks that what a function reads is unchanged: objects, numbers, and the existence of gradients."""

from __future__ import annotations

import types
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.tensor import Tensor
from ..dtypes import memory
from ..transforms.codegen import define
from .pytree import holds_only_tensors, tensors_in

MISSING: Any = type("MISSING", (), {"__repr__": lambda self: "nothing"})()
_VALUES = (int, float, bool, str, bytes, complex, type(None), np.generic, np.dtype)
_FLAGS = (bool, str, type(None))  # a function may change these, since a replay sets them too: `model.train()`
_QUESTIONS: dict[str, tuple[str, Callable]] = {  # as an expression, and as a function
    "length": ("", len), "parts": ("[*{}]", list), "ids": ("[*map(id, {})]", lambda x: [*map(id, x)]),
    "result": ("{}()", lambda x: x()), "lasts": ("{}()", lambda x: x())}


class Place(NamedTuple):
    """A place: `key` of a dict, a list or an object, or the cell of a closure."""

    where: Any
    key: Any
    name: str

    def get(self) -> Any:
        return get(self.where, self.key)

    def put(self, value: Any) -> None:
        if type(self.where) is types.CellType:
            self.where.cell_contents = value
        elif _has_items(self.where):
            self.where[self.key] = value
        else:
            setattr(self.where, self.key, value)


class Uncleared:
    """Whether a functools cache has been neither cleared nor extended since this object was created."""

    def __init__(self, cached: Any):
        self.cached, self.last = cached, cached.cache_info()

    def __call__(self) -> bool:
        now, last = self.cached.cache_info(), self.last
        self.last = now if last and now.hits >= last.hits and now[1:] == last[1:] else None
        return self.last is not None


class Guards:
    """The values in all watched places; `what` names the first that has changed."""

    def __init__(self) -> None:
        self.entries: list[tuple[Any, Any, Any, str]] = []  # owner, key, value, name
        self.questions: list[tuple[str, Any, Any, str]] = []  # a question, what it is about, the answer, its name
        self.zeros: list[tuple[dict, str, bool, str]] = []  # options of optimizers that are, or are not, 0
        self.tensors: list[tuple[Tensor, np.ndarray, str]] = []
        self.gradients: list[tuple[Tensor, bool]] = []
        self.kept: list[Any] = []  # parts of sets, and keys
        self.bound: list[Place] = []  # places with another Tensor in each call
        self.optimizers: dict[int, Any] = {}
        self.left: list[tuple[Place, Any]] = []  # flags that the function has just changed
        self.what, self.replaced = "", False  # whether an object was replaced by another
        self.moved: Place | None = None  # a place with another Tensor
        self.quick: Callable[[], bool] | None = None

    def ask(self, question: str, about: Any, name: str) -> None:
        """Watch the answer to a question of `_QUESTIONS`."""
        if question == "ids":  # an id is known to be of the same object only while that lives
            self.kept += about
        self.questions.append((question, about, _QUESTIONS[question][1](about), name))

    def same(self) -> bool:
        """Whether nothing has changed."""
        self.quick = self.quick or self._in_one_expression()
        try:
            if self.quick():
                return True
        except (AttributeError, LookupError, ValueError):  # something is gone
            pass
        self.what, entry = next(self._differences(), ("", None))
        if entry is not None:
            where, key, value = entry
            if _bindable(where, get(where, key)) and holds_only_tensors(value):
                self.moved = Place(where, key, self.what)
            self.replaced = not isinstance(value, _VALUES)
        return not self.what

    def changed(self, effects: set[int]) -> tuple[str, list[Place]]:
        """The name of state that the function has changed but a program would not; and the places that it has bound to
        other Tensors. effects: the ids of objects that the program changes as an effect."""
        places: list[Place] = []
        self.left = []
        for name, entry in self._differences(flags=False):
            if entry is not None:
                where, key, value = entry
                now = get(where, key)
                if id(where) in effects:
                    continue
                if _bindable(where, now) and (holds_only_tensors(value) or value is None):
                    places.append(Place(where, key, name))
                    continue
                if isinstance(now, _FLAGS) and isinstance(value, _FLAGS) and type(where) is not types.MappingProxyType:
                    self.left.append((Place(where, key, name), now))
                    continue
            return name, places
        return "", places

    def _differences(self, flags: bool = True):  # type: ignore[no-untyped-def]
        for where, key, value, name in self.entries:
            if not same(get(where, key), value):
                yield name, (where, key, value)
        for question, about, answer, name in self.questions:
            if (flags or question != "lasts") and _QUESTIONS[question][1](about) != answer:
                yield name, None
        if flags:
            for group, key, zero, name in self.zeros:
                if (group.get(key) == 0) is not zero:
                    yield name, None
            for t, without in self.gradients:
                if (t.grad is None) != without:
                    yield "which Tensors have gradients", None
        for t, array, name in self.tensors:
            if t._data is not array:
                yield f"the array of {name}", None

    def _in_one_expression(self) -> Callable[[], bool]:
        """Code that tests whether each object is still the same one."""
        names: dict[str, Any] = {"len": len, "map": map, "id": id, "item": dict.get}  # [] of a defaultdict would add
        known: dict[int, str] = {}  # one name for each object, so that none is tested twice

        def name(value: Any) -> str:
            if value is None or type(value) in (bool, str, int):
                return repr(value)
            return whole(value)

        def whole(value: Any) -> str:
            if id(value) not in known:
                known[id(value)] = f"_{len(known)}"
                names[known[id(value)]] = value
            return known[id(value)]

        def entry(where: Any, key: Any, value: Any) -> str:
            if value is MISSING:
                at = name(where)
                of = key or "cell_contents"
                return f"{name(key)} not in {at}" if _has_items(where) else f"not hasattr({at}, {of!r})"
            found = (f"{name(where)}().{key}" if type(where) is weakref.ref else
                     f"{name(where)}.cell_contents" if type(where) is types.CellType else
                     f"item({name(where)}, {name(key)})" if isinstance(where, dict) and type(where) is not dict else
                     f"{name(where)}[{name(key)}]" if _has_items(where) else f"{name(where)}.{key}")
            if type(value) is weakref.ref:
                return f"{found} is {name(value)}() is not None"
            return f"{found} is {whole(value) if type(value) in (str, int) else name(value)}"  # others may be equal

        asked = list(dict.fromkeys([entry(*e[:3]) for e in self.entries]))
        lengths = {id(about): (about, answer) for question, about, answer, _ in self.questions if question == "length"}
        about, answers = zip(*lengths.values(), strict=True) if lengths else ((), ())
        asked += [f"[*map(len, {name(about)})] == {name([*answers])}"]  # all at once, which is faster
        asked += [f"{_QUESTIONS[question][0].format(name(about))} == {name(answer)}"
                  for question, about, answer, _ in self.questions if question != "length"]
        asked += [f"item({name(group)}, {key!r}) {'==' if zero else '!='} 0" for group, key, zero, _ in self.zeros]
        asked += [f"{name(t)}._grad is {'' if without else 'not '}None" for t, without in self.gradients]
        asked += [f"{name(t)}._data is {name(array)}" for t, array, _ in self.tensors]
        parts = [define("same", f"def same(): return {' and '.join(asked[i:i + 300]) or True}", "<guards>", names)
                 for i in range(0, len(asked) or 1, 300)]
        return parts[0] if len(parts) == 1 else lambda: all([part() for part in parts])  # one takes long to compile

    def all_tensors(self) -> list[Tensor]:
        return [t for t, _, _ in self.tensors]

    def memories(self) -> dict[int, np.ndarray]:
        """The memory of all Tensors, and of those in places that each call binds again, by id."""
        found = [array for _, array, _ in self.tensors]
        found += [t._data for place in self.bound for t in tensors_in(place.get())]
        return {id(m): m for m in map(memory, found)}


def same(now: Any, value: Any) -> bool:
    """Whether two values are the same to Python: NaN is NaN, but 0.0 is not -0.0."""
    if type(value) is weakref.ref:
        return now is value() is not None
    return now is value or isinstance(value, _VALUES) and type(now) is type(value) and repr(now) == repr(value)


def _bindable(where: Any, value: Any) -> bool:
    return not isinstance(where, types.MappingProxyType | Tensor) and holds_only_tensors(value)


def _has_items(where: Any) -> bool:
    return isinstance(where, dict | list | deque | types.MappingProxyType)


def get(where: Any, key: Any) -> Any:
    """The value there, or MISSING."""
    try:
        if type(where) is weakref.ref:
            return getattr(where(), key)
        return where.cell_contents if type(where) is types.CellType else (
            dict.get(where, key, MISSING) if isinstance(where, dict) else where[key] if _has_items(where) else
            getattr(where, key))
    except (AttributeError, LookupError, ValueError):
        return MISSING


def attributes_of(value: Any) -> list[tuple[Any, str, Any]]:
    """The owners, names and values of an object's attributes, from its dict and its slots."""
    own = getattr(value, "__dict__", {})
    slots = {s for k in type(value).__mro__ for s in _slots(k)}
    return [*[(own, key, part) for key, part in own.items()], *[(value, slot, get(value, slot)) for slot in slots]]


def _slots(of: type) -> tuple[str, ...]:
    found = vars(of).get("__slots__", ())
    return tuple(n for n in ((found,) if isinstance(found, str) else found) if n not in ("__dict__", "__weakref__"))
