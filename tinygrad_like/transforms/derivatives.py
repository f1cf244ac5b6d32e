"""Transforms of a function f: its gradient, Jacobian and Hessian products, and the Jacobian and Hessian themselves.

They nest: grad(grad(f)) is a second derivative, grad(grad(f, 0), 1) a mixed one, and an inner f may use the variables
of an outer one. Tensors that f uses besides its arguments are constants, and no `.grad` changes. But you can
differentiate the result with respect to those that require grad, such as weights, unless you compute it under no_grad.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, overload

import numpy as np

from .. import ops
from ..core.graph import mode, setting
from ..core.tensor import Tensor, wrap
from ..dtypes import FLOATS, as_array
from ..transforms.switches import enable_grad

P = ParamSpec("P")
Y = TypeVar("Y")
Tree = TypeVar("Tree", bound=dict | list | tuple)  # of Tensors or arrays: its gradient has the same form
_ALIAS = "_differentiated_by"  # an attribute that marks this module's leaves


mode.declare(within=False)  # whether a function of this module is running


@overload
def grad(f: Callable[Concatenate[Tree, P], Any]) -> Callable[Concatenate[Tree, P], Tree]: ...
@overload
def grad(f: Callable[P, Any], argnums: int = 0) -> Callable[P, Tensor]: ...
@overload
def grad(f: Callable[P, Any], argnums: tuple[int, ...]) -> Callable[P, tuple[Tensor, ...]]: ...
def grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The function (args) -> df/dargs[argnums]: a Tensor, or a tuple of Tensors if argnums is a tuple.

    For a dict, list or tuple of Tensors or arrays, the gradient has the same structure. Raises ValueError unless f
    returns a single number.
    """
    both = value_and_grad(f, argnums)  # type: ignore[call-overload]
    return lambda *args, **options: both(*args, **options)[1]


@overload
def value_and_grad(f: Callable[Concatenate[Tree, P], Y]) -> Callable[Concatenate[Tree, P], tuple[Y, Tree]]: ...
@overload
def value_and_grad(f: Callable[P, Y], argnums: int = 0) -> Callable[P, tuple[Y, Tensor]]: ...
@overload
def value_and_grad(f: Callable[P, Y], argnums: tuple[int, ...]) -> Callable[P, tuple[Y, tuple[Tensor, ...]]]: ...
def value_and_grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The function (args) -> (f, df/dargs[argnums])."""
    which = argnums if isinstance(argnums, tuple | list) else (argnums,)
    if not all(isinstance(i, int) for i in which):
        raise TypeError(f"grad: argnums must be an argument's number, or a tuple of numbers, got {argnums!r}")

    def both(*args: Any, **options: Any) -> tuple:
        leaves, outer, given = list[Tensor](), list[bool](), list(args)  # outer functions may need any

        def alias(x: Any) -> Tensor:
            leaves.append(_alias("grad", x)[0])
            return leaves[-1]

        _mapped(lambda x: outer.append(isinstance(x, Tensor) and x.requires_grad), args)
        for i in which:
            if not -len(args) <= i < len(args):
                raise ValueError(f"grad: argument {i} is to be differentiated, but there are {len(args)}")
            given[i] = _mapped(alias, given[i])
        y = _output("grad", f, given, options)
        if y.size != 1:
            raise ValueError(f"grad: f must return a single number, got shape {y.shape}; reduce it, or use jacobian")
        nested = mode.within or any(outer) or _uses_others(y)
        gradients = iter(_pull(y, leaves, np.ones(y.shape, y.dtype), nested))
        found = [_mapped(lambda x: next(gradients), args[i]) for i in which]
        return y if nested else y.detach(), found[0] if isinstance(argnums, int) else tuple(found)

    return both


def vjp(f: Callable[..., Any], *primals: Any) -> tuple:
    """f(primals), and the function v -> v^T J, which returns one cotangent per primal."""
    return _vjp("vjp", f, primals)


def _vjp(who: str, f: Callable[..., Any], primals: tuple) -> tuple:
    """`vjp`, with errors in the name of its caller."""
    fresh = [_alias(who, x) for x in primals]
    xs, nested = [x for x, _ in fresh], mode.within or any(outer for _, outer in fresh)
    y = _output(who, f, xs, {})
    nested = nested or _uses_others(y)

    def pull(v: Any) -> tuple[Tensor, ...]:
        v = v if isinstance(v, Tensor) else wrap(as_array(v, y.dtype, who))
        return tuple(_pull(y, xs, v, nested or v.requires_grad, retain=True))

    return y if nested else y.detach(), pull


def jvp(f: Callable[..., Tensor], primals: tuple, tangents: tuple) -> tuple[Tensor, Tensor]:
    """f(primals) and J t, the derivative of f along the tangents.

    v^T J is linear in v, so J t is the VJP of v -> v^T J with cotangent t: two reverse passes instead of a forward one
    (Townsend 2017).
    """
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise TypeError(f"jvp: takes a tuple of primals and one of tangents, got {type(primals).__name__} and "
                        f"{type(tangents).__name__}")
    if len(primals) != len(tangents):
        raise ValueError(f"jvp: {len(primals)} primals but {len(tangents)} tangents; pass one for each")
    y, pull = _vjp("jvp", f, primals)
    with enable_grad():
        v = wrap(np.zeros(y.shape, y.dtype)).requires_grad_()
        cotangents = pull(v)
        terms = []
        for x, c, t in zip(primals, cotangents, tangents, strict=True):
            t = t if isinstance(t, Tensor) else wrap(as_array(t, c.dtype, "jvp"))
            if t.shape != c.shape:
                raise ValueError(f"jvp: a tangent has shape {t.shape} but its primal {np.shape(x)}; they must agree")
            terms.append(ops.sum(c * t))
        total = sum(terms[1:], terms[0])
    nested = mode.within or any(isinstance(x, Tensor) and x.requires_grad for x in (y, *primals, *tangents))
    if not total.requires_grad:  # f does not depend on its arguments
        return y, wrap(np.zeros(y.shape, y.dtype))
    return y, _pull(total, [v], np.ones((), total.dtype), nested)[0]


def jacobian(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The function (args) -> J of shape (*f(x).shape, *x.shape), J[i, j] = df_i / dx_j: one reverse pass for each i.

    argnums: x is args[argnums]; a tuple gives a tuple of matrices.
    """
    if not callable(f):
        raise TypeError(f"jacobian: takes a function of Tensors, got {type(f).__name__}")

    def matrix(args: tuple, options: dict, k: Any) -> Tensor:
        if not isinstance(k, int) or not -len(args) <= k < len(args):
            raise ValueError(f"jacobian: argnums={argnums!r} must be numbers of arguments; there are {len(args)}")
        before, x, after = args[:k % len(args)], args[k], args[k % len(args) + 1:]
        y, pull = _vjp("jacobian", lambda x: f(*before, x, *after, **options), (x,))
        rows = [pull(v)[0] for v in np.eye(y.size, dtype=y.dtype).reshape(y.size, *y.shape)]
        shape = (*y.shape, *np.shape(x))
        return ops.reshape(ops.stack(*rows), shape=shape) if rows else wrap(np.zeros(shape, y.dtype))

    def matrices(*args: Any, **options: Any) -> Any:
        if isinstance(argnums, tuple):
            return tuple([matrix(args, options, k) for k in argnums])
        return matrix(args, options, argnums)

    return matrices


