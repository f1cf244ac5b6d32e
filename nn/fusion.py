"""A BatchNorm and the ReLU after it run as one op: what lies between would be written to memory and read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinygrad_like.core.tensor import Tensor

from .activation import ReLU
from .located import locate
from .module import Module

# The original methods, to notice when somebody replaces them.
_relu, _call = ReLU.forward, Module.__call__

with_relu: dict[type[Module], Callable] = {}  # type of layer -> f(layer, x), which computes relu(layer(x)) as one op


def applied(layers: Sequence[Module], x: Any) -> Any:
    """The layers one after the other."""
    i, end = 0, len(layers)
    try:
        while i < end:
            layer = layers[i]
            if type(layer) in with_relu and i + 1 < end and fuses(layer, layers[i + 1]):
                x, i = with_relu[type(layer)](layer, x), i + 2
            else:
                x, i = layer(x), i + 1
    except Exception as error:
        locate(error, layer, [x])
        raise
    return x


def fuses(layer: Module, activation: Module) -> bool:
    """Whether the two may run as one op: a type of `with_relu` and a ReLU, not subclasses, both plain."""
    return (type(layer) in with_relu and type(activation) is ReLU and ReLU.forward is _relu and _plain(layer)
            and _plain(activation))


def _plain(layer: Module) -> bool:
    """Whether calling the layer only runs its type's forward: no hook watches, and it has no forward of its own.

    The functions in `with_relu` check whether somebody replaced the type's forward.
    """
    return layer._hooks is None and "forward" not in layer.__dict__ and Module.__call__ is _call


def activated(layer: Module, activation: Module, x: Tensor) -> Tensor:
    """activation(layer(x)), as one op where `fuses` allows it."""
    return with_relu[type(layer)](layer, x) if fuses(layer, activation) else activation(layer(x))
