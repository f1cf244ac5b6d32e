"""Hot loops over plain arrays, in numba: no Tensors, no graph, no op semantics.

A module here imports numba, which takes longer than a small job; so each is loaded when it is first named.
"""

from __future__ import annotations

import importlib.util

import numpy as np

from ..dtypes import FLOAT32


def worth(x, least: int = 2048) -> bool:
    """Whether x is a C-contiguous float32 array of at least `least` numbers: what a kernel takes, and is faster at."""
    return type(x) is np.ndarray and x.size >= least and x.dtype is FLOAT32 and x.flags.c_contiguous


def __getattr__(name: str):
    if importlib.util.find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{name}", __name__)
    importlib.import_module(".notice", __name__).install()
    return module
