"""ResNet-S, the simplified residual network of fully connected layers."""

from __future__ import annotations

from collections.abc import Callable

from tinygrad_like.core.tensor import Tensor

from ..activation import ReLU
from ..containers import Sequential
from ..linear import Identity, Linear
from ..module import Module
from ..norm import Norm
from ..residual import Res


class ResNetS(Module):
    """ResNet-S(x) = MM(Res(Res(... Res(x)))) (7.39).

    x: (..., in_features) -> (..., num_classes)

    Res keeps the number of features. If width differs from in_features, a Linear, which is not in the equation, first
    projects the input.

    The other arguments are those of every block, see Res. With scale = blocks ** -0.5 the variance of the stream does
    not grow with depth; with zero_init the network starts as a linear model.
    """

    def __init__(self, in_features: int, width: int, blocks: int, num_classes: int,
                 activation: Callable[[], Module] = ReLU, scale: float = 1.0, zero_init: bool = False,
                 norm: Norm = None, dropout: float = 0.0, small_init: float = 1.0):
        if not 0 <= blocks < 10_000:
            raise ValueError(f"ResNetS: blocks must not be {'negative' if blocks < 0 else 'above 9,999'}, got {blocks}")
        self.project = Identity() if in_features == width else Linear(in_features, width)
        self.blocks = Sequential(*[Res(width, activation, scale, zero_init, norm, dropout, small_init)
                                    for _ in range(blocks)])
        self.head = Linear(width, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.project(x)))
