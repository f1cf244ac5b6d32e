"""Run kernels on threads: our own pool, which calls parts of a kernel by address.

A parallel region is a piece of code, called once for every task, 0 ... tasks - 1. The thread that opens it does tasks
until none is left, and workers of the pool may join meanwhile. Then it closes the region, and waits only for workers
that have joined, never for a thread that the system has not given a core yet. Other pools do, which makes them slow on
a busy machine: a step can take 100 times as long, since each of its regions waits until the other thread is scheduled.
Results do not depend, even in the last bit, on which thread does a task.

An idle worker spins for a moment, since the next region usually follows within microseconds, and yields to other
processes meanwhile; then it sleeps on a lock until it is woken. Threads communicate through a small block of memory,
the board, whose lines have separate cache lines, against false sharing.
"""

import atexit
import ctypes
import math
import os
import threading
from pathlib import Path

import numpy as np

from ..core.listener import observe
from .atomics import add, call, exchange, get, pause, put, sleep, yield_core
from .cache import compiled
from .simd import inner

# The board: offsets in bytes. A line is 128 bytes, since processors fetch cache lines in pairs.
LINE = 128
_GATE = 0 * LINE  # number of the region << 32 | how many workers may join << 16 | how many did
_JOB = 1 * LINE  # address of the code, of its record, number of tasks, number of threads
_LEFT = 2 * LINE  # how many workers have left the region
_FAILED = 3 * LINE  # whether a task failed
_STOP = 4 * LINE  # whether workers are to end
ALONE = 5 * LINE  # whether no worker joined the last region
_RANGES = 6 * LINE  # a line for each thread: the number of tasks taken from its range
MOST = 256  # threads that there is room for
COUNTERS = _RANGES + MOST * LINE  # two times as many lines, which are 0 when a call of `program` starts
GRAIN = COUNTERS + 2 * MOST * LINE  # nanoseconds of work that are worth a thread
COUNT, RESTING = GRAIN + 8, GRAIN + 16  # threads that kernels may use; whether a worker may be asleep or not started
SEVERAL, GROUP = GRAIN + 24, GRAIN + 32  # the code that runs calls side by side, and its record
BUSY = GRAIN + LINE  # whether a thread is using the pool: one at a time, or two would compete

_SPINS = 4000  # turns that a worker waits for a region, about a millisecond, before it sleeps
_PATIENT = 200  # turns after which a waiting thread yields at every turn


@inner
def take(ranges, worker, workers, tasks):
    """The next task for one of several workers: of its own range, or else stolen from another's; -1 if none is left.

    ranges: the address of a line for every worker, with a count that is 0 at first. Without stealing, all would wait
    for the slowest, and other processes often slow a core down.
    """
    for offset in range(workers):
        owner = (worker + offset) % workers
        first, last = owner * tasks // workers, (owner + 1) * tasks // workers
        if first + get(ranges + owner * LINE) < last:
            task = first + add(ranges + owner * LINE, 1)
            if task < last:
                return task
    return -1


@inner
def _work(board, worker):
    """Do tasks of the open region until none is left."""
    code, record = get(board + _JOB), get(board + _JOB + 8)
    tasks, workers = get(board + _JOB + 16), get(board + _JOB + 24)
    task = take(board + _RANGES, worker, workers, tasks)
    while task >= 0:
        if call(code, record, task, tasks) != 0:
            put(board + _FAILED, 1)
        task = take(board + _RANGES, worker, workers, tasks)


@inner
def region(board, code, record, tasks, workers):
    """Call the code at an address with (record, task, tasks) for every task, on so many threads.

    The code is a compiled function that returns 0, or another number if it ran out of memory, its only way to fail.
    Returns whether a task failed. The caller has made the board `BUSY`.
    """
    failed = 0
    if workers <= 1 or tasks <= 1:
        for task in range(tasks):
            failed |= call(code, record, task, tasks)
    else:
        put(board + _JOB, code)
        put(board + _JOB + 8, record)
        put(board + _JOB + 16, tasks)
        put(board + _JOB + 24, workers)
        put(board + _LEFT, 0)
        put(board + _FAILED, 0)
        for worker in range(workers):
            put(board + _RANGES + worker * LINE, 0)
        number = ((get(board + _GATE) >> 32) + 1) & 0x3FFFFFFF
        put(board + _GATE, number << 32 | (workers - 1) << 16)
        _work(board, 0)
        gate = get(board + _GATE)
        while True:  # close it: no more may join
            joined = gate & 0xFFFF
            before = exchange(board + _GATE, gate, number << 32 | joined << 16 | joined)
            if before == gate:
                break
            gate = before
        put(board + ALONE, joined == 0)
        turns = 0
        while get(board + _LEFT) != joined:
            turns += 1
            if turns > _PATIENT:
                yield_core()
            pause()
        failed = get(board + _FAILED)
    return failed != 0


