"""Models made of the layers of `nn`."""

from .language_model import LanguageModel
from .mlp import MLP
from .resnet_s import ResNetS
from .transformer import Seq2Seq, Transformer
from .vit import ViT

__all__ = ["LanguageModel", "MLP", "ResNetS", "Seq2Seq", "Transformer", "ViT"]
