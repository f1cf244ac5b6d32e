"""The one source of randomness: a seeded NumPy Generator. Same seed, same run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .core.graph import mode
from .core.listener import draw as drawn
from .core.listener import tell, value
from .dtypes import wide

generator = np.random.default_rng(0)
MANY = 256  # numbers that a kernel makes faster than NumPy


def sampled(name: str, draw: Callable[..., Any], *inputs: Any) -> Any:
    """draw(*inputs), with arrays in place of Tensors: random numbers that depend on what these hold by then."""
    arrays = [getattr(x, "_data", x) for x in inputs]
    if mode.listener is None:
        return np.asarray(draw(*arrays))
    return mode.listener.compute(name, lambda *now: drawn(lambda: draw(*now)), arrays, {})


makers: Callable[[], Any] | None = None  # gives the module of kernels that make noise, which is loaded late


def noise(name: str, shape: tuple[int, ...], numbers: np.random.Generator, *parameters: Any) -> np.ndarray | None:
    """Many float32 numbers by the kernel of this name, from a seed of the generator's; None if they are few."""
    if makers is None or math.prod(shape) < MANY:
        return None
    if not all([isinstance(p, int | float) and abs(p) < 1e38 for p in parameters]):
        return None
    given = [float(p) if type(p) in (int, bool) or isinstance(p, np.generic) else p for p in parameters]
    arguments = shape, drawn(lambda: int(numbers.integers(2**63))), *given
    make = getattr(makers(), name)
    return make(*arguments) if mode.listener is None else mode.listener.compute(name, make, arguments, {})


@dataclass(frozen=True)
class Rows:
    """Which rows of a batch this process has: `count` of `total`, every `step`-th from `first` on. (distributed)"""

    first: int
    count: int
    total: int
    step: int = 1

    @classmethod
    def of(cls, rank: int, size: int, total: int) -> Rows:
        """The part of one of `size` ranks, whose lengths differ by 1 at most."""
        return cls(rank, max(0, -((rank - total) // size)), total, size)

    @property
    def part(self) -> slice:
        return slice(self.first, self.first + self.count * self.step, self.step)


rows: Rows | None = None  # of the batch in hand; None: all of it. A DataLoader with a shard says so.


def manual_seed(seed: int) -> Generator:
    """Restart the package's generator, and return it: after the same seed, all draws repeat. Shared by all threads."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"manual_seed: a seed is an integer from 0, got {seed!r}")
    _restart(generator, seed)
    default_generator._seed = int(value(seed))
    return default_generator


def _restart(numbers: np.random.Generator, seed: int) -> None:
    """Restart it, now and whenever a captured function is played."""
    def again(seed: int) -> None:
        numbers.bit_generator.state = np.random.default_rng(seed).bit_generator.state

    if tell("seed", again, seed) is NotImplemented:
        again(seed)


class Generator:
    """Random numbers of its own, for what takes `generator=`, as PyTorch's `torch.Generator`."""

    def __init__(self, device: Any = "cpu"):
        self.numbers = np.random.default_rng(0)
        self._seed = 0

    def manual_seed(self, seed: int) -> Generator:
        """Restart it: after the same seed, every draw repeats. Returns itself."""
        if not isinstance(seed, int | np.integer) or seed < 0:
            raise ValueError(f"Generator.manual_seed: a seed is an integer from 0, got {seed!r}")
        self._seed = int(seed)
        _restart(of(self), self._seed)
        return self

    def seed(self) -> int:
        """Restart it from a seed that nobody knows, and return that."""
        return self.manual_seed(int(np.random.SeedSequence().generate_state(1)[0]))._seed

    def initial_seed(self) -> int:
        """The seed that it was restarted with last."""
        return self._seed

    def get_state(self) -> Mapping[str, Any]:
        """Its state, to be given back to `set_state`."""
        return self.numbers.bit_generator.state

    def set_state(self, state: Mapping[str, Any]) -> Generator:
        """Continue from a state that `get_state` returned. Raises ValueError for one that is none."""
        prepare_rng_state(state, self.numbers)()
        return self


default_generator = Generator()
default_generator.numbers = generator


def of(given: Generator | np.random.Generator | None) -> np.random.Generator:
    """NumPy's generator behind what was given as `generator=`, or the package's. Raises TypeError if it is none."""
    if given is None:
        return generator
    numbers = given.numbers if isinstance(given, Generator) else given
    if not isinstance(numbers, np.random.Generator):
        raise TypeError(f"generator: takes a Generator or None, got {type(given).__name__}")
    if mode.listener is not None:
        tell("generator", numbers)
    return numbers


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


@contextmanager
def of_rows(now: Rows | None) -> Iterator[None]:
    """Inside it, noise is that of these rows of a batch."""
    global rows
    before, rows = rows, now
    try:
        yield
    finally:
        rows = before


def placed(seed: int, length: int, positions: int) -> int:
    """The seed with which noise by position is, from this process's first row on, what `seed` gives in the whole batch.

    length: of the array's first axis, which is the batch's if the rows divide it; positions: how many noise has there.
    The lower half of a seed is added to the position.
    """
    if rows is None or not rows.count or length % rows.count:
        return seed
    return seed & ~0xFFFFFFFF | (seed + positions // rows.count * rows.first) & 0xFFFFFFFF


def spread(length: int, positions: int) -> int:
    """How the positions of these rows lie in the whole batch: those of a row, + 2^32 * `step`; 0 if one after another.

    Arguments as of `placed`.
    """
    if rows is None or rows.step == 1 or not rows.count or length % rows.count:
        return 0
    return positions // rows.count + (rows.step << 32)


def normal(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Standard normal noise from the package's generator; at these rows of a batch, that of the whole batch."""
    if wide(dtype) is not dtype:
        return normal(shape, wide(dtype)).astype(dtype)
    if rows is None or not shape or rows.count and shape[0] % rows.count:
        return generator.standard_normal(shape, dtype)
    each = shape[0] // rows.count if rows.count else shape[0]  # with no rows, `shape` is that of one which is not real
    whole = generator.standard_normal((each * rows.total, *shape[1:]), dtype)
    if not rows.count:
        return whole[:shape[0]]
    return np.ascontiguousarray(whole.reshape(rows.total, -1)[rows.part]).reshape(shape)
