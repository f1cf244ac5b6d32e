"""Ending an MPI job when one rank fails: on all ranks, with one report.

A rank that stops while the others wait for it in a collective operation would leave them waiting forever. MPI ends a
job in which a process dies, or ends without MPI_Finalize. So that is called only when every rank has come to its end.
An error that all ranks have, such as a wrong option, is reported by the first of them; one that the others do not have
by its own rank, which then aborts the job. Python does not tell of `raise SystemExit`, but `sys.exit` does.
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

PATIENCE = 1.0  # seconds in which an error that all ranks have should have come to all of them


class _Watch:
    """This rank's last message, when it ends."""

    comm: Any = None
    leaving: Any = None  # the request of a reduction that all ranks join at their end
    first = np.zeros(1, np.int64)  # its result: the first rank with an error, or how many ranks there are
    status: Any = None  # with which it leaves, as far as that is known


def watch(comm: Any) -> None:
    """From now on, this rank's uncaught exceptions, and its end with a status other than 0, end the job."""
    _Watch.comm = comm.Dup()
    before, leave = sys.excepthook, sys.exit

    def excepthook(kind: Any, error: Any, trace: Any) -> None:
        fail(lambda: before(kind, error, trace))

    def remembered(status: Any = None) -> None:
        _Watch.status = status
        leave(status)

    if comm.size > 1:
        sys.excepthook, sys.exit = excepthook, remembered  # type: ignore[assignment]
    atexit.register(_end)


def fail(report: Callable[[], Any] | str, status: int = 1, patience: float = PATIENCE) -> None:
    """Report an error of this rank, and end the job if others go on; the caller is to end this process in any case.

    report: what to print, or a function that does. Without MPI that is all. patience: how long to wait for the others.
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
    """Whether all ranks come to their end within this time."""
    if _Watch.leaving is None:
        from mpi4py import MPI

        _Watch.leaving = _Watch.comm.Iallreduce(np.array([error]), _Watch.first, MPI.MIN)
    end = time.monotonic() + seconds
    while not (done := _Watch.leaving.Test()) and time.monotonic() < end:
        time.sleep(0.002)
    return done


def _end() -> None:
    """At exit: wait for the others, which may be busy; abort if they go on, and this rank has failed."""
    from mpi4py import MPI

    if MPI.Is_finalized():
        return
    comm, status = _Watch.comm, _Watch.status
    if status in (None, 0) or _Watch.leaving is not None:
        _met(comm.size, math.inf)
    elif not _met(comm.rank, 2 * PATIENCE):
        fail(f"this process has ended, with status {status!r}", status if isinstance(status, int) else 1, patience=0)
    MPI.Finalize()
