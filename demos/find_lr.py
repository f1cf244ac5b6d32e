"""Find a learning rate by the range test, and train with it, with a tenth of it, and with 10 and 100 times as much.

The rate grows from step to step until the loss explodes. Where it fell fastest is a good rate to fall from: here a
one-cycle schedule has its peak there.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import nn
import optim
from tinygrad_like import manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.training import RangeTest, find_lr, fit

from . import cli, figures
from .recipes import DATA, MODELS, RECIPES, load_data

COLOURS = figures.MUTED, figures.ORANGE, figures.BLUE, figures.INK
FACTORS = 0.1, 1.0, 10.0, 100.0


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("find_lr", __doc__, draws=True)
    parser.add_argument("--model", choices=tuple(MODELS), default="mlp", help="which net")
    parser.add_argument("--data", choices=tuple(DATA), default="digits", help="on which images")
    parser.add_argument("--data-dir", type=cli.folder, help="folder with the data set's files")
    parser.add_argument("--epochs", type=cli.whole(1), default=10, help="of each training")
    parser.add_argument("--steps", type=cli.whole(10), default=100, help="of the range test")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="of weights and batches")
    return parser


def draw(path: Path, title: str, found: RangeTest, runs: dict[float, list[float]]) -> Path:
    with figures.style():
        fig = figures.figure(9.5, 4.0)
        fig.suptitle(title, x=0.012, ha="left", fontsize=12)
        left, right = fig.subplots(1, 2)
        left.semilogx(found.lrs, found.losses, color=figures.MUTED, linewidth=0.8, label="each batch")
        left.semilogx(found.lrs, found.smoothed, color=figures.BLUE, label="mean of 9 steps")
        left.axvline(found.suggestion, color=figures.ORANGE, linestyle="--", label=f"falls fastest: "
                                                                                   f"{found.suggestion:.1e}")
        low, high = found.losses.min(), found.smoothed[0]
        left.set_ylim(low - 0.1 * (high - low), high + 0.7 * (high - low))
        left.set(title="Range test", xlabel="learning rate", ylabel="training loss")
        left.legend(loc="upper left")
        for (rate, losses), colour in zip(runs.items(), COLOURS, strict=True):
            right.semilogy(range(1, len(losses) + 1), losses, color=colour, marker="o", markersize=3,
                           label=f"{rate:.1e}" + (" (found)" if rate == found.suggestion else ""))
        right.set(title="Training with one cycle up to this rate", xlabel="epoch", ylabel="training loss")
        right.xaxis.get_major_locator().set_params(integer=True)
        right.legend(loc="lower left")
        return figures.save(fig, path)


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[float, list[float]]:
    recipe, dataset = RECIPES[args.data, args.model], DATA[args.data]
    x, y, _, _ = load_data(args.data, args.data_dir)
    loader = DataLoader(x, y, batch_size=recipe["batch_size"], shuffle=True)
    steps = args.epochs * len(loader)
    if steps < 4:
        cli.refuse("--epochs", "are too few for a schedule of one cycle")

    def build() -> nn.Module:
        manual_seed(args.seed)
        return MODELS[args.model].build(x.shape[1:], len(dataset.classes), recipe.get("width"), recipe.get("depth"))

    model = build()
    found = find_lr(model, loader, nn.CrossEntropyLoss(), optim.AdamW(model.parameters()), steps=args.steps)
    print(f"the loss falls fastest at {found.suggestion:.2e}\n\nlearning rate  loss after {args.epochs} epochs")
    runs: dict[float, list[float]] = {}
    for factor in FACTORS:
        rate, model = factor * found.suggestion, build()
        schedule = optim.schedule.one_cycle(rate, steps)
        rows = fit(model, loader, nn.CrossEntropyLoss(), optim.AdamW(model.parameters(), lr=schedule), args.epochs)
        runs[rate] = [row["loss"] for row in rows]
        print(f"{rate:13.2e}  {runs[rate][-1]:.4f}", flush=True)
    print(f"\npicture: {draw(args.out, f'{MODELS[args.model].title} on {dataset.title}', found, runs)}")
    return runs


if __name__ == "__main__":
    main()
