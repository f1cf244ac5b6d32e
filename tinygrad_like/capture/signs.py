"""Signs by which it is seen that something was changed, or that a generator or an iterator went on."""

from __future__ import annotations

import random
import types
from collections.abc import Collection
from typing import Any

import numpy as np

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
