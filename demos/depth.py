"""Deeper plain nets get worse even on their training images; residual nets do not (002; He et al. 2016).

Nets of equal layers, Linear and ReLU twice per block, learn the digits for the same number of steps:

    plain, residual                       z <- F(z)  and  z <- z + F(z)
    plain with norms, residual with norms the same with a BatchNorm after each Linear

A deeper plain net could compute the same as a shallower one, with the identity in the other blocks, but training does
not find that solution: the training error rises with depth. Prints and draws the error on the training and on the test
images by the number of layers, and draws the training error of the shallowest and the deepest nets by epoch.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

import nn
from demos import cli
from demos.figures import BLUE, ORANGE, level, over_seeds, slide, spread, table, ticks
from demos.recipes import Arrays, one_cycle, split_digits
from tinygrad_like.data import DataLoader
from tinygrad_like.training import accuracy, predict

KINDS = {"plain": (False, False), "plain with norms": (False, True), "residual": (True, False),
         "residual with norms": (True, True)}  # skip, norm


def build(kind: str, blocks: int, width: int) -> nn.Sequential:
    skip, norm = KINDS[kind]

    def layer() -> list[nn.Module]:
        return [nn.Linear(width, width), *([nn.BatchNorm1d(width)] if norm else []), nn.ReLU()]

    def block() -> nn.Module:
        f = nn.Sequential(*layer(), *layer())
        return nn.Residual(f) if skip else f

    return nn.Sequential(nn.Flatten(), nn.Linear(64, width), *[block() for _ in range(blocks)], nn.Linear(width, 10))


def run(kind: str, blocks: int, width: int, data: Arrays, epochs: int, lr: float) -> np.ndarray:
    """Train; returns the training error of each epoch, and last the error on the test images: (epochs + 1,)."""
    x, y, x_test, y_test = data
    model = build(kind, blocks, width)
    loader = DataLoader(x, y, batch_size=64, shuffle=True, drop_last=True)
    rows = one_cycle(model, loader, lr, epochs)
    return 1 - np.array([*(row["train_accuracy"] for row in rows), accuracy(predict(model, x_test), y_test)])


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("depth", __doc__, draws=True, seeds=3, quick=dict(blocks=[1, 12], epochs=5, seeds=1))
    parser.add_argument("--blocks", type=cli.whole(1), nargs="+", default=[1, 2, 4, 8, 16], metavar="L",
                        help="numbers of blocks, of two layers each")
    parser.add_argument("--width", type=cli.whole(1), default=32, help="features of each layer")
    parser.add_argument("--epochs", type=cli.whole(1), default=10, help="epochs of training")
    parser.add_argument("--lr", type=cli.RATE, default=2e-3, help="peak learning rate")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[tuple[str, int], np.ndarray]:
    """The results of `run` for each kind and number of blocks: (seeds, epochs + 1)."""
    data, depths = split_digits(None, 0), sorted(set(args.blocks))
    found = over_seeds(args, product(KINDS, depths), lambda case: run(*case, args.width, data, args.epochs, args.lr))
    layers = [2 * n for n in depths]
    ends = {kind: np.stack([found[kind, n][:, -2:] for n in depths], axis=1) for kind in KINDS}
    for i, title in enumerate(("training", "test")):
        table(f"error on the {title} images, %, by the number of layers in blocks", layers,
              {kind: values[..., i] for kind, values in ends.items()})
    with slide(args.out, "Deeper plain nets are worse, even on their training images", 1, 3, sharey=True) as panels:
        for kind, (skip, norm) in KINDS.items():
            line = dict(color=BLUE if skip else ORANGE, linestyle="--" if norm else "-")
            for i, axes in enumerate(panels[:2]):
                spread(axes, layers, 100 * ends[kind][..., i], marker="o", label=kind, **line)
            if not norm:
                for n, width in ((depths[0], 1.2), (depths[-1], 3.6)):
                    spread(panels[2], range(1, args.epochs + 1), 100 * found[kind, n][:, :-1], linewidth=width, **line)
        for axes, what in zip(panels, ("training", "test"), strict=False):
            ticks(axes, layers)
            axes.set(title=f"Error on the {what} images, %", xlabel="layers in blocks", ylim=(-3, 100))
            level(axes, 90, "guessing", above=True)
        panels[2].set(title="Training error, %", xlabel=f"epoch (thin: {layers[0]} layers, thick: {layers[-1]})")
    return found


if __name__ == "__main__":
    main()
