"""Why an l1 penalty makes weights zero and an l2 penalty does not, in two dimensions (002).

The loss is a quadratic whose minimum has one large and one small weight. With a penalty c R(w), its minimum lies where
a contour of the loss touches a ball of R: l2's circle anywhere, l1's diamond often at a vertex, where a weight is 0.

    l2       minimum of L(w) + c sum w^2          in closed form
    l1       minimum of L(w) + c sum |w|          by proximal gradient descent: a step, then soft thresholding
    spred    L(a b) + c/2 sum (a^2 + b^2)         by plain gradient descent on a and b; its minimum w = a b is l1's

Prints and draws the minima by c, and the ways of gradient descent from several starts for one c.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import nn
import optim
from tinygrad_like import Tensor, capture

from . import cli
from .figures import BLUE, GREYS, INK, MUTED, ORANGE, TEAL, figure, key, save, style

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
                        help="of the penalty whose minimum and ways are drawn")
    parser.add_argument("--steps", type=cli.whole(1), default=1500, help="of gradient descent on a and b")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="of where a and b start, for each strength")
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
    ways = spred(np.full(len(STARTS), args.strength), np.array(STARTS, float), args.steps)
    print(f"picture: {draw(args.out, strengths, found, args.strength, ways)}")
    return found


def draw(path: Path, strengths: np.ndarray, found: dict[str, np.ndarray], c: float, ways: np.ndarray) -> Path:
    with style():
        fig = figure(15, 4.3, "The l1 ball has vertices, where weights are zero; the l2 ball has none")
        circle, diamond, descent, curves = fig.subplots(1, 4, width_ratios=[1, 1, 1, 1.15])
        angle = np.linspace(0, 2 * np.pi, 200)
        for axes, name, w, colour in ((circle, "l2", ridge(c), BLUE), (diamond, "l1", lasso(c), ORANGE)):
            plane(axes, loss(w))
            size = np.hypot(*w) if name == "l2" else np.abs(w).sum()
            ball = size * np.array([np.cos(angle), np.sin(angle)] if name == "l2" else
                                   [[1, 0, -1, 0, 1], [0, 1, 0, -1, 0]])
            axes.fill(*ball, color=colour, alpha=0.15, linewidth=0)
            axes.plot(*ball, color=colour, linewidth=1.4)
            axes.plot(*found[name].T, color=colour, linewidth=2.6)
            axes.plot(*w, "o", color=colour, markersize=8)
            axes.annotate(f"c = {c:g}", w, (8, -15), textcoords="offset points", color=colour, fontweight="bold")
            axes.set_title(f"{name} ball; the line: minima for all c")
        plane(descent, loss(lasso(c)))
        for way in ways.transpose(1, 0, 2):
            descent.plot(*way.T, color=TEAL, linewidth=1.3)
            descent.plot(*way[0], "o", color=TEAL, markersize=4, fillstyle="none")
        descent.plot(*lasso(c), "o", color=ORANGE, markersize=8)
        descent.set_title(f"spred's ways to l1's minimum, c = {c:g}")
        for name, colour, line in (("l2", BLUE, "-"), ("l1", ORANGE, "-"), ("spred", TEAL, "none")):
            for k, width in ((0, 2.2), (1, 1.2)):
                curves.plot(strengths, found[name][:, k], linestyle=line, color=colour, linewidth=width,
                            marker="o" if line == "none" else "", markersize=4, fillstyle="none",
                            label=name if not k else None)
        for k in (0, 1):
            curves.annotate(f"w{k + 1}", (0, BEST[k]), (16, 4), textcoords="offset points", color=INK)
        curves.set(xlabel="strength c of the penalty", ylabel="weights at the minimum", ylim=(-0.05, 1.35))
        curves.set_title("Only l1 and spred reach zero")
        key(curves, 3)
        return save(fig, path)


def plane(axes: Any, touching: float) -> None:
    """The loss by its contours, one of them at the level `touching`, and its minimum."""
    across, up = np.meshgrid(np.linspace(-0.9, 1.9, 120), np.linspace(-0.9, 1.6, 120))
    values = loss(np.stack([across, up], axis=-1))
    others = [level for level in (0.01, 0.05, 0.12, 0.25, 0.45, 0.75, 1.15, 1.7) if abs(level - touching) > 0.03]
    axes.contour(across, up, values, levels=others, cmap=GREYS, vmin=-1.5, vmax=4, linewidths=0.9)
    if touching > 0:
        axes.contour(across, up, values, levels=[touching], colors=[INK], linewidths=1.5)
    axes.plot(*BEST, "+", color=INK, markersize=9, markeredgewidth=1.6)
    axes.annotate("least loss", BEST, (6, 6), textcoords="offset points", color=MUTED, fontsize=8)
    axes.axhline(0, color=MUTED, linewidth=0.7)
    axes.axvline(0, color=MUTED, linewidth=0.7)
    axes.grid(False)
    axes.set(aspect="equal", xlabel="w1", ylabel="w2", xlim=(-0.9, 1.9), ylim=(-0.9, 1.6))


if __name__ == "__main__":
    main()
