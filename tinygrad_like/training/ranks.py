"""`fit` on several ranks of an MPI job."""

from __future__ import annotations

import copy
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from .. import distributed, optim, random
from ..core.tensor import Tensor
from ..data import DataLoader
from ..nn import Module, convert_sync_batchnorm


def join(model: Module, loader: Any, criterion: Any, optimizer: optim.Optimizer, parts: Mapping[str, Any],
          options: Mapping[str, Any]) -> None:
    """Turn the ranks of an MPI job into one run: check that they agree, and send them rank 0's state."""
    if distributed.size == 1:
        return
    distributed.check_same({
        "the code": distributed.code_version(),
        "the model": distributed.layout(distributed.tensors_of(model)),
        "the optimizer": repr(optimizer),
        "the options": "\n".join(f"{name}={_told(value)}" for name, value in sorted(options.items())),
        "the loss": _told(criterion),
        "the data": _described(loader),
    })
    convert_sync_batchnorm(model)
    distributed.broadcast(*parts.values())


def _told(value: Any) -> str:
    """A value's repr, without an address."""
    if callable(value) and not isinstance(value, Module):
        return getattr(value, "__qualname__", type(value).__qualname__)
    if isinstance(value, Mapping):
        value = tuple(value.items())
    return ", ".join(map(_told, value)) if isinstance(value, list | tuple) else repr(value)


def _described(loader: Any) -> str:
    """The number of steps, the options, and a checksum of some of the data."""
    lines = [f"{len(loader)} batches"] if hasattr(loader, "__len__") else []
    if isinstance(loader, DataLoader):
        lines += [f"{name} {getattr(loader, name)}" for name in ("batch_size", "shuffle", "drop_last")]
        lines += [f"transform {_told(loader.transform)}, mix {_told(loader.mix)}, {loader.examples} examples"]
        for x in loader.arrays:
            some = x[::max(1, len(x) // 1000)]
            lines.append(f"array {x.shape} {x.dtype}, checksum {zlib.crc32(some.tobytes()):08x}")
    return "\n".join(lines)


def parts_of(loader: Iterable) -> Iterable:
    """The loader; or this rank's parts of its batches, if there are several ranks and the loader is not sharded."""
    shard = distributed.rank, distributed.size
    if shard[1] == 1 or getattr(loader, "shard", None) is not None:
        return loader
    if not isinstance(loader, DataLoader):
        return _cut(loader, *shard)
    sharing = copy.copy(loader)
    sharing.shard = shard
    return sharing


def _cut(batches: Iterable, rank: int, size: int) -> Iterator[tuple]:
    try:
        for x, y in batches:
            random.rows = rows = random.Rows.of(rank, size, len(y))
            yield _rows(x, rows), _rows(y, rows)
    finally:
        random.rows = None


def _rows(x: Any, rows: random.Rows) -> Any:
    return x[rows.part].contiguous() if isinstance(x, Tensor) else np.ascontiguousarray(x[rows.part])
