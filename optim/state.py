"""The state that an optimizer keeps for each parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from tinygrad_like.core.tensor import Tensor, wrap
from tinygrad_like.dtypes import INT64, wide

COUNT = "step"  # the name, in the state of a parameter, of how many steps it has taken: int64, without axes
MASTER = "master"  # and of the weights in float32 of one of 16 bits


class State(dict):
    """The state of a parameter: arrays, by default zeros of its shape."""

    def __init__(self, param: Tensor, entries: Mapping[str, Any] | None = None):
        super().__init__((name, as_state(name, value)) for name, value in (entries or {}).items())
        self.param = param

    def __missing__(self, name: str) -> Any:
        self[name] = np.zeros_like(self.param._data, wide(self.param.dtype))
        return self[name]


class States(dict[Tensor, State]):
    """A State for each parameter, made empty when missing, as after `state.clear()`."""

    def __missing__(self, param: Tensor) -> State:
        self[param] = State(param)
        return self[param]


class Seen(MutableMapping):
    """States, or one of them, as a program sees them: Tensors that share the arrays' memory."""

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
    """A value that a program sets in a state, in the form that is kept: a count becomes an array."""
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
