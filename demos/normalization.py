"""What each norm averages over, and what follows from it: batch sizes, learning rates, evaluation, fine-tuning (002).

Above, the numbers that one output of each norm depends on, found by the gradient of that output: they are those whose
mean and variance it is normalised with. Below, an MLP with a norm after each hidden layer learns the digits:

    batch size     as many passes over the data with batches of each size, at the same learning rate
    evaluation     the nets with BatchNorm again, evaluated with the running averages of training, with the statistics
                   of test batches of the same size, and with those of the whole training set, re-estimated afterwards
    learning rate  plain SGD at each learning rate
    fine-tuning    a net with BatchNorm, once trained, goes on with two images of each digit, in batches of two: with
                   its running statistics updated by those batches, or frozen

Prints tables of the accuracy on the test images, and draws it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import nn
import optim
from tinygrad_like import Tensor, manual_seed, no_grad
from tinygrad_like.data import DataLoader
from tinygrad_like.training import accuracy, fit, predict

from . import cli
from .figures import BLUE, GOLD, HAIR, INK, MUTED, ORANGE, PURPLE, TEAL, figure, key, level, save, style
from .recipes import Arrays, split_digits

IMAGES, CHANNELS, SIDE, OUTPUT = 4, 6, 3, (1, 2, 1, 1)  # of a small batch, and the output whose gradient is taken
AVERAGES: dict[str, Callable[[Tensor], Tensor]] = {
    "BatchNorm": lambda x: nn.BatchNorm2d(CHANNELS)(x),
    "LayerNorm, variant A": lambda x: nn.LayerNorm((CHANNELS, SIDE, SIDE))(x),
    "LayerNorm, variant B": lambda x: nn.LayerNorm(CHANNELS)(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2),
    "InstanceNorm": lambda x: nn.InstanceNorm2d(CHANNELS)(x),
    "GroupNorm, 2 groups": lambda x: nn.GroupNorm(2, CHANNELS)(x),
}
NORMS: dict[str, tuple[Callable[[int], nn.Module] | None, str]] = {
    "no norm": (None, MUTED), "BatchNorm": (nn.BatchNorm1d, BLUE), "LayerNorm": (nn.LayerNorm, ORANGE),
    "GroupNorm": (lambda width: nn.GroupNorm(min(8, width), width), TEAL), "RMSNorm": (nn.RMSNorm, PURPLE)}
EVALUATIONS = {"running averages": BLUE, "of test batches": GOLD, "re-estimated": TEAL}


def depends_on(norm: Callable[[Tensor], Tensor]) -> np.ndarray:
    """Which numbers of a batch one output depends on, by its gradient: bool (images, channels, height, width)."""
    x = Tensor.randn(IMAGES, CHANNELS, SIDE, SIDE).requires_grad_()
    norm(x)[OUTPUT].backward()
    return np.abs(x.grad.numpy()) > 1e-6


def build(norm: str, width: int) -> nn.Sequential:
    """Three hidden layers, each followed by the norm and a ReLU; for images of 8x8."""
    make = NORMS[norm][0]
    parts: list[nn.Module] = [nn.Flatten()]
    for features in (64, width, width):
        parts += [nn.Linear(features, width), *([make(width)] if make else []), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(width, 10))


def train(model: nn.Module, x: np.ndarray, y: np.ndarray, batch_size: int, epochs: int,
          optimizer: optim.Optimizer) -> None:
    loader = DataLoader(x, y, batch_size=batch_size, shuffle=True, drop_last=True)
    with suppress(FloatingPointError):  # the learning rate was too large; the net is left as it is then
        fit(model, loader, nn.CrossEntropyLoss(), optimizer, epochs, progress=False)


def score(model: nn.Module, x: np.ndarray, y: np.ndarray) -> float:
    return accuracy(predict(model, x), y)


def evaluations(model: nn.Module, data: Arrays, batch_size: int) -> list[float]:
    """Accuracy with each of EVALUATIONS as the statistics of the batch norms."""
    x, _, x_test, y_test = data
    running, right = score(model, x_test, y_test), []
    with no_grad():
        model.train()
        for i in range(0, len(x_test) - batch_size + 1, batch_size):  # a shorter last batch has other statistics
            part = slice(i, i + batch_size)
            right.append(model(Tensor(x_test[part])).numpy().argmax(axis=1) == y_test[part])
    nn.reestimate_batch_norm(model, DataLoader(x, batch_size=256))
    return [running, float(np.mean(right)), score(model, x_test, y_test)]


def by_batch_size(data: Arrays, sizes: list[int], epochs: int, width: int, seed: int, done: Callable[[], Any]
                  ) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    found: dict[str, list[float]] = {name: [] for name in NORMS}
    ways: dict[str, list[float]] = {name: [] for name in EVALUATIONS}
    for name, size in ((name, size) for name in NORMS for size in sizes):
        manual_seed(seed)
        model = build(name, width)
        train(model, *data[:2], size, epochs, optim.AdamW(model.parameters(), lr=1e-3))
        found[name].append(score(model, *data[2:]))
        if name == "BatchNorm":
            for way, value in zip(EVALUATIONS, evaluations(model, data, size), strict=True):
                ways[way].append(value)
        done()
    return found, ways


def by_learning_rate(data: Arrays, rates: list[float], epochs: int, width: int, seed: int, done: Callable[[], Any]
                     ) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in NORMS}
    for name, lr in ((name, lr) for name in NORMS for lr in rates):
        manual_seed(seed)
        model = build(name, width)
        train(model, *data[:2], 64, epochs, optim.SGD(model.parameters(), lr=lr))
        found[name].append(score(model, *data[2:]))
        done()
    return found


def fine_tuning(data: Arrays, epochs: int, width: int, seed: int, passes: int, done: Callable[[], Any]
                ) -> dict[str, list[float]]:
    """Accuracy before, and after each pass over two images of each digit, with updated and with frozen statistics."""
    x, y, x_test, y_test = data
    few = np.concatenate([np.flatnonzero(y == c)[:2] for c in range(10)])
    found = {}
    for name in ("updated", "frozen"):
        manual_seed(seed)
        model = build("BatchNorm", width)
        train(model, x, y, 64, 2 * epochs, optim.AdamW(model.parameters(), lr=1e-3))
        nn.freeze_batch_norm(model, name == "frozen")
        optimizer = optim.SGD(model.parameters(), lr=1e-3)
        found[name] = [score(model, x_test, y_test)]
        for _ in range(passes):
            train(model, x[few], y[few], 2, 1, optimizer)
            found[name].append(score(model, x_test, y_test))
        done()
    return found


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("normalization", __doc__, draws=True)
    parser.add_argument("--batch-sizes", type=cli.whole(2, 359), nargs="+",
                        default=[2, 3, 4, 8, 16, 64, 256], help="for the first two")
    parser.add_argument("--rates", type=cli.number(above=0, most=1000), nargs="+", metavar="RATE",
                        default=[0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10], help="learning rates of SGD")
    parser.add_argument("--epochs", type=cli.whole(1), default=5, help="of training")
    parser.add_argument("--passes", type=cli.whole(1), default=10, help="of fine-tuning")
    parser.add_argument("--width", type=cli.whole(8), default=64, help="of the hidden layers")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="of weights and batches")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, Any]:
    data = split_digits(None, 0)
    sizes, rates = sorted(set(args.batch_sizes)), sorted(set(args.rates))
    manual_seed(args.seed)
    sets = {name: depends_on(norm) for name, norm in AVERAGES.items()}
    with cli.progress(total=len(NORMS) * (len(sizes) + len(rates)) + 2, unit="net") as bar:
        by_size, ways = by_batch_size(data, sizes, args.epochs, args.width, args.seed, bar.update)
        by_rate = by_learning_rate(data, rates, args.epochs, args.width, args.seed, bar.update)
        tuned = fine_tuning(data, args.epochs, args.width, args.seed, args.passes, bar.update)
    print(f"of {IMAGES} images with {CHANNELS} channels of {SIDE} x {SIDE}, an output depends on")
    for name, chosen in sets.items():
        print(f"  {name:22} {chosen.sum():3d} numbers of {chosen.any(axis=(1, 2, 3)).sum()} images and "
              f"{chosen.any(axis=(0, 2, 3)).sum()} channels")
    table("test accuracy, %, by batch size", sizes, by_size)
    table("with BatchNorm, evaluated with statistics", sizes, ways)
    table("test accuracy, %, by the learning rate of SGD", rates, by_rate)
    table("fine-tuned in batches of two, statistics", list(range(args.passes + 1)), tuned)
    print(f"picture: {draw(args.out, sets, sizes, by_size, ways, rates, by_rate, tuned)}")
    return dict(sets=sets, by_size=by_size, ways=ways, by_rate=by_rate, tuned=tuned)


def table(title: str, columns: list, rows: dict[str, list[float]]) -> None:
    print(f"{title:44}" + "".join(f"{n:>7g}" for n in columns))
    for name, values in rows.items():
        print(f"  {name:42}" + "".join(f"{100 * value:7.1f}" for value in values))


def draw(path: Path, sets: dict[str, np.ndarray], sizes: list[int], by_size: dict[str, list[float]],
         ways: dict[str, list[float]], rates: list[float], by_rate: dict[str, list[float]],
         tuned: dict[str, list[float]]) -> Path:
    with style():
        fig = figure(15, 8, "Norms differ in what they average over")
        top, bottom = fig.subfigures(2, 1, height_ratios=[1, 1.25])
        top.suptitle("The numbers (blue) whose mean and variance normalise one output (orange)", x=0.012, ha="left",
                     fontsize=11, color=INK)
        for axes, (name, chosen) in zip(top.subplots(1, len(sets)), sets.items(), strict=True):
            draw_set(axes, name, chosen)
        size, way, rate, tune = bottom.subplots(1, 4)
        for axes, x, found, title, label, colours in (
                (size, sizes, by_size, "Test accuracy, %", "batch size", {n: c for n, (_, c) in NORMS.items()}),
                (way, sizes, ways, "BatchNorm, by its statistics, %", "batch size", EVALUATIONS),
                (rate, rates, by_rate, "Test accuracy, %", "learning rate of SGD, batches of 64",
                 {n: c for n, (_, c) in NORMS.items()}),
                (tune, range(len(tuned["frozen"])), tuned, "Fine-tuned in batches of two, %",
                 "passes over 20 images", {"updated": ORANGE, "frozen": BLUE})):
            for name, values in found.items():
                axes.plot(x, 100 * np.array(values), color=colours[name], marker="o", markersize=3.5, label=name)
            axes.set(xlabel=label)
            if axes is not tune:
                axes.set_xscale("log")
                axes.set_xticks(x, [f"{n:g}" for n in x])
                axes.minorticks_off()
            axes.set_title(title)
            key(axes, 2)
        level(rate, 10, "guessing")
        return save(fig, path)


def draw_set(axes: Any, name: str, chosen: np.ndarray) -> None:
    """A row per image and a column per channel, each a small map of its pixels."""
    for i, j in np.ndindex(IMAGES, CHANNELS):
        left, top = j * (SIDE + 0.8), i * (SIDE + 0.8)
        axes.pcolormesh(left + np.arange(SIDE + 1), top + np.arange(SIDE + 1), chosen[i, j].astype(float), vmin=0,
                        vmax=1.0, cmap="demos blues", edgecolors=HAIR, linewidth=0.6)
    i, j, y, x = OUTPUT
    axes.plot(j * (SIDE + 0.8) + x + 0.5, i * (SIDE + 0.8) + y + 0.5, "s", color=ORANGE, markersize=4.5)
    axes.set(aspect="equal", xlabel="channels", ylabel="images")
    axes.invert_yaxis()
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_title(name, fontsize=10)


if __name__ == "__main__":
    main()
