"""The few ops that the engine itself calls. It declares none of them: `ops/` and `methods/` register them here."""

from __future__ import annotations

from typing import Any


class basics:
    """A namespace: each name stands for an op of `ops/`."""

    accumulate: Any  # total += c, on arrays: ops/cotangents.py, like add_part, plus and one
    add_part: Any  # total[index] += value, on arrays
    cast: Any  # converts to another dtype
    clone: Any  # a copy
    identity: Any  # the same memory, as a new node
    put: Any  # zeros with a value at an index: ops/parts.py
    sum_to: Any  # sums over the broadcast axes; None if shapes do not fit: ops/reduce.py `summed_to`
    one: Any  # the cotangent that backward starts with
    own: Any  # turns a cotangent into a gradient that owns its memory: ops/operands.py
    plus: Any  # adds cotangents, see `walk`
    copied: Any  # an array's copy in C order
    share_version: Any  # for a result that shares an input's memory, see `methods/versions.py`
