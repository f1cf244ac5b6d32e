"""PyTorch's `torch.optim.swa_utils`: an averaged copy of a model, and the rate that goes with it.

    averaged = AveragedModel(model)
    scheduler = SWALR(optimizer, swa_lr=0.05)
    ...
    averaged.update_parameters(model)       # after an epoch
    scheduler.step()

`optim.EMA` averages without a second model. Source: Izmailov et al. 2018, Averaging weights leads to wider optima.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tinygrad_like.core.tensor import Tensor
from tinygrad_like.nn.module import Module
from tinygrad_like.transforms.switches import no_grad

from . import schedule
from .ema import towards
from .lr_scheduler import LRScheduler, _between, for_each
from .optimizer import Optimizer

Average = Callable[[Tensor, Tensor, Any], Any]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """decay a + (1 - decay) x: the exponential moving average."""
    if not isinstance(decay, int | float | np.number) or not 0 <= decay <= 1:
        raise ValueError(f"get_ema_avg_fn: decay={decay!r} must lie in [0, 1]")
    return lambda averaged, current, n: towards(averaged, current, 1 - decay)


class AveragedModel(Module):
    """A copy of the model, `module`, whose parameters are averages: the first update copies, later ones average.

    avg_fn(averaged, current, n_averaged) gives the new average of one parameter, by default the mean of all. Buffers
    are copied from the model; `nn.reestimate_batch_norm` computes those of batch norms anew. n_averaged: the number
    of updates.
    """

    n_averaged: Tensor

    def __init__(self, model: Module, device: Any = None, avg_fn: Average | None = None):
        super().__init__()
        if avg_fn is not None and not callable(avg_fn):
            raise TypeError("AveragedModel: avg_fn is a function of the average, the weights and their number, got "
                            f"{type(avg_fn).__name__}")
        self.module = copy.deepcopy(model)
        self.avg_fn = avg_fn or (lambda averaged, current, n: towards(averaged, current, 1 / (n + 1)))
        self.register_buffer("n_averaged", Tensor(0))

    def forward(self, *args: Any, **options: Any) -> Any:
        return self.module(*args, **options)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the current weights of the model into the averages. Raises ValueError if it has others than at first."""
        pairs = self._pairs(model.parameters(), self.module.parameters())
        buffers = self._pairs(model.buffers(), self.module.buffers())
        n = self.n_averaged.clone()
        for x, a in pairs:
            a.copy_((n == 0).where(x.detach(), self.avg_fn(a.detach(), x.detach(), n)))
        for x, a in buffers:
            a.copy_(x.detach())
        self.n_averaged.add_(1)

    @staticmethod
    def _pairs(current: Iterable[Tensor], averaged: Iterable[Tensor]) -> list[tuple[Tensor, Tensor]]:
        xs, averages = list(current), list(averaged)
        if [x.shape for x in xs] != [a.shape for a in averages]:
            raise ValueError("AveragedModel: the model has parameters or buffers of other shapes than when it was "
                             "copied")
        return list(zip(xs, averages, strict=True))


class SWALR(LRScheduler):
    """From the rate that it finds to swa_lr in anneal_epochs epochs, on half a cosine or "linear", and constant then.

    swa_lr: a rate, or one for each group.
    """

    def __init__(self, optimizer: Optimizer, swa_lr: float | Sequence[float], anneal_epochs: int = 10,
                 anneal_strategy: str = "cos", last_epoch: int = -1):
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"SWALR: anneal_epochs={anneal_epochs!r} must be an integer from 0")
        self.swa_lrs, self.anneal_epochs = for_each(swa_lr, optimizer), anneal_epochs
        self.part = schedule.through([(0, 0.0), (max(1, anneal_epochs), 1.0)], _between("SWALR", anneal_strategy))
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        epoch = self.last_epoch if self.anneal_epochs else max(1, self.last_epoch)
        before, now = self.part(max(epoch - 1, 0)), self.part(epoch)
        found = []
        for group, swa_lr in zip(self.optimizer.param_groups, self.swa_lrs, strict=True):
            start = swa_lr if before == 1 else (group["lr"] - before * swa_lr) / (1 - before)
            found.append(swa_lr * now + start * (1 - now))
        return found
