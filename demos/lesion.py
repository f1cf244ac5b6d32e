"""Delete single layers of trained nets: a residual net hardly changes, a plain one forgets everything.

A residual block adds F(z) to its input, so a net of L blocks is a sum over 2^L paths, of which half avoid any given
block (002; Veit et al. 2016). In a plain net there is only one path, through all layers.

Two nets of equal depth and width are trained on the digits: ResNet-S, in which each block holds two layers, and a
plain net. Then each block, or each layer, is removed on its own, and after that several at random. Prints and draws the
accuracy on the test images.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import nn
import optim
from tinygrad_like import manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.training import accuracy, fit, predict

from . import cli
from .figures import BLUE, DOTTED, MUTED, ORANGE, figure, key, level, save, style
from .recipes import split_digits


def residual(width: int, blocks: int) -> nn.Sequential:
    return nn.Sequential({"flatten": nn.Flatten(), "project": nn.Linear(64, width),
                          "units": nn.Sequential(*[nn.Res(width) for _ in range(blocks)]),
                          "head": nn.Linear(width, 10)})


def plain(width: int, layers: int) -> nn.Sequential:
    """As deep and wide, with a ReLU after each layer, and initial weights large enough for deep nets to learn (003)."""
    units = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(layers)]
    for unit in units:
        nn.init.kaiming_normal_(unit[0].weight, nonlinearity="relu")
    return nn.Sequential({"flatten": nn.Flatten(), "project": nn.Linear(64, width), "units": nn.Sequential(*units),
                          "head": nn.Linear(width, 10)})


def without(model: nn.Sequential, deleted: set[int]) -> nn.Sequential:
    """The same net, sharing its weights, with the units of these numbers replaced by the identity."""
    units = [nn.Identity() if i in deleted else unit for i, unit in enumerate(model.units)]
    return nn.Sequential({"flatten": model.flatten, "project": model.project, "units": nn.Sequential(*units),
                          "head": model.head})


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("lesion", __doc__, draws=True)
    parser.add_argument("--blocks", type=cli.whole(1), default=8, metavar="L",
                        help="of the residual net; the plain one has 2 L layers")
    parser.add_argument("--width", type=cli.whole(1), default=64, help="features of each layer")
    parser.add_argument("--epochs", type=cli.whole(1), default=40, help="of training")
    parser.add_argument("--draws", type=cli.whole(1), default=20,
                        help="random choices of the units to delete, of each number")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="of weights, batches and choices")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, tuple[float, np.ndarray, np.ndarray]]:
    x, y, x_test, y_test = split_digits(None, 0)
    found = {}
    for name, build, units in (("residual", residual, args.blocks), ("plain", plain, 2 * args.blocks)):
        manual_seed(args.seed)
        model = build(args.width, units)
        loader = DataLoader(x, y, batch_size=64, shuffle=True)
        optimizer = optim.AdamW(model.parameters(), lr=optim.schedule.one_cycle(2e-3, args.epochs * len(loader)))
        fit(model, loader, nn.CrossEntropyLoss(label_smoothing=0.1), optimizer, args.epochs)

        def score(deleted: set[int], model: nn.Sequential = model) -> float:
            return accuracy(predict(without(model, deleted), x_test), y_test)

        whole, single = score(set()), np.array([score({i}) for i in range(units)])
        rng = np.random.default_rng(args.seed)
        several = np.array([np.mean([score(set(rng.choice(units, n, replace=False))) for _ in range(args.draws)])
                            for n in range(units + 1)])
        found[name] = whole, single, several
        print(f"{name}, {2 * args.blocks} layers: {whole:.1%} of {len(y_test)} test images; without one "
              f"{'block' if name == 'residual' else 'layer'}, mean {single.mean():.1%}, worst {single.min():.1%}")
        print("  deleted   " + " ".join(f"{i + 1:5d}" for i in range(units)))
        print("  accuracy  " + " ".join(f"{value:5.0%}" for value in single), flush=True)
    print(f"picture: {draw(args.out, found)}")
    return found


def draw(path: Path, found: dict[str, tuple[float, np.ndarray, np.ndarray]]) -> Path:
    with style():
        fig = figure(10.5, 4.3, "A residual net survives the loss of any block")
        one, many = fig.subplots(1, 2, width_ratios=[1.5, 1])
        layers = len(found["plain"][1])
        for name, colour, thick in (("residual", BLUE, 2), ("plain", ORANGE, 1)):
            whole, single, several = found[name]
            first = np.arange(len(single)) * thick
            unit = "residual net without a block of two layers" if thick == 2 else "plain net without a layer"
            one.bar(first + thick / 2 + 0.5, 100 * single, width=0.8 if thick == 1 else 1.86, color=colour, label=unit,
                    alpha=1 if thick == 1 else 0.35, edgecolor=colour, zorder=3 - thick)
            many.plot(100 * np.arange(len(single) + 1) / len(single), 100 * several, color=colour, marker="o",
                      markersize=4)
            many.annotate(f"{name} net", (100 / 2, 100 * several[len(single) // 2]), (8, 8),
                          textcoords="offset points", color=colour, fontweight="bold")
        for axes in (one, many):
            axes.set(ylim=(0, 104))
        one.axhline(10, color=MUTED, linestyle=DOTTED, linewidth=1.2, label="guessing", zorder=4)
        level(many, 10, "guessing")
        one.set(xlabel="what is deleted, by the layers' numbers", xlim=(0.3, layers + 0.7),
                xticks=range(1, layers + 1))
        one.set_title("Test accuracy after one deletion, %")
        key(one, 3)
        many.set(xlabel="% of the layers deleted at random")
        many.set_title("After several, mean of the draws, %", pad=24)
        return save(fig, path)


if __name__ == "__main__":
    main()
