"""A residual net as a flow: blocks that share their weights are Euler steps of a differential equation (002).

    z <- z + h f(z, t), n times with h = 1 / n,    approaches    dz/dt = f(z, t) from t = 0 to 1

A net of `--steps` steps and a linear head learns to separate two moons: f moves the points until a straight line
separates them. It draws how they move, and how the result of the trained net depends on the method and the number of
steps n. The distance of the points from the exact flow's end falls like 1 / n with residual blocks, which are Euler's
method; like 1 / n^2 with the midpoint method; and like 1 / n^4 with Runge-Kutta's, which evaluates f four times a step.

Trained with --method euler, the blocks need not follow any flow: with more blocks the points end elsewhere, and the
accuracy falls.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import nn
import optim
from demos import cli
from demos.figures import BLUE, INK, MUTED, ORANGE, PAPER, PURPLE, TEAL, bare, slide, ticks
from demos.moons import train, two_moons
from tinygrad_like import Tensor, manual_seed, no_grad, stack


class Field(nn.Module):
    """f(z, t), an MLP of z and t concatenated. z: (..., features) -> same shape."""

    def __init__(self, features: int, hidden: int):
        self.net = nn.MLP([features + 1, hidden, hidden, features], activation=nn.Tanh)

    def forward(self, z: Tensor, t: float) -> Tensor:
        return self.net(z.cat(Tensor.full((*z.shape[:-1], 1), t), axis=-1))


def euler(f: Any, z: Tensor, t: float, h: float) -> Tensor:
    return z + h * f(z, t)


def midpoint(f: Any, z: Tensor, t: float, h: float) -> Tensor:
    return z + h * f(z + h / 2 * f(z, t), t + h / 2)


def rk4(f: Any, z: Tensor, t: float, h: float) -> Tensor:
    a = f(z, t)
    b = f(z + h / 2 * a, t + h / 2)
    c = f(z + h / 2 * b, t + h / 2)
    d = f(z + h * c, t + h)
    return z + h / 6 * (a + 2 * b + 2 * c + d)


METHODS = {"euler": euler, "midpoint": midpoint, "rk4": rk4}


class Flow(nn.Module):
    """z after steps of a method from t = 0 to 1. With Euler's method these are residual blocks that share f."""

    def __init__(self, f: nn.Module, steps: int, method: str):
        self.f, self.steps, self.method = f, steps, method

    def path(self, z: Tensor, steps: int = 0, method: str = "") -> list[Tensor]:
        """z after 0, 1, ..., steps steps."""
        steps, step = steps or self.steps, METHODS[method or self.method]
        states = [z]
        for i in range(steps):
            states.append(step(self.f, states[-1], i / steps, 1 / steps))
        return states

    def forward(self, z: Tensor) -> Tensor:
        return self.path(z)[-1]


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("neural_ode", __doc__, draws=True)
    parser.add_argument("--points", type=cli.whole(2), default=300, help="points in all")
    parser.add_argument("--hidden", type=cli.whole(1), default=32, help="hidden features of f")
    parser.add_argument("--steps", type=cli.whole(1), default=8, help="steps while training")
    parser.add_argument("--method", choices=tuple(METHODS), default="rk4", help="method of a step while training")
    parser.add_argument("--updates", type=cli.whole(1), default=300, help="steps of training")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="random seed of points and weights")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, dict[int, float]]:
    manual_seed(args.seed)
    points, label = two_moons(args.points, noise=0.12)
    x, y = Tensor(points), Tensor(label)
    flow, head = Flow(Field(2, args.hidden), args.steps, args.method), nn.Linear(2, 1)
    model = nn.Sequential(flow, head)
    train(model, x, y, args.updates, optim.AdamW(model.parameters(), lr=1e-2))

    found: dict[str, dict[int, float]] = {method: {} for method in METHODS}
    counts = (1, 2, 4, 8, 16, 32, 64, 128)
    with no_grad():
        moved = stack(*flow.path(x)).numpy()
        z = flow.path(x, 512, "rk4")[-1].numpy()
        print("steps   " + "   ".join(f"{method + ': accuracy, error':>26}" for method in METHODS))
        for n in counts:
            texts = []
            for method in METHODS:
                end = flow.path(x, n, method)[-1]
                right = float(((head(end).numpy()[:, 0] > 0) == label).mean())
                found[method][n] = float(np.linalg.norm(end.numpy() - z, axis=1).mean())
                texts.append(f"{right:17.1%}{found[method][n]:9.1e}")
            print(f"{n:5d}   " + "   ".join(texts))
    print("error: the mean distance from the exact flow")
    draw(args.out, moved, label, flow.f, head, found)
    return found


def draw(out: Path, z: np.ndarray, label: np.ndarray, f: nn.Module, head: nn.Linear,
         found: dict[str, dict[int, float]]) -> None:
    """z: (steps + 1, points, 2), the path of each point."""
    trained = len(z) - 1
    low, high = z.min(axis=(0, 1)) - 0.25, z.max(axis=(0, 1)) + 0.25
    with slide(out, f"{trained} steps of one f move two moons apart", 2, 2,
               note="Arrows: where f moves a point.") as panels:
        *moving, errors = panels.flat
        for axes, k in zip(moving, (0, trained // 2, trained), strict=True):
            arrows(axes, f, k / trained, low, high)
            for value, colour in ((0, BLUE), (1, ORANGE)):
                member = label == value
                axes.plot(*z[:k + 1, member].transpose(2, 0, 1), color=colour, alpha=0.2, linewidth=0.8)
                axes.scatter(*z[k, member].T, s=22, color=colour, edgecolors=PAPER, linewidths=0.4, zorder=3)
            if k == trained:  # where the head's logit is 0
                (a, b), c = head.weight.detach().numpy()[0], head.bias.detach().numpy()[0]
                axes.axline((-c * a / (a * a + b * b), -c * b / (a * a + b * b)), (-c * a / (a * a + b * b) - b,
                            -c * b / (a * a + b * b) + a), color=INK, linewidth=1.8)
            bare(axes)
            axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
            axes.set_title(f"t = {k / trained:g}: after {k} steps" + ", and the head's boundary" * (k == trained))
        rounding = 1e-6 * np.abs(z).max()  # of float32
        for (method, error), colour, power in zip(found.items(), (PURPLE, MUTED, TEAL), ("", "²", "⁴"), strict=True):
            shown = {n: e for n, e in error.items() if e > rounding}
            errors.plot(list(shown), list(shown.values()), color=colour, marker="o", label=f"{method}, as 1/n{power}")
        ticks(errors, list(found["euler"]))
        errors.set(yscale="log", xlabel="steps n of the trained net",
                   title="Mean distance from the exact flow's end")


def arrows(axes: Any, f: nn.Module, t: float, low: np.ndarray, high: np.ndarray) -> None:
    """The direction in which f moves points at time t, on a grid."""
    across, up = np.meshgrid(np.linspace(low[0], high[0], 17), np.linspace(low[1], high[1], 11))
    with no_grad():
        u, v = np.moveaxis(f(Tensor(np.stack([across, up], axis=-1).astype(np.float32)), t).numpy(), -1, 0)
    size = np.hypot(u, v) + 1e-9
    axes.quiver(across, up, u / size, v / size, color=MUTED, alpha=0.7, scale=26, width=0.0045, pivot="middle",
                zorder=0)


if __name__ == "__main__":
    main()
