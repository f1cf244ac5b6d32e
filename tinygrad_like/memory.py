"""What becomes of freed memory: it stays in the process for the next step. (Where arrays lie: `kernels/blocks.py`.)

By default glibc gives freed blocks of over 128 KiB back to the system, and those of the next step are mapped and zeroed
anew, page by page: half the time of a step of a 784-512-512-10 MLP. With the thresholds raised, they stay in the heap.
That covers every array, and costs no peak memory.

Set the environment variable TINYGRAD_LIKE_MALLOC=default to leave the allocator alone. Without glibc nothing is done.
"""

import ctypes
import os
import sys

import numpy as np

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
    if "tinygrad_like.kernels.blocks" in sys.modules:
        sys.modules["tinygrad_like.kernels.blocks"].emptied()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):
        pass


def fills(array: np.ndarray) -> bool:
    """Whether an array is all that lies in the memory it keeps."""
    base = array.base
    return base is None or isinstance(base, np.ndarray) and base.nbytes <= array.nbytes
