"""PyTorch's schedulers: objects that set an optimizer's learning rate, one `step()` per epoch or batch.

    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=30)
    ...
    scheduler.step()

They build on the functions in `optim.schedule`, which you can also pass to an optimizer as `lr`, without a second
object.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tinygrad_like.core.listener import effect
from tinygrad_like.errors import named

from . import schedule
from .optimizer import Optimizer


class LRScheduler:
    """The base class. A subclass defines `rate(base, epoch)`, the rate at an epoch of a group whose initial rate is
    `base`; or, as in PyTorch, `get_lr()`, which returns all groups' rates at `self.last_epoch` and may use
    `self.base_lrs`.

    Several schedulers of one optimizer multiply: each scales the current rate, unless it is `absolute`. last_epoch: the
    last epoch of a resumed run; the rates become those of the next epoch.
    """

    absolute = False
    floor = 0.0  # the part of a rate that is not scaled

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        name = type(self).__name__
        if any(callable(group["lr"]) for group in checked(name, optimizer).param_groups):
            raise TypeError(f"{name}: the optimizer's lr is already a schedule; use a number")
        for group in optimizer.param_groups:
            if last_epoch != -1 and "initial_lr" not in group:
                raise ValueError(f"{name}: last_epoch={last_epoch!r} needs each group's initial rate; set "
                                 "group['initial_lr'], or create a scheduler for a new run and call load_state_dict")
            group.setdefault("initial_lr", group["lr"])
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs = [float(group["initial_lr"]) for group in optimizer.param_groups]
        self._first = last_epoch >= 0  # the current rates may belong to this epoch or the last
        self.step()
        self._first = False

    def rate(self, base: float, epoch: float) -> float:
        """The rate at an epoch of a group whose initial rate is `base`."""
        raise NotImplementedError(f"{type(self).__name__} must define rate(base, epoch), or get_lr()")

    def get_lr(self) -> list[float]:
        """The rates of all groups at this epoch, unless something else changes them."""
        return [self.rate(base, self.last_epoch) for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Advance to the next epoch, or to the given one, and set its rates."""
        effect(f"{type(self).__name__}.step", self._go_on, epoch, writes=())

    def _go_on(self, epoch: float | None) -> None:
        before, self.last_epoch = self.last_epoch, self.last_epoch + 1 if epoch is None else epoch  # type: ignore
        rates = self.get_lr()
        relative = not (self.absolute or self._first) and epoch is None and type(self).get_lr is LRScheduler.get_lr
        for to in rates:
            if not isinstance(to, int | float | np.integer | np.floating) or not 0 <= to < math.inf:
                self.last_epoch = before
                raise ValueError(f"{type(self).__name__}: the rate would be {to!r}, but it must be a number >= 0")
        for group, base, to in zip(self.optimizer.param_groups, self.base_lrs, rates, strict=True):
            now, then = group["lr"], self.rate(base, before) if relative and before >= 0 else base
            if relative and now != then:  # else `to` is exact
                scaled = then != self.floor
                to = self.floor + (now - self.floor) * ((to - self.floor) / (then - self.floor)) if scaled else (
                    now + (to - then))
            group["lr"] = to

    def get_last_lr(self) -> list[float]:
        """The rate of each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """The state that a resumed run needs."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs), "rates": self.get_last_lr()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`, with the rates that the groups had."""
        self.last_epoch, self.base_lrs = state["last_epoch"], [float(lr) for lr in state["base_lrs"]]
        for group, lr in zip(self.optimizer.param_groups, state["rates"], strict=True):
            group["lr"] = lr


def checked(who: str, optimizer: Any) -> Optimizer:
    """The optimizer. Raises TypeError for anything else."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{who}: takes an Optimizer, got {type(optimizer).__name__}")
    return optimizer


def for_each(who: str, value: float | Sequence[float], optimizer: Optimizer) -> list[float]:
    """One number per group: the given ones, or one for all."""
    groups = checked(who, optimizer).param_groups
    values = list(value) if isinstance(value, list | tuple) else [value] * len(groups)
    if not all(isinstance(v, int | float | np.integer | np.floating) and 0 <= v < math.inf for v in values):
        raise ValueError(f"{who}: {value!r} must be a number >= 0, or one per parameter group")
    if len(values) != len(groups):
        raise ValueError(f"{who}: {len(values)} numbers for {len(groups)} parameter groups")
    return values  # type: ignore[return-value]


class LambdaLR(LRScheduler):
    """base lr_lambda(epoch); one function, or one per group."""

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
        schedule.positive("StepLR", step_size=step_size)
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: float) -> float:
        return schedule.step(base, self.step_size, self.gamma)(epoch)  # type: ignore[arg-type]


class MultiStepLR(LRScheduler):
    """base gamma^(number of milestones reached)."""

    def __init__(self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = list(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: float) -> float:
        return base * self.gamma ** sum(milestone <= epoch for milestone in self.milestones)


class ExponentialLR(LRScheduler):
    """base gamma^epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: float) -> float:
        return schedule.exponential(base, self.gamma)(epoch)  # type: ignore[arg-type]


