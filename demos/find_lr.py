"""Find a learning rate by the range test, and train with it, and with a tenth and ten times of it.

The rate grows from step to step until the loss explodes. Where the loss is least is a good peak for a one-cycle
schedule.
"""

from __future__ import annotations

import argparse

import numpy as np

import nn
import optim
from tinygrad_like.data import DataLoader
from tinygrad_like.training import find_lr, fit

from . import cli
from .figures import BLUE, INK, MUTED, ORANGE, over_seeds, slide, spread, table
from .recipes import DATA, MODELS, RECIPES, load_data

FACTORS = {0.1: (MUTED, "a tenth of it"), 1.0: (ORANGE, "the rate found"), 10.0: (INK, "ten times as much")}


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("find_lr", __doc__, draws=True, seeds=3, quick=dict(epochs=4, steps=60, seeds=1))
    parser.add_argument("--model", choices=tuple(MODELS), default="mlp", help="which net")
    parser.add_argument("--data", choices=tuple(DATA), default="digits", help="on which images")
    parser.add_argument("--data-dir", type=cli.folder, help="folder with the data set's files")
    parser.add_argument("--epochs", type=cli.whole(1), default=8, help="of each training")
    parser.add_argument("--steps", type=cli.whole(10), default=100, help="of the range test")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[float, np.ndarray]:
    """The training loss by epoch for each of FACTORS: (seeds, epochs)."""
    recipe, dataset = RECIPES[args.data, args.model], DATA[args.data]
    x, y, _, _ = load_data(args.data, args.data_dir)
    steps = args.epochs * -(-len(x) // recipe["batch_size"])
    if steps < 4:
        cli.refuse("--epochs", "are too few for a schedule of one cycle")
    tests = []

    def run(factor: float) -> list[float]:
        model = MODELS[args.model].build(x.shape[1:], len(dataset.classes), recipe.get("width"), recipe.get("depth"))
        loader = DataLoader(x, y, batch_size=recipe["batch_size"], shuffle=True)
        found = find_lr(model, loader, nn.CrossEntropyLoss(), optim.AdamW(model.parameters()), steps=args.steps)
        tests.append(found)
        schedule = optim.schedule.one_cycle(factor * found.suggestion, steps)
        rows = fit(model, loader, nn.CrossEntropyLoss(), optim.AdamW(model.parameters(), lr=schedule), args.epochs,
                   progress=False)
        return [row["loss"] for row in rows]

    runs = over_seeds(args, FACTORS, run)
    tests = tests[::len(FACTORS)]  # those of one seed are alike
    rates = [found.suggestion for found in tests]
    print("the loss is least at a rate of " + ", ".join(f"{rate:.1e}" for rate in rates))
    table(f"training loss after {args.epochs} epochs, by the peak of the rate", ["loss"],
          {words: runs[factor][:, -1:] for factor, (_, words) in FACTORS.items()}, ".4f", 1)
    with slide(args.out, f"{MODELS[args.model].title} on {dataset.title}: the range test finds a rate that learns well",
               1, 2) as (test, training):
        for found, rate in zip(tests, rates, strict=True):
            test.semilogx(found.lrs, found.smoothed, color=BLUE, label="range test, mean of 9 steps; a line per seed")
            test.axvline(rate, color=ORANGE, linestyle="--", linewidth=1.6)
        high = tests[0].smoothed[0]
        test.set(title="Training loss as the rate grows", xlabel="learning rate", ylim=(0, 1.5 * high))
        for factor, (colour, words) in FACTORS.items():
            spread(training, range(1, args.epochs + 1), runs[factor], color=colour, marker="o", label=words)
        training.set(title="Training loss with one cycle up to this rate", xlabel="epoch", yscale="log")
        training.xaxis.get_major_locator().set_params(integer=True)
    return runs


if __name__ == "__main__":
    main()
