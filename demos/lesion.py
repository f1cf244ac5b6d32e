"""Delete single blocks of trained nets: a residual net hardly changes, a plain net forgets everything.

A residual block adds F(z) to its input, so a net of L blocks is a sum over 2^L paths, half of which avoid any given
block (002; Veit et al. 2016). A plain net has only one path, through all layers.

Two nets of equal depth and width are trained on the digits: a ResNet-S with two layers per block, and a plain net. Then
each block, or each pair of layers, is removed on its own, and after that several at random. Prints and draws the
accuracy on the test images.
"""

from __future__ import annotations

import argparse

import numpy as np

import nn
from demos import cli
from demos.figures import BLUE, ORANGE, level, over_seeds, slide, spread, table
from demos.recipes import one_cycle, split_digits
from tinygrad_like import random
from tinygrad_like.data import DataLoader
from tinygrad_like.training import accuracy, predict


def residual(width: int, blocks: int) -> nn.Sequential:
    return nn.Sequential({"flatten": nn.Flatten(), "project": nn.Linear(64, width),
                          "units": nn.Sequential(*[nn.Res(width) for _ in range(blocks)]),
                          "head": nn.Linear(width, 10)})


def plain(width: int, blocks: int) -> nn.Sequential:
    """A plain net of the same size, with a ReLU after each layer and Kaiming's weights, which deep nets need (003)."""
    units = [nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
             for _ in range(blocks)]
    for unit in units:
        for layer in unit[::2]:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    return nn.Sequential({"flatten": nn.Flatten(), "project": nn.Linear(64, width), "units": nn.Sequential(*units),
                          "head": nn.Linear(width, 10)})


def without(model: nn.Sequential, deleted: set[int]) -> nn.Sequential:
    """The same net, sharing its weights, with the units of these numbers replaced by the identity."""
    units = [nn.Identity() if i in deleted else unit for i, unit in enumerate(model.units)]
    return nn.Sequential({"flatten": model.flatten, "project": model.project, "units": nn.Sequential(*units),
                          "head": model.head})


KINDS = {"residual": (residual, BLUE), "plain": (plain, ORANGE)}


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("lesion", __doc__, draws=True, seeds=3,
                        quick=dict(blocks=4, width=32, epochs=10, draws=3, seeds=1))
    parser.add_argument("--blocks", type=cli.whole(1), default=8, metavar="L", help="blocks, of two layers each")
    parser.add_argument("--width", type=cli.whole(1), default=64, help="features of each layer")
    parser.add_argument("--epochs", type=cli.whole(1), default=30, help="epochs of training")
    parser.add_argument("--draws", type=cli.whole(1), default=10,
                        help="random choices of blocks to delete, for each number of blocks")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    """The accuracy without each block, and then with 0, 1, ..., L deleted at random: (seeds, 2 L + 1)."""
    x, y, x_test, y_test = split_digits(None, 0)
    blocks = args.blocks

    def run(name: str) -> list[float]:
        model = KINDS[name][0](args.width, blocks)
        loader = DataLoader(x, y, batch_size=64, shuffle=True)
        one_cycle(model, loader, 2e-3, args.epochs, nn.CrossEntropyLoss(label_smoothing=0.1))

        def score(deleted: set[int]) -> float:
            return accuracy(predict(without(model, deleted), x_test), y_test)

        rng = random.numbers()
        return [*(score({i}) for i in range(blocks)),
                *(np.mean([score(set(rng.choice(blocks, n, replace=False))) for _ in range(args.draws)])
                  for n in range(blocks + 1))]

    found = over_seeds(args, KINDS, run)
    single, several = ({name: values[:, part] for name, values in found.items()}
                       for part in (slice(blocks), slice(blocks, None)))
    table(f"test accuracy, %, without one of {blocks} blocks of two layers", range(1, blocks + 1), single)
    table("test accuracy, %, by the number of blocks deleted at random", range(blocks + 1), several)
    with slide(args.out, "A residual net survives the loss of any block", 1, 2, sharey=True) as (one, many):
        for i, (name, (_, colour)) in enumerate(KINDS.items()):
            mean = single[name].mean(axis=0)
            one.bar(np.arange(1, blocks + 1) + 0.4 * i - 0.2, 100 * mean, 0.38, color=colour, label=f"{name} net",
                    yerr=100 * np.abs(mean - [single[name].min(axis=0), single[name].max(axis=0)]))
            spread(many, range(blocks + 1), 100 * several[name], color=colour, marker="o")
        for axes in (one, many):
            level(axes, 10, "guessing" if axes is many else "")
            axes.set(ylim=(0, 102))
        one.set(title="Test accuracy after one deletion, %", xlabel="deleted block",
                xticks=range(1, blocks + 1))
        many.set(title="After several, %", xlabel="number of blocks deleted at random", xticks=range(blocks + 1))
    return found


if __name__ == "__main__":
    main()
