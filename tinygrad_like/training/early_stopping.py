"""Early stopping: a metric on held-out examples chooses the number of epochs (002)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..nn import Module


class EarlyStopping:
    """Stop once a metric has not improved for `patience` updates, and go back to the best weights.

        stopper = EarlyStopping(model, patience=5, mode="max")
        for epoch in range(100):
            ...
            if stopper.update(accuracy):
                break
        stopper.rollback()

    It stops when `patience` values in a row are no better than the best one before (002). The metric may be any number:
    loss, accuracy, F1. NaN is no improvement.

    patience: math.inf never stops, but still keeps the best weights.
    mode: whether the metric should become large, "max", or small, "min".
    min_delta: by how much more than this the metric must improve.

    `best` is the best metric so far, `updates` the number of updates, `stopped` whether to stop.
    """

    def __init__(self, model: Module, patience: float = 10, mode: str = "max", min_delta: float = 0.0):
        if mode not in ("min", "max"):
            raise ValueError(f"EarlyStopping: mode={mode!r} must be 'min' or 'max'")
        if not patience >= 1 or not min_delta >= 0:
            raise ValueError(f"EarlyStopping: patience={patience!r} must be >= 1 and min_delta={min_delta!r} >= 0")
        self.model, self.patience, self.mode, self.min_delta = model, patience, mode, min_delta
        self.best: float | None = None
        self.best_weights: dict[str, Any] = {}
        self.updates = self.waited = 0

    @property
    def stopped(self) -> bool:
        return self.waited >= self.patience

    def update(self, metric: float) -> bool:
        """Note the metric of the model's current weights; returns whether to stop."""
        metric = float(metric)
        self.updates += 1
        if self._improves(metric):
            self.best, self.waited = metric, 0
            self.best_weights = {name: t._data.copy() for name, t in self.model.state_dict().items()}
        else:
            self.waited += 1
        return self.stopped

    def _improves(self, metric: float) -> bool:
        if self.best is None or math.isnan(metric):
            return not math.isnan(metric)
        return (metric - self.best if self.mode == "max" else self.best - metric) > self.min_delta

    def rollback(self) -> float:
        """Give the model the weights it had when the metric was best, and return that metric.

        Raises RuntimeError before the first update with a number.
        """
        if self.best is None:
            raise RuntimeError("EarlyStopping.rollback: there is nothing to go back to before an update")
        self.model.load_state_dict(self.best_weights)
        return self.best

    def state_dict(self) -> dict[str, Any]:
        """The state that a resumed run needs, including the best weights."""
        return {"best": self.best, "best_weights": dict(self.best_weights), "updates": self.updates,
                "waited": self.waited}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`. Raises ValueError, before any change, if the weights do not fit."""
        self.prepare_load(state)()

    def prepare_load(self, state: Mapping[str, Any]) -> Callable[[], None]:
        """Check as `load_state_dict` does, and return the function that loads."""
        weights = {name: np.asarray(a).copy() for name, a in state["best_weights"].items()}
        new = {"best": None if state["best"] is None else float(state["best"]), "best_weights": weights,
               "updates": int(state["updates"]), "waited": int(state["waited"])}
        if new["best"] is not None:
            self.model.prepare_load(weights)
        return lambda: self.__dict__.update(new)
