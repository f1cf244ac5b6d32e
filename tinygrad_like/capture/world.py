"""What a function reads besides its arguments, found by following the names in its code.

The world is closed: it cannot tell when an object of an unknown kind, such as an iterator, a lock or a file, changes.
A function whose code leads to one by name is not captured, and `unknown` says so.
"""

from __future__ import annotations

import builtins
import sys
import types
import weakref
from abc import ABCMeta, get_cache_token
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Set
from enum import Enum
from functools import _lru_cache_wrapper, cached_property, partial
from typing import Any

import numpy as np

from ..core.dispatch import Op
from ..core.tensor import Tensor
from ..dtypes import memory
from ..random import Generator
from .guards import MISSING, WITHOUT_GRADIENT, Guards, Place, Question, Uncleared, attributes_of, get, is_zero
from .pytree import FIELDS, PLAIN, holds_only_tensors, parts_of, tensors_in
from .trace import NUMPY, OURS, PYTHON, USERS, Code, Trace, names_in, owner_of, owner_of_class, owner_of_file, pure

_LONG, _BYTES = 1000, 2**16  # most entries of a list or dict, and most bytes of an array, that are compared
VALUES: Any = (*PLAIN, np.generic, np.dtype, slice)
_LISTS, _DICTS = (list, tuple, deque, set, frozenset), (dict, OrderedDict, defaultdict, Counter, types.MappingProxyType)
_OfNumpy: Any = type(np.diag)
_Getter: Any = type(namedtuple("_Named", "first").first)  # type: ignore[attr-defined]
_DESCRIPTORS: Any = types.GetSetDescriptorType, types.MemberDescriptorType
_OF_FUNCTIONS = {key for key, x in vars(types.FunctionType).items() if isinstance(x, _DESCRIPTORS)}  # such as __name__
_UNCHANGING = (Generator, np.ufunc, types.MethodDescriptorType, types.WrapperDescriptorType, *_DESCRIPTORS,
               types.NotImplementedType, types.EllipsisType, Code, _Getter, _OfNumpy)
_OPEN = "types.SimpleNamespace", "argparse.Namespace"  # Python's, which hold only what a program puts into them
_CALLED = frozenset("__call__ forward step training update zero_grad".split())
_NUMBERS = int, float, np.floating


