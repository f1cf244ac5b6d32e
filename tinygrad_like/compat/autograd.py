"""The names of `torch.autograd`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import ops
from ..core.graph import Node
from ..core.tensor import Tensor, wrap
from ..transforms.anomaly import detect_anomaly, set_detect_anomaly
from ..transforms.gradcheck import gradcheck, gradgradcheck
from ..transforms.switches import enable_grad, inference_mode, set_grad_enabled
from .absent import Part
from .function import Function, once_differentiable


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, allow_unused: bool = False, materialize_grads: bool = False,
         only_inputs: bool = True) -> tuple:
    """The gradients of `outputs`, one or several Tensors, with respect to `inputs`, as in `torch.autograd.grad`.

    grad_outputs: a cotangent per output. allow_unused: return None, instead of raising, for an input that no output
    depends on. `Tensor.gradient` does the same for one output.
    """
    outputs, inputs = ((x,) if isinstance(x, Tensor) or not isinstance(x, Iterable) else tuple(x)
                       for x in (outputs, inputs))
    given = tuple(grad_outputs) if isinstance(grad_outputs, list | tuple) else (grad_outputs,) * len(outputs)
    y, g = joined("grad", outputs, given, create_graph)
    if allow_unused and not materialize_grads:
        retain = create_graph if retain_graph is None else retain_graph
        return tuple(y._gradients("gradient", inputs, g, create_graph, retain))
    return tuple(y.gradient(*inputs, gradient=g, create_graph=create_graph, retain_graph=retain_graph,
                            materialize_grads=materialize_grads))


def joined(who: str, outputs: tuple, cotangents: tuple, create_graph: bool) -> tuple[Tensor, Any]:
    """A Tensor and its cotangent, whose backward equals that of all `outputs` with their cotangents."""
    if not outputs or not all([isinstance(x, Tensor) for x in outputs]):
        kinds = ", ".join([type(x).__name__ for x in outputs]) or "nothing"
        raise TypeError(f"{who}: takes Tensors that were computed from others, got {kinds}")
    if len(outputs) != len(cotangents):
        raise ValueError(f"{who}: {len(cotangents)} cotangents for {len(outputs)} outputs; give one for each, or None")
    if len(outputs) == 1:
        return outputs[0], cotangents[0]
    seeds = [x._seed(who, g, create_graph) for x, g in zip(outputs, cotangents, strict=True)]
    with enable_grad():
        terms = [ops.sum(x * g) for x, g in zip(outputs, seeds, strict=True)]  # their slopes are the cotangents
        return sum(terms[1:], terms[0]), None


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
    """PyTorch's old `Variable(x)`: a Tensor on the memory of x, which requires grad on request."""


__all__ = ["Function", "Variable", "backward", "detect_anomaly", "grad", "gradcheck", "gradgradcheck", "inference_mode",
           "set_detect_anomaly", "set_grad_enabled"]
function = Part("autograd.function", Function=Function, once_differentiable=once_differentiable)
graph = Part("autograd.graph", Node=Node)
