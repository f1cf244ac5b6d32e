"""The threads that kernels run on: numba's pool, and no other.

A kernel takes the number of threads it may use, and splits its work into as many tasks or, if it is small, into one:

    with threads.pool:
        kernel(..., threads.count)

Inside the kernel, one task runs as a plain call, several in a `prange`. This matters beyond speed: it keeps kernels
usable where the pool is not, in a process made by `os.fork`.
"""

import os
import threading

import numba
from numba import config

if "NUMBA_THREADING_LAYER_PRIORITY" not in os.environ:
    # OpenMP starts a parallel region in 2 us, numba's own work queue in 17 us.
    config.THREADING_LAYER_PRIORITY = ["omp", "tbb", "workqueue"]

count: int = config.NUMBA_NUM_THREADS

# One parallel region at a time: two would compete for the same cores, and the work queue cannot be entered twice.
# Reentrant, since a signal handler may run a kernel between two bytecodes of the thread that holds it.
pool = threading.RLock()

_forked = False


def set_num_threads(n: int) -> None:
    """Let kernels use n threads, 1 <= n <= the size of numba's pool (all cores, or NUMBA_NUM_THREADS at start).

    Raises ValueError for any other n, and RuntimeError for n > 1 in a process made by os.fork, which has no pool.
    """
    global count
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= config.NUMBA_NUM_THREADS:
        raise ValueError(
            f"set_num_threads: {n!r} is no number of threads from 1 to {config.NUMBA_NUM_THREADS}, "
            "the size of the pool; the environment variable NUMBA_NUM_THREADS sets that size before the program starts"
        )
    if _forked:
        if n > 1:
            raise RuntimeError(
                "set_num_threads: a process made by os.fork has no thread pool and runs kernels on 1 thread; "
                "start it with multiprocessing's 'spawn' or 'forkserver' method to use more"
            )
        return
    numba.set_num_threads(n)
    count = n


def get_num_threads() -> int:
    """Number of threads that kernels may use."""
    return count


def _after_fork() -> None:
    """The threads of the pool are not copied to the child, and GNU OpenMP ends a child that calls for them."""
    global count, pool, _forked
    count, pool, _forked = 1, threading.RLock(), True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
