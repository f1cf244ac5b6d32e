"""PyTorch's `torch.func`: function transforms under its names, and vmap.

`vmap` calls the function once per element of the batch and stacks the results: values, and gradients of any order, are
those of a batch, but the time is a loop's. An op that takes batches itself is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import ops, random
from ..core.tensor import Tensor
from ..nn import functional_call
from ..transforms import derivatives
from ..transforms.derivatives import grad, hessian, jacobian, jvp, value_and_grad, vjp

__all__ = ["functional_call", "grad", "hessian", "jacrev", "jvp", "value_and_grad", "vjp", "vmap"]


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable:
    """The function that applies func to each element of a batch along in_dims of the arguments.

    in_dims: an axis, None for an argument shared by all elements, or a tuple of these, one per argument; an argument
    may be a dict, list or tuple of Tensors that all have this axis. out_dims: the axis along which to stack results.
    Named arguments are shared. randomness: with "same", every element draws the same numbers, else its own.

    Raises TypeError unless arguments with an axis in in_dims are Tensors, and ValueError if batches differ in size or
    there is none.
    """
    if not callable(func):
        raise TypeError(f"vmap: takes a function of Tensors, got {type(func).__name__}")
    if not isinstance(randomness, str) or randomness not in ("error", "different", "same"):
        raise ValueError(f"vmap: randomness={randomness!r} must be 'error', 'different' or 'same'")

    def mapped(*args: Any, **options: Any) -> Any:
        sizes: set[int] = set()
        dims = _each("in_dims", in_dims, len(args))
        for x, axis in zip(args, dims, strict=True):
            if axis is not None:
                derivatives._mapped(lambda part: sizes.add(np.shape(part)[_axis(part, axis)]), x)  # noqa: B023
        if len(sizes) != 1 or 0 in sizes:
            raise ValueError(f"vmap: the batches have sizes {sorted(sizes) or 'of none'}; at least one argument must "
                             "have one, which is not 0, and all must agree")
        state, results = random.get_rng_state(), []
        for i in range(sizes.pop()):
            if randomness == "same":
                random.set_rng_state(state)
            results.append(func(*[x if axis is None else derivatives._mapped(
                lambda part: ops.getitem(part, (slice(None),) * _axis(part, axis) + (i,)), x)  # noqa: B023
                for x, axis in zip(args, dims, strict=True)], **options))
        return _stacked(results, out_dims)

    return mapped


def _axis(x: Any, axis: int) -> int:
    if not isinstance(x, Tensor):
        raise TypeError(f"vmap: an argument with the axis {axis!r} in in_dims is not a Tensor, but {type(x).__name__}; "
                        "with None in its place it is the same for all")
    return ops.axes.one_axis("vmap", axis, x.ndim)


def _each(what: str, axis: Any, n: int) -> Any:
    """An axis for each of n parts."""
    axes = axis if isinstance(axis, list | tuple) else (axis,) * n
    if len(axes) != n:
        parts = "arguments" if what == "in_dims" else "results"
        raise ValueError(f"vmap: {what} has {len(axes)} entries for {n} {parts}")
    return axes


def _stacked(results: list, axis: Any) -> Any:
    """The results stacked, in their common structure."""
    first = results[0]
    if isinstance(first, dict):
        return {name: _stacked([r[name] for r in results], axis) for name in first}
    if isinstance(first, list | tuple):
        dims = _each("out_dims", axis, len(first))
        parts = [_stacked(list(part), a) for part, a in zip(zip(*results, strict=True), dims, strict=True)]
        return first._make(parts) if hasattr(first, "_make") else type(first)(parts)
    if axis is None:
        return first
    if not isinstance(first, Tensor):
        raise TypeError(f"vmap: func must give Tensors, got {type(first).__name__}; with None as its out_dims a result "
                        "is that of the first element")
    return ops.stack(*results, axis=ops.axes.one_axis("vmap", axis, first.ndim + 1))


jacrev = jacobian
