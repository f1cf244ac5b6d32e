"""Backward from several Tensors at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.graph import Node, tick
from ..core.tensor import Tensor, wrap
from ..dtypes import FLOAT32


class _Outputs:
    """The op of what stands for several Tensors: whatever its cotangent, each of them gets the one that was saved."""

    name, fresh, saves = "several outputs", False, True

    def pull(self, node: Node, g: Any, parents: Any) -> Any:
        return node.saved


def joined(who: str, outputs: tuple, cotangents: tuple, create_graph: bool) -> tuple[Tensor, Any]:
    """A Tensor, and a cotangent for it, from which backward is that of all `outputs`, each with its cotangent."""
    if not outputs or not all([isinstance(x, Tensor) for x in outputs]):
        kinds = ", ".join([type(x).__name__ for x in outputs]) or "nothing"
        raise TypeError(f"{who}: takes Tensors that were computed from others, got {kinds}")
    if len(outputs) != len(cotangents):
        raise ValueError(f"{who}: {len(cotangents)} cotangents for {len(outputs)} outputs; give one for each, or None")
    if len(outputs) == 1:
        return outputs[0], cotangents[0]
    seeds = [x._seed(who, g, create_graph) for x, g in zip(outputs, cotangents, strict=True)]
    y = wrap(np.zeros((), np.float32)).requires_grad_()
    y.node = node = Node()
    node.op, node.parents, node.saved = _Outputs(), [x.node or x for x in outputs], seeds
    node.order, node.shape, node.dtype, node.extra = tick(), (), FLOAT32, None
    return y, None
