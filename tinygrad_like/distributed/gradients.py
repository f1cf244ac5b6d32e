"""What ranks share in training: rank 0's state at the start, and the gradients of each step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import random
from ..tensor import Tensor, wrap
from .agreement import check_same, layout, tensors_of
from .group import init

_LINE = 64  # bytes: every gradient begins at a cache line


def broadcast(*parts: Any) -> None:
    """Give all ranks rank 0's state of modules, optimizers and all else that has a state_dict, and of the generator.

        distributed.broadcast(model, optimizer)

    Raises ValueError, on all ranks, if the models differ in the names, shapes or dtypes of their Tensors.
    """
    comm = init().comm
    if comm is None:
        return
    for part in parts:
        if hasattr(part, "named_parameters"):
            tensors = tensors_of(part)
            check_same({"the model": layout(tensors)})
            for t in tensors.values():
                data = np.ascontiguousarray(t.data)
                comm.Bcast(data)
                t.data[...] = data
                t.touch()
        else:
            state = comm.bcast(part.state_dict() if comm.rank == 0 else None)
            if comm.rank:
                part.load_state_dict(state)
    random.set_rng_state(comm.bcast(dict(random.get_rng_state())))


def average_gradients(model: Any, count: float | None = None, extra: Iterable[float] = ()) -> np.ndarray:
    """Make the gradient of every parameter that of the mean over all ranks: sum over ranks of p.grad / sum of `count`.

    count: how many labels this rank's gradients, which must be of a sum over them, belong to: call backward on
        `loss * count` if the loss is a mean. 0 for a rank without data, which need not have gradients. If it is left
        out, nothing is divided. With accumulation, call it once per step, with the count of all batches.
    extra: numbers that are added up over the ranks in the same message; the sums are returned.

    A gradient that no rank has stays None; one that some lack counts as zeros there. Running statistics that ranks take
    from their own part of a batch (those of a BatchNorm that is not a SyncBatchNorm) become their mean, by `count`.

    All gradients are parts of one array, in the order of `model.parameters()`, and are reduced by one call; the array
    is kept, so a gradient is valid until the next call. Raises ValueError for a count that is negative or not finite.
    """
    if count is not None and not 0 <= count < math.inf:
        raise ValueError(f"average_gradients: count={count!r} must be a finite number >= 0")
    extra = np.asarray([*extra], np.float64)
    comm = init().comm
    if comm is None:
        if count is not None:
            for p in model.parameters():
                if p.grad is not None:
                    p.grad = wrap(p.grad.data * (1 / count if count else 0))
        return extra
    reduction = _reduction_of(model, len(extra))
    reduction.pack(count, extra)
    reduction.run(comm)
    return reduction.unpack(count is not None)


class _Reduction:
    """One flat array: all gradients, running statistics, whether each gradient is there, extra numbers, the count."""

    def __init__(self, params: list[Tensor], statistics: list[Tensor], extra: int):
        self.params, self.statistics, self.extra = params, statistics, extra
        dtype = np.result_type(np.float32, *(p.dtype for p in params))
        line, starts, end = _LINE // dtype.itemsize, [], 0
        for t in (*params, *statistics):
            starts.append(end)
            end += -(-t.size // line) * line
        self.summed = end  # as far as numbers are divided by the count
        self.flat = _aligned(end + len(params) + extra + 1, dtype)
        views = [self.flat[i:i + t.size].reshape(t.shape) for i, t in zip(starts, (*params, *statistics), strict=True)]
        self.gradients, self.means = views[:len(params)], views[len(params):]
        self.there = self.flat[end:end + len(params)]
        self.numbers, self.count = self.flat[end + len(params):-1], self.flat[-1:]

    def pack(self, count: float | None, extra: np.ndarray) -> None:
        for view, p, there in zip(self.gradients, self.params, range(len(self.params)), strict=True):
            self.there[there] = p.grad is not None
            if p.grad is None:
                view.fill(0)
            elif p.grad.data is not view:
                view[...] = p.grad.data
        for view, t in zip(self.means, self.statistics, strict=True):
            np.multiply(t.data, 1 if count is None else count, out=view)
        self.numbers[:], self.count[:] = extra, 1 if count is None else count

    def run(self, comm: Any) -> None:
        """The reduction: one call, which reads and writes `flat`."""
        from mpi4py import MPI

        comm.Allreduce(MPI.IN_PLACE, self.flat)

    def unpack(self, divide: bool) -> np.ndarray:
        total = float(self.count[0])
        if divide:
            self.flat[:self.summed] *= 1 / total if total else 0
        for p, view, there in zip(self.params, self.gradients, self.there, strict=True):
            p.grad = wrap(view if view.dtype == p.dtype else view.astype(p.dtype)) if there else None
        for t, view in zip(self.statistics, self.means, strict=True):
            if total:
                np.multiply(view, 1 if divide else 1 / total, out=t.data, casting="same_kind")
                t.touch()
        return self.numbers.astype(np.float64)


_reductions: WeakKeyDictionary[Any, _Reduction] = WeakKeyDictionary()


def _reduction_of(model: Any, extra: int) -> _Reduction:
    params = [p for p in model.parameters() if p.requires_grad]
    statistics = [t for m in model.modules() for t in getattr(m, "local_statistics", ())]
    kept = _reductions.get(model)
    if kept is None or kept.extra != extra or not _identical(kept.params + kept.statistics, params + statistics):
        names = {id(p): name for name, p in model.named_parameters()}
        check_same({"the parameters that are trained": layout({names[id(p)]: p for p in params})})
        kept = _reductions[model] = _Reduction(params, statistics, extra)
    return kept


def _identical(a: list, b: list) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def _aligned(size: int, dtype: np.dtype) -> np.ndarray:
    memory = np.zeros(size * dtype.itemsize + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start:start + size * dtype.itemsize].view(dtype)
