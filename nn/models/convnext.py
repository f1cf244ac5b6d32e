"""ConvNeXt: a residual network of depthwise convolutions, with a Transformer's norms, widths and activations (002).

Names in the state_dict are torchvision's, so that its weights load here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tinygrad_like.core.tensor import Tensor

from .. import init
from ..blocks import ConvNeXtBlock
from ..containers import Sequential
from ..conv import Conv2d
from ..linear import Flatten, Linear
from ..module import Module
from ..norm import LayerNorm2d
from ..pool import AdaptiveAvgPool2d


class ConvNeXt(Module):
    """x: (batch, in_channels, height, width) -> logits (batch, num_classes).

    layers, widths: the number of blocks, and the channels, of each stage. Between two stages a norm and a 2x2
        convolution with stride 2 halve the image.
    patch_size: of the stem, a convolution with that stride: 4 for images of 224x224; 1 or 2 for small ones.
    stochastic_depth_prob: with which the last block is skipped in training; it grows linearly from 0 at the first.
    layer_scale: see ConvNeXtBlock.

    Weights start normal with standard deviation 0.02, cut off at 2 (so hardly), biases at 0. Raises ValueError if
    layers and widths differ in length, or for a probability outside [0, 1].
    (Liu et al., A ConvNet for the 2020s, 2022)
    """

    def __init__(self, layers: Sequence[int], widths: Sequence[int] = (96, 192, 384, 768), num_classes: int = 1000,
                 in_channels: int = 3, patch_size: int = 4, stochastic_depth_prob: float = 0.0,
                 layer_scale: float = 1e-6):
        if len(layers) != len(widths) or not layers or min(layers) < 1:
            raise ValueError(f"ConvNeXt: layers and widths have one positive integer per stage each, got "
                             f"layers={list(layers)} and widths={list(widths)}")
        stem = Conv2d(in_channels, widths[0], patch_size, patch_size)
        stages: list[Module] = [Sequential(stem, LayerNorm2d(widths[0], eps=1e-6))]
        done = 0
        for i, (count, width) in enumerate(zip(layers, widths, strict=True)):
            if i:
                halve = Conv2d(widths[i - 1], width, 2, 2)
                stages.append(Sequential(LayerNorm2d(widths[i - 1], eps=1e-6), halve))
            p = [stochastic_depth_prob * (done + j) / max(1, sum(layers) - 1) for j in range(count)]
            stages.append(Sequential(*[ConvNeXtBlock(width, layer_scale, q) for q in p]))
            done += count
        self.features = Sequential(*stages)
        self.avgpool = AdaptiveAvgPool2d(1)
        self.classifier = Sequential(LayerNorm2d(widths[-1], eps=1e-6), Flatten(), Linear(widths[-1], num_classes))
        for module in self.modules():
            if isinstance(module, Conv2d | Linear):
                init.trunc_normal_(module.weight, std=0.02)
                for bias in (module.bias,) if module.bias is not None else ():
                    init.zeros_(bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)))


def convnext_tiny(num_classes: int = 1000, **options: Any) -> ConvNeXt:
    """torchvision's ConvNeXt-T, for 224x224 images. options: of `ConvNeXt`."""
    return ConvNeXt([3, 3, 9, 3], num_classes=num_classes, **{"stochastic_depth_prob": 0.1, **options})


def convnext_small(num_classes: int = 1000, **options: Any) -> ConvNeXt:
    """torchvision's ConvNeXt-S, for 224x224 images. options: of `ConvNeXt`."""
    return ConvNeXt([3, 3, 27, 3], num_classes=num_classes, **{"stochastic_depth_prob": 0.4, **options})
