"""Deeper plain nets get worse even on the images they train on; residual ones do not (002; He et al. 2016).

Nets of the same layers, Linear and ReLU twice to a block, learn the digits for the same number of steps:

    plain, residual                       z <- F(z)  and  z <- z + F(z)
    plain with norms, residual with norms the same with a BatchNorm after each Linear

A deeper plain net could do what a shallower one does, with blocks that compute the identity, but training does not find
it: its training error rises with depth. Prints and draws the error on the training images, and on the test images, by
the number of layers, mean over --seeds, and the training error by epoch of the shallowest and the deepest nets.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import nn
import optim
from tinygrad_like import manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.training import accuracy, fit, predict

from . import cli
from .figures import BLUE, ORANGE, figure, key, level, save, style
from .recipes import Arrays, split_digits

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
    """Train, and give the errors in training by epoch, and last the error on the test images: (epochs + 1,)."""
    x, y, x_test, y_test = data
    model = build(kind, blocks, width)
    loader = DataLoader(x, y, batch_size=64, shuffle=True, drop_last=True)
    optimizer = optim.AdamW(model.parameters(), lr=optim.schedule.one_cycle(lr, epochs * len(loader)))
    rows = fit(model, loader, nn.CrossEntropyLoss(), optimizer, epochs, progress=False)
    return 1 - np.array([*(row["train_accuracy"] for row in rows), accuracy(predict(model, x_test), y_test)])


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("depth", __doc__, draws=True)
    parser.add_argument("--blocks", type=cli.whole(1), nargs="+", default=[1, 2, 4, 8, 16, 32], metavar="L",
                        help="numbers of blocks, of two layers each")
    parser.add_argument("--width", type=cli.whole(1), default=32, help="features of each layer")
    parser.add_argument("--epochs", type=cli.whole(1), default=15, help="of training")
    parser.add_argument("--lr", type=cli.RATE, default=2e-3, help="the highest")
    parser.add_argument("--seeds", type=cli.whole(1), default=2, help="runs of each net (default: 2)")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="of the first run's weights and batches")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[tuple[str, int], np.ndarray]:
    """What `run` gives for each kind and number of blocks, mean over the seeds."""
    data, depths = split_digits(None, 0), sorted(set(args.blocks))
    found = {}
    with cli.progress(total=len(KINDS) * len(depths) * args.seeds, unit="net") as bar:
        for kind, blocks in product(KINDS, depths):
            runs = []
            for seed in range(args.seed, args.seed + args.seeds):
                manual_seed(seed)
                runs.append(run(kind, blocks, args.width, data, args.epochs, args.lr))
                bar.update()
            found[kind, blocks] = np.mean(runs, axis=0)
    for title, column in (("training", -2), ("test", -1)):
        print(f"error on the {title} images, %, by the number of layers in blocks")
        print(f"{'':20}" + "".join(f"{2 * n:>8}" for n in depths))
        for kind in KINDS:
            print(f"{kind:20}" + "".join(f"{100 * found[kind, n][column]:8.1f}" for n in depths))
    print(f"picture: {draw(args.out, depths, found)}")
    return found


def draw(path: Path, depths: list[int], found: dict[tuple[str, int], np.ndarray]) -> Path:
    look: dict[str, dict[str, Any]] = {kind: dict(color=BLUE if skip else ORANGE, linestyle="--" if norm else "-")
                                       for kind, (skip, norm) in KINDS.items()}
    with style():
        fig = figure(14, 4.6, "Deeper is worse for plain nets, even on what they train on")
        train, test, course = fig.subplots(1, 3, width_ratios=[1, 1, 1.15])
        for kind, line in look.items():
            for axes, column in ((train, -2), (test, -1)):
                axes.plot([2 * n for n in depths], [100 * found[kind, n][column] for n in depths], marker="o",
                          markersize=4, label=kind, **line)
        for axes, what in ((train, "training"), (test, "test")):
            axes.set(xscale="log", xlabel="layers in blocks", ylim=(-3, 100))
            axes.set_xticks([2 * n for n in depths], [2 * n for n in depths])
            axes.minorticks_off()
            level(axes, 90, "guessing", above=True)
            axes.set_title(f"Error on the {what} images, %")
            key(axes, 2)
        epochs = np.arange(1, len(found["plain", depths[0]]))
        for kind in ("plain", "residual"):
            for n, thick in ((depths[0], 1.2), (depths[-1], 2.6)):
                course.plot(epochs, 100 * found[kind, n][:-1], label=f"{kind}, {2 * n} layers",
                            **look[kind] | dict(linewidth=thick))
        course.set(xlabel="epoch", ylim=(-3, 100))
        course.xaxis.get_major_locator().set_params(integer=True)
        course.set_title("Training error by epoch, without norms, %")
        key(course, 2)
        return save(fig, path)


if __name__ == "__main__":
    main()
