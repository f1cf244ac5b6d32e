"""Data sets as NumPy arrays, scaling, augmentation, and a loader that makes batches of Tensors."""

from .augment import (
    RANDAUGMENT,
    ChannelCutout,
    Compose,
    Cutout,
    GaussianNoise,
    RandAugment,
    RandomBrightness,
    RandomContrast,
    RandomCrop,
    RandomHorizontalFlip,
    RandomRotation,
    RandomShift,
    RandomZoom,
)
from .cifar import load_cifar10
from .digits import load_digits, stratified_split
from .download import data_folder
from .idx import read_idx
from .loader import DataLoader
from .mix import CutMix, MixUp
from .mnist import load_fashion_mnist, load_mnist
from .scale import MinMaxScaler, StandardScaler

__all__ = [
    "RANDAUGMENT", "ChannelCutout", "Compose", "CutMix", "Cutout", "DataLoader", "GaussianNoise", "MinMaxScaler",
    "MixUp", "RandAugment", "RandomBrightness", "RandomContrast", "RandomCrop", "RandomHorizontalFlip",
    "RandomRotation", "RandomShift", "RandomZoom", "StandardScaler", "data_folder", "load_cifar10", "load_digits",
    "load_fashion_mnist", "load_mnist", "read_idx", "stratified_split",
]
