"""Hot loops over plain arrays, in numba: no Tensors, no graph, no op semantics.

`program.py` says how a kernel is written and run. The functions that ops call check what a user could have got wrong;
that arrays are of the right dtype, layout and size, compiled code checks at every call, since an array may have been
exchanged since the op looked at it. An index or a label is compared with the size of its table in the kernel, as it may
lie in memory that someone else writes to. `tests/kernels/guarded.py` runs ops on memory between pages that must not be
touched.

Modules here are loaded when they are first named; numba is, when something must be compiled (`late.py`).
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
