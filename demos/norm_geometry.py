"""Why an l1 penalty makes weights zero and an l2 penalty does not, in two dimensions (002).

The loss is a quadratic whose minimum has one large and one small weight. With a penalty c R(w), the minimum lies where
a contour of the loss touches a ball of R: anywhere on l2's circle, but often at a vertex of l1's diamond, where a
weight is 0.

    l2       minimum of L(w) + c sum w^2          in closed form
    l1       minimum of L(w) + c sum |w|          by proximal gradient descent: a step, then soft thresholding
    spred    L(a b) + c/2 sum (a^2 + b^2)         by plain gradient descent on a and b; its minimum w = a b is l1's

Prints and draws the minima by c, and draws the paths of gradient descent from several starts for one c.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import nn
import optim
from demos import cli
from demos.figures import BLUE, HAIR, INK, MUTED, ORANGE, TEAL, slide
from tinygrad_like import Tensor, capture

BEST = np.array([1.2, 0.55])
CURVATURE = np.array([[1.0, 0.35], [0.35, 0.8]])
STARTS = [(-0.6, 1.3), (0.3, 1.4), (-0.6, -0.5), (1.7, 1.3), (1.6, -0.5)]
RATE = 0.1


def loss(w: Any) -> Any:
    """(w - BEST)^T CURVATURE (w - BEST) / 2 of w (..., 2), an array or a Tensor: (...)."""
    d = w - BEST
    return (d @ CURVATURE * d).sum(-1) / 2


def ridge(c: float) -> np.ndarray:
    return np.linalg.solve(CURVATURE + 2 * c * np.eye(2), CURVATURE @ BEST)


def lasso(c: float, steps: int = 500) -> np.ndarray:
    w = BEST.copy()
    for _ in range(steps):
        w = w - RATE * (w - BEST) @ CURVATURE
        w = np.sign(w) * np.maximum(np.abs(w) - RATE * c, 0)
    return w


def spred(strengths: np.ndarray, starts: np.ndarray, steps: int) -> np.ndarray:
    """Gradient descent on a and b from w = a b = starts (n, 2), each with its own strength (n,): (steps + 1, n, 2)."""
    a, b = (nn.Parameter(Tensor(part * np.sqrt(np.abs(starts)), dtype=np.float64))
            for part in (1.5, np.sign(starts) / 1.5))  # if |a| = |b|, a weight could never change its sign
    c, optimizer = Tensor(strengths, dtype=np.float64), optim.SGD([a, b], lr=RATE)

    @capture
    def step() -> Tensor:
        w = a * b
        total = (loss(w) + c / 2 * (a * a + b * b).sum(axis=-1)).sum()
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        return w

    return np.stack([step().detach().numpy() for _ in range(steps + 1)])


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("norm_geometry", __doc__, draws=True)
    parser.add_argument("--strength", type=cli.number(above=0, most=2), default=0.8, metavar="C",
                        help="strength of the penalty whose minimum and paths are drawn")
    parser.add_argument("--steps", type=cli.whole(1), default=1500, help="steps of gradient descent on a and b")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="random seed of the starts of a and b")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    strengths = np.linspace(0, 1.6, 33)
    random_starts = np.random.default_rng(args.seed).uniform(0.5, 1.5, (len(strengths), 2))
    with cli.progress(total=3, unit="path") as bar:
        found = {"l2": np.stack([ridge(c) for c in strengths])}
        bar.update()
        found["l1"] = np.stack([lasso(c) for c in strengths])
        bar.update()
        found["spred"] = spred(strengths, random_starts, args.steps)[-1]
        bar.update()
    print(f"{'strength c':>10}  {'l2':>14}  {'l1':>14}  {'spred':>14}")
    for i in range(0, len(strengths), 4):
        print(f"{strengths[i]:10.2f}  " + "  ".join("{:6.3f}, {:6.3f}".format(*w[i] + 0.0) for w in found.values()))
    print(f"largest distance of spred from l1: {np.abs(found['spred'] - found['l1']).max():.1e}")
    paths = spred(np.full(len(STARTS), args.strength), np.array(STARTS, float), args.steps)
    draw(args.out, strengths, found, args.strength, paths)
    return found


def draw(path: Path, strengths: np.ndarray, found: dict[str, np.ndarray], c: float, paths: np.ndarray) -> None:
    angle, colours = np.linspace(0, 2 * np.pi, 200), {"l2": BLUE, "l1": ORANGE, "spred": TEAL}
    with slide(path, "The l1 ball has vertices, where weights are zero; the l2 ball has none", 1, 3,
               note="+: minimum of the loss. Thick lines: minima for all strengths c of the penalty; large dots: for "
                    f"c = {c:g}.") as (balls, descent, curves):
        plane(balls, [loss(ridge(c)), loss(lasso(c))])
        for name, w in (("l2", ridge(c)), ("l1", lasso(c))):
            size = np.hypot(*w) if name == "l2" else np.abs(w).sum()
            ball = size * np.array([np.cos(angle), np.sin(angle)] if name == "l2" else
                                   [[1, 0, -1, 0, 1], [0, 1, 0, -1, 0]])
            balls.fill(*ball, color=colours[name], alpha=0.12, linewidth=0)
            balls.plot(*ball, color=colours[name], linewidth=1.4)
            balls.plot(*found[name].T, color=colours[name], linewidth=3.2, label=name)
            balls.plot(*w, "o", color=colours[name], markersize=10)
        balls.set_title("Balls, and the contours they touch")
        plane(descent, [loss(lasso(c))])
        for way in paths.transpose(1, 0, 2):
            descent.plot(*way.T, color=TEAL, linewidth=1.6)
            descent.plot(*way[0], "o", color=TEAL, fillstyle="none")
        descent.plot(*lasso(c), "o", color=ORANGE, markersize=10)
        descent.set_title("Descent on a and b, w = a b")
        for name, colour in colours.items():
            for k in (0, 1):
                dots = dict(linestyle="none", marker="o", fillstyle="none") if name == "spred" else {}
                curves.plot(strengths, found[name][:, k], color=colour, label=name, **dots)
        for k in (0, 1):
            curves.annotate(f"w{k + 1}", (0, BEST[k]), (12, 8), textcoords="offset points")
        curves.set(xlabel="strength c", ylim=(-0.05, 1.4), title="Weights at the minimum")


def plane(axes: Any, touching: list[float]) -> None:
    """The contours of the loss, in black at the levels `touching`, and its minimum."""
    across, up = np.meshgrid(np.linspace(-0.9, 1.9, 120), np.linspace(-0.9, 1.6, 120))
    values = loss(np.stack([across, up], axis=-1))
    axes.contour(across, up, values, levels=[0.01, 0.05, 0.12, 0.25, 0.45, 0.75, 1.15, 1.7], colors=[HAIR],
                 linewidths=1.2)
    axes.contour(across, up, values, levels=sorted({x for x in touching if x > 0}) or [1e-9], colors=[INK],
                 linewidths=1.2)
    axes.plot(*BEST, "+", color=INK, markersize=12, markeredgewidth=2)
    axes.axhline(0, color=MUTED, linewidth=0.9)
    axes.axvline(0, color=MUTED, linewidth=0.9)
    axes.grid(False)
    axes.set(aspect="equal", xlabel="w1", ylabel="w2", xlim=(-0.9, 1.9), ylim=(-0.9, 1.6))


if __name__ == "__main__":
    main()
