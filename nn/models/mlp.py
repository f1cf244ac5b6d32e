"""The multi-layer perceptron."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..activation import ReLU, make_activation
from ..containers import Sequential
from ..dropout import Dropout
from ..linear import Linear
from ..module import Module
from ..norm import Norm, make_norm


class MLP(Sequential):
    """A fully connected network, a[k] = sigma(W[k] a[k-1] + b[k]) with a linear last layer (7.22-7.23, 7.36).

    sizes: (d, m_1, ..., m_r), the features of the input, of each hidden layer, and of the output
    activation: makes the layer sigma, as nn.ReLU does
    norm: makes a norm before each sigma from its number of features, as nn.LayerNorm and nn.BatchNorm1d do (002, 003)
    dropout: with this probability each number of a hidden layer is dropped in training (002, 003)
    x: (..., d) -> (..., m_r)

    It has (d + 1) m_1 + (m_1 + 1) m_2 + ... + (m_{r-1} + 1) m_r parameters (001). `mlp[:-1](x)` are the learned
    features phi(x) on which the last layer is a linear model (7.34).
    """

    def __init__(self, sizes: Sequence[int], activation: Callable[[], Module] = ReLU, norm: Norm = None,
                 dropout: float = 0.0):
        if not isinstance(sizes, Sequence) or len(sizes) < 2:
            raise ValueError("MLP: sizes are the features of input, hidden layers and output, as in "
                             f"MLP([784, 128, 10]): at least 2, got {sizes!r}")
        layers: list[Module] = [Linear(sizes[0], sizes[1])]
        for features, out in zip(sizes[1:-1], sizes[2:], strict=True):
            layers += [make_norm("MLP", norm, features)] if norm is not None else []
            layers += [make_activation("MLP", activation)]
            layers += [Dropout(dropout)] if dropout else []
            layers += [Linear(features, out)]
        super().__init__(*layers)
