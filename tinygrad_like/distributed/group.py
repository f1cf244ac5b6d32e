"""The processes of an MPI job, called ranks, and their messages. Without MPI there is one, rank 0 of 1."""

from __future__ import annotations

import math
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.graph import mode, setting
from ..dtypes import wide
from ..environment import require
from ..ops import collective
from ..transforms.switches import get_num_threads, set_num_threads

# Environment variables of launchers: MPICH, Intel MPI and Slurm's PMI; Open MPI; Slurm's PMIx.
SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")
STARTED = (*SIZES, "PMI_RANK", "PMIX_RANK")
mode.declare(alone=False)  # whether, in this thread, this rank's numbers count as the sum over ranks


@dataclass(frozen=True)
class Group:
    """This process's `rank`, the number of processes, `size`, and, with several, mpi4py's communicator, `comm`.

    crowded: whether there are more ranks than cores. MPI waits by polling; a polling rank keeps the rank it waits for
    off its core until the system switches, a hundred times longer than a reduction takes.
    """

    rank: int = 0
    size: int = 1
    comm: Any = None
    crowded: bool = False


_group: Group | None = None


def init(strict: bool = False) -> Group:
    """Join the other processes, if mpiexec, srun or the like started this one; the names `rank` and `size` call it too.

    Each rank's kernels then use its share of the machine's cores, unless NUMBA_NUM_THREADS says otherwise, and an
    uncaught exception on one rank ends the job. strict: import MPI even without signs of a launcher. Further calls
    return the same Group.

    Raises ImportError without mpi4py, and RuntimeError if mpiexec and mpi4py belong to different MPIs.
    """
    global _group
    if _group is None:
        if not strict and "mpi4py.MPI" not in sys.modules and not any(name in os.environ for name in STARTED):
            _group = Group()
        else:
            _group = _joined()
    return _group


def _joined() -> Group:
    require("distributed.init in a process that was started by MPI", "mpi4py")
    import mpi4py

    mpi4py.rc.thread_level = "serialized"  # like the next, without effect if MPI is already imported
    mpi4py.rc.finalize = False  # a process that ends without it ends the job: see ending.py
    from mpi4py import MPI

    comm = MPI.COMM_WORLD.Dup()  # keeps the program's own messages apart from ours
    expected = max(int(os.environ.get(name, 1)) for name in SIZES)
    if comm.size == 1 < expected:
        version = MPI.Get_library_version().split("\n")[0].strip()
        raise RuntimeError(f"distributed.init: {expected} processes were started, but each is alone: mpiexec does not "
                           f"belong to mpi4py's MPI ({version}); use the mpiexec next to {sys.executable}, or build "
                           "mpi4py with the cluster's MPI")
    from .ending import watch

    watch(comm)
    if comm.size == 1:
        return Group()
    share = _share_of_cores(comm)
    if "NUMBA_NUM_THREADS" not in os.environ:
        set_num_threads(max(1, int(share)))
    return Group(comm.rank, comm.size, comm, bool(comm.allreduce(share < 1, MPI.LOR)))


def _share_of_cores(comm: Any) -> float:
    """Cores / ranks on this machine. Launchers may bind a rank to its own cores, which it need not share."""
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(get_num_threads()))
    hosts = comm.allgather((platform.node(), sorted(mine)))
    here = [cores for host, cores in hosts if host == platform.node()]
    share = sum(1 / sum(core in cores for cores in here) for core in mine)
    return min(1.0, get_num_threads() / len(mine)) * share + 1e-9  # count is less if there is a quota


def reduce_in_place(x: np.ndarray, op: str = "sum") -> None:
    """Replace x, an array in C order, by the sum, "max" or "min" over a job's ranks; only for several ranks."""
    if not mode.alone:
        from mpi4py import MPI

        group, given = init(), (MPI.IN_PLACE, x, getattr(MPI, op.upper()))
        request = group.comm.Iallreduce(*given) if group.crowded else group.comm.Allreduce(*given)
        while request is not None and not request.Test():
            time.sleep(2e-5)


def alone() -> setting:
    """A context in which this rank's numbers count as the sum: other ranks do not take part."""
    return setting("alone", True)


# Collective operations: every rank must call them, in the same order --------------------------------------------------


def barrier() -> None:
    """Wait for all ranks."""
    if init().size > 1:
        init().comm.Barrier()


def all_reduce(x: Any, op: str = "sum") -> np.ndarray:
    """The sum, "max" or "min" of the ranks' arrays (or numbers) of one shape and dtype, as a new array, on all ranks.

    For Tensors, with a gradient, there is `ops.all_sum`. Raises ValueError for another `op`.
    """
    if op not in ("sum", "max", "min"):
        raise ValueError(f"all_reduce: op={op!r} must be 'sum', 'max' or 'min'")
    out = np.array(x, order="C")
    dtype = out.dtype
    out = out.astype(wide(dtype), copy=False)
    if init().size > 1:
        reduce_in_place(out, op)
    return out.astype(dtype, copy=False)


collective.all_reduce, collective.ranks = all_reduce, lambda: init().size


def all_gather(x: Any) -> np.ndarray:
    """The ranks' arrays joined along axis 0, in the order of ranks, on all ranks; lengths along it may differ."""
    x = np.ascontiguousarray(x)
    if init().size == 1:
        return x.copy()
    parts = init().comm.allgather((x.shape, x.dtype))
    (_, *rest), dtype = next((part for part in parts if part[0][0]), parts[0])
    row, lengths = math.prod(rest) * dtype.itemsize, [shape[0] for shape, _ in parts]
    out = np.empty((sum(lengths), *rest), dtype)
    sent, came = (a.reshape(-1).view(np.uint8) for a in (x.astype(dtype, copy=False), out))  # MPI has no 16 bits
    init().comm.Allgatherv(sent, [came, [n * row for n in lengths]])
    return out


def from_rank_0(make: Callable[[], Any]) -> Any:
    """Call `make` on rank 0 only, and return its result on all ranks. If it raises, all ranks raise."""
    group = init()
    if group.size == 1:
        return make()
    result, error = None, None
    if group.rank == 0:
        try:
            result = make()
        except Exception as raised:
            error = raised
    result, error = group.comm.bcast((result, error))
    if error is not None:
        raise error
    return result
