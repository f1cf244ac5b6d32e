"""The Tensors in the arguments and results of a function: alone, or in tuples, lists, dicts and dataclasses."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence, Set
from dataclasses import fields, is_dataclass
from types import MemberDescriptorType, MethodType
from typing import Any

import numpy as np

from ..core.graph import Node
from ..core.tensor import Tensor
from .instructions import Refused
from .trace import OURS, owner_of_class

PLAIN = frozenset((int, float, bool, str, type(None), bytes, complex, range, type(Ellipsis)))
FIELDS = frozenset("_data _grad node requires_grad version _viewed _apart _hooks _after".split())
_DICTS = (dict, OrderedDict)


class Same:
    """An object, for comparison by identity; its id alone may be that of a later object."""

    __slots__ = ("at", "get")

    def __init__(self, value: Any):
        self.at = id(value)
        self.get: Callable[[], Any] = weakref.ref(value) if type(value).__weakrefoffset__ else lambda: value

    def __hash__(self) -> int:
        return self.at

    def __eq__(self, other: Any) -> bool:
        value = self.get()
        return type(other) is Same and value is other.get() and (value is not None or self.at == id(None))


def gone(key: Any) -> bool:
    """Whether an object in a result of `structure` is gone."""
    return key.get() is None if type(key) is Same else type(key) is tuple and any(map(gone, key))


def structure(value: Any, found: list) -> Any:
    """The parts of a value, for comparison. Those that are Tensors, tuples, lists and the like are added to `found`.
    Raises Refused for an array in place of a Tensor, and for a Tensor that is more than its numbers."""
    kind = type(value)
    if isinstance(value, Tensor):
        found.append(value)
        array = value._data
        if value.node is not None and alive(value.node):
            raise Refused("an argument has a graph, through which backward would leave the function; pass its "
                          "detach(), or capture what computes it too")
        if value._hooks or len(value.__dict__) > 1 and not value.__dict__.keys() <= FIELDS or (
                kind is not Tensor and owner_of_class(kind) != OURS):
            raise Refused("an argument has hooks or attributes, or is of a subclass of Tensor; pass its detach()")
        return (kind, array.shape, array.dtype, value.requires_grad, value._grad is None, value.node is None,
                array.flags.writeable, None if array.flags.c_contiguous else array.strides)  # which sums round by
    if kind is tuple or kind is list:
        found.append(value)
        return kind, *[structure(v, found) for v in value]
    if kind in PLAIN:
        return _plain(kind, value)
    if isinstance(value, np.ndarray):
        raise Refused("an argument is a NumPy array; make a Tensor of it outside")
    if isinstance(value, np.generic):
        return value.dtype, value.tobytes()
    if (named := parts_of(value)) is not None:
        found.append(value)
        return kind, *[(_plain(type(name), name), structure(v, found)) for name, v in named]
    if isinstance(value, MethodType):  # a new object each time
        return kind, Same(value.__self__), Same(value.__func__)
    return kind, Same(value)


def _plain(kind: type, value: Any) -> Any:
    """A key that is equal only for the same value of the same type: True is not 1, and 0.0 is not -0.0; NaN is NaN only
    if it is the same object."""
    if kind in (float, complex, range):
        return kind, repr(value) if value == value else Same(value)
    return value if kind is str else (kind, value)


def parts_of(value: Any) -> list[tuple[Any, Any]] | None:
    """The parts of a tuple, list, dict, named tuple or dataclass, with their places or names; else None."""
    kind = type(value)
    if kind is Tensor or kind in PLAIN:  # most are, and the tests below take longer
        return None
    if kind is tuple or kind is list:
        return list(enumerate(value))
    if kind in _DICTS and not getattr(value, "__dict__", None):
        return list(value.items())
    if isinstance(value, tuple) and hasattr(kind, "_fields") and not hasattr(value, "__dict__"):
        return list(zip(kind._fields, value, strict=True))
    if is_dataclass(kind) and not isinstance(value, dict | list | set):
        names = *[f.name for f in fields(value)], *slots_of(kind), *getattr(value, "__dict__", ())
        return [(name, getattr(value, name)) for name in dict.fromkeys(names) if hasattr(value, name)]
    return None


def slots_of(kind: type) -> set[str]:
    """The slots of a class and its bases."""
    return {slot for k in kind.__mro__ if "__slots__" in vars(k) for slot, x in vars(k).items()
            if type(x) is MemberDescriptorType}


def rebuilt(value: Any, replace: Callable[[Tensor], Any]) -> Any:
    """A value with other Tensors in it. Raises Refused unless it is made of Tensors and numbers alone."""
    if isinstance(value, Tensor):
        return replace(value)
    kind = type(value)
    if kind in PLAIN or isinstance(value, np.generic):
        return value
    if (parts := parts_of(value)) is None:
        raise Refused(f"it returns a {kind.__name__}; return Tensors and numbers, alone or in tuples, lists, dicts or "
                       "dataclasses")
    new = [(name, rebuilt(v, replace)) for name, v in parts]
    if kind in _DICTS:
        return kind([(rebuilt(key, replace) if tensors_in(key) else key, part) for key, part in new])
    if issubclass(kind, tuple | list):
        return kind(*[v for _, v in new]) if hasattr(kind, "_fields") else kind([v for _, v in new])
    made: Any = object.__new__(kind)  # without __init__, which may take other arguments and have effects
    for name, part in new:
        object.__setattr__(made, name, part)
    return made


def tensors_in(value: Any) -> list[Tensor]:
    """The Tensors in a value that `parts_of` can take apart, and in keys."""
    return tensors_of(parts_within(value))


def parts_within(value: Any) -> list[Any]:
    """A value, its parts, and theirs."""
    return [value, *[v for pair in parts_of(value) or () for part in pair for v in parts_within(part)]]


def plain_in(value: Any) -> list[Any]:
    """The parts of a value, for comparison: requires_grad of Tensors, containers by type, others as text."""
    if (parts := parts_of(value)) is None:
        return [value.requires_grad if isinstance(value, Tensor) else (type(value), repr(value))]
    return [type(value), *[v for pair in parts for part in pair for v in plain_in(part)]]


def containers_in(value: Any, given: Set[int]) -> list[int]:
    """The ids of the mutable parts of a value, lists, dicts and objects; and of tuples that are given."""
    return [id(x) for x in parts_within(value) if parts_of(x) is not None and (
        not isinstance(x, tuple) or x and id(x) in given)]


def tensors_of(found: Sequence[Any]) -> list[Tensor]:
    """The Tensors among the parts that `structure` has found."""
    return [x for x in found if isinstance(x, Tensor)]


def alike(found: Sequence[Any]) -> list[int]:
    """Which of these are the same object as an earlier one, if any are."""
    ids = [*map(id, found)]
    return [] if len({*ids}) == len(ids) else [ids.index(i) for i in ids]


def holds_only_tensors(value: Any, within: tuple[int, ...] = ()) -> bool:
    """Whether a value holds Tensors, without hooks or a graph to walk, and otherwise only numbers and the like."""
    if type(value) is Tensor:
        return not value._hooks and (value.node is None or not alive(value.node))
    parts = [part for _, part in parts_of(value) or () if type(part) not in PLAIN and id(value) not in within]
    return bool(parts) and all([holds_only_tensors(part, (*within, id(value))) for part in parts])


def alive(root: Node) -> bool:
    """Whether a backward pass from a node would still run: no node on its path is freed."""
    seen, stack = {root}, [root]
    while stack:
        parents = stack.pop().parents
        if parents is None:
            return False
        new = [p for p in parents if isinstance(p, Node) and p not in seen]
        seen.update(new)
        stack += new
    return True
