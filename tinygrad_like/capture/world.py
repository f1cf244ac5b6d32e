"""What a function reads besides its arguments, found by following the names in its code. The world is closed: nobody
knows when objects of unknown kinds change, such as files; `unknown` names one."""

from __future__ import annotations

import builtins
import dataclasses
import sys
import types
import weakref
from abc import ABCMeta, get_cache_token
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Sequence, Set
from enum import Enum
from functools import cached_property, partial
from typing import Any

import numpy as np

from ..core.dispatch import Op
from ..core.tensor import Tensor
from ..dtypes import memory
from .capture import capture
from .guards import CLASS, DICT, FLAGS, IDS, LENGTH, MISSING, NO_GRADIENT, PARTS, RESULT, TAG, Ask, Entry, Guards, get
from .pytree import FIELDS, PLAIN, holds_only_tensors, parts_of, slots_of, tensors_in
from .trace import HIDING, OURS, PYTHON, SEEN, USERS, Code, names_in, owner_of, owner_of_class, pure, title

_LONG, _BYTES = 1000, 2**16  # most entries of a list or dict, and most bytes of an array, that are compared
_LISTS, _DICTS = (list, tuple, deque, set, frozenset), (dict, OrderedDict, defaultdict, Counter, types.MappingProxyType)
_first: Any = namedtuple("_Named", "first").first  # type: ignore[attr-defined]
_OfNumpy, _OfCython, _Getter = [type(x) for x in (np.diag, np.random.seed, _first)]
_DESCRIPTORS: Any = types.GetSetDescriptorType, types.MemberDescriptorType
_OF_FUNCTIONS = {key for key, x in vars(types.FunctionType).items() if isinstance(x, _DESCRIPTORS)}  # such as __name__
_UNCHANGING = (np.ufunc, types.MethodDescriptorType, types.WrapperDescriptorType, *_DESCRIPTORS, Code, _Getter, slice,
               types.NotImplementedType, types.EllipsisType, np.number, np.bool_, np.character, np.dtype, _OfNumpy,
               *map(type, (np.r_, np.c_, np.s_, np.mgrid, np.ogrid, vars(dataclasses)["_HAS_DEFAULT_FACTORY"])))
_WRAPPERS = (types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType, partial, property, cached_property,
             staticmethod, classmethod, capture, _OfCython)
_WRAPPED = "__func__", "__self__", "func", "args", "keywords", "fget", "fset", "function"
_OF_TENSORS = {"_data": "the array", "requires_grad": "requires_grad", "_hooks": "the hooks", "_after": "the hooks"}
_NUMBERS, _STATIC = (int, float), (staticmethod, classmethod)
_OPEN = "builtins.object types.SimpleNamespace argparse.Namespace logging.Logger".split()  # just containers
_BASES = "abc.", "argparse._Attr", "collections.abc.", "contextlib.", "enum.", "logging.Filterer", "typing."  # bases


