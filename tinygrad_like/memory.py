"""Keep freed memory in the process, so that the next training step finds its buffers warm.

By default glibc gives every freed block of over 128 KiB straight back to the system, and the next step's same-sized
block is mapped and zeroed anew, page by page: half the time of a step of a 784-512-512-10 MLP. With the thresholds
raised, the blocks stay in the heap. It takes less code than a pool of arrays in the engine, covers every array, and
costs no peak memory.

Set the environment variable TINYGRAD_LIKE_MALLOC=default to leave the allocator alone. Without glibc nothing is done.
"""

import ctypes
import os

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
