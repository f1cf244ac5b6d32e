"""An epilogue: a loop over a matrix product's result, run on each piece as soon as it is complete.

The piece is still in the L1 cache of the core that has made it. A separate loop would find half of the data in the
other core's cache, and would have to call the threads once more. But an epilogue reads other arrays a few columns at a
time, which is slower than row by row if they come from memory: so all must be small.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np

from ..dtypes import memory
from .kinds import EPILOGUE
from .loops import Loop, rows_and_columns
from .program import Call, Kernel
from .record import SIZE
from .views import address

_MOST = 2**20  # bytes of all arrays of a loop, at most


class WithEpilogue(NamedTuple):
    """A kernel's call, and the loop over its result: one record, in which that of the loop follows the kernel's."""

    call: Call
    loop: Loop

    @property
    def kernel(self) -> Kernel:
        return self.call.kernel

    @property
    def beside(self) -> int:
        return self.call.beside

    def reads(self) -> list[np.ndarray]:
        return [*self.call.reads(), *self.loop.reads()]

    def writes(self) -> list[np.ndarray]:
        return [*self.call.writes(), *self.loop.writes()]

    def misfit(self) -> ValueError:
        return self.call.misfit()

    def record(self, code: int) -> bytes:
        """The arguments of both, with the address of the loop's compiled code."""
        first, second = bytearray(self.call.packed()), self.loop.record(code)
        struct.pack_into("q", first, len(first) - 8, len(first))  # the last argument: where the loop's record starts
        struct.pack_into("q", first, 8 * SIZE, len(first) + len(second))
        return bytes(first) + second


def takes(call: Call, loop: Loop) -> bool:
    """Whether a loop can be the epilogue of a call: it goes over the rows and columns of the call's result."""
    if list(call.kernel.kinds.values())[-1] is not EPILOGUE or not loop.shape or rows_and_columns(loop) is None:
        return False
    (out,) = call.writes()
    if not out.flags.c_contiguous or loop.shape[-1] != out.shape[-1]:
        return False
    arrays = [*loop.operands, *loop.writes()]
    of_out = [x for x in arrays if memory(x) is memory(out)]
    return bool(of_out) and sum([x.nbytes for x in arrays]) <= _MOST and all([
        address(x) == address(out) and x.size == out.size and x.flags.c_contiguous and x.shape == loop.shape
        for x in of_out])
