"""Batches of Tensors from arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import random
from ..tensor import Tensor, wrap


class DataLoader:
    """Iterate over arrays in batches: `for x, y in DataLoader(images, labels, batch_size=64, shuffle=True)`.

    arrays: one or more of the same length n; a batch is a tuple of Tensors, one per array, (batch_size, ...).
    shuffle: a new order each time it is iterated, drawn from the package's generator (`manual_seed`).
    drop_last: leave out a last batch that is smaller than the others.
    transform: called on the arrays of each batch (augmentation); returns as many arrays.

    A batch is a copy: changing it leaves the data set alone. `len(loader)` is the number of batches.
    Raises ValueError for no arrays, arrays of different lengths, or a batch size below 1.
    """

    def __init__(self, *arrays: Any, batch_size: int, shuffle: bool = False, drop_last: bool = False,
                 transform: Callable[..., tuple] | None = None):
        self.arrays = [x.data if isinstance(x, Tensor) else np.asarray(x) for x in arrays]
        if not arrays or any(x.ndim == 0 or len(x) != len(self.arrays[0]) for x in self.arrays):
            raise ValueError("DataLoader: needs one or more arrays with the same number of rows, got shapes "
                             f"{[x.shape for x in self.arrays]}")
        if batch_size < 1:
            raise ValueError(f"DataLoader: batch_size={batch_size} must be at least 1")
        self.batch_size, self.shuffle, self.drop_last, self.transform = batch_size, shuffle, drop_last, transform

    def __len__(self) -> int:
        whole, rest = divmod(len(self.arrays[0]), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        n = len(self.arrays[0])
        order = random.generator.permutation(n) if self.shuffle else np.arange(n)
        for i in range(len(self)):
            rows = order[i * self.batch_size:(i + 1) * self.batch_size]
            batch = tuple(x[rows] for x in self.arrays)
            if self.transform is not None:
                batch = self.transform(*batch)
            yield tuple(wrap(x) for x in batch)