class World(Guards):
    """Everything that the code that ran may read: entries to compare, and all Tensors."""

    def __init__(self, function: Callable, arguments: tuple, trace: Trace, places: dict[tuple, Place],
                 effects: Set[int] = frozenset(), before: World | None = None):
        super().__init__()
        self.without = before.without_gradients() if before is not None else {}
        self.trace, self.places, self.unknown, self.effects = trace, places, "", effects
        self.seen: dict[int, Any] = {}
        self.names, self.classes, self.pairs = set[str](), dict[Any, Any](), dict[str, set[str]]()
        for code in trace.ran:
            _, names, pairs, _ = names_in(code)
            self.names |= names
            for first, second in pairs:
                self.pairs.setdefault(first, set()).add(second)
        # Positions in a pattern stand for attributes, and so does what is looked up in a __dict__.
        self.computed = trace.computed or not self.names.isdisjoint(("__dict__", "__match_args__"))
        self.words = set[str]()  # strings in what is read, which may name attributes
        self.inner = False  # whether the user's code does not read what is followed
        self.found: set[Code] = set()  # the code of functions that were met
        self.follow(function, getattr(function, "__name__", "it"))
        for value in arguments:
            self._argument(value)
        for code, globals_ in trace.ran.items():
            self._variables(code, globals_)
        self._unseen()
        for code, globals_ in trace.own.items():
            self._own_code(code, globals_)
        self._names_of_ours()
        self.bind()
        self.ids = set(self.seen)
        self.entries = [(where, key, _weak(value) if _dies(value) else value, name)
                        for where, key, value, name in sorted(self.entries, key=lambda e: type(e[1]) is Question)]
        self.seen, self.classes, self.trace = {}, {}, None  # type: ignore[assignment]  # they would keep objects alive

    def _argument(self, value: Any) -> None:
        """Follow an argument; of a tuple, list, dict or dataclass only the parts, which `structure` compares."""
        if (parts := parts_of(value)) is None:
            if not isinstance(value, Tensor):
                self.follow(value, "an argument")
            return
        self.follow(type(value), type(value).__name__)
        for _, part in parts:
            self._argument(part)

    # From one thing to the next ---------------------------------------------------------------------------------------

    def follow(self, value: Any, name: str) -> None:
        kind = type(value)
        if kind is str:
            self.words.add(value)
        if isinstance(value, VALUES) or id(value) in self.seen or value is None:
            if isinstance(value, VALUES) and kind not in PLAIN and not isinstance(value, np.generic | np.dtype | slice):
                self._refuse(value, name)  # a subclass, which may have attributes and methods of its own
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
        elif isinstance(value, types.ModuleType):
            self._module(value, name)
        elif isinstance(value, types.MethodType):
            self.follow(value.__func__, name)
            self.follow(value.__self__, name)
        elif isinstance(value, types.BuiltinFunctionType | types.MethodWrapperType):
            of = getattr(value, "__self__", None)
            if of is None or isinstance(of, types.ModuleType):
                if not pure(getattr(value, "__module__", None)):
                    self._refuse(value, name)
            else:
                self.follow(of, name)
        elif isinstance(value, partial):
            self.ask("length", vars(value), f"how many attributes {name} has")
            for part in ("func", "args", "keywords", *self.names & vars(value).keys()):
                self.at(value, part, getattr(value, part), f"{part} of {name}")
        elif isinstance(value, property | cached_property | staticmethod | classmethod | _lru_cache_wrapper):
            if isinstance(value, _lru_cache_wrapper) and owner_of(sys.modules.get(value.__module__)) != OURS:
                self.ask("lasts", Uncleared(value), f"the cache of {name}")
            for part in ("fget", "fset", "func", "__func__", "__wrapped__"):
                self.follow(getattr(value, part, None), name)
        elif isinstance(value, np.ndarray):
            self._array(value, name)
        elif isinstance(value, Enum):
            self.follow(kind, kind.__name__)
            self.ask("length", vars(value), f"how many attributes {name} has")
            for key in vars(value).keys() - {"__objclass__"}:  # `value` is the property of another name
                self.at(vars(value), key, vars(value)[key], f"{name}.{key}")
        elif not isinstance(value, _UNCHANGING) and kind.__module__ != "dataclasses":
            self._object(value, name)

    def _refuse(self, value: Any, name: str) -> None:
        kind = type(value)
        where = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        self.unknown = self.unknown or (
            f"{name} is a {where}{kind.__qualname__}, of which nobody knows when it changes; do outside what needs it, "
            "and pass what comes of it as an argument")

    def _object(self, value: Any, name: str) -> None:
        kind = type(value)
        owner = owner_of_class(kind)
        if owner == OURS:
            return self._own(value, name)
        builtin = next((k for k in kind.__mro__ if owner_of_class(k) == PYTHON and not _harmless(k)), None)
        if isinstance(value, tuple) and hasattr(kind, "_fields") and not hasattr(value, "__dict__"):
            self.follow(kind, kind.__name__)
            return self.follow(tuple(value), name)
        if not _open(kind) and (owner in (PYTHON, NUMPY) or builtin is not None) or hasattr(kind, "__next__") or any(
                [isinstance(vars(k).get("__getattribute__"), types.FunctionType) for k in kind.__mro__]):
            return self._refuse(value, name)
        if any([owner_of_class(k) == OURS for k in kind.__mro__]):
            self._own(value, name)
        else:
            self.entries.append((_weak(value), "__class__", kind, f"the class of {name}"))
            self._attributes(value, name, _open(kind) or self.computed)
        self.follow(kind, kind.__name__)

    def _attributes(self, value: Any, name: str, every: bool) -> None:
        """The attributes of an object that the code names; all of them if code computes names."""
        if (own := getattr(value, "__dict__", None)) is not None:
            self.entries.append((_weak(value), "__dict__", own, f"the attributes of {name}"))
            self.ask("parts" if every else "length", own, f"the attributes of {name}")
        for where, key, part in attributes_of(value):
            if every or key in self.names or where is own and getattr(type(value), "__getattr__", None):
                self.at(where, key, part, f"{name}.{key}")

    def _own(self, value: Any, name: str) -> None:
        """Follow all attributes of an object of one of this library's classes, or of a subclass."""
        kind = type(value)
        if hasattr(kind, "__next__"):
            return self._refuse(value, name)
        own = getattr(value, "__dict__", {})
        if "param_groups" in own and "_states" in own:
            return self._optimizer(value, name)
        if kind.__name__ == "capture":
            self._attributes(value, name, self.computed)
            return self.follow(value.function, name)
        self.entries.append((_weak(value), "__class__", kind, f"the class of {name}"))
        self.ask("length", own, f"how many attributes {name} has")
        for where, key, part in attributes_of(value):
            if where is own and key not in self.names and _counts(part) and (
                    id(own) in self.effects or kind.__module__.startswith("optim.")):
                continue  # state that an effect of the program updates, such as a scheduler's epoch
            self.at(where, key, part, f"{name}.{key}", known=key not in self.names)

    def _optimizer(self, optimizer: Any, name: str) -> None:
        """Its step reads the numbers of its groups in each call, so they matter only if user code names them."""
        of_user = owner_of_class(type(optimizer)) == USERS and "step" in vars(type(optimizer))
        own = vars(optimizer)
        self.optimizers[id(optimizer)] = optimizer
        for key, value in list(own.items()):
            if key not in ("param_groups", "_states", "_numbers") and (
                    key in self.names or type(value) not in (*_NUMBERS, str, dict)):
                self.at(own, key, value, f"{name}.{key}", known=True)
        self.ask("length", own, f"how many attributes {name} has")
        self.at(own, "param_groups", optimizer.param_groups, f"the groups of {name}", follow=False)
        self.ask("length", optimizer.param_groups, f"the groups of {name}")
        for i, group in enumerate(optimizer.param_groups):
            self.at(optimizer.param_groups, i, group, f"group {i} of {name}", follow=False)
            self.ask("length", group, f"how many options group {i} of {name} has")
            for key, value in list(group.items()):
                if type(value) in _NUMBERS and key not in self.names and not of_user:
                    if key != "lr":
                        self.ask(is_zero(key), group, f"group {i}.{key}")
                elif not (type(value) is tuple and key not in self.names):
                    self.at(group, key, value, f"group {i}.{key} of {name}", known=callable(value))
        states = own["_states"]
        if "state" in self.names:
            self.ask("length", states, f"how many states {name} has")
        self.at(own, "_states", states, f"the state of {name}", follow=False)
        for p, state in list(states.items()):
            if isinstance(state, dict):
                self.at(states, p, state, f"the state of {name}", follow=of_user)
                for key, value in list(state.items()):
                    self.at(state, key, value, f"{key} of {name}", known=isinstance(value, np.ndarray))
        if owner_of_class(type(optimizer)) == USERS:
            self.follow(type(optimizer), type(optimizer).__name__)

    def _tensor(self, t: Tensor, name: str) -> None:
        if owner_of_class(type(t)) != OURS:
            self._refuse(t, name)
        self.tensors.append(t)
        self.entries += [(t, "_data", t._data, f"the array of {name}"),
                         (t, "requires_grad", t.requires_grad, f"{name}.requires_grad"),
                         (t, "_hooks", t._hooks, f"the hooks of {name}"),
                         (t, "_after", t._after, f"the hooks of {name}")]
        for hooks in (t._hooks, t._after):
            self.follow(hooks, f"the hooks of {name}")
        for key, value in list(vars(t).items()):
            if key not in FIELDS:
                self.at(vars(t), key, value, f"{name}.{key}")
        named = self.trace.asked | self.pairs.get(name.rpartition(".")[2], set())
        self.entries += [(t, key, MISSING, f"{name}.{key}") for key in named if not hasattr(t, key)]
        if t.requires_grad or type(t) is not Tensor:  # a frozen parameter may keep a gradient
            self.entries.append((t, WITHOUT_GRADIENT, self.without.get(id(t), t._grad is None),
                                 "which Tensors have gradients"))

    def _array(self, x: np.ndarray, name: str) -> None:
        if self.inner:  # state of one of this library's objects, which ops and effects read and write
            return
        if type(x) is not np.ndarray and owner_of_class(type(x)) == USERS:
            self._refuse(x, name)
        elif x.nbytes > _BYTES or x.dtype.hasobject:
            self.unknown = self.unknown or (f"{name} is a large NumPy array, which it would take long to compare; make "
                                            "a Tensor of it outside")
        else:
            self.ask("result", partial(_looks, x), f"the array {name}")

    def _container(self, value: Any, name: str) -> None:
        kind = type(value)
        if len(value) > _LONG:
            self.unknown = self.unknown or f"{name} has {len(value):,} entries, which it would take long to compare"
            return
        if kind in (set, frozenset):
            self.ask("ids", value, name)
            for part in value:
                self.follow(part, f"a part of {name}")
        elif kind in _DICTS:
            self.ask("parts" if {*map(type, value)} <= {str} else "ids", value, f"the keys of {name}")
            for key, part in list(value.items()):
                self.follow(key, f"a key of {name}")
                self.at(value, key, part, f"{name}[{key!r}]")
            if isinstance(value, defaultdict):
                self.ask("result", partial(getattr, value, "default_factory"), name)
                self.follow(value.default_factory, name)
        else:
            if kind is not tuple:
                self.ask("length", value, f"the length of {name}")
            for key, part in enumerate(value):
                if kind is tuple:
                    self.follow(part, f"{name}[{key}]")
                else:
                    self.at(value, key, part, f"{name}[{key}]")

    # Code -------------------------------------------------------------------------------------------------------------

    def _function(self, function: types.FunctionType) -> None:
        self.follow(getattr(function, "__wrapped__", None), function.__name__)
        code, owner = function.__code__, owner_of_file(function.__code__.co_filename)
        self._attributes(function, function.__name__, self.computed and owner == USERS)
        for key in self.names & _OF_FUNCTIONS:
            self.at(function, key, getattr(function, key), f"{function.__name__}.{key}")
        for key in ("__defaults__", "__kwdefaults__"):
            if getattr(function, key):
                self.at(function, key, getattr(function, key), f"{key} of {function.__name__}",
                        follow=code in self.trace.ran)
        if code not in self.trace.ran:
            for cell in function.__closure__ or () if owner in (OURS, PYTHON) else ():  # as of a hook, or of functools
                if owner == PYTHON or callable(get(cell, None)):
                    self.follow(get(cell, None), function.__name__)
            return
        self.found.add(code)
        self.entries.append((function, "__code__", code, f"the code of {function.__name__}"))
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self.at(cell, None, get(cell, None), name)

    def _variables(self, code: Code, variables: dict[str, Any]) -> None:
        package = variables.get("__package__") or ""
        for name in names_in(code)[3]:
            for whole in (name, f"{package}.{name}"):
                self.at(sys.modules, whole, sys.modules.get(whole, MISSING), name)
        for name in names_in(code)[0]:
            if name in variables:
                self.at(variables, name, variables[name], name)
            else:
                self.entries.append((variables, name, MISSING, name))
                self.at(vars(builtins), name, vars(builtins).get(name, MISSING), name)

    def _unseen(self) -> None:
        """Refuse code that ran in an unknown function, since its variables are unknown."""
        known, todo = set[Code](), list(self.found)
        while todo:
            code = todo.pop()
            known.add(code)
            todo += [c for c in code.co_consts if isinstance(c, Code) and c not in known]
        for code in self.trace.ran.keys() - known:
            if code.co_freevars:
                self.unknown = self.unknown or (f"it calls {code.co_qualname}, a function that was made elsewhere and "
                                                "that no variable leads to; call it outside")

    def _class(self, of: type, name: str) -> None:
        if type(of) is not type and owner_of_class(type(of)) == USERS:
            self.follow(type(of), type(of).__name__)
        if isinstance(of, ABCMeta):
            self.ask("result", get_cache_token, "what is registered with abstract classes")
        for k in of.__mro__:
            if owner_of_class(k) != USERS or id(k) in self.seen and k is not of:
                continue
            self.seen[id(k)] = k
            self.entries.append((k, "__mro__", k.__mro__, f"the bases of {k.__name__}"))
            self.entries += [(k, key, getattr(k, key), key) for key in self.names & {"__name__", "__qualname__"}]
            own = self._vars(k)
            self.ask("length", own, f"how many attributes {k.__name__} has")
            for key, value in list(own.items()):
                named = key in self.names or self.computed and not key.startswith("__")
                if named or key[:2] == "__" and isinstance(value, types.FunctionType) or _ran(value, self.trace):
                    self.at(own, key, value, f"{k.__name__}.{key}")

    def _vars(self, of: Any) -> Any:
        """A class's attributes: one object for each class, where vars() makes a new one, so none is tested twice."""
        return self.classes.setdefault(of, vars(of))

    def _module(self, module: types.ModuleType, name: str) -> None:
        owner, own = owner_of(module), vars(module)
        if owner == USERS:
            self.entries.append((module, "__class__", type(module), f"the class of {name}"))
        attributes = self.pairs.get(name.rpartition(".")[2], set()) | self.trace.asked
        if owner == USERS:
            attributes = self.names | {"__getattr__"} | (own.keys() if self.computed else set())
        seconds = {second for seconds in self.pairs.values() for second in seconds} | self.trace.asked
        for key in attributes & (seconds | own.keys()):
            self.at(own, key, own.get(key, MISSING), f"{module.__name__}.{key}")

    def _own_code(self, code: Any, variables: dict[str, Any]) -> None:
        """Watch for replaced functions of layers, or functions that the user calls."""
        whole = code.co_qualname
        first, _, rest = whole.partition(".")
        of = variables.get(first)
        if isinstance(of, type) and getattr(vars(of).get(rest), "__code__", None) is code:
            self.entries.append((self._vars(of), rest, vars(of)[rest], whole))
        elif getattr(of, "__code__", None) is code:
            self.entries.append((variables, first, of, whole))
        for name, attribute in names_in(code)[2]:
            if isinstance(module := variables.get(name), types.ModuleType) and attribute in vars(module) and (
                    isinstance(vars(module)[attribute], types.FunctionType)):
                self.entries.append((vars(module), attribute, vars(module)[attribute], f"{name}.{attribute}"))

    def _names_of_ours(self) -> None:
        """Watch the names in classes of this library that code uses; by computed names, also those in modules."""
        words = self.words if self.computed else set[str]()
        owners: set[Any] = {k for value in self.seen.values() for k in type(value).__mro__ if owner_of_class(k) == OURS}
        owners |= {value for value in self.seen.values() if self.computed and isinstance(value, types.ModuleType)}
        for owner in owners | {Tensor}:
            own = self._vars(owner)
            if not (isinstance(owner, type) and issubclass(owner, Op)):  # an op's class gets code when it is needed
                self.ask("length", own, f"how many attributes {owner.__name__} has")
            for name in (self.names | words | _CALLED) & own.keys():  # whose methods may be replaced
                self.entries.append((own, name, own[name], f"{owner.__name__}.{name}"))

    # Places -----------------------------------------------------------------------------------------------------------

    def at(self, where: Any, key: Any, value: Any, name: str, known: bool = False, follow: bool = True) -> None:
        """The value in a place. known: whether the user's code does not read parts that cannot be followed."""
        if value is MISSING:
            self.entries.append((where, key, value, name))
        elif self.places and (id(where), key) in self.places:
            self.bound.append(self.places[id(where), key])
        else:
            self.entries.append((where, key, value, name))
            if follow:
                before, inner = self.unknown, self.inner
                self.inner = inner or known
                self.follow(value, name)
                self.inner, self.unknown = inner, before if known else self.unknown

    def bind(self) -> None:
        """Watch the places whose Tensors are also found elsewhere, or that have changed since."""
        others = {id(memory(x._data)) for t in self.tensors for x in (t, t.grad) if x is not None}
        others |= {id(memory(p._data)) for o in self.optimizers.values() for g in o.param_groups for p in g["params"]}
        for place in self.bound[:]:
            value = place.get()
            if not holds_only_tensors(value) or any([id(memory(t._data)) in others for t in tensors_in(value)]):
                self.bound = [other for other in self.bound if other is not place]  # places in lists compare Tensors
                self.entries.append((place.where, place.key, value, place.name))
                self.follow(value, place.name)


