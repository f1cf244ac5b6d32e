"""The one source of randomness: a seeded NumPy Generator. Same seed, same run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

generator = np.random.default_rng(0)


def manual_seed(seed: int) -> None:
    """Restart the package's generator: after the same seed, every draw repeats. Shared by all threads."""
    generator.bit_generator.state = np.random.default_rng(seed).bit_generator.state


def get_rng_state() -> Mapping[str, Any]:
    """The generator's state as a plain dict of numbers and strings, to be given back to `set_rng_state`."""
    return generator.bit_generator.state


def set_rng_state(state: Mapping[str, Any]) -> None:
    """Continue the stream of random numbers from a state that `get_rng_state` returned."""
    generator.bit_generator.state = state
