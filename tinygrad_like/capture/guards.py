"""Guards: checks that what a function reads is unchanged: objects, numbers, and the existence of gradients."""

from __future__ import annotations

import gc
import sys
import types
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Set
from ctypes import c_uint64
from operator import setitem
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ..core.tensor import Tensor
from ..kernels.unchanged import unchanged
from ..transforms.codegen import define
from .pytree import Same, containers_in, holds_only_tensors

MISSING: Any = type("MISSING", (), {"__repr__": lambda self: "nothing"})()
_VALUES = (int, float, bool, str, bytes, complex, type(None), np.generic, np.dtype)
_FLAGS = (bool, str, type(None))  # a function may change these, since a replay sets them too: `model.train()`
_LISTED: tuple = (list, types.CellType, types.FunctionType, *[dict] * (sys.version_info < (3, 13)))  # gc tells no more
_INDEXED = (dict, list, deque, types.MappingProxyType)
# A class's tp_version_tag in C, two fields after the other, has 32 bits. Other objects' own fields follow two.
_AT, _TAGS, _OWN = vars(type)["__weakrefoffset__"].__get__(type) + 16, 2**32, object.__basicsize__


class Ask(NamedTuple):
    """A question about an object, in place of a key. own: the function may change the answer. word: C's, that changes
    with it, by its offset."""

    answer: Callable[[Any], Any]
    own: bool = False
    word: int = 0


LENGTH, PARTS, IDS, RESULT = Ask(len), Ask(list), Ask(lambda of: [*map(Same, of)]), Ask(lambda of: of())
CLASS = Ask(lambda of: (of.__name__, of.__qualname__, of.__mro__, [*vars(of)]))
FLAGS = Ask(lambda x: x.flags.writeable, word=_OWN + 48)
TAG = Ask(lambda of: c_uint64.from_address(id(of) + _OWN + 8).value, word=_OWN + 8)  # a dict's ma_version_tag
DICT = Ask(lambda of: id(vars(of)), word=-24)  # of the attributes, if CPython has its address before the object
NO_GRADIENT = Ask(lambda own: own.get("_grad") is None, own=True)  # of a Tensor's attributes


class Entry(NamedTuple):
    """What is at a place: `key` of a dict, a list, an object or a class, or the cell of a closure; or an answer."""

    where: Any
    key: Any
    value: Any
    name: str

    def get(self) -> Any:
        return get(self.where, self.key)

    def put(self, value: Any) -> None:
        (setitem if isinstance(self.where, _INDEXED) else setattr)(self.where, self.key, value)

    def holds(self, exact: bool) -> bool:
        if type(self.key) is Ask:
            return self.key.answer(self.where) == self.value
        return self.get() is self.value if exact else same(self.get(), self.value)

    def condition(self, exact: bool) -> tuple[str, tuple]:
        """An expression for this entry, and the objects in it."""
        where, key, value, _ = self
        if type(key) is Ask:
            return "{}({}) == {}", (key.answer, where, value)
        there = self.get() is value  # else it is equal
        if there and type(where) is dict:
            return ("{} not in {}", (key, where)) if value is MISSING else ("{}[{}] is {}", (where, key, value))
        if not there or value is MISSING or isinstance(where, (*_INDEXED, type)):
            return "{}({})", (self.holds, exact)
        return f"{{}}{'()' * (type(where) is ref)}.{key} is {{}}", (where, value)


