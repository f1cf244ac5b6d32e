"""Backward from several Tensors at once, and to some that are named; what is called once a `.grad` is there, and
that of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tinygrad_like.tensor as tensor  # `from . import tensor` may give the function

from . import ops
from .autograd import Node, mode, setting, tick
from .dtypes import FLOAT32
from .noting import change

if TYPE_CHECKING:
    from .tensor import Tensor


class _Outputs:
    """The op of what stands for several Tensors: whatever its cotangent, each of them gets the one that was saved."""

    name, fresh, saves = "several outputs", False, True

    def pull(self, node: Node, g: Any, parents: Any) -> Any:
        return node.saved


def joined(who: str, outputs: tuple, cotangents: tuple, create_graph: bool) -> tuple[Tensor, Any]:
    """A Tensor, and a cotangent for it, from which backward is that of all `outputs`, each with its cotangent."""
    if not outputs or not all([isinstance(x, tensor.Tensor) for x in outputs]):
        kinds = ", ".join([type(x).__name__ for x in outputs]) or "nothing"
        raise TypeError(f"{who}: takes Tensors that were computed from others, got {kinds}")
    if len(outputs) != len(cotangents):
        raise ValueError(f"{who}: {len(cotangents)} cotangents for {len(outputs)} outputs; give one for each, or None")
    if len(outputs) == 1:
        return outputs[0], cotangents[0]
    seeds = [x._seed(who, g, create_graph) for x, g in zip(outputs, cotangents, strict=True)]
    y = tensor.wrap(np.zeros((), np.float32)).requires_grad_()
    y.node = node = Node()
    node.op, node.parents, node.saved = _Outputs(), [x.node or x for x in outputs], seeds
    node.order, node.shape, node.dtype, node.extra = tick(), (), FLOAT32, None
    return y, None


def backward_to(y: Tensor, inputs: Any, gradient: Any, retain_graph: bool, create_graph: bool) -> None:
    """`y.backward`, that adds to the `.grad` of the inputs alone: a Tensor, or a list of them.

    Raises ValueError if there is none.
    """
    from .names import grad

    wanted = [inputs] if isinstance(inputs, tensor.Tensor) else list(inputs)
    if not wanted:
        raise ValueError("backward: inputs is empty; leave it out for all leaves")
    found = grad(y, wanted, gradient, retain_graph or create_graph, create_graph, allow_unused=True)
    with setting("recording", create_graph):
        for x, g in zip(wanted, found, strict=True):
            if g is not None:
                x._grad = g if x._grad is None else added(x._grad, g)
                call_after(x)


def _in_place(grad: Tensor) -> bool:
    """Whether a gradient is changed where it lies, as in PyTorch, since others may show that memory, such as a flat
    array of all gradients. A program has a copy of what there was before the call, so there they must not do so."""
    if mode.tape is not None:
        mode.tape.changes(grad)
    return grad.node is None and grad._data.flags.writeable and not mode.recording


def added(grad: Tensor, c: Any) -> Tensor:
    """grad + c, an array or a Tensor: what a `.grad` is after one more backward."""
    if not (_in_place(grad) and grad.dtype is c.dtype):
        return grad + (tensor.wrap(c) if type(c) is np.ndarray else c)
    c = c if type(c) is np.ndarray else c._data
    if mode.tape is None:
        ops.cotangents.accumulate(grad._data, c)
    else:
        change("add_part", ops.cotangents.add_part, grad._data, (...,), c, changes=[grad._data])
    grad.touch()
    return grad


def zero_gradient(x: Tensor, set_to_none: bool) -> None:
    """Forget the gradient of a Tensor, or make it zeros, if it has one."""
    if set_to_none or x._grad is None:
        x._grad = None
        return
    with setting("recording", False):
        x._grad = x._grad.zero_() if _in_place(x._grad) else x._grad.zeros_like()


def call_after(leaf: Tensor) -> None:
    """Call what `register_post_accumulate_grad_hook` was given."""
    for hook in tuple(leaf._after or ()):
        hook(leaf)


def set_gradient(x: Tensor, gradient: Tensor | None) -> None:
    """x.grad = gradient. Raises TypeError for what is no other Tensor, RuntimeError for another dtype or shape."""
    if gradient is not None:
        if not isinstance(gradient, tensor.Tensor) or gradient is x:
            got = "this Tensor itself" if gradient is x else type(gradient).__name__
            raise TypeError(f"grad: the gradient of a Tensor is another Tensor, or None, got {got}")
        if gradient._data.shape != x._data.shape or gradient.dtype is not x.dtype:
            raise RuntimeError(f"grad: the gradient of a Tensor of {x.dtype} {x.shape} has that dtype and shape, got "
                               f"{gradient.dtype} {gradient.shape}; cast or reshape it, or change .data first")
    x._grad = gradient
