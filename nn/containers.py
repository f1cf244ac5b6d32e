"""Modules that hold modules: in sequence, in a list, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, Self

from tinygrad_like.core.tensor import Tensor

from .activation import ReLU
from .module import Module, Parameter, described
from .state import locate


class _List(Module):
    """Ordered modules or parameters, named "0", "1", ... or by a mapping's keys."""

    holds: type = Module

    def __init__(self, values: Iterable[Any] | Mapping[str, Any] = ()):
        named = values.items() if isinstance(values, Mapping) else ((str(i), m) for i, m in enumerate(values))
        for name, value in named:
            self._add(name, value)

    def _add(self, name: str, value: Any) -> None:
        self._check_name(type(self).__name__, name)
        setattr(self, name, self._entry(name, value))

    def _entry(self, name: Any, value: Any) -> Any:
        """The value to store. Raises TypeError for a wrong type."""
        if not isinstance(value, Module):
            raise TypeError(f"{type(self).__name__}: layer {name} must be an nn.Module, got {described(value)}")
        return value

    def _items(self) -> list[tuple[str, Any]]:
        return [(name, value) for name, value in vars(self).items() if isinstance(value, self.holds)]

    def _name(self, index: Any) -> str:
        names = [name for name, _ in self._items()]
        try:
            return names[index]
        except IndexError:
            raise IndexError(f"{type(self).__name__}: index {index} is out of range for {len(names)} entries") from None

    def _plain(self) -> Any:
        """The container class for parts of this list, not a subclass with its own arguments."""
        return next(kind for kind in (Sequential, ParameterList, ModuleList) if isinstance(self, kind))

    def __getitem__(self, index: Any) -> Any:
        """One entry, or for a slice a container of entries, which keep their names."""
        if isinstance(index, slice):
            return self._plain()(dict(self._items()[index]))
        return self.__dict__[self._name(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        setattr(self, self._name(index), self._entry(index, value))

    def __delitem__(self, index: int | slice) -> None:
        entries = self._items()
        del entries[index]
        self._replace(entries)

    def __len__(self) -> int:
        return len(self._items())

    def __iter__(self) -> Iterator[Any]:
        return (value for _, value in self._items())

    __contains__, pop = Sequence.__contains__, MutableSequence.pop

    def append(self, value: Any) -> Self:
        """Add an entry at the end; returns the container."""
        self._add(str(len(self)), value)
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several entries at the end; returns the container."""
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend

    def __add__(self, other: Iterable[Any]) -> _List:
        """A container of the entries of both, renumbered."""
        return self._plain()().extend([*self, *other])

    def insert(self, index: int, value: Any) -> Self:
        """Insert an entry before the one at `index` and renumber; returns the container."""
        entries = self._items()
        entries.insert(index, (str(len(entries)), self._entry(index, value)))
        self._replace(entries)
        return self

    def _replace(self, entries: list[tuple[str, Any]]) -> None:
        """Replace all entries; renumber them if all names are numbers."""
        numbered = all(name.isdigit() for name, _ in entries)
        for name, _ in self._items():
            delattr(self, name)
        for i, (name, value) in enumerate(entries):
            self._add(str(i) if numbered else name, value)


class Sequential(_List):
    """Modules applied one after the other: `Sequential(f, g)(x)` is g(f(x)).

    Takes the modules, or one mapping that names them: `Sequential({"hidden": nn.Linear(4, 8), "act": nn.ReLU()})`.
    """

    def __init__(self, *modules: Any):
        super().__init__(modules[0] if len(modules) == 1 and isinstance(modules[0], Mapping) else modules)

    def forward(self, x: Any) -> Tensor:
        # The attributes that are Modules are the layers, see module.py.
        return applied([layer for layer in self.__dict__.values() if isinstance(layer, Module)], x)


class ModuleList(_List):
    """A list of modules that, unlike a Python list, registers its modules' parameters. It cannot be called."""


class ModuleDict(Module):
    """A dict of modules that, unlike a Python dict, registers its modules' parameters. It cannot be called."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] = ()):
        self.update(modules)

    def __getitem__(self, name: str) -> Module:
        module = self.__dict__.get(name)
        if not isinstance(module, Module):
            raise KeyError(name)
        return module

    def __setitem__(self, name: str, module: Module) -> None:
        if name in self and isinstance(module, Module):
            setattr(self, name, module)
        else:
            self.register_module(name, module)

    def __delitem__(self, name: str) -> None:
        self[name]
        delattr(self, name)

    def __len__(self) -> int:
        return len(dict(self._children()))

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._children()))

    def clear(self) -> None:
        """Remove all modules."""
        for name in list(self):
            del self[name]

    update, pop = MutableMapping.update, MutableMapping.pop
    keys, values, items, __contains__ = Mapping.keys, Mapping.values, Mapping.items, Mapping.__contains__


class ParameterList(_List):
    """A list that, unlike a Python list, registers its parameters. Tensors and arrays become Parameters."""

    holds = Tensor  # `functional_call` replaces parameters by Tensors

    def _entry(self, name: Any, value: Any) -> Any:
        return value if isinstance(value, Parameter) else Parameter(value)


# A BatchNorm and the ReLU after it run as one op, which saves a pass over memory ---------

# The original methods, to detect replaced ones.
_relu, _call = ReLU.forward, Module.__call__

with_relu: dict[type[Module], Callable] = {}  # layer type -> f(layer, x), relu(layer(x)) as one op


def applied(layers: list[Module], x: Any) -> Any:
    """Apply the layers one after the other."""
    i, end = 0, len(layers)
    try:
        while i < end:
            layer = layers[i]
            if type(layer) in with_relu and i + 1 < end and fuses(layer, layers[i + 1]):
                x, i = with_relu[type(layer)](layer, x), i + 2
            else:
                x, i = layer(x), i + 1
    except Exception as error:
        locate(error, layer, [x])
        raise
    return x


def fuses(layer: Module, activation: Module) -> bool:
    """Whether the two may run as one op: a type in `with_relu` and a ReLU, not subclasses, both plain."""
    return (type(layer) in with_relu and type(activation) is ReLU and ReLU.forward is _relu and _plain(layer)
            and _plain(activation))


def _plain(layer: Module) -> bool:
    """Whether calling the layer only runs its type's forward: it has no hooks and no forward of its own.

    The functions in `with_relu` check whether somebody replaced the type's forward.
    """
    return layer._hooks is None and "forward" not in layer.__dict__ and Module.__call__ is _call


def activated(layer: Module, activation: Module, x: Tensor) -> Tensor:
    """activation(layer(x)), as one op where `fuses` allows it."""
    return with_relu[type(layer)](layer, x) if fuses(layer, activation) else activation(layer(x))
