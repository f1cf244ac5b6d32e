"""Noise on the inputs acts as an l2 penalty: Bishop's result, exact for a linear model (002).

    E |y - w (x + e)|^2 = |y - w x|^2 + s^2 |w|^2      for noise e of standard deviation s

A linear model with almost as many weights as examples is trained by gradient descent, with new noise at each step.
Ridge regression with the penalty s^2 |w|^2 is solved in closed form. Prints and draws the weights of both and their
error on new data, by s.
"""

from __future__ import annotations

import argparse

import numpy as np

import optim
from demos import cli
from demos.figures import BLUE, MUTED, ORANGE, over_seeds, slide, spread, table
from tinygrad_like import Tensor, capture

EXAMPLES, FEATURES, TESTED = 24, 16, 2000


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x and y for training and for the test: y is a linear function of x plus noise."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=FEATURES)
    x = rng.normal(size=(EXAMPLES + TESTED, FEATURES))
    y = x @ true + 3 * rng.normal(size=len(x))
    return x[:EXAMPLES], y[:EXAMPLES], x[EXAMPLES:], y[EXAMPLES:]


def ridge(x: np.ndarray, y: np.ndarray, s: float) -> np.ndarray:
    """The minimum of |y - x w|^2 / n + s^2 |w|^2."""
    return np.linalg.solve(x.T @ x / len(x) + s * s * np.eye(FEATURES), x.T @ y / len(x))


def descend(x: np.ndarray, y: np.ndarray, s: float, steps: int) -> np.ndarray:
    """The same by gradient descent on noisy inputs; each step averages over 16 draws of the noise."""
    w = Tensor.zeros(FEATURES, requires_grad=True)
    inputs, target = Tensor(np.tile(x, (16, 1)).astype(np.float32)), Tensor(np.tile(y, 16).astype(np.float32))
    optimizer = optim.SGD([w], lr=optim.schedule.cosine(0.1, steps))

    @capture
    def step() -> None:
        loss = ((target - (inputs + s * Tensor.randn(*inputs.shape)) @ w) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    for _ in range(steps):
        step()
    return w.detach().numpy()


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("noise", __doc__, draws=True, seeds=3, quick=dict(noise=[0.0, 1.0], steps=600, seeds=2))
    parser.add_argument("--noise", type=cli.number(least=0, most=10), nargs="+", metavar="S",
                        default=[0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0], help="standard deviations of the noise")
    parser.add_argument("--steps", type=cli.whole(1), default=1500, help="steps of gradient descent")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    """The weights of both methods: (seeds, noise, features)."""
    sizes = sorted(set(args.noise))
    x, y, x_test, y_test = problem(args.seed)
    runs = over_seeds(args, sizes, lambda s: descend(x, y, s, args.steps))
    found = {"ridge": np.stack([ridge(x, y, s) for s in sizes])[None],
             "noise": np.stack([runs[s] for s in sizes], axis=1)}
    errors = {way: ((w @ x_test.T - y_test) ** 2).mean(axis=-1) for way, w in found.items()}
    table("error on new data, by the noise s", sizes, errors, ".2f", 1)
    apart = np.abs(found["noise"] - found["ridge"]).max() / np.abs(found["ridge"]).max()
    print(f"weights found with noise differ from those of ridge by at most {apart:.1%} of the largest weight")
    with slide(args.out, "Noise on the inputs is ridge regression", 1, 2) as (weights, error):
        for i in range(FEATURES):
            weights.plot(sizes, found["ridge"][0, :, i], color=BLUE, linewidth=1.6, label="ridge, in closed form")
            for w in found["noise"]:
                weights.plot(sizes, w[:, i], "o", color=ORANGE, markersize=5, alpha=0.7,
                             label="gradient descent with noise on the inputs")
        weights.axhline(0, color=MUTED, linewidth=1)
        error.plot(sizes, errors["ridge"][0], color=BLUE)
        spread(error, sizes, errors["noise"], color=ORANGE, marker="o", linestyle="none")
        weights.set(title=f"The {FEATURES} weights", xlabel="noise s; penalty s² |w|²")
        error.set(title="Mean squared error on new data", xlabel="noise s; penalty s² |w|²")
    return found


if __name__ == "__main__":
    main()
