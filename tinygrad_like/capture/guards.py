"""Guards: checks that what a function reads is unchanged: objects, numbers, and the existence of gradients."""

from __future__ import annotations

import gc
import types
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Set
from ctypes import string_at
from functools import lru_cache
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
    """A question about an object, in place of a key, as an expression. own: whether the function may change the answer
    itself."""

    text: str
    own: bool = False

    def answer(self, about: Any) -> Any:
        return _asked(self.text)(about)


@lru_cache(None)
def _asked(text: str) -> Callable[[Any], Any]:
    return define("asked", f"def asked(x): return {text.format('x')}", "<guards>", {"get": dict.get})


_QUESTIONS = {"length": Question("len({})"), "parts": Question("[*{}]"), "result": Question("{}()"),
              "ids": Question("[*map(id, {})]")}
WITHOUT_GRADIENT = Question("{}._grad is None", own=True)


def is_zero(option: str) -> Question:
    """Whether an option of an optimizer's group is 0."""
    return Question(f"get({{}}, {option!r}) == 0", own=True)


class Place(NamedTuple):
    """A place: `key` of a dict, a list or an object, or the cell of a closure."""

    where: Any
    key: Any
    name: str

    def get(self) -> Any:
        return get(self.where, self.key)

    def put(self, value: Any) -> None:
        if _has_items(self.where):
            self.where[self.key] = value
        else:
            setattr(self.where, self.key, value)


class Guards:
    """The values in all watched places; `what` names the first that has changed."""

    def __init__(self) -> None:
        self.entries: list[tuple[Any, Any, Any, str]] = []  # owner, key, value, name; then the questions
        self.tensors: list[Tensor] = []
        self.kept: list[Any] = []  # parts of sets, and keys
        self.tables: dict[int, str] = {}  # the names of NumPy arrays, by their memory
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
        where, key, value, self.what = next(self._differences(), (None, None, None, ""))
        if self.what and type(key) is not Question:
            if _bindable(where, get(where, key)) and holds_only_tensors(value):
                self.moved = Place(where, key, self.what)
            self.replaced = not isinstance(where, Tensor) and not isinstance(value, _VALUES)
        return not self.what

    def changed(self, effects: set[int], written: Iterable[int] = ()) -> tuple[str, list[Place]]:
        """The name of state that the function has changed but a program would not; and the places that it has bound to
        other Tensors. effects: the ids of objects that the program changes as an effect. written: memory that it writes
        to, which the function may read in a NumPy array after that."""
        places: list[Place] = []
        self.left = []
        if tables := [self.tables[m] for m in written if m in self.tables]:
            return tables[0], places
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

    def drop_gradients(self, of: Set[int]) -> None:
        """Ask no more whether these Tensors have gradients, which they had, and which the program drops first."""
        self.quick, self.entries = None, [entry for entry in self.entries if not (
            entry[1] is WITHOUT_GRADIENT and entry[2] is False and id(entry[0]) in of)]

    def memories(self) -> dict[int, np.ndarray]:
        """The memory of all Tensors, and of those in places that each call binds again, by id."""
        found = [t._data for t in (*self.tensors, *[t for place in self.bound for t in tensors_in(place.get())])]
        return {id(m): m for m in map(memory, found)}


