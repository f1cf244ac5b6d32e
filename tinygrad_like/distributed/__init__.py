"""Data-parallel training on several machines: the ranks of an MPI job, one process each, sum their gradients.

    mpiexec -n 4 python -m demos.train --model resnet8
    mpiexec -hosts node1,node2 -n 2 python script.py

`fit` does all of this by itself. In your own loop, each rank reads its rows of every batch:

    distributed.broadcast(model)                             # rank 0's weights for all
    loader = DataLoader(x, y, batch_size=256, shuffle=True, shard=(distributed.rank, distributed.size))
    for x, y in loader:
        optimizer.zero_grad()
        (criterion(model(x), y) * len(y)).backward()         # a sum, not a mean: ranks may have different counts
        distributed.average_gradients(model, len(y))         # divides by the count of all ranks
        optimizer.step()

Without MPI there is one process, rank 0 of 1, and the same script works. docs/distributed.md has more.
"""

from . import group
from .agreement import check_equal_weights, check_same, code_version, layout, tensors_of
from .ending import fail
from .gradients import average_gradients, broadcast
from .group import Group, all_gather, all_reduce, alone, barrier, from_rank_0, init

__all__ = [
    "Group", "all_gather", "all_reduce", "alone", "average_gradients", "barrier", "broadcast", "check_equal_weights",
    "check_same", "code_version", "fail", "from_rank_0", "init", "layout", "rank", "size",
    "tensors_of",
]


def __getattr__(name: str) -> int:
    """`rank`, this process's number from 0, and `size`, the number of processes, as names of this module."""
    if name in ("rank", "size"):
        return getattr(group.init(), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
