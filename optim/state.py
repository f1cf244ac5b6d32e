"""What an optimizer is told of its parameters, group by group, and what it remembers of each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from tinygrad_like.core.graph import mode
from tinygrad_like.core.listener import tell
from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.dtypes import wide


class Group(dict):
    """A parameter group: its "params" and options, as an optimizer has made it. A captured function that reads a number
    among them follows it."""

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        return value if mode.listener is None else mode.listener.option(self, name, value)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        tell("option set", self, name, value)


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
    """What an optimizer remembers of a parameter: arrays that start as zeros of its shape, and the count `step`."""

    def __init__(self, param: Tensor, entries: Mapping[str, Any] | None = None):
        super().__init__(entries or {})
        self.param = param

    def __missing__(self, name: str) -> Any:
        self[name] = 0 if name == "step" else np.zeros_like(self.param._data, wide(self.param.dtype))
        return self[name]


class States(dict[Tensor, State]):
    """A State for each parameter: an empty one for a parameter that there is none of, as after `state.clear()`."""

    @classmethod
    def of(cls, states: Mapping[Tensor, Any]) -> States:
        """The same if it is one; else one of what a program has put in its place, as `defaultdict(dict)`."""
        return states if isinstance(states, cls) else cls({p: State(p, entries) for p, entries in states.items()})

    def __missing__(self, param: Tensor) -> State:
        self[param] = State(param)
        return self[param]


class Seen(MutableMapping):
    """States, or one of them, as a program sees them: the arrays are Tensors, whose changes in place are theirs."""

    def __init__(self, of: dict):
        self._of = of

    def __getitem__(self, key: Any) -> Any:
        value = self._of[key]
        return Seen(value) if isinstance(value, dict) else wrap(value) if isinstance(value, np.ndarray) else value

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, Tensor) and isinstance(value, Mapping):
            self._of[key] = State(key)
            self[key].update(value)
        else:
            self._of[key] = value._data if isinstance(value, Tensor) else value

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
