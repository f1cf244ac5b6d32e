"""What Python may look at when it calls a function: found by going from one thing to the next."""

from __future__ import annotations

import array
import ctypes
import random
import sys
import threading
import types
import weakref
from argparse import Namespace
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..dtypes import memory
from ..random import Generator
from .bindings import MISSING, GrowingPlace, Place, can_be_bound, get
from .numbers import asks_for_numbers
from .proxies import NUMBERS, Lifted
from .pytree import overlap, parts_of, tensors_in
from .user_code import has, names_in, ours, slots

_LONG = 1000  # entries of a list or dict that are too many to look at
_FEW, _SMALL = 256, 2**16  # bytes of a NumPy array that is looked at before each call; after a recording
_DRAWS = frozenset("random randint randrange uniform choice choices shuffle sample gauss rand randn permutation beta "
                   "normal normalvariate standard_normal".split())
_OPEN = (types.SimpleNamespace, Namespace, UserDict, UserList, ChainMap,  # whose attributes a program makes up
         weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet, threading.Event)
_BYTES = bytearray, array.array, memoryview, ctypes.Array, ctypes._SimpleCData  # what `bytes` tells of what is in them
FIELDS = frozenset("_data _grad node requires_grad version _viewed _apart _hooks _after".split())
VALUES = (int, float, bool, str, bytes, type(None), np.generic, np.dtype)
FLAGS = (bool, str, type(None))  # what a function may leave otherwise, as it would again: `model.train()`
MAKING = frozenset(("__init__", "__new__", "__post_init__"))  # of classes, which an object's other methods do not call
GENERATORS = np.random.Generator, np.random.RandomState, random.Random


def state_of(generator: Any) -> Any:
    if isinstance(generator, random.Random):
        return generator.getstate()
    state = generator.get_state() if isinstance(generator, np.random.RandomState) else generator.bit_generator.state
    return str(state)


def plain(values: dict, but: Collection = ()) -> dict:
    return {k: v for k, v in values.items() if isinstance(v, VALUES) and k not in but}


def rates(group: dict) -> list:
    rates = [group.get(k) for k in ("lr", "momentum", "betas")]
    return [tuple(x) if isinstance(x, list) else x for x in rates]  # which may be changed in place


def position(iterator: Any) -> Any:
    """Something that changes when the iterator gives its next."""
    if hasattr(iterator, "__length_hint__"):
        return iterator.__length_hint__()
    if isinstance(iterator, types.GeneratorType):
        frame = iterator.gi_frame
        return frame and (frame.f_lasti, plain(frame.f_locals))
    try:
        return repr(iterator.__reduce__())
    except TypeError:
        return None


