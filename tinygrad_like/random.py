"""The one source of randomness: a seeded NumPy Generator. Same seed, same run."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .core.graph import mode
from .core.listener import draw as drawn
from .core.listener import tell, value
from .core.replaceable import replaceable
from .dtypes import wide

generator = np.random.default_rng(0)
MANY = 256  # float32 numbers that are functions of a seed, which can be made faster


def sampled(name: str, draw: Callable[..., Any], *inputs: Any) -> Any:
    """draw(generator, *inputs), with arrays in place of Tensors: random numbers that depend on what these hold."""
    arrays = [getattr(x, "_data", x) for x in inputs]
    if mode.listener is None:
        return np.asarray(draw(generator, *arrays))
    return mode.listener.compute(name, lambda *now: drawn(lambda: draw(generator, *now)), arrays, {})


def noise(name: str, shape: tuple[int, ...], numbers: np.random.Generator, *parameters: Any) -> np.ndarray | None:
    """Many float32 numbers, "normal" or "uniform", from a seed of the generator's; None if they are few."""
    if math.prod(shape) < MANY or not all([isinstance(p, int | float) and abs(p) < 1e38 for p in parameters]):
        return None
    given = [float(p) if type(p) in (int, bool) or isinstance(p, np.generic) else p for p in parameters]
    arguments = shape, drawn(lambda: int(numbers.integers(2**63))), *given
    make = _NOISE[name]
    return make(*arguments) if mode.listener is None else mode.listener.compute(name, make, arguments, {})


# Noise by position ----------------------------------------------------------------------------------------------------


def bits(i: Any, seed: Any) -> np.ndarray:
    """32 bits that depend on the positions i and on a seed of 64 bits, or on seeds of 32.

    A multiplication carries every bit to those above it, a shift brings them down again. This is Wellons' triple32
    ("hash prospector"), which the second half of the seed joins after the first round.
    """
    seed = seed.astype(np.uint64) if isinstance(seed, np.ndarray) else np.uint64(operator.index(seed))
    x = np.asarray(i).astype(np.uint32) + seed.astype(np.uint32)
    x ^= x >> 17
    x = x * np.uint32(0xED5AD4BB) + (seed >> np.uint64(32)).astype(np.uint32)
    x ^= x >> 11
    x = x * np.uint32(0xAC4C1B51)
    x ^= x >> 15
    x = x * np.uint32(0x31848BAB)
    return x ^ (x >> 14)


def threshold(p: float) -> int:
    """Below which numbers of 32 bits are with probability p < 1."""
    return min(round(p * 2.0**32), 2**32 - 1)


def places(count: int, spread: int) -> np.ndarray:
    """The positions of numbers of these rows in the whole batch, without the seed's part; spread: as of `spread`."""
    i = np.arange(count)
    if not spread:
        return i
    each, step = spread & 0xFFFFFFFF, spread >> 32
    return i + i // each * each * (step - 1)


@replaceable
def _normal_noise(shape: tuple[int, ...], seed: int, mean: float, std: float) -> np.ndarray:
    """Normal numbers: of each block of 256 the first half comes in pairs with the second.

    r cos t and r sin t, with r^2 = -2 log u for u uniform on (0, 1], t uniform on the circle. (Box and Muller 1958)
    """
    count = math.prod(shape)
    i = np.arange(count)
    first = i - i % 256
    half = (np.minimum(256, count - first) + 1) // 2
    second = i - first >= half
    i = i - second * half
    u, v = ((bits(i, seed) >> 1) + 0.5) * 2.0**-31, bits(i + half, seed)
    t = ((v >> 8 & 0x3FFFFF) + 0.5) * (np.pi / 2 * 2.0**-22) - np.pi / 4  # within a quarter, which two bits turn
    turned = (v & 1).astype(bool)
    x = np.where(turned ^ second, np.sin(t), np.cos(t)) * np.where((v & 2 != 0) ^ (second & ~turned), 1, -1)
    x *= np.sqrt(-2 * np.log(u))
    return (mean + std * x).astype(np.float32).reshape(shape)


@replaceable
def _uniform_noise(shape: tuple[int, ...], seed: int, low: float, width: float) -> np.ndarray:
    """Numbers uniform on [low, low + width), in steps of 2^-24 of the width."""
    part = (bits(np.arange(math.prod(shape)), seed) >> 8).astype(np.float32) * np.float32(2.0**-24)
    return (np.float32(low) + np.float32(width) * part).reshape(shape)


_NOISE = {"normal": _normal_noise, "uniform": _uniform_noise}


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
