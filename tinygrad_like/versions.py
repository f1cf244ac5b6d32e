"""When memory was last changed in place, and which Tensors show it."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .tensor import Tensor


class Version(list):
    """The tick of the last in-place change of some memory: one number, in a cell of all Tensors that show it."""

    shown: list[weakref.ref[Tensor]]  # those Tensors, and others whose version is another cell, see `aliases.py`
    most = 16  # so many may be in the list before those that are gone are sorted out
    split = False  # whether there are such others

    @classmethod
    def of(cls, now: int, shown: list, split: bool = False) -> Version:
        cell = cls([now])
        cell.shown, cell.split = shown, split
        return cell

    def show(self, x: Tensor) -> None:
        """Have this be the version of x."""
        x.version = self
        self.shown.append(weakref.ref(x))
        if len(self.shown) > self.most:
            self.shown[:] = [seen for seen in self.shown if seen() is not None]
            self.most = 2 * len(self.shown) + 16

    def change(self, now: int) -> None:
        """Note a change of the memory, for all that show it."""
        self[0] = now
        if self.split:
            for other in [seen() for seen in self.shown]:
                if other is not None and other.version is not None and other.version.shown is self.shown:
                    other.version[0] = now