class Followed:
    """The values of all variables that a function and its arguments lead to, to see later whether one has changed.

    They are followed through closures, globals that the code names, functions, classes and files of the user's, modules
    (`nn.Module`), objects of the user's classes, lists, dicts and optimizers. Of a Tensor it is watched which one it
    is, which array it has, whether it requires grad, and its hooks.

    places: where Tensors may be others in each call, by ids and keys; of those it meets, it keeps the `bound` ones.
    """

    def __init__(self, function: Any, arguments: Any, places: dict[tuple, Place] | None = None):
        self.places, self.bound = places or {}, []  # type: tuple[dict[tuple, Place], list[Place]]
        self.entries: list[tuple[Any, Any, Any, str]] = []  # where, under which key, the value, its name
        self.tensors: list[tuple[Tensor, np.ndarray, str]] = []
        self.gradients: list[tuple[Tensor, bool]] = []
        self.trained: set[int] = set()  # the memory of what optimizers change
        self.options_of: dict[int, dict] = {}  # groups of optimizers, by their ids
        self.lifted: list = []
        self.lengths: list[tuple[Any, int, str]] = []
        self.sets: list[tuple[set, frozenset, str]] = []  # and the ids of what is in them
        self.contents: list[tuple[Callable[[], bytes], bytes, str]] = []
        # What the function must not change, while others may: something that tells it, what it told, whose, its name.
        self.own: list[tuple[Callable[[], Any], Any, Any, str]] = []
        self.names: set[str] = set()  # that followed code uses
        self.classes: dict[type, bool] = {}  # of the user's, with these names; whether code may make objects of them
        self.files: list[types.ModuleType] = []
        self.options: list[tuple[dict, str, bool, str]] = []  # of optimizers: whether one is 0
        self.seen: set[Any] = set()
        self.exact = False  # whether code would tell what follows a number from a number
        self._follow(function, getattr(function, "__name__", "it"))
        args, options = arguments
        self.given = set(map(id, tensors_in(arguments)))
        for value in (*args, *options.values()):
            self._argument(value)
        while self._of_names():  # a method may name others
            pass
        self._not_bound()
        if self.names & _DRAWS:
            self._keep(random.getstate, None, "the state of the generator of Python's random")
            self._keep(lambda: str(np.random.get_state()), None, "the state of the generator of np.random")

    def _follow(self, value: Any, name: str) -> None:
        if isinstance(value, VALUES) or id(value) in self.seen:
            return
        self.seen.add(id(value))
        if isinstance(value, Tensor):
            self._tensor(value, name)
        elif isinstance(value, np.ndarray):
            if value.nbytes <= _FEW:
                self.contents.append((value.tobytes, value.tobytes(), name))
            elif value.nbytes <= _SMALL:
                self._keep(value.tobytes, value, f"the array {name}")
        elif isinstance(value, type):
            if not ours(sys.modules.get(value.__module__)):
                self.classes[value] = True
        elif isinstance(value, types.MethodType | types.BuiltinMethodType | types.MethodWrapperType):
            self._follow(getattr(value, "__func__", None), name)
            self._follow(value.__self__, name)
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, dict | list | tuple | set | frozenset | deque | types.MappingProxyType):
            self._container(value, name)
            if not ours(sys.modules.get(type(value).__module__)) and hasattr(value, "__dict__"):
                self._attributes(value.__dict__, name, value.__dict__)
        elif isinstance(value, Generator):
            pass  # whose state is memory that draws read and change
        elif isinstance(value, GENERATORS):
            self._keep(partial(state_of, value), value, f"the state of the generator {name}")
        elif has(value, "param_groups") and has(value, "state"):
            self._optimizer(value, name)
        elif isinstance(value, Lifted):
            self.lifted = value.numbers
            self.lengths.append((value.numbers, len(value.numbers), "the numbers that it is given"))
            for i, number in enumerate(value.numbers):
                self._at(value.numbers, i, number, f"number {i + 1} that it is given")
            self._follow(value.function, name)
        elif has(value, "__next__"):
            self._keep(partial(position, value), value, f"the place in {name}")
        elif has(value, "__wrapped__") and callable(value):
            self._follow(value.__wrapped__, name)
        elif isinstance(value, partial):
            self._follow((value.func, value.args, value.keywords), name)
        elif isinstance(value, property | staticmethod | classmethod):
            for part in (getattr(value, n, None) for n in ("fget", "__func__")):
                self._follow(part, name)
        elif isinstance(value, types.ModuleType):
            if not ours(value):
                self.files.append(value)
        elif isinstance(value, weakref.ref):
            self._follow(value(), name)
        elif isinstance(value, _BYTES):
            if len(told := bytes(value)) <= _FEW:
                self.contents.append((partial(bytes, value), told, name))
        elif has(value, "get_obj"):  # as multiprocessing's Value has, and Array
            self._follow(value.get_obj(), name)
        else:
            self._object(value, name)

    def _argument(self, value: Any) -> None:
        """Follow an argument; of a tuple, list, dict or dataclass only the parts, which `structure` compares."""
        if (parts := parts_of(value)) is None:
            if not isinstance(value, Tensor):
                self._follow(value, "an argument")
            return
        self._follow(type(value), type(value).__name__)
        for _, part in parts:
            self._argument(part)

    def _object(self, value: Any, name: str) -> None:
        theirs = not ours(sys.modules.get(type(value).__module__))
        if theirs or has(value, "named_parameters") or isinstance(value, (*_OPEN, threading.local)):
            if isinstance(value, threading.local):  # whose attributes are others in each thread
                for key in vars(value):
                    self._entry(value, key, f"{name}.{key}")
            elif hasattr(value, "__dict__"):
                self.lengths.append((value.__dict__, len(value.__dict__), f"the attributes of {name}"))
                self._attributes(value.__dict__, name, value.__dict__)
            if has(value, "_hooks") and hasattr(hooks := value._hooks, "__dict__"):
                self._attributes(vars(hooks), f"the hooks of {name}", vars(hooks))
        if theirs:
            self.classes.setdefault(type(value), False)
            for slot in [s for k in type(value).__mro__ for s in slots(k)]:
                self._entry(value, slot, f"{name}.{slot}")

    def _tensor(self, t: Tensor, name: str) -> None:
        self.tensors.append((t, t._data, name))
        self.entries += [(t, "requires_grad", t.requires_grad, f"{name}.requires_grad"),
                         (t, "_hooks", t._hooks, f"the hooks of {name}"),
                         (t, "_after", t._after, f"the hooks of {name}")]
        self._follow(t._hooks, f"the hooks of {name}")
        self._follow(t._after, f"the hooks of {name}")
        self._attributes({k: v for k, v in vars(t).items() if k not in FIELDS}, name, vars(t))
        if t.requires_grad:
            self.gradients.append((t, t.grad is None))

    def _optimizer(self, optimizer: Any, name: str) -> None:
        groups, states = optimizer.param_groups, "_states" if hasattr(optimizer, "_states") else "state"
        state = getattr(optimizer, states)
        itself = getattr(optimizer, "_steps_itself", True)
        self.trained.update(id(memory(p._data)) for group in groups for p in group["params"])
        self.entries.append((optimizer, states, state, f"the state of {name}"))
        self.lengths.append((groups, len(groups), f"the groups of {name}"))
        self.options_of.update({id(group): group for group in groups})
        for i, group in enumerate(groups):
            self.lengths.append((group["params"], len(group["params"]), f"the parameters of group {i}"))
            options = {k: v for k, v in group.items() if k not in ("lr", "initial_lr", "params", "betas")}
            self.options += [(group, k, v == 0, f"group {i}.{k}") for k, v in options.items() if isinstance(v, float)]
            apart = NUMBERS if itself else (float, np.float64)  # where who reads them follows them, see `Places.option`
            self._attributes({k: v for k, v in options.items() if type(v) not in apart}, f"group {i}", group)
            self._keep(partial(rates, group), group, f"the learning rate of {name}")
        for p, of in list(state.items()) if isinstance(state, dict) else ():
            if of:
                self.entries.append((state, p, of, f"the state of {name}"))
            if isinstance(of, dict) and not itself:
                self.entries += [(of, k, v, f"{k} of {name}") for k, v in of.items() if isinstance(v, np.ndarray)]
            elif isinstance(of, dict):
                numbers = {k: v for k, v in of.items() if type(v) in NUMBERS}
                self._keep(partial(plain, of, numbers), of, f"the state of {name}")
                tensors = {k: v for k, v in of.items() if isinstance(v, Tensor)}
                self._attributes({**tensors, **numbers}, f"the state of {name}", of)
        if not ours(sys.modules.get(type(optimizer).__module__)):
            own = {k: v for k, v in vars(optimizer).items() if k not in ("steps", "param_groups", states, "defaults")}
            self._attributes(own, name, vars(optimizer))
            self._follow(type(optimizer), type(optimizer).__name__)

    def _attributes(self, values: dict, name: str, where: dict) -> None:
        for key, value in list(values.items()):
            self._at(where, key, value, f"{name}.{key}")

    def _container(self, value: Any, name: str) -> None:
        self.lengths.append((value, len(value), name))
        if isinstance(value, set | frozenset):
            if isinstance(value, set):
                self.sets.append((value, frozenset(map(id, value)), name))
            for part in value:
                self._follow(part, f"a part of {name}")
            return
        if len(value) > _LONG:
            if isinstance(value, list):
                self._keep(lambda: [id(x) for x in value], value, name)
            return
        for key, part in list(enumerate(value) if isinstance(value, list | tuple | deque) else value.items()):
            self._follow(key, f"a key of {name}")
            if isinstance(value, tuple):
                self._follow(part, f"{name}[{key!r}]")
            else:
                self._at(value, key, part, f"{name}[{key!r}]")

    def _function(self, function: types.FunctionType) -> None:
        if hasattr(function, "__wrapped__"):
            self._follow(function.__wrapped__, function.__name__)
        if ours(function):
            for cell in function.__closure__ or ():  # it may have been given one of the user's, as register_hook is
                if callable(given := get(cell, None)):
                    self._follow(given, getattr(given, "__name__", "a function"))
            return
        names = names_in(function.__code__)
        self._entry(function, "__code__", f"the code of {function.__name__}")  # which a notebook may load anew
        self.names |= names
        self.exact = self.exact or asks_for_numbers(function.__code__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self._entry(cell, None, name)
        for name in names & function.__globals__.keys():
            self._entry(function.__globals__, name, name)
        package = (function.__module__ or "").rpartition(".")[0]
        for name in names:  # imported within the function
            self._follow(sys.modules.get(name) or sys.modules.get(f"{package}.{name}"), name)
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(function, name):
                self._entry(function, name, f"{name} of {function.__name__}")
        self._attributes({k: v for k, v in vars(function).items() if k in names}, function.__name__, vars(function))

    def _of_names(self) -> bool:
        """Follow what the user's classes and files have under names that code uses; whether there was something new."""
        before = len(self.entries)
        for file in list(self.files):
            for name in self.names & vars(file).keys():
                if (id(file), name) not in self.seen:
                    self.seen.add((id(file), name))
                    self._entry(vars(file), name, f"{file.__name__}.{name}")
        for given, made in list(self.classes.items()):
            for of in given.__mro__:
                for name, value in [] if ours(sys.modules.get(of.__module__)) else list(vars(of).items()):
                    called = isinstance(value, types.FunctionType | staticmethod | classmethod) and (
                        name in ("forward", "backward", "step") or name[:2] == "__" and (made or name not in MAKING))
                    if (called or name in self.names) and (id(given), name) not in self.seen:
                        self.seen.add((id(given), name))
                        bound = isinstance(value, classmethod)  # to the class, anew each time
                        self._entry(vars(of) if bound else given, name, f"{given.__name__}.{name}")
                        self._follow(value, name)  # also the functions of a property
        return len(self.entries) > before

    def _entry(self, where: Any, key: Any, name: str) -> None:
        if (value := get(where, key)) is not MISSING:
            self._at(where, key, value, name)

    def _not_bound(self) -> None:
        """Watch the places whose Tensors are found elsewhere too, or that hold something else by now."""
        others = {id(memory(array)) for _, array, _ in self.tensors} | self.trained
        others |= {id(memory(t.grad._data)) for t, _, _ in self.tensors if t.grad is not None}
        shown = {id(t): t for place in self.bound for t in tensors_in(get(place.where, place.key))}
        if overlap([*shown.values()]):  # one is a view of another, and a copy of each would be none
            others.update(id(memory(t._data)) for t in shown.values())
        for place in self.bound[:]:
            value, grows = get(place.where, place.key), type(place) is GrowingPlace
            if type(value) is not list or id(value) in self.seen if grows else (
                    not can_be_bound(place.where, value) or any(
                        id(memory(t._data)) in others for t in tensors_in(value))):
                self.bound = [other for other in self.bound if other is not place]  # places in lists compare Tensors
                self.entries.append((place.where, place.key, value, place.name))
                self._follow(value, place.name)

    def _at(self, where: Any, key: Any, value: Any, name: str) -> None:
        if self.places and (id(where), key) in self.places:
            self.bound.append(self.places[id(where), key])
            return
        self.entries.append((where, key, value, name))
        self._follow(value, name)

    def _keep(self, tell: Callable[[], Any], whose: Any, name: str) -> None:
        self.own.append((tell, tell(), whose, name))
