"""Random numbers: each is a function of a seed, the number of draws before, and its position in its draw.

A `Generator` counts its draws. Each draw takes a 63-bit key from it, and its numbers are a pure function of that key:
the same in any order, on any number of threads, with or without kernels. Same seed, same run.
"""

from __future__ import annotations

import math
import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .core.graph import mode
from .core.listener import effect, observe
from .dtypes import FLOAT32, wide
from .rings import replaceable

_SEEDS, _DRAWS, _FIRST = 0xD1342543DE82EF95, 0x9E3779B97F4A7C15, 0x2545F4914F6CDD1D  # odd, with irregular bits
generators: weakref.WeakSet[Generator] = weakref.WeakSet()  # all existing ones
_taking = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_taking.acquire, after_in_parent=_taking.release, after_in_child=_taking.release)


class Generator:
    """A source of random numbers for functions with `generator=`, like PyTorch's `torch.Generator`.

    state: its seed, and the number of draws since.
    """

    def __init__(self, device: Any = "cpu"):
        self.state = np.zeros(2, np.uint64)
        generators.add(self)

    def manual_seed(self, seed: int) -> Generator:
        """Restart from a seed: the same seed repeats every draw. Returns itself."""
        if not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
            raise ValueError(f"manual_seed: a seed must be an integer from 0 to 2^64 - 1, got {seed!r}")
        effect("draw", _restart, self.state, seed, 0, writes=(self.state,))
        return self

    def seed(self) -> int:
        """Restart from a random seed, and return it."""
        return self.manual_seed(int.from_bytes(os.urandom(4))).initial_seed()

    def initial_seed(self) -> int:
        """The seed of its last restart."""
        observe("the state of random numbers")
        return int(self.state[0])

    def get_state(self) -> Mapping[str, int]:
        """Its state, for `set_state`."""
        observe("the state of random numbers")
        return dict(zip(("seed", "position"), self.state.tolist(), strict=True))

    def set_state(self, state: Mapping[str, int]) -> Generator:
        """Continue from a state that `get_state` returned. Raises ValueError for anything else."""
        if not isinstance(state, Mapping) or state.keys() != {"seed", "position"} or not all(
                [type(n) is int and 0 <= n < 1 << 64 for n in state.values()]):
            raise ValueError(f"set_rng_state: a state needs a seed and a position, integers from 0, got {state!r:.200}")
        effect("draw", _restart, self.state, state["seed"], state["position"], writes=(self.state,))
        return self

    state_dict, load_state_dict = get_state, set_state


generator = default_generator = Generator()
# Methods of the generator that all threads share.
manual_seed, get_rng_state, set_rng_state = generator.manual_seed, generator.get_state, generator.set_state


def saved_state() -> np.ndarray:
    """A copy of the package generator's state, which a listener can repeat."""
    kept = np.empty_like(generator.state)
    effect("draw", np.copyto, kept, generator.state, writes=(kept,))
    return kept


def restore_state(kept: np.ndarray) -> None:
    """Continue from a state that `saved_state` returned."""
    effect("draw", np.copyto, generator.state, kept, writes=(generator.state,))


def of(given: Generator | None) -> Generator:
    """The generator given as `generator=`, or the package's. Raises TypeError for anything else."""
    if given is not None and not isinstance(given, Generator):
        raise TypeError(f"generator: takes a Generator or None, not a NumPy generator, got {type(given).__name__}")
    return given or generator


def _restart(state: np.ndarray, seed: int, position: int) -> None:
    with _taking:
        state[:] = seed, position


def _take(state: np.ndarray, length: int, positions: int) -> int:
    """The key of the next draw, as `draw` says."""
    with _taking:
        seed, position = state.tolist()
        state[1] = position + 1 & 0xFFFFFFFFFFFFFFFF
    key = _FIRST + seed * _SEEDS + position * _DRAWS & 0x7FFFFFFFFFFFFFFF
    return key if rows is None else placed(key, length, positions)