class Guards:
    """The values in all watched places; `what` names the first that has changed."""

    def __init__(self) -> None:
        self.entries, self.tensors = list[Entry](), list[Tensor]()
        self.known: Set[int] = set()  # the ids of all that lives as long as the entries
        self.tables: dict[int, str] = {}  # the names of NumPy arrays, by their memory
        self.bound: list[Entry] = []  # places with another Tensor in each call
        self.left: list[tuple[Entry, Any]] = []  # flags that the function has just changed
        self.what = ""
        self.exact = False  # whether an equal number or text may be told from the one that was there
        self.moved: Entry | None = None  # a place with another Tensor
        self.quick: Callable[[], bool] | None = None
        self.versions: dict[int, tuple[Any, Any]] = {}  # of objects that `quick` compares as a whole
        self.tagged: dict[int, dict] = {}  # those of them that have a number, another one after each change
        self.moves = Counter[int]()  # how often something that is not watched has changed in them
        self.free = set[int]()  # the attributes of Tensors whose gradients may be any

    def ask(self, question: Ask, about: Any, name: str) -> None:
        """Watch the answer to a question."""
        self.entries.append(Entry(about, question, question.answer(about), name))

    def same(self) -> bool:
        """Whether nothing has changed."""
        if self._quickly():
            return True
        if (entry := next(self._differences(), None)) is None:
            self.moves.update([key for key, (of, before) in self.versions.items() if self._version(of) != before])
            self.what, self.quick = "", self._in_one_expression()
            return True
        self.what = entry.name
        now = MISSING if type(entry.key) is Ask else entry.get()
        if _bindable(entry.where, now) and holds_only_tensors(entry.value) and not containers_in(now, set()):
            self.moved = entry
        return False

    def replaced(self) -> bool:
        """Whether another object is in a place, or none, so that this world may never be the same again."""
        values = [entry.value for entry in self._differences() if type(entry.key) is not Ask]
        return not all([isinstance(value, (*_VALUES, np.ndarray, type(MISSING))) for value in values])

    def _quickly(self) -> bool:
        try:
            return self.quick is not None and self.quick()
        except (AttributeError, LookupError, ValueError):  # something is gone
            return False

    def changed(self, effects: set[int], written: Iterable[int] = ()) -> tuple[str, list[Entry]]:
        """The name of state that the function has changed but a program would not; and the places that it has bound to
        other Tensors. effects: the ids of objects that the program changes as an effect. written: memory that it writes
        to, which the function may read in a NumPy array after that."""
        places: list[Entry] = []
        self.left = []
        if tables := [self.tables[m] for m in written if m in self.tables]:
            return tables[0], places
        if self._quickly():
            return "", places
        self.quick = None
        for entry in self._differences():
            where, key, value, name = entry
            if type(key) is Ask and key.own:
                continue
            now = MISSING if type(key) is Ask else entry.get()
            if isinstance(now, _FLAGS) and isinstance(value, _FLAGS) and not isinstance(where, type):
                self.left.append((entry, now))
            elif type(key) is not Ask and id(where) in effects:
                continue
            elif _bindable(where, now) and (holds_only_tensors(value) or value is None):
                places.append(entry._replace(value=None))
            else:
                return name, places
        return "", places

    def _differences(self) -> Iterator[Entry]:
        return (entry for entry in self.entries if not entry.holds(self.exact))

    def drop_gradients(self, of: Set[int]) -> None:
        """Ask no more whether these Tensors have gradients, which they had, and which the program drops first."""
        asked = {id(e.where): e.value for e in self.entries if e.key is NO_GRADIENT}
        self.free = {key for t in self.tensors if id(t) in of and asked.get(key := id(vars(t))) is False}
        self.moves.update(self.free)
        self.quick, self.versions, self.entries = None, {}, [
            entry for entry in self.entries if entry.key is not NO_GRADIENT or id(entry.where) not in self.free]

    def _in_one_expression(self) -> Callable[[], bool]:
        """Code that tests whether all is as it is now. Classes and dicts are compared by their numbers, others by the
        addresses of what they hold, all at once: that takes less time than a look at each place."""
        steady = {id(entry.where): entry.where for entry in self.entries if self.moves[id(entry.where)] < 2}
        self.tagged = {id(x): x for x in steady.values() if type(x) is dict in _LISTED and not self.moves[id(x)]}
        whole = [x for x in steady.values() if isinstance(x, _LISTED) and id(x) not in self.tagged]
        classes = [k for k in steady.values() if isinstance(k, type) and self._version(k) % _TAGS]
        self.versions = {id(x): (x, self._version(x)) for x in (*self.tagged.values(), *whole, *classes)}
        held = [address for x in whole for address in self.versions[id(x)][1]]
        places = [*[id(k) + _AT for k in classes], *[key + TAG.word for key in self.tagged], *[
            id(x) + _OWN for x in whole], *[  # lengths, too: a part of one may move to the next
            id(e.where) + e.key.word for e in self.entries if type(e.key) is Ask and e.key.word]]
        there = [word for at in places for word in (at, c_uint64.from_address(at).value)]
        words = np.array([len(held), *held, len(places), *there], np.uint64)
        # The values live on, so that their addresses are not those of others.
        self.held = words, [x for x in gc.get_referents(*whole) if isinstance(x, _VALUES)]
        tests: list[tuple[str, tuple]] = [
            ("{}(id(found := {}(*{})), {})", (unchanged.call, gc.get_referents, tuple(whole), words.ctypes.data))]
        tests += [entry.condition(self.exact) for entry in self.entries if not (
            type(entry.key) is Ask and entry.key.word) and id(entry.where) not in self.versions or (
                entry.key is RESULT or entry.key is PARTS and entry.value and id(entry.where) not in self.tagged)]
        text, about = " and ".join([text for text, _ in tests]), [x for _, about in tests for x in about]
        names = {f"_{i}": x for i, x in enumerate(about)}
        return define("same", f"def same(): return {text.format(*names)}", "<guards>", names)

    def _version(self, of: Any) -> Any:
        """The number of a class or a dict, another one after each change, or 0; or else the addresses of what is held,
        0 for a gradient that no entry asks about: Python leaves another one than a replay."""
        if isinstance(of, type):
            return c_uint64.from_address(id(of) + _AT).value
        if id(of) in self.tagged:
            return TAG.answer(of)
        found = [*map(id, gc.get_referents(of))]
        if id(of) in self.free and (grad := of.get("_grad")) is not None and found.count(id(grad)) == 1:
            found[found.index(id(grad))] = 0
        return found


def same(now: Any, value: Any) -> bool:
    """Whether two values are the same to Python: 0.0 is not -0.0, and NaN is no other NaN."""
    return now is value or (
        isinstance(value, _VALUES) and type(now) is type(value) and now == value and repr(now) == repr(value))


def _bindable(where: Any, value: Any) -> bool:
    return not isinstance(where, types.MappingProxyType | type) and holds_only_tensors(value)


def get(where: Any, key: Any) -> Any:
    """The value there, or MISSING."""
    try:
        if isinstance(where, dict | type):
            return dict.get(where, key, MISSING) if isinstance(where, dict) else vars(where).get(key, MISSING)
        return where[key] if isinstance(where, _INDEXED) else getattr(where() if type(where) is ref else where, key)
    except (AttributeError, LookupError, ValueError):
        return MISSING
