"""What lasts from call to call, as it was at some moment: what a proof begins from, and is compared with."""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING

import numpy as np

from ..random import generators
from .bindings import Places
from .guards import Watch
from .recorder import Tape

if TYPE_CHECKING:
    from .arguments import Arguments

_LARGE, _MUCH = 2**24, 2**26  # bytes from which on copies lie in a file; and that a step makes
_ROUNDING = 1e-3  # of one step, in which sums of numbers that nearly cancel may be scaled up, as Adam does


class Copies:
    """Copies of arrays; large ones lie in a file without a name, so that a proof takes no more memory than a step.

    beside: how many bytes the step makes. If they are many, its time is long beside that of a file, and all lie in one.

    Iterating gives each array as it is now, and its copy.
    """

    def __init__(self, arrays: Iterable[np.ndarray], beside: int | None = None):
        self.arrays = list(arrays)
        self.copies: list[np.ndarray] = []
        self.file: IO[bytes] | None = None
        if sum(x.nbytes for x in self.arrays) >= _LARGE or (beside or 0) >= _MUCH:
            with suppress(OSError):  # no folder to write to, or no room in it
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
    """All that lasts from call to call and that a tape changes, as it is now."""

    def __init__(self, tape: Tape, beside: int | None = None):
        state = tape.state()
        self.inputs: list[tuple[np.ndarray, np.ndarray]] = []  # that a call changes, and what was in them before
        self.keys, self.arrays = state.keys(), Copies(state.values(), beside)
        self.gradients: dict[int, np.ndarray] = {key: leaf.grad._data.copy() for key, (leaf, _) in
                                                 tape.accumulated.items() if leaf.grad is not None}
        objects = [*tape.holders, *[getattr(step.function, "__self__", None) for step in tape.steps]]
        holders = [*[o.__dict__ for o in objects if hasattr(o, "__dict__")], *tape.scheduled.values()]
        self.numbers = [(d, {k: v for k, v in d.items() if type(v) in (int, float, tuple)}) for d in holders]

    def covers(self, tape: Tape, arguments: Arguments) -> bool:
        """Whether all that a tape changes was saved, here or, of what the call was given, by its arguments."""
        self.inputs, self.gradients = arguments.changed, self.gradients | arguments.gradients
        return not (tape.state().keys() - self.keys or tape.accumulated.keys() - self.gradients.keys())

    def restore(self) -> None:
        self.arrays.restore()
        for x, values in self.inputs:
            x[...] = values
        for holder, numbers in self.numbers:
            holder.update(numbers)

    def differ(self, rounded: bool) -> str:
        """The first thing that is not as it was, or nothing."""
        for x, values in self.arrays:
            if differ(x, values, rounded):
                return f"an array of shape {x.shape} that lasts from call to call"
        for holder, numbers in self.numbers:
            for name, value in numbers.items():
                if (not rounded or type(value) is int) and repr(holder.get(name)) != repr(value):  # NaN equals itself
                    return f"the number {name}"
        return ""


class Undo:
    """What there is before a call that may be begun anew: random numbers, variables, numbers of untrained Tensors."""

    def __init__(self, watch: Watch, places: Places):
        self.watch, self.places = watch, places
        self.copies = [(t, t._data.copy()) for t in watch.all_tensors() if not t.requires_grad]
        self.states = [(g.state, g.state.copy()) for g in generators]

    def __call__(self, tape: Tape) -> None:
        for state, values in self.states:
            state[...] = values
        for t, values in self.copies:
            t._data[...] = values
        self.places.put((None, self.places.values))
        self.watch.put_back()


def differ(x: np.ndarray, y: np.ndarray, rounded: bool) -> bool:
    """Whether two arrays hold other bits; if rounded, numbers that are further apart than rounding explains.

    NaN is NaN: of two that meet in a sum, the processor takes the first, and compilers exchange them.
    """
    if not rounded or x.dtype.kind != "f":
        bits = f"i{x.itemsize}"
        same = x.view(bits) == y.view(bits)
        return not (same.all() or (x.dtype.kind == "f" and (same | np.isnan(x) & np.isnan(y)).all()))
    most = np.abs(y[np.isfinite(y)]).max(initial=0)
    return not np.allclose(x, y, rtol=_ROUNDING, atol=_ROUNDING * float(most), equal_nan=True)


class Again:
    """Gives reductions what they gave before, in the order they came in then, so that other ranks need not take part.

    end: whether there are no others; else those that come later are real.
    """

    def __init__(self, told: Sequence[tuple[np.ndarray, np.ndarray]], end: bool = True):
        self.told, self.end, self.wrong = deque(told), end, ""

    def __call__(self, x: np.ndarray) -> bool:
        if not self.told:
            self.wrong = "the number of reductions"
            return self.end
        sent, came = self.told.popleft()
        if sent.shape != x.shape or sent.dtype != x.dtype or sent.tobytes() != x.tobytes():
            self.wrong = f"what it tells other ranks, an array of shape {x.shape}"
        if came.shape == x.shape:
            x[...] = came
        return True
