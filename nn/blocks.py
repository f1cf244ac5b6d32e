"""The residual blocks of convolutional networks (002): y = F(x) + x, with F made of convolutions and norms.

Where F changes the number of channels or the size of the image, the skip does too: by a 1x1 convolution and a norm.
Convolutions before a batch norm have no bias, because the norm would remove it.
"""

from __future__ import annotations

from collections.abc import Callable

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
    """A 3x3 convolution that keeps the size of the image, or halves it with stride 2."""
    return Conv2d(in_channels, out_channels, 3, stride, padding=1, groups=groups, bias=bias)


def conv1x1(in_channels: int, out_channels: int, stride: int = 1, bias: bool = False) -> Conv2d:
    """A linear map of the channels of each pixel, or of every stride-th pixel."""
    return Conv2d(in_channels, out_channels, 1, stride, bias=bias)


def shortcut(in_channels: int, out_channels: int, stride: int, norm: Norm = BatchNorm2d) -> Sequential | None:
    """The 1x1 convolution and norm that give x the shape of F(x), or None if it already has that shape."""
    if stride == 1 and in_channels == out_channels:
        return None
    return Sequential(conv1x1(in_channels, out_channels, stride, norm is None), make_norm("norm", norm, out_channels))


class _Block(Module):
    """A block of a ResNet. The ResNet passes the arguments below.

    norm: makes a norm from a number of channels, as nn.BatchNorm2d and lambda n: nn.GroupNorm(4, n) do; None for none,
        then convolutions have a bias. activation: makes an activation, as nn.ReLU does.
    dropout: with this probability each channel of the last convolution's input is dropped (Zagoruyko and Komodakis,
        Wide residual networks, 2016; whole channels, see 002).
    """

    expansion = 1  # channels of the result / channels
    last: tuple[str, ...]  # layers of which the first that has parameters makes F(x) = 0 when these are 0
    downsample: Module | None

    def __init__(self, in_channels: int, channels: int, stride: int = 1, groups: int = 1, base_width: int = 64,
                 norm: Norm = BatchNorm2d, activation: Callable[[], Module] = ReLU, dropout: float = 0.0):
        who = type(self).__name__
        if type(self) is not Bottleneck and (groups != 1 or base_width != 64):
            raise ValueError(f"{who}: has no groups, got groups={groups} and base_width={base_width}; use Bottleneck")
        self._make(in_channels, channels, stride, lambda n: make_norm(who, norm, n), norm is None,
                   channels * base_width // 64 * groups, groups)
        self.relu = make_activation(who, activation)  # torchvision's name
        self.dropout = Dropout2d(dropout) if dropout else Identity()
        self.downsample = shortcut(in_channels, self.expansion * channels, stride, norm)

    def _make(self, inputs: int, channels: int, stride: int, norm: Callable[[int], Module], bias: bool, width: int,
              groups: int) -> None:
        """Set the layers of F. width: the channels of a grouped convolution."""
        raise NotImplementedError

    def _skip(self, x: Tensor) -> Tensor:
        return x if self.downsample is None else self.downsample(x)

    def zero_init(self) -> None:
        """Begin with F(x) = 0."""
        found = next(parameters for name in self.last if (parameters := list(getattr(self, name).parameters())))
        for parameter in found:
            init.zeros_(parameter)


class BasicBlock(_Block):
    """y = relu(bn(conv3x3(relu(bn(conv3x3(x))))) + x).

    x: (batch, in_channels, height, width) -> y: (batch, channels, height / stride, width / stride), rounded up.
    (He et al., Deep residual learning for image recognition, 2016)
    """

    last = "bn2", "conv2"

    def _make(self, inputs: int, channels: int, stride: int, norm: Callable[[int], Module], bias: bool, width: int,
              groups: int) -> None:
        self.conv1, self.bn1 = conv3x3(inputs, channels, stride, bias=bias), norm(channels)
        self.conv2, self.bn2 = conv3x3(channels, channels, bias=bias), norm(channels)

    def forward(self, x: Tensor) -> Tensor:
        y = self.dropout(activated(self.bn1, self.relu, self.conv1(x)))
        return activated_sum(self.bn2, self.relu, self.conv2(y), self._skip(x))


class Bottleneck(_Block):
    """y = relu(bn(conv1x1(relu(bn(conv3x3(relu(bn(conv1x1(x)))))))) + x): the costly 3x3 works on few channels.

    x: (batch, in_channels, height, width) -> y: (batch, 4 channels, height / stride, width / stride), rounded up.
    The 3x3 convolution has the stride, as in torchvision, and groups * channels * base_width / 64 channels. With
    groups > 1 it is the ResNeXt block: as many parallel branches, each of channels * base_width / 64 channels.
    (He et al. 2016; Xie et al., Aggregated residual transformations for deep neural networks, 2017)
    """

    expansion = 4
    last = "bn3", "conv3"

    def _make(self, inputs: int, channels: int, stride: int, norm: Callable[[int], Module], bias: bool, width: int,
              groups: int) -> None:
        self.conv1, self.bn1 = conv1x1(inputs, width, bias=bias), norm(width)
        self.conv2, self.bn2 = conv3x3(width, width, stride, groups, bias), norm(width)
        self.conv3, self.bn3 = conv1x1(width, 4 * channels, bias=bias), norm(4 * channels)

    def forward(self, x: Tensor) -> Tensor:
        y = activated(self.bn1, self.relu, self.conv1(x))
        y = self.dropout(activated(self.bn2, self.relu, self.conv2(y)))
        return activated_sum(self.bn3, self.relu, self.conv3(y), self._skip(x))


class ConvNeXtBlock(Module):
    """y = x + layer_scale * F(x), F: depthwise 7x7 convolution, LayerNorm, Linear (4 times as wide), GELU, Linear.

    x, y: (batch, channels, height, width). Norm and Linear layers work on each pixel, channels last.
    layer_scale: (channels, 1, 1), learned and small at first: the block starts close to the identity.
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
