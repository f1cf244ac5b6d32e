"""PyTorch's schedulers: objects that set an optimizer's learning rate, one `step()` per epoch or batch.

    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=30)
    ...
    scheduler.step()

The functions in `optim.schedule`, given to an optimizer as its `lr`, do the same without a second object to keep.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from tinygrad_like.errors import named

from . import schedule
from .one_cycle import OneCycleLR
from .optimizer import Optimizer
from .scheduler import LRScheduler, for_each


class LambdaLR(LRScheduler):
    """base lr_lambda(epoch); one function, or one for each group."""

    absolute = True

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable | Sequence[Callable], last_epoch: int = -1):
        groups = len(optimizer.param_groups)
        self.lambdas: list[Callable] = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        if len(self.lambdas) != groups:
            raise ValueError(f"{type(self).__name__}: {len(self.lambdas)} functions for {groups} groups")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [base * factor(self.last_epoch) for base, factor in zip(self.base_lrs, self.lambdas, strict=True)]


class StepLR(LRScheduler):
    """base gamma^floor(epoch / step_size)."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        if not step_size > 0:
            raise ValueError(f"StepLR: step_size={step_size!r} must be > 0")
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: Any) -> float:
        return schedule.step(base, self.step_size, self.gamma)(epoch)


class MultiStepLR(LRScheduler):
    """base gamma^(how many of the milestones have been reached)."""

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: Any) -> float:
        return base * self.gamma ** bisect_right(self.milestones, epoch)


class ExponentialLR(LRScheduler):
    """base gamma^epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: Any) -> float:
        return schedule.exponential(base, self.gamma)(epoch)


class LinearLR(LRScheduler):
    """From base start_factor to base end_factor on a straight line, in total_iters epochs."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1):
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: Any) -> float:
        return schedule.linear(base * self.start_factor, base * self.end_factor, self.total_iters)(epoch)


class ConstantLR(LRScheduler):
    """base factor for total_iters epochs, then base."""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1):
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: factor={factor!r} must lie in [0, 1]")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: float) -> float:
        return base * self.factor if epoch < self.total_iters else base


class CosineAnnealingLR(LRScheduler):
    """eta_min + (base - eta_min) (1 + cos(pi epoch / T_max)) / 2, which rises again after T_max epochs."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min, self.floor = T_max, eta_min, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: Any) -> float:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class SequentialLR(LRScheduler):
    """One scheduler after the other: at each of the milestones, which are epochs, the next begins with its epoch 0."""

    def __init__(self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int],
                 last_epoch: int = -1):
        if not schedulers or len(milestones) != len(schedulers) - 1:
            raise ValueError(f"SequentialLR: {len(schedulers)} schedulers need {max(len(schedulers) - 1, 0)} "
                             f"milestones, got {len(milestones)}")
        if list(milestones) != sorted(milestones):
            raise ValueError(f"SequentialLR: milestones={list(milestones)} must not fall")
        _check_schedulers("SequentialLR", schedulers, optimizer)
        self.optimizer, self._schedulers, self._milestones = optimizer, list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:  # which all of them have changed by now
            group["lr"] = group["initial_lr"]
        self._undo()
        self._initial_step()

    def _initial_step(self) -> None:
        self.last_epoch += 1
        self._first()._initial_step()

    def _undo(self, steps: float = 1) -> None:
        super()._undo(steps)
        for scheduler in self._schedulers:
            scheduler._undo(steps)

    def _restart(self) -> None:
        self.last_epoch = 0
        self._first()._restart()

    def _first(self) -> LRScheduler:
        return self._schedulers[bisect_right(self._milestones, 0)]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch."""
        _takes_no_epoch("SequentialLR", epoch)
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            self._schedulers[i]._restart()
        else:
            self._schedulers[i].step()

    def state_dict(self) -> dict[str, Any]:
        return {"last_epoch": self.last_epoch, "schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave; the rates are in the optimizer's state."""
        self.last_epoch = state.get("last_epoch", -1)
        rates = self.get_last_lr()
        for scheduler, one in zip(self._schedulers, state["schedulers"], strict=True):
            scheduler.load_state_dict(one)
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            group["lr"] = lr


def _check_schedulers(who: str, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
    for i, scheduler in enumerate(schedulers):
        if not isinstance(scheduler, LRScheduler):
            raise ValueError(f"{who}: scheduler {i}, a {type(scheduler).__name__}, must step by epochs alone; call the "
                             "step of a ReduceLROnPlateau yourself")
        if scheduler.optimizer is not optimizer:
            raise ValueError(f"{who}: scheduler {i}, a {type(scheduler).__name__}, is of another optimizer")


def _takes_no_epoch(who: str, epoch: Any) -> None:
    if epoch is not None:
        raise TypeError(f"{who}: step takes no epoch; its schedulers count their own")


class ReduceLROnPlateau:
    """All rates times `factor` each time a metric has not improved for more than `patience` calls of step(metric).

    Arguments and defaults are PyTorch's, eps among them, the least change of a rate; see `schedule.ReduceOnPlateau`.
    """

    num_bad_epochs = property(attrgetter("plateau.waited"))
    cooldown_counter = property(attrgetter("plateau.cooling"))

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
                 min_lr: float | Sequence[float] = 0.0, eps: float = 1e-8):
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"ReduceLROnPlateau: threshold_mode={threshold_mode!r} must be 'rel' or 'abs'")
        if not eps >= 0:
            raise ValueError(f"ReduceLROnPlateau: eps={eps!r} must be >= 0")
        self.optimizer, self.min_lrs, self.factor, self.eps = optimizer, for_each(min_lr, optimizer), factor, eps
        self.plateau = schedule.ReduceOnPlateau(1.0, mode, factor, patience, threshold, threshold_mode == "rel",
                                                 cooldown)

    @property
    def best(self) -> float:
        """The best value so far."""
        best = self.plateau.best
        return best if best is not None else math.inf if self.plateau.mode == "min" else -math.inf

    def step(self, metrics: Any) -> None:
        """Note the latest value of the metric."""
        if self.plateau.update(metrics):
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                lr = max(group["lr"] * self.factor, least)
                group["lr"] = lr if group["lr"] - lr > self.eps else group["lr"]

    def get_last_lr(self) -> list[float]:
        """The rate of each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs."""
        return self.plateau.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave; the rates are in the optimizer's state."""
        self.plateau.load_state_dict(state)


_LRScheduler = LRScheduler  # as it was called
__all__ = [
    "ConstantLR", "CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR",
    "OneCycleLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]
for _class in [globals()[_name] for _name in __all__]:
    _class.__init__ = named(_class.__init__, _class.__name__)  # type: ignore[misc]  # verbose= is taken
