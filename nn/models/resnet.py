"""Convolutional residual networks (002): a stem, stages of residual blocks, a global average, and a linear head.

The state_dict keys are torchvision's, so its weights load here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tinygrad_like.core.tensor import Tensor

from .. import init
from ..activation import ReLU, make_activation
from ..blocks import BasicBlock, Bottleneck, conv3x3
from ..containers import Sequential, activated
from ..conv import Conv2d
from ..linear import Identity, Linear
from ..module import Module
from ..norm import BatchNorm2d, Norm, make_norm
from ..pool import AdaptiveAvgPool2d, MaxPool2d


class ResNet(Module):
    """x: (batch, in_channels, height, width) -> logits (batch, num_classes).

    block: BasicBlock or Bottleneck. layers: the number of blocks per stage; the first block of every stage but the
    first halves the image. widths: the blocks' `channels`, per stage. stem: "large", a 7x7 convolution with stride 2
    and a max-pool with stride 2, for images of 224x224; or "small", a 3x3 convolution, for 32x32 and less.
    groups, width_per_group: for Bottleneck; 32 and 4 make a ResNeXt. zero_init_residual: initialise the last norm's
    weight of every block to 0, so that the block starts as its skip (Goyal et al. 2017). norm: a function from a number
    of channels to a norm, such as nn.BatchNorm2d or lambda n: nn.GroupNorm(4, n); with None, convolutions have a bias.
    activation: a function that returns an activation, such as nn.ReLU. dropout: the probability of dropping a channel
    before the last convolution of each block in training.

    Convolutions are initialised from He et al.'s normal distribution with fan_out. Raises ValueError for any other
    stem, and if layers and widths differ in length.
    """

    def __init__(self, block: type[Module], layers: Sequence[int], widths: Sequence[int] = (64, 128, 256, 512),
                 num_classes: int = 1000, in_channels: int = 3, stem: str = "large", groups: int = 1,
                 width_per_group: int = 64, zero_init_residual: bool = False, norm: Norm = BatchNorm2d,
                 activation: Callable[[], Module] = ReLU, dropout: float = 0.0):
        if stem not in ("small", "large"):
            raise ValueError(f'ResNet: stem must be "small" or "large", got {stem!r}')
        if len(layers) != len(widths) or not layers or min(layers) < 1:
            raise ValueError(f"ResNet: layers and widths need one positive integer per stage, got "
                             f"layers={list(layers)} and widths={list(widths)}")
        kind: Any = block
        channels = [widths[0], *(width * kind.expansion for width in widths)]
        bias, options = norm is None, (groups, width_per_group, norm, activation, dropout)
        self.conv1 = (Conv2d(in_channels, channels[0], 7, 2, padding=3, bias=bias) if stem == "large"
                      else conv3x3(in_channels, channels[0], bias=bias))
        self.bn1 = make_norm("ResNet", norm, channels[0])
        self.relu = make_activation("ResNet", activation)
        self.maxpool = MaxPool2d(3, 2, 1) if stem == "large" else Identity()
        self.stages = tuple(f"layer{i}" for i in range(1, len(layers) + 1))
        for i, (name, count, width) in enumerate(zip(self.stages, layers, widths, strict=True)):
            first = kind(channels[i], width, 1 if i == 0 else 2, *options)
            others = [kind(channels[i + 1], width, 1, *options) for _ in range(count - 1)]
            setattr(self, name, Sequential(first, *others))
        self.avgpool = AdaptiveAvgPool2d(1)
        self.fc = Linear(channels[-1], num_classes)
        for module in self.modules():
            if isinstance(module, Conv2d):
                init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if zero_init_residual:
            for name in self.stages:
                for residual in getattr(self, name):
                    residual.zero_init()

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.avgpool(self.features(x)).flatten(1))

    def features(self, x: Tensor) -> Tensor:
        """The last stage's output for x: (batch, channels, height, width)."""
        x = self.maxpool(activated(self.bn1, self.relu, self.conv1(x)))
        for name in self.stages:
            x = getattr(self, name)(x)
        return x


def _named(name: str, what: str, block: type[Module], layers: Sequence[int], classes: int = 1000, **usual: Any
           ) -> Callable[..., ResNet]:
    def make(num_classes: int = classes, **options: Any) -> ResNet:
        return ResNet(block, layers, num_classes=num_classes, **{**usual, **options})

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{what} The options are `ResNet`'s."
    return make


# At the start of a stage, He et al. pad the skip with zeros; here the skip is a 1x1 convolution.
resnet8, resnet20, resnet56 = (
    _named(f"resnet{6 * n + 2}", f"He et al.'s network of 6 n + 2 layers for 32x32 images, n = {n}: n blocks in each "
           "of 3 stages of 16, 32, 64 channels.", BasicBlock, [n] * 3, 10, widths=(16, 32, 64), stem="small")
    for n in (1, 3, 9))
resnet18 = _named("resnet18", "torchvision's ResNet-18, for 224x224 images.", BasicBlock, [2, 2, 2, 2])
resnet34 = _named("resnet34", "torchvision's ResNet-34, for 224x224 images.", BasicBlock, [3, 4, 6, 3])
resnet50 = _named("resnet50", "torchvision's ResNet-50, for 224x224 images.", Bottleneck, [3, 4, 6, 3])
resnext50_32x4d = _named(
    "resnext50_32x4d", "torchvision's ResNeXt-50: 32 groups of 4 channels each in its first stage.", Bottleneck,
    [3, 4, 6, 3], groups=32, width_per_group=4)
