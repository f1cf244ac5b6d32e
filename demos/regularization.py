"""Regularization with little data and some wrong labels: an MLP learns the digits from 15 images of each.

Each method is added on its own to the same net, trained with SGD on the same images:

    none             nothing
    L2               + c sum w^2 in the loss (002)
    L1               + c sum |w|
    early stopping   a fifth of the images is held out, and decides when to stop
    augmentation     each image is rotated, zoomed and shifted a little, at random in each epoch
    dropout          half of the hidden activations, and a tenth of the inputs, are dropped
    label smoothing  a tenth of each label is spread over all classes

Prints and draws accuracy, loss and calibration error on the test images, whose labels are right, and the share of
weights that are zero within 1e-6. demos.overfitting shows the curve that early stopping cuts off, and
demos.norm_geometry shows how w = a b makes weights zero.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import nn
import optim
from demos import cli
from demos.figures import BLUE, DOTTED, MUTED, ORANGE, over_seeds, slide, table
from demos.recipes import split_digits
from tinygrad_like import Tensor, ops, random
from tinygrad_like.data import (
    Compose,
    DataLoader,
    RandomRotation,
    RandomShift,
    RandomZoom,
    stratified_split,
)
from tinygrad_like.training import EarlyStopping, accuracy, calibration_error, fit, predict


@dataclass(frozen=True)
class Method:
    """A method's changes to the plain run. penalty: of the layers. drop: probabilities for input and hidden layers."""

    penalty: Callable[[list], Tensor] | None = None
    augment: Callable | None = None
    drop: tuple[float, float] = (0.0, 0.0)
    label_smoothing: float = 0.0
    patience: int | None = None


# Strengths chosen by accuracy on training images that these runs do not use.
METHODS = {
    "none": Method(),
    "L2": Method(lambda layers: 2e-3 * optim.l2_penalty(layer.weight for layer in layers)),
    "L1": Method(lambda layers: 3e-4 * optim.l1_penalty(layer.weight for layer in layers)),
    "early stopping": Method(patience=20),
    "augmentation": Method(augment=Compose([RandomRotation(15), RandomZoom((0.9, 1.1)), RandomShift(1, p=0.3)])),
    "dropout": Method(drop=(0.1, 0.5)),
    "label smoothing": Method(label_smoothing=0.1),
}
ZERO = 1e-6
COLUMNS = "training accuracy, %", "test accuracy, %", "test loss", "calibration error, %", "weights at zero, %"


def build(method: Method, width: int) -> tuple[nn.Module, list]:
    """The net, and its linear layers."""
    sizes = [64, width, width, 10]
    layers = [nn.Linear(n, m) for n, m in zip(sizes, sizes[1:], strict=False)]
    parts: list[nn.Module] = [nn.Flatten()]
    for i, layer in enumerate(layers):
        if method.drop[i > 0]:
            parts.append(nn.Dropout(method.drop[i > 0]))
        parts += [layer, nn.ReLU()]
    return nn.Sequential(*parts[:-1]), layers


def run(method: Method, x: np.ndarray, y: np.ndarray, x_test: np.ndarray, y_test: np.ndarray, epochs: int,
        width: int) -> list[float]:
    """Train, and measure training and test accuracy, test loss, calibration error, and the share of zero weights."""
    model, layers = build(method, width)
    stopper, evaluate, trained_on = None, None, np.arange(len(y))
    if method.patience is not None:
        trained_on, held_out = stratified_split(y, 0.2)
        stopper = EarlyStopping(model, method.patience, "min")
        loss = nn.CrossEntropyLoss()

        def evaluate(model: nn.Module) -> dict[str, float]:
            return {"val_loss": loss(Tensor(predict(model, x[held_out])), Tensor(y[held_out])).item()}

    loader = DataLoader(x[trained_on], y[trained_on], batch_size=32, shuffle=True, transform=method.augment)
    rate = optim.schedule.cosine(0.05, epochs * len(loader))
    penalty = method.penalty
    fit(model, loader, nn.CrossEntropyLoss(label_smoothing=method.label_smoothing),
        optim.SGD(model.parameters(), lr=rate, momentum=0.9), epochs, evaluate=evaluate, stopper=stopper,
        monitor="val_loss" if stopper else None, progress=False, penalty=penalty and (lambda: penalty(layers)))
    logits = predict(model, x_test)
    weights = np.concatenate([layer.weight.detach().numpy().ravel() for layer in layers])
    return [accuracy(predict(model, x[trained_on]), y[trained_on]), accuracy(logits, y_test),
            nn.functional.cross_entropy(Tensor(logits), Tensor(y_test)).item(),
            calibration_error(ops.softmax(logits, axis=-1), y_test), float((np.abs(weights) < ZERO).mean())]


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("regularization", __doc__, draws=True, seeds=5, quick=dict(epochs=60, width=32, seeds=2))
    parser.add_argument("--each", type=cli.whole(3, 139), default=15, help="training images of each digit")
    parser.add_argument("--wrong", type=cli.number(least=0, most=0.8), default=0.15, help="share of wrong labels")
    parser.add_argument("--epochs", type=cli.whole(1), default=150, help="epochs of training")
    parser.add_argument("--width", type=cli.whole(1), default=128, help="features of both hidden layers")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    """COLUMNS of each method: (seeds, 5)."""
    x, y, x_test, y_test = split_digits(None, 0)

    def learn(name: str) -> list[float]:
        numbers = random.numbers()
        order = numbers.permutation(len(y))
        chosen = np.concatenate([order[y[order] == c][:args.each] for c in range(10)])
        wrong, labels = numbers.random(len(chosen)) < args.wrong, y[chosen]
        labels = np.where(wrong, (labels + numbers.integers(1, 10, len(chosen))) % 10, labels)
        return run(METHODS[name], x[chosen], labels, x_test, y_test, args.epochs, args.width)

    results = over_seeds(args, METHODS, learn)
    units = np.array([100, 100, 1, 100, 100])
    about = f"{10 * args.each} training images, {args.wrong:.0%} of them mislabelled"
    table(f"{about}; {len(x_test)} test images", COLUMNS,
          {name: units * values for name, values in results.items()}, ".2f", 1)
    with slide(args.out, "With few images, augmentation and dropout help most", 1, 4, sharey=True,
               note=f"{about}. Small dots: seeds; large: their mean; dotted line: no regularization.") as panels:
        for column, axes in enumerate(panels, 1):
            dots(axes, {name: units[column] * values[:, column] for name, values in results.items()})
            axes.set_title(COLUMNS[column].capitalize())
    return results


def dots(axes: Any, rows: dict[str, np.ndarray]) -> None:
    """A row per method: a dot per seed, and their mean, compared with the mean without regularization."""
    for row, (name, values) in enumerate(rows.items()):
        colour = MUTED if name == "none" else BLUE
        axes.plot(values, np.full(len(values), row), "o", color=colour, alpha=0.35, markersize=5)
        axes.plot(values.mean(), row, "o", color=colour, markersize=10)
    axes.axvline(rows["none"].mean(), color=ORANGE, linewidth=1.6, linestyle=DOTTED, zorder=1)
    axes.set(ylim=(len(rows) - 0.5, -0.5), yticks=range(len(rows)), yticklabels=rows)
    axes.margins(x=0.1)


if __name__ == "__main__":
    main()
