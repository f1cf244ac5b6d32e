"""Pictures of what a model does."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import ops
from ..core.tensor import Tensor
from ..environment import require, without_interrupts
from ..nn import Module
from .loop import predict

BLUE, ORANGE, MUTED, INK = "#2563ab", "#e8722c", "#6b7785", "#1f2933"
COLOURS = {True: BLUE, False: ORANGE, None: INK}  # of what is right, wrong, or neither


def show(model: Module, x: Any, y: Any, path: str | os.PathLike | None = None, *, count: int = 8,
         names: Sequence[str] | None = None, loss: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None) -> Any:
    """The examples on which a model is worst, and those on which it is best: a matplotlib Figure of two rows.

        show(model, images[test], labels[test], "runs/predictions.png")

    x: (n, ...), drawn as images if an example is (channels, height, width), with 1 or 3 channels, or (height, width);
        else as a curve of its numbers. y: classes (n,), or targets of the shape of the model's output.
    path: a PNG file to write. count: how many of each. names: of the classes.
    loss: (outputs, y) -> the loss of each example (n,); by default the cross-entropy of classes, else the mean squared
        error.

    Above each stands its row of x, what it is, what the model says, for classes with their probability, and its loss.
    An image is drawn from white, its lowest number, to black, its highest. Needs the extra `pictures`. Raises
    ValueError if y fits neither form.
    """
    fig = figure("show", 1.35 * count, 4.8)
    x, y = (a.data if isinstance(a, Tensor) else np.asarray(a) for a in (x, y))
    outputs = predict(model, x)
    classes = y.ndim == 1 and y.dtype.kind in "iu" and outputs.ndim == 2
    if not classes and outputs.shape != y.shape:
        raise ValueError(f"show: y must be classes (n,), or of the output's shape {outputs.shape}, got {y.dtype} "
                         f"{y.shape}")
    losses = np.asarray((loss or _loss(classes))(outputs, y))
    if losses.shape != (len(x),):
        raise ValueError(f"show: the loss must give one number for each of the {len(x)} examples, got {losses.shape}")
    order = np.argsort(-np.nan_to_num(losses, nan=np.inf), kind="stable")
    count = min(count, len(x))
    rows = fig.subfigures(2, 1, hspace=0.02)
    for part, title, chosen in ((rows[0], "Largest loss", order[:count]),
                                (rows[1], "Smallest loss", order[::-1][:count])):
        part.suptitle(title + " (orange: wrong)" * classes, x=0.01, ha="left", fontsize=11, color=INK)
        for axes, i in zip(part.subplots(1, count, squeeze=False)[0], chosen, strict=True):
            text, right = _told(outputs[i], y[i], classes, names)
            _draw(axes, x[i], first=i == chosen[0])
            axes.set_title("\n".join([f"row {i}", *text, f"loss {losses[i]:.2g}"]), fontsize=8, color=COLOURS[right])
    return written(fig, path)


def _loss(classes: bool) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    if classes:
        return lambda z, y: -np.take_along_axis(np.asarray(ops.log_softmax(z.astype(np.float64))), y[:, None], -1)[:, 0]
    return lambda z, y: np.square(z - y).reshape(len(y), -1).mean(-1)


def _told(output: np.ndarray, target: np.ndarray, classes: bool, names: Sequence[str] | None
          ) -> tuple[list[str], bool | None]:
    """The caption of an example, and whether the model is right, if that can be told."""
    if not classes:
        shown = [f"{a.ravel()[0]:.3g}" if a.size == 1 else f"{a.size} numbers" for a in (target, output)]
        return ([f"is {shown[0]}", f"says {shown[1]}"] if output.size == 1 else []), None
    said, p = int(output.argmax()), ops.softmax(output.astype(np.float64))
    is_, says = (str(i) if names is None else names[i] for i in (int(target), said))
    return [f"is {is_}", f"says {says} ({p[said]:.0%})"], bool(said == target)


def _draw(axes: Any, example: np.ndarray, first: bool) -> None:
    """An image, without axes, or a curve, whose axes are named in the first picture of a row."""
    if example.ndim == 3 and example.shape[0] in (1, 3):
        example = example[0] if len(example) == 1 else example.transpose(1, 2, 0)
    axes.set_xticks([])
    axes.set_yticks([])
    if example.ndim >= 2 and (example.ndim == 2 or example.shape[-1] == 3):
        low, high = example.min(), example.max()
        axes.imshow((example - low) / ((high - low) or 1), cmap="gray_r")
    else:
        axes.plot(example.ravel(), color=BLUE, linewidth=1)
        axes.margins(0.05)
        axes.set_xticks([0, example.size - 1])
        axes.set_yticks([float(example.min()), float(example.max())])
        axes.yaxis.set_major_formatter("{x:.2g}")
        axes.tick_params(labelsize=7, colors=MUTED, length=2, pad=1)
        if first:
            axes.set_xlabel("position", fontsize=8, color=INK, labelpad=1)
            axes.set_ylabel("number", fontsize=8, color=INK, labelpad=1)
    for side in axes.spines.values():
        side.set_color("#e3e7ec")


def figure(who: str, width: float, height: float) -> Any:
    """An empty figure that needs no display. Raises ImportError without matplotlib."""
    require(who, "matplotlib")
    with without_interrupts():
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    fig = Figure((width, height), layout="constrained")
    FigureCanvasAgg(fig)
    return fig


def written(fig: Any, path: str | os.PathLike | None) -> Any:
    """The figure, once it is written to `path`, if that is given."""
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        fig.savefig(path, dpi=130)
    return fig