@inner
def acquire(board):
    """Wait until no other thread has the board, and take it. Waiting soon becomes sleep: its owner needs the cores."""
    turns = 0
    while exchange(board + BUSY, 0, 1) != 0:
        turns += 1
        if turns > _PATIENT:
            sleep()
        pause()


@compiled()
def _serve(board, spins):
    """Join regions until none has opened for so many turns."""
    done, turn = -1, 0
    while turn < spins and get(board + _STOP) == 0:
        gate = get(board + _GATE)
        number, room, joined = gate >> 32, gate >> 16 & 0xFFFF, gate & 0xFFFF
        if number != done and joined < room and exchange(board + _GATE, gate, gate + 1) == gate:
            _work(board, joined + 1)
            add(board + _LEFT, 1)
            done, turn = number, 0
        turn += 1
        if turn > _PATIENT:
            yield_core()
        pause()
    return 0


class _Worker(threading.Thread):
    """One thread of the pool: serves, and sleeps until it is woken."""

    def __init__(self, board: int):
        super().__init__(name="tinygrad_like kernels", daemon=True)
        self.board, self.asleep, self.lock = board, False, threading.Lock()
        self.lock.acquire()

    def run(self) -> None:
        while not _stopped:
            _serve.call(self.board, _SPINS)
            self.asleep = True  # the lock is taken whenever this becomes true, and released whenever it becomes false
            _resting.value = True
            self.lock.acquire()

    def wake(self) -> None:
        if self.asleep:
            self.asleep = False
            self.lock.release()


def _allowed() -> int:
    """The number of cores that this process may use: its affinity, and the quota of its control group, if any."""
    cores: float = most
    if "NUMBA_NUM_THREADS" not in os.environ:
        try:
            quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
            cores = min(cores, math.ceil(int(quota) / int(period)))
        except (OSError, ValueError):
            pass  # no control groups, or no quota ("max")
    return max(1, int(cores))


_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
most: int = max(1, min(int(os.environ.get("NUMBA_NUM_THREADS", _cores)), MOST))  # the limit of set_num_threads
count: int = _allowed()  # threads that kernels may use, the caller's included

# Held while the pool changes or a kernel compiles. Reentrant, since a signal handler may run a kernel between two
# bytecodes of the thread that holds it.
pool = threading.RLock()

_stopped = False
_workers: list[_Worker] = []
_memory = np.zeros(BUSY + 2 * LINE, np.uint8)  # kept alive, so that its address stays valid
board: int = -(-_memory.ctypes.data // LINE) * LINE
_alone, grain, _count, _resting, several = (
    ctypes.c_int64.from_address(board + place) for place in (ALONE, GRAIN, COUNT, RESTING, SEVERAL))
grain.value = 1500  # about the time to open a region and to join it
_alone.value, _count.value, _resting.value = 1, count, True


def wake_workers() -> None:
    """Wake the workers, or start them. Nothing waits for a worker that wakes too late for a region.

    The caller holds `pool`.
    """
    _resting.value = _alone.value = 0
    # Compile here, not in a worker: a process forked meanwhile would inherit numba's lock, locked.
    _serve.call  # noqa: B018
    while len(_workers) < count - 1:
        worker = _Worker(board)
        try:
            worker.start()
        except RuntimeError:  # the system cannot start another thread
            break
        _workers.append(worker)
    for worker in _workers[: count - 1]:
        worker.wake()


def most_threads() -> int:
    return most


def set_num_threads(n: int) -> None:
    """Use n threads for kernels, 1 <= n <= the number of cores at start (or NUMBA_NUM_THREADS, if set).

    Raises ValueError for any other n.
    """
    global count
    if isinstance(n, bool) or not isinstance(n, int) or not 1 <= n <= most:
        raise ValueError(
            f"set_num_threads: n must be an integer from 1 to {most}, the number of cores, got {n!r}; "
            "the environment variable NUMBA_NUM_THREADS sets another limit before the program starts"
        )
    observe("the number of threads")
    with pool:
        count = _count.value = n
        _resting.value = _alone.value = 1


def get_num_threads() -> int:
    """The number of threads that kernels may use."""
    observe("the number of threads")
    return count


def _stop() -> None:
    """End the workers before the interpreter ends: no thread may still run compiled code then."""
    global _stopped, count
    with pool:
        _stopped, count, _count.value = True, 1, 1
        _memory.view(np.int64)[(board + _STOP - _memory.ctypes.data) // 8] = 1
    for worker in _workers:
        while worker.is_alive():
            worker.wake()
            worker.join(0.01)


def _after_fork() -> None:
    """A fork does not copy threads: the child starts with one, and may start more."""
    global count, pool, _stopped
    count, pool, _stopped = 1, threading.RLock(), False
    _workers.clear()
    kept = grain.value, several.value
    _memory[:] = 0
    grain.value, several.value = kept
    _count.value = _resting.value = _alone.value = 1


atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
