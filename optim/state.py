"""The state that an optimizer keeps for each parameter: arrays by name, which users see as Tensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.dtypes import INT64

COUNT = "step"  # the name of a parameter's step count in its state: 0-d int64


class Begun(dict):
    """A state in which missing arrays begin as `begin(name)`."""

    begin: Callable[[str], Any]

    def __missing__(self, name: str) -> Any:
        self[name] = self.begin(name)
        return self[name]


class Seen(MutableMapping):
    """The states of all parameters, or of one, as users see them: Tensors that share the arrays' memory."""

    def __init__(self, of: dict):
        self._of = of

    def __getitem__(self, key: Any) -> Any:
        value = self._of[key]
        if isinstance(value, dict):
            return Seen(value)
        return value if not isinstance(value, np.ndarray) else int(value) if key == COUNT else wrap(value)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._of[key] = kept_of(value) if isinstance(value, Mapping) else kept(key, value)

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


def states(given: Mapping[Tensor, Mapping[str, Any]]) -> dict[Tensor, dict[str, Any]]:
    """The states that a user sets, in stored form."""
    return defaultdict(dict, {p: kept_of(state) for p, state in given.items()})


def kept_of(state: Mapping[str, Any]) -> dict[str, Any]:
    return {name: kept(name, value) for name, value in state.items()}


def kept(name: str, value: Any) -> Any:
    """An entry of a state in stored form: an array, even for a count."""
    value = value._data if isinstance(value, Tensor) else value
    return np.array(value, INT64) if name == COUNT else value


def copied(name: str, value: Any) -> Any:
    """An entry of a state for a checkpoint: a copy, with a count as a number."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    return value if not isinstance(value, np.ndarray) else int(value) if name == COUNT else value.copy()


def count_of(what: str, value: Any) -> int:
    """A count from a checkpoint. Raises ValueError if it is not one."""
    if not value >= 0 or int(value) != value:
        raise ValueError(f"{what} is {value!r}, but it must be a count of steps")
    return int(value)
