"""Learning-rate schedules: functions from the number of steps taken to the rate, given to an optimizer as its `lr`.

    SGD(params, lr=warmup(100, cosine(0.1, 900)))

A schedule has no state: the optimizer counts the steps and saves the count. A schedule that ends stays at its last
value. Only `ReduceOnPlateau` has a state, since it depends on how training goes. Values are those of PyTorch's schedule
of the same kind, if there is one.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

Schedule = Callable[[int], float]


def on_a_line(start: float, end: float, t: float) -> float:
    """From start, at t = 0, to end, at t = 1."""
    return start + (end - start) * t


def half_cosine(start: float, end: float, t: float) -> float:
    """From start, at t = 0, to end, at t = 1, flat at both."""
    return end + (start - end) * (1 + math.cos(math.pi * t)) / 2


def through(points: Sequence[tuple[float, float]], between: Callable = on_a_line) -> Schedule:
    """Through points, each a step and a rate, by half_cosine or on_a_line from one to the next; the last rate stays."""
    def schedule(step: int) -> float:
        for (first, start), (last, end) in pairwise(points):
            if step < last:
                return between(start, end, (step - first) / (last - first))
        return points[-1][1]

    return schedule


def constant(lr: float) -> Schedule:
    """lr at every step."""
    return lambda step: lr


def linear(start: float, end: float, steps: int) -> Schedule:
    """From start to end on a straight line, in `steps` steps."""
    positive("linear", steps=steps)
    return through([(0, start), (steps, end)])


def warmup(steps: int, schedule: Schedule, start: float = 0.0) -> Schedule:
    """From `start` to the schedule's first value on a straight line, in `steps` steps; then the schedule from its 0."""
    positive("warmup", steps=steps)
    return joined([linear(start, schedule(0), steps), schedule], [steps])


def cosine(lr: float, steps: int, end: float = 0.0) -> Schedule:
    """From lr to end on half a cosine: end + (lr - end) (1 + cos(pi step / steps)) / 2. Loshchilov and Hutter 2017."""
    positive("cosine", steps=steps)
    return through([(0, lr), (steps, end)], half_cosine)


def step(lr: float, every: int, factor: float = 0.1) -> Schedule:
    """Multiplied by factor after `every` steps each: lr factor^(floor(step / every))."""
    positive("step", every=every)
    return lambda step: lr * factor ** (step // every)


def exponential(lr: float, factor: float) -> Schedule:
    """Multiplied by factor at each step: lr factor^step."""
    return lambda step: lr * factor**step


def one_cycle(lr: float, steps: int, warm: float = 0.3, start: float = 0.04, end: float = 1e-4) -> Schedule:
    """Up to lr during the fraction `warm` of the steps and down again during the rest, both on half a cosine.

    It starts at lr start and ends, at the last step, at lr start end: both are factors. Momentum does not change.
    Source: Smith and Topin 2018, in PyTorch's form.
    """
    peak, last = warm * steps - 1, steps - 1
    if not 0 < peak < last:
        raise ValueError(f"one_cycle: steps={steps} and warm={warm} put the peak at step {peak:g}; it must lie between "
                         f"the first, 0, and the last, {last}")

    return through([(0, lr * start), (peak, lr), (last, lr * start * end)], half_cosine)


def joined(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule after the other: at each boundary the next one takes over, counting from 0."""
    if len(boundaries) != len(schedules) - 1 or list(boundaries) != sorted({max(b, 0) for b in boundaries}):
        raise ValueError(f"joined: {len(schedules)} schedules need {len(schedules) - 1} boundaries from 0 in rising "
                         f"order, got {list(boundaries)}")
    starts = [0, *boundaries]

    def schedule(step: int) -> float:
        i = bisect_right(boundaries, step)
        return schedules[i](step - starts[i])

    return schedule


class ReduceOnPlateau:
    """A schedule, times a factor that shrinks each time a metric has not improved for more than `patience` updates.

        plateau = ReduceOnPlateau(0.1, mode="max", patience=3)
        optimizer = SGD(model.parameters(), lr=plateau)
        ...
        plateau.update(accuracy)        # after each epoch

    lr: a number, or a schedule to scale.
    mode: whether the metric should become small, "min", or large, "max". NaN and infinity are no improvement.
    threshold: by what fraction of the best value, or if not relative by how much, the metric must improve. For a best
    value below 0 the fraction is negative, so slightly worse values still count as better.
    cooldown: how many updates after each reduction do not count as waiting.
    least: the factors do not reduce the rate below this.
    """

    def __init__(self, lr: float | Schedule, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, relative: bool = True, cooldown: int = 0, least: float = 0.0):
        if mode not in ("min", "max"):
            raise ValueError(f"ReduceOnPlateau: mode={mode!r} must be 'min' or 'max'")
        if not 0 < factor < 1:
            raise ValueError(f"ReduceOnPlateau: factor={factor!r} must lie between 0 and 1")
        for name, value in ("patience", patience), ("cooldown", cooldown), ("threshold", threshold), ("least", least):
            if not isinstance(value, int | float | np.number) or not value >= 0:
                raise ValueError(f"ReduceOnPlateau: {name}={value!r} must be a number >= 0")
        self.schedule = lr if callable(lr) else constant(lr)
        self.mode, self.factor, self.patience, self.cooldown, self.least = mode, factor, patience, cooldown, least
        self.threshold, self.relative = threshold, relative
        self.best: float | None = None
        self.scale, self.waited, self.cooling = 1.0, 0, 0

    def __call__(self, step: int) -> float:
        rate = self.schedule(step)
        return rate if self.scale == 1 else max(rate * self.scale, min(self.least, rate))

    def update(self, metric: float) -> bool:
        """Note the latest value of the metric; returns whether that reduced the rate."""
        metric = float(metric)
        if self._improves(metric):
            self.best, self.waited = metric, 0
        else:
            self.waited += 1
        if self.cooling > 0:
            self.cooling, self.waited = self.cooling - 1, 0
        if self.waited <= self.patience:
            return False
        self.scale *= self.factor
        self.waited, self.cooling = 0, self.cooldown
        return True

    def _improves(self, metric: float) -> bool:
        if self.best is None or not math.isfinite(metric):
            return math.isfinite(metric)
        margin = self.threshold * (self.best if self.relative else 1)  # below 0 as well, as PyTorch has it
        return (metric - self.best if self.mode == "max" else self.best - metric) > margin

    def state_dict(self) -> dict[str, Any]:
        """The numbers that a resumed run needs."""
        return {name: getattr(self, name) for name in ("best", "scale", "waited", "cooling")}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self.prepare_load(state)()

    def prepare_load(self, state: Mapping[str, Any]) -> Callable[[], None]:
        """Check as `load_state_dict` does, and return the function that loads."""
        new: dict[str, Any] = {
            "best": None if state["best"] is None else float(state["best"]), "scale": float(state["scale"]),
            "waited": int(state["waited"]), "cooling": int(state["cooling"])}
        if not 0 <= new["scale"] <= 1 or min(new["waited"], new["cooling"]) < 0:
            raise ValueError(f"ReduceOnPlateau.load_state_dict: scale must lie in [0, 1] and counts be >= 0, got {new}")
        return lambda: self.__dict__.update(new)


def positive(who: str, **counts: float) -> None:
    """Raise ValueError, in the name of `who`, for a number that is not above 0."""
    for name, value in counts.items():
        if not value > 0:
            raise ValueError(f"{who}: {name}={value!r} must be > 0")
