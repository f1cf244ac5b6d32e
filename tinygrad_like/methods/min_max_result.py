"""What `x.max(1)` gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..core.tensor import Tensor
from ..ops.order import Found


class Extremum(Tensor):
    """The values of max or min along an axis that was given by position, as in `x.max(1)`.

    PyTorch gives a pair there, of values and indices. So this Tensor is that pair where it is taken for one: unpacked,
    its [0] and [1], `.values` and `.indices`. What `x.max(axis=1)` gives is an ordinary Tensor, as all that is computed
    from it.
    """

    _pair: Found

    @classmethod
    def of(cls, values: Tensor, indices: Tensor) -> Extremum:
        """The Tensor that is the values, and the pair."""
        y = cls.__new__(cls)
        vars(y).update(vars(values))
        values.shared_version().show(y)
        y._pair = Found(values, indices)
        return y

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Copied and pickled as an ordinary Tensor."""
        plain = Tensor.__new__(Tensor)
        plain.__dict__.update({name: value for name, value in vars(self).items() if name != "_pair"})
        return plain.__reduce_ex__(protocol)

    @property
    def values(self) -> Tensor:
        """The first of the pair."""
        return self._pair.values

    @property
    def indices(self) -> Tensor:  # type: ignore[override]
        """The second of the pair: where the values are."""
        return self._pair.indices

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self._pair)

    def __getitem__(self, index: Any) -> Tensor:
        return self._pair[index] if type(index) is int and index in (0, 1) else super().__getitem__(index)
