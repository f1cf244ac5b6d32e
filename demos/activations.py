"""Draw the activation functions of (7.24-7.28) and their derivatives, computed by the engine's gradients."""

from __future__ import annotations

import argparse

import numpy as np

import nn
from demos import cli
from demos.figures import BLUE, HAIR, MUTED, ORANGE, slide
from tinygrad_like import Tensor

ACTIVATIONS: dict[str, tuple[nn.Module, str]] = {
    "identity": (nn.Identity(), r"$z$"),
    "binary step": (nn.BinaryStep(), r"$1\ \mathrm{if}\ z \geq 0\ \mathrm{else}\ 0$"),
    "ReLU": (nn.ReLU(), r"$\max(z, 0)$"),
    "leaky ReLU, γ = 0.1": (nn.LeakyReLU(0.1), r"$\max(z, \gamma z)$"),
    "ELU": (nn.ELU(), r"$z\ \mathrm{if}\ z > 0\ \mathrm{else}\ e^z - 1$"),
    "sigmoid": (nn.Sigmoid(), r"$1\,/\,(1 + e^{-z})$"),
    "tanh": (nn.Tanh(), r"$(e^z - e^{-z})\,/\,(e^z + e^{-z})$"),
    "GELU": (nn.GELU(), r"$\frac{z}{2}\,(1 + \mathrm{erf}(z / \sqrt{2}))$"),
    "SiLU": (nn.SiLU(), r"$z\,/\,(1 + e^{-z})$"),
    "softplus, β = 1": (nn.Softplus(), r"$\log(1 + e^{\beta z})\,/\,\beta$"),
}


def value_and_derivative(f: nn.Module, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """f and f' at each of `points`: the VJP with a cotangent of ones, since f works element by element."""
    z = Tensor(points, requires_grad=True)
    y = f(z)
    y.backward(np.ones_like(points))
    return y.detach().numpy(), z.grad.numpy()


def broken(points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """`values` with NaN at each jump, so that no vertical line is drawn there."""
    jumps = np.abs(np.diff(values)) > 20 * (points[1] - points[0])
    return np.where(np.append(jumps, False), np.nan, values)


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("activations", __doc__, draws=True)
    parser.add_argument("--range", type=cli.number(above=0), default=4.0, help="draw from minus this to this")
    parser.add_argument("--points", type=cli.whole(2), default=2000, help="points on each curve")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> None:
    points = np.linspace(-args.range, args.range, args.points)
    with slide(args.out, "Activation functions, and their derivatives by the engine", 2, 5, sharex=True, sharey=True
               ) as panels:
        for axes, (name, (f, formula)) in zip(panels.flat, ACTIVATIONS.items(), strict=True):
            value, derivative = value_and_derivative(f, points)
            axes.axhline(0, color=MUTED, linewidth=0.7)
            axes.axvline(0, color=MUTED, linewidth=0.7)
            axes.plot(points, broken(points, derivative), color=ORANGE, linewidth=2, label="derivative σ′(z)")
            axes.plot(points, broken(points, value), color=BLUE, linewidth=2.8, label="activation σ(z)")
            axes.set(xlim=(-args.range, args.range), ylim=(-1.35, 2.6))
            axes.set_title(name, fontweight="bold", pad=24, fontsize=13)
            axes.text(0, 1.035, formula, transform=axes.transAxes, color=MUTED, fontsize=11)
            axes.tick_params(color=HAIR)
        for axes in panels[1]:
            axes.set_xlabel("z")


if __name__ == "__main__":
    main()
