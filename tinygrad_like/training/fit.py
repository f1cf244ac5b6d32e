"""The training loop."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .. import distributed, optim
from ..core.tensor import Tensor
from ..nn import Module
from .checkpoint import read_checkpoint, restore, save_checkpoint
from .early_stopping import EarlyStopping
from .log import Log
from .loop import Stopped, train_epoch
from .ranks import join


def fit(model: Module, loader: Any, criterion: Callable[[Tensor, Tensor], Tensor], optimizer: optim.Optimizer,
        epochs: int, *, evaluate: Callable[[Module], Mapping[str, float]] | None = None, monitor: str | None = None,
        stopper: EarlyStopping | None = None, plateau: optim.schedule.ReduceOnPlateau | None = None,
        ema: optim.EMA | None = None, checkpoint: str | os.PathLike | None = None,
        resume: str | os.PathLike | None = None, settings: Mapping[str, Any] | None = None, log: Log | None = None,
        progress: bool = True, **options: Any) -> list[dict[str, Any]]:
    """Train for up to `epochs` passes over `loader`; returns a row of numbers per epoch.

    evaluate: called after each epoch with the model, or with its average if there is an `ema`; its numbers join the
    row. monitor: the number of a row that `stopper` and `plateau` receive. checkpoint: a file to resume from, written
    after each epoch, and on Ctrl-C after the current step. A second Ctrl-C does not wait for the step; the checkpoint
    then stays that of the last epoch. resume: the checkpoint to continue from, `checkpoint` or `previous(checkpoint)`;
    the result equals that of an uninterrupted run, to the last bit. Create the model and everything else as you did
    then. With more `epochs` than before, a finished run continues. settings: stored in the checkpoint; resuming with
    different ones raises ValueError, which names them. log: receives each step and row; without one, a brief `Log`
    shows them, unless progress=False. options: options of `train_epoch`.

    A row has "epoch", "loss", the training metrics, such as "train_accuracy", the numbers of `evaluate`, "lr" (at the
    start of the epoch), and "seconds" and "examples_per_second" (of training alone).

    At the end, the model has the weights that were evaluated: the best ones with a `stopper`, else the average with an
    `ema`, else the last.

    In an MPI job, all ranks call it with the same arguments, and the result equals one process's: all get rank 0's
    weights and random state, each BatchNorm becomes a SyncBatchNorm, each rank takes its part of every batch, and
    `loader`, `evaluate` and the rows cover all data. Only rank 0 logs, and reads and writes the checkpoint, from which
    any number of ranks can resume. Raises ValueError if ranks differ in model, optimizer, data, options or code.
    """
    all_parts = dict(model=model, optimizer=optimizer, ema=ema, stopper=stopper, plateau=plateau)
    parts, settings = {name: part for name, part in all_parts.items() if part is not None}, dict(settings or {})
    join(model, loader, criterion, optimizer, parts,
         {"epochs": epochs, "resume": resume is not None, **options, **settings})
    rows, begun = _resumed(resume, epochs, settings, parts)
    save = partial(_save, checkpoint, parts, rows, settings)
    with _shown(log, progress, epochs, loader, rows, begun) as shown, _CtrlC() as ctrl_c:
        while len(rows) < epochs and not (stopper is not None and stopper.stopped):
            start = time.perf_counter() - begun.get("seconds", 0.0)
            distributed.broadcast()
            begun = {"lr": optimizer.lr, **begun, "stop": ctrl_c}
            try:
                numbers = train_epoch(model, loader, criterion, optimizer, ema=ema, log=shown, begun=begun, **options)
                _check_weights(model, len(rows) + 1)
            except Stopped:
                save(begun={**begun, "stop": None, "seconds": time.perf_counter() - start})
                raise KeyboardInterrupt from None
            except FloatingPointError as error:
                left = f"; {os.fspath(checkpoint)} is from the epoch before" if checkpoint is not None and rows else ""
                raise FloatingPointError(f"{error}{left}") from None
            rows.append(_row(numbers, len(rows) + 1, begun["lr"], time.perf_counter() - start, model, evaluate, monitor,
                             stopper, plateau, ema))
            begun, stop = {}, distributed.all_reduce(int(ctrl_c.pressed), "max")  # the same on all ranks
            save()
            shown.epoch(rows[-1])
            if stop:
                raise KeyboardInterrupt
    if stopper is not None and stopper.best is not None:
        stopper.rollback()
    elif ema is not None:
        ema.copy_to_model()
    return rows


@contextmanager
def _shown(log: Log | None, progress: bool, epochs: int, loader: Any, rows: list, begun: Mapping[str, Any]
           ) -> Iterator[Log]:
    """The log that shows steps, if any: the caller's, or a brief one."""
    made = Log(quiet=not progress, brief=True)
    shown = made if log is None or distributed.rank else log
    if hasattr(loader, "__len__"):
        shown.begin(steps=epochs * len(loader), done=len(rows) * len(loader) + begun.get("batches", 0), rows=rows)
    try:
        yield shown
    finally:
        if shown is made:
            shown.close()


