"""PyTorch's `torch.func`: functions to functions, under its names, and vmap.

`vmap` calls the function once for each element of the batch and stacks the results: what it gives, and its gradients of
any order, are those of a batch, but the time is that of a loop. Where an op takes batches itself, that is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import ops, transforms
from .tensor import Tensor
from .transforms import grad, jvp, value_and_grad, vjp

__all__ = ["functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "stack_module_state",
           "value_and_grad", "vjp", "vmap"]


def vmap(func: Callable, in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", *,
         chunk_size: int | None = None) -> Callable:
    """The function that applies func to each element of a batch, which lies along in_dims of each argument.

    in_dims: an axis, None for an argument that is the same for all, or a tuple of these, one for each argument; an
    argument may be a dict, list or tuple of Tensors. out_dims: the axis along which results are stacked.

    Raises ValueError if no argument has a batch, or if batches have different sizes.
    """

    def mapped(*args: Any, **options: Any) -> Any:
        axes = in_dims if isinstance(in_dims, tuple | list) else (in_dims,) * len(args)
        if len(axes) != len(args):
            raise ValueError(f"vmap: in_dims has {len(axes)} entries for {len(args)} arguments")
        sizes = {n for x, axis in zip(args, axes, strict=True) for n in _sizes(x, axis)}
        sizes |= {n for x in options.values() for n in _sizes(x, 0)}
        if len(sizes) != 1:
            raise ValueError(f"vmap: the batches have sizes {sorted(sizes) or 'of none'}; at least one argument must "
                             "have one, and all must agree")
        results = [func(*[_element(x, axis, i) for x, axis in zip(args, axes, strict=True)],
                        **{name: _element(x, 0, i) for name, x in options.items()}) for i in range(sizes.pop())]
        if not results:
            raise ValueError("vmap: the batch is empty, so what func gives is not known")
        return _stacked(results, out_dims)

    return mapped


def _sizes(x: Any, axis: Any) -> set[int]:
    if isinstance(x, dict):
        return {n for name, part in x.items() for n in _sizes(part, axis[name] if isinstance(axis, dict) else axis)}
    if isinstance(x, list | tuple):
        parts = axis if isinstance(axis, list | tuple) else (axis,) * len(x)
        return {n for part, a in zip(x, parts, strict=True) for n in _sizes(part, a)}
    if axis is None or not isinstance(x, Tensor):
        return set()
    return {x.shape[ops.axes.one_axis("vmap", axis, x.ndim)]}


def _element(x: Any, axis: Any, i: int) -> Any:
    if isinstance(x, dict):
        return {name: _element(part, axis[name] if isinstance(axis, dict) else axis, i) for name, part in x.items()}
    if isinstance(x, list | tuple):
        parts = axis if isinstance(axis, list | tuple) else (axis,) * len(x)
        return type(x)([_element(part, a, i) for part, a in zip(x, parts, strict=True)])
    if axis is None or not isinstance(x, Tensor):
        return x
    return ops.getitem(x, (slice(None),) * (axis % x.ndim) + (i,))


def _stacked(results: list, axis: Any) -> Any:
    first = results[0]
    if isinstance(first, dict):
        return {name: _stacked([r[name] for r in results], axis) for name in first}
    if isinstance(first, list | tuple):
        parts = axis if isinstance(axis, list | tuple) else (axis,) * len(first)
        return tuple([_stacked(list(part), a) for part, a in zip(zip(*results, strict=True), parts, strict=True)])
    if axis is None:
        return first
    return ops.stack(*[r if isinstance(r, Tensor) else Tensor(r) for r in results], axis=axis)


def grad_and_value(func: Callable, argnums: int | tuple[int, ...] = 0) -> Callable:
    """The function (args) -> (df/dargs[argnums], f), in PyTorch's order; see `value_and_grad`."""
    both = value_and_grad(func, argnums)
    return lambda *args, **options: both(*args, **options)[::-1]


def _by(func: Callable, args: tuple, i: int) -> Callable:
    """func of its argument i alone, with the others as they are."""
    return lambda x: func(*args[:i], x, *args[i + 1:])


def jacrev(func: Callable, argnums: int = 0) -> Callable:
    """The function (args) -> J, (*f.shape, *args[argnums].shape), by one reverse pass for each number of f."""

    def matrix(*args: Any) -> Tensor:
        return transforms.jacobian(_by(func, args, argnums))(args[argnums])

    return matrix


def hessian(func: Callable, argnums: int = 0) -> Callable:
    """The function (args) -> the second derivatives of func, which gives a number, by args[argnums]."""

    def matrix(*args: Any) -> Tensor:
        return transforms.hessian(_by(func, args, argnums))(args[argnums])

    return matrix


def jacfwd(func: Callable, argnums: int = 0) -> Callable:
    """The Jacobian by columns, with `jvp` along each number of the argument: for functions of few numbers."""

    def matrix(*args: Any) -> Tensor:
        x = args[argnums] if isinstance(args[argnums], Tensor) else Tensor(args[argnums])
        unit = Tensor.eye(x.numel(), dtype=x.dtype).reshape(x.numel(), *x.shape)
        columns = [jvp(_by(func, args, argnums), (x,), (unit[i],))[1] for i in range(x.numel())]
        y = ops.stack(*columns, axis=-1)
        return y.reshape(*y.shape[:-1], *x.shape)

    return matrix


def functional_call(module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Any = None,
                    **options: Any) -> Any:
    """What a module gives with other Tensors in place of its parameters and buffers, see `nn.functional_call`."""
    import nn

    dicts = parameter_and_buffer_dicts
    merged = {k: v for d in dicts for k, v in d.items()} if isinstance(dicts, list | tuple) else dicts
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    return nn.functional_call(module, merged, *args, **(kwargs or {}))


def stack_module_state(models: Any) -> tuple[dict, dict]:
    """The parameters of models of one kind, and their buffers, each stacked along a new first axis, by name."""
    models = list(models)

    def stacked(of: str) -> dict:
        each = [dict(getattr(m, of)()) for m in models]
        return {name: ops.stack(*[tensors[name] for tensors in each]).detach() for name in each[0]}

    parameters = stacked("named_parameters")
    for p in parameters.values():
        p.requires_grad_()
    return parameters, stacked("named_buffers")
