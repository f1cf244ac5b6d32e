"""When memory was last changed in place, and which Tensors show it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ref

if TYPE_CHECKING:
    from .tensor import Tensor


class Version(list):
    """The tick of the last in-place change of some memory: one number, in a cell of all Tensors that show it."""

    __slots__ = ("shown", "most", "split", "__weakref__")

    shown: list[ref[Tensor]]  # those Tensors, and others whose version is another cell, see `methods/view_aliases.py`
    most: int  # so many may be in the list before those that are gone are sorted out
    split: bool  # whether there are such others

    @classmethod
    def of(cls, now: int, shown: list, split: bool = False) -> Version:
        cell = cls((now,))
        cell.shown, cell.most, cell.split = shown, 16, split
        return cell

    def show(self, x: Tensor) -> None:
        """Have this be the version of x."""
        x.version, shown = self, self.shown
        shown.append(ref(x))
        if len(shown) > self.most:
            shown[:] = [seen for seen in shown if seen() is not None]
            self.most = 2 * len(shown) + 16

    def change(self, now: int) -> None:
        """Note a change of the memory, for all that show it."""
        self[0] = now
        if self.split:
            for other in [seen() for seen in self.shown]:
                if other is not None and other.version is not None and other.version.shown is self.shown:
                    other.version[0] = now
