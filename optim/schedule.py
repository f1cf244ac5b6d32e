"""Learning-rate schedules: functions from the number of steps taken to the rate. Pass one to an optimizer as `lr`.

    SGD(params, lr=warmup(100, cosine(0.1, 900)))

A schedule has no state: the optimizer counts the steps and saves the count. After its end, a schedule stays at its last
value. Only `ReduceOnPlateau` has a state, since it depends on the training run. Values equal those of PyTorch's
corresponding schedule, if there is one.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tinygrad_like.core.listener import observe

Schedule = Callable[[int], float]


def on_a_line(start: float, end: float, t: float) -> float:
    """From start, at t = 0, to end, at t = 1."""
    return start + (end - start) * t


def half_cosine(start: float, end: float, t: float) -> float:
    """From start, at t = 0, to end, at t = 1, flat at both."""
    return end + (start - end) * (1 + math.cos(math.pi * t)) / 2


def through(points: Sequence[tuple[float, float]], between: Callable = on_a_line) -> Schedule:
    """Interpolate points (step, rate) by `between`, half_cosine or on_a_line; the last rate stays."""
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
    """Linear from start to end, in `steps` steps."""
    positive("linear", steps=steps)
    return through([(0, start), (steps, end)])


def warmup(steps: int, schedule: Schedule, start: float = 0.0) -> Schedule:
    """Linear from `start` to the schedule's first value, in `steps` steps; then the schedule from its step 0."""
    positive("warmup", steps=steps)
    return joined([linear(start, schedule(0), steps), schedule], [steps])


def cosine(lr: float, steps: int, end: float = 0.0) -> Schedule:
    """Half a cosine from lr to end: end + (lr - end) (1 + cos(pi step / steps)) / 2. Loshchilov and Hutter 2017."""
    positive("cosine", steps=steps)
    return through([(0, lr), (steps, end)], half_cosine)


