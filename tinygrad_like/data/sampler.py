"""Samplers: iterables of indices, the order in which a DataLoader reads a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, count, islice
from typing import Any

import numpy as np

from .. import random
from .dataset import array_of

_PART = 1 << 12


def _in_parts(wanted: int, draw: Callable[[int], np.ndarray]) -> Iterator[int]:
    """Random indices, drawn on demand, since they may not fit into memory."""
    return chain.from_iterable(draw(min(_PART, wanted - done)).tolist() for done in range(0, wanted, _PART))


class Sampler:
    """The base of a sampler: a subclass defines `__iter__`, which yields indices, and usually `__len__`."""

    def __init__(self, data_source: Any = None):
        pass

    def __class_getitem__(cls, item: Any) -> type:
        return cls

    def __iter__(self) -> Iterator:
        raise NotImplementedError(f"{type(self).__name__}: a sampler must define __iter__")


class RandomSampler(Sampler):
    """All indices in random order, or num_samples of them; with replacement, indices may repeat."""

    def __init__(self, data_source: Any, replacement: bool = False, num_samples: int | None = None,
                 generator: Any = None):
        self.data_source, self.replacement, self.generator = data_source, bool(replacement), generator
        self.num_samples = len(data_source) if num_samples is None else num_samples
        if not isinstance(self.num_samples, int) or not 0 <= self.num_samples < 1 << 40:
            raise ValueError(f"RandomSampler: num_samples={num_samples!r} must be an integer from 0 to 2^40 - 1")
        if self.num_samples and not len(data_source):
            raise ValueError(f"RandomSampler: num_samples={num_samples!r}, but the data set is empty")
        random.of(generator)

    def __iter__(self) -> Iterator[int]:
        n, rng = len(self.data_source), random.numbers(self.generator)
        if self.replacement:
            return _in_parts(self.num_samples, lambda k: rng.integers(0, n, k))
        return islice((i for _ in count() for i in rng.permutation(n).tolist()), self.num_samples)

    def __len__(self) -> int:
        return self.num_samples


class WeightedRandomSampler(Sampler):
    """num_samples indices, i with probability proportional to weights[i]. Raises ValueError for negative weights."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None):
        self.weights = np.asarray(array_of(weights), np.float64)
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator
        w = self.weights
        if w.ndim != 1 or not np.all(w >= 0) or not np.isfinite(w).all() or not w.sum() > 0:
            raise ValueError("WeightedRandomSampler: weights must be a list of numbers >= 0 that are not all 0")
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or not 1 <= num_samples < 1 << 40:
            raise ValueError(f"WeightedRandomSampler: num_samples={num_samples!r} must be a positive integer")
        if not replacement and num_samples > np.count_nonzero(w):
            raise ValueError(f"WeightedRandomSampler: {num_samples} samples without replacement, but only "
                             f"{np.count_nonzero(w)} weights are not 0")

    def __iter__(self) -> Iterator[int]:
        p, rng = self.weights / self.weights.sum(), random.numbers(self.generator)
        if not self.replacement:
            return iter(rng.choice(len(p), self.num_samples, False, p).tolist())
        up_to = p.cumsum()
        up_to /= up_to[-1]  # else a number just below 1 could exceed it
        return _in_parts(self.num_samples, lambda k: up_to.searchsorted(rng.random(k), side="right"))

    def __len__(self) -> int:
        return self.num_samples


def DistributedSampler(*args: Any, **options: Any) -> Any:
    """Raises NotImplementedError: a sharded DataLoader gives each process its part."""
    raise NotImplementedError("DistributedSampler: pass DataLoader(x, y, ..., shard=(rank, size)), or let training.fit "
                              "share the batches")
