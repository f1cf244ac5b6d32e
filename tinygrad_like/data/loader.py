"""Batches of Tensors from arrays or data sets."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from itertools import islice
from typing import Any, Generic, TypedDict, TypeVar, Unpack, overload

import numpy as np

from .. import ops, random
from ..core.tensor import Tensor, wrap
from ..dtypes import as_dtype, get_default_dtype
from ..random import Rows
from .dataset import array_of

_BY_POSITION = ("batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory",
                "drop_last", "timeout", "worker_init_fn")


Batch = TypeVar("Batch", covariant=True)
Array = np.ndarray | Tensor


class _Options(TypedDict, total=False):
    batch_size: int
    shuffle: bool | None
    drop_last: bool
    transform: Callable[[Any, np.random.Generator], Any] | None
    mix: Callable[..., tuple[Any, Any]] | None
    prefetch: int
    shard: tuple[int, int] | None
    sampler: Any
    collate_fn: Callable[[list], Any] | None
    generator: Any
    num_workers: int
    pin_memory: bool
    timeout: float
    worker_init_fn: Any
    prefetch_factor: int | None
    persistent_workers: bool


def _as_pytorchs(init: Callable) -> Callable:
    """`init`, but it also accepts `dataset=`, and after a data set PyTorch's arguments in PyTorch's order."""

    @wraps(init)
    def construct(self: Any, *arrays: Any, **options: Any) -> None:
        if "dataset" in options:
            arrays = (options.pop("dataset"), *arrays)
        if len(arrays) > 1 and isinstance(arrays[1], int | np.integer | None):
            arrays, others = arrays[:1], dict(zip(_BY_POSITION, arrays[1:], strict=False))
            if twice := sorted(others.keys() & options.keys()):
                raise TypeError(f"DataLoader: {', '.join(twice)} is given twice, by position and by name")
            options = {**others, **options}
        init(self, *arrays, **options)

    return construct


class DataLoader(Generic[Batch]):
    """Iterate over arrays in batches: `for x, y in DataLoader(images, labels, batch_size=64, shuffle=True)`.

    arrays: two or more of the same length n; a batch is a tuple of Tensors, one per array, (batch_size, ...). For one
    array, a batch is a Tensor. Or one data set: a list, or an object with `__len__` and a `__getitem__` that returns an
    example for each of 0, ..., n - 1; `DataLoader(dataset, batch_size=64)` collates them (`default_collate`). Only a
    batch is in memory at a time, so examples may come from files. transform and mix are for arrays only. shuffle: a new
    order for each iteration. drop_last: leave out a last batch that is smaller than the others. transform: changes the
    first array of each batch, `images = transform(images, generator)`: augmentation. mix: then changes the first two
    arrays, `images, labels = mix(images, labels, generator)`: MixUp, CutMix. prefetch: the number of batches that a
    thread prepares while the caller computes. NumPy and numba transforms run in parallel with Python; this package's
    transforms use one core. The thread ends with the loop, however that ends; the loop raises a transform's exceptions.
    shard: (rank, size): read only this rank's part of each batch, every size-th row starting at row `rank`; lengths
    differ by at most 1 and may be 0. With the same seed, the ranks together read the batches of an unsharded loader,
    and noise such as dropout belongs to the same rows. The package's transforms draw for the whole batch and change the
    part; other transforms, and `mix`, get the whole batch.

    sampler, collate_fn, generator: as in PyTorch, for data sets. A batch is `collate_fn(list of examples)`: by default
    a list of Tensors for tuples, a dict for dicts, a Tensor for single Tensors (`default_collate`). After a data set,
    the positional arguments are PyTorch's. num_workers and its options, pin_memory and timeout are accepted without
    effect, since the loop creates the batches.

    A batch is a copy: changing it does not change the data set. `len(loader)` is the number of batches.

    Randomness: an iteration draws one number from the package's generator (none if nothing is random), and derives the
    order and a generator for each batch from it. So batches depend only on `manual_seed`, not on prefetch or on the
    loop's draws. To resume between epochs, restore the state that `get_rng_state` returned there.

    Raises ValueError for no arrays, arrays of different lengths, a batch size below 1, or a rank outside its shard; in
    the loop, TypeError for a dtype that Tensors do not support, and ValueError for examples of different shapes.
    """

    @overload
    def __init__(self: DataLoader[Tensor], array: Array, /, **options: Unpack[_Options]): ...
    @overload
    def __init__(self: DataLoader[tuple[Tensor, ...]], x: Array, y: Array, /, *more: Array,
                 **options: Unpack[_Options]): ...
    @overload
    def __init__(self: DataLoader[Any], dataset: Any, /, *by_position: Any, **options: Unpack[_Options]): ...
    @overload
    def __init__(self: DataLoader[Any], *, dataset: Any, **options: Unpack[_Options]): ...
    @_as_pytorchs
    def __init__(self, *arrays: Any, batch_size: Any = 1, shuffle: bool | None = False, drop_last: bool = False,
                 transform: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None,
                 mix: Callable[..., tuple[np.ndarray, np.ndarray]] | None = None, prefetch: int = 0,
                 shard: tuple[int, int] | None = None, sampler: Any = None,
                 collate_fn: Callable[[list], Any] | None = None, generator: Any = None, **of_workers: Any):
        _check_options(of_workers, batch_size=batch_size, prefetch=prefetch, transform=transform, mix=mix, shard=shard)
        theirs = sampler is not None or collate_fn is not None or generator is not None
        single = len(arrays) == 1 and (theirs or _gives_examples(arrays[0]))
        self.dataset: Any = arrays[0] if single else None
        self.arrays = [] if single else [array_of(x) for x in arrays]
        if single and not (transform is mix is None):
            raise TypeError("DataLoader: transform and mix are for arrays; change a data set's examples in it")
        if not single and theirs:
            raise TypeError("DataLoader: samplers, collate_fn and generator are for data sets; wrap arrays in "
                            "TensorDataset(*arrays)")
        if not single and (not arrays or any(x.ndim == 0 or len(x) != len(self.arrays[0]) for x in self.arrays)):
            raise ValueError("DataLoader: needs one or more arrays with the same number of rows, got shapes "
                             f"{[x.shape for x in self.arrays]}")
        if mix is not None and len(arrays) < 2:
            raise ValueError("DataLoader: mix needs two arrays, images and labels")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader: sampler and shuffle both set the order; pass only one")
        self.batch_size, self.shuffle, self.drop_last, self.shard = batch_size, shuffle, drop_last, shard
        self.transform, self.mix, self.prefetch = transform, mix, prefetch
        random.of(generator)  # raises unless it is one
        self.sampler, self.generator, self.collate_fn = sampler, generator, collate_fn or default_collate

    @property
    def examples(self) -> int:
        """The number of examples in a pass."""
        order: Any = self.dataset if self.sampler is None else self.sampler
        return len(self.arrays[0]) if self.dataset is None else len(order)

    def __len__(self) -> int:
        whole, rest = divmod(self.examples, self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[Batch]:
        chance = self.sampler is None and (self.shuffle or self.transform is not None or self.mix is not None)
        seed = random.draw(self.generator).item() if chance else 0
        tasks = ((seed, i, indices) for i, indices in enumerate(self._indices(seed)))
        batches = self._ahead(tasks) if self.prefetch else (self._batch(*task) for task in tasks)
        return self._given(batches)

    def _indices(self, seed: int) -> Iterator[Any]:
        """The indices of each batch's examples."""
        if self.sampler is not None:  # it may have more indices than fit into memory
            order = iter(self.sampler)
            while len(indices := list(islice(order, self.batch_size))) == self.batch_size or (
                    indices and not self.drop_last):
                yield indices
            return
        n = self.examples
        order = np.random.default_rng(seed).permutation(n) if self.shuffle else np.arange(n)
        for i in range(len(self)):
            yield order[i * self.batch_size:(i + 1) * self.batch_size]

    def _given(self, batches: Iterator[tuple[Rows, Any]]) -> Iterator[Any]:
        try:
            for rows, batch in batches:
                if self.shard:
                    random.rows = rows
                yield batch
                del batch  # else it would live until the next one is ready
        finally:
            if self.shard:
                random.rows = None

    def _batch(self, seed: int, i: int, indices: Any) -> tuple[Rows, Any]:
        """Batch i, and this rank's rows of it."""
        rows = Rows.of(*self.shard or (0, 1), len(indices))
        return rows, (self._rows(seed, i, indices, rows) if self.dataset is None else
                      self._collated(indices[rows.part], indices))

    def _collated(self, mine: Any, indices: Any) -> Any:
        """Collate examples of a data set. A part without rows takes its form from an example."""
        chosen = [i.item() if isinstance(i, np.integer) else i for i in (mine if len(mine) else indices[:1])]
        whole = getattr(self.dataset, "batch", None) if self.collate_fn is default_collate else None
        batch = self.collate_fn([self.dataset[i] for i in chosen]) if whole is None else whole(chosen)
        if len(mine):
            return batch
        return batch[:0] if isinstance(batch, Tensor) else [x[:0] for x in batch]

    def _rows(self, seed: int, i: int, indices: np.ndarray, rows: Rows) -> Any:
        """Rows of the arrays, after transform and mix."""
        whole = self.shard is None or self.mix is not None or self.transform is not None and not getattr(
            self.transform, "takes_rows", False)
        batch = [x[indices if whole else indices[rows.part]] for x in self.arrays]
        if self.transform is not None or self.mix is not None:
            generator = np.random.default_rng((seed, i))
            if self.transform is not None:
                batch[0] = self.transform(batch[0], generator, *[] if whole else [rows])
            if self.mix is not None:
                batch[:2] = self.mix(*batch[:2], generator)
        tensors = [_tensor(x, rows.part if whole and self.shard else None) for x in batch]
        return tensors[0] if len(tensors) == 1 else tuple(tensors)

    def _ahead(self, tasks: Iterator[tuple]) -> Iterator[Any]:
        worker = ThreadPoolExecutor(1, "DataLoader")
        try:
            waiting = deque(worker.submit(self._batch, *task) for task in islice(tasks, self.prefetch))
            while waiting:
                batch = waiting.popleft().result()
                waiting.extend(worker.submit(self._batch, *task) for task in islice(tasks, 1))
                yield batch
                del batch  # else it would live until the next one is ready
        finally:
            worker.shutdown(cancel_futures=True)


