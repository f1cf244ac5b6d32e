"""The curve of overfitting, and where early stopping stops (002).

An MLP learns the digits from few images, some of which have a wrong label. First it learns the common features of the
images, and the loss on held-out images falls. Then it memorizes the wrong labels: the held-out loss rises, while the
training loss keeps falling. Early stopping watches the held-out loss, waits --patience epochs for a better one, and
goes back to the weights of the best epoch.

Prints losses and test accuracy at the best epoch, at the stop and at the end, and draws the curves.
"""

from __future__ import annotations

import argparse

import numpy as np

import nn
import optim
from demos import cli
from demos.figures import BLUE, DOTTED, INK, MUTED, ORANGE, TEAL, over_seeds, slide, spread, table
from demos.recipes import split_digits
from tinygrad_like import Tensor, random
from tinygrad_like.data import DataLoader
from tinygrad_like.training import EarlyStopping, accuracy, fit, predict


def run(args: argparse.Namespace) -> np.ndarray:
    """A row per epoch: training loss, held-out loss, test accuracy, and whether early stopping would have stopped."""
    x, y, x_test, y_test = split_digits(None, 0)
    numbers = random.numbers()
    order, y = numbers.permutation(len(y)), y.copy()
    train, held = order[:args.images], order[args.images:args.images * 3 // 2]
    wrong = order[numbers.random(len(y)) < args.wrong]
    y[wrong] = (y[wrong] + numbers.integers(1, 10, len(wrong))) % 10
    model, criterion = nn.Sequential(nn.Flatten(), nn.MLP([64, 128, 128, 10])), nn.CrossEntropyLoss()
    stopper, stopped = EarlyStopping(model, args.patience, "min"), False

    def evaluate(model: nn.Module) -> dict[str, float]:
        nonlocal stopped
        loss = criterion(Tensor(predict(model, x[held])), Tensor(y[held])).item()
        stopped = stopped or stopper.update(loss)
        return {"held": loss, "test": accuracy(predict(model, x_test), y_test), "stopped": stopped}

    rows = fit(model, DataLoader(x[train], y[train], batch_size=32, shuffle=True), criterion,
               optim.AdamW(model.parameters(), lr=1e-3), args.epochs, evaluate=evaluate, progress=False)
    return np.array([[row[name] for name in ("loss", "held", "test", "stopped")] for row in rows])


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("overfitting", __doc__, draws=True, seeds=5, quick=dict(epochs=60, seeds=2))
    parser.add_argument("--images", type=cli.whole(20, 900), default=600, help="training images; half as many held out")
    parser.add_argument("--wrong", type=cli.number(least=0, most=0.8), default=0.4, help="share of wrong labels")
    parser.add_argument("--epochs", type=cli.whole(2), default=100, help="epochs of training")
    parser.add_argument("--patience", type=cli.whole(1), default=10, help="epochs to wait for a better held-out loss")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> np.ndarray:
    """The results of `run` for each seed: (seeds, epochs, 4)."""
    found = over_seeds(args, ["all"], lambda case: run(args))["all"]
    epochs = np.arange(1, args.epochs + 1)
    stops = np.where(found[..., 3].any(axis=1), found[..., 3].argmax(axis=1), args.epochs - 1)
    best = np.array([rows[:stop + 1, 1].argmin() for rows, stop in zip(found, stops, strict=True)])
    at = np.stack([best, stops, np.full(args.seeds, args.epochs - 1)], axis=1)
    numbers = {name: unit * np.take_along_axis(found[..., i], at, axis=1) for i, (name, unit) in enumerate(
        {"training loss": 1, "held-out loss": 1, "test accuracy, %": 100}.items())}
    columns = "best epoch", "stopped at", "end"
    table(f"{args.images} images, {args.wrong:.0%} of the labels wrong", columns, {"epoch": at + 1}, ".0f", 1)
    table("loss and accuracy at these epochs", columns, numbers, ".2f", 1)
    with slide(args.out, "A net first learns the rule, then the wrong labels", 1, 2) as (loss, test):
        for axes, column, colour, name in ((loss, 0, BLUE, "training"), (loss, 1, ORANGE, "held-out"),
                                           (test, 2, TEAL, None)):
            spread(axes, epochs, found[..., column] * (100 if axes is test else 1), color=colour, label=name)
        for axes in (loss, test):
            for values, line, words in ((best, "-", "best epoch: its weights are kept"),
                                        (stops, DOTTED, "early stopping")):
                axes.axvline(np.median(values) + 1, color=INK, linestyle=line, linewidth=1.6, label=words)
                axes.axvspan(values.min() + 1, values.max() + 1, color=MUTED, alpha=0.1, linewidth=0)
            axes.set(xlabel="epoch", xlim=(1, args.epochs))
        loss.set(title="Loss", ylim=(0, None))
        test.set(title="Accuracy on the test images, whose labels are right, %")
    return found


if __name__ == "__main__":
    main()
