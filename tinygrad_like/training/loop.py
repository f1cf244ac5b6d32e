"""The parts of a training loop, for use in your own: one pass over the data, and predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np

from .. import distributed, optim, random
from ..core.tensor import Tensor
from ..data import DataLoader
from ..data.dataset import array_of
from ..dtypes import FLOATS
from ..nn import Module
from ..nn.module import modes_restored
from ..rings import missing, named
from ..transforms.anomaly import detect_anomaly
from ..transforms.switches import no_grad
from .log import Log
from .ranks import parts_of

# Without capture, steps run eagerly.
capture: Any = (lambda function, **options: function) if missing("capture") else named("capture")


class Stopped(KeyboardInterrupt):
    """The user interrupted the run, between two steps."""


Metrics = Mapping[str, Callable[[Any, Any], float]]


@contextmanager
def evaluating(model: Module) -> Iterator[Module]:
    """A context in evaluation mode and without recording; on exit, every module returns to its mode."""
    with modes_restored(model), no_grad():
        yield model.eval()


def predict(model: Module, x: Any, batch_size: int = 1000, shared: bool = False) -> np.ndarray:
    """model(x) in evaluation mode, computed in batches: x (n, ...) -> an array (n, ...). Raises ValueError if n is 0.

    shared: the ranks of an MPI job share the batches; all must call it, and all get the whole result.
    """
    if len(x) == 0:
        raise ValueError("predict: x has no rows")
    x = x if isinstance(x, Tensor) else np.asarray(x)
    rank, size = (distributed.rank, distributed.size) if shared else (0, 1)
    starts = range(0, len(x), batch_size)
    share = -(-len(starts) // size)
    forward = capture(lambda batch: model(batch), fuse=False, strict=False)
    with evaluating(model), random.of_rows(None):
        mine = [forward(batch).numpy() for start in starts[rank * share:(rank + 1) * share]
                for batch in DataLoader(x[start:start + batch_size], batch_size=batch_size)]
    if size == 1:
        return np.concatenate(mine)
    return distributed.all_gather(np.concatenate(mine) if mine else np.zeros(0))


def train_epoch(model: Module, loader: Iterable, criterion: Callable[[Tensor, Tensor], Tensor],
                optimizer: optim.Optimizer, *, metrics: Metrics | None = None, accumulate: int = 1,
                clip_norm: float | None = None, penalty: Callable[[], Tensor] | None = None,
                ema: optim.EMA | None = None, log: Log | None = None,
                begun: dict[str, Any] | None = None) -> dict[str, float]:
    """Train for one pass over the batches (x, y) of `loader`; modules stay in their modes.

    criterion: the mean loss of a batch, criterion(model(x), y). A method `count(y)`, as in `nn`'s losses, returns the
    number of labels averaged over, weighted and without ignored ones; without it, all examples count equally. With
    reduction="sum", batches are summed. metrics: functions of (output, y); by default {"accuracy": accuracy}.
    accumulate: the number of batches per step, whose gradient is that of their union, with the memory of one batch. But
    layers that use a whole batch, such as BatchNorm, see one batch at a time, and update statistics for each.
    clip_norm: the maximum norm of a step's gradient. penalty: returns a term to add to the loss of each step, such as
    lambda: 1e-4 * l1_penalty(weights); the reported loss leaves it out. ema: updated after each step. begun: a dict in
    which each step records its sums; given an interrupted pass's dict, training continues with the remaining batches.
    If its entry "stop" is true after a step, it raises Stopped.

    Raises FloatingPointError, before the step, if a loss is infinite or NaN, naming the op that produced it.

    Returns "loss", the mean over all labels that count; the metrics, as means over the examples, computed before each
    step; and the "count" of examples.

    In an MPI job, each rank takes its part of every batch; gradients and results are those of the whole batch.
    """
    metrics = {"accuracy": accuracy} if metrics is None else metrics
    begun = {} if begun is None else begun
    totals = begun.setdefault("totals", dict.fromkeys(["loss", *metrics], 0.0))
    for group in _groups(parts_of(loader), accumulate, begun):
        stop, count, counted, sums = _group_step(group, model, criterion, optimizer, metrics, log, begun, penalty,
                                                 clip_norm, ema)
        for name, value in sums.items():
            totals[name] += value
        for name, number in ("count", count), ("counted", counted), ("batches", len(group)):
            begun[name] = begun.get(name, 0) + number
        if stop:
            raise Stopped
    count, counted = begun.get("count", 0), begun.get("counted", 0)
    if count == 0:
        raise ValueError("train_epoch: the loader has no batches; a generator can be read only once, and a DataLoader "
                         "with drop_last=True has none if batch_size is larger than the data set")
    means = {name: total / count for name, total in totals.items()}
    return {**means, "loss": totals["loss"] / counted if counted else math.nan, "count": count}


def _group_step(group: list, model: Module, criterion: Callable[[Tensor, Tensor], Tensor], optimizer: optim.Optimizer,
                metrics: Metrics, log: Any, begun: Mapping[str, Any], *of_update: Any
                ) -> tuple[float, int, float, dict[str, float]]:
    """One step from a group of batches: (whether a rank must stop, number of examples, number of labels, sums)."""
    summed, alone = getattr(criterion, "reduction", "mean") == "sum", distributed.size == 1
    forward_backward, update = _captured(model, criterion, optimizer)
    label_counts = [getattr(criterion, "count", len)(y) if len(y) else 0 for _, y, _ in group]
    size, labels, sums = sum(len(y) for _, y, _ in group), sum(label_counts), dict.fromkeys(["loss", *metrics], 0.0)
    optimizer.zero_grad()
    for (x, y, rows), weight in zip(group, label_counts, strict=True):
        share = weight / (labels or 1) if alone else weight  # several batches divide by their joint count
        with random.of_rows(rows):
            output, loss = forward_backward(
                model, criterion, x, y, None if summed or alone and len(group) == 1 else share)
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
    stop: float = bool(begun.get("stop"))
    if alone:
        update(optimizer, *of_update)
    else:
        stop, size, labels, *sums_of_all = update(
            optimizer, *of_update, model, None if summed else labels, (stop, size, labels, *sums.values())).tolist()
        size, sums = round(size), dict(zip(sums, sums_of_all, strict=True))
        over = {"loss": len(group) if summed else labels}
        for _ in group if log is not None else ():  # only their overall means are known
            log.step(size // len(group), **{name: v / (over.get(name, size) or 1) for name, v in sums.items()})
    return stop, size, size if summed else labels, sums


def step(model: Module, criterion: Callable[[Tensor, Tensor], Tensor], x: Any, y: Any,
         weight: float | None = None) -> tuple[Any, Tensor]:
    """Forward and backward of a batch: add the gradient of weight times its loss; returns output and loss."""
    if len(y):
        output = model(x)
        loss = criterion(output, y)
    else:  # this rank has no rows: a dummy row keeps its draws and reductions in step with the others
        output = model(Tensor(np.zeros((1, *x.shape[1:]), x.dtype)))
        loss = 0.0 * sum(part.sum() for part in (output if isinstance(output, tuple | list) else [output]))
    (loss if weight is None else loss * weight).backward()
    return output, loss


def _captured(model: Module, criterion: Callable, optimizer: optim.Optimizer) -> tuple[Callable, Callable]:
    """`step` and `_update`, captured; cached for these objects with their programs."""
    found = optimizer.__dict__.get("captured")
    if found is None or found[0] is not model or found[1] is not criterion:
        made = [capture(function, fuse=False, strict=False) for function in (step, _update)]
        found = optimizer.captured = model, criterion, *made  # type: ignore[attr-defined]
    return found[2:]


def _update(optimizer: optim.Optimizer, penalty: Callable[[], Tensor] | None, clip_norm: float | None,
            ema: optim.EMA | None, model: Any = None, *counts: Any) -> Any:
    """An optimizer step, from all ranks' gradients if a model is given; returns the sums of their numbers."""
    sums = None if model is None else distributed.average_gradients(model, *counts)
    if penalty is not None:
        penalty().backward()
    if clip_norm is not None:
        optim.clip_grad_norm([p for g in optimizer.param_groups for p in g["params"]], clip_norm)
    optimizer.step()
    if ema is not None:
        ema.update()
    return sums


