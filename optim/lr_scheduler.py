"""PyTorch's schedulers: objects that set an optimizer's learning rate, one `step()` per epoch or batch.

    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=30)
    ...
    scheduler.step()

The functions in `optim.schedule`, of which these are made, do the same without a second object to keep, given to an
optimizer as its `lr`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from tinygrad_like.core.listener import effect
from tinygrad_like.errors import named

from . import schedule
from .optimizer import Optimizer


class LRScheduler:
    """The base: a subclass defines `rate(base, epoch)`, the rate at an epoch of a group that began with `base`; or, as
    in PyTorch, `get_lr()`, the rates of all groups at `self.last_epoch`, which may use `self.base_lrs`.

    Several for one optimizer multiply: each carries on from the rate that it finds, unless it is `absolute`.
    last_epoch: the last epoch of a run that goes on; the rates become those of the next one.
    """

    absolute = False
    floor = 0.0  # what of a rate is not scaled
    _is_initial = False  # during the first step, as in PyTorch

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        name = type(self).__name__
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{name}: takes an Optimizer, got {type(optimizer).__name__}")
        if any(callable(group["lr"]) for group in optimizer.param_groups):
            raise TypeError(f"{name}: the optimizer's lr is already a schedule; give it a number")
        for group in optimizer.param_groups:
            if last_epoch != -1 and "initial_lr" not in group:
                raise ValueError(f"{name}: last_epoch={last_epoch!r} needs the rate at which each group began; set "
                                 "group['initial_lr'], or make the scheduler as for a new run and call load_state_dict")
            group.setdefault("initial_lr", group["lr"])
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs = [float(group["initial_lr"]) for group in optimizer.param_groups]
        self._initial_step()

    # The three with which schedulers of schedulers start others: PyTorch calls them _initial_step, recursive_undo and
    # _update_lr(0).

    def _initial_step(self) -> None:
        """Scale the rates found by what this scheduler begins with."""
        self._is_initial = True
        try:
            self.step()
        finally:
            del self._is_initial

    def _undo(self, steps: float = 1) -> None:
        """Count as before the last steps, of which a constructor has taken the first."""
        self.last_epoch = max(self.last_epoch - steps, -1)  # type: ignore[assignment]

    def _restart(self) -> None:
        """Set the rates of epoch 0, whatever they are now."""
        self.step(0)

    def rate(self, base: float, epoch: float) -> float:
        raise NotImplementedError(f"{type(self).__name__} must define rate(base, epoch), or get_lr()")

    def get_lr(self) -> list[float]:
        """The rates of all groups at this epoch, if nothing else changes them."""
        return [self.rate(base, self.last_epoch) for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to the one given, and set the rates of it."""
        effect(f"{type(self).__name__}.step", self._go_on, epoch, writes=())

    def _go_on(self, epoch: float | None) -> None:
        before, self.last_epoch = self.last_epoch, self.last_epoch + 1 if epoch is None else epoch  # type: ignore
        closed = getattr(self, "_get_closed_form_lr", self.get_lr)  # PyTorch's name, in a class written for it
        rates = self.get_lr() if epoch is None else closed()
        resumed = self._is_initial and before >= 0  # nobody knows whether the rates found are of this or the last epoch
        relative = not (self.absolute or resumed) and epoch is None and type(self).get_lr is LRScheduler.get_lr
        for to in rates:
            if not isinstance(to, int | float | np.integer | np.floating) or not 0 <= to < math.inf:
                self.last_epoch = before
                raise ValueError(f"{type(self).__name__}: the rate would be {to!r}, but a rate is a number >= 0")
        for group, base, to in zip(self.optimizer.param_groups, self.base_lrs, rates, strict=True):
            now, then = group["lr"], self.rate(base, before) if relative and before >= 0 else base
            if relative and now != then:  # else `to` is exact
                if then != self.floor:
                    to = self.floor + (now - self.floor) * ((to - self.floor) / (then - self.floor))
                else:
                    to = now + (to - then)
            group["lr"] = to

    def get_last_lr(self) -> list[float]:
        """The rate of each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from what `state_dict` gave. Rates that nothing else has changed are set; others stay as they are in
        the optimizer's state."""
        known = self.absolute or type(self).get_lr is LRScheduler.get_lr
        alone = known and self.get_last_lr() == self.get_lr()
        self.last_epoch, self.base_lrs = state["last_epoch"], [float(lr) for lr in state["base_lrs"]]
        if alone:
            for group, lr in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
                group["lr"] = lr


