"""A scheduler that goes up and down, and takes the momentum the other way."""

from __future__ import annotations

from collections.abc import Sequence

from . import schedule
from .optimizer import Optimizer
from .scheduler import LRScheduler, for_each


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
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"OneCycleLR: anneal_strategy={anneal_strategy!r} must be 'cos' or 'linear'")
        if cycle_momentum:
            _needs_momentum("OneCycleLR", optimizer)
        self.total_steps, self.cycle_momentum = steps, cycle_momentum
        self.between = schedule._between if anneal_strategy == "cos" else _on_a_line
        peak, start, end = pct_start * steps - 1, 1 / div_factor, 1 / div_factor / final_div_factor
        if not 0 < peak < steps - 1:
            raise ValueError(f"OneCycleLR: {steps} steps and pct_start={pct_start} put the peak at step {peak:g}; it "
                             f"must lie between the first, 0, and the last, {steps - 1}")
        high, low = max_momentum, base_momentum
        # Each: its last step, the rates from and to as parts of max_lr, the momenta from and to.
        self.phases = [(peak, start, 1.0, high, low), (steps - 1, 1.0, end, low, high)]
        if three_phase:
            self.phases[1:] = [(2 * peak, 1.0, start, low, high), (steps - 1, start, end, high, high)]
        self.max_lrs = for_each(max_lr, optimizer)
        for group, top in zip(optimizer.param_groups, self.max_lrs, strict=True):
            if last_epoch == -1:
                group["initial_lr"] = top * start
        super().__init__(optimizer, last_epoch)

    def _now(self) -> tuple[float, float]:
        """The rate, as a part of max_lr, and the momentum at this step."""
        first = 0.0
        for last, start, end, high, low in self.phases:
            if self.last_epoch <= last or last == self.total_steps - 1:
                t = min((self.last_epoch - first) / (last - first), 1.0)
                return self.between(start, end, t), self.between(high, low, t)
            first = last
        raise AssertionError("the last phase ends with the last step")

    def get_lr(self) -> list[float]:
        return [top * self._now()[0] for top in self.max_lrs]

    def step(self, epoch: float | None = None) -> None:
        super().step(epoch)
        if self.cycle_momentum:
            _set_momentum(self.optimizer, self._now()[1])


def _on_a_line(start: float, end: float, t: float) -> float:
    return start + (end - start) * t


def _needs_momentum(who: str, optimizer: Optimizer) -> None:
    if not {"momentum", "betas"} & getattr(optimizer, "defaults", {}).keys():
        raise ValueError(f"{who}: {type(optimizer).__name__} has no momentum to cycle; pass cycle_momentum=False")


def _set_momentum(optimizer: Optimizer, momentum: float) -> None:
    for group in optimizer.param_groups:
        if "betas" in group:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum
