"""`DataParallel`, for programs written for PyTorch."""

from __future__ import annotations

from typing import Any

from tinygrad_like.core.tensor import Tensor

from .module import Module

__all__ = ["DataParallel", "DistributedDataParallel"]


def DistributedDataParallel(module: Any, *args: Any, **options: Any) -> Any:
    """Raises NotImplementedError: here, processes share batches through MPI, as in `training.fit`."""
    raise NotImplementedError("DistributedDataParallel: there are no process groups here; training.fit under "
                              "mpirun shares each batch, and distributed.average_gradients serves your own loops")


class DataParallel(Module):
    """Wrap a module as `module` and call it: there is one device. `tinygrad_like.distributed` shares batches through
    MPI."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0):
        if not isinstance(module, Module):
            raise TypeError(f"DataParallel: takes a module, got {type(module).__name__}")
        self.module = module

    def forward(self, *inputs: Any, **options: Any) -> Tensor:
        return self.module(*inputs, **options)
