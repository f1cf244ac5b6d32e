"""Where the memory comes from that a tape meets, and what stands for it on the tape.

An array that a tape holds would live until the tape is replayed: recording would take as much memory as all arrays of a
step together, few of which are alive at one time. So in place of the memory that a step has made, a tape holds a
stand-in: as many bytes on untouched pages, which take no physical memory.
"""

from __future__ import annotations

import mmap
import weakref
from typing import NamedTuple

import numpy as np

from ..dtypes import memory
from ..kernels.views import address
from .plan import BYTE, LINE, shown

# The origin of memory: not known; an input; from before the call; a step of the tape; what kernels write only after an
# error; the gradient of a leaf that the function adds to.
UNKNOWN, INPUT, LASTING, MADE, FLAG, GRADIENT = range(6)
_PAGES = 2**26  # bytes of pages that are mapped at once


class Origin(NamedTuple):
    kind: int
    of: weakref.ref  # the memory
    stand_in: np.ndarray | None = None


class Origins:
    """A table of memory, which it does not hold."""

    def __init__(self) -> None:
        self.table: dict[int, Origin] = {}  # by the id of the memory
        self.pages, self.left = mmap.mmap(-1, 1), 0

    def get(self, m: np.ndarray) -> Origin | None:
        found = self.table.get(id(m))  # or that of memory which is gone
        return found if found is not None and found.of() is m else None

    def kind(self, x: np.ndarray) -> int:
        """The origin of an array's memory."""
        found = self.table.get(id(m := memory(x)))  # as in `get`
        return found.kind if found is not None and found.of() is m else UNKNOWN

    def add(self, kind: int, m: np.ndarray, stand_in: np.ndarray | None = None) -> None:
        self.table[id(m)] = Origin(kind, weakref.ref(m), stand_in)

    def make(self, m: np.ndarray) -> None:
        """Add memory that a step has made."""
        count = -(-m.nbytes // LINE) * LINE
        if count > self.left:
            self.left = max(count, _PAGES)
            self.pages = mmap.mmap(-1, self.left)
        self.left -= count
        room = np.ndarray((m.nbytes,), BYTE, self.pages, self.left)
        self.add(MADE, m, shown(m, room, address(m)))
        self.add(MADE, room)

    def noted(self, x: np.ndarray) -> np.ndarray:
        """An array as steps have it: on the stand-in for its memory, if there is one."""
        found = self.get(m := memory(x))
        if found is None or (stand_in := found.stand_in) is None:
            return x
        return stand_in if x is m else shown(x, memory(stand_in), address(m))
