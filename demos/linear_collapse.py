"""Why layers need an activation between them: without one, any number of layers is one layer (7.29-7.33).

    W_2 (W_1 x + b_1) + b_2 = (W_2 W_1) x + (W_2 b_1 + b_2)

No straight line separates a disc from the ring around it. One linear layer, several with nothing between them, and
several with an activation between them are trained to do it. The layers with nothing between them are then multiplied
into one, and the largest difference between its outputs and theirs is printed. The last panel shows, for untrained nets
of each depth, the part of the outputs' variance that the best single linear layer leaves unexplained: without an
activation it is only rounding.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import nn
import optim
from demos import cli
from demos.figures import (
    BLUE,
    DIVERGING,
    INK,
    MUTED,
    ORANGE,
    PAPER,
    TEAL,
    bare,
    over_seeds,
    slide,
    spread,
    table,
    ticks,
)
from demos.moons import train
from tinygrad_like import Tensor, manual_seed, no_grad, ops, random

ACTIVATIONS = {"nothing": nn.Identity, "ReLU": nn.ReLU, "tanh": nn.Tanh}


def disc_in_ring(n: int) -> tuple[np.ndarray, np.ndarray]:
    """n points (n, 2) and their labels (n,): 0 in the disc of radius 1, 1 in the ring from 1.4 to 2."""
    label = (np.arange(n) % 2).astype(np.float32)
    low, high = np.where(label, 1.4, 0), np.where(label, 2, 1)
    numbers = random.numbers()
    radius = np.sqrt(numbers.uniform(low**2, high**2))  # uniform over the area
    angle = numbers.uniform(0, 2 * np.pi, n)
    return (radius * np.stack([np.cos(angle), np.sin(angle)])).T.astype(np.float32), label


def build(features: int, width: int, layers: int, out: int, activation: str) -> nn.MLP:
    return nn.MLP([features, *[width] * (layers - 1), out], activation=ACTIVATIONS[activation])


def collapsed(model: nn.MLP) -> nn.Linear:
    """One layer that computes the same as the Linear layers of `model`, if there is nothing between them."""
    layers = [layer for layer in model if isinstance(layer, nn.Linear)]
    (weight, bias), *others = [[p.detach().numpy() for p in (layer.weight, layer.bias)] for layer in layers]
    for w, b in others:
        weight, bias = w @ weight, w @ bias + b
    one = nn.Linear(weight.shape[1], weight.shape[0])
    one.weight.assign(weight)
    one.bias.assign(bias)
    return one


def unexplained(model: nn.MLP, x: np.ndarray) -> float:
    """The part of the variance of the outputs that the best linear layer leaves unexplained."""
    with no_grad():
        y = model(Tensor(x)).numpy()
    inputs = np.hstack([x, np.ones((len(x), 1), x.dtype)])
    rest = y - inputs @ np.linalg.lstsq(inputs, y, rcond=None)[0]
    return float((rest**2).sum() / ((y - y.mean(axis=0)) ** 2).sum())





def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("linear_collapse", __doc__, draws=True, seeds=3,
                        quick=dict(points=200, steps=150, layers=3, width=16, depths=[1, 4], seeds=1))
    parser.add_argument("--points", type=cli.whole(2), default=400, help="points in all")
    parser.add_argument("--width", type=cli.whole(1), default=32, help="features of the hidden layers")
    parser.add_argument("--layers", type=cli.whole(2), default=4, help="layers of the deep nets")
    parser.add_argument("--steps", type=cli.whole(1), default=500, help="steps of training")
    parser.add_argument("--depths", type=cli.whole(1), nargs="+", default=[1, 2, 4, 8, 16, 32],
                        help="depths of the untrained nets")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> tuple[dict[str, np.ndarray], float, dict[str, np.ndarray]]:
    manual_seed(args.seed)
    points, label = disc_in_ring(args.points)
    x, y, depths = Tensor(points), Tensor(label), sorted(set(args.depths))
    nets = {"1 layer": (1, "nothing")} | {f"{args.layers} layers, {name} between": (args.layers, name)
                                          for name in ACTIVATIONS}
    models = {}

    def learn(name: str) -> list[float]:
        layers, activation = nets[name]
        model = models[name] = build(2, args.width, layers, 1, activation)
        train(model, x, y, args.steps, optim.AdamW(model.parameters(), lr=1e-2))
        with no_grad():
            return [float(((model(x).numpy()[:, 0] > 0) == label).mean())]

    def left_over(name: str) -> list[float]:
        noise = random.numbers().standard_normal((2000, args.width)).astype(np.float32)
        return [unexplained(kept_in_size(build(args.width, args.width, n, args.width, name)), noise) for n in depths]

    right, rest = over_seeds(args, nets, learn), over_seeds(args, ACTIVATIONS, left_over)
    deep = models[f"{args.layers} layers, nothing between"]
    with no_grad():
        difference = float(np.abs(collapsed(deep)(x).numpy() - deep(x).numpy()).max())
    table("points of a disc and a ring classified correctly", ["%"], right)
    print(f"the {args.layers} layers with nothing between multiplied into one: logits differ by at most "
          f"{difference:.1e}")
    table("variance that the best single layer leaves unexplained, by the number of layers, median", depths, rest,
          ".1e", 1)
    draw(args.out, points, label, models, right, depths, rest)
    return right, difference, rest


def kept_in_size(model: nn.MLP) -> nn.MLP:
    """The net with Kaiming's weights, which keep the size of signals (003): small signals would make tanh linear."""
    for layer in model:
        if isinstance(layer, nn.Linear):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    return model


def draw(path: Path, points: np.ndarray, label: np.ndarray, models: dict[str, nn.MLP], right: dict[str, np.ndarray],
         depths: list[int], rest: dict[str, np.ndarray]) -> None:
    across, up = np.meshgrid(np.linspace(-2.3, 2.3, 160), np.linspace(-2.3, 2.3, 160))
    grid = Tensor(np.stack([across, up], axis=-1).astype(np.float32))
    with slide(path, "Layers with nothing between them are one layer", "abe;cde") as panels:
        for axes, (name, model) in zip((panels[letter] for letter in "abcd"), models.items(), strict=True):
            with no_grad():
                probability = ops.sigmoid(model(grid)).numpy()[..., 0]
            axes.imshow(probability, cmap=DIVERGING, vmin=-0.35, vmax=1.35, origin="lower", interpolation="bilinear",
                        extent=(-2.3, 2.3, -2.3, 2.3))
            if probability.min() < 0.5 < probability.max():
                axes.contour(across, up, probability, levels=[0.5], colors=[INK], linewidths=1.8)
            for value, colour in ((0, BLUE), (1, ORANGE)):
                axes.scatter(*points[label == value].T, s=14, color=colour, edgecolors=PAPER, linewidths=0.4)
            bare(axes)
            axes.set_title(name)
            axes.set_xlabel(f"{right[name].mean():.1%} correct")
        curve = panels["e"]
        for (name, values), colour in zip(rest.items(), (BLUE, ORANGE, TEAL), strict=True):
            spread(curve, depths, np.maximum(values, 1e-16), color=colour, marker="o", label=f"{name} between")
        ticks(curve, depths)
        curve.set(yscale="log", xlabel="layers", ylim=(1e-16, 5), title="Variance unexplained by one layer")
        curve.annotate("rounding", (depths[-1], rest["nothing"][:, -1].max()), (0, 12),
                       textcoords="offset points", ha="right", color=MUTED)


if __name__ == "__main__":
    main()
