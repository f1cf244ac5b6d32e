"""Batches from examples as in PyTorch, with a sampler and a collate function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from .. import ops
from ..core.tensor import Tensor, wrap
from ..dtypes import get_default_dtype
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler


def default_collate(batch: Sequence[Any]) -> Any:
    """Examples as one batch: Tensors, arrays and numbers are stacked; strings stay a list; of dicts, tuples and lists
    each part is collated by itself. Raises TypeError or ValueError for what does not stack."""
    first = batch[0]
    if isinstance(first, Tensor | np.ndarray | np.generic):
        shapes = {np.shape(x) for x in batch}
        if len(shapes) > 1:
            raise ValueError(f"default_collate: the examples have shapes {' and '.join(map(str, sorted(shapes)[:3]))}; "
                             "all must agree: pad them, or pass collate_fn")
        if all(isinstance(x, Tensor) for x in batch):
            return ops.stack(*batch)
        return Tensor(np.stack([np.asarray(x) for x in batch]))
    if isinstance(first, bool | int | float):
        return Tensor(np.asarray(batch, get_default_dtype() if isinstance(first, float) else None))
    if isinstance(first, str | bytes):
        return list(batch)
    if isinstance(first, Mapping):
        return {name: default_collate([x[name] for x in batch]) for name in first}
    if isinstance(first, tuple | list):
        if len({len(x) for x in batch}) > 1:
            raise ValueError("default_collate: the examples have different numbers of parts; pass collate_fn")
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else parts
    raise TypeError(f"default_collate: an example is {type(first).__name__}; it may be Tensors, arrays, numbers, "
                    "strings, or dicts and tuples of them, or pass collate_fn")


def default_convert(example: Any) -> Any:
    """An example with its arrays as Tensors; all else stays."""
    if isinstance(example, np.ndarray | np.generic) and example.dtype.kind in "biuf":
        return wrap(np.asarray(example))
    if isinstance(example, Mapping):
        return {name: default_convert(part) for name, part in example.items()}
    if isinstance(example, tuple | list):
        parts = [default_convert(part) for part in example]
        return type(example)(*parts) if hasattr(example, "_fields") else parts
    return example


class Batches:
    """The batches of a data set, made lazily."""

    def __init__(self, dataset: Any, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any,
                 collate_fn: Callable | None, drop_last: bool, generator: Any):
        self.dataset, self.streamed = dataset, isinstance(dataset, IterableDataset)
        self.collate = collate_fn or (default_convert if batch_size is None and batch_sampler is None else
                                      default_collate)
        if self.streamed and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader: an IterableDataset comes in its own order; leave out shuffle and samplers")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: sampler and shuffle both say the order; give one of them")
        if batch_sampler is not None and (batch_size not in (1, None) or shuffle or sampler is not None or drop_last):
            raise ValueError("DataLoader: batch_sampler says which batches there are; leave out batch_size, shuffle, "
                             "sampler and drop_last")
        if batch_size is None and drop_last:
            raise ValueError("DataLoader: batch_size=None gives single examples; leave out drop_last")
        self.batch_size, self.drop_last = batch_size, drop_last
        if self.streamed:
            self.sampler = self.batch_sampler = None
            return
        self.sampler = sampler if sampler is not None else (
            RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset))
        self.batch_sampler = batch_sampler if batch_sampler is not None or batch_size is None else BatchSampler(
            self.sampler, batch_size, drop_last)

    def __len__(self) -> int:
        if self.streamed:
            n, size = len(self.dataset), self.batch_size or 1
            return n // size if self.drop_last else -(-n // size)
        order: Any = self.sampler if self.batch_sampler is None else self.batch_sampler
        return len(order)

    def __iter__(self) -> Iterator[Any]:
        if self.streamed:
            yield from self._of_a_stream()
        elif self.batch_sampler is None:
            for i in self.sampler:  # type: ignore[union-attr]
                yield self.collate(self.dataset[i])
        else:
            whole = getattr(self.dataset, "batch", None) if self.collate is default_collate else None
            for indices in self.batch_sampler:
                yield whole(indices) if whole is not None else self.collate([self.dataset[i] for i in indices])

    def _of_a_stream(self) -> Iterator[Any]:
        examples = iter(self.dataset)
        if self.batch_size is None:
            yield from map(self.collate, examples)
            return
        while batch := list(islice(examples, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield self.collate(batch)
