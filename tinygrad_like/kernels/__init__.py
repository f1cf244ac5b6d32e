"""Hot loops over plain arrays, in numba: no Tensors, no graph, no op semantics.

`program.py` explains how to write and run a kernel. The functions that ops call check for a user's mistakes. Compiled
code checks the dtype, layout and size of arrays at every call, since an array may have been replaced after the op
looked at it. The kernel itself compares an index or a label with the size of its table, since another thread may write
to the index. `tests/kernels/guarded.py` runs ops on memory between guard pages.

Modules load lazily; numba loads when something must be compiled (`late.py`).
"""

from __future__ import annotations

import importlib
import importlib.util

from ..environment import without_interrupts


def __getattr__(name: str):
    if importlib.util.find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with without_interrupts():
        return importlib.import_module(f".{name}", __name__)
