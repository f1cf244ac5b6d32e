"""A training loop, and the parts it is made of, which your own loop can use."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import optim
from nn import Module
from nn.module import modes_restored

from .. import Tensor, capture, detect_anomaly, distributed, get_rng_state, no_grad, ops, random, set_rng_state
from ..data import DataLoader
from ..tensor import wrap
from .checkpoint import read_checkpoint, restore, save_checkpoint
from .early_stopping import EarlyStopping
from .log import Log
from .metrics import accuracy
from .ranks import join, parts_of

Metrics = Mapping[str, Callable[[Any, Any], float]]


@contextmanager
def evaluating(model: Module) -> Iterator[Module]:
    """In evaluation mode and without recording; afterwards every module returns to its mode."""
    with modes_restored(model), no_grad():
        yield model.eval()


def predict(model: Module, x: Any, batch_size: int = 1000, shared: bool = False) -> np.ndarray:
    """model(x), in evaluation mode, batch by batch: x (n, ...) -> an array (n, ...). Raises ValueError if n is 0.

    shared: the ranks of an MPI job share the batches; all must call it, and all get everything.
    """
    if len(x) == 0:
        raise ValueError("predict: x has no rows")
    rank, size = (distributed.rank, distributed.size) if shared else (0, 1)
    starts = range(0, len(x), batch_size)
    forward = capture(lambda batch: model(batch), fuse=False, strict=False)
    with evaluating(model), random.of_rows(None):
        mine = [forward(batch).numpy() for start in starts[rank::size]
                for (batch,) in DataLoader(x[start:start + batch_size], batch_size=batch_size)]
    if size == 1:
        return np.concatenate(mine)
    found = distributed.all_gather(np.concatenate(mine) if mine else np.zeros(0))
    out, at = np.empty_like(found), 0
    for start in (start for other in range(size) for start in starts[other::size]):
        stop = min(start + batch_size, len(x))
        out[start:stop], at = found[at:at + stop - start], at + stop - start
    return out


def train_epoch(model: Module, loader: Iterable, criterion: Callable[[Tensor, Tensor], Tensor],
                optimizer: optim.Optimizer, *, metrics: Metrics | None = None, accumulate: int = 1,
                clip_norm: float | None = None, penalty: Callable[[], Tensor] | None = None,
                ema: optim.EMA | None = None, log: Log | None = None,
                begun: dict[str, Any] | None = None) -> dict[str, float]:
    """One pass over the batches (x, y) of `loader`; the modules stay in their modes.

    criterion: the mean loss of a batch, criterion(model(x), y). If it has a method `count(y)`, as the losses of `nn`
        have, this gives the number of labels it averages over: without ignored ones, the others by their weights.
        Otherwise every example counts the same. With reduction="sum" batches are added up.
    metrics: functions of (output, y); by default {"accuracy": accuracy}.
    accumulate: how many batches make one step, whose gradient is that of their union; memory is that of one batch. But
        layers that look at a whole batch, such as BatchNorm, see one batch at a time: its statistics are of one batch,
        and are updated for each.
    clip_norm: the largest norm of a step's gradient.
    penalty: returns a term to add to the loss of each step, such as lambda: 1e-4 * l1_penalty(weights). The reported
        loss leaves it out.
    ema: updated after each step.
    begun: a dict in which each step records its sums; given that of an interrupted pass, the sums go on from there over
        the batches that are left.

    Raises FloatingPointError, before the step, if a loss is infinite or NaN, and says which op made it.

    Returns "loss", the mean over all labels that count, the metrics, as means over the examples, each computed before
    its step, and the "count" of examples.

    In an MPI job each rank takes its part of every batch, and gets gradients, and returns numbers, of all of it.
    """
    return _epoch(model, parts_of(loader), criterion, optimizer, metrics, accumulate, clip_norm, penalty, ema, log,
                  begun)


def _epoch(model: Module, loader: Iterable, criterion: Callable[[Tensor, Tensor], Tensor], optimizer: optim.Optimizer,
           metrics: Metrics | None = None, accumulate: int = 1, clip_norm: float | None = None,
           penalty: Callable[[], Tensor] | None = None, ema: optim.EMA | None = None, log: Log | None = None,
           begun: dict[str, Any] | None = None, ctrl_c: _CtrlC | None = None) -> dict[str, float]:
    """`train_epoch` of a loader that gives this rank's parts of the batches."""
    metrics = {"accuracy": accuracy} if metrics is None else metrics
    begun = {} if begun is None else begun
    totals, count = begun.setdefault("totals", dict.fromkeys(["loss", *metrics], 0.0)), begun.get("count", 0)
    summed, counted = getattr(criterion, "reduction", "mean") == "sum", begun.get("counted", 0.0)
    alone = distributed.size == 1
    forward_backward, update = _captured(model, criterion, optimizer)
    for group in _groups(loader, accumulate):
        label_counts = [getattr(criterion, "count", len)(y) if len(y) else 0 for _, y, _ in group]
        size, labels, sums = sum(len(y) for _, y, _ in group), sum(label_counts), dict.fromkeys(totals, 0.0)
        optimizer.zero_grad()
        for (x, y, rows), weight in zip(group, label_counts, strict=True):
            share = weight / (labels or 1) if alone else _number(weight)  # several divide by the count of all of them
            with random.of_rows(rows):
                output, loss = forward_backward(model, criterion, x, y,
                                                None if summed or alone and len(group) == 1 else share)
            value = loss.item()
            if weight and not math.isfinite(value):
                raise FloatingPointError(f"train_epoch: the loss is {value}: {_first_bad(model, criterion, x, y)}; "
                                         "try a smaller learning rate, or clip_norm")
            values = {"loss": value, **{name: metric(output, y) for name, metric in metrics.items() if len(y)}}
            for name, value in values.items():
                factor = len(y) if name != "loss" else 1 if summed else weight
                sums[name] += value * factor if factor else 0  # the mean over no labels is NaN
            if log is not None and alone:
                log.step(len(y), **values)
        if alone:
            update(optimizer, penalty, clip_norm, ema)
        else:
            stop = ctrl_c is not None and ctrl_c.pressed
            stop, size, labels, *sums_of_all = update(
                optimizer, penalty, clip_norm, ema, model, None if summed else _number(labels),
                _number(stop, size, labels, *sums.values())).tolist()
            size, sums = round(size), dict(zip(sums, sums_of_all, strict=True))
            if ctrl_c is not None:
                ctrl_c.agreed |= stop > 0
            if log is not None:
                _log_group(log, len(group), size, len(group) if summed else labels, sums)
        for name, value in sums.items():
            totals[name] += value
        begun["count"] = count = count + size
        begun["counted"] = counted = counted + (size if summed else labels)
    if count == 0:
        raise ValueError("train_epoch: the loader gave no batch; a generator can be read only once, and a DataLoader "
                         "with drop_last=True has none if batch_size is larger than the data set")
    means = {name: total / count for name, total in totals.items()}
    means["loss"] = totals["loss"] / counted if counted else math.nan
    return {**means, "count": count}


