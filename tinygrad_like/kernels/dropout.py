"""Dropout of float32 arrays. The dropped elements are a function of a key and the position, not state.

So the backward pass computes the mask again, which costs less than writing and reading it.
"""

import numpy as np

from .kinds import INTEGERS, READ, REAL, WRITE
from .late import njit
from .program import kernel
from .vectormath import SCALAR, F

U32 = np.uint32


@njit(**SCALAR)
def random_bits(i, low, high):
    """32 random bits: a hash of the position i and of a key in two halves.

    A multiplication carries every bit to higher ones, a shift brings them down again. This is Wellons' triple32
    ("hash prospector"); with a round less, neighbours are correlated. The second half of the key joins after the first
    round, so that no key's bits are another's, shifted. Casts are needed, as numba widens to 64 bits.
    """
    x = U32(i + low)
    x = U32(x ^ (x >> U32(17)))
    x = U32(x * U32(0xED5AD4BB) + high)
    x = U32(x ^ (x >> U32(11)))
    x = U32(x * U32(0xAC4C1B51))
    x = U32(x ^ (x >> U32(15)))
    x = U32(x * U32(0x31848BAB))
    return U32(x ^ (x >> U32(14)))


@kernel(x=READ, key=INTEGERS, scale=REAL, y=WRITE, cost=0.18)
def _dropout(x, key, spread, threshold, scale, y, task, tasks):
    start, stop = task * x.size // tasks, (task + 1) * x.size // tasks
    seed = key[0]
    high, threshold, scale = U32(seed >> 32), U32(threshold), F(scale)
    each = spread & 0xFFFFFFFF if spread else max(x.size, 1)
    skip = each * ((spread >> 32) - 1) if spread else 0
    while start < stop:  # the elements of a row
        row = start // each
        end = min(stop, (row + 1) * each)
        n, first, a, b = end - start, U32(start + row * skip + seed), x[start:end], y[start:end]
        for i in range(n):
            b[i] = a[i] * scale if random_bits(U32(i), first, high) >= threshold else F(0)
        start = end


def dropout(x: np.ndarray, p: float, key: np.ndarray, scale: float, spread: int = 0) -> np.ndarray:
    """scale * x, and 0 with probability 0 <= p < 1, to 10 digits. spread: see random.spread"""
    y = np.empty(x.shape, np.float32)
    _dropout(x, key, spread, min(round(p * 2.0**32), 2**32 - 1), float(scale), y)  # 2.0: str * int would be valid
    return y


def kept(shape: tuple[int, ...], p: float, key: np.ndarray, spread: int) -> np.ndarray:
    """Whether dropout keeps each element of an array of this shape."""
    return dropout(np.ones(shape, np.float32), p, key, 1.0, spread) != 0


def drop(x: np.ndarray, *, p: float, key: np.ndarray, spread: int = 0) -> np.ndarray:
    """The op of this name."""
    return dropout(x, p, key, 1 / (1 - p), spread)
