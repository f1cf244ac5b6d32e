"""Networks of fully connected layers: the multi-layer perceptron, and ResNet-S."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinygrad_like.core.tensor import Tensor

from ..activation import ReLU, make_activation
from ..containers import Sequential
from ..dropout import Dropout
from ..linear import Identity, Linear
from ..module import Module
from ..norm import Norm, make_norm
from ..residual import Res


class MLP(Sequential):
    """A fully connected network, a[k] = sigma(W[k] a[k-1] + b[k]) with a linear last layer (7.22-7.23, 7.36).

    sizes: (d, m_1, ..., m_r), the numbers of features of the input, each hidden layer, and the output.
    activation: a function that returns the layer sigma, such as nn.ReLU.
    norm: a function from a number of features to the norm before sigma, such as nn.LayerNorm (002, 003).
    dropout: the probability of dropping each element of a hidden layer in training (002, 003).
    x: (..., d) -> (..., m_r)

    It has (d + 1) m_1 + (m_1 + 1) m_2 + ... + (m_{r-1} + 1) m_r parameters (001). `mlp[:-1](x)` are the learned
    features phi(x) on which the last layer is a linear model (7.34).
    """

    def __init__(self, sizes: Sequence[int], activation: Callable[[], Module] = ReLU, norm: Norm = None,
                 dropout: float = 0.0):
        if not isinstance(sizes, Sequence) or len(sizes) < 2:
            raise ValueError("MLP: sizes are the numbers of features of input, hidden layers and output, as in "
                             f"MLP([784, 128, 10]): at least 2, got {sizes!r}")
        layers: list[Module] = [Linear(sizes[0], sizes[1])]
        for features, out in zip(sizes[1:-1], sizes[2:], strict=True):
            layers += [make_norm("MLP", norm, features)] if norm is not None else []
            layers += [make_activation("MLP", activation)]
            layers += [Dropout(dropout)] if dropout else []
            layers += [Linear(features, out)]
        super().__init__(*layers)


class ResNetS(Module):
    """ResNet-S(x) = MM(Res(Res(... Res(x)))) (7.39).

    x: (..., in_features) -> (..., num_classes)

    Res keeps the number of features. If width differs from in_features, a Linear, not in the equation, projects the
    input first.

    The other arguments are those of Res. With scale = blocks ** -0.5, the variance of the residual stream does not grow
    with depth; with zero_init, the network starts as a linear model.
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
