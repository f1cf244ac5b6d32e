"""Where arrays lie: freed memory stays in the process for the next step, and large results begin with a cache line.

By default glibc gives freed blocks of over 128 KiB back to the system, and those of the next step are mapped and zeroed
anew, page by page: half the time of a step of a 784-512-512-10 MLP. With the thresholds raised, they stay in the heap.
That is less code than a pool of arrays in the engine, covers every array, and costs no peak memory.

Set the environment variable TINYGRAD_LIKE_MALLOC=default to leave the allocator alone. Without glibc nothing is done.
"""

import ctypes
import math
import os

import numpy as np

from .dtypes import FLOAT32

_LINE = 64  # bytes of a cache line
_LARGE = 2**15  # numbers from which on a result is worth placing: it takes 1 us

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # malloc.h


def keep_freed_memory() -> bool:
    """Raise glibc's thresholds for this process; returns whether they were accepted."""
    if os.environ.get("TINYGRAD_LIKE_MALLOC") == "default":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    # The largest value mallopt takes for blocks is 1 GiB here; larger ones are always mapped.
    settings = ((_MMAP_THRESHOLD, 2**30), (_TRIM_THRESHOLD, 2**31 - 1), (_TOP_PAD, 2**24))
    return all([mallopt(option, value) == 1 for option, value in settings])


def give_back() -> None:
    """Give freed memory back to the system, where glibc allows it."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        pass


def empty(shape: tuple[int, ...], dtype: np.dtype = FLOAT32) -> np.ndarray:
    """np.empty for the result of a product, begun with a cache line if it is large.

    NumPy's arrays lie at any multiple of 16 bytes. In every other one, half the vectors that a tile stores cross the
    end of a line, and two tiles meet in one line, which may be in another core's cache: up to 10 % of a product's time.
    """
    size = math.prod(shape)
    if size < _LARGE:
        return np.empty(shape, dtype)
    buffer = np.empty(size * dtype.itemsize + _LINE, np.uint8)
    address = ctypes.c_ssize_t.from_address(id(buffer) + object.__basicsize__).value  # buffer.ctypes takes 1 us
    return np.ndarray(shape, dtype, buffer, -address % _LINE)


def fills(array: np.ndarray) -> bool:
    """Whether an array is all that lies in the memory it keeps, but for what `empty` adds to place it."""
    base = array.base
    return base is None or isinstance(base, np.ndarray) and base.nbytes <= array.nbytes + _LINE
