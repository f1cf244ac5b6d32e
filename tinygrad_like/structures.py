"""Tensors in what a function is given and in what it returns: alone, or in tuples, lists, dicts and dataclasses."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from .extremum import Extremum
from .tensor import Tensor, wrap

_PLAIN = frozenset((int, float, bool, str, type(None)))
_DICTS = (dict, OrderedDict)


class Unsuited(TypeError):
    """An argument that a captured function cannot take."""


def structure(value: Any, tensors: list | None = None, replace: Callable | None = None) -> Any:
    """What a value is made of besides Tensors, as something to compare by; or, with `replace`, the value with them
    replaced. The Tensors are added to `tensors`. Raises Unsuited for an array in place of a Tensor."""
    if isinstance(value, Tensor):
        if type(value) is not Tensor and isinstance(value, Extremum):  # also the pair of itself and where it is
            values, indices = value, value.indices
            if replace is not None:
                return Extremum.of(replace(values), replace(indices))
            if tensors is not None:
                tensors += values, indices
            return Extremum, value.shape, value.dtype, value.requires_grad
        if replace is not None:
            return replace(value)
        if tensors is not None:
            tensors.append(value)
        return Tensor, value.shape, value.dtype, value.requires_grad, value.grad is None
    kind = type(value)
    if kind is tuple or kind is list:
        parts = [structure(v, tensors, replace) for v in value]
        return kind(parts) if replace is not None else (kind, *parts)
    if kind in _PLAIN:
        return value
    if replace is None and tensors is not None and isinstance(value, np.ndarray):
        raise Unsuited("it is given a NumPy array, whose numbers it could not follow; make a Tensor of it outside")
    if isinstance(value, np.generic):
        return value if replace is not None else (kind, value.tobytes())
    if (named := _parts(value)) is not None:
        named = [(name, structure(v, tensors, replace)) for name, v in named]
        return _made(value, dict(named)) if replace is not None else (kind, *named)
    return value if replace is not None else (kind, id(value))


def _parts(value: Any) -> list[tuple[Any, Any]] | None:
    """The parts of a tuple, list, dict, named tuple or dataclass, with their places or names; None for all else."""
    kind = type(value)
    if kind is tuple or kind is list:
        return list(enumerate(value))
    if kind in _DICTS:
        return list(value.items())
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return list(zip(kind._fields, value, strict=True))
    if is_dataclass(kind):
        return [(f.name, getattr(value, f.name)) for f in fields(value) if hasattr(value, f.name)]
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


def overlap(tensors: list[Tensor]) -> bool:
    """Whether different ones of some Tensors may lie in the same memory."""
    return any([a is not b and np.may_share_memory(a._data, b._data) for i, a in enumerate(tensors)
                for b in tensors[:i]])


class Arguments:
    """What a function is given while it is recorded: copies in place of the Tensors of a call, one for each of them."""

    def __init__(self, args: tuple, options: dict, tensors: list[Tensor]):
        self.given, copies = (args, options), {}
        for t in tensors:
            if id(t) not in copies:
                copies[id(t)] = x = wrap(np.array(t._data, order="C"))
                x.requires_grad, x.grad = t.requires_grad, t.grad
        self.pairs = [(t, copies[id(t)]) for t in {id(t): t for t in tensors}.values()]
        self.inputs = [copies[id(t)] for t in tensors]
        self.gradients = {id(x): x.grad._data.copy() for _, x in self.pairs if x.grad is not None}
        replaced = iter(self.inputs)
        self.used = structure(self.given, replace=lambda _: next(replaced))

    def bring_back(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Give the Tensors of the call what the function has done to the copies. Returns the arrays that were changed,
        and what was in them before."""
        from .snapshots import differ

        changed = []
        for t, x in self.pairs:
            t.grad = x.grad
            if differ(x._data, t._data, rounded=False):
                changed.append((x._data, t._data.copy()))
                t._data[...] = x._data
                t.touch()
        return changed

    def containers_changed(self) -> bool:
        """Whether the function has changed lists, dicts or dataclasses that it was given; if so, so are the call's."""
        return _changed(self.given, self.used, {id(x): t for t, x in self.pairs})

    def returned(self, result: Any) -> Any:
        """The result, with the call's Tensors in place of their copies."""
        back = {id(x): t for t, x in self.pairs}
        return structure(result, replace=lambda t: back.get(id(t), t))


class Gradients:
    """Which gradients Tensors have, none of which it keeps, to see later who got another one."""

    def __init__(self, tensors: Iterable[Tensor]):
        self.found = [(t, None if t.grad is None else weakref.ref(t.grad)) for t in tensors]

    def changed(self) -> dict[int, Tensor]:
        """The Tensors that have another one, or none any more."""
        return {id(t): t for t, ref in self.found if (ref and ref()) is not t.grad or ref and ref() is None}


def _changed(given: Any, used: Any, back: dict[int, Tensor]) -> bool:
    """Whether a container that a function was given a copy of is not as the copy is now; if so, it is made so."""
    before, now, new = dict(_parts(given) or ()), dict(_parts(used) or ()), {}
    changed = before.keys() != now.keys()
    for key, part in now.items():
        old, part = before.get(key), back.get(id(part), part)
        if type(part) is type(old) and (_parts(part) is not None or isinstance(part, Extremum)):
            changed, part = _changed(old, part, back) or changed, old
        changed, new[key] = changed or part is not old, part
    if changed and isinstance(given, list):
        given[:] = new.values()
    elif changed and isinstance(given, dict):
        given.clear()
        given.update(new)
    elif changed and not isinstance(given, tuple):
        for key, part in new.items():
            object.__setattr__(given, key, part)
    return changed


def tensors_in(value: Any) -> list[Tensor]:
    """The Tensors that a value is made of."""
    found: list[Tensor] = []
    structure(value, replace=lambda t: found.append(t) or t)  # type: ignore[func-returns-value]
    return found


def closed(value: Any) -> Iterator[tuple[Any, Tensor]]:
    """Objects that `structure` does not look into, with Tensors that they hold."""
    if isinstance(value, Tensor) or type(value) in _PLAIN:
        return
    if (parts := _parts(value)) is not None:
        for _, part in parts:
            yield from closed(part)
        return
    held = [*getattr(value, "__dict__", {}).values(), *(value.values() if isinstance(value, dict) else
                                                        value if isinstance(value, tuple | list | set) else ())]
    yield from ((value, t) for t in held if isinstance(t, Tensor))
