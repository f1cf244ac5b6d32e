"""End an MPI job when one rank fails: on all ranks, with one report.

A rank that stops while the others wait for it in a collective operation would leave them waiting forever. MPI ends a
job in which a process dies, or ends without MPI_Finalize, so we call that only when every rank has finished. The first
rank reports an error common to all, such as a wrong option; any other error is reported by its own rank, which then
aborts the job. Python has no hook for `raise SystemExit`, only for `sys.exit`.
"""

from __future__ import annotations

import atexit
import math
import platform
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

PATIENCE = 1.0  # seconds within which a common error should reach all ranks
CTRL_C = 10.0  # the same for Ctrl-C, which goes to all ranks, though one of them may first have files to write


class _Watch:
    """How this rank ends, for the others to see."""

    comm: Any = None
    leaving: Any = None  # the request of a reduction that all ranks join at their end
    first = np.zeros(1, np.int64)  # its result: the first rank with an error, or the number of ranks
    status: Any = None  # its exit status, if known


def watch(comm: Any) -> None:
    """Make this rank's uncaught exceptions, and an exit status other than 0, end the job."""
    _Watch.comm = comm.Dup()
    before, leave = sys.excepthook, sys.exit

    def excepthook(kind: Any, error: Any, trace: Any) -> None:
        fail(lambda: before(kind, error, trace), patience=CTRL_C if issubclass(kind, KeyboardInterrupt) else PATIENCE)

    def remembered(status: Any = None) -> None:
        _Watch.status = status
        leave(status)

    if comm.size > 1:
        sys.excepthook, sys.exit = excepthook, remembered  # type: ignore[assignment]
    atexit.register(_end)


def fail(report: Callable[[], Any] | str, status: int = 1, patience: float = PATIENCE) -> None:
    """Report an error of this rank, and end the job if other ranks continue; the caller must end this process anyway.

    report: a text to print, or a function that prints. Without MPI, that is all. patience: how long to wait for others.
    """
    together, comm = True, _Watch.comm
    if comm is not None and comm.size > 1:
        together = _met(comm.rank, patience + PATIENCE * comm.rank / comm.size)  # one after another, if several fail
        if together and _Watch.first[0] != comm.rank:
            return
        if not together or comm.rank:
            print(f"rank {comm.rank} of {comm.size}, on {platform.node()}:", file=sys.stderr)
    try:
        sys.stdout.flush()
        if isinstance(report, str):
            print(report, file=sys.stderr)
        else:
            report()
    except BaseException:
        traceback.print_exc()
    sys.stderr.flush()
    if not together:
        comm.Abort(status)


def _met(error: int, seconds: float) -> bool:
    """Whether all ranks finish within this time."""
    if _Watch.leaving is None:
        from mpi4py import MPI

        _Watch.leaving = _Watch.comm.Iallreduce(np.array([error]), _Watch.first, MPI.MIN)
    end = time.monotonic() + seconds
    while not (done := _Watch.leaving.Test()) and time.monotonic() < end:
        time.sleep(0.002)
    return done


def _end() -> None:
    """At exit: wait for the other ranks, which may be busy; abort if this rank has failed and they continue."""
    from mpi4py import MPI

    if MPI.Is_finalized():
        return
    comm, status = _Watch.comm, _Watch.status
    if status in (None, 0) or _Watch.leaving is not None:
        _met(comm.size, math.inf)
    elif not _met(comm.rank, 2 * PATIENCE):
        fail(f"this process has ended, with status {status!r}", status if isinstance(status, int) else 1, patience=0)
    MPI.Finalize()
