"""Copies of state: an audit goes back to one, and compares with another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from operator import is_
from typing import IO
from weakref import finalize

import numpy as np

_MUCH, _PART = 2**20, 2**16  # bytes: so many copies lie in a file; numbers that are compared at once
SAME, ROUNDED, OTHER = range(3)  # the difference of two numbers or arrays
_bytes = np.ndarray.tobytes
_NUMBERS = {int, float, tuple, *np.sctypeDict.values()}
_ROUNDING = 2e-3  # of one step, which may scale up sums of numbers that nearly cancel, as Adam does


class Saved:
    """Copies of arrays, and of the numbers in objects. Many bytes lie in an unnamed file, so that an audit takes no
    more memory than a step. Iterating yields the arrays with their copies; from the file, in parts."""

    def __init__(self, arrays: Sequence[np.ndarray], holders: Iterable[dict] = ()):
        self.arrays, self.copies = [*arrays], list[bytes]()
        self.numbers = [(of, {key: x for key, x in of.items() if type(x) in _NUMBERS}) for of in holders]
        if sum([x.nbytes for x in arrays]) >= _MUCH:
            from tempfile import TemporaryFile  # which takes memory itself
            with suppress(OSError):  # no folder to write to, or a full disk
                self.file: IO[bytes] | None = TemporaryFile()
                finalize(self, self.file.close)
                for x in arrays:
                    self.file.write(np.ascontiguousarray(x).reshape(-1).view(np.uint8).data)
                self.file.flush()
                return
        self.file, self.copies = None, [*map(_bytes, arrays)]

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        if (file := self.file) is None:
            return iter([(x, np.ndarray(x.shape, x.dtype, of)) for x, of in zip(self.arrays, self.copies, strict=True)])
        file.seek(0)
        parts = [part for x in self.arrays for part in self._parts(x)]
        return ((part, np.ndarray(part.shape, part.dtype, file.read(part.nbytes))) for part in parts)

    def restore(self, arrays: bool = True) -> None:
        for x, values in self if arrays else ():
            if x.flags.writeable:  # else nothing could change it
                x[...] = values
        for holder, numbers in self.numbers:
            holder.update(numbers)

    def other_number(self) -> str:
        """The first number that is another one now."""
        return next((f"the number {name}" for holder, numbers in self.numbers for name, value in numbers.items()
                     if (now := holder.get(name)) is not value and repr(now) != repr(value)), "")  # NaN equals itself

    def compared(self, now: Sequence[np.ndarray]) -> list[tuple[int, str]]:
        """Compare the copies with arrays, and restore. Returns how far they are apart, see `apart`, and names."""
        same = self.file is None and [*map(_bytes, now)] == self.copies  # mostly, and fast
        mine = [] if same else [(part, x.shape) for x in now for part in self._parts(x)]
        found = [(apart(part, values), f"an array of shape {shape} that lasts from call to call")
                 for (part, shape), (_, values) in zip(mine, self if mine else (), strict=True)]
        self.restore(not all(map(is_, now, self.arrays)) or any([how != SAME for how, _ in found]))
        return found

    def _parts(self, x: np.ndarray) -> list[np.ndarray]:
        """An array; if it lies in a file, in views of some rows each, which take little memory."""
        rows = max(1, _PART * len(x) // x.size) if self.file is not None and x.size > _PART else 0
        return [x[i:i + rows] for i in range(0, len(x), rows)] if rows else [x]


def apart(x: np.ndarray, y: np.ndarray) -> int:
    """Whether two arrays are the same in all bits, or apart by no more than rounding explains, or by more. NaN equals
    NaN of any bits: of two in a sum, the processor takes the first, and compilers swap operands."""
    if x.shape != y.shape or x.dtype != y.dtype:
        return OTHER
    if x.size < _PART and x.tobytes() == y.tobytes():  # in a tenth of the time
        return SAME
    bits = f"i{x.itemsize}"
    same = x.view(bits) == y.view(bits)
    if same.all() or (same := same | (x != x) & (y != y)).all():
        return SAME
    if x.dtype.kind != "f":
        return OTHER
    with np.errstate(all="ignore"):
        far = np.where(same, 0, x - y)
    return ROUNDED if np.abs(far, out=far).max() <= _ROUNDING * np.abs(y[np.isfinite(y)]).max(initial=0) else OTHER
