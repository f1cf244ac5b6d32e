"""PyTorch's `torch.func`: functions to functions, under its names, and vmap.

`vmap` calls the function once for each element of the batch and stacks the results: what it gives, and its gradients of
any order, are those of a batch, but the time is that of a loop. Where an op takes batches itself, that is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import ops, random
from ..core.tensor import Tensor
from ..nn import functional_call
from ..transforms.derivatives import grad, hessian, jacobian, jvp, value_and_grad, vjp

__all__ = ["functional_call", "grad", "hessian", "jacrev", "jvp", "value_and_grad", "vjp", "vmap"]


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable:
    """The function that applies func to each element of a batch, which lies along in_dims of each argument.

    in_dims: an axis, None for an argument that is the same for all, or a tuple of these, one for each argument; an
    argument may be a dict, list or tuple of Tensors. out_dims: the axis along which results are stacked. Arguments
    given by name are the same for all. randomness: with "same" every element draws the same numbers, else its own.

    Raises TypeError for what is no Tensor where in_dims names an axis, and ValueError if batches have different sizes
    or there is none.
    """
    if not callable(func):
        raise TypeError(f"vmap: takes a function of Tensors, got {type(func).__name__}")
    if not isinstance(randomness, str) or randomness not in ("error", "different", "same"):
        raise ValueError(f"vmap: randomness={randomness!r} must be 'error', 'different' or 'same'")

    def mapped(*args: Any, **options: Any) -> Any:
        sizes: set[int] = set()
        element = _elements(args, in_dims, sizes)
        if len(sizes) != 1:
            raise ValueError(f"vmap: the batches have sizes {sorted(sizes) or 'of none'}; at least one argument must "
                             "have one, and all must agree")
        state = random.get_rng_state()
        results = []
        for i in range(sizes.pop()):
            if randomness == "same":
                random.set_rng_state(state)
            results.append(func(*element(i), **options))
        if not results:
            raise ValueError("vmap: the batch is empty, so what func gives is not known")
        return _stacked(results, out_dims)

    return mapped


def _elements(x: Any, axis: Any, sizes: set[int]) -> Callable[[int], Any]:
    """The function i -> element i of what x holds; to `sizes` is added how many elements there are."""
    if isinstance(x, dict):
        parts = {name: _elements(part, _axis_of(axis, name), sizes) for name, part in x.items()}
        return lambda i: {name: element(i) for name, element in parts.items()}
    if isinstance(x, list | tuple):
        given = [_elements(part, a, sizes) for part, a in zip(x, _spread("in_dims", axis, len(x)), strict=True)]
        make = x._make if hasattr(x, "_make") else type(x)
        return lambda i: make([element(i) for element in given])
    if axis is None:
        return lambda i: x
    if not isinstance(x, Tensor):
        raise TypeError(f"vmap: an argument with the axis {axis!r} in in_dims is no Tensor, but {type(x).__name__}; "
                        "with None in its place it is the same for all")
    axis = ops.axes.one_axis("vmap", axis, x.ndim)
    sizes.add(x.shape[axis])
    return lambda i: ops.getitem(x, (slice(None),) * axis + (i,))


def _axis_of(axis: Any, name: Any) -> Any:
    if isinstance(axis, dict) and name not in axis:
        raise ValueError(f"vmap: in_dims says nothing of {name!r}; it has {list(axis)}")
    return axis[name] if isinstance(axis, dict) else axis


def _spread(what: str, axis: Any, n: int) -> Any:
    """An axis for each of n parts."""
    if not isinstance(axis, list | tuple):
        return (axis,) * n
    if len(axis) != n:
        parts = "arguments" if what == "in_dims" else "results"
        raise ValueError(f"vmap: {what} has {len(axis)} entries for {n} {parts}")
    return axis


def _stacked(results: list, axis: Any) -> Any:
    first = results[0]
    if isinstance(first, dict):
        return {name: _stacked([r[name] for r in results], axis[name] if isinstance(axis, dict) else axis)
                for name in first}
    if isinstance(first, list | tuple):
        parts = [_stacked(list(part), a) for part, a in
                 zip(zip(*results, strict=True), _spread("out_dims", axis, len(first)), strict=True)]
        return first._make(parts) if hasattr(first, "_make") else type(first)(parts)
    if axis is None:
        return first
    if not isinstance(first, Tensor):
        raise TypeError(f"vmap: func must give Tensors, got {type(first).__name__}; with None as its out_dims a result "
                        "is that of the first element")
    return ops.stack(*results, axis=ops.axes.one_axis("vmap", axis, first.ndim + 1))


jacrev = jacobian
