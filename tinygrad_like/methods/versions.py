"""Versions of memory: the last in-place change, and the Tensors that share it. They let backward detect changed
values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

from ..core.basics import basics
from ..core.graph import tick
from ..core.tensor import Tensor, wrap


class Version(list):
    """The tick of the last in-place change of some memory, in a cell shared by all Tensors on it."""

    __slots__ = ("shown", "most", "split", "__weakref__")

    shown: list[ref[Tensor]]  # the Tensors that share it, some perhaps with another cell, see `methods/view_aliases.py`
    most: int  # the length of the list at which to drop dead references
    split: bool  # whether some have another cell

    @classmethod
    def of(cls, now: int, shown: list, split: bool = False) -> Version:
        cell = cls((now,))
        cell.shown, cell.most, cell.split = shown, 16, split
        return cell

    def show(self, x: Tensor) -> None:
        """Make this the version of x."""
        x.version, shown = self, self.shown
        shown.append(ref(x))
        if len(shown) > self.most:
            shown[:] = [seen for seen in shown if seen() is not None]
            self.most = 2 * len(shown) + 16

    def change(self, now: int) -> None:
        """Record a change of the memory, for all Tensors on it."""
        self[0] = now
        if self.split:
            for other in [seen() for seen in self.shown]:
                if other is not None and other.version is not None and other.version.shown is self.shown:
                    other.version[0] = now


class Versions:
    """The part of Tensor that tracks in-place changes."""

    _viewed: tuple[Callable[[], Tensor | None], Any] | None = None  # (base, index), if this is a view made by an index
    _apart: object = None  # the same object for views of one another, a new one after detach()

    def detach(self: Any) -> Tensor:
        """The same values without the graph. Both share memory and version, so each sees changes of the other."""
        out = wrap(self._data)
        self.shared_version().show(out)
        out._apart = object()
        return out

    def shared_version(self: Any) -> Version:
        """The cell that holds the tick of the last in-place change of this memory."""
        if self.version is None:
            node = self.node
            if node is None or getattr(node.op, "out", 0) is None:  # it saves no output that might change
                self.version = Version.of(0, [ref(self)])
            elif (extra := node.details()).version is None:
                self.version = extra.version = Version.of(0, [ref(self)])
            else:  # the output may have several Tensors: rules get their own
                extra.version.show(self)
        return self.version  # type: ignore[return-value]

    def touch(self: Any) -> None:
        """Record an in-place change, so that a backward that needs the old values raises."""
        self.shared_version().change(tick())


def share_version(y: Tensor, inputs) -> None:
    """Give a view the version of the input whose memory it shares, so both notice a change through either."""
    out, node = y._data, y.node
    base = out if out.base is None else out.base
    for x in inputs:
        if isinstance(x, Tensor) and ((data := x._data) is base or data.base is base):
            (x.version or x.shared_version()).show(y)
            if x._apart is not None:
                y._apart = x._apart
            if node is not None and node.op.out is not None:
                node.details().version = y.version


basics.share_version = share_version
