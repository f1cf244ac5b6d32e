"""Copies of state: an audit goes back to one, and compares with another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import IO
from weakref import finalize

import numpy as np

_MUCH = 2**20  # bytes: so many copies lie in a file
SAME, ROUNDED, OTHER = range(3)  # the difference of two numbers or arrays
_NUMBERS = {int, float, tuple, *np.sctypeDict.values()}
_ROUNDING = 2e-3  # of one step, which may scale up sums of numbers that nearly cancel, as Adam does


class Saved:
    """Copies of arrays, and of the numbers in objects. Many bytes lie in an unnamed file, so that an audit takes no
    more memory than a step.

    Iterating yields each of `arrays`, and the copy at its place, which is valid until the next one.
    """

    def __init__(self, arrays: Sequence[np.ndarray], holders: Iterable[dict] = ()):
        self.arrays, self.copies = [*arrays], list[np.ndarray]()
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
        self.file = None
        self.copies = [x.copy() for x in arrays]

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        if self.file is None:
            yield from zip(self.arrays, self.copies, strict=True)
            return
        self.file.seek(0)
        room = np.empty(max([x.nbytes for x in self.arrays]), np.uint8)
        for x in self.arrays:
            self.file.readinto(copy := room[: x.nbytes])  # type: ignore[attr-defined]
            yield x, copy.view(x.dtype).reshape(x.shape)

    def restore(self) -> None:
        for x, values in self:
            if x.flags.writeable:  # else nothing could change it
                x[...] = values
        for holder, numbers in self.numbers:
            holder.update(numbers)

    def other_number(self) -> str:
        """The first number that is another one now."""
        return next((f"the number {name}" for holder, numbers in self.numbers for name, value in numbers.items()
                     if repr(holder.get(name)) != repr(value)), "")  # NaN equals itself

    def compared(self, now: Iterable[np.ndarray]) -> list[tuple[int, str]]:
        """Compare the copies with arrays, and restore. Returns how far they are apart, see `apart`, and names."""
        found = [(apart(x, values), f"an array of shape {x.shape} that lasts from call to call")
                 for (_, values), x in zip(self, now, strict=True)]
        self.restore()
        return found


def apart(x: np.ndarray, y: np.ndarray) -> int:
    """Whether two arrays are the same in all bits, or apart by no more than rounding explains, or by more.

    NaN equals NaN of any bits: of two in a sum, the processor takes the first, and compilers swap operands.
    """
    if x.shape != y.shape or x.dtype != y.dtype:
        return OTHER
    bits = f"i{x.itemsize}"
    same = x.view(bits) == y.view(bits)
    if same.all() or (same := same | (x != x) & (y != y)).all():
        return SAME
    if x.dtype.kind != "f":
        return OTHER
    with np.errstate(all="ignore"):
        far = np.where(same, 0, x - y)
    return ROUNDED if np.abs(far, out=far).max() <= _ROUNDING * np.abs(y[np.isfinite(y)]).max(initial=0) else OTHER
