"""Stand-ins for the results of steps, so that a tape does not keep their memory.

An array that a tape holds would live until the tape is replayed: recording would take as much memory as all arrays of a
step together, few of which are alive at one time. So in place of each new array, the tape keeps a stand-in: memory of
the same size and layout, but on untouched pages, which take no physical memory. The first arrays of a tape are kept
themselves, since that makes recording small steps faster.
"""

from __future__ import annotations

import mmap
import weakref
from collections.abc import Callable

import numpy as np

from ..dtypes import memory
from ..kernels.views import address
from .instructions import Step
from .plan import BYTE, LINE, repointed

_SMALL, _LITTLE = 2**16, 2**20  # limits in bytes: of an array that is kept, and of all of them,
_FEW = 2**22  # and of all arrays of a step, if its size is known
_PAGES = 2**26  # bytes of pages that are mapped at once


class StandIns:
    """The stand-in for each block of memory that a step has made, as long as the memory is held elsewhere.

    gone: returns the function to call with the id of memory that is no longer held. before: the stand-ins
    of an earlier tape of the same function.
    """

    def __init__(self, gone: Callable, before: StandIns | None = None):
        self.gone = gone
        self.held: dict[int, tuple[weakref.ref, np.ndarray, int]] = {}  # which have the memory's address, modulo a page
        few = before is not None and before.bytes <= _FEW
        self.small, self.little = (_FEW, _FEW) if few else (_SMALL, _LITTLE)
        self.left = 0
        self.bytes = 0  # of all memory that the steps have made

    def add(self, m: np.ndarray) -> np.ndarray:
        """A stand-in for memory, or, while little is kept, the memory itself."""
        key, count = id(m), m.nbytes
        self.bytes += count
        if count <= min(self.little, self.small):
            self.little -= count
            return m
        start = address(m) % LINE
        if start + count > self.left:
            self.left = max(count + LINE, _PAGES)
            self.pages = mmap.mmap(-1, self.left)
        self.left -= start + count
        place = self.left & -LINE
        stand_in = np.ndarray((count,), BYTE, self.pages, place + start)
        self.left = place

        def callback(_: weakref.ref) -> None:
            if self.held.pop(key, None) is not None:
                (gone := self.gone()) and gone(key)

        self.held[key] = weakref.ref(m, callback), stand_in, address(m)
        return stand_in

    def noted(self, x: np.ndarray) -> np.ndarray:
        """The view of x, on the stand-in for its memory."""
        found = self.held.get(id(memory(x)))
        return x if found is None else np.ndarray(x.shape, x.dtype, found[1], address(x) - found[2], x.strides)

    def step(self, step: Step) -> Step:
        """A step on stand-ins."""
        return repointed(step, self.noted) if self.held else step
