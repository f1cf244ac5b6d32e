"""What an optimizer is told of its parameters, group by group, and what it remembers of each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.dtypes import INT64, wide

COUNT = "step"  # the name, in the state of a parameter, of how many steps it has taken: int64, without axes
MASTER = "master"  # and of the weights in float32 of one of 16 bits


class Group(dict):
    """A parameter group: its "params" and options, as an optimizer has made it."""


def check_spelling(who: str, group: Iterable[str], options: Iterable[str]) -> None:
    """Raise ValueError for a key of a group that looks like an option misspelt; others are for who made the group."""
    known = ["params", *options]
    for name in group:
        near = [] if name in known else difflib.get_close_matches(str(name), known, 1, 0.85)
        if near:
            raise ValueError(f"{who}: unknown option {name!r} of a group; did you mean {near[0]!r}? A group may have "
                             f"keys of your own, if they do not look like one of {', '.join(known)}")


def check_memory(who: str, params: Iterable[Tensor]) -> None:
    """Raise ValueError for parameters that overlap: the threads of a step would write to the same numbers."""
    arrays = sorted((p._data for p in params if p.size), key=byte_bounds)
    for i, a in enumerate(arrays):
        for b in arrays[i + 1:]:
            if byte_bounds(b)[0] >= byte_bounds(a)[1]:
                break
            if np.shares_memory(a, b):
                raise ValueError(f"{who}: parameters of shapes {a.shape} and {b.shape} share memory; copy one, "
                                 "or, to tie layers, give them one Parameter: decoder.weight = encoder.weight")


class State(dict):
    """What an optimizer remembers of a parameter: arrays, which are zeros of its shape where there are none yet."""

    def __init__(self, param: Tensor, entries: Mapping[str, Any] | None = None):
        super().__init__((name, as_state(name, value)) for name, value in (entries or {}).items())
        self.param = param

    def __missing__(self, name: str) -> Any:
        self[name] = np.zeros_like(self.param._data, wide(self.param.dtype))
        return self[name]


class States(dict[Tensor, State]):
    """A State for each parameter: an empty one for a parameter that there is none of, as after `state.clear()`."""

    def __missing__(self, param: Tensor) -> State:
        self[param] = State(param)
        return self[param]


class Seen(MutableMapping):
    """States, or one of them, as a program sees them: the arrays are Tensors, whose changes in place are theirs."""

    def __init__(self, of: dict):
        self._of = of

    def __getitem__(self, key: Any) -> Any:
        value = self._of[key]
        if isinstance(value, dict):
            return Seen(value)
        return value if not isinstance(value, np.ndarray) else int(value) if key == COUNT else wrap(value)

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, Tensor) and isinstance(value, Mapping):
            self._of[key] = State(key, value)
        else:
            self._of[key] = as_state(key, value)

    def __delitem__(self, key: Any) -> None:
        del self._of[key]

    def __contains__(self, key: Any) -> bool:
        return key in self._of

    def get(self, key: Any, default: Any = None) -> Any:
        return self[key] if key in self._of else default

    def __iter__(self) -> Iterator:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    def __repr__(self) -> str:
        return repr(dict(self))


def as_state(name: str, value: Any) -> Any:
    """What a program gives as an entry of a state, as it is kept: a count as an array of its own."""
    value = value._data if isinstance(value, Tensor) else value
    return np.array(value, INT64) if name == COUNT else value


def copied(name: str, value: Any) -> Any:
    """An entry of a state for a checkpoint: a copy, a count as a number."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    return value if not isinstance(value, np.ndarray) else int(value) if name == COUNT else value.copy()


def count_of(what: str, value: Any) -> int:
    """A count, from a checkpoint. Raises ValueError if it is none."""
    if not value >= 0 or int(value) != value:
        raise ValueError(f"{what} is {value!r}, but it must be a count of steps")
    return int(value)
