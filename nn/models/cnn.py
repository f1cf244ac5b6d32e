"""Convolutional networks without skips: a plain one of any depth, and AlexNet."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinygrad_like.core.tensor import Tensor

from .. import init
from ..activation import ReLU, make_activation
from ..blocks import conv3x3
from ..containers import Sequential
from ..conv import Conv2d
from ..dropout import Dropout, Dropout2d
from ..linear import Flatten, Linear
from ..module import Module
from ..norm import BatchNorm2d, Norm, make_norm
from ..pool import AdaptiveAvgPool2d, MaxPool2d


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


class AlexNet(Module):
    """Five convolutions and three Linear layers: (batch, 3, 224, 224) -> logits (batch, num_classes).

    Names and sizes are torchvision's: 61,100,840 parameters (002: "approximately 60M").
    (Krizhevsky et al., ImageNet classification with deep convolutional neural networks, 2012; the channels are those
    of Krizhevsky, One weird trick for parallelizing convolutional neural networks, 2014)
    """

    def __init__(self, num_classes: int = 1000, dropout: float = 0.5):
        self.features = Sequential(
            Conv2d(3, 64, 11, 4, padding=2), ReLU(), MaxPool2d(3, 2),
            Conv2d(64, 192, 5, padding=2), ReLU(), MaxPool2d(3, 2),
            Conv2d(192, 384, 3, padding=1), ReLU(),
            Conv2d(384, 256, 3, padding=1), ReLU(),
            Conv2d(256, 256, 3, padding=1), ReLU(), MaxPool2d(3, 2))  # fmt: skip
        self.avgpool = AdaptiveAvgPool2d(6)
        self.classifier = Sequential(
            Dropout(dropout), Linear(256 * 6 * 6, 4096), ReLU(),
            Dropout(dropout), Linear(4096, 4096), ReLU(),
            Linear(4096, num_classes))  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))
