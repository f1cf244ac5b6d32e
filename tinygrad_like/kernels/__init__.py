"""Hot loops over plain arrays, in numba: no Tensors, no graph, no op semantics.

A module here imports numba, which takes longer than a small job; so each is loaded when it is first named.

Compiled code checks no index: it reads and writes where it is told. What it may assume, and who sees to it:

- **A function in Python stands before every kernel**, and hands over nothing else than this list says. Ops decide what
  is meant, and tell the user of shapes and dtypes that do not fit. The functions here make sure that memory is safe,
  whatever they are given: an array may have been exchanged since the op looked at it.
- **Arrays that numba unpacks** come out of `tasks.plain` or `tasks.flat`: of the dtype they name, C-contiguous, aligned
  and writable; what is not, such as an expanded, a frozen or an odd-stepped array, is copied. Arrays to write to come
  out of NumPy just now, or out of `tasks.flat_out`. Sizes that must agree are compared there.
- **Arrays that go by their id**, in products, attention and optimizers: compiled code reads the fields of the object.
  So it first looks at what kind of object it is, at dtype, alignment, shape, and whether it may write
  (`simd.is_array`, `gemm._fits`, `optim.Rows.suited`), before any number is touched. That costs nanoseconds, where
  Python would take longer than a small product. The caller keeps the arrays alive.
- **Small arrays**, such as a bias, are no exception.
- **Numbers**: an index or a label is compared with the size of the table, in the kernel or just before it, as it may
  lie in memory that someone else writes to. Tables of offsets are made here, and handed to no one.
- **Scratch** is allocated by the task that uses it. Without memory numba leaves the task with an error, which comes out
  as MemoryError where the kernel was called.

`tests/kernels/guarded.py` runs ops on memory between pages that must not be touched.
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
