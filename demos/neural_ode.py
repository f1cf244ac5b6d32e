"""A residual stack as a flow: blocks that share their weights are Euler steps of a differential equation (002).

    z <- z + h f(z), n times with h = 1 / n,    approaches    dz/dt = f(z) from t = 0 to 1

A net of `--steps` such blocks and a linear head learns to separate two moons: f moves the points until a straight line
separates them. It draws how they move, and how little the result depends on the number of steps afterwards: with n
blocks instead of the trained number, points end near where the exact flow takes them, with an error like 1 / n.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import nn
import optim
from tinygrad_like import Tensor, manual_seed, no_grad

from . import cli
from .figures import BLUE, HAIR, INK, MUTED, ORANGE, PAPER, bare, figure, save, style
from .moons import train, two_moons


class Flow(nn.Module):
    """z(1) by Euler's method from z(0) = x: `steps` residual blocks of one f. x: (..., features), as is z."""

    def __init__(self, features: int, hidden: int, steps: int):
        self.f = nn.MLP([features, hidden, hidden, features], activation=nn.Tanh)
        self.steps = steps

    def forward(self, x: Tensor) -> Tensor:
        return self.path(x)[-1]

    def path(self, x: Tensor) -> list[Tensor]:
        """z after 0, 1, ..., steps blocks."""
        path = [x]
        block = nn.Residual(self.f, scale=1 / self.steps)
        for _ in range(self.steps):
            path.append(block(path[-1]))
        return path


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("neural_ode", __doc__, draws=True)
    parser.add_argument("--points", type=cli.whole(2), default=300, metavar="N", help="points in all")
    parser.add_argument("--hidden", type=cli.whole(1), default=32, metavar="N", help="hidden features of f")
    parser.add_argument("--steps", type=cli.whole(1), default=12, metavar="N", help="blocks while training")
    parser.add_argument("--updates", type=cli.whole(1), default=300, metavar="N", help="steps of training")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="of points and weights")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[int, tuple[float, float]]:
    manual_seed(args.seed)
    points, label = two_moons(args.points, noise=0.12)
    x, y = Tensor(points), Tensor(label)
    flow, head = Flow(2, args.hidden, args.steps), nn.Linear(2, 1)
    model = nn.Sequential(flow, head)
    train(model, x, y, args.updates, optim.AdamW(model.parameters(), lr=1e-2))

    found: dict[int, tuple[float, float]] = {}
    with no_grad():
        path = np.stack([z.numpy() for z in flow.path(x)])
        flow.steps = 4096
        exact = flow(x).numpy()
        for n in (1, 2, 4, 8, 16, 32, 64, 128):
            flow.steps = n
            z = flow(x)
            right = (head(z).numpy()[:, 0] > 0) == label
            found[n] = float(right.mean()), float(np.linalg.norm(z.numpy() - exact, axis=1).mean())
            print(f"{n:4d} blocks   accuracy {found[n][0]:6.1%}   mean distance from the exact flow {found[n][1]:.2e}")
    print(f"picture: {draw(args.out, path, label, flow.f, head, found, args.steps)}")
    return found


def draw(path: Path, z: np.ndarray, label: np.ndarray, f: nn.Module, head: nn.Linear,
         found: dict[int, tuple[float, float]], trained: int) -> Path:
    """z: (blocks + 1, points, 2), the path of each point."""
    low, high = z.min(axis=(0, 1)) - 0.25, z.max(axis=(0, 1)) + 0.25
    with style():
        fig = figure(14, 3.9, f"{trained} residual blocks with shared weights move two moons apart")
        *panels, errors = fig.subplots(1, 4, width_ratios=[1, 1, 1, 1.05])
        for axes, k in zip(panels, (0, trained // 2, trained), strict=True):
            arrows(axes, f, low, high)
            for value, colour in ((0, BLUE), (1, ORANGE)):
                member = label == value
                axes.plot(*z[:k + 1, member].transpose(2, 0, 1), color=colour, alpha=0.13, linewidth=0.8)
                axes.scatter(*z[k, member].T, s=13, color=colour, edgecolors=PAPER, linewidths=0.4, zorder=3)
            if k == trained:  # where the head's logit is 0
                (a, b), c = head.weight.numpy()[0], head.bias.numpy()[0]
                axes.axline((-c * a / (a * a + b * b), -c * b / (a * a + b * b)), (-c * a / (a * a + b * b) - b,
                            -c * b / (a * a + b * b) + a), color=INK, linewidth=1.6)
            bare(axes)
            axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            axes.set_title(f"after {k} blocks" + " and the head's line" * (k == trained))
        n = list(found)
        error = [found[i][1] for i in n]
        errors.plot(n, error, color=BLUE, marker="o", markersize=4)
        errors.plot(n, error[-1] * n[-1] / np.array(n), color=MUTED, linestyle=(0, (1, 2)), linewidth=1.2)
        errors.annotate("1 / n", (n[-2], error[-1] * n[-1] / n[-2]), (6, 6), textcoords="offset points", color=MUTED)
        errors.set(xscale="log", yscale="log", xlabel="blocks n in its place")
        errors.set_xticks(n, n)
        errors.minorticks_off()
        errors.set_title("Mean distance from the exact flow")
        return save(fig, path)


def arrows(axes: Any, f: nn.Module, low: np.ndarray, high: np.ndarray) -> None:
    """The direction in which f moves a point, everywhere."""
    across, up = np.meshgrid(np.linspace(low[0], high[0], 17), np.linspace(low[1], high[1], 15))
    with no_grad():
        u, v = np.moveaxis(f(Tensor(np.stack([across, up], axis=-1).astype(np.float32))).numpy(), -1, 0)
    size = np.hypot(u, v) + 1e-9
    axes.quiver(across, up, u / size, v / size, color=HAIR, scale=26, width=0.005, pivot="middle", zorder=0)


if __name__ == "__main__":
    main()
