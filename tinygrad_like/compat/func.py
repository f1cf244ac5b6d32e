"""PyTorch's `torch.func`: functions to functions, under its names, and vmap.

`vmap` calls the function once for each element of the batch and stacks the results: what it gives, and its gradients of
any order, are those of a batch, but the time is that of a loop. Where an op takes batches itself, that is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from .. import ops, random
from ..core.tensor import Tensor
from ..transforms.derivatives import flatten, grad, hessian, jacobian, jvp, value_and_grad, vjp

__all__ = ["flatten", "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp",
           "stack_module_state", "value_and_grad", "vjp", "vmap"]


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


def grad_and_value(func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable:
    """The function (args) -> (df/dargs[argnums], f), in PyTorch's order; see `value_and_grad`."""
    both = value_and_grad(func, argnums, has_aux)
    return lambda *args, **options: both(*args, **options)[::-1]


def jacfwd(func: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """What `jacrev` gives, by columns, with `jvp` along each number of the argument: for functions of few numbers."""

    def by(args: tuple, options: dict, k: int) -> Tensor:
        x = args[k] if isinstance(args[k], Tensor) else Tensor(args[k])
        if not x.size:
            return jacobian(func, k)(*args, **options)
        before, after = args[:k % len(args)], args[k % len(args) + 1:]
        unit = Tensor.eye(x.size, dtype=x.dtype).reshape(x.size, *x.shape)
        y = ops.stack(*[jvp(lambda x: func(*before, x, *after, **options), (x,), (unit[i],))[1]
                        for i in range(x.size)], axis=-1)
        return y.reshape(*y.shape[:-1], *x.shape)

    def matrices(*args: Any, **options: Any) -> Any:
        for k in argnums if isinstance(argnums, tuple) else (argnums,):
            if not isinstance(k, int) or not -len(args) <= k < len(args):
                raise ValueError(f"jacfwd: argnums={argnums!r} must be numbers of arguments; there are {len(args)}")
        if isinstance(argnums, tuple):
            return tuple([by(args, options, k) for k in argnums])
        return by(args, options, argnums)

    if not callable(func):
        raise TypeError(f"jacfwd: takes a function of Tensors, got {type(func).__name__}")
    return matrices


jacrev = jacobian


def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None,
                    **options: Any) -> Any:
    """What a module gives with other Tensors in place of its parameters and buffers, see `nn.functional_call`."""
    dicts = parameter_and_buffer_dicts
    merged = {k: v for d in dicts for k, v in d.items()} if isinstance(dicts, list | tuple) else dicts
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    return import_module("tinygrad_like.nn").functional_call(module, merged, *args, **(kwargs or {}))


def stack_module_state(models: Any) -> tuple[dict, dict]:
    """The parameters of models of one kind, and their buffers, each stacked along a new first axis, by name."""
    given = list(models) if isinstance(models, Iterable) else []
    if not given or not all(hasattr(m, "named_parameters") for m in given):
        raise TypeError(f"stack_module_state: takes a list of modules of one kind, got {type(models).__name__}")

    def stacked(of: str) -> dict:
        each = [dict(getattr(m, of)()) for m in given]
        return {name: ops.stack(*[tensors[name] for tensors in each]).detach() for name in each[0]}

    parameters = stacked("named_parameters")
    for p in parameters.values():
        p.requires_grad_()
    return parameters, stacked("named_buffers")