def step(model: Module, criterion: Callable[[Tensor, Tensor], Tensor], x: Any, y: Any,
         weight: float | Tensor | None = None) -> tuple[Any, Tensor]:
    """Forward and backward of a batch: adds the gradient of its loss, times weight, and returns output and loss."""
    if len(y):
        output = model(x)
        loss = criterion(output, y)
    else:  # no row is this rank's: one that does not count keeps it in step with what the others draw and reduce
        output = model(Tensor(np.zeros((1, *x.shape[1:]), x.dtype)))
        loss = 0.0 * sum(part.sum() for part in (output if isinstance(output, tuple | list) else [output]))
    if isinstance(weight, Tensor):
        weight = ops.cast(weight, dtype=loss.dtype)
    (loss if weight is None else loss * weight).backward()
    return output, loss


def _number(*values: float) -> Tensor:
    """A number, or several, that a captured function is given anew in each call."""
    return wrap(np.array(values if len(values) > 1 else values[0], np.float64))


def _captured(model: Module, criterion: Callable, optimizer: optim.Optimizer) -> tuple[Callable, Callable]:
    """`step` and `_update`, captured; the same as before for the same objects, whose programs are ready."""
    found = optimizer.__dict__.get("captured")
    if found is None or found[0] is not model or found[1] is not criterion:
        made = [capture(function, fuse=False, strict=False) for function in (step, _update)]
        found = optimizer.captured = model, criterion, *made  # type: ignore[attr-defined]
    return found[2:]


