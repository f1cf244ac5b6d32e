"""Layers that run as one op where they follow each other: fewer arrays, fewer nodes, less work between two kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinygrad_like import Tensor, no_grad
from tinygrad_like.autograd import mode

from .activation import ReLU
from .module import Module

_MAX_PRODUCTS = 16  # in one op, which frees its arrays all at once: it should not be all of a deep network

# The original methods, to notice when somebody replaces them. Classes are named where they are asked: looking up an
# attribute of `type(layer)` costs up to 0.3 us, of a class by its name nothing.
_relu, _call = ReLU.forward, Module.__call__

with_relu: dict[type[Module], Callable] = {}  # type of layer -> f(layer, x), which computes relu(layer(x)) as one op

# Type of layer -> f(layers, i, x) -> (y, j), which applies layers i to j - 1 as one op; j is i if it cannot. Called
# only if layer i, which has this type, is not the last.
chains: dict[type[Module], Callable[[Sequence[Module], int, Tensor], tuple[Tensor, int]]] = {}


def applied(layers: Sequence[Module], x: Tensor, names: Callable[[Module], str]) -> Tensor:
    """The layers one after the other, as one op where `chains` knows how. An error says the name of its layer."""
    i, last = 0, len(layers) - 1
    try:
        while i <= last:
            first = i
            if i < last and type(layers[i]) in chains:
                x, i = chains[type(layers[i])](layers, i, x)
            if i == first:
                x, i = layers[i](x), i + 1
    except Exception as error:
        i, x = _culprit(layers, i, x)
        given = f"{x.dtype} {x.shape}" if isinstance(x, Tensor) else type(x).__name__
        error.add_note(f"in layer {names(layers[i])}, {type(layers[i]).__name__}({layers[i].extra_repr()}), "
                       f"given {given}")
        raise
    return x


def _culprit(layers: Sequence[Module], i: int, x: Tensor) -> tuple[int, Tensor]:
    """Which layer it is that fails, i or one that ran with it as one op, and what that was given."""
    first, given = i, x
    try:
        with no_grad():
            while i < len(layers) and (type(layers[i]) in chains or type(layers[i]) is ReLU):
                x, i = layers[i](x), i + 1
    except Exception:
        return i, x
    return first, given


def plain(layer: Module) -> bool:
    """Whether calling the layer only runs its type's forward: no hook watches, and it has no forward of its own.

    The functions in `with_relu` and `chains` check whether somebody replaced the type's forward.
    """
    return layer._hooks is None and "forward" not in layer.__dict__ and Module.__call__ is _call


def fuses(layer: Module, activation: Module) -> bool:
    """Whether the two may run as one op: a type of `with_relu` and a ReLU, not subclasses, both plain."""
    return (type(layer) in with_relu and type(activation) is ReLU and ReLU.forward is _relu and plain(layer)
            and plain(activation))


def activated(layer: Module, activation: Module, x: Tensor) -> Tensor:
    """activation(layer(x)), as one op where `fuses` allows it."""
    return with_relu[type(layer)](layer, x) if fuses(layer, activation) else activation(layer(x))


def activated_chain(layers: Sequence[Module], i: int, x: Tensor) -> tuple[Tensor, int]:
    """A layer of `with_relu` and a ReLU: an entry of `chains`."""
    if fuses(layers[i], layers[i + 1]):
        return with_relu[type(layers[i])](layers[i], x), i + 2
    return x, i


def max_products() -> int:
    """How many products one op may compute. One in anomaly mode, which then says where a NaN came from, and one when
    nothing is recorded, so that a layer's output is freed as soon as the next layer is done."""
    return 1 if mode.anomaly or not mode.recording else _MAX_PRODUCTS
