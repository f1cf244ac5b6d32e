"""Batches of Tensors from arrays, or from a data set of examples."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any, Generic, TypedDict, TypeVar, Unpack, overload

import numpy as np

from .. import random
from ..core.tensor import Tensor, wrap
from ..dtypes import as_dtype, get_default_dtype
from ..random import Rows
from .collate import Batches, default_collate
from .dataset import Dataset

_BY_POSITION = ("batch_size", "shuffle", "sampler", "batch_sampler", "num_workers", "collate_fn", "pin_memory",
                "drop_last", "timeout", "worker_init_fn", "multiprocessing_context", "generator")


Batch = TypeVar("Batch", covariant=True)
Array = np.ndarray | Tensor


class _Options(TypedDict, total=False):
    batch_size: int | None
    shuffle: bool | None
    drop_last: bool
    transform: Callable[[Any, np.random.Generator], Any] | None
    mix: Callable[..., tuple[Any, Any]] | None
    prefetch: int
    shard: tuple[int, int] | None
    sampler: Any
    batch_sampler: Any
    collate_fn: Callable[[list], Any] | None
    generator: Any
    num_workers: int
    pin_memory: bool
    pin_memory_device: str
    timeout: float
    worker_init_fn: Any
    multiprocessing_context: Any
    prefetch_factor: int | None
    persistent_workers: bool
    in_order: bool


def _as_pytorchs(init: Callable) -> Callable:
    """`init`, which also takes `dataset=`, and after a data set PyTorch's arguments in PyTorch's order."""

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

    arrays: two or more of the same length n; a batch is a tuple of Tensors, one per array, (batch_size, ...). Of one
        array, a batch is a Tensor.
        Or one data set, a list or an object with `__len__` and `__getitem__` that gives an example for each of 0, ...,
        n - 1; `DataLoader(dataset, batch_size=64)` collates them (`default_collate`). Memory is that of a batch; the
        examples may be read from files. With transform or mix they are arrays, or tuples of arrays of one shape in all.
    shuffle: a new order for each iteration.
    drop_last: leave out a last batch that is smaller than the others.
    transform: changes the first array of each batch, `images = transform(images, generator)`: augmentation.
    mix: then changes the first two arrays, `images, labels = mix(images, labels, generator)`: MixUp, CutMix.
    prefetch: how many batches a thread prepares while the caller computes. NumPy and numba transforms run in parallel
    with Python; those of this package use one core. The thread ends with the loop, however that ends; the loop raises
    what a transform raises.
    shard: (rank, size): of each batch only this rank's part, every size-th row from row `rank` on; lengths differ by at
    most 1 and may be 0. With the same seed, all ranks together read the batches of an unsharded loader, and noise such
    as dropout belongs to the same rows. The package's transforms draw for the whole batch and change the part; others,
    and `mix`, are given the whole batch.

    sampler, batch_sampler, collate_fn, generator, and batch_size=None: as in PyTorch, of a data set. A batch is what
        `collate_fn` makes of a list of examples: by default a list of Tensors for tuples, a dict for dicts, a Tensor
        for single Tensors (`default_collate`). After a data set, the arguments by position are PyTorch's.
    num_workers and its options, pin_memory, timeout: accepted, without effect; the loop makes the batches.

    A batch is a copy: changing it does not change the data set. `len(loader)` is the number of batches.

    Randomness: an iteration draws one number from the package's generator (none, if nothing is random), and derives
    from it the order and a generator for each batch. So batches depend only on `manual_seed`, not on prefetch or on
    what the loop draws. To resume between epochs, restore what `get_rng_state` returned there.

    Raises ValueError for no arrays, arrays of different lengths, a batch size below 1, or a rank outside its shard; in
    the loop, TypeError for a batch of a dtype that a Tensor cannot have, and ValueError for examples of different
    shapes.
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
    def __init__(self, *arrays: Any, batch_size: Any = 1, shuffle: bool = False, drop_last: bool = False,
                 transform: Callable[[np.ndarray, np.random.Generator], np.ndarray] | None = None,
                 mix: Callable[..., tuple[np.ndarray, np.ndarray]] | None = None, prefetch: int = 0,
                 shard: tuple[int, int] | None = None, sampler: Any = None, batch_sampler: Any = None,
                 collate_fn: Callable[[list], Any] | None = None, generator: Any = None, **of_workers: Any):
        _without_effect(of_workers)
        self.batches: Batches | None = None
        theirs = sampler is not None or batch_sampler is not None or collate_fn is not None or generator is not None
        if len(arrays) == 1 and (theirs or batch_size is None or isinstance(arrays[0], Dataset)):
            ours = {"transform": transform, "mix": mix, "prefetch": prefetch or None, "shard": shard}
            for name, value in ours.items():
                if value is not None:
                    raise TypeError(f"DataLoader: {name} is for arrays; a Dataset, or what collate_fn and samplers are "
                                    "given for, makes its examples itself")
            self.arrays, self.dataset, self.batch_size, self.shard = [], arrays[0], batch_size, None
            self.shuffle, self.drop_last, self.transform, self.mix, self.prefetch = shuffle, drop_last, None, None, 0
            self.batches = Batches(arrays[0], batch_size, shuffle, sampler, batch_sampler, collate_fn, drop_last,
                                   generator)
            self.sampler, self.batch_sampler = self.batches.sampler, self.batches.batch_sampler
            self.collate_fn = self.batches.collate
            return
        if theirs:
            raise TypeError("DataLoader: samplers, collate_fn and generator are for a data set; for arrays make one, "
                            "TensorDataset(*arrays)")
        self.dataset = arrays[0] if len(arrays) == 1 and _gives_examples(arrays[0]) else None
        self.arrays = [] if self.dataset is not None else [
            x._data if isinstance(x, Tensor) else np.asarray(x) for x in arrays]
        if self.dataset is None and (not arrays or any(x.ndim == 0 or len(x) != len(self.arrays[0])
                                                       for x in self.arrays)):
            raise ValueError("DataLoader: needs one or more arrays with the same number of rows, got shapes "
                             f"{[x.shape for x in self.arrays]}")
        for name, number, least in ("batch_size", batch_size, 1), ("prefetch", prefetch, 0):
            if not isinstance(number, int | np.integer) or number < least:
                raise ValueError(f"DataLoader: {name}={number!r} must be an integer of at least {least}")
        for name, function in ("transform", transform), ("mix", mix):
            if function is not None and not callable(function):
                raise TypeError(f"DataLoader: {name} must be a function of a batch and a generator, got {function!r}")
        if mix is not None and self.dataset is None and len(arrays) < 2:
            raise ValueError("DataLoader: mix needs two arrays, images and labels")
        if shard is not None and not 0 <= shard[0] < shard[1]:
            raise ValueError(f"DataLoader: shard={shard!r} must be (rank, size) with 0 <= rank < size")
        self.batch_size, self.shuffle, self.drop_last, self.shard = batch_size, shuffle, drop_last, shard
        self.transform, self.mix, self.prefetch = transform, mix, prefetch

    @property
    def examples(self) -> int:
        """The number of batches."""
        return len(self.arrays[0]) if self.dataset is None else len(self.dataset)

    def __len__(self) -> int:
        if self.batches is not None:
            return len(self.batches)
        whole, rest = divmod(self.examples, self.batch_size)
        return whole + (rest > 0 and not self.drop_last)

    def __iter__(self) -> Iterator[Batch]:
        if self.batches is not None:
            return iter(self.batches)
        n, chance = self.examples, self.shuffle or self.transform is not None or self.mix is not None
        seed = random.draw().item() if chance else 0
        order = np.random.default_rng(seed).permutation(n) if self.shuffle else np.arange(n)
        batches: Any = (self._ahead(order, seed) if self.prefetch else
                        (self._batch(order, seed, i) for i in range(len(self))))
        return batches if self.shard is None else self._placed(batches)

    def rows(self, i: int) -> Rows:
        """The rows of batch i that this rank reads."""
        total = min(self.batch_size, self.examples - i * self.batch_size)
        return Rows.of(*self.shard or (0, 1), total)

    def _placed(self, batches: Iterator[Any]) -> Iterator[Any]:
        i = 0
        try:
            for batch in batches:  # enumerate would keep it
                random.rows, i = self.rows(i), i + 1
                yield batch
                del batch  # or it would live until the next is ready
        finally:
            random.rows = None

    def _batch(self, order: np.ndarray, seed: int, i: int) -> Any:
        indices = order[i * self.batch_size:(i + 1) * self.batch_size]
        mine = self.rows(i).part
        if self.dataset is not None and self.transform is None and self.mix is None and len(indices[mine]):
            return default_collate([self.dataset[int(i)] for i in indices[mine]])
        whole = self.shard is None or self.mix is not None or self.transform is not None and not getattr(
            self.transform, "takes_rows", False)
        batch, single = self._rows(indices if whole else indices[mine])
        if self.transform is not None or self.mix is not None:
            generator = np.random.default_rng((seed, i))
            if self.transform is not None:
                batch[0] = self.transform(batch[0], generator, *[] if whole else [self.rows(i)])
            if self.mix is not None:
                batch[:2] = self.mix(*batch[:2], generator)
        tensors = [_tensor(x, mine if whole and self.shard else None) for x in batch]
        return tensors[0] if single else tuple(tensors)

    def _rows(self, indices: np.ndarray) -> tuple[list[np.ndarray], bool]:
        """The arrays of a batch, and whether it is one array by itself."""
        if self.dataset is None:
            return [x[indices] for x in self.arrays], len(self.arrays) == 1
        examples = [self.dataset[int(i)] for i in (indices if len(indices) else [0])]
        # Of what a part without rows would be, only an example tells.
        rows = [x[:len(indices)] for x in _stacked(examples, indices if len(indices) else [0])]
        return rows, not isinstance(examples[0], tuple | list)

    def _ahead(self, order: np.ndarray, seed: int) -> Iterator[tuple[Tensor, ...]]:
        worker = ThreadPoolExecutor(1, "DataLoader")
        try:
            waiting = deque(worker.submit(self._batch, order, seed, i) for i in range(min(self.prefetch, len(self))))
            for i in range(len(self)):
                batch = waiting.popleft().result()
                if i + self.prefetch < len(self):
                    waiting.append(worker.submit(self._batch, order, seed, i + self.prefetch))
                yield batch
                del batch  # or it would live until the next is ready
        finally:
            worker.shutdown(cancel_futures=True)


_OF_WORKERS = frozenset("num_workers pin_memory timeout worker_init_fn multiprocessing_context prefetch_factor "
                        "persistent_workers pin_memory_device in_order".split())


def _without_effect(options: dict[str, Any]) -> None:
    for name in options:
        if name not in _OF_WORKERS:
            raise TypeError(f"DataLoader: unknown argument {name!r}")


def _gives_examples(x: Any) -> bool:
    """Whether x is a data set, not an array; a list is one."""
    if isinstance(x, list | tuple):
        return bool(x)
    return not isinstance(x, Tensor) and not hasattr(x, "__array__") and all(
        hasattr(x, name) for name in ("__len__", "__getitem__"))


def _stacked(examples: list, indices: Sequence[int] | np.ndarray) -> list[np.ndarray]:
    """Examples as arrays with one more axis: one for each part of their tuples. Python's floats become the default."""
    rows = [example if isinstance(example, tuple | list) else (example,) for example in examples]
    columns = []
    for i in range(len(rows[0])):
        try:
            parts = [np.asarray(row[i], get_default_dtype() if type(row[i]) is float else None) for row in rows]
            columns.append(np.stack(parts))
        except (IndexError, ValueError) as error:
            shapes = sorted({str([np.shape(part) for part in row]) for row in rows})
            raise ValueError(f"DataLoader: the examples {list(map(int, indices))[:8]} do not stack: their parts have "
                             f"shapes {' and '.join(shapes[:3])}; all must agree ({error})") from None
    return columns


def _tensor(x: Any, rows: slice | None = None) -> Tensor:
    """An array, or a transform's result, or rows of it, as a Tensor. Raises TypeError for a dtype it cannot have."""
    x = x._data if isinstance(x, Tensor) else np.asarray(x)
    x = x if rows is None else np.ascontiguousarray(x[rows])
    return wrap(np.asarray(x, as_dtype(x.dtype.newbyteorder("="), "DataLoader")))