def step(lr: float, every: int, factor: float = 0.1) -> Schedule:
    """Multiply by factor every `every` steps: lr factor^(floor(step / every))."""
    positive("step", every=every)
    return lambda step: lr * factor ** (step // every)


def exponential(lr: float, factor: float) -> Schedule:
    """Multiply by factor at each step: lr factor^step."""
    return lambda step: lr * factor**step


def one_cycle(lr: float, steps: int, warm: float = 0.3, start: float = 0.04, end: float = 1e-4) -> Schedule:
    """Rise to lr during the fraction `warm` of the steps and fall during the rest, both on half a cosine.

    `start` and `end` are factors: it starts at lr start and ends, at the last step, at lr start end. Momentum stays.
    Source: Smith and Topin 2018, in PyTorch's form.
    """
    return up_and_down("one_cycle", steps, warm, (lr * start, lr, lr * start * end))


def up_and_down(who: str, steps: int, warm: float, values: tuple[float, float, float],
                between: Callable = half_cosine) -> Schedule:
    """From the first value to the second in the fraction `warm` of the steps, then to the third at the last step."""
    peak, last = warm * steps - 1, steps - 1
    if not 0 < peak < last:
        raise ValueError(f"{who}: {steps} steps, {warm:.0%} of them rising, peak at step {peak:g}; the peak must lie "
                         f"between the first, 0, and the last, {last}")
    return through([*zip((0, peak, last), values, strict=True)], between)


def joined(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule after another: at each boundary the next takes over, starting from its step 0."""
    if len(boundaries) != len(schedules) - 1 or list(boundaries) != sorted({max(b, 0) for b in boundaries}):
        raise ValueError(f"joined: {len(schedules)} schedules need {len(schedules) - 1} boundaries from 0 in ascending "
                         f"order, got {list(boundaries)}")
    starts = [0, *boundaries]

    def schedule(step: int) -> float:
        i = bisect_right(boundaries, step)
        return schedules[i](step - starts[i])

    return schedule


class Waiting:
    """Counts the updates of a metric that have `waited` since the `best` one.

    mode: whether smaller ("min") or larger ("max") is better. NaN and infinity never improve it. threshold: the least
    improvement, or if relative, the least fraction of the best value. For a best value below 0, the fraction is
    negative, so slightly worse values still count as better.
    """

    kept: tuple[str, ...] = ("best", "waited")  # what a resumed run needs

    def __init__(self, mode: str, threshold: float, relative: bool = False):
        if mode not in ("min", "max"):
            raise ValueError(f"{type(self).__name__}: mode={mode!r} must be 'min' or 'max'")
        self.mode, self.threshold, self.relative = mode, threshold, relative
        self.best: float | None = None
        self.waited = 0

    def note(self, metric: float) -> bool:
        """Record the latest value of the metric; returns whether it is the best."""
        observe("a metric")
        gain = 0.0 if self.best is None else metric - self.best if self.mode == "max" else self.best - metric
        if math.isfinite(metric) and (
                self.best is None or gain > self.threshold * (self.best if self.relative else 1)):
            self.best, self.waited = metric, 0
            return True
        self.waited += 1
        return False

    def state_dict(self) -> dict[str, Any]:
        """The state that a resumed run needs."""
        return {name: getattr(self, name) for name in self.kept}


class ReduceOnPlateau(Waiting):
    """A schedule times a factor, which shrinks when a metric has not improved for more than `patience` updates.

        plateau = ReduceOnPlateau(0.1, mode="max", patience=3)
        optimizer = SGD(model.parameters(), lr=plateau)
        ...
        plateau.update(accuracy)        # after each epoch

    lr: a number, or a schedule to scale. mode, threshold, relative: what counts as better, see `Waiting`. cooldown: the
    number of updates after each reduction that do not count as waiting. least: a lower bound on the reduced rate.
    """

    kept = "best", "scale", "waited", "cooling"

    def __init__(self, lr: float | Schedule, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, relative: bool = True, cooldown: int = 0, least: float = 0.0):
        super().__init__(mode, threshold, relative)
        if not 0 < factor < 1:
            raise ValueError(f"ReduceOnPlateau: factor={factor!r} must lie between 0 and 1")
        for name, value in ("patience", patience), ("cooldown", cooldown), ("threshold", threshold), ("least", least):
            if not isinstance(value, int | float | np.number) or not value >= 0:
                raise ValueError(f"ReduceOnPlateau: {name}={value!r} must be a number >= 0")
        self.schedule = lr if callable(lr) else constant(lr)
        self.factor, self.patience, self.cooldown, self.least = factor, patience, cooldown, least
        self.scale, self.cooling = 1.0, 0

    def __call__(self, step: int) -> float:
        rate = self.schedule(step)
        return rate if self.scale == 1 else max(rate * self.scale, min(self.least, rate))

    def update(self, metric: float) -> bool:
        """Record the latest value of the metric; returns whether that reduced the rate."""
        self.note(float(metric))
        if self.cooling > 0:
            self.cooling, self.waited = self.cooling - 1, 0
        if self.waited <= self.patience:
            return False
        self.scale *= self.factor
        self.waited, self.cooling = 0, self.cooldown
        return True

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        new: dict[str, Any] = {
            "best": None if state["best"] is None else float(state["best"]), "scale": float(state["scale"]),
            "waited": int(state["waited"]), "cooling": int(state["cooling"])}
        if not 0 <= new["scale"] <= 1 or min(new["waited"], new["cooling"]) < 0:
            raise ValueError(f"ReduceOnPlateau.load_state_dict: scale must lie in [0, 1] and counts be >= 0, got {new}")
        self.__dict__.update(new)


def positive(who: str, **counts: float) -> None:
    """Raise ValueError, in the name of `who`, unless all numbers are positive."""
    for name, value in counts.items():
        if not value > 0:
            raise ValueError(f"{who}: {name}={value!r} must be > 0")