def _log_group(log: Log, batches: int, size: int, labels: float, sums: Mapping[str, float]) -> None:
    """Tell the log of the batches of a step, of which only means over all of them are known."""
    values = {name: value / ((labels if name == "loss" else size) or 1) for name, value in sums.items()}
    for _ in range(batches):
        log.step(size // batches, **values)


def _update(optimizer: optim.Optimizer, penalty: Callable[[], Tensor] | None, clip_norm: float | None,
            ema: optim.EMA | None, model: Any = None, count: Tensor | None = None, numbers: Tensor | None = None
            ) -> Tensor | None:
    """A step, from the gradients of all ranks if a model is given; returns the sums of their numbers."""
    sums = None if model is None else distributed.average_gradients(model, count, () if numbers is None else numbers)
    if penalty is not None:
        penalty().backward()
    if clip_norm is not None:
        optim.clip_grad_norm([p for g in optimizer.param_groups for p in g["params"]], clip_norm)
    optimizer.step()
    if ema is not None:
        ema.update()
    return sums


def fit(model: Module, loader: Any, criterion: Callable[[Tensor, Tensor], Tensor], optimizer: optim.Optimizer,
        epochs: int, *, evaluate: Callable[[Module], Mapping[str, float]] | None = None, monitor: str | None = None,
        stopper: EarlyStopping | None = None, plateau: optim.schedule.ReduceOnPlateau | None = None,
        ema: optim.EMA | None = None, checkpoint: str | os.PathLike | None = None,
        resume: str | os.PathLike | None = None, settings: Mapping[str, Any] | None = None, log: Log | None = None,
        **options: Any) -> list[dict[str, Any]]:
    """Train for up to `epochs` passes over `loader`, and return a row of numbers for each.

    evaluate: called with the model, or its average if there is an `ema`, after each epoch; gives more numbers of a row.
    monitor: which number of a row `stopper` and `plateau` receive.
    checkpoint: a file to resume from, written after each epoch, and on Ctrl-C when the current step is done. A second
        Ctrl-C does not wait for the step; the checkpoint is then that of the last epoch.
    resume: the checkpoint to go on from, `checkpoint` or `previous(checkpoint)`. The result is the same, to the last
        bit, as without the interruption. Make the model and everything else as you did then. With more `epochs` than
        before, a finished run goes on.
    settings: kept in the checkpoint; resuming with others raises ValueError, which names them.
    log: receives each step and each row.
    options: of `train_epoch`.

    A row has "epoch", "loss", the training metrics as "train_accuracy" and so on, what `evaluate` gave, "lr" (at the
    start of the epoch), "seconds" and "examples_per_second" (of training alone).

    In the end the model has the best weights if there is a `stopper`, else the average if there is an `ema`, else the
    last: the weights that were evaluated.

    In an MPI job, all ranks call it with the same arguments, and the result is that of one process: rank 0's weights
    and random state are given to all, each BatchNorm becomes a SyncBatchNorm, each rank takes its part of every batch,
    and what `loader`, `evaluate` and the rows tell is of all data. Rank 0 alone logs, and reads and writes the
    checkpoint, with which any number of ranks can go on. Raises ValueError if the ranks do not agree on model,
    optimizer, data, options or code.
    """
    parts = {name: part for name, part in dict(model=model, optimizer=optimizer, ema=ema, stopper=stopper,
                                               plateau=plateau).items() if part is not None}
    settings = dict(settings or {})
    if distributed.size > 1:
        join(model, loader, criterion, optimizer, parts,
              {"epochs": epochs, "resume": resume is not None, **options, **settings})
        log = None if distributed.rank else log
    rows, begun = _resumed(resume, epochs, settings, parts)
    save = None if checkpoint is None else partial(_save, checkpoint, **parts)
    if log is not None:
        log.begin(steps=epochs * len(loader), done=len(rows) * len(loader) + begun.get("batches", 0), rows=rows)
    with distributed.inseparable(), _CtrlC() as ctrl_c:
        while len(rows) < epochs and not (stopper is not None and stopper.stopped):
            start = time.perf_counter() - begun.get("seconds", 0.0)
            distributed.broadcast()
            begun = begun or {"batches": 0, "generator": dict(get_rng_state()), "lr": optimizer.lr}
            with _saved_when_stopped(save, rows, settings, begun, start):
                batches = _batches(parts_of(loader), begun, ctrl_c, options.get("accumulate", 1))
                numbers = _epoch(model, batches, criterion, optimizer, ema=ema, log=log, begun=begun, ctrl_c=ctrl_c,
                                 **options)
                _check_finite(model, len(rows) + 1)
                distributed.check_equal_weights(model)
            seconds, count = time.perf_counter() - start, numbers.pop("count")
            row = {"epoch": len(rows) + 1, "loss": numbers.pop("loss")}
            row |= {f"train_{name}": value for name, value in numbers.items()}
            _evaluate(row, model, evaluate, monitor, stopper, plateau, ema)
            rows.append(row | {"lr": begun["lr"], "seconds": seconds, "examples_per_second": count / seconds})
            begun = {}
            ctrl_c.agree()
            if save is not None:
                save(rows=rows, settings=settings)
            if log is not None:
                log.epoch(rows[-1])
    if ctrl_c.stops:  # in the last epoch, which is over
        raise KeyboardInterrupt
    if stopper is not None and stopper.best is not None:
        stopper.rollback()
    elif ema is not None:
        ema.copy_to_model()
    return rows


def _resumed(resume: str | os.PathLike | None, epochs: int, settings: dict[str, Any], parts: dict[str, Any]
             ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of the checkpoint and the state of the epoch it broke off, once all parts are restored from it."""
    if resume is None:
        return [], {}
    saved = distributed.from_rank_0(lambda: read_checkpoint(Path(resume)))  # nothing is restored before it fits
    if not isinstance(saved.get("rows"), list) or not isinstance(saved.get("settings"), dict):
        raise ValueError(f"fit: {resume} is a checkpoint, but not one that fit has written")
    _check_same(settings, saved["settings"])
    rows = saved["rows"]
    if len(rows) > epochs:
        raise ValueError(f"fit: {os.fspath(resume)} has had {len(rows)} epochs; epochs={epochs} must not be less")
    restore(Path(resume), saved, **parts)
    return rows, saved.get("begun") or {}


def _save(checkpoint: str | os.PathLike, **parts: Any) -> None:
    save_checkpoint(checkpoint, **parts)
    distributed.barrier()  # no rank may end the job while rank 0 is writing


@contextmanager
def _saved_when_stopped(save: partial | None, rows: list, settings: dict[str, Any], begun: dict[str, Any],
                        start: float) -> Iterator[None]:
    """Save an epoch that Ctrl-C breaks off; tell, of one that a NaN ends, which checkpoint is left."""
    try:
        yield
    except _Stopped:
        begun["seconds"] = time.perf_counter() - start
        if save is not None:
            save(rows=rows, settings=settings, begun=begun)
        raise KeyboardInterrupt from None
    except FloatingPointError as error:
        left = f"; {os.fspath(save.args[0])} is from the epoch before" if save is not None and rows else ""
        raise FloatingPointError(f"{error}{left}") from None


def _evaluate(row: dict[str, Any], model: Module, evaluate: Callable[[Module], Mapping[str, float]] | None,
              monitor: str | None, stopper: EarlyStopping | None, plateau: optim.schedule.ReduceOnPlateau | None,
              ema: optim.EMA | None) -> None:
    """Add what `evaluate` gives to the row, and tell `stopper` and `plateau` the monitored number."""
    with ema.swapped() if ema is not None else nullcontext():
        if evaluate is not None:
            row |= evaluate(model)
        row |= distributed.from_rank_0(lambda: row)  # decisions are made by the same numbers
        if stopper is not None:
            stopper.update(_monitored(row, monitor))
    if plateau is not None:
        plateau.update(_monitored(row, monitor))


class _Stopped(KeyboardInterrupt):
    """Between two steps."""


class _CtrlC:
    """Inside it, the first Ctrl-C is only noted, since in the middle of a step weights and optimizer do not match. The
    second interrupts immediately."""

    def __init__(self) -> None:
        self.pressed = False  # on this rank
        self.agreed = False  # on a rank, as all ranks know
        self.before: Any = None

    @property
    def stops(self) -> bool:
        return self.pressed if distributed.size == 1 else self.agreed

    def agree(self) -> None:
        """Ask all ranks whether it was pressed."""
        self.agreed = bool(distributed.all_reduce(int(self.pressed or self.agreed), "max"))

    def __enter__(self) -> _CtrlC:
        if (threading.current_thread() is threading.main_thread()
                and signal.getsignal(signal.SIGINT) is signal.default_int_handler):  # leave other handlers alone
            self.before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *error: Any) -> None:
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

    def _note(self, number: int, frame: Any) -> None:
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True
        if sys.stderr.isatty():  # compiling may take a while
            print("  stopping after this step; once more stops at once", end="", file=sys.stderr, flush=True)


def _batches(loader: Iterable, begun: dict[str, Any], ctrl_c: _CtrlC, accumulate: int) -> Iterator[Any]:
    """The batches left of a pass over `loader`; raises _Stopped after Ctrl-C, between two steps.

    An interrupted pass starts again from the state the generator had then, and skips the batches already read.
    """
    now, skipped = get_rng_state(), begun["batches"]
    if skipped:
        set_rng_state(begun["generator"])
    batches = iter(loader)
    for _ in range(skipped):
        next(batches)
    if skipped:
        set_rng_state(now)
    while True:
        if ctrl_c.stops and begun["batches"] % accumulate == 0:
            raise _Stopped
        try:
            batch = next(batches)
        except StopIteration:
            return
        begun["batches"] += 1
        yield batch


def _check_finite(model: Module, epoch: int) -> None:
    for name, p in model.named_parameters():
        if not np.isfinite(p.data).all():
            raise FloatingPointError(f"fit: {name} is no longer finite after the last step of epoch {epoch}; try a "
                                     "smaller learning rate, or clip_norm")


def _first_bad(model: Module, criterion: Callable[[Tensor, Tensor], Tensor], x: Any, y: Any) -> str:
    """What the first infinity or NaN of a step is, found by repeating the step."""
    for name, p in model.named_parameters():
        if not np.isfinite(p.data).all():
            return f"{name} has not been finite since the previous step"
    if isinstance(x, Tensor) and not np.isfinite(x.data).all():
        return "the batch itself is not finite"
    try:
        with detect_anomaly(), distributed.alone():
            criterion(model(x), y).backward()
    except FloatingPointError as error:
        return str(error)
    return "it is finite when computed again"


def _groups(loader: Iterable, size: int) -> Iterator[list]:
    """The batches, each with its `random.rows`, in lists of `size`; the last may have fewer."""
    if size < 1:
        raise ValueError(f"train_epoch: accumulate={size} must be at least 1")
    batches = iter(loader)
    while group := [(x, y, random.rows) for x, y in islice(batches, size)]:
        yield group


def _monitored(row: Mapping[str, float], monitor: str | None) -> float:
    if monitor is None or monitor not in row:
        raise ValueError(f"fit: monitor={monitor!r} is not one of the numbers of a row: {', '.join(row)}")
    return row[monitor]


def _check_same(settings: Mapping[str, Any], saved: Mapping[str, Any]) -> None:
    differ = [f"{name}: {saved.get(name)!r} then, {settings.get(name)!r} now"
              for name in sorted(settings.keys() | saved.keys()) if settings.get(name) != saved.get(name)]
    if differ:
        raise ValueError(f"fit: the checkpoint is of a run with other settings ({'; '.join(differ)})")
