"""Random float32 arrays and dropout, as functions of a key and the position.

So any thread can make any number, and backward recomputes the mask of dropout, which costs less than storing and
loading it. NumPy's generators make one number after another, and a normal one takes 7 ns.
"""

import numpy as np

from ..random import threshold
from .kinds import INTEGERS, READ, REAL, WRITE
from .late import njit
from .program import kernel
from .vectormath import SCALAR, TWO, F, I, log, sqrt

U32 = np.uint32
_BLOCK = 256  # numbers that are made in pairs, the first half with the second


@njit(**SCALAR)
def random_bits(i, low, high):
    """32 random bits for a position i and a key of two halves.

    A multiplication carries every bit to those above it, a shift brings them down again. This is Wellons' triple32
    ("hash prospector"); with one round fewer, neighbours are correlated. The second half of the key joins after the
    first round, so no key's bits are another's, shifted. Every result is cast at once: numba would widen it to 64 bits.
    """
    x = U32(i + low)
    x = U32(x ^ (x >> U32(17)))
    x = U32(x * U32(0xED5AD4BB) + high)
    x = U32(x ^ (x >> U32(11)))
    x = U32(x * U32(0xAC4C1B51))
    x = U32(x ^ (x >> U32(15)))
    x = U32(x * U32(0x31848BAB))
    return U32(x ^ (x >> U32(14)))


# --- Noise ------------------------------------------------------------------------------------------------------------


@njit(**SCALAR)
def _pair(a, b):
    """Two independent standard normal numbers from 32 bits each: r cos t and r sin t, with r^2 = -2 log u for u uniform
    on (0, 1], and t uniform on the circle. (Box and Muller 1958)"""
    r = sqrt(F(-2) * log((F(I(a >> U32(1))) + F(0.5)) * F(2.0**-31)))
    t = (F(I(b >> U32(8) & U32(0x3FFFFF))) + F(0.5)) * F(np.pi / 2 * 2.0**-22) - F(np.pi / 4)  # within a quadrant
    z = t * t
    s = t + t * z * (F(-1.6666654611e-1) + z * (F(8.3321608736e-3) + z * F(-1.9515295891e-4)))  # Cephes' sinf, cosf
    c = F(1) - z / TWO + z * z * (F(4.166664568298827e-2) + z * (
        F(-1.388731625493765e-3) + z * F(2.443315711809948e-5)))
    turned, negative = b & U32(1), F(1) if b & U32(2) else F(-1)  # by 90 degrees; by 180
    return r * negative * (s if turned else c), r * negative * (c if turned else -s)


@kernel(key=INTEGERS, mean=REAL, std=REAL, y=WRITE, cost=1.4)
def _normal(key, mean, std, y, task, tasks):
    seed = key[0]
    high, mean, std = U32(seed >> 32), F(mean), F(std)
    blocks = (y.size + _BLOCK - 1) // _BLOCK
    for block in range(task * blocks // tasks, (task + 1) * blocks // tasks):
        first = block * _BLOCK
        n = min(_BLOCK, y.size - first)
        half, low = (n + 1) // 2, U32(first + seed)
        a, b = y[first:first + half], y[first + half:first + n]
        for i in range(n - half):
            p, q = _pair(random_bits(U32(i), low, high), random_bits(U32(i + half), low, high))
            a[i], b[i] = mean + std * p, mean + std * q
        if n % 2:
            p, _ = _pair(random_bits(U32(half - 1), low, high), random_bits(U32(n), low, high))
            a[half - 1] = mean + std * p


@kernel(key=INTEGERS, low=REAL, width=REAL, y=WRITE, cost=0.5)
def _uniform(key, low, width, y, task, tasks):
    seed = key[0]
    high, low, width = U32(seed >> 32), F(low), F(width)
    start, stop = task * y.size // tasks, (task + 1) * y.size // tasks
    first, part = U32(start + seed), y[start:stop]
    for i in range(part.size):
        part[i] = low + width * (F(I(random_bits(U32(i), first, high) >> U32(8))) * F(2.0**-24))


def normal_noise(shape: tuple[int, ...], key: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Normal numbers, none further from the mean than 6.6 std."""
    y = np.empty(shape, np.float32)
    _normal(key, mean, std, y)
    return y


def uniform_noise(shape: tuple[int, ...], key: np.ndarray, low: float, width: float) -> np.ndarray:
    """Numbers uniform on [low, low + width), in steps of 2^-24 of the width."""
    y = np.empty(shape, np.float32)
    _uniform(key, low, width, y)
    return y


# --- Dropout ----------------------------------------------------------------------------------------------------------


@kernel(x=READ, key=INTEGERS, scale=REAL, y=WRITE, cost=0.18)
def _dropout(x, key, spread, threshold, scale, y, task, tasks):
    start, stop = task * x.size // tasks, (task + 1) * x.size // tasks
    seed = key[0]
    high, threshold, scale = U32(seed >> 32), U32(threshold), F(scale)
    each = spread & 0xFFFFFFFF if spread else max(x.size, 1)
    skip = each * ((spread >> 32) - 1) if spread else 0
    while start < stop:  # the numbers of a row
        row = start // each
        end = min(stop, (row + 1) * each)
        n, first, a, b = end - start, U32(start + row * skip + seed), x[start:end], y[start:end]
        for i in range(n):
            b[i] = a[i] * scale if random_bits(U32(i), first, high) >= threshold else F(0)
        start = end


def dropout(x: np.ndarray, p: float, key: np.ndarray, scale: float, spread: int = 0) -> np.ndarray:
    """scale * x, and 0 with probability 0 <= p < 1, to 10 digits. spread: see random.spread"""
    y = np.empty(x.shape, np.float32)
    _dropout(x, key, spread, threshold(p), float(scale), y)
    return y


def kept(shape: tuple[int, ...], p: float, key: np.ndarray, spread: int) -> np.ndarray:
    """Whether dropout keeps each element of an array of this shape."""
    return dropout(np.ones(shape, np.float32), p, key, 1.0, spread) != 0


def drop(x: np.ndarray, *, p: float, key: np.ndarray, spread: int = 0) -> np.ndarray:
    """The op of this name."""
    return dropout(x, p, key, 1 / (1 - p), spread)
