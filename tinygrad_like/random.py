"""The one source of randomness: a seeded NumPy Generator. Same seed, same run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .autograd import mode

generator = np.random.default_rng(0)


def drawn(draw: Callable[[], Any]) -> Any:
    """What draw() gives, a number or an array of random numbers: drawn anew whenever a captured function is played."""
    return draw() if mode.tape is None else mode.tape.drawn(draw)


def manual_seed(seed: int) -> None:
    """Restart the package's generator: after the same seed, every draw repeats. Shared by all threads."""
    generator.bit_generator.state = np.random.default_rng(seed).bit_generator.state


def get_rng_state() -> Mapping[str, Any]:
    """The generator's state as a plain dict of numbers and strings, to be given back to `set_rng_state`."""
    return generator.bit_generator.state


def set_rng_state(state: Mapping[str, Any]) -> None:
    """Continue the stream of random numbers from a state that `get_rng_state` returned.

    Raises ValueError, before anything is changed, for a state that is none.
    """
    prepare_rng_state(state)()


def prepare_rng_state(state: Mapping[str, Any], of: np.random.Generator = generator) -> Callable[[], None]:
    """Check a state as `set_rng_state` does, of any Generator; returns the function that sets it."""
    trial = type(of.bit_generator)(0)  # NumPy finds out while it sets the state
    try:
        trial.state = state
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"set_rng_state: this is no state of {type(trial).__name__} ({error!r})") from None

    def load() -> None:
        of.bit_generator.state = trial.state

    return load