def draw(given: Generator | None = None, length: int = 0, positions: int = 0) -> np.ndarray:
    """The key of a new draw, as an array of one integer. length, positions: for noise by position, see `placed`."""
    state = of(given).state
    if mode.listener is None:
        return np.array(_take(state, length, positions), np.int64)
    key = np.empty((), np.int64)
    mode.listener.effect("draw", _take_into, (key, state, length, positions), (key, state))
    return key


def _take_into(key: np.ndarray, *of: Any) -> None:
    key[()] = _take(*of)


class _Philox(threading.local):
    """A NumPy Generator per thread, reset to the key of each draw."""

    state: Any = None

    def at(self, key: np.ndarray) -> np.random.Generator:
        if self.state is None:  # not at import: importing `numpy.random` takes 8 ms
            self.numbers = np.random.Generator(np.random.Philox(key=0))
            self.state = self.numbers.bit_generator.state
        self.state["state"]["key"][0] = key
        self.numbers.bit_generator.state = self.state
        return self.numbers


_philox = _Philox()


def sampled(name: str, function: Callable[..., Any], *inputs: Any, generator: Generator | None = None) -> np.ndarray:
    """function(numbers, *inputs), where numbers is a NumPy Generator that starts at the key of a new draw, and Tensors
    are passed as arrays."""
    key, arrays = draw(generator), [getattr(x, "_data", x) for x in inputs]
    if mode.listener is None:
        return np.asarray(function(_philox.at(key), *arrays))
    return mode.listener.compute(name, lambda key, *arrays: np.asarray(function(_philox.at(key), *arrays)),
                                 [key, *arrays], {})


def numbers(generator: Generator | None = None) -> np.random.Generator:
    """A new NumPy Generator that starts at the key of a new draw, for computations in Python."""
    observe("random numbers of NumPy's")
    return np.random.Generator(np.random.Philox(key=draw(generator).item()))


def noise(name: str, shape: tuple[int, ...], dtype: Any, generator: Generator | None, *parameters: Any) -> np.ndarray:
    """Random numbers: "normal" (mean, standard deviation) or "uniform" (start, width of the interval)."""
    if dtype is not FLOAT32:
        return sampled(name, _BY_NUMPY[name], shape, *parameters, generator=generator)
    make, given = _NOISE[name], (shape, draw(generator), *parameters)
    return make(*given) if mode.listener is None else mode.listener.compute(name, make, given, {})


# Noise by position ----------------------------------------------------------------------------------------------------


def bits(i: Any, key: Any) -> np.ndarray:
    """32 bits that depend on the positions i and on a 64-bit key, or on 32-bit keys.

    A multiplication carries every bit upwards, a shift brings the bits down again. This is Wellons' triple32 ("hash
    prospector"), with the second half of the key mixed in after the first round.
    """
    key = np.asarray(key).astype(np.uint64)
    x = np.asarray(i).astype(np.uint32) + key.astype(np.uint32)
    x ^= x >> 17
    x = x * np.uint32(0xED5AD4BB) + (key >> np.uint64(32)).astype(np.uint32)
    x ^= x >> 11
    x = x * np.uint32(0xAC4C1B51)
    x ^= x >> 15
    x = x * np.uint32(0x31848BAB)
    return x ^ (x >> 14)


def threshold(p: float) -> int:
    """The bound below which a 32-bit number lies with probability p < 1."""
    return min(round(p * 2.0**32), 2**32 - 1)


def places(count: int, spread: int) -> np.ndarray:
    """The positions in the whole batch of these rows' numbers, without the key's offset; spread: see `spread`."""
    i = np.arange(count)
    if not spread:
        return i
    each, step = spread & 0xFFFFFFFF, spread >> 32
    return i + i // each * each * (step - 1)