def _counts(value: Any) -> bool:
    """Whether a value is a number or numbers, or nothing."""
    return all(map(_counts, value)) if type(value) in (list, tuple) else isinstance(value, (*_NUMBERS, type(None)))


def _looks(x: np.ndarray) -> tuple:
    return x.tobytes(), x.shape, x.dtype, x.flags.writeable


def _weak(value: Any) -> Any:
    try:
        return weakref.ref(value)
    except TypeError:
        return value


def _dies(value: Any) -> bool:
    """Whether watching an object must not keep it alive, such as a head that was replaced."""
    return owner_of_class(type(value)) in (OURS, USERS) and value is not MISSING and (
        not isinstance(value, Tensor | type))


def _open(kind: type) -> bool:
    return f"{kind.__module__}.{kind.__qualname__}" in _OPEN


def _harmless(kind: type) -> bool:
    """Whether a Python class, as a base, adds nothing to an object."""
    return kind is object or _open(kind) or kind.__module__ in ("abc", "typing", "contextlib", "enum") or (
        not issubclass(kind, dict | list | tuple | set | frozenset | deque | BaseException) and kind.__module__ ==
        "collections.abc")


def _ran(value: Any, trace: Trace) -> bool:
    functions = [getattr(value, part, None) for part in ("fget", "fset", "__func__")] + [value]
    return any([getattr(f, "__code__", None) in trace.ran for f in functions])
