"""Methods of PyTorch's Tensors that are made of several ops, besides those in `names.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import ops
from .autograd import Handle
from .errors import named
from .habits import taught
from .methods import part_of_tensor


class MinMax(NamedTuple):
    """What `x.aminmax()` gives."""

    min: Any
    max: Any


@part_of_tensor
@taught
class MoreNames:
    """The part of Tensor that is there for habits of PyTorch's users."""

    if TYPE_CHECKING:
        shape: tuple[int, ...]
        ndim: int
        dtype: np.dtype
        requires_grad: bool
        node: Any
        _after: list[Callable] | None

    def equal(self, other):
        """Whether both have the same shape and the same elements, one answer for all."""
        return self.shape == other.shape and bool(ops.all(ops.eq(self, other)))

    def aminmax(self, axis=None, keepdim=False):
        """The smallest and the largest along an axis, or of all, as the pair (min, max)."""
        return MinMax(ops.min(self, axis=axis, keepdim=keepdim), ops.max(self, axis=axis, keepdim=keepdim))

    def register_post_accumulate_grad_hook(self, hook):
        """Call `hook(x)` whenever backward has added to the `.grad` of this leaf; a handle, to remove it, is returned.

        Raises RuntimeError for a Tensor that is no leaf which requires grad.
        """
        if not self.requires_grad or self.node is not None:
            raise RuntimeError("register_post_accumulate_grad_hook: takes a leaf that requires grad; for others there "
                               "is register_hook")
        hooks = self._after = self._after or []
        hooks.append(hook)
        return Handle(hooks, hook)


for _name in ("equal", "aminmax"):
    setattr(MoreNames, _name, named(vars(MoreNames)[_name], _name))