_OF_WORKERS = frozenset("num_workers pin_memory timeout worker_init_fn prefetch_factor persistent_workers".split())


def _check_options(of_workers: dict[str, Any], shard: tuple[int, int] | None, **options: Any) -> None:
    for name, value in of_workers.items():
        if name not in _OF_WORKERS and not (name == "batch_sampler" and value is None):
            raise TypeError(f"DataLoader: unknown argument {name!r}")
    for name, least in ("batch_size", 1), ("prefetch", 0):
        if not isinstance(options[name], int | np.integer) or options[name] < least:
            raise ValueError(f"DataLoader: {name}={options[name]!r} must be an integer of at least {least}")
    for name in "transform", "mix":
        if options[name] is not None and not callable(options[name]):
            raise TypeError(f"DataLoader: {name} must be a function of a batch and a generator, got {options[name]!r}")
    if shard is not None and not 0 <= shard[0] < shard[1]:
        raise ValueError(f"DataLoader: shard={shard!r} must be (rank, size) with 0 <= rank < size")


def _gives_examples(x: Any) -> bool:
    """Whether x is a data set, such as a list, and not an array."""
    if isinstance(x, list | tuple):
        return bool(x)
    return not isinstance(x, Tensor) and not hasattr(x, "__array__") and all(
        hasattr(x, name) for name in ("__len__", "__getitem__"))


def _tensor(x: Any, rows: slice | None = None) -> Tensor:
    """An array or a transform's result, or rows of it, as a Tensor. Raises TypeError for an unsupported dtype."""
    x = array_of(x)
    x = x if rows is None else np.ascontiguousarray(x[rows])
    return wrap(np.asarray(x, as_dtype(x.dtype.newbyteorder("="), "DataLoader")))


def default_collate(batch: Sequence[Any]) -> Any:
    """Examples as one batch: stack Tensors, arrays and numbers; keep strings as a list; collate each part of dicts,
    tuples and lists. Raises TypeError or ValueError if they do not stack."""
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
    raise TypeError(f"default_collate: an example is {type(first).__name__}; it must be Tensors, arrays, numbers, "
                    "strings, or dicts and tuples of them, or pass collate_fn")
