"""Models built from the layers of `nn`."""

from .language_model import LanguageModel
from .mlp import MLP, ResNetS
from .resnet import ResNet, resnet8, resnet18, resnet20, resnet34, resnet50, resnet56, resnext50_32x4d
from .transformer import Transformer
from .vit import ViT

__all__ = [
    "LanguageModel", "MLP", "ResNet", "ResNetS", "Transformer", "ViT",
    "resnet8", "resnet18", "resnet20", "resnet34", "resnet50", "resnet56", "resnext50_32x4d",
]
