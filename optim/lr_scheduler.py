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
from typing import Any

from . import schedule
from .optimizer import Optimizer


class LRScheduler:
    """The base: a subclass defines `rate(base, epoch)`, the rate at an epoch of a group that began with `base`."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        name = type(self).__name__
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{name}: takes an Optimizer, got {type(optimizer).__name__}")
        if last_epoch != -1:
            raise ValueError(f"{name}: last_epoch={last_epoch!r} is not supported; call load_state_dict")
        if any(callable(group["lr"]) for group in optimizer.param_groups):
            raise TypeError(f"{name}: the optimizer's lr is already a schedule; give it a number")
        self.optimizer, self.last_epoch = optimizer, -1
        self.base_lrs = [float(group["lr"]) for group in optimizer.param_groups]
        self.step()

    def rate(self, base: float, epoch: int) -> float:
        raise NotImplementedError(f"{type(self).__name__} must define rate(base, epoch)")

    def step(self) -> None:
        """Go on to the next epoch, and set the rates of it."""
        self.last_epoch += 1
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            group["lr"] = self.rate(base, self.last_epoch)

    def get_last_lr(self) -> list[float]:
        """The rate of each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave."""
        self.last_epoch, self.base_lrs = int(state["last_epoch"]) - 1, [float(lr) for lr in state["base_lrs"]]
        self.step()


class LambdaLR(LRScheduler):
    """base lr_lambda(epoch); one function, or one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Callable | Sequence[Callable], last_epoch: int = -1):
        groups = len(optimizer.param_groups)
        self.lambdas: list[Callable] = [lr_lambda] * groups if callable(lr_lambda) else list(lr_lambda)
        if len(self.lambdas) != groups:
            raise ValueError(f"LambdaLR: {len(self.lambdas)} functions for {groups} groups")
        super().__init__(optimizer, last_epoch)

    def step(self) -> None:
        self.last_epoch += 1
        for group, base, factor in zip(self.optimizer.param_groups, self.base_lrs, self.lambdas, strict=True):
            group["lr"] = base * factor(self.last_epoch)


class StepLR(LRScheduler):
    """base gamma^floor(epoch / step_size)."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return schedule.step(base, self.step_size, self.gamma)(epoch)


class MultiStepLR(LRScheduler):
    """base gamma^(how many of the milestones have been reached)."""

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return base * self.gamma ** bisect_right(self.milestones, epoch)


class ExponentialLR(LRScheduler):
    """base gamma^epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return schedule.exponential(base, self.gamma)(epoch)


class LinearLR(LRScheduler):
    """From base start_factor to base end_factor on a straight line, in total_iters epochs."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1):
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return schedule.linear(base * self.start_factor, base * self.end_factor, self.total_iters)(epoch)


class CosineAnnealingLR(LRScheduler):
    """eta_min + (base - eta_min) (1 + cos(pi epoch / T_max)) / 2, which rises again after T_max epochs."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class OneCycleLR(LRScheduler):
    """Up to max_lr during the fraction pct_start of all steps and down again, see `schedule.one_cycle`.

    With cycle_momentum the momentum, or the first beta, goes from max_momentum down to base_momentum and up again.
    """

    def __init__(self, optimizer: Optimizer, max_lr: float, total_steps: int | None = None, epochs: int | None = None,
                 steps_per_epoch: int | None = None, pct_start: float = 0.3, cycle_momentum: bool = True,
                 base_momentum: float = 0.85, max_momentum: float = 0.95, div_factor: float = 25.0,
                 final_div_factor: float = 1e4, last_epoch: int = -1):
        steps = total_steps if total_steps is not None else (epochs or 0) * (steps_per_epoch or 0)
        if not steps:
            raise ValueError("OneCycleLR: give total_steps, or epochs and steps_per_epoch")
        self.total_steps, self.cycle_momentum = steps, cycle_momentum
        self.curve = schedule.one_cycle(max_lr, steps, pct_start, 1 / div_factor, 1 / final_div_factor)
        peak = pct_start * steps - 1
        self.momentum = lambda epoch: schedule._between(
            *((max_momentum, base_momentum, epoch / peak) if epoch <= peak else
              (base_momentum, max_momentum, min((epoch - peak) / (steps - 1 - peak), 1))))
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        return self.curve(epoch)

    def step(self) -> None:
        super().step()
        for group in self.optimizer.param_groups if self.cycle_momentum else ():
            momentum = self.momentum(self.last_epoch)
            if "betas" in group:
                group["betas"] = (momentum, *group["betas"][1:])
            elif "momentum" in group:
                group["momentum"] = momentum


class ReduceLROnPlateau:
    """All rates times `factor` each time a metric has not improved for more than `patience` calls of step(metric).

    Arguments and defaults are PyTorch's; see `schedule.ReduceOnPlateau`.
    """

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: float = 0.0):
        self.optimizer, self.min_lr, self.factor = optimizer, min_lr, factor
        self.plateau = schedule.ReduceOnPlateau(1.0, mode, factor, patience, threshold, threshold_mode == "rel",
                                                 cooldown)

    def step(self, metrics: Any) -> None:
        """Note the latest value of the metric."""
        if self.plateau.update(metrics):
            for group in self.optimizer.param_groups:
                group["lr"] = max(group["lr"] * self.factor, self.min_lr)

    def get_last_lr(self) -> list[float]:
        """The rate of each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs."""
        return self.plateau.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave; the rates are in the optimizer's state."""
        self.plateau.load_state_dict(state)
