"""Stand-ins for the results of steps, so that a tape does not keep their memory.

An array that a tape holds would live until the tape is played: then recording takes as much memory as all arrays of a
step together, of which few live at one time. So the tape notes, in place of each array that was made, a stand-in:
memory of the same size and layout, but of pages that nobody has touched, which take no room. The first arrays are kept
themselves: small steps are made of such, and take less time to note then.
"""

from __future__ import annotations

import mmap
import weakref
from collections.abc import Callable

import numpy as np

from ..dtypes import memory
from ..kernels.views import address
from .instructions import Step
from .plan import BYTE, LINE, repointed, shown

_SMALL, _LITTLE = 2**16, 2**20  # bytes of an array that is kept as it is, and of all of them,
_FEW = 2**24  # and of all that a step makes, if it is known to make no more than these
_PAGES = 2**26  # bytes of pages that are asked for at once


class StandIns:
    """The stand-in of each memory that a step has made, as long as somebody else holds that memory.

    gone: returns the function to call with the id of memory that nobody holds any more. before: those
    of an earlier tape of the same function.
    """

    def __init__(self, gone: Callable, before: StandIns | None = None):
        self.gone = gone
        self.held: dict[int, tuple[weakref.ref, np.ndarray, int]] = {}  # which begin as the memory does, at an address
        few = before is not None and before.bytes <= _FEW
        self.small, self.little = (_FEW, _FEW) if few else (_SMALL, _LITTLE)
        self.left = 0
        self.bytes = 0  # of all memory that steps have made

    def add(self, m: np.ndarray) -> np.ndarray:
        """A stand-in for memory, or the memory itself as long as little is kept."""
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
        """What x shows, of the stand-in of its memory."""
        found = self.held.get(id(memory(x)))
        return x if found is None else np.ndarray(x.shape, x.dtype, found[1], address(x) - found[2], x.strides)

    def step(self, step: Step) -> Step:
        """A step on stand-ins."""
        return repointed(step, self.noted) if self.held else step

    def alive(self) -> dict[int, np.ndarray]:
        """The memory that is still held, by the ids of the stand-ins, which it takes the place of again."""
        held, self.held = self.held, {}
        found = {id(stand_in): (reference(), stand_in) for reference, stand_in, _ in held.values()}
        self.back = {key: (m, stand_in) for key, (m, stand_in) in found.items() if m is not None}
        return {key: m for key, (m, _) in self.back.items()}

    def returned(self, x: np.ndarray) -> np.ndarray:
        """What x shows, of the memory that its stand-in stood for, if that is alive."""
        found = self.back.get(id(memory(x)))
        return x if found is None else shown(x, found[1], found[0])