def _first_bad(model: Module, criterion: Callable[[Tensor, Tensor], Tensor], x: Any, y: Any) -> str:
    """Describe the first infinity or NaN of a step, found by repeating the step."""
    for name, p in model.named_parameters():
        if not np.isfinite(p._data).all():
            return f"{name} has not been finite since the previous step"
    if isinstance(x, Tensor) and not np.isfinite(x._data).all():
        return "the batch itself is not finite"
    try:
        with detect_anomaly(), distributed.alone():
            criterion(model(x), y).backward()
    except FloatingPointError as error:
        return str(error)
    return "it is finite when computed again"


def _groups(loader: Iterable, size: int, begun: dict[str, Any]) -> Iterator[list]:
    """The remaining batches of a pass, each with its `random.rows`, in lists of `size`; the last may be shorter.

    To resume a pass, it restores the generator's state at the start of the pass, and skips the batches already read.
    """
    if size < 1:
        raise ValueError(f"train_epoch: accumulate={size} must be at least 1")
    now, resumed = random.get_rng_state(), "generator" in begun
    random.set_rng_state(begun.setdefault("generator", now))
    batches = iter(loader)
    for _ in range(begun.setdefault("batches", 0)):
        next(batches)
    if resumed:
        random.set_rng_state(now)
    while group := [(x, y, random.rows) for x, y in islice(batches, size)]:
        yield group


