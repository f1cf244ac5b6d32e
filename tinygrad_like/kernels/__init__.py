"""Hot loops over plain arrays, in numba: no Tensors, no graph, no op semantics.

A module here imports numba, which takes longer than a small job; so each is loaded when it is first named.
"""

from __future__ import annotations

import importlib.util
import math

import numpy as np

FLOAT32 = np.dtype(np.float32)  # NumPy keeps one object per dtype


def worth(x, least: int = 8192) -> bool:
    """Whether x is a C-contiguous float32 array of at least `least` numbers: what a kernel takes, and is faster at."""
    return type(x) is np.ndarray and x.size >= least and x.dtype is FLOAT32 and x.flags.c_contiguous


def __getattr__(name: str):
    if importlib.util.find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{name}", __name__)
    importlib.import_module(".notice", __name__).install()
    return module


def sum_over(x: np.ndarray, axis: tuple[int, ...], keepdim: bool) -> np.ndarray | np.float32:
    """np.sum(x, axis, keepdims=keepdim), by a kernel if the axes are the first or the last ones and x is worth it."""
    n = len(axis)
    if worth(x) and n:
        from . import reduce

        if n == x.ndim:
            out = np.float32(reduce.sum_all(x))
            return np.full((1,) * n, out) if keepdim else out
        if sorted(axis) == list(range(n)):
            rows = x.reshape(math.prod(x.shape[:n]), -1)
            return reduce.sum_columns(rows).reshape((1,) * n * keepdim + x.shape[n:])
        if sorted(axis) == list(range(x.ndim - n, x.ndim)):
            rows = x.reshape(-1, math.prod(x.shape[-n:]))
            return reduce.sum_rows(rows).reshape(x.shape[:-n] + (1,) * n * keepdim)
    return np.add.reduce(x, axis=axis, keepdims=keepdim)  # type: ignore[call-overload]
