"""Check, before training, that all ranks of a job do the same, since a later difference would be a deadlock."""

from __future__ import annotations

import hashlib
import platform
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from .group import all_reduce, init


def check_same(what: Mapping[str, str]) -> None:
    """Raise ValueError, on all ranks, if their texts under a name differ; it shows the first differing line."""
    comm = init().comm
    if comm is None:
        return
    first = comm.bcast(dict(what))
    mine = {name: _difference(first.get(name, ""), text) for name, text in what.items() if first.get(name) != text}
    problems = [f"{name}: rank 0 has {theirs!r}, rank {rank} {ours!r}"
                for rank, found in enumerate(comm.allgather(mine)) for name, (theirs, ours) in found.items()]
    if problems:
        more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise ValueError(f"the ranks of this job do not agree on {'; '.join(problems[:3])}{more}")


def _difference(a: str, b: str) -> tuple[str, str]:
    rows = zip([*a.split("\n"), "nothing more"], [*b.split("\n"), "nothing more"], strict=False)
    return next((x, y) for x, y in rows if x != y)


def check_equal_weights(model: Any) -> None:
    """Raise RuntimeError, on all ranks, if a bit of the model's state differs between them."""
    if init().size == 1:
        return
    value = 0
    for t in tensors_of(model).values():
        value = zlib.crc32(np.ascontiguousarray(t._data).tobytes(), value)
    most, least = all_reduce([value, -value], "max")
    if most != -least:
        raise RuntimeError("the weights are no longer equal on all ranks: some ranks alone change them, or "
                           "different processors round differently; then set NUMBA_CPU_NAME and "
                           "NPY_DISABLE_CPU_FEATURES to features that all of them have")


def tensors_of(model: Any) -> dict[str, Tensor]:
    """Parameters and buffers by name."""
    return {**dict(model.named_parameters()), **dict(model.named_buffers())}


def layout(tensors: Mapping[str, Tensor]) -> str:
    """One line per Tensor: name, shape and dtype."""
    return "\n".join(f"{name} {t.shape} {t.dtype}" for name, t in tensors.items())


def code_version() -> str:
    """A hash of this package's files and of the versions of its numerical libraries."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        numba = version("numba")  # importing it is slow, and kernels on disk do not need it
    except PackageNotFoundError:
        numba = "none"
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for folder in ("tinygrad_like", "nn", "optim"):
        for path in sorted((root / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return (f"code {digest.hexdigest()[:12]}\nPython {platform.python_version()}\nNumPy {np.__version__}\n"
            f"numba {numba}")
