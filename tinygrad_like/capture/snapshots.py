"""Copies of state: an audit goes back to one, and compares with another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import IO, Any

import numpy as np

_MUCH, _KEPT = 2**20, 2**26  # limits in bytes: copies beyond the first lie in a file; of a file that is kept
SAME, ROUNDED, OTHER = range(3)  # the difference of two numbers or arrays
_NUMBERS = {int, float, tuple, *np.sctypeDict.values()}
_ROUNDING = 1e-3  # of one step, which may scale up sums of numbers that nearly cancel, as Adam does
_files: list[IO[bytes]] = []  # unused
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_files.clear)  # the parent still writes to them


class Saved:
    """Copies of arrays, and of the numbers in objects. Many bytes lie in an unnamed file, so that an audit takes no
    more memory than a step. Writing to an existing file also takes less time than new memory.

    Iterating yields each of `arrays`, and the copy at its place, which is valid until the next one.
    """

    file: IO[bytes] | None = None

    def __init__(self, arrays: Sequence[np.ndarray], holders: Iterable[dict] = ()):
        self.arrays, self.copies = [*arrays], list[np.ndarray]()
        self.numbers = [(of, {key: x for key, x in of.items() if type(x) in _NUMBERS}) for of in holders]
        if sum([x.nbytes for x in arrays]) >= _MUCH:
            with suppress(OSError):  # no folder to write to, or a full disk
                self.file = _files.pop() if _files else _file()
                self.file.seek(0)
                for x in arrays:
                    self.file.write(np.ascontiguousarray(x).reshape(-1).view(np.uint8).data)
                self.file.flush()
                return
        self._close()
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
        if self.file is None or not all([x.flags.c_contiguous for x in self.arrays]):
            for x, values in self:
                x[...] = values
        else:
            self.file.seek(0)
            for x in self.arrays:
                self.file.readinto(x)  # type: ignore[attr-defined]
        self._restore_numbers()

    def _restore_numbers(self) -> None:
        for holder, numbers in self.numbers:
            holder.update(numbers)

    def other_number(self) -> str:
        """The first number that is another one now."""
        return next((f"the number {name}" for holder, numbers in self.numbers for name, value in numbers.items()
                     if repr(holder.get(name)) != repr(value)), "")  # NaN equals itself

    def compared(self, now: Iterable[np.ndarray], scales: dict) -> list[tuple[int, str]]:
        """Compare the copies with arrays, and restore. Returns how far they are apart, see `apart`, and names."""
        found = []
        for i, ((place, values), x) in enumerate(zip(self, now, strict=True)):
            found.append((apart(x, values, scales, i), f"an array of shape {x.shape} that lasts from call to call"))
            if found[-1][0] or place is not x:
                place[...] = values
        self._restore_numbers()
        return found

    def _close(self) -> None:
        if self.file is not None:
            if self.file.seek(0, os.SEEK_END) > _KEPT:
                self.file.truncate(0)
            _files.append(self.file)
            self.file = None

    __del__ = _close


def _file() -> IO[bytes]:
    import tempfile  # only large steps need it

    with tempfile.TemporaryFile() as file:
        return open(os.dup(file.fileno()), "r+b", closefd=False)


def apart(x: np.ndarray, y: np.ndarray, scales: dict, of: Any) -> int:
    """Whether two arrays are the same in all bits, or apart by no more than rounding explains, or by more.

    NaN equals NaN of any bits: of two in a sum, the processor takes the first, and compilers swap operands.
    scales[of]: the largest of these numbers the first time. Near an optimum gradients cancel; rounding errors do not.
    """
    if x.shape != y.shape or x.dtype != y.dtype:
        return OTHER
    scale = scales[of] if of in scales else scales.setdefault(of, largest(y))
    bits = f"i{x.itemsize}"
    same = x.view(bits) == y.view(bits)
    if same.all() or x.dtype.kind == "f" and (same | np.isnan(x) & np.isnan(y)).all():
        return SAME
    if x.dtype.kind != "f":
        return OTHER
    atol = _ROUNDING * max(largest(y), _ROUNDING * scale)
    return ROUNDED if np.allclose(x, y, rtol=_ROUNDING, atol=atol, equal_nan=True) else OTHER


def largest(x: np.ndarray) -> float:
    if x.dtype.kind != "f":
        return 0.0
    most = float(max(x.max(initial=0), -x.min(initial=0)))
    return most if np.isfinite(most) else float(np.abs(x[np.isfinite(x)]).max(initial=0))
