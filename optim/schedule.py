"""Learning-rate schedules: functions from the number of steps taken to the rate, given to an optimizer as its `lr`.

    SGD(params, lr=warmup(100, cosine(0.1, 900)))

A schedule keeps no state: the optimizer counts the steps, and saves the count. One that has an end stays at its last
value. Where PyTorch has the same schedule, the values are its.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

Schedule = Callable[[int], float]


def constant(lr: float) -> Schedule:
    """lr at every step."""
    return lambda step: lr


def linear(start: float, end: float, steps: int) -> Schedule:
    """From start to end on a straight line, in so many steps."""
    _positive("linear", steps=steps)
    return lambda step: start + (end - start) * min(step / steps, 1)


def warmup(steps: int, schedule: Schedule, start: float = 0.0) -> Schedule:
    """From `start` to the schedule's first value on a straight line, in so many steps; then the schedule from its 0."""
    _positive("warmup", steps=steps)
    return joined([linear(start, schedule(0), steps), schedule], [steps])


def cosine(lr: float, steps: int, end: float = 0.0) -> Schedule:
    """From lr to end on half a cosine: end + (lr - end) (1 + cos(pi step / steps)) / 2. Loshchilov and Hutter 2017."""
    _positive("cosine", steps=steps)
    return lambda step: _between(lr, end, min(step / steps, 1))


def step(lr: float, every: int, factor: float = 0.1) -> Schedule:
    """Multiplied by factor after every so many steps: lr factor^(floor(step / every))."""
    _positive("step", every=every)
    return lambda step: lr * factor ** (step // every)


def exponential(lr: float, factor: float) -> Schedule:
    """Multiplied by factor at each step: lr factor^step."""
    return lambda step: lr * factor**step


def one_cycle(lr: float, steps: int, warm: float = 0.3, start: float = 0.04, end: float = 1e-4) -> Schedule:
    """Up to lr during the fraction `warm` of the steps and down again during the rest, both on half a cosine.

    It starts at lr start and ends, at the last step, at lr start end: both are factors. The momentum is left alone.
    Source: Smith and Topin 2018, in PyTorch's form.
    """
    peak, last = warm * steps - 1, steps - 1
    if not 0 < peak < last:
        raise ValueError(f"one_cycle: steps={steps} and warm={warm} put the peak at step {peak:g}; it must lie between "
                         f"the first, 0, and the last, {last}")

    def schedule(step: int) -> float:
        if step <= peak:
            return _between(lr * start, lr, step / peak)
        return _between(lr, lr * start * end, min((step - peak) / (last - peak), 1))

    return schedule


def joined(schedules: Sequence[Schedule], boundaries: Sequence[int]) -> Schedule:
    """One schedule after the other: the next takes over at each boundary, where it counts from 0."""
    if len(boundaries) != len(schedules) - 1 or list(boundaries) != sorted(set(boundaries)):
        raise ValueError(f"joined: {len(schedules)} schedules need {len(schedules) - 1} boundaries in rising order, "
                         f"got {list(boundaries)}")
    starts = [0, *boundaries]

    def schedule(step: int) -> float:
        i = bisect_right(boundaries, step)
        return schedules[i](step - starts[i])

    return schedule


def _between(start: float, end: float, t: float) -> float:
    """On half a cosine from start, at t = 0, to end, at t = 1."""
    return end + (start - end) * (1 + math.cos(math.pi * t)) / 2


def _positive(who: str, **counts: float) -> None:
    for name, value in counts.items():
        if not value > 0:
            raise ValueError(f"{who}: {name}={value!r} must be > 0")
