"""Lists to which a captured function appends, and which it does not read.

    losses.append(loss.detach())

While a call is recorded, a `Growing` lies in such a list's place. What is appended is one more result of the program; a
play appends it to the list that lies there by then.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import user_line


class Growing(list):
    """All that is in a list, `of`, and what is appended; it notes where it is read, or changed otherwise."""

    def __init__(self, of: list, name: str):
        super().__init__(of)
        self.of, self.name, self.had, self.read = of, name, len(of), ""

    def new(self) -> list:
        """What was appended."""
        return [] if self.read else list.__getitem__(self, slice(self.had, None))

    def trouble(self) -> str:
        """Why it cannot be played."""
        if not self.read and len(self.of) == self.had:
            return ""
        return (f"it appends to {self.name}, which it reads or changes {self.read or 'under another name'}; return "
                "what is to be added, and add it outside")

    def __radd__(self, other: list) -> list:
        return other + [*self]


def _noting(method: Callable) -> Callable:
    def call(self: Growing, *args: Any, **options: Any) -> Any:
        self.read = self.read or f"at {user_line()}"
        return method(self, *args, **options)

    return call


for _name in ("__add__ __contains__ __delitem__ __eq__ __ge__ __getitem__ __gt__ __imul__ __iter__ __le__ __len__ "
              "__lt__ __mul__ __ne__ __repr__ __reversed__ __rmul__ __setitem__ __reduce_ex__ clear copy count index "
              "insert pop remove reverse sort").split():
    setattr(Growing, _name, _noting(getattr(list, _name)))
