"""PyTorch-style data sets, with `__len__` and `__getitem__`, and subsets of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from .. import random
from ..core.tensor import Tensor


def array_of(x: Any) -> np.ndarray:
    """A Tensor, or anything that NumPy accepts, as an array."""
    return x._data if isinstance(x, Tensor) else np.asarray(x)


class Dataset:
    """The base of a data set: a subclass defines `__getitem__(i)`, an example, and `__len__()`."""

    def __class_getitem__(cls, item: Any) -> type:
        return cls

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: a data set must define __getitem__")


class TensorDataset(Dataset):
    """Example i is (tensors[0][i], tensors[1][i], ...). Raises ValueError if their lengths differ."""

    def __init__(self, *tensors: Tensor):
        self.tensors = tuple([x if isinstance(x, Tensor) else Tensor(x) for x in tensors])
        if not tensors or len({len(x) for x in self.tensors}) > 1:
            raise ValueError("TensorDataset: needs Tensors of the same length, got shapes "
                             f"{', '.join(str(x.shape) for x in self.tensors) or 'of none'}")

    def __len__(self) -> int:
        return len(self.tensors[0])

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([x[index] for x in self.tensors])

    def batch(self, indices: Sequence[int]) -> list[Tensor]:
        """These examples as one batch: the rows of each Tensor."""
        rows = np.asarray(indices)
        return [x[rows] for x in self.tensors]


class Subset(Dataset):
    """The examples of a data set at these indices."""

    def __init__(self, dataset: Any, indices: Sequence[int]):
        if not hasattr(dataset, "__getitem__") or not hasattr(indices, "__getitem__"):
            raise TypeError(f"Subset: takes a data set and a list of indices, got {type(dataset).__name__} and "
                            f"{type(indices).__name__}")
        self.dataset, self.indices = dataset, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    @property
    def batch(self) -> Any:
        """The data set's own `batch`, if it has one."""
        whole = self.dataset.batch  # AttributeError, if not
        return lambda indices: whole([int(self.indices[i]) for i in indices])


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Split a data set at random into parts of these lengths, or of these fractions of the whole.

    Lengths must sum to the data set's length, fractions to 1; the first parts get the remainder of rounding. Raises
    ValueError otherwise.
    """
    n = len(dataset)
    counts: list = list(lengths)
    if math.isclose(sum(counts), 1) and sum(counts) <= 1:
        counts = [math.floor(n * part) for part in lengths]
        for i in range(n - sum(counts)):
            counts[i % len(counts)] += 1
    if sum(counts) != n or any(c < 0 or c != int(c) for c in counts):
        raise ValueError(f"random_split: lengths {list(lengths)} must be integers that add up to the {n} examples, or "
                         "fractions that add up to 1")
    order = random.numbers(generator).permutation(n).tolist()
    sizes = [int(c) for c in counts]
    return [Subset(dataset, order[end - c:end]) for c, end in zip(sizes, accumulate(sizes), strict=True)]
