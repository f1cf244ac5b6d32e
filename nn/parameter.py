"""The Tensors of a module: parameters and buffers."""

from __future__ import annotations

from typing import Any

from tinygrad_like.core.tensor import Tensor

__all__ = ["Buffer", "Parameter"]


class Parameter(Tensor):
    """A Tensor that its Module's `parameters()` lists, to be trained. Ops on it return plain Tensors.

    `Parameter(data)` copies `data` as `Tensor(data)` does. Raises TypeError for integers, unless `requires_grad=False`.
    """

    def __init__(self, data: Any, requires_grad: bool = True, dtype: Any = None):
        super().__init__(data, requires_grad, dtype)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor):
    """A Tensor that, assigned to a module, becomes its buffer, as with `register_buffer`: `Buffer(data)`.

    persistent: whether it is in the `state_dict`. Ops on it return plain Tensors.
    """

    def __init__(self, data: Any, *, persistent: bool = True, dtype: Any = None):
        super().__init__(data, False, dtype)
        self.persistent = persistent
