"""The residual blocks of convolutional networks (002): y = F(x) + x, with F made of convolutions and norms.

Where F changes the number of channels or the size of the image, the skip does too: by a 1x1 convolution and a norm.
Convolutions before a batch norm have no bias, because the norm would remove it.
"""

from __future__ import annotations

from tinygrad_like import Tensor

from . import init
from .activation import GELU, ReLU
from .containers import Sequential
from .conv import Conv2d
from .fusion import activated
from .linear import Linear, Permute
from .module import Module, Parameter
from .norm import BatchNorm2d, LayerNorm, activated_sum


def conv3x3(in_channels: int, out_channels: int, stride: int = 1, groups: int = 1) -> Conv2d:
    """A 3x3 convolution that keeps the size of the image, or halves it with stride 2."""
    return Conv2d(in_channels, out_channels, 3, stride, padding=1, groups=groups, bias=False)


def conv1x1(in_channels: int, out_channels: int, stride: int = 1) -> Conv2d:
    """A linear map of the channels of each pixel, or of every stride-th pixel."""
    return Conv2d(in_channels, out_channels, 1, stride, bias=False)


def shortcut(in_channels: int, out_channels: int, stride: int) -> Sequential | None:
    """The 1x1 convolution and norm that give x the shape of F(x), or None if it already has that shape."""
    if stride == 1 and in_channels == out_channels:
        return None
    return Sequential(conv1x1(in_channels, out_channels, stride), BatchNorm2d(out_channels))


class _Block(Module):
    """A block of a ResNet, which makes it of (in_channels, channels, stride, groups, base_width)."""

    expansion = 1  # channels of the result / channels
    preactivation = False
    last: str  # the layer that makes F(x) = 0 when its parameters are 0
    downsample: Module | None

    def _refuse_groups(self, groups: int, base_width: int) -> None:
        if groups != 1 or base_width != 64:
            raise ValueError(f"{type(self).__name__}: has no groups, got groups={groups} and base_width={base_width}; "
                             "use Bottleneck")

    def _skip(self, x: Tensor) -> Tensor:
        return x if self.downsample is None else self.downsample(x)

    def zero_init(self) -> None:
        """Begin with F(x) = 0."""
        for parameter in getattr(self, self.last).parameters():
            init.zeros_(parameter)


class BasicBlock(_Block):
    """y = relu(bn(conv3x3(relu(bn(conv3x3(x))))) + x).

    x: (batch, in_channels, height, width) -> y: (batch, channels, height / stride, width / stride), rounded up.
    (He et al., Deep residual learning for image recognition, 2016)
    """

    last = "bn2"

    def __init__(self, in_channels: int, channels: int, stride: int = 1, groups: int = 1, base_width: int = 64):
        self._refuse_groups(groups, base_width)
        self.conv1, self.bn1 = conv3x3(in_channels, channels, stride), BatchNorm2d(channels)
        self.conv2, self.bn2 = conv3x3(channels, channels), BatchNorm2d(channels)
        self.relu = ReLU()
        self.downsample = shortcut(in_channels, channels, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = activated(self.bn1, self.relu, self.conv1(x))
        return activated_sum(self.bn2, self.relu, self.conv2(y), self._skip(x))


class Bottleneck(_Block):
    """y = relu(bn(conv1x1(relu(bn(conv3x3(relu(bn(conv1x1(x)))))))) + x): the costly 3x3 works on few channels.

    x: (batch, in_channels, height, width) -> y: (batch, 4 channels, height / stride, width / stride), rounded up.
    The 3x3 convolution has the stride, as in torchvision, and groups * channels * base_width / 64 channels. With
    groups > 1 it is the ResNeXt block: as many parallel branches, each of channels * base_width / 64 channels.
    (He et al. 2016; Xie et al., Aggregated residual transformations for deep neural networks, 2017)
    """

    expansion = 4
    last = "bn3"

    def __init__(self, in_channels: int, channels: int, stride: int = 1, groups: int = 1, base_width: int = 64):
        width = channels * base_width // 64 * groups
        self.conv1, self.bn1 = conv1x1(in_channels, width), BatchNorm2d(width)
        self.conv2, self.bn2 = conv3x3(width, width, stride, groups), BatchNorm2d(width)
        self.conv3, self.bn3 = conv1x1(width, 4 * channels), BatchNorm2d(4 * channels)
        self.relu = ReLU()
        self.downsample = shortcut(in_channels, 4 * channels, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = activated(self.bn1, self.relu, self.conv1(x))
        y = activated(self.bn2, self.relu, self.conv2(y))
        return activated_sum(self.bn3, self.relu, self.conv3(y), self._skip(x))


class PreActBlock(_Block):
    """y = conv3x3(relu(bn(conv3x3(z)))) + x with z = relu(bn(x)): only sums lie on the way from block to block.

    x: (batch, in_channels, height, width) -> y: (batch, channels, height / stride, width / stride), rounded up.
    Where the shape changes, the skip is a 1x1 convolution of z instead of x. The last block must be followed by a norm
    and a ReLU. (He et al., Identity mappings in deep residual networks, 2016)
    """

    preactivation = True
    last = "conv2"

    def __init__(self, in_channels: int, channels: int, stride: int = 1, groups: int = 1, base_width: int = 64):
        self._refuse_groups(groups, base_width)
        self.bn1, self.conv1 = BatchNorm2d(in_channels), conv3x3(in_channels, channels, stride)
        self.bn2, self.conv2 = BatchNorm2d(channels), conv3x3(channels, channels)
        self.relu = ReLU()
        self.downsample = None if stride == 1 and in_channels == channels else conv1x1(in_channels, channels, stride)

    def forward(self, x: Tensor) -> Tensor:
        z = activated(self.bn1, self.relu, x)
        y = self.conv2(activated(self.bn2, self.relu, self.conv1(z)))
        return y + (x if self.downsample is None else self.downsample(z))


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
