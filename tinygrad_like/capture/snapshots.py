"""Copies of the state that lasts from call to call; a proof starts from one and compares with another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import IO, Any

import numpy as np

from ..core.tensor import Tensor
from ..dtypes import memory
from .recorder import Tape

_MUCH, _KEPT = 2**20, 2**26  # limits in bytes: copies beyond the first lie in a file; of a file that is kept
SAME, ROUNDED, OTHER = range(3)  # the difference of two numbers or arrays
_ROUNDING = 1e-3  # of one step, which may scale up sums of numbers that nearly cancel, as Adam does
_files: list[IO[bytes]] = []  # unused
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_files.clear)  # the parent still writes to them


class Copies:
    """Copies of arrays; many bytes lie in an unnamed file, so that a proof takes no more memory than a step. Writing to
    an existing file also takes less time than new memory.

    Iterating yields each array as it is now, and its copy, which is valid until the next one.
    """

    file: IO[bytes] | None = None

    def __init__(self, arrays: Iterable[np.ndarray]):
        self.arrays, self.copies = list(arrays), list[np.ndarray]()
        if sum([x.nbytes for x in self.arrays]) >= _MUCH:
            with suppress(OSError):  # no folder to write to, or a full disk
                self.file = _files.pop() if _files else _file()
                self.file.seek(0)
                for x in self.arrays:
                    self.file.write(np.ascontiguousarray(x).reshape(-1).view(np.uint8).data)
                self.file.flush()
                return
        self._close()
        self.copies = [x.copy() for x in self.arrays]

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
            x[...] = values

    def restored(self, scales: dict, what: str) -> list[tuple[int, str]]:
        """Restore the arrays. Returns the differences, with their sizes. scales: of each array, see `apart`."""
        found = []
        for i, (x, values) in enumerate(self):
            if how := apart(x, values, scales, (what, i)):
                found.append((how, what.format(x.shape)))
                x[...] = values
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


class Saved:
    """A copy of everything that a call may change: state, accumulated gradients, inputs, and numbers in objects."""

    def __init__(self, tape: Tape, inputs: Sequence[Tensor]):
        self.gradients = {id(leaf): leaf.grad._data for leaf, _ in tape.accumulated.values() if leaf.grad is not None}
        grads = {id(g): g for g in self.gradients.values()}.values()  # several leaves may share one
        state, more = tape.state, {id(memory(g)) for g in grads}
        self.keys = state.keys() | more
        self.arrays = Copies([*[m for key, m in state.items() if key not in more], *grads])
        self.inputs = Copies([t._data for t in inputs])
        self.numbers = [(d, _numbers(d)) for d in tape.counted()]

    def covers(self, tape: Tape) -> bool:
        """Whether everything that a tape changes was saved."""
        grads = {id(memory(grad._data)) for _, grad in tape.accumulated.values()}
        return not (tape.state.keys() | grads) - self.keys

    def now(self) -> Saved:
        """A copy of the same state as it is now, without the inputs."""
        saved = object.__new__(Saved)
        saved.keys, saved.gradients, saved.inputs = self.keys, self.gradients, Copies(())
        saved.arrays, saved.numbers = Copies(self.arrays.arrays), [(d, _numbers(d)) for d, _ in self.numbers]
        return saved

    def restore(self) -> None:
        self.arrays.restore()
        self._restore_numbers()

    def _restore_numbers(self) -> None:
        for holder, numbers in self.numbers:
            holder.update(numbers)

    def restored(self, scales: dict) -> list[tuple[int, str]]:
        """Restore the saved state. Returns the differences, as `Copies.restored` does."""
        found = self.arrays.restored(scales, "an array of shape {} that lasts from call to call")
        for holder, numbers in self.numbers:
            found += [(OTHER if type(value) is int else ROUNDED, f"the number {name}")
                      for name, value in numbers.items()
                      if repr(holder.get(name)) != repr(value)]  # NaN equals itself
        self._restore_numbers()
        return found


def _numbers(of: dict) -> dict[str, Any]:
    return {k: v for k, v in of.items() if type(v) in (int, float, tuple) or isinstance(v, np.generic)}


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
