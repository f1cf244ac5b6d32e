"""A convolutional network without skips."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .. import init
from ..activation import ReLU, make_activation
from ..blocks import conv3x3
from ..containers import Sequential
from ..dropout import Dropout2d
from ..linear import Flatten, Linear
from ..module import Module
from ..norm import BatchNorm2d, Norm, make_norm
from ..pool import AdaptiveAvgPool2d


class CNN(Sequential):
    """Stages of 3x3 convolutions, each with its norm and activation; a global average; a linear head (002).

    x: (batch, in_channels, height, width) -> logits (batch, num_classes).

    layers: the number of convolutions in each stage; every stage but the first halves the image with its first one.
    widths: the channels of each stage. It is the plain network to which He et al. (2016) compare residual ones:
        CNN([6, 6, 6], (16, 32, 64)) has the convolutions of a ResNet-20 but the first.
    norm, activation, dropout: as in `ResNet`; channels are dropped after each activation but the first.

    Convolutions start from He et al.'s normal distribution with fan_out. Raises ValueError if layers and widths differ
    in length.
    """

    def __init__(self, layers: Sequence[int], widths: Sequence[int], num_classes: int = 10, in_channels: int = 3,
                 norm: Norm = BatchNorm2d, activation: Callable[[], Module] = ReLU, dropout: float = 0.0):
        if len(layers) != len(widths) or not layers or min(layers) < 1:
            raise ValueError(f"CNN: layers and widths have one positive integer per stage each, got "
                             f"layers={list(layers)} and widths={list(widths)}")
        made: list[Module] = []
        channels = in_channels
        for stage, (count, width) in enumerate(zip(layers, widths, strict=True)):
            for i in range(count):
                if made and dropout:
                    made.append(Dropout2d(dropout))
                conv = conv3x3(channels, width, 2 if stage and not i else 1, bias=norm is None)
                init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
                made.append(conv)
                made += [] if norm is None else [make_norm("CNN", norm, width)]
                made.append(make_activation("CNN", activation))
                channels = width
        super().__init__(*made, AdaptiveAvgPool2d(1), Flatten(), Linear(channels, num_classes))
