"""ReLUs die at high learning rates, and stay dead (003).

A unit is dead if its ReLU outputs 0 for every training image: then its gradient is 0 too, and its weights no longer
change. An MLP first takes --shock steps of plain SGD at one of --rates, and then learns the digits at a good learning
rate. Prints and draws, by the rate of the first steps, the share of dead units right after these steps and at the end,
and the test accuracy. Where a few steps kill most ReLUs, the net does not recover. A leaky ReLU also has a slope below
0: after first steps at a usual rate, most of its silent units come back, whereas dead ReLUs stay dead.
"""

from __future__ import annotations

import argparse
from itertools import islice, product

import numpy as np

import nn
import optim
from demos import cli
from demos.figures import BLUE, ORANGE, level, over_seeds, slide, spread, table, ticks
from demos.recipes import one_cycle, split_digits
from tinygrad_like import Tensor, no_grad
from tinygrad_like.data import DataLoader
from tinygrad_like.training import accuracy, predict

ACTIVATIONS = {"ReLU": (nn.ReLU, ORANGE), "leaky ReLU": (lambda: nn.LeakyReLU(0.1), BLUE)}


def build(activation: str, width: int) -> nn.Sequential:
    make = ACTIVATIONS[activation][0]
    return nn.Sequential(nn.Flatten(), nn.Linear(64, width), make(), nn.Linear(width, width), make(),
                         nn.Linear(width, width), make(), nn.Linear(width, 10))


def dead(model: nn.Sequential, x: np.ndarray) -> float:
    """The share of hidden units whose input is at most 0 for all images."""
    silent, z = [], Tensor(x)
    with no_grad():
        for i, part in enumerate(model):
            z = part(z)
            if isinstance(part, nn.Linear) and i < len(model) - 1:
                silent.append((z.numpy() <= 0).all(axis=0))
    return float(np.mean(silent))


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("dead_relu", __doc__, draws=True, seeds=5, quick=dict(rates=[0.03, 3.0], epochs=5, seeds=2))
    parser.add_argument("--rates", type=cli.RATE, nargs="+", default=[0.03, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0],
                        help="learning rates of the first steps")
    parser.add_argument("--shock", type=cli.whole(1), default=10, help="steps at that rate")
    parser.add_argument("--epochs", type=cli.whole(1), default=10, help="epochs of training afterwards")
    parser.add_argument("--width", type=cli.whole(1), default=64, help="features of the hidden layers")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    """By activation: dead units after the shock and at the end, and the accuracy: (seeds, rates, 3)."""
    x, y, x_test, y_test = split_digits(None, 0)
    rates, criterion = sorted(set(args.rates)), nn.CrossEntropyLoss()

    def run(case: tuple[str, float]) -> list[float]:
        activation, rate = case
        model, loader = build(activation, args.width), DataLoader(x, y, batch_size=64, shuffle=True)
        optimizer = optim.SGD(model.parameters(), lr=rate)
        for images, labels in islice(loader, args.shock):
            optimizer.zero_grad()
            criterion(model(images), labels).backward()
            optim.clip_grad_norm(model.parameters(), 10.0)  # so that no weight overflows
            optimizer.step()
        first = dead(model, x)
        one_cycle(model, loader, 3e-3, args.epochs)
        return [first, dead(model, x), accuracy(predict(model, x_test), y_test)]

    runs = over_seeds(args, product(ACTIVATIONS, rates), run)
    found = {name: np.stack([runs[name, rate] for rate in rates], axis=1) for name in ACTIVATIONS}
    titles = "dead after the first steps, %", "dead at the end, %", "test accuracy, %"
    for i, title in enumerate(titles):
        table(f"{title}, by the rate of the first {args.shock} steps", rates, {k: v[..., i] for k, v in found.items()})
    with slide(args.out, f"{args.shock} steps at too high a rate kill ReLUs for good", 1, 3,
               note="Dead: a unit whose input is at most 0 for every training image.") as panels:
        for i, (axes, title) in enumerate(zip(panels, titles, strict=True)):
            for name, (_, colour) in ACTIVATIONS.items():
                spread(axes, rates, 100 * found[name][..., i], color=colour, marker="o", label=name)
            ticks(axes, rates)
            axes.set(title=title[0].upper() + title[1:], xlabel="rate of the first steps", ylim=(-2, 102))
        level(panels[2], 10, "guessing", left=True)
    return found


if __name__ == "__main__":
    main()
