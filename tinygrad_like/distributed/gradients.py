"""Sharing between ranks in training: rank 0's state at the start, and the gradients of each step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import ops, random
from ..core.graph import mode
from ..core.listener import effect, observe, tell
from ..core.tensor import Tensor, wrap
from .agreement import check_same, layout, tensors_of
from .group import init, reduce_in_place

_LINE = 64  # bytes: every gradient begins at a cache line


def broadcast(*parts: Any) -> None:
    """Give all ranks rank 0's state of modules, optimizers and all else that has a state_dict, and of the generator.

        distributed.broadcast(model, optimizer)

    Raises ValueError, on all ranks, if the models differ in the names, shapes or dtypes of their Tensors.
    """
    comm = init().comm
    if comm is None:
        return
    observe("broadcast", None, "call it outside")
    for part in parts:
        if hasattr(part, "named_parameters"):
            tensors = tensors_of(part)
            check_same({"the model": layout(tensors)})
            for t in tensors.values():
                data = np.ascontiguousarray(t._data)
                comm.Bcast(data.reshape(-1).view(np.uint8))  # MPI has no 16 bits
                t._data[...] = data
                t.touch()
        else:
            state = comm.bcast(part.state_dict() if comm.rank == 0 else None)
            if comm.rank:
                part.load_state_dict(state)
    random.set_rng_state(comm.bcast(random.get_rng_state()))


def average_gradients(model: Any, count: float | Tensor | None = None, extra: Iterable[float] | Tensor = ()) -> Any:
    """Make the gradient of every parameter that of the mean over all ranks: sum over ranks of p.grad / sum of `count`.

    count: how many labels this rank's gradients, which must be of a sum over them, belong to: call backward on
        `loss * count` if the loss is a mean. 0 for a rank without data, which need not have gradients. If it is left
        out, nothing is divided. With accumulation, call it once per step, with the count of all batches.
    extra: numbers, or a Tensor of them, that are added up over the ranks in the same message; the sums are returned,
        as an array of float64, or as a Tensor.

    A gradient that no rank has stays None; one that some lack counts as zeros there. Running statistics that ranks take
    from their own part of a batch (those of a BatchNorm that is not a SyncBatchNorm) become their mean, by `count`.

    All gradients are parts of one array, in the order of `model.parameters()`, and are reduced by one call; the array
    is kept, so a gradient is valid until the next call. In a captured function, a count or numbers that differ from
    call to call must be Tensors.
    Raises ValueError for a count that is negative or not finite.
    """
    if count is not None and not isinstance(count, Tensor) and not 0 <= count < math.inf:
        raise ValueError(f"average_gradients: count={count!r} must be a finite number >= 0")
    numbers = extra._data if isinstance(extra, Tensor) else np.asarray([*extra], np.float64)
    if numbers is not getattr(extra, "_data", None) and numbers.size:
        observe("the sums of `extra` of average_gradients", None, "give the numbers as a Tensor")
    tell("constant", "average_gradients", count is None if isinstance(count, Tensor) else count)
    counted = count._data if isinstance(count, Tensor) else count
    if init().size == 1:
        totals = numbers if mode.listener is None else ops.clone(wrap(numbers))._data
        if count is not None:
            _divide([(p, p.grad) for p in model.parameters() if p.grad is not None], counted)
    else:
        totals = np.empty_like(numbers)
        _reduction_of(model, numbers.size)(counted, numbers, totals)
    return wrap(totals) if isinstance(extra, Tensor) else totals


def _divide(params: list[tuple[Tensor, Tensor]], count: Any) -> None:
    if mode.listener is None:
        for p, g in params:
            p.grad = wrap(g._data * _inverse(count))
        return
    for p, _ in params:
        mode.listener.tell("gradient", p)
    gradients = [g._data for _, g in params]
    effect("average_gradients", _divide_in_place, gradients, count, writes=gradients)


def _divide_in_place(gradients: list[np.ndarray], count: Any) -> None:
    for g in gradients:
        g *= _inverse(count)


def _inverse(count: Any) -> float:
    """1 / count, or 0 for 0."""
    return 1 / float(count) if count else 0


class _Reduction:
    """One flat array: all gradients, running statistics, whether each gradient is there, extra numbers, the count."""

    def __init__(self, params: list[Tensor], statistics: list[Tensor], extra: int):
        self.params, self.statistics = params, statistics
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

    def __call__(self, count: Any, extra: np.ndarray, totals: np.ndarray) -> None:
        """Reduce the gradients and other numbers, which `totals` receives."""
        divide, count = count is not None, 1 if count is None else float(count)
        for p, view in zip(self.params, self.gradients, strict=True):
            if p.grad is None:
                view.fill(0)
            elif p.grad._data is not view:
                view[...] = p.grad._data
        for view, t in zip(self.means, self.statistics, strict=True):
            np.multiply(t._data, count, out=view)
        self.there[:] = [p.grad is not None for p in self.params]
        self.numbers[:], self.count[:] = extra.reshape(-1), count
        reduce_in_place(self.flat)
        total = float(self.count[0])
        if divide:
            self.flat[:self.summed] *= _inverse(total)
        for view, t in zip(self.means, self.statistics, strict=True):
            if total:
                np.multiply(view, 1 if divide else 1 / total, out=t._data, casting="same_kind")
            t.touch()
        totals[...] = self.numbers.reshape(totals.shape)
        for p, view, there in zip(self.params, self.gradients, self.there, strict=True):
            p.grad = None if not there else wrap(view) if view.dtype == p.dtype else ops.cast(wrap(view), dtype=p.dtype)


_reductions: WeakKeyDictionary[Any, dict[tuple, _Reduction]] = WeakKeyDictionary()


def _reduction_of(model: Any, extra: int) -> _Reduction:
    """The array for these parameters of the model; ranks agree on it when it is made, while all of them run Python."""
    params = [p for p in model.parameters() if p.requires_grad]
    statistics = [t for m in model.modules() for t in getattr(m, "local_statistics", ())]
    kept = _reductions.setdefault(model, {})
    key = extra, *[(id(t), t.dtype) for t in (*params, *statistics)]
    if key not in kept:
        names = {id(p): name for name, p in model.named_parameters()}
        check_same({"the parameters that are trained": layout({names[id(p)]: p for p in params})})
        kept[key] = _Reduction(params, statistics, extra)
    return kept[key]


def _aligned(size: int, dtype: np.dtype) -> np.ndarray:
    memory = np.zeros(size * dtype.itemsize + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start:start + size * dtype.itemsize].view(dtype)
