"""Why it matters what a norm averages over: batch sizes, learning rates, evaluation, fine-tuning (002).

An MLP with a norm after each hidden layer learns the digits (demos.norm_axes draws what each norm averages over):

    batch size     the same number of epochs with batches of each size, at the same learning rate
    evaluation     the nets with BatchNorm, evaluated with the running averages of training, with the statistics of test
                   batches of the same size, and with statistics re-estimated on the whole training set
    learning rate  plain SGD at each learning rate
    fine-tuning    a trained net with BatchNorm is fine-tuned on two images of each digit, in batches of two: with its
                   running statistics updated by these batches, or frozen

Prints and draws the accuracy on the test images.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress

import numpy as np

import nn
import optim
from demos import cli
from demos.figures import BLUE, GOLD, INK, MUTED, ORANGE, PURPLE, TEAL, over_seeds, slide, spread, table, ticks
from demos.recipes import Arrays, split_digits
from tinygrad_like import Tensor, no_grad
from tinygrad_like.data import DataLoader
from tinygrad_like.training import accuracy, fit, predict

NORMS: dict[str, tuple[Callable[[int], nn.Module] | None, str]] = {
    "no norm": (None, MUTED), "BatchNorm": (nn.BatchNorm1d, BLUE), "LayerNorm": (nn.LayerNorm, ORANGE),
    "GroupNorm": (lambda width: nn.GroupNorm(min(8, width), width), TEAL), "RMSNorm": (nn.RMSNorm, PURPLE)}
EVALUATIONS = {"running averages": BLUE, "statistics of test batches": GOLD, "statistics re-estimated": TEAL}
TUNED = {"statistics updated": ORANGE, "statistics frozen": INK}


def build(norm: str, width: int) -> nn.Sequential:
    """Three hidden layers, each followed by the norm and a ReLU; for images of 8x8."""
    make = NORMS[norm][0]
    parts: list[nn.Module] = [nn.Flatten()]
    for features in (64, width, width):
        parts += [nn.Linear(features, width), *([make(width)] if make else []), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(width, 10))


def train(model: nn.Module, x: np.ndarray, y: np.ndarray, batch_size: int, epochs: int,
          optimizer: optim.Optimizer) -> None:
    loader = DataLoader(x, y, batch_size=batch_size, shuffle=True, drop_last=True)
    with suppress(FloatingPointError):  # the learning rate was too large; keep the net as it is
        fit(model, loader, nn.CrossEntropyLoss(), optimizer, epochs, progress=False)


def score(model: nn.Module, x: np.ndarray, y: np.ndarray) -> float:
    return accuracy(predict(model, x), y)


def evaluations(model: nn.Module, data: Arrays, batch_size: int) -> list[float]:
    """Accuracy with each kind of statistics in EVALUATIONS."""
    x, _, x_test, y_test = data
    running, right = score(model, x_test, y_test), []
    with no_grad():
        model.train()
        for i in range(0, len(x_test) - batch_size + 1, batch_size):  # skips a smaller last batch
            part = slice(i, i + batch_size)
            right.append(model(Tensor(x_test[part])).numpy().argmax(axis=1) == y_test[part])
    nn.reestimate_batch_norm(model, DataLoader(x, batch_size=256))
    return [running, float(np.mean(right)), score(model, x_test, y_test)]


def fine_tuned(model: nn.Module, data: Arrays, epochs: int, passes: int, frozen: bool) -> list[float]:
    """Accuracy before, and after each pass over two images of each digit, with updated or frozen statistics."""
    x, y, x_test, y_test = data
    few = np.concatenate([np.flatnonzero(y == c)[:2] for c in range(10)])
    train(model, x, y, 64, 2 * epochs, optim.AdamW(model.parameters(), lr=1e-3))
    nn.freeze_batch_norm(model, frozen)
    optimizer, found = optim.SGD(model.parameters(), lr=1e-3), [score(model, x_test, y_test)]
    for _ in range(passes):
        train(model, x[few], y[few], 2, 1, optimizer)
        found.append(score(model, x_test, y_test))
    return found


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("normalization", __doc__, draws=True, seeds=3,
                        quick=dict(batch_sizes=[2, 64], rates=[0.03, 1.0], epochs=2, passes=4, width=32, seeds=1))
    parser.add_argument("--batch-sizes", type=cli.whole(2, 359), nargs="+", default=[2, 4, 8, 32, 128],
                        help="batch sizes in training")
    parser.add_argument("--rates", type=cli.number(above=0, most=1000), nargs="+", metavar="RATE",
                        default=[0.01, 0.03, 0.1, 0.3, 1.0, 3.0], help="learning rates of SGD")
    parser.add_argument("--epochs", type=cli.whole(1), default=5, help="epochs of training")
    parser.add_argument("--passes", type=cli.whole(1), default=10, help="epochs of fine-tuning")
    parser.add_argument("--width", type=cli.whole(8), default=64, help="features of the hidden layers")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, dict[str, np.ndarray]]:
    """Accuracies (seeds, columns), by panel and line."""
    data = split_digits(None, 0)
    sizes, rates = sorted(set(args.batch_sizes)), sorted(set(args.rates))

    def run(case: tuple[str, str, float]) -> np.ndarray:
        what, name, number = case
        model = build("BatchNorm" if what == "tuned" else name, args.width)
        if what == "rate":
            train(model, *data[:2], 64, args.epochs, optim.SGD(model.parameters(), lr=number))
        elif what == "size":
            train(model, *data[:2], int(number), args.epochs, optim.AdamW(model.parameters(), lr=1e-3))
            if name == "BatchNorm":
                return np.array(evaluations(model, data, int(number)))
        else:
            return np.array(fine_tuned(model, data, args.epochs, args.passes, name == "statistics frozen"))
        return np.array([score(model, *data[2:])])

    runs = over_seeds(args, [*(("size", name, n) for name in NORMS for n in sizes),
                             *(("rate", name, lr) for name in NORMS for lr in rates),
                             *(("tuned", name, 0) for name in TUNED)], run)
    found = {"size": {name: np.stack([runs["size", name, n][:, 0] for n in sizes], axis=1) for name in NORMS},
             "ways": {way: np.stack([runs["size", "BatchNorm", n][:, i] for n in sizes], axis=1)
                      for i, way in enumerate(EVALUATIONS)},
             "rate": {name: np.stack([runs["rate", name, lr][:, 0] for lr in rates], axis=1) for name in NORMS},
             "tuned": {name: runs["tuned", name, 0] for name in TUNED}}
    passes = list(range(args.passes + 1))
    colours = {name: colour for name, (_, colour) in NORMS.items()}
    panels = {"size": ("Accuracy, %, by batch size", "batch size", sizes, colours),
              "ways": ("BatchNorm, by its statistics, %", "batch size", sizes, EVALUATIONS),
              "rate": ("Accuracy, %, by learning rate of SGD", "learning rate", rates, colours),
              "tuned": ("Fine-tuned in batches of two, %", "passes over 20 images", passes, TUNED)}
    for what, (title, _, columns, _) in panels.items():
        table(f"{title}: test images", columns, found[what])
    with slide(args.out, "It matters what a norm averages over", 2, 2) as grid:
        for axes, (what, (title, label, x, colours)) in zip(grid.flat, panels.items(), strict=True):
            for name, values in found[what].items():
                spread(axes, x, 100 * values, color=colours[name], marker="o", label=name,
                       linestyle="-" if name in NORMS else "--")
            if what != "tuned":
                ticks(axes, x)
            axes.set(title=title, xlabel=label)
        grid[0, 1].legend(loc="lower right")
    return found


if __name__ == "__main__":
    main()