# Metrics, as plain numbers from arrays or Tensors --------------------------------------------------------------------
# predicted: class indices of the shape of `labels`, or scores (logits or probabilities) whose last axis is the classes.
# labels: class indices, or probabilities, such as those of mixed labels.


def accuracy(predicted: Any, labels: Any) -> float:
    """The fraction of correct predictions."""
    predicted, labels = _pair("accuracy", predicted, labels)
    return float((predicted == labels).mean())


def calibration_error(probabilities: Any, labels: Any, bins: int = 15) -> float:
    """The expected calibration error: sum over bins b of (n_b / n) |accuracy of b - mean confidence of b|.

    The confidence of an example is its largest probability; bins divide (0, 1] evenly.
    probabilities: (..., classes), of sum 1: softmax the logits first; labels: (...). Source: Guo et al. 2017.
    """
    p, labels = array_of(probabilities), _pair("calibration_error", probabilities, labels)[1]
    if not (p.min() >= 0 and np.abs(p.sum(axis=-1) - 1).max() <= 1e-3):  # NaN included
        raise ValueError("calibration_error: probabilities must be >= 0 and sum to 1 over the last axis; use softmax")
    confidence = p.max(axis=-1).astype(np.float64).ravel()
    right = (p.argmax(axis=-1) == labels).ravel()
    index = np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1)
    gap = np.bincount(index, right, bins) - np.bincount(index, confidence, bins)
    return float(np.abs(gap).sum() / len(right))


def _pair(who: str, predicted: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Class indices of the predictions and of the labels."""
    predicted, labels = array_of(predicted), array_of(labels)
    if labels.dtype.kind in FLOATS:
        labels = labels.argmax(axis=-1)
    if predicted.ndim == labels.ndim + 1:
        predicted = predicted.argmax(axis=-1)
    if predicted.shape != labels.shape or predicted.dtype.kind not in "iub":
        raise ValueError(f"{who}: predictions {predicted.shape} {predicted.dtype} do not fit labels {labels.shape}; "
                         "pass class indices of that shape, or scores with a class axis as last")
    if not labels.size:
        raise ValueError(f"{who}: there are no labels")
    return predicted.astype(np.int64), labels.astype(np.int64)
