"""Models made of the layers of `nn`."""

from .mlp import MLP
from .resnet import ResNet, resnet8, resnet18, resnet20, resnet34, resnet50, resnet56, resnext50_32x4d
from .resnet_s import ResNetS

__all__ = [
    "MLP", "ResNet", "ResNetS", "resnet8", "resnet18", "resnet20", "resnet34", "resnet50", "resnet56",
    "resnext50_32x4d",
]
