"""Data sets as NumPy arrays, scaling, augmentation, and a loader of batches of Tensors."""

from ..errors import named as _named
from .augment import (
    RANDAUGMENT,
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
from .dataset import (
    Dataset,
    Subset,
    TensorDataset,
    random_split,
)
from .digits import load_digits, stratified_split
from .download import data_folder
from .loader import DataLoader, default_collate
from .mix import CutMix, MixUp
from .mnist import load_fashion_mnist, load_mnist, read_idx
from .sampler import DistributedSampler as DistributedSampler
from .sampler import (
    RandomSampler,
    Sampler,
    WeightedRandomSampler,
)
from .scale import MinMaxScaler, StandardScaler

__all__ = [
    "Compose", "CutMix", "Cutout", "DataLoader", "Dataset", "GaussianNoise", "MinMaxScaler", "MixUp", "RANDAUGMENT",
    "RandAugment", "RandomBrightness", "RandomContrast", "RandomCrop", "RandomHorizontalFlip", "RandomRotation",
    "RandomSampler", "RandomShift", "RandomZoom", "Sampler", "StandardScaler", "Subset", "TensorDataset",
    "WeightedRandomSampler", "data_folder", "default_collate", "load_cifar10", "load_digits", "load_fashion_mnist",
    "load_mnist", "random_split", "read_idx", "stratified_split",
]

for _class in (RandomSampler, Subset, TensorDataset, WeightedRandomSampler):
    _class.__init__ = _named(_class.__init__, _class.__name__)  # type: ignore[method-assign]
default_collate, random_split = _named(default_collate), _named(random_split)