@replaceable
def _normal_noise(shape: tuple[int, ...], key: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Normal numbers. In each block of 256, the first half pairs with the second.

    r cos t and r sin t, with r^2 = -2 log u for u uniform on (0, 1], t uniform on the circle. (Box and Muller 1958)
    """
    count = math.prod(shape)
    i = np.arange(count)
    first = i - i % 256
    half = (np.minimum(256, count - first) + 1) // 2
    second = i - first >= half
    i = i - second * half
    u, v = ((bits(i, key) >> 1) + 0.5) * 2.0**-31, bits(i + half, key)
    t = ((v >> 8 & 0x3FFFFF) + 0.5) * (np.pi / 2 * 2.0**-22) - np.pi / 4  # within a quadrant, which two bits choose
    turned = (v & 1).astype(bool)
    x = np.where(turned ^ second, np.sin(t), np.cos(t)) * np.where((v & 2 != 0) ^ (second & ~turned), 1, -1)
    x *= np.sqrt(-2 * np.log(u))
    return (mean + std * x).astype(np.float32).reshape(shape)


@replaceable
def _uniform_noise(shape: tuple[int, ...], key: np.ndarray, low: float, width: float) -> np.ndarray:
    """Numbers uniform on [low, low + width), in steps of 2^-24 of the width."""
    part = (bits(np.arange(math.prod(shape)), key) >> 8).astype(np.float32) * np.float32(2.0**-24)
    return (np.float32(low) + np.float32(width) * part).reshape(shape)


_NOISE = {"normal": _normal_noise, "uniform": _uniform_noise}
_BY_NUMPY: dict[str, Callable] = {
    "normal": lambda numbers, shape, mean, std: mean + std * numbers.standard_normal(shape),
    "uniform": lambda numbers, shape, low, width: low + width * numbers.random(shape)}


@dataclass(frozen=True)
class Rows:
    """This process's rows of a batch: `count` of `total`, every `step`-th from `first`. (distributed)"""

    first: int
    count: int
    total: int
    step: int = 1

    @classmethod
    def of(cls, rank: int, size: int, total: int) -> Rows:
        """The rows of one of `size` ranks; the ranks' counts differ by at most 1."""
        return cls(rank, max(0, -((rank - total) // size)), total, size)

    @property
    def part(self) -> slice:
        return slice(self.first, self.first + self.count * self.step, self.step)


rows: Rows | None = None  # of the current batch, set by a DataLoader with a shard; None: all of it


@contextmanager
def of_rows(now: Rows | None) -> Iterator[None]:
    """In this block, noise belongs to these rows of a batch."""
    global rows
    before, rows = rows, now
    try:
        yield
    finally:
        rows = before


def placed(key: int, length: int, positions: int) -> int:
    """The key that gives this process, from its first row on, the noise that `key` gives the whole batch.

    length: the first axis's, which is the batch axis if the rows divide it; positions: the noise's number of positions.
    The lower half of a key is added to the position.
    """
    if rows is None or not rows.count or length % rows.count:
        return key
    return key & ~0xFFFFFFFF | (key + positions // rows.count * rows.first) & 0xFFFFFFFF


def spread(length: int, positions: int) -> int:
    """How these rows' positions lie in the whole batch: a row's positions + 2^32 * `step`; 0 if consecutive.

    Arguments as in `placed`.
    """
    if rows is None or rows.step == 1 or not rows.count or length % rows.count:
        return 0
    return positions // rows.count + (rows.step << 32)


def normal(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Standard normal noise; these rows of a batch get their part of the whole batch's."""
    if rows is None or not shape or rows.count and shape[0] % rows.count:
        return noise("normal", shape, wide(dtype), None, 0.0, 1.0).astype(dtype, copy=False)
    each = shape[0] // rows.count if rows.count else shape[0]  # a rank without rows computes on a dummy row
    whole = noise("normal", (each * rows.total, *shape[1:]), wide(dtype), None, 0.0, 1.0).astype(dtype, copy=False)
    if not rows.count:
        return whole[:shape[0]]
    return np.ascontiguousarray(whole.reshape(rows.total, -1)[rows.part]).reshape(shape)
