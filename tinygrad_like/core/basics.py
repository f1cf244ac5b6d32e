"""The few ops that the engine itself calls. It declares none: `ops/` and `methods/` put them here."""

from __future__ import annotations

from typing import Any


class basics:
    """A namespace: each name stands for an op of `ops/`."""

    accumulate: Any  # total += c, of arrays
    add_part: Any  # total[index] += value, of arrays
    cast: Any  # to another dtype
    clone: Any  # a copy
    identity: Any  # the same memory, as a new node
    put: Any  # zeros with a value at an index
    sum_to: Any  # sums over what was broadcast; None if the shapes do not fit
    one: Any  # the cotangent that backward begins with
    own: Any  # a cotangent as a gradient
    plus: Any  # adds cotangents, see `walk`
    copied: Any  # an array's copy in C order
    share_version: Any  # of what shows the memory of an input, see `methods/versions.py`