def _in_one_expression(entries: list[tuple[Any, Any, Any, str]]) -> Callable[[], bool]:
    """Code that tests whether each object is still the same one; of dicts and lists that are watched whole, all at
    once, which is faster."""
    held = {(id(where), key): (where, value) for where, key, value, _ in entries if isinstance(where, dict | list) and (
        type(key) is not Question and value is not MISSING and _is(get(where, key), value))}
    counts = Counter([at for at, _ in held])
    whole = {id(where): where for where, _ in held.values() if len(where) == counts[id(where)]}
    gone: list[Any] = []  # whose address may be that of a later object
    refs = [weakref.ref(value(), gone.append) for _, value in held.values() if type(value) is weakref.ref]
    found = [("not {}", (gone, refs)), ("{}({}) == {}", (_contents, [*whole.values()], _contents(whole.values())))]
    found += [_condition(where, key, value) for where, key, value, _ in entries if not (
        id(where) in whole and ((id(where), key) in held or key is _QUESTIONS["length"]))]
    found = [*{(text, *map(id, about)): (text, about) for text, about in found}.values()]  # none is tested twice
    objects = {id(value): value for _, about in found for value in about}
    names = {key: f"_{i}" for i, key in enumerate(objects)}
    text = " and ".join([text.format(*[names[id(value)] for value in about]) for text, about in found])
    known = {"get": dict.get, **dict(zip(names.values(), objects.values(), strict=True))}
    # The objects are defaults of arguments, which are read faster than globals.
    return define("same", f"def same({', '.join([f'{n}={n}' for n in known])}): return {text}", "<guards>", known)


def _contents(objects: Iterable[Any]) -> bytes:
    """The addresses of all that dicts and lists hold, listed by C code."""
    found = tuple(gc.get_referents(*objects))
    return string_at(id(found) + tuple.__basicsize__, len(found) * tuple.__itemsize__)


def _condition(where: Any, key: Any, value: Any) -> tuple[str, tuple]:
    """An expression for one entry, and the objects in it."""
    if type(key) is Question:
        return (key.text if value is True else f"not {key.text}", (where,)) if type(value) is bool else (
            f"{key.text} == {{}}", (where, value))
    if isinstance(where, Tensor):
        default, where = getattr(type(where), key, MISSING), vars(where)
        value = MISSING if value is default and key not in where else value
    if type(where) is types.MappingProxyType:
        where, = gc.get_referents(where)  # the dict itself, which is read faster
    now = "{}() is not None" if type(value) is weakref.ref else "{}"
    if not _has_items(where):
        of = "{}()" if type(where) is weakref.ref else "{}"
        return (f"not hasattr({of}, '{key}')", (where,)) if value is MISSING else (
            f"{of}.{key} is {now}", (where, value))
    if value is MISSING:
        return "{} not in {}", (key, where)
    if isinstance(where, dict) and type(where) is not dict:  # [] of a defaultdict would add
        return f"get({{}}, {{}}) is {now}", (where, key, value)
    if type(key) is int or type(key) is str and key.isidentifier():  # a constant is read faster
        return f"{{}}[{key!r}] is {now}", (where, value)
    return f"{{}}[{{}}] is {now}", (where, key, value)


def _is(now: Any, value: Any) -> bool:
    return now is value() is not None if type(value) is weakref.ref else now is value


def same(now: Any, value: Any) -> bool:
    """Whether two values are the same to Python: NaN is NaN, but 0.0 is not -0.0."""
    return _is(now, value) or isinstance(value, _VALUES) and type(now) is type(value) and repr(now) == repr(value)


def _bindable(where: Any, value: Any) -> bool:
    return not isinstance(where, types.MappingProxyType | Tensor) and holds_only_tensors(value)


def _has_items(where: Any) -> bool:
    return isinstance(where, dict | list | deque | types.MappingProxyType)


def get(where: Any, key: Any) -> Any:
    """The value there, or MISSING."""
    try:
        if isinstance(where, dict):
            return dict.get(where, key, MISSING)
        return where[key] if _has_items(where) else getattr(where() if type(where) is weakref.ref else where, key)
    except (AttributeError, LookupError, ValueError):
        return MISSING


def attributes_of(value: Any) -> list[tuple[Any, str, Any]]:
    """The owners, names and values of an object's attributes, from its dict and its slots."""
    own = getattr(value, "__dict__", {})
    slots = {name for k in type(value).__mro__ if "__slots__" in vars(k)
             for name, x in vars(k).items() if type(x) is types.MemberDescriptorType}
    return [*[(own, key, part) for key, part in own.items()], *[(value, slot, get(value, slot)) for slot in slots]]