def for_each(value: float | Sequence[float], optimizer: Optimizer) -> list[float]:
    """A number for each group: those given, or one for all."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"a scheduler: takes an Optimizer, got {type(optimizer).__name__}")
    values = list(value) if isinstance(value, list | tuple) else [value] * len(optimizer.param_groups)
    if not all(isinstance(v, int | float | np.integer | np.floating) and 0 <= v < math.inf for v in values):
        raise ValueError(f"a scheduler: {value!r} must be a number >= 0, or one for each group of parameters")
    if len(values) != len(optimizer.param_groups):
        raise ValueError(f"a scheduler: {len(values)} numbers for {len(optimizer.param_groups)} groups of parameters")
    return values  # type: ignore[return-value]


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
        return schedule.half_cosine(base, self.eta_min, epoch / self.T_max)


class OneCycleLR(LRScheduler):
    """Up to max_lr during the fraction pct_start of all steps and down again, see `schedule.one_cycle`.

    With cycle_momentum the momentum, or the first beta, goes from max_momentum down to base_momentum and up again.
    anneal_strategy: "cos", half a cosine, or "linear". three_phase: down to the first rate as fast as up, then on.
    """

    absolute = True

    def __init__(self, optimizer: Optimizer, max_lr: float | Sequence[float], total_steps: int | None = None,
                 epochs: int | None = None, steps_per_epoch: int | None = None, pct_start: float = 0.3,
                 anneal_strategy: str = "cos", cycle_momentum: bool = True, base_momentum: float = 0.85,
                 max_momentum: float = 0.95, div_factor: float = 25.0, final_div_factor: float = 1e4,
                 three_phase: bool = False, last_epoch: int = -1):
        steps = total_steps if total_steps is not None else (epochs or 0) * (steps_per_epoch or 0)
        if not steps:
            raise ValueError("OneCycleLR: give total_steps, or epochs and steps_per_epoch")
        between = _between("OneCycleLR", anneal_strategy)
        if cycle_momentum and not {"momentum", "betas"} & getattr(optimizer, "defaults", {}).keys():
            raise ValueError(f"OneCycleLR: {type(optimizer).__name__} has no momentum to cycle; pass "
                             "cycle_momentum=False")
        peak, start, last = pct_start * steps - 1, 1 / div_factor, steps - 1
        if not 0 < peak < last:
            raise ValueError(f"OneCycleLR: {steps} steps and pct_start={pct_start} put the peak at step {peak:g}; it "
                             f"must lie between the first, 0, and the last, {last}")
        down = [(2 * peak, start)] if three_phase else []
        up = [(2 * peak, max_momentum)] if three_phase else []
        self.part = schedule.through([(0, start), (peak, 1.0), *down, (last, start / final_div_factor)], between)
        self.momentum = schedule.through([(0, max_momentum), (peak, base_momentum), *up, (last, max_momentum)], between
                                         ) if cycle_momentum else None
        self.max_lrs = for_each(max_lr, optimizer)
        for group, top in zip(optimizer.param_groups, self.max_lrs, strict=True):
            if last_epoch == -1:
                group["initial_lr"] = top * start
        self.total_steps = steps
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [top * self.part(self.last_epoch) for top in self.max_lrs]

    def _go_on(self, epoch: float | None) -> None:
        super()._go_on(epoch)
        momentum = self.momentum
        for group in self.optimizer.param_groups if momentum else ():
            now = momentum(self.last_epoch)  # type: ignore[misc]
            group.update({"betas": (now, *group["betas"][1:])} if "betas" in group else {"momentum": now})


def _between(who: str, strategy: Any) -> Callable:
    """How PyTorch's word says to go from one rate to another."""
    known = {"cos": schedule.half_cosine, "linear": schedule.on_a_line}
    if not isinstance(strategy, str) or strategy not in known:
        raise ValueError(f"{who}: anneal_strategy={strategy!r} must be 'cos' or 'linear'")
    return known[strategy]


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

    def _go_on(self, epoch: float | None) -> None:
        if epoch is not None:
            raise TypeError("SequentialLR: step takes no epoch; its schedulers count their own")
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
