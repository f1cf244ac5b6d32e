"""The residual blocks of convolutional networks (002): y = F(x) + x, with F made of convolutions and norms.

Where F changes the number of channels or the image size, so does the skip, by a 1x1 convolution and a norm.
Convolutions before a batch norm have no bias, since the norm would remove it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygrad_like.core.tensor import Tensor

from . import init
from .activation import GELU, ReLU, make_activation
from .containers import Sequential, activated
from .conv import Conv2d
from .dropout import Dropout2d
from .linear import Identity, Linear, Permute
from .module import Module, Parameter
from .norm import BatchNorm2d, LayerNorm, Norm, activated_sum, make_norm


def conv3x3(in_channels: int, out_channels: int, stride: int = 1, groups: int = 1, bias: bool = False) -> Conv2d:
    """A 3x3 convolution that keeps the image size, or halves it with stride 2."""
    return Conv2d(in_channels, out_channels, 3, stride, padding=1, groups=groups, bias=bias)


def shortcut(in_channels: int, out_channels: int, stride: int, norm: Norm = BatchNorm2d) -> Sequential | None:
    """The 1x1 convolution and norm that give x the shape of F(x), or None if it already has that shape."""
    if stride == 1 and in_channels == out_channels:
        return None
    return Sequential(Conv2d(in_channels, out_channels, 1, stride, bias=norm is None),
                      make_norm("norm", norm, out_channels))


class _Block(Module):
    """A block of a ResNet. The ResNet passes the arguments below.

    norm: a function from a number of channels to a norm, such as nn.BatchNorm2d or lambda n: nn.GroupNorm(4, n); None
    for no norm, and then convolutions have a bias. activation: a function that returns a layer, such as nn.ReLU.
    dropout: the probability of dropping each channel of the last convolution's input (Zagoruyko and Komodakis, Wide
    residual networks, 2016; whole channels, see 002).
    """

    expansion = 1  # channels of the result / channels
    kernels: tuple[int, ...]  # of the convolutions; the first 3x3 has the stride and the groups
    downsample: Module | None

    def __init__(self, in_channels: int, channels: int, stride: int = 1, groups: int = 1, base_width: int = 64,
                 norm: Norm = BatchNorm2d, activation: Callable[[], Module] = ReLU, dropout: float = 0.0):
        who, inputs = type(self).__name__, in_channels
        if type(self) is not Bottleneck and (groups != 1 or base_width != 64):
            raise ValueError(f"{who}: has no groups, got groups={groups} and base_width={base_width}; use Bottleneck")
        outputs = [channels * base_width // 64 * groups] * (len(self.kernels) - 1) + [self.expansion * channels]
        for i, (size, out) in enumerate(zip(self.kernels, outputs, strict=True), 1):
            here = i == self.kernels.index(3) + 1
            self.register_module(f"conv{i}", Conv2d(inputs, out, size, stride if here else 1, padding=size // 2,
                                                    groups=groups if here else 1, bias=norm is None))
            self.register_module(f"bn{i}", make_norm(who, norm, out))
            inputs = out
        self.relu = make_activation(who, activation)  # torchvision's name
        self.dropout = Dropout2d(dropout) if dropout else Identity()
        self.downsample = shortcut(in_channels, self.expansion * channels, stride, norm)

    def _layers(self) -> list[tuple[Any, Any]]:
        """Pairs of a convolution and its norm."""
        own = self.__dict__
        return [(own[f"conv{i}"], own[f"bn{i}"]) for i in range(1, len(self.kernels) + 1)]

    def forward(self, x: Tensor) -> Tensor:
        y, (*before, (last, its_norm)) = x, self._layers()
        for conv, norm in before:
            y = activated(norm, self.relu, conv(y))
        y = last(self.dropout(y))
        return activated_sum(its_norm, self.relu, y, x if self.downsample is None else self.downsample(x))

    def zero_init(self) -> None:
        """Initialise with F(x) = 0."""
        conv, norm = self._layers()[-1]
        for parameter in list(norm.parameters()) or conv.parameters():
            init.zeros_(parameter)


class BasicBlock(_Block):
    """y = relu(bn(conv3x3(relu(bn(conv3x3(x))))) + x).

    x: (batch, in_channels, height, width) -> y: (batch, channels, height / stride, width / stride), rounded up.
    (He et al., Deep residual learning for image recognition, 2016)
    """

    kernels = 3, 3


class Bottleneck(_Block):
    """y = relu(bn(conv1x1(relu(bn(conv3x3(relu(bn(conv1x1(x)))))))) + x): the expensive 3x3 works on few channels.

    x: (batch, in_channels, height, width) -> y: (batch, 4 channels, height / stride, width / stride), rounded up.
    The 3x3 convolution has the stride, as in torchvision, and groups * channels * base_width / 64 channels. With
    groups > 1 it is the ResNeXt block: `groups` parallel branches, each of channels * base_width / 64 channels.
    (He et al. 2016; Xie et al., Aggregated residual transformations for deep neural networks, 2017)
    """

    expansion = 4
    kernels = 1, 3, 1


class ConvNeXtBlock(Module):
    """y = x + layer_scale * F(x), F: depthwise 7x7 convolution, LayerNorm, Linear (4 times as wide), GELU, Linear.

    x, y: (batch, channels, height, width). Norm and Linear layers act on each pixel, channels last.
    layer_scale: (channels, 1, 1), learned, and initially small: the block starts close to the identity.
    (Liu et al., A ConvNet for the 2020s, 2022; names as in torchvision)
    """

    def __init__(self, channels: int, layer_scale: float = 1e-6):
        self.block = Sequential(
            Conv2d(channels, channels, 7, padding=3, groups=channels),
            Permute((0, 2, 3, 1)),
            LayerNorm(channels, eps=1e-6),
            Linear(channels, 4 * channels),
            GELU(),
            Linear(4 * channels, channels),
            Permute((0, 3, 1, 2)))  # fmt: skip
        self.layer_scale = Parameter(Tensor.full((channels, 1, 1), layer_scale))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layer_scale * self.block(x)
