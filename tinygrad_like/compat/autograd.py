"""What PyTorch has in `torch.autograd`, and what it calls it there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..core.graph import Node
from ..core.tensor import Tensor, wrap
from ..transforms import derivatives as transforms
from ..transforms.anomaly import detect_anomaly, set_detect_anomaly
from ..transforms.gradcheck import gradcheck, gradgradcheck
from ..transforms.saved_tensors import save_on_cpu, saved_tensors_hooks
from ..transforms.several_outputs import joined
from ..transforms.switches import inference_mode, set_grad_enabled
from .function import Function, once_differentiable
from .names import grad


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None,
             create_graph: bool = False, inputs: Any = None) -> None:
    """`Tensor.backward` of several Tensors at once, each with its cotangent, as PyTorch's `torch.autograd.backward`."""
    tensors = (tensors,) if isinstance(tensors, Tensor) else tuple(tensors)
    given = (grad_tensors,) if grad_tensors is None or isinstance(grad_tensors, Tensor) else tuple(grad_tensors)
    given = given * len(tensors) if given == (None,) else given
    y, g = joined("backward", tensors, given, create_graph)
    y.backward(g, bool(retain_graph), create_graph, inputs)


class _AnyTensor(type):
    def __call__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        x = wrap(data._data) if isinstance(data, Tensor) else Tensor(data)
        return x.requires_grad_(requires_grad)

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, Tensor)


class Variable(metaclass=_AnyTensor):
    """PyTorch's `Variable(x)` of early days: a Tensor on the memory of x that requires grad if it is told to."""


def jacobian(func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False,
             vectorize: bool = False) -> Any:
    """The Jacobian of func at `inputs`, a Tensor or a tuple of them, as PyTorch's `autograd.functional.jacobian`.

    For several inputs a tuple, of an array (*output.shape, *input.shape) for each. See `tinygrad_like.jacobian`.
    """
    return _of_inputs(transforms.jacobian, func, inputs, create_graph)


def hessian(func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False,
            vectorize: bool = False) -> Any:
    """The Hessian of func, which gives a number, at `inputs`, as PyTorch's `autograd.functional.hessian`.

    For several inputs a tuple of tuples: of [i][j] the axes are those of input i, then of input j.
    """
    return _of_inputs(transforms.hessian, func, inputs, create_graph)


def _of_inputs(matrix: Callable, func: Callable, inputs: Any, create_graph: bool) -> Any:
    if isinstance(inputs, Tensor):
        return _constant(matrix(func)(inputs), create_graph)
    return _constant(matrix(func, tuple(range(len(inputs))))(*inputs), create_graph)


def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), v^T J), as PyTorch's `autograd.functional.vjp`."""
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    y, pull = transforms.vjp(func, *given)
    found = _constant(tuple(pull(y.detach() * 0 + 1 if v is None else v)), create_graph)
    return y, found[0] if isinstance(inputs, Tensor) else found


def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), J v), as PyTorch's `autograd.functional.jvp`."""
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    tangents = (v,) if isinstance(v, Tensor) else tuple(v) if v is not None else tuple([x * 0 + 1 for x in given])
    y, t = transforms.jvp(func, given, tangents)
    return y, _constant(t, create_graph)


def hvp(func: Callable, inputs: Tensor, v: Any, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), H v), as PyTorch's `autograd.functional.hvp`."""
    return func(inputs), _constant(transforms.hvp(func, inputs, v), create_graph)


def vhp(func: Callable, inputs: Tensor, v: Any, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), v^T H), as PyTorch's `autograd.functional.vhp`: `hvp`, since H is symmetric."""
    return hvp(func, inputs, v, create_graph)


def _constant(x: Any, create_graph: bool) -> Any:
    """A Tensor, or tuples of them, off the graph unless that is wanted."""
    if isinstance(x, tuple):
        return tuple([_constant(part, create_graph) for part in x])
    return x if create_graph else x.detach()


__all__ = ["Function", "Variable", "backward", "detect_anomaly", "grad", "gradcheck", "gradgradcheck", "inference_mode",
           "set_detect_anomaly", "set_grad_enabled"]
for _name, _parts in (("function", (Function, once_differentiable)),
                      ("functional", (jacobian, hessian, vjp, jvp, hvp, vhp)),
                      ("graph", (saved_tensors_hooks, save_on_cpu, Node))):
    _module = globals()[_name] = sys.modules[f"tinygrad_like.autograd.{_name}"] = ModuleType(
        f"tinygrad_like.autograd.{_name}", f"PyTorch's `torch.autograd.{_name}`.")
    vars(_module).update((part.__name__, part) for part in _parts)
