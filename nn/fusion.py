"""Layers that run as one op where they follow each other: fewer arrays and nodes, and less between two kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinygrad_like import Tensor
from tinygrad_like.autograd import mode

from .activation import ReLU
from .module import Module

_PRODUCTS = 16  # of layers in one op: what it makes is freed all at once, so it should not be all of a deep network

# What a class defines here, since others may be put in its place. Classes are named where they are asked: to look up
# an attribute of `type(layer)` costs up to 0.3 us, of a class of that name nothing.
_relu, _call = ReLU.forward, Module.__call__

with_relu: dict[type[Module], Callable] = {}  # type of layer -> what computes relu(layer(x)) of (layer, x) as one op

# Type of layer -> f(layers, i, x) -> (y, j): applies layers i to j - 1, the first of which is of this type, as one op;
# j is i if there is none for them. It is asked where layer i is not the last.
rows: dict[type[Module], Callable[[Sequence[Module], int, Tensor], tuple[Tensor, int]]] = {}


def applied(layers: Sequence[Module], x: Tensor) -> Tensor:
    """The layers one after the other, as one op where `rows` knows how."""
    i, last = 0, len(layers) - 1
    while i <= last:
        first = i
        if i < last and type(layers[i]) in rows:
            x, i = rows[type(layers[i])](layers, i, x)
        if i == first:
            x, i = layers[i](x), i + 1
    return x


def plain(layer: Module) -> bool:
    """Whether a call of the layer is just its type's forward: no hook watches, and it has no forward of its own.

    Whether the type has been given another forward is for the functions in `with_relu` and `rows` to ask.
    """
    return layer._hooks is None and "forward" not in layer.__dict__ and Module.__call__ is _call


def fuses(layer: Module, activation: Module) -> bool:
    """Whether the two may run as one op: a type of `with_relu` and a ReLU, not subclasses, both plain."""
    return (type(layer) in with_relu and type(activation) is ReLU and ReLU.forward is _relu and plain(layer)
            and plain(activation))


def activated(layer: Module, activation: Module, x: Tensor) -> Tensor:
    """activation(layer(x)), as one op where `fuses` allows it."""
    return with_relu[type(layer)](layer, x) if fuses(layer, activation) else activation(layer(x))


def activated_row(layers: Sequence[Module], i: int, x: Tensor) -> tuple[Tensor, int]:
    """A layer of `with_relu` and a ReLU: an entry of `rows`."""
    if fuses(layers[i], layers[i + 1]):
        return with_relu[type(layers[i])](layers[i], x), i + 2
    return x, i


def products() -> int:
    """How many products one op may do: as few as can be in anomaly mode, so that it says where a NaN came from, and
    where nothing is recorded, so that what a layer made is freed when the next is done."""
    return 1 if mode.anomaly or not mode.recording else _PRODUCTS