def hessian(f: Callable[..., Tensor], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The function (args) -> H of shape (*f(x).shape, *x.shape, *x.shape), the second derivatives in x = args[argnums].

    A tuple of arguments gives a tuple of tuples: [i][j] has the axes of argument i, then of argument j.
    """
    if not isinstance(argnums, tuple):
        return jacobian(jacobian(f, argnums), argnums)
    parts = [jacobian(jacobian(f, i), argnums) for i in argnums]
    return lambda *args, **options: tuple([part(*args, **options) for part in parts])


def hvp(f: Callable[[Any], Tensor], x: Any, v: Any) -> Tensor:
    """H v, the Hessian of f at x times v, without forming H: as H is symmetric, it is v^T H (Pearlmutter 1994)."""
    x, v = [y if isinstance(y, Tensor) else wrap(as_array(y, None, "hvp")) for y in (x, v)]
    if v.shape != x.shape:
        raise ValueError(f"hvp: v has shape {v.shape} but x {x.shape}; they must agree")
    return _vjp("hvp", grad(f), (x,))[1](v)[0]


def _mapped(f: Callable, x: Any) -> Any:
    """Apply f to all Tensors and arrays in x, which is one, or a dict, list or tuple of them."""
    if isinstance(x, dict):
        return {name: _mapped(f, part) for name, part in x.items()}
    if isinstance(x, list | tuple) and any(isinstance(part, Tensor | np.ndarray | dict | list | tuple) for part in x):
        parts = [_mapped(f, part) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return f(x)


def _alias(who: str, x: Any) -> tuple[Tensor, bool]:
    """An alias of x to differentiate with respect to, and whether an outer function differentiates x itself."""
    x = x if isinstance(x, Tensor) else wrap(as_array(x, None, who))
    if x.dtype.kind not in FLOATS:
        raise TypeError(f"{who}: cannot differentiate with respect to {x.dtype}; cast with .float()")
    if not x.requires_grad:
        x = x.detach().requires_grad_()
        setattr(x, _ALIAS, True)
        return x, False
    with enable_grad():
        return ops.identity(x), True


def _uses_others(y: Tensor) -> bool:
    """Whether ops are recorded, and y depends on something that requires grad and is not one of our aliases."""
    todo, seen = [y.node or y] if mode.recording and y.requires_grad else [], set()
    while todo:
        part = todo.pop()
        if part is None or id(part) in seen:
            continue
        seen.add(id(part))
        if not isinstance(part, Tensor):
            todo.extend(part.parents or ())
        elif not hasattr(part, _ALIAS):
            return True
    return False


def _output(who: str, f: Callable, args: list, options: dict) -> Tensor:
    if not callable(f):
        raise TypeError(f"{who}: takes a function of Tensors, got {type(f).__name__}")
    with enable_grad(), setting("within", True):
        y = f(*args, **options)
    if not isinstance(y, Tensor):
        raise TypeError(f"{who}: f must return a Tensor, got {type(y).__name__}")
    return y


def _pull(y: Tensor, xs: list[Tensor], v: Any, create_graph: bool, retain: bool = False) -> list[Tensor]:
    if not y.requires_grad:
        return [wrap(np.zeros(x.shape, x.dtype)) for x in xs]
    return y.gradient(*xs, gradient=v, create_graph=create_graph, retain_graph=retain or create_graph,
                      materialize_grads=True)
