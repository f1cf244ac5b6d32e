"""PyTorch's `torch.optim.swa_utils`: an averaged copy of a model, and the rate that goes with it.

    averaged = AveragedModel(model)
    scheduler = SWALR(optimizer, swa_lr=0.05)
    ...
    averaged.update_parameters(model)       # after an epoch
    scheduler.step()
    ...
    update_bn(loader, averaged)             # the statistics of its batch norms

`optim.EMA` averages without a second model. Source: Izmailov et al. 2018, Averaging weights leads to wider optima.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tinygrad_like.core.graph import mode
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.nn.module import Module
from tinygrad_like.transforms.switches import no_grad

from .optimizer import Optimizer
from .scheduler import LRScheduler, for_each

Average = Callable[[Tensor, Tensor, Any], Any]


def get_swa_avg_fn() -> Average:
    """a + (x - a) / (n + 1): the mean of all weights so far."""
    return lambda averaged, current, n: averaged + (current - averaged) / (n + 1)


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """decay a + (1 - decay) x: the exponential moving average."""
    if not isinstance(decay, int | float | np.number) or not 0 <= decay <= 1:
        raise ValueError(f"get_ema_avg_fn: decay={decay!r} must lie in [0, 1]")
    return lambda averaged, current, n: decay * averaged + (1 - decay) * current


def get_swa_multi_avg_fn() -> Callable:
    """`get_swa_avg_fn` for `multi_avg_fn`, which is given lists."""
    return _of_lists(get_swa_avg_fn())


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """`get_ema_avg_fn` for `multi_avg_fn`, which is given lists."""
    return _of_lists(get_ema_avg_fn(decay))


def _of_lists(average: Average) -> Callable:
    def change(averaged: Sequence[Tensor], current: Sequence[Tensor], n: Any) -> None:
        for a, x in zip(averaged, current, strict=True):
            a.copy_(average(a, x, n))

    return change


class AveragedModel(Module):
    """A copy of the model, `module`, whose parameters are averages: the first update copies, later ones average.

    avg_fn(averaged, current, n_averaged) gives the new average of one parameter, by default the mean of all;
    multi_avg_fn, of lists of them, changes the averages in place. use_buffers: average buffers too, as the statistics
    of batch norms; else they are the model's, copied. n_averaged: the number of updates.
    """

    n_averaged: Tensor

    def __init__(self, model: Module, device: Any = None, avg_fn: Average | None = None,
                 multi_avg_fn: Callable | None = None, use_buffers: bool = False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel: give avg_fn or multi_avg_fn, not both")
        for name, f in ("avg_fn", avg_fn), ("multi_avg_fn", multi_avg_fn):
            if f is not None and not callable(f):
                raise TypeError(f"AveragedModel: {name} is a function of the averages, the weights and their number, "
                                f"got {type(f).__name__}")
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", Tensor(0))
        self.avg_fn, self.multi_avg_fn = avg_fn or get_swa_avg_fn(), multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **options: Any) -> Any:
        return self.module(*args, **options)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take the current weights of the model into the averages. Raises ValueError if it has others than at first."""
        pairs = self._pairs(model.parameters(), self.module.parameters())
        buffers = self._pairs(model.buffers(), self.module.buffers())
        averaged = pairs + (buffers if self.use_buffers else [])
        n = self.n_averaged.clone()
        if mode.listener is None and n == 0:
            for x, a in pairs + buffers:
                a.copy_(x.detach())
        else:
            found, current = [a.detach() for _, a in averaged], [x.detach() for x, _ in averaged]
            if self.multi_avg_fn is not None:
                found = [a.clone() for a in found]
                self.multi_avg_fn(found, current, n)
            else:
                found = [self.avg_fn(a, x, n) for a, x in zip(found, current, strict=True)]
            for (_, a), new in zip(averaged, found, strict=True):
                a.copy_(new)
        if mode.listener is not None:  # which has the numbers of a later call
            for x, a in pairs + buffers:
                a.copy_((n == 0).where(x.detach(), a.detach()))
        for x, a in [] if self.use_buffers else buffers:
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
        if not isinstance(anneal_strategy, str) or anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"SWALR: anneal_strategy={anneal_strategy!r} must be 'cos' or 'linear'")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"SWALR: anneal_epochs={anneal_epochs!r} must be an integer from 0")
        self.swa_lrs = for_each(swa_lr, optimizer)
        self.anneal_epochs, self.linear = anneal_epochs, anneal_strategy == "linear"
        super().__init__(optimizer, last_epoch)

    def _part(self, epoch: float) -> float:
        """How far the rate has come at an epoch."""
        t = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return t if self.linear else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[float]:
        epoch = self.last_epoch if self.anneal_epochs else max(1, self.last_epoch)
        before, now = self._part(epoch - 1), self._part(epoch)
        found = []
        for group, swa_lr in zip(self.optimizer.param_groups, self.swa_lrs, strict=True):
            start = swa_lr if before == 1 else (group["lr"] - before * swa_lr) / (1 - before)
            found.append(swa_lr * now + start * (1 - now))
        return found


@no_grad()
def update_bn(loader: Iterable, model: Module, device: Any = None) -> None:
    """Give every batch norm the statistics of the batches of `loader`, each of which counts alike.

    A batch is a Tensor, or a tuple or list whose first entry is one. See also `nn.reestimate_batch_norm`.
    """
    norms: dict[Any, Any] = {m: getattr(m, "momentum", None) for m in model.modules() if hasattr(m, "running_mean")
                             and m.running_mean is not None}
    if not norms:
        return
    was_training = model.training
    model.train()
    for norm in norms:
        norm.running_mean.copy_(np.zeros_like(norm.running_mean.data))
        norm.running_var.copy_(np.ones_like(norm.running_var.data))
        if norm.num_batches_tracked is not None:
            norm.num_batches_tracked.copy_(0)
    try:
        for n, batch in enumerate(loader):
            for norm in norms:
                norm.momentum = 1 / (n + 1)
            model(batch[0] if isinstance(batch, tuple | list) else batch)
    finally:
        for norm, momentum in norms.items():
            norm.momentum = momentum
        model.train(was_training)