class LinearLR(LRScheduler):
    """Linear from base start_factor to base end_factor, in total_iters epochs."""

    def __init__(self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0,
                 total_iters: int = 5, last_epoch: int = -1):
        schedule.positive("LinearLR", total_iters=total_iters)
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: float) -> float:
        part = min(epoch / self.total_iters, 1.0)
        return schedule.on_a_line(base * self.start_factor, base * self.end_factor, part)


class CosineAnnealingLR(LRScheduler):
    """eta_min + (base - eta_min) (1 + cos(pi epoch / T_max)) / 2, which rises again after T_max epochs."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        schedule.positive("CosineAnnealingLR", T_max=T_max)
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    @property
    def floor(self) -> float:  # type: ignore[override]
        return self.eta_min

    def rate(self, base: float, epoch: float) -> float:
        return schedule.half_cosine(base, self.eta_min, epoch / self.T_max)


class OneCycleLR(LRScheduler):
    """Rise to max_lr during the fraction pct_start of all steps, then fall, see `schedule.one_cycle`.

    With cycle_momentum, the momentum, or the first beta, falls from max_momentum to base_momentum, then rises again.
    anneal_strategy: "cos", half a cosine, or "linear".
    """

    absolute = True

    def __init__(self, optimizer: Optimizer, max_lr: float | Sequence[float], total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
                 anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: float = 0.85,
                 max_momentum: float = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
                 last_epoch: int = -1):
        steps = total_steps if total_steps is not None else (epochs or 0) * (steps_per_epoch or 0)
        if not steps:
            raise ValueError("OneCycleLR: pass total_steps, or epochs and steps_per_epoch")
        between: Any = {"cos": schedule.half_cosine, "linear": schedule.on_a_line}.get(anneal_strategy)
        if between is None:
            raise ValueError(f"OneCycleLR: anneal_strategy={anneal_strategy!r} must be 'cos' or 'linear'")
        if cycle_momentum and not {"momentum", "betas"} & getattr(optimizer, "defaults", {}).keys():
            raise ValueError(f"OneCycleLR: {type(optimizer).__name__} has no momentum to cycle; pass "
                             "cycle_momentum=False")
        start = 1 / div_factor
        self.part = schedule.up_and_down("OneCycleLR", steps, pct_start, (
            start, 1.0, start / final_div_factor), between)
        self.momentum = schedule.up_and_down("OneCycleLR", steps, pct_start, (
            max_momentum, base_momentum, max_momentum), between) if cycle_momentum else None
        self.max_lrs = for_each("OneCycleLR", max_lr, optimizer)
        for group, top in zip(optimizer.param_groups, self.max_lrs, strict=True):
            if last_epoch == -1:
                group["initial_lr"] = top * start
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [top * self.part(self.last_epoch) for top in self.max_lrs]

    def _go_on(self, epoch: float | None) -> None:
        super()._go_on(epoch)
        momentum = self.momentum
        for group in self.optimizer.param_groups if momentum else ():
            now = momentum(self.last_epoch)  # type: ignore[misc]
            group.update({"betas": (now, *group["betas"][1:])} if "betas" in group else {"momentum": now})


class ReduceLROnPlateau(schedule.ReduceOnPlateau):
    """Multiply all rates by `factor` when a metric has not improved for more than `patience` calls of step(metric).

    Arguments and defaults are PyTorch's, such as eps, the smallest change of a rate; see `schedule.ReduceOnPlateau`.
    """

    def __init__(self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0,
                 min_lr: float | Sequence[float] = 0.0, eps: float = 1e-8):
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"ReduceLROnPlateau: threshold_mode={threshold_mode!r} must be 'rel' or 'abs'")
        if not eps >= 0:
            raise ValueError(f"ReduceLROnPlateau: eps={eps!r} must be >= 0")
        super().__init__(1.0, mode, factor, patience, threshold, threshold_mode == "rel", cooldown)
        self.optimizer, self.min_lrs, self.eps = optimizer, for_each("ReduceLROnPlateau", min_lr, optimizer), eps

    def step(self, metrics: Any) -> None:
        """Record the latest value of the metric."""
        if self.update(metrics):
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                lr = max(group["lr"] * self.factor, least)
                group["lr"] = lr if group["lr"] - lr > self.eps else group["lr"]

    get_last_lr = LRScheduler.get_last_lr


_LRScheduler = LRScheduler  # its old name in PyTorch
__all__ = [
    "CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "OneCycleLR",
    "ReduceLROnPlateau", "StepLR",
]
for _class in [globals()[_name] for _name in __all__]:
    _class.__init__ = named(_class.__init__, _class.__name__)  # type: ignore[misc]  # verbose= is taken
