"""Vectorization: one layer computed by loops and by matrix products (7.17-7.21), and the features that a layer learns.

A layer of m ReLUs is applied to n houses of d numbers each. It is computed in four ways:

    weights    three loops: over houses, neurons and weights
    neurons    two loops, and a dot product w_j . x for each neuron
    layer      a loop over houses, and W x + b for each (7.19)
    batch      X W^T + b, all houses at once

Prints and draws the time per house by m = d. Then a net learns prices from size, bedrooms, zip code and wealth alone.
Nobody tells it that prices depend on family size, walkability and school quality, which are not linear in its inputs.
Prints how well a linear model predicts these three from the inputs, and from the net's learned features (7.34).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import thread_time

import numpy as np

import nn
from demos import cli
from demos.figures import BLUE, GOLD, MUTED, ORANGE, TEAL, over_seeds, slide, spread, table, ticks
from demos.recipes import one_cycle
from tinygrad_like import Tensor, random
from tinygrad_like.data import DataLoader

QUANTITIES = "family size", "walkable", "school quality"
FOUND = {"in the four inputs": MUTED, "in the features before training": GOLD, "in the learned features": TEAL}


def weights(w: np.ndarray, b: np.ndarray, houses: np.ndarray) -> np.ndarray:
    rows, columns = w.tolist(), houses.tolist()
    return np.array([[max(0.0, sum(a * v for a, v in zip(row, x, strict=True)) + bias)
                      for row, bias in zip(rows, b.tolist(), strict=True)] for x in columns])


def neurons(w: np.ndarray, b: np.ndarray, houses: np.ndarray) -> np.ndarray:
    return np.array([[max(0.0, np.dot(w[j], x) + b[j]) for j in range(len(w))] for x in houses])


def layer(w: np.ndarray, b: np.ndarray, houses: np.ndarray) -> np.ndarray:
    return np.array([np.maximum(w @ x + b, 0) for x in houses])


def batch(w: np.ndarray, b: np.ndarray, houses: np.ndarray) -> np.ndarray:
    return np.maximum(houses @ w.T + b, 0)


WAYS: dict[Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray], tuple[str, str]] = {
    weights: (MUTED, "loop over weights"), neurons: (GOLD, "dot product for each neuron"),
    layer: (BLUE, "W x for each house"), batch: (ORANGE, "one product for all houses")}


def seconds(way: Callable, *arrays: np.ndarray) -> float:
    """The CPU time of a call: the minimum over a fifth of a second, since other programs only add to it."""
    start, least = thread_time(), np.inf
    while (before := thread_time()) < start + 0.2:
        way(*arrays)
        least = min(least, thread_time() - before)
    return least


def houses(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Size, bedrooms, zip code and wealth (n, 4), from 0 to 1; QUANTITIES (n, 3); prices (n,)."""
    size, bedrooms, zip_code, wealth = x = random.numbers().uniform(0, 1, (4, n)).astype(np.float32)
    q = np.stack([np.minimum(size, bedrooms), np.abs(zip_code - 0.5), np.maximum(0, zip_code + wealth - 1)], axis=1)
    return x.T, q, q @ np.array([1.0, 1.0, 1.0], np.float32)


def features(model: nn.Sequential, x: np.ndarray) -> np.ndarray:
    """The output of the last hidden layer for x."""
    z = Tensor(x)
    for part in list(model)[:-1]:
        z = part(z)
    return z.detach().numpy()


def explained(found: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The share of the variance of each column of values that a linear model of `found` explains."""
    inputs = np.column_stack([found, np.ones(len(found))])
    rest = values - inputs @ np.linalg.lstsq(inputs, values, rcond=None)[0]
    return 1 - rest.var(axis=0) / values.var(axis=0)


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("vectorization", __doc__, draws=True, seeds=3,
                        quick=dict(sizes=[8, 32], houses=16, epochs=20, seeds=1))
    parser.add_argument("--sizes", type=cli.whole(1), nargs="+", default=[8, 16, 32, 64, 128, 256],
                        help="numbers of inputs, and of neurons")
    parser.add_argument("--houses", type=cli.whole(1), default=64, help="houses in a batch")
    parser.add_argument("--epochs", type=cli.whole(1), default=60, help="epochs of training on prices")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    """The share of the variance explained by inputs and by features: (seeds, QUANTITIES)."""
    sizes, found = sorted(set(args.sizes)), {way: np.zeros((1, len(set(args.sizes)))) for way in WAYS}
    numbers, most = np.random.default_rng(args.seed), 0.0
    for i, m in enumerate(sizes):
        arrays = numbers.standard_normal((m, m)), numbers.standard_normal(m), numbers.standard_normal((args.houses, m))
        made = [way(*arrays) for way in WAYS]
        most = max(most, *(np.abs(a - made[-1]).max() / made[-1].max() for a in made))
        for way in WAYS:
            found[way][0, i] = seconds(way, *arrays) / args.houses
    print(f"the four ways differ by at most {most:.1e} of the largest number")
    table("microseconds per house, by the number of inputs and neurons", sizes,
          {way.__name__: times for way, times in found.items()}, ".2f", 1e6)

    def learn(case: str) -> np.ndarray:
        x, q, price = houses(2000)
        model = nn.MLP([4, 16, 16, 1])
        before = explained(features(model, x), q)
        one_cycle(model, DataLoader(x, price[:, None], batch_size=50, shuffle=True), 1e-2, args.epochs, nn.MSELoss(),
                  metrics={})
        return np.stack([explained(x, q), before, explained(features(model, x), q)])

    learned = over_seeds(args, ["houses"], learn)["houses"]
    shares = {name: learned[:, i] for i, name in enumerate(FOUND)}
    table("variance explained by a linear model, %", QUANTITIES, shares)
    with slide(args.out, "The same numbers, a thousand times as fast", 1, 2, width_ratios=[1.2, 1]) as (time, share):
        for way, (colour, words) in WAYS.items():
            spread(time, sizes, 1e6 * found[way], color=colour, marker="o", label=words)
        ticks(time, sizes)
        time.set(yscale="log", title=f"Microseconds for each of {args.houses} houses",
                 xlabel="number of inputs and of neurons")
        for i, (name, values) in enumerate(shares.items()):
            share.bar(np.arange(3) + 0.28 * (i - 1), 100 * values.mean(axis=0), 0.26, label=name,
                      color=FOUND[name], yerr=100 * np.abs(values.mean(0) - [values.min(0), values.max(0)]))
        share.set_xticks(range(3), QUANTITIES)
        share.set(title="Variance explained by a linear model, %", ylim=(0, 101))
    return shares


if __name__ == "__main__":
    main()
