"""Communication in training: rank 0's state at the start, and the gradients of each step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import accumulate
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from .. import ops, random
from ..core.listener import observe
from ..core.tensor import Tensor, wrap
from ..transforms.switches import no_grad
from .agreement import check_same, layout, tensors_of
from .group import init, reduce_in_place

_LINE = 64  # bytes: every gradient starts at a cache line


def broadcast(*parts: Any) -> None:
    """Send rank 0's state of modules, optimizers, anything else with a state_dict, and the generator to all ranks.

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


def average_gradients(model: Any, count: float | None = None, extra: Iterable[float] = ()) -> np.ndarray:
    """Replace every parameter's gradient by the mean over all ranks: sum over ranks of p.grad / sum of `count`.

    count: the number of labels behind this rank's gradients, which must be gradients of a sum: call backward on `loss *
    count` if the loss is a mean. 0 for a rank without data, which needs no gradients. Without it, nothing is divided.
    With accumulation, call it once per step, with the count of all batches. extra: numbers to sum over the ranks in the
    same message; returns the sums, an array. A gradient that no rank has stays None; where some ranks lack it, they
    count as zeros. Running statistics of a BatchNorm that is not a SyncBatchNorm become their mean over ranks, weighted
    by `count`.

    All gradients lie in one array, in the order of `model.parameters()`, and a single call reduces them.
    Raises ValueError for a count that is negative or not finite.
    """
    if count is not None and not 0 <= count < math.inf:
        raise ValueError(f"average_gradients: count={count!r} must be a finite number >= 0")
    numbers, weight = np.asarray([*extra], np.float64), 1 if count is None else float(count)
    if numbers.size:
        observe("the sums of `extra` of average_gradients", None, "call it outside")
    params = [p for p in model.parameters() if p.requires_grad]
    if init().size == 1:
        with no_grad():
            for p in params if count is not None else ():
                if p.grad is not None:
                    p.grad.mul_(_inverse(weight))
        return numbers
    _agree(model, params)
    statistics = [t for m in model.modules() for t in getattr(m, "local_statistics", ())]
    dtype = np.result_type(np.float32, *(p.dtype for p in params))
    line = _LINE // dtype.itemsize
    *starts, end = accumulate([-(-t.size // line) * line for t in (*params, *statistics)], initial=0)
    flat = np.zeros(end + len(params) + numbers.size + 1, dtype)
    views = [flat[i:i + t.size].reshape(t.shape) for i, t in zip(starts, (*params, *statistics), strict=True)]
    gradients, means = views[:len(params)], views[len(params):]
    for p, view in zip(params, gradients, strict=True):
        view[...] = 0 if p.grad is None else p.grad._data
    for t, view in zip(statistics, means, strict=True):
        np.multiply(t._data, weight, out=view)
    flat[end:] = [*(p.grad is not None for p in params), *numbers, weight]
    reduce_in_place(flat)
    there, total = flat[end:end + len(params)], float(flat[-1])
    if count is not None:
        flat[:end] *= _inverse(total)
    for t, view in zip(statistics, means, strict=True):
        if total:
            np.multiply(view, 1 if count is not None else 1 / total, out=t._data, casting="same_kind")
        t.touch()
    for p, view, has in zip(params, gradients, there, strict=True):
        p.grad = None if not has else wrap(view) if view.dtype == p.dtype else ops.cast(wrap(view), dtype=p.dtype)
    return flat[end + len(params):-1].astype(np.float64)


def _inverse(count: float) -> float:
    """1 / count, or 0 for 0."""
    return 1 / count if count else 0


_agreed: WeakKeyDictionary[Any, list[int]] = WeakKeyDictionary()


def _agree(model: Any, params: list[Tensor]) -> None:
    """Raise ValueError, on all ranks, if they train different parameters; checked when these are new."""
    if _agreed.get(model) != (trained := [id(p) for p in params]):
        names = {id(p): name for name, p in model.named_parameters()}
        check_same({"the parameters that are trained": layout({names[id(p)]: p for p in params})})
        _agreed[model] = trained
