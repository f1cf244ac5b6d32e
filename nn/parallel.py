"""`DataParallel`, as PyTorch's programs import it."""

from __future__ import annotations

from typing import Any

from tinygrad_like.core.tensor import Tensor

from .module import Module

__all__ = ["DataParallel", "DistributedDataParallel"]


def DistributedDataParallel(module: Any, *args: Any, **options: Any) -> Any:
    """Raises NotImplementedError: processes share batches by MPI, as in `training.fit`."""
    raise NotImplementedError("DistributedDataParallel: there are no process groups of PyTorch's; training.fit, run by "
                              "mpirun, shares each batch, and distributed.average_gradients is for loops of your own")


class DataParallel(Module):
    """Wraps the module as `module`: there is only one processor. `tinygrad_like.distributed` shares batches by MPI."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        if not isinstance(module, Module):
            raise TypeError(f"DataParallel: takes a module, got {type(module).__name__}")
        self.module = module

    def forward(self, *inputs: Any, **options: Any) -> Tensor:
        return self.module(*inputs, **options)
