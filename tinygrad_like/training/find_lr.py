"""Which learning rate: the range test."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from .. import optim
from ..core.tensor import Tensor
from ..nn import Module
from ..random import get_rng_state, set_rng_state
from .loop import epoch
from .pictures import BLUE, MUTED, ORANGE, figure, written

WIDTH = 9  # of the running means


@dataclass
class RangeTest:
    """What `find_lr` found.

    lrs, losses: the learning rate of each step, and the loss before it. smoothed: the means over 9 steps around it.
    suggestion: the learning rate at which the smoothed loss was least.
    """

    lrs: np.ndarray
    losses: np.ndarray
    smoothed: np.ndarray
    suggestion: float

    def show(self, path: str | os.PathLike | None = None) -> Any:
        """A matplotlib Figure of the losses, written to `path` if there is one. Needs the extra `pictures`."""
        fig = figure("RangeTest.show", 6.4, 4.0)
        axes = fig.subplots()
        axes.semilogx(self.lrs, self.losses, color=MUTED, linewidth=0.8, alpha=0.6, label="loss of each batch")
        axes.semilogx(self.lrs, self.smoothed, color=BLUE, label="smoothed")
        axes.axvline(self.suggestion, color=ORANGE, linestyle="--", linewidth=1.4,
                     label=f"least: {self.suggestion:.1e}")
        low, high = self.losses.min(), self.smoothed[0]
        axes.set_ylim(low - 0.15 * (high - low), high + 0.5 * (high - low))
        axes.set(title="Learning rate range test", xlabel="learning rate", ylabel="training loss")
        axes.legend(loc="upper left", frameon=False, fontsize=9)
        return written(fig, path)


def find_lr(model: Module, loader: Iterable, criterion: Callable[[Tensor, Tensor], Tensor], optimizer: optim.Optimizer,
            *, start: float = 1e-6, end: float = 10.0, steps: int = 100, diverged: float = 4.0) -> RangeTest:
    """Train a copy while the learning rate grows from `start` to `end`, by one factor from step to step.

        found = find_lr(model, loader, nn.CrossEntropyLoss(), optim.AdamW(model.parameters()))
        found.show("runs/find_lr.png")
        optimizer = optim.AdamW(model.parameters(), lr=found.suggestion)

    The loader is read again from its beginning where it ends. It stops early when the loss exceeds `diverged` times the
    least mean of 9 losses, or is not finite. Model, optimizer and random state are left as they were.

    The suggestion is a good peak for a schedule that rises and falls; three to ten times less suits a constant rate.

    Raises ValueError for rates out of order, fewer than 10 steps, or a loss that is not finite within 10 steps.
    Source: Smith, Cyclical learning rates for training neural networks, 2017.
    """
    if not 0 < start < end or steps < 10:
        raise ValueError(f"find_lr: start={start:g} and end={end:g} must be 0 < start < end, and steps={steps} at "
                         "least 10")
    state = get_rng_state()
    model, optimizer = copy.deepcopy((model, optimizer))
    rates = start * (end / start) ** (np.arange(steps) / (steps - 1))
    first, losses = optimizer.steps, list[float]()
    for group in optimizer.param_groups:
        group["lr"] = lambda step: float(rates[min(step - first, steps - 1)])
    try:
        for batch in islice(_endless(loader), steps):
            losses.append(epoch(model, [batch], criterion, optimizer, metrics={})["loss"])
            if len(losses) > WIDTH and losses[-1] > diverged * _smoothed(losses).min() > 0:
                break
    except FloatingPointError:
        if len(losses) < 10:
            raise
    finally:
        set_rng_state(state)
    smoothed = _smoothed(losses)
    return RangeTest(rates[:len(losses)], np.array(losses), smoothed, float(rates[np.argmin(smoothed)]))


def _endless(loader: Iterable) -> Iterable:
    while True:
        count = 0
        for count, batch in enumerate(loader, 1):  # noqa: B007
            yield batch
        if not count:
            raise ValueError("find_lr: the loader gave no batch")


def _smoothed(losses: list[float]) -> np.ndarray:
    """The mean of each and its neighbours, of which there are fewer at the ends."""
    half = WIDTH // 2
    return np.array([np.mean(losses[max(0, i - half):i + half + 1]) for i in range(len(losses))])
