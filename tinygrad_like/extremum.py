"""What `x.max(1)` gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .tensor import Tensor


class Extremum(Tensor):
    """The values of max or min along an axis that was given by position, as in `x.max(1)`.

    PyTorch gives a pair there, of values and indices. So what would take this Tensor for the pair is an error: to
    unpack it into two, and its [0] and [1]. What `x.max(axis=1)` gives is an ordinary Tensor, as all that is computed
    from it.
    """

    @property
    def values(self) -> Tensor:
        """The same Tensor, to be indexed."""
        self.__class__ = Tensor  # type: ignore[assignment]
        return self

    def __iter__(self) -> Iterator[Tensor]:
        if self.shape[:1] == (2,):
            raise _no_pair()
        return super().__iter__()

    def __getitem__(self, index: Any) -> Tensor:
        if type(index) is int and index in (0, 1):
            raise _no_pair()
        return super().__getitem__(index)


def _no_pair() -> TypeError:
    return TypeError("max and min give values, no pair of values and indices: write x.max(axis=1) for the values, and "
                     "x.argmax(axis=1) for the indices")
