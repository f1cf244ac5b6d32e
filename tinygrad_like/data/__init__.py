"""Data sets as NumPy arrays, a loader that makes batches of Tensors from them, and augmentation."""

from .augment import random_shift
from .digits import load_digits, stratified_split
from .idx import load_mnist, read_idx
from .loader import DataLoader

__all__ = ["DataLoader", "load_digits", "load_mnist", "random_shift", "read_idx", "stratified_split"]
