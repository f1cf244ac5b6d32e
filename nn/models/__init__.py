"""Models made of the layers of `nn`."""

from .mlp import MLP
from .resnet_s import ResNetS

__all__ = ["MLP", "ResNetS"]
