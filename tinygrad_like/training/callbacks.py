"""Callbacks: `fit` reports a run to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import optim
from ..nn import Module


class Run:
    """A run of `fit`, as its callbacks see it.

    model, optimizer, epochs: as `fit` was given them.
    rows: of the epochs that are over; rows[-1] is the last.
    values: the loss and the metrics of the last step. optimizer.steps says how many there were.
    stopped: whether `stop` has been called.
    """

    def __init__(self, model: Module, optimizer: optim.Optimizer, epochs: int, rows: list[dict[str, Any]],
                 callbacks: Sequence[Callback]):
        self.model, self.optimizer, self.epochs, self.rows = model, optimizer, epochs, rows
        self.values: dict[str, float] = {}
        self.stopped = False
        self._callbacks = callbacks

    def stop(self) -> None:
        """End the run after this epoch."""
        self.stopped = True

    def tell(self, event: str) -> None:
        """Call this method of all callbacks that have it, in their order."""
        for callback in self._callbacks:
            method = getattr(callback, event, None)
            if method is not None:
                method(self)

    def after_step(self, values: dict[str, float]) -> None:
        self.values = values
        self.tell("on_step_end")


class Callback:
    """The base of callbacks: define the methods you need, in a subclass or in any class.

        class Snapshots(Callback):
            def on_epoch_end(self, run):
                if run.rows[-1]["epoch"] % 10 == 0:
                    save_weights(run.model, f"runs/{run.rows[-1]['epoch']}.safetensors")

        fit(model, loader, criterion, optimizer, epochs=50, callbacks=[Snapshots()])

    The state of one that has `state_dict` and `load_state_dict` is part of the checkpoint. A row may be changed in
    `on_epoch_end`: it is then saved and logged as changed. In an MPI job, all ranks call it; `run.stop()` on one stops
    all.
    """

    def on_train_begin(self, run: Run) -> None:
        """Before the first epoch, or the first after resuming."""

    def on_step_end(self, run: Run) -> None:
        """After each step of the optimizer."""

    def on_epoch_end(self, run: Run) -> None:
        """After each epoch and its evaluation, before the checkpoint is written."""

    def on_train_end(self, run: Run) -> None:
        """At the end, when the model has the weights that `fit` leaves; not after Ctrl-C or an error."""
