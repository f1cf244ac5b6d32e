"""Copies of the state that lasts from call to call: a proof starts from one, and is compared with one."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import IO, Any

import numpy as np

from ..core.tensor import Tensor
from ..dtypes import memory
from .recorder import Tape

_LARGE, _MUCH = 2**24, 2**26  # limits in bytes: copies beyond the first lie in a file; of memory that a step makes
_ROUNDING = 1e-3  # of one step, which may scale up sums of numbers that nearly cancel, as Adam does


class Copies:
    """Copies of arrays; large ones lie in an unnamed file, so that a proof takes no more memory than a step.

    beside: the bytes that the step makes. If they are many, a file costs little beside the step, and holds all copies.

    Iterating yields each array as it is now, and its copy.
    """

    def __init__(self, arrays: Iterable[np.ndarray], beside: int | None = None):
        self.arrays, self.beside = list(arrays), beside
        self.copies: list[np.ndarray] = []
        self.file: IO[bytes] | None = None
        if sum(x.nbytes for x in self.arrays) >= _LARGE or (beside or 0) >= _MUCH:
            with suppress(OSError):  # no folder to write to, or a full disk
                self.file = tempfile.TemporaryFile()  # noqa: SIM115
                for x in self.arrays:
                    np.ascontiguousarray(x).tofile(self.file)
                return
        self._close()
        self.copies = [x.copy() for x in self.arrays]

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        if self.file is None:
            yield from zip(self.arrays, self.copies, strict=True)
            return
        self.file.seek(0)
        for x in self.arrays:
            yield x, np.fromfile(self.file, x.dtype, x.size).reshape(x.shape)

    def restore(self) -> None:
        for x, values in self:
            x[...] = values

    def _close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    __del__ = _close


class Saved:
    """A copy of all that a call may change: state, accumulated gradients, inputs, and numbers in objects."""

    def __init__(self, tape: Tape, inputs: Sequence[Tensor], beside: int | None = None):
        grads = [leaf.grad._data for leaf, _ in tape.accumulated.values() if leaf.grad is not None]
        state, more = tape.state(), {id(memory(g)) for g in grads}
        self.keys = state.keys() | more
        self.arrays = Copies([*[m for key, m in state.items() if key not in more], *grads], beside)
        self.inputs = Copies([t._data for t in inputs], beside)
        found = [d for o in tape.effects.values() for d in (
            vars(o), *getattr(getattr(o, "optimizer", o), "param_groups", ()))]
        self.numbers = [(d, _numbers(d)) for d in found]

    def covers(self, tape: Tape) -> bool:
        """Whether everything that a tape changes was saved."""
        grads = {id(memory(grad._data)) for _, grad in tape.accumulated.values()}
        return not (tape.state().keys() | grads) - self.keys

    def now(self) -> Saved:
        """A copy of the same state as it is now, without the inputs."""
        saved = object.__new__(Saved)
        saved.keys, saved.inputs = self.keys, Copies(())
        saved.arrays, saved.numbers = Copies(self.arrays.arrays, self.arrays.beside), [
            (d, _numbers(d)) for d, _ in self.numbers]
        return saved

    def restore(self) -> None:
        self.arrays.restore()
        for holder, numbers in self.numbers:
            holder.update(numbers)

    def differ(self, rounded: bool) -> str:
        """The first thing that has changed, or nothing."""
        for x, values in self.arrays:
            if differ(x, values, rounded):
                return f"an array of shape {x.shape} that lasts from call to call"
        for holder, numbers in self.numbers:
            for name, value in numbers.items():
                if (not rounded or type(value) is int) and repr(holder.get(name)) != repr(value):  # NaN equals itself
                    return f"the number {name}"
        return ""


def _numbers(of: dict) -> dict[str, Any]:
    return {k: v for k, v in of.items() if type(v) in (int, float, tuple)}


def differ(x: np.ndarray, y: np.ndarray, rounded: bool) -> bool:
    """Whether two arrays differ: in their bits, or, if rounded, by more than rounding explains.

    NaN equals NaN of any bits: of two in a sum, the processor takes the first, and compilers swap operands.
    """
    if x.shape != y.shape or x.dtype != y.dtype:
        return True
    if not rounded or x.dtype.kind != "f":
        bits = f"i{x.itemsize}"
        same = x.view(bits) == y.view(bits)
        return not (same.all() or (x.dtype.kind == "f" and (same | np.isnan(x) & np.isnan(y)).all()))
    most = np.abs(y[np.isfinite(y)]).max(initial=0)
    return not np.allclose(x, y, rtol=_ROUNDING, atol=_ROUNDING * float(most), equal_nan=True)


class Again:
    """Repeats the recorded results of reductions in order, so that other ranks need not take part."""

    def __init__(self, told: Sequence[tuple[np.ndarray, np.ndarray]]):
        self.told, self.wrong = deque(told), ""

    def __call__(self, x: np.ndarray) -> bool:
        if not self.told:
            self.wrong = "the number of reductions"
            return True
        sent, came = self.told.popleft()
        if sent.shape != x.shape or sent.dtype != x.dtype or sent.tobytes() != x.tobytes():
            self.wrong = f"what it tells other ranks, an array of shape {x.shape}"
        if came.shape == x.shape:
            x[...] = came
        return True
