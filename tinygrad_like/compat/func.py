"""PyTorch's `torch.func`: functions to functions, under its names, and vmap.

`vmap` calls the function once for each element of the batch and stacks the results: what it gives, and its gradients of
any order, are those of a batch, but the time is that of a loop. Where an op takes batches itself, that is faster.
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
    """The function that applies func to each element of a batch, which lies along in_dims of each argument.

    in_dims: an axis, None for an argument that is the same for all, or a tuple of these, one for each argument; an
    argument may be a dict, list or tuple of Tensors, which have that axis all. out_dims: the axis along which results
    are stacked. Arguments given by name are the same for all. randomness: with "same" every element draws the same
    numbers, else its own.

    Raises TypeError for no Tensor where in_dims names an axis, and ValueError if batches have different sizes
    or there is none.
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
    """The results as one, in the form that each has."""
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