def _row(numbers: dict[str, Any], number: int, lr: float, seconds: float, model: Module,
         evaluate: Callable[[Module], Mapping[str, float]] | None, monitor: str | None, stopper: EarlyStopping | None,
         plateau: optim.schedule.ReduceOnPlateau | None, ema: optim.EMA | None) -> dict[str, Any]:
    """The row of an epoch, with the numbers of `evaluate`; passes the monitored number to `stopper` and `plateau`."""
    count = numbers.pop("count")
    row = {"epoch": number, "loss": numbers.pop("loss"), **{f"train_{name}": v for name, v in numbers.items()}}
    with ema.swapped() if ema is not None else nullcontext():
        if evaluate is not None:
            row |= evaluate(model)
        row |= distributed.from_rank_0(lambda: row)  # all ranks decide by the same numbers
        if stopper is not None:
            stopper.update(_monitored(row, monitor))
    if plateau is not None:
        plateau.update(_monitored(row, monitor))
    return row | {"lr": lr, "seconds": seconds, "examples_per_second": count / seconds}


def _resumed(resume: str | os.PathLike | None, epochs: int, settings: dict[str, Any], parts: dict[str, Any]
             ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Restore all parts from the checkpoint; returns its rows and the state of the interrupted epoch."""
    if resume is None:
        return [], {}
    saved = distributed.from_rank_0(lambda: read_checkpoint(Path(resume)))  # restore nothing before all of it fits
    if not isinstance(saved.get("rows"), list) or not isinstance(saved.get("settings"), dict):
        raise ValueError(f"fit: {resume} is a checkpoint, but fit did not write it")
    _check_same(settings, saved["settings"])
    rows = saved["rows"]
    if len(rows) > epochs:
        raise ValueError(f"fit: {os.fspath(resume)} has {len(rows)} epochs; epochs={epochs} must not be fewer")
    restore(Path(resume), saved, **parts)
    return rows, saved.get("begun") or {}


def _save(checkpoint: str | os.PathLike | None, parts: dict[str, Any], rows: list, settings: dict[str, Any],
          **more: Any) -> None:
    if checkpoint is None:
        return
    save_checkpoint(checkpoint, **parts, rows=rows, settings=settings, **more)
    distributed.barrier()  # no rank may end the job while rank 0 is writing


class _CtrlC:
    """Delays the first Ctrl-C in its block, since in the middle of a step weights and optimizer do not match. The
    second interrupts immediately."""

    pressed = False
    before: Any = None

    def __bool__(self) -> bool:
        return self.pressed

    def __enter__(self) -> _CtrlC:
        if (threading.current_thread() is threading.main_thread()
                and signal.getsignal(signal.SIGINT) is signal.default_int_handler):  # leave other handlers alone
            self.before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *error: Any) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)
        if self.pressed and error[0] is None:  # after the last epoch
            raise KeyboardInterrupt

    def _note(self, number: int, frame: Any) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        if sys.stderr.isatty():  # compiling may take a while
            print("  stopping after this step; press again to stop at once", end="", file=sys.stderr, flush=True)


def _check_weights(model: Module, epoch: int) -> None:
    for name, p in model.named_parameters():
        if not np.isfinite(p._data).all():
            raise FloatingPointError(f"fit: {name} is no longer finite after the last step of epoch {epoch}; try a "
                                     "smaller learning rate, or clip_norm")
    distributed.check_equal_weights(model)


def _monitored(row: Mapping[str, float], monitor: str | None) -> float:
    if monitor is None or monitor not in row:
        raise ValueError(f"fit: monitor={monitor!r} is not one of the numbers of a row: {', '.join(row)}")
    return row[monitor]


def _check_same(settings: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
    differ = [f"{name}: {saved.get(name)!r} then, {settings.get(name)!r} now"
              for name in sorted(settings.keys() | saved.keys()) if settings.get(name) != saved.get(name)]
    if differ:
        raise ValueError(f"fit: the checkpoint belongs to a run with other settings ({'; '.join(differ)})")