class World(Guards):
    """Everything that the code that ran may read: entries to compare, and all Tensors. parts: the parts of the
    arguments. before: knows which gradients existed before the call."""

    def __init__(self, of: capture, parts: Sequence[Any], effects: Set[int] = frozenset(), before: World | None = None):
        super().__init__()
        # Whether each Tensor that needs a gradient had none, by the id of its attributes.
        self.without = {id(e.where): e.value for e in (before.entries if before else ()) if e.key is NO_GRADIENT}
        self.trace, self.places, self.unknown, self.effects = (trace := of.trace), of.places, "", effects
        self.seen, self.given = dict[int, Any](), {id(part): part for part in parts}
        self.ran = {id(code) for code in (*trace.ran, *trace.own)}
        self.names, self.pairs = {"forward", "update"}, dict[str, set[str]]()  # of layers, and of optimizers
        for code in trace.ran:
            _, names, pairs, _ = names_in(code)
            self.names |= names
            for first, second in pairs:
                self.pairs.setdefault(first, set()).add(second)
            if hidden := names & HIDING:
                self._refuse(f"{code.co_qualname}, at {code.co_filename}:{code.co_firstlineno}, uses {min(hidden)}, "
                             "which hides what it reads or does; name attributes, and call functions directly")
        # Whether it reads options of an optimizer, which it may name in any way.
        self.options = "param_groups" in self.names and ("params" not in self.names or any(
            [{"param_groups", "[]"} <= names_in(code)[1] for code in trace.ran]))
        self.exact = "is_" in self.names  # or "is", or "is not"
        self.inner = False  # whether the user's code does not read what is followed,
        self.later: list[tuple[Any, str, bool]] = []  # which comes last, so that what both read is met by the user's
        self.counted = False  # whether each replay reads the numbers in what is followed
        self.found: set[Code] = set()  # the code of functions that were met
        self.follow(of.function, of.name)
        self.follow(Tensor, "Tensor")
        self.ask(TAG, vars(np), "a function of NumPy")
        given = getattr(getattr(of.function, "__code__", None), "co_varnames", ())[hasattr(of.function, "__self__"):]
        called = dict(zip(map(id, parts[0][0]), given, strict=False))
        for value in self.given.values():
            if not isinstance(value, Tensor):  # `structure` compares the parts
                self.follow(value if parts_of(value) is None else type(value), called.get(id(value), "an argument"))
        for code, globals_ in trace.ran.items():
            self._variables(code, globals_)
        unknown, self.inner = self.unknown, True
        while self.later:
            value, name, self.counted = self.later.pop(0)
            self.follow(value, name)
        self.unknown, self.inner, self.counted = unknown, False, False
        for code in trace.ran.keys() - self.found:
            if code.co_freevars:
                self._refuse(f"it calls {code.co_qualname}, a function with variables of its own that capture cannot "
                             "find; call it outside")
        for code, globals_ in trace.own.items():
            name = code.co_qualname  # of a public function, which may be replaced; classes have the methods
            if name[0] != "_" and isinstance(function := globals_.get(name), types.FunctionType):
                self.at(globals_, name, function, name, follow=False)
        self.bind()
        self.known = {id(x) for entry in self.entries for x in entry[::2]} | {*map(id, self.tensors)}
        self.entries.sort(key=lambda entry: type(entry.key) is Ask)
        self.seen, self.given, self.trace = {}, {}, None  # type: ignore[assignment]  # they would keep objects alive

    def follow(self, value: Any, name: str) -> None:
        kind = type(value)
        if kind in PLAIN or id(value) in self.seen:
            return
        self.seen[id(value)] = value
        if isinstance(value, Tensor):
            self._tensor(value, name)
        elif kind in _LISTS or kind in _DICTS:
            self._container(value, name)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, type):
            self._class(value, name)
        elif isinstance(value, types.ModuleType) and owner_of_class(kind) != USERS:  # whose class may have properties
            self._module(value, name)
        elif isinstance(value, _WRAPPERS):
            if isinstance(value, (types.BuiltinFunctionType, _OfCython)) and not pure(value.__module__) or (
                    name.rpartition(".")[2] != (own := getattr(value, "__name__", "")) and own in SEEN):
                self._unknown(value, name)  # or nobody sees that it is called
            for part in _WRAPPED:
                self.follow(getattr(value, part, None), name)
            if isinstance(value, partial | capture):
                self._attributes(value, name)
        elif kind is np.ndarray:
            self._array(value, name)
        elif not (isinstance(value, _UNCHANGING) or isinstance(value, Op) and value.ours):  # it gets code when needed
            self._object(value, name)

    def _held(self, of: Any) -> Any:
        """An object, held weakly if it is an argument, such as `self`."""
        return weakref.ref(of) if id(of) in self.given and type(of).__weakrefoffset__ else of

    def _refuse(self, why: str) -> None:
        self.unknown = self.unknown or why

    def _unknown(self, value: Any, name: str) -> None:
        what = title(type(value)).removeprefix("builtins.")
        self._refuse(f"it reads {name}, of type {what}, and capture cannot see when such an object changes; use it "
                     "outside, and pass the result as an argument")

    def _object(self, value: Any, name: str) -> None:
        kind = type(value)
        owners = {owner_of_class(k) for k in kind.__mro__ if title(k) not in _OPEN and (
            k is kind or not title(k).startswith(_BASES)) and not (k in PLAIN and isinstance(value, Enum))}
        if isinstance(value, tuple) and hasattr(kind, "_fields") and not hasattr(value, "__dict__"):
            self.follow(tuple(value), name)
        elif not owners <= {OURS, USERS} or hasattr(kind, "__next__") or any(
                [isinstance(vars(k).get("__getattribute__"), types.FunctionType) for k in kind.__mro__]):
            return self._unknown(value, name)
        else:
            self.at(self._held(value), "__class__", kind, f"the class of {name}", follow=False)
            self._attributes(value, name, OURS in owners)
        self.follow(kind, kind.__name__)

    def _attributes(self, value: Any, name: str, ours: bool = False) -> None:
        """The attributes that the code names; all of an object of ours, or of a subclass, since our code reads them."""
        kind, before = type(value), self.counted
        whole = isinstance(value, Enum) or isinstance(value, types.SimpleNamespace) and (  # C code compares it
            "[" in name or " of " in name or "__" in [x[:2] for k in name.split(".") for x in self.pairs.get(k, ())])
        if (own := getattr(value, "__dict__", None)) is not None:
            self.ask(PARTS, own, f"the attributes of {name}")
            if (held := self._held(value)) is value and kind.__flags__ & 1 << 4:  # see `DICT`
                self.ask(DICT, value, f"the attributes of {name}")
            elif not isinstance(value, dict):  # in which the place would be a key's
                self.at(held, "__dict__", own, f"the attributes of {name}", follow=False)
        stepping = "step" in vars(kind) and owner_of_class(kind) == USERS
        self.counted = ours and not stepping and (id(own) in self.effects or title(
            next(k for k in kind.__mro__ if owner_of_class(k) == OURS)).startswith("optim."))
        for where, key in [*[(own, key) for key in own or ()], *[(value, slot) for slot in slots_of(kind)]]:
            part = get(where, key)
            if key in self.names or ours and not (self.counted and _counts(part)) or whole or (
                    where is own and getattr(kind, "__getattr__", None)):
                self.at(where, key, part, f"{name}.{key}", known=ours and key not in self.names)
        self.counted = before

    def _tensor(self, t: Tensor, name: str) -> None:
        if owner_of_class(type(t)) != OURS:
            self._unknown(t, name)
        self.follow(type(t), type(t).__name__)
        self.tensors.append(t)
        self.ask(FLAGS, t._data, f"the flags of {name}")
        own, named = vars(t), self.trace.asked | self.pairs.get(name.rpartition(".")[2], set())
        for key in [*_OF_TENSORS, *own.keys() - FIELDS, *[key for key in named if not hasattr(t, key)]]:
            what = f"{_OF_TENSORS[key]} of {name}" if key in _OF_TENSORS else f"{name}.{key}"
            self.at(own, key, own.get(key, MISSING), what, follow=key != "_data")
        if t.requires_grad or type(t) is not Tensor or "grad" in self.names:  # a frozen parameter may keep one
            self.at(vars(t), NO_GRADIENT, self.without.get(id(vars(t)), t._grad is None),
                    "which Tensors have gradients")

    def _array(self, x: np.ndarray, name: str) -> None:
        if self.inner:  # state of one of this library's objects, which ops and effects read and write
            return
        if x.nbytes > _BYTES or x.dtype.hasobject:
            self._refuse(f"it reads {name}, a NumPy array that is large or holds objects, too slow to compare before "
                         "each call; make a Tensor of it outside")
        else:
            self.tables[id(memory(x))] = f"the array {name}"
            self.ask(RESULT, lambda: (x.tobytes(), x.shape, x.dtype, x.flags.writeable), f"the array {name}")

    def _container(self, value: Any, name: str) -> None:
        kind = type(value)
        if len(value) > _LONG:
            self._refuse(f"it reads {name}, whose {len(value):,} entries are too many to compare before each call")
        elif kind in (tuple, set, frozenset):
            if kind is set:
                self.ask(IDS, value, name)
            for part in value:
                self.follow(part, f"a part of {name}")
        elif kind in _DICTS:
            strings = {*map(type, value)} <= {str}
            state = self.counted and all([type(part) is np.ndarray for part in value.values()])  # a step may add to it
            asked = Ask(list, own=True) if state else LENGTH if self.inner else PARTS if strings else IDS
            self.ask(asked, value, f"the keys of {name}")
            for key, part in list(value.items()):
                self.follow(key, f"a key of {name}")
                if not self.counted or self.options or key in self.names or not _counts(part):
                    self.at(value, key, part, f"{name}[{key!r}]" if type(key) in PLAIN else f"a part of {name}")
                elif type(part) in _NUMBERS and key != "lr":  # whether an option is 0
                    self.ask(Ask(lambda of, k=key: of.get(k) == 0, own=True), value, f"{name}[{key!r}]")  # type: ignore
            if hasattr(value, "__dict__"):
                self._attributes(value, name)
            if isinstance(value, defaultdict) and not self.inner:
                self.ask(RESULT, partial(getattr, value, "default_factory"), name)
                self.follow(value.default_factory, name)
        else:
            self.ask(LENGTH, value, f"the length of {name}")
            for key, part in enumerate(value):
                self.at(value, key, part, f"{name}[{key}]")

    def _function(self, function: types.FunctionType) -> None:
        code, owner = function.__code__, owner_of(function.__globals__, function.__code__.co_filename)
        self._attributes(function, function.__name__)
        for key in self.names & _OF_FUNCTIONS | {"__code__", "__defaults__", "__kwdefaults__"}:
            if key in self.names or getattr(function, key) is not None:
                self.at(function, key, getattr(function, key), f"{key} of {function.__name__}")
        if ran := code in self.trace.ran:
            self.found |= _within(code)
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            value = get(cell, "cell_contents")
            if ran or owner == PYTHON or owner == OURS and callable(value):  # as of functools, or of a hook
                self.at(cell, "cell_contents", value, name, known=owner == OURS)

    def _variables(self, code: Code, variables: dict[str, Any]) -> None:
        package = variables.get("__package__") or ""
        for name in names_in(code)[3]:
            for whole in (name, f"{package}.{name}"):
                self.at(sys.modules, whole, sys.modules.get(whole, MISSING), name)
        for name in names_in(code)[0]:
            for own in (variables, vars(builtins))[:1 + (name not in variables)]:
                self.at(own, name, own.get(name, MISSING), name)

    def _class(self, of: type, name: str) -> None:
        """What the code names, functions that ran, and operators, in a class; and its bases."""
        owner = owner_of_class(of)
        if owner == PYTHON and (of.__name__ in HIDING or not (pure(title(of)) or issubclass(of, BaseException) or (
                title(of) in _OPEN or title(of).startswith(_BASES)))):
            self._unknown(of, name)
        for other in (type(of), *of.__bases__):
            self.follow(other, other.__name__)
        if isinstance(of, ABCMeta):
            self.ask(RESULT, get_cache_token, "what is registered with abstract classes")
        if owner == PYTHON or owner == OURS and issubclass(of, Op):
            return  # an op's class gets code when it is needed
        self.ask(CLASS, of, f"the definition of {of.__name__}")
        ours = owner == USERS and any([owner_of_class(k) == OURS for k in of.__mro__])  # whose code reads attributes
        for key, value in list(vars(of).items()):
            f = value.__func__ if isinstance(value, _STATIC) else value
            named = key in self.names or key[:2] == "__" and callable(value) or type(value) in (int, float, bool) or (
                isinstance(value, Op) or isinstance(f, types.FunctionType) and id(f.__code__) in self.ran)
            if named or ours:
                self.at(of, key, value, f"{of.__name__}.{key}", known=not named, follow=owner == USERS)

    def _module(self, module: types.ModuleType, name: str) -> None:
        own = vars(module)
        attributes = self.pairs.get(name.rpartition(".")[2], {"__dict__"}) | self.trace.asked
        if owner_of(own) == USERS or "__dict__" in attributes:  # it may have another name
            self.at(module, "__class__", type(module), f"the class of {name}", follow=False)
            attributes |= (self.names | {"__getattr__"}) & own.keys()
        for key in attributes:
            self.at(own, key, own.get(key, MISSING), f"{module.__name__}.{key}")

    def at(self, where: Any, key: Any, value: Any, name: str, known: bool = False, follow: bool = True) -> None:
        """The value in a place. known: whether the user's code does not read parts that cannot be followed."""
        if value is not MISSING and (id(where), key) in self.places:
            self.bound.append(self.places[id(where), key])
        else:
            self.entries.append(Entry(where, key, value, name))
            if follow and value is not MISSING and known > self.inner:
                self.later.append((value, name, self.counted))
            elif follow and value is not MISSING:
                try:
                    self.follow(value, name)
                except RecursionError:
                    self._refuse("it reads objects that are nested too deeply")

    def bind(self) -> None:
        """Watch the places whose Tensors are also found elsewhere, or that have changed since."""
        others = {id(memory(x._data)) for t in self.tensors for x in (t, t.grad) if x is not None}
        for place in self.bound[:]:
            value = place.get()
            if not holds_only_tensors(value) or any([id(memory(t._data)) in others for t in tensors_in(value)]):
                self.bound = [other for other in self.bound if other is not place]  # places in lists compare Tensors
                self.entries.append(place._replace(value=value))
                self.follow(value, place.name)


def _counts(value: Any) -> bool:
    """Whether a value is a number or a string, or consists of such."""
    if type(value) in (list, tuple, dict):
        return bool(value) and all(map(_counts, value.values() if type(value) is dict else value))
    return type(value) in (*_NUMBERS, str) or isinstance(value, np.floating)


def _within(code: Code) -> set[Code]:
    return {code}.union(*[_within(part) for part in code.co_consts if isinstance(part, Code)])
