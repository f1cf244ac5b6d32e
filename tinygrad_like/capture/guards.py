"""Guards: checks that what a function reads is unchanged: objects, numbers, and the existence of gradients."""

from __future__ import annotations

import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..core.tensor import Tensor
from ..dtypes import memory
from ..transforms.codegen import define
from .pytree import holds_only_tensors, tensors_in

MISSING: Any = type("MISSING", (), {"__repr__": lambda self: "nothing"})()
_VALUES = (int, float, bool, str, bytes, complex, type(None), np.generic, np.dtype)
_FLAGS = (bool, str, type(None))  # a function may change these, since a replay sets them too: `model.train()`


class Question(NamedTuple):
    """A question about an object, in place of a key: as an expression, and as a function. own: whether the function may
    change the answer itself."""

    text: str
    answer: Callable
    own: bool = False


_QUESTIONS = {
    "length": Question("len({})", len), "parts": Question("[*{}]", list), "result": Question("{}()", lambda x: x()),
    "ids": Question("[*map(id, {})]", lambda x: [*map(id, x)])}
WITHOUT_GRADIENT = Question("{}._grad is None", lambda t: t._grad is None, own=True)


def is_zero(option: str) -> Question:
    """Whether an option of an optimizer's group is 0."""
    return Question(f"get({{}}, {option!r}) == 0", lambda group: group.get(option) == 0, own=True)


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


class Guards:
    """The values in all watched places; `what` names the first that has changed."""

    def __init__(self) -> None:
        self.entries: list[tuple[Any, Any, Any, str]] = []  # owner, key, value, name; then the questions
        self.tensors: list[Tensor] = []
        self.kept: list[Any] = []  # parts of sets, and keys
        self.bound: list[Place] = []  # places with another Tensor in each call
        self.left: list[tuple[Place, Any]] = []  # flags that the function has just changed
        self.what, self.replaced = "", False  # whether an object was replaced by another
        self.moved: Place | None = None  # a place with another Tensor
        self.quick: Callable[[], bool] | None = None

    def ask(self, question: str | Question, about: Any, name: str) -> None:
        """Watch the answer to a question, which may be named as in `_QUESTIONS`."""
        if question == "ids":  # an id is known to be of the same object only while that lives
            self.kept += about
        question = _QUESTIONS[question] if isinstance(question, str) else question
        self.entries.append((about, question, question.answer(about), name))

    def same(self) -> bool:
        """Whether nothing has changed."""
        self.quick = self.quick or _in_one_expression(self.entries)
        try:
            if self.quick():
                return True
        except (AttributeError, LookupError, ValueError):  # something is gone
            pass
        self.what = ""
        for where, key, value, name in self._differences():
            self.what = name
            if type(key) is not Question:
                if _bindable(where, get(where, key)) and holds_only_tensors(value):
                    self.moved = Place(where, key, name)
                self.replaced = not isinstance(where, Tensor) and not isinstance(value, _VALUES)
            return False
        return True

    def changed(self, effects: set[int]) -> tuple[str, list[Place]]:
        """The name of state that the function has changed but a program would not; and the places that it has bound to
        other Tensors. effects: the ids of objects that the program changes as an effect."""
        places: list[Place] = []
        self.left = []
        for where, key, value, name in self._differences():
            if key.own if type(key) is Question else id(where) in effects:
                continue
            if type(key) is Question:
                return name, places
            now = get(where, key)
            if _bindable(where, now) and (holds_only_tensors(value) or value is None):
                places.append(Place(where, key, name))
            elif isinstance(now, _FLAGS) and isinstance(value, _FLAGS) and type(where) is not types.MappingProxyType:
                self.left.append((Place(where, key, name), now))
            else:
                return name, places
        return "", places

    def _differences(self) -> Iterator[tuple[Any, Any, Any, str]]:
        for where, key, value, name in self.entries:
            if not (key.answer(where) == value if type(key) is Question else same(get(where, key), value)):
                yield where, key, value, name

    def without_gradients(self) -> dict[int, bool]:
        """Whether each Tensor that needs a gradient had none, by id."""
        return {id(t): answer for t, question, answer, _ in self.entries if question is WITHOUT_GRADIENT}

    def memories(self) -> dict[int, np.ndarray]:
        """The memory of all Tensors, and of those in places that each call binds again, by id."""
        found = [t._data for t in (*self.tensors, *[t for place in self.bound for t in tensors_in(place.get())])]
        return {id(m): m for m in map(memory, found)}


def _in_one_expression(entries: list[tuple[Any, Any, Any, str]]) -> Callable[[], bool]:
    """Code that tests whether each object is still the same one."""
    lengths = {id(where): (where, value) for where, key, value, _ in entries if key is _QUESTIONS["length"]}
    about, answers = zip(*lengths.values(), strict=True) if lengths else ((), ())
    found = [_condition(*entry[:3]) for entry in entries if entry[1] is not _QUESTIONS["length"]]
    found.append(("[*map(len, {})] == {}", (about, [*answers])))  # all at once, which is faster
    found = [*{(text, *map(id, about)): (text, about) for text, about in found}.values()]  # none is tested twice
    parts = [_compiled(found[i:i + 300]) for i in range(0, len(found), 300)]  # one takes long to compile
    return parts[0] if len(parts) == 1 else lambda: all([part() for part in parts])


def _condition(where: Any, key: Any, value: Any) -> tuple[str, tuple]:
    """An expression for one entry, and the objects in it."""
    if type(key) is Question:
        return (key.text if value is True else f"not {key.text}", (where,)) if type(value) is bool else (
            f"{key.text} == {{}}", (where, value))
    if value is MISSING:
        return ("{} not in {}", (key, where)) if _has_items(where) else (
            "not hasattr({}, {})", (where, key or "cell_contents"))
    if _has_items(where):  # [] of a defaultdict would add
        of: tuple = (where, key)
        text = "get({}, {})" if isinstance(where, dict) and type(where) is not dict else "{}[{}]"
        if type(key) is int or type(key) is str and key.isidentifier():  # a constant is read faster
            of, text = (where,), text.format("{}", repr(key))
    else:
        of, text = (where,), f"{{}}.{key or 'cell_contents'}"
    return f"{text} is {{}}" + " is not None" * (type(value) is weakref.ref), (*of, value)


def _compiled(conditions: list[tuple[str, tuple]]) -> Callable[[], bool]:
    """A function that tests conditions. The objects are defaults of arguments, which are read faster than globals."""
    names: dict[str, Any] = {"get": dict.get, "len": len, "map": map, "id": id}
    known: dict[int, str] = {}

    def name(value: Any) -> str:
        if value is None or type(value) is bool:
            return repr(value)
        if id(value) in known:
            return known[id(value)]
        names[new := f"_{len(known)}"] = value
        known[id(value)] = f"o{new}" if type(value) is weakref.ref else new
        return f"({known[id(value)]} := {new}())" if type(value) is weakref.ref else new

    text = " and ".join([text.format(*map(name, about)) for text, about in conditions])
    arguments = ", ".join([f"{n}={n}" for n in names])
    return define("same", f"def same({arguments}): return {text}", "<guards>", names)


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


def _slots(of: type) -> list[str]:
    """The names of a class's slots, in which `__x` has become `_Class__x`."""
    own = vars(of)
    return [n for n, x in own.items() if type(x) is types.MemberDescriptorType] if "__slots__" in own else []
