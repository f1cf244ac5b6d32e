"""BatchNorm over all ranks of an MPI job."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.listener import effect
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.ops import collective, normalization

from .module import Module
from .norm import BatchNorm, BatchNorm1d, BatchNorm2d


class SyncBatchNorm(BatchNorm):
    """BatchNorm1d and 2d with, in training, the mean and variance of a batch whose rows are on several ranks.

    So a step on R ranks equals that of one process with the whole batch. It costs two reductions of a few numbers per
    channel, one in forward and one in backward; all ranks must call it, also with no rows. Arguments, parameters and
    state_dict keys are BatchNorm2d's; on one rank, in evaluation, and frozen, it is BatchNorm2d.

    x: (batch, channels, ...). Raises ValueError for another number of channels.
    """

    axes = {2: "batch, channels", 3: "batch, channels, length", 4: "batch, channels, height, width"}

    @property
    def local_statistics(self) -> tuple[Tensor, ...]:
        return ()

    def rectified(self, x: Tensor, *skip: Tensor) -> Tensor:
        return ops.relu(sum(skip, self(x)))

    def _run(self, op: Any, x: Tensor, *skip: Tensor) -> Tensor:
        if collective.ranks() == 1 or not self.training or not self._uses_batch:
            return super()._run(op, x, *skip)
        self._check_input(x)
        if self.running_mean is None:
            return ops.sync_batch_norm(x, self.weight, self.bias, eps=self.eps)
        stats = np.empty((3, self.num_features))
        y = ops.sync_batch_norm(x, self.weight, self.bias, eps=self.eps, shift=self.running_mean._data, stats=stats)
        moved = [self.running_mean, self.running_var, self.num_batches_tracked]
        arrays = [t._data for t in moved]
        effect("move_statistics", _move, arrays, stats, self.momentum, writes=arrays)
        for t in moved:
            t.touch()
        return y


def _move(moved: list[np.ndarray], stats: np.ndarray, momentum: float | None) -> None:
    """The count of numbers may differ between calls, so it is read only here."""
    mean, var, count = moved
    normalization.move_statistics(mean, var, stats[0], stats[1], int(stats[2, 0]), momentum, count)


def convert_sync_batchnorm(model: Module) -> Module:
    """Make every BatchNorm1d and BatchNorm2d of `model` a SyncBatchNorm, in place; returns the model.

    Parameters, statistics and hooks stay, so an optimizer may have been made before.
    """
    for module in model.modules():
        if type(module) in (BatchNorm1d, BatchNorm2d):
            module.__class__ = SyncBatchNorm
    return model
