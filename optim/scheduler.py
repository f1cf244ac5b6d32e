"""What every scheduler shares: it sets the learning rates of an optimizer's groups, by the number of its steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np

from tinygrad_like.core.listener import effect

from .optimizer import Optimizer


def announced(step: Callable) -> Callable:
    """The method `step` of a scheduler, of which a listener is told."""

    @wraps(step)
    def run(self: Any, epoch: float | None = None) -> None:
        effect(f"{type(self).__name__}.step", step.__get__(self), epoch, writes=())

    return run


class LRScheduler:
    """The base: a subclass defines `rate(base, epoch)`, the rate at an epoch of a group that began with `base`; or, as
    in PyTorch, `get_lr()`, the rates of all groups at `self.last_epoch`, which may use `self.base_lrs`.

    Several for one optimizer multiply: each carries on from the rate that it finds, unless it is `absolute`.
    last_epoch: the last epoch of a run that goes on; the rates become those of the next one.
    """

    absolute = False
    floor = 0.0  # what of a rate is not scaled
    _is_initial = False  # during the first step, as in PyTorch

    def __init_subclass__(cls) -> None:
        if "step" in vars(cls):
            cls.step = announced(cls.step)  # type: ignore[method-assign]

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

    @announced
    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to the one given, and set the rates of it."""
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
