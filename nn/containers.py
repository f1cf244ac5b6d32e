"""Modules that hold modules: in sequence, in a list, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

from tinygrad_like.core.tensor import Tensor

from .activation import ReLU
from .module import Module, Parameter, described
from .state import locate


class _List(Module):
    """Modules in order, named "0", "1", ... or as a mapping names them."""

    def __init__(self, modules: Iterable[Module] | Mapping[str, Module] = ()):
        named = modules.items() if isinstance(modules, Mapping) else ((str(i), m) for i, m in enumerate(modules))
        for name, module in named:
            self._add(name, module)

    def _add(self, name: str, module: Module) -> None:
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__}: layer {name} must be an nn.Module, got {described(module)}")
        self.register_module(name, module)

    def _name(self, index: Any) -> str:
        names = [name for name, _ in self._children()]
        try:
            return names[index]
        except IndexError:
            raise IndexError(f"{type(self).__name__}: index {index} is out of range for {len(names)} modules") from None

    def __getitem__(self, index: Any) -> Any:
        """One module, or for a slice a container of its modules, which keep their names."""
        if isinstance(index, slice):
            return (Sequential if isinstance(self, Sequential) else ModuleList)(dict(list(self._children())[index]))
        return self.__dict__[self._name(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        modules = list(self._children())
        del modules[index]
        self._replace(modules)

    def __len__(self) -> int:
        return sum(1 for _ in self._children())

    def __iter__(self) -> Iterator[Module]:
        return (module for _, module in self._children())

    __contains__, pop = Sequence.__contains__, MutableSequence.pop

    def append(self, module: Module) -> _List:
        """Add a module at the end; returns the container."""
        self._add(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> _List:
        """Add several modules at the end; returns the container."""
        for module in list(modules):
            self.append(module)
        return self

    __iadd__ = extend

    def __add__(self, other: Iterable[Module]) -> _List:
        """A container of the modules of both, under new numbers."""
        return (Sequential if isinstance(self, Sequential) else ModuleList)().extend([*self, *other])

    def insert(self, index: int, module: Module) -> _List:
        """Add a module before the one at `index`, and renumber all; returns the container."""
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__}: layer {index} must be an nn.Module, got {described(module)}")
        modules = list(self._children())
        modules.insert(index, (str(len(modules)), module))
        self._replace(modules)
        return self

    def _replace(self, modules: list[tuple[str, Module]]) -> None:
        """Hold `modules` instead; if their names are all numbers, renumber them."""
        numbered = all(name.isdigit() for name, _ in modules)
        for name in [name for name, _ in self._children()]:
            delattr(self, name)
        for i, (name, module) in enumerate(modules):
            self._add(str(i) if numbered else name, module)


class Sequential(_List):
    """Modules applied one after the other: `Sequential(f, g)(x)` is g(f(x)).

    Takes the modules, or one mapping that names them: `Sequential({"hidden": nn.Linear(4, 8), "act": nn.ReLU()})`.
    """

    def __init__(self, *modules: Any):
        super().__init__(modules[0] if len(modules) == 1 and isinstance(modules[0], Mapping) else modules)

    def forward(self, x: Any) -> Tensor:
        # The attributes are the layers, see module.py.
        return applied([layer for layer in self.__dict__.values() if isinstance(layer, Module)], x)


class ModuleList(_List):
    """A list of modules whose parameters are found, unlike those in a Python list. It cannot be called."""


class ModuleDict(Module):
    """Modules by name whose parameters are found, unlike those in a Python dict. It cannot be called."""

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


class ParameterList(Module):
    """A list of parameters that are found, unlike those in a Python list. Tensors and arrays become Parameters."""

    def __init__(self, values: Iterable[Any] = ()):
        self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Add a parameter at the end; returns the list."""
        self._set(len(self), value)
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Add several parameters at the end; returns the list."""
        for value in values:
            self.append(value)
        return self

    __iadd__ = extend

    def _set(self, index: int, value: Any) -> None:
        setattr(self, str(index), value if isinstance(value, Parameter) else Parameter(value))

    def __getitem__(self, index: Any) -> Any:
        found = list(self)[index]
        return ParameterList(found) if isinstance(index, slice) else found

    def __setitem__(self, index: int, value: Any) -> None:
        self._set(range(len(self))[index], value)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Any]:  # also of Tensors that `functional_call` has put in their places
        return iter([x for name, x in vars(self).items() if isinstance(x, Tensor) and name not in self._buffers])


# A BatchNorm and the ReLU after it run as one op, which saves writing and reading the values between ---------

# The original methods, to notice when somebody replaces them.
_relu, _call = ReLU.forward, Module.__call__

with_relu: dict[type[Module], Callable] = {}  # type of layer -> f(layer, x), which computes relu(layer(x)) as one op


def applied(layers: list[Module], x: Any) -> Any:
    """The layers one after the other."""
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
    """Whether the two may run as one op: a type of `with_relu` and a ReLU, not subclasses, both plain."""
    return (type(layer) in with_relu and type(activation) is ReLU and ReLU.forward is _relu and _plain(layer)
            and _plain(activation))


def _plain(layer: Module) -> bool:
    """Whether calling the layer only runs its type's forward: no hook watches, and it has no forward of its own.

    The functions in `with_relu` check whether somebody replaced the type's forward.
    """
    return layer._hooks is None and "forward" not in layer.__dict__ and Module.__call__ is _call


def activated(layer: Module, activation: Module, x: Tensor) -> Tensor:
    """activation(layer(x)), as one op where `fuses` allows it."""
    return with_relu[type(layer)](layer, x) if fuses(layer, activation) else activation(layer(x))
