"""Tensors in what a function is given and in what it returns: alone, or in tuples, lists, dicts and dataclasses."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from types import MethodType
from typing import Any

import numpy as np

from ..core.graph import Node
from ..core.tensor import Tensor
from .numbers import Number
from .proxies import Growing, Mark

_PLAIN = frozenset((int, float, bool, str, type(None)))
_BY_VALUE = frozenset((bytes, complex, range, type(Ellipsis), Mark))
_DICTS = (dict, OrderedDict)


class Unsuited(TypeError):
    """An argument that a captured function cannot take."""


class Same:
    """An object, to tell whether another one is the very same; its id alone may be that of one that came after it."""

    __slots__ = ("at", "get")

    def __init__(self, value: Any):
        self.at = id(value)
        try:
            self.get: Callable[[], Any] = weakref.ref(value)
        except TypeError:
            self.get = lambda: value

    def __hash__(self) -> int:
        return self.at

    def __eq__(self, other: Any) -> bool:
        value = self.get()
        return type(other) is Same and value is not None and value is other.get()

    @staticmethod
    def of(key: Any) -> list[Same]:
        """Those in what `structure` gives."""
        return [key] if type(key) is Same else [same for part in key for same in Same.of(part)] if (
            type(key) is tuple) else []


def structure(value: Any, tensors: list | None = None, replace: Callable | None = None) -> Any:
    """What a value is made of besides Tensors, as something to compare by; or, with `replace`, the value with them
    replaced. The Tensors are added to `tensors`. Raises Unsuited for an array in place of a Tensor."""
    kind = type(value)
    if kind is Tensor or isinstance(value, Tensor):
        if replace is not None:
            return replace(value)
        if tensors is not None:
            tensors.append(value)
        array = value._data
        order = None if array.flags.c_contiguous else _order(array)
        return Tensor, array.shape, array.dtype, value.requires_grad, value._grad is None, value.node is None, order
    if kind is tuple or kind is list:
        parts = [structure(v, tensors, replace) for v in value]
        return kind(parts) if replace is not None else (kind, *parts)
    if kind in _PLAIN:
        return value if replace is not None else _plain(kind, value)
    if kind is Number:
        return value.again()
    if kind is Growing:
        return value.of
    if replace is None and tensors is not None and isinstance(value, np.ndarray):
        raise Unsuited("it is given a NumPy array, whose numbers it could not follow; make a Tensor of it outside")
    if isinstance(value, np.generic):
        return value if replace is not None else (kind, value.tobytes())
    if (named := parts_of(value)) is not None:
        if replace is not None:
            return _made(value, {name: structure(v, tensors, replace) for name, v in named})
        return kind, *[(_plain(type(name), name), structure(v, tensors)) for name, v in named]
    if replace is not None:
        return value
    if isinstance(value, MethodType):  # another object whenever it is asked for
        return kind, Same(value.__self__), Same(value.__func__)
    return (kind, value) if kind in _BY_VALUE else (kind, Same(value))


def _order(array: np.ndarray) -> tuple[int, ...] | None:
    """The axes as they lie in memory, on which it depends how sums are rounded; None if as those of C."""
    order = tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))
    return order if order != tuple(range(array.ndim)) else None


def _plain(kind: type, value: Any) -> Any:
    """Something that only the same value of the same type is equal to; not so True and 1, or 0.0 and -0.0."""
    return value if kind is str else (kind, repr(value)) if kind is float else (kind, value)


def parts_of(value: Any) -> list[tuple[Any, Any]] | None:
    """The parts of a tuple, list, dict, named tuple or dataclass, with their places or names; None for all else."""
    kind = type(value)
    if kind is tuple or kind is list:
        return list(enumerate(value))
    if kind in _DICTS:
        return list(value.items())
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return list(zip(kind._fields, value, strict=True))
    if is_dataclass(kind):
        names = [*[f.name for f in fields(value) if hasattr(value, f.name)], *getattr(value, "__dict__", ())]
        return [(name, getattr(value, name)) for name in dict.fromkeys(names)]
    return None


def _made(value: Any, parts: dict) -> Any:
    """A value like this one, of other parts."""
    kind = type(value)
    if kind in _DICTS:
        return kind(parts)
    if isinstance(value, tuple):
        return kind(*parts.values())
    new: Any = object.__new__(kind)  # without __init__, which may take other things and do others
    for name in getattr(value, "__dict__", ()):
        object.__setattr__(new, name, value.__dict__[name])
    for name, part in parts.items():
        object.__setattr__(new, name, part)
    return new


def alike(tensors: list[Tensor]) -> list[int]:
    """Which Tensors are the same as others, if there are any."""
    ids = [*map(id, tensors)]
    return [] if len(ids) == len(set(ids)) else [ids.index(i) for i in ids]


def overlap(tensors: list[Tensor]) -> list[Tensor]:
    """Those of some Tensors that lie in memory in which others lie too."""
    found = [(a, b) for i, a in enumerate(tensors) for b in tensors[:i]
             if a is not b and np.may_share_memory(a._data, b._data) and _shared(a._data, b._data)]
    return [t for pair in found for t in pair]


def _shared(a: np.ndarray, b: np.ndarray) -> bool:
    try:
        return np.shares_memory(a, b, max_work=10_000)  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def holds_only_tensors(value: Any) -> bool:
    """Whether there are Tensors in a value, without hooks or a graph to walk, and nothing else but numbers and such."""
    if type(value) is Tensor:
        return not value._hooks and (value.node is None or not alive(value.node))
    parts = [part for _, part in parts_of(value) or () if type(part) not in _PLAIN]
    return bool(parts) and all(map(holds_only_tensors, parts))


def alive(root: Node) -> bool:
    """Whether a backward from a node would still run: no node on its way is freed."""
    seen, stack = {root}, [root]
    while stack:
        parents = stack.pop().parents
        if parents is None:
            return False
        new = [p for p in parents if isinstance(p, Node) and p not in seen]
        seen.update(new)
        stack += new
    return True


class Gradients:
    """Which gradients Tensors have, none of which it keeps, to see later who got another one."""

    def __init__(self, tensors: Iterable[Tensor]):
        self.found = [(t, None if t.grad is None else weakref.ref(t.grad)) for t in tensors]

    def changed(self) -> dict[int, Tensor]:
        """The Tensors that have another one, or none any more."""
        return {id(t): t for t, ref in self.found if (ref and ref()) is not t.grad or ref and ref() is None}


def tensors_in(value: Any) -> list[Tensor]:
    """The Tensors that a value is made of."""
    found: list[Tensor] = []
    structure(value, replace=lambda t: found.append(t) or t)  # type: ignore[func-returns-value]
    return found


def closed(value: Any) -> Iterator[tuple[Any, Tensor]]:
    """Objects that `structure` does not look into, with Tensors that they hold."""
    if isinstance(value, Tensor) or type(value) in _PLAIN:
        return
    if (parts := parts_of(value)) is not None:
        for _, part in parts:
            yield from closed(part)
        return
    held = [*getattr(value, "__dict__", {}).values(), *(value.values() if isinstance(value, dict) else
                                                        value if isinstance(value, tuple | list | set) else ())]
    yield from ((value, t) for t in held if isinstance(t, Tensor))
