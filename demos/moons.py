"""Draw how an MLP learns to separate two moons: its decision boundary after a growing number of steps."""

from __future__ import annotations

import argparse

import numpy as np

import nn
import optim
from demos import cli
from demos.figures import BLUE, DIVERGING, INK, MUTED, ORANGE, PAPER, bare, slide
from tinygrad_like import Tensor, capture, manual_seed, no_grad, ops, random


def two_moons(n: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Two interleaved half circles of n points in all, blurred by `noise`: points (n, 2) and classes (n,), 0 or 1."""
    label = np.arange(n) % 2
    numbers = random.numbers()
    angle = numbers.uniform(0, np.pi, n)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], axis=1)
    points = np.where(label[:, None] == 0, upper, lower) + numbers.normal(0, noise, (n, 2))
    return points.astype(np.float32), label.astype(np.float32)


def train(model: nn.Module, x: Tensor, y: Tensor, steps: int, optimizer: optim.Optimizer) -> float:
    """`steps` full-batch steps; returns the last loss."""
    criterion = nn.BCEWithLogitsLoss()

    @capture
    def step() -> Tensor:
        loss = criterion(model(x).squeeze(-1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(steps):
        loss = step()
    return loss.item()


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("moons", __doc__, draws=True)
    parser.add_argument("--points", type=cli.whole(2), default=400, help="points in all")
    parser.add_argument("--noise", type=cli.number(least=0), default=0.16, help="standard deviation of the blur")
    parser.add_argument("--hidden", type=cli.whole(1), nargs="*", default=[32, 32],
                        help="features of the hidden layers")
    parser.add_argument("--steps", type=cli.whole(1), nargs="+", default=[5, 20, 100, 800],
                        help="draw after this many steps")
    parser.add_argument("--lr", type=cli.RATE, default=1e-2, help="learning rate of AdamW")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="random seed of points and weights")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> None:
    manual_seed(args.seed)
    drawn = sorted(set(args.steps))
    points, label = two_moons(args.points, args.noise)
    x, y = Tensor(points), Tensor(label)
    model = nn.MLP([2, *args.hidden, 1], activation=nn.Tanh)
    optimizer = optim.AdamW(model.parameters(), lr=args.lr)

    across, up = np.meshgrid(np.linspace(-1.8, 2.8, 300), np.linspace(-1.3, 1.8, 200))
    grid = Tensor(np.stack([across, up], axis=-1).astype(np.float32))
    rows = 1 + (len(drawn) > 3)
    with slide(args.out, "Two moons: a net first learns a line, and the bend later", rows, -(-len(drawn) // rows),
               squeeze=False,
               note="Shade: probability of orange, 1/2 on the line. Circled: misclassified.") as panels:
        done = 0
        for axes in panels.flat[len(drawn):]:
            axes.axis("off")
        for axes, steps in zip(panels.flat, drawn, strict=False):
            loss = train(model, x, y, steps - done, optimizer)
            done = steps
            with no_grad():
                probability = ops.sigmoid(model(grid)).numpy()[..., 0]
                wrong = (model(x).numpy()[:, 0] > 0) != label
            accuracy = 1 - wrong.mean()
            print(f"step {steps:5d}   loss {loss:.4f}   accuracy {accuracy:.1%}", flush=True)
            axes.imshow(probability, cmap=DIVERGING, vmin=-0.35, vmax=1.35, origin="lower", interpolation="bilinear",
                        extent=(across.min(), across.max(), up.min(), up.max()))
            axes.contour(across, up, probability, levels=[0.5], colors=[INK], linewidths=1.6)
            for value, colour in ((0, BLUE), (1, ORANGE)):
                axes.scatter(*points[label == value].T, s=26, color=colour, edgecolors=PAPER, linewidths=0.6)
            axes.scatter(*points[wrong].T, s=70, facecolors="none", edgecolors=INK, linewidths=1)
            bare(axes)
            axes.set_title(f"{steps} steps")
            axes.set_title(f"{accuracy:.1%} correct", loc="right", color=MUTED)
            axes.set_aspect("equal")


if __name__ == "__main__":
    main()
