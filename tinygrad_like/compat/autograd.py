"""The names of `torch.autograd`."""

from __future__ import annotations

from typing import Any

from ..core.graph import Node
from ..core.tensor import Tensor, wrap
from ..transforms.anomaly import detect_anomaly, set_detect_anomaly
from ..transforms.gradcheck import gradcheck, gradgradcheck
from ..transforms.switches import inference_mode, set_grad_enabled
from .absent import Part
from .function import Function, once_differentiable
from .names import grad, joined


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


__all__ = ["Function", "Variable", "backward", "detect_anomaly", "grad", "gradcheck", "gradgradcheck", "inference_mode",
           "set_detect_anomaly", "set_grad_enabled"]
function = Part("autograd.function", Function=Function, once_differentiable=once_differentiable)
graph = Part("autograd.graph", Node=Node)
