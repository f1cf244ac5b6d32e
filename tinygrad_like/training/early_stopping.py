"""Early stopping: a metric on held-out examples chooses the number of epochs (002)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..nn import Module
from ..optim.schedule import Waiting


class EarlyStopping(Waiting):
    """Stop when a metric has not improved for `patience` updates, and restore the best weights.

        stopper = EarlyStopping(model, patience=5, mode="max")
        for epoch in range(100):
            ...
            if stopper.update(accuracy):
                break
        stopper.rollback()

    It stops when `patience` values in a row are no better than the best before them (002). The metric may be any
    number: loss, accuracy, F1. NaN never counts as an improvement.

    patience: math.inf never stops, but still keeps the best weights. mode: whether larger ("max") or smaller ("min") is
    better. min_delta: improvements must exceed this.

    `best` is the best metric so far, `updates` the number of updates, `stopped` whether to stop.
    """

    def __init__(self, model: Module, patience: float = 10, mode: str = "max", min_delta: float = 0.0):
        super().__init__(mode, min_delta)
        if not patience >= 1 or not min_delta >= 0:
            raise ValueError(f"EarlyStopping: patience={patience!r} must be >= 1 and min_delta={min_delta!r} >= 0")
        self.model, self.patience, self.updates = model, patience, 0
        self.best_weights: dict[str, Any] = {}

    kept = "best", "best_weights", "updates", "waited"

    @property
    def stopped(self) -> bool:
        return self.waited >= self.patience

    def update(self, metric: float) -> bool:
        """Record the metric of the model's current weights; returns whether to stop."""
        self.updates += 1
        if self.note(float(metric)):
            self.best_weights = {name: t._data.copy() for name, t in self.model.state_dict().items()}
        return self.stopped

    def rollback(self) -> float:
        """Restore the model's weights from when the metric was best; returns that metric.

        Raises RuntimeError before the first update with a number.
        """
        if self.best is None:
            raise RuntimeError("EarlyStopping.rollback: there is nothing to restore before an update")
        self.model.load_state_dict(self.best_weights)
        return self.best

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`. Raises ValueError, before any change, if the weights do not fit."""
        weights = {name: np.asarray(a).copy() for name, a in state["best_weights"].items()}
        shapes = {name: t.shape for name, t in self.model.state_dict().items()}
        if weights and {name: a.shape for name, a in weights.items()} != shapes:
            raise ValueError("EarlyStopping.load_state_dict: the best weights are not those of this "
                             f"{type(self.model).__name__}")
        self.__dict__.update(best=None if state["best"] is None else float(state["best"]), best_weights=weights,
                             updates=int(state["updates"]), waited=int(state["waited"]))
