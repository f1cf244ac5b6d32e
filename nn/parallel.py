"""`from nn.parallel import DataParallel`, as PyTorch's programs import it."""

from typing import Any

from .responses import DataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]


def DistributedDataParallel(module: Any, *args: Any, **options: Any) -> Any:
    """Raises NotImplementedError: processes of one program share batches by MPI, as `training.fit` has it."""
    raise NotImplementedError("DistributedDataParallel: there are no process groups of PyTorch's; training.fit, run by "
                              "mpirun, shares each batch, and distributed.average_gradients is for loops of your own")
