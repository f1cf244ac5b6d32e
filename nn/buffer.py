"""A buffer that is one as soon as it is assigned."""

from __future__ import annotations

from typing import Any

from tinygrad_like.core.tensor import Tensor


class Buffer(Tensor):
    """A Tensor that becomes a buffer of the module it is assigned to, as by `register_buffer`: `Buffer(data)`.

    persistent: whether `state_dict` has it. Ops on it give plain Tensors.
    """

    def __init__(self, data: Any, *, persistent: bool = True, dtype: Any = None):
        super().__init__(data, False, dtype)
        self.persistent = persistent
