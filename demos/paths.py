"""A residual net as a sum over paths: where its gradient comes from, by the length of the path (002; Veit et al. 2016).

Each block passes on z + F(z), so its VJP is v + vjp_F(v): a gradient either skips the block or goes through F. Of L
blocks that makes 2^L paths, and the gradient at the input is the sum over all of them; binomial(L, k) have length k.
With a formal variable t for "went through F" the backward walk is a polynomial,

    v(t) <- v(t) + t vjp_F(v(t))      from the last block to the first

whose coefficient of t^k is the sum over the paths of length k: L (L + 1) / 2 VJPs give all 2^L paths, exactly.

A ResNet-S is trained on the digits. Prints, before and after training, the norm of the gradient of all paths of each
length together, as a share of the sum of these norms; and, beside it, the accuracy on the test images with some blocks
deleted, and the share of the paths that is left then.
"""

from __future__ import annotations

import argparse
from math import comb
from pathlib import Path

import numpy as np

import nn
import optim
from tinygrad_like import Tensor, manual_seed, no_grad, ops
from tinygrad_like.data import DataLoader
from tinygrad_like.training import accuracy, fit, predict

from . import cli
from .figures import BLUE, MUTED, ORANGE, figure, key, level, save, style
from .lesion import residual, without
from .recipes import split_digits


def gradient_by_length(model: nn.Sequential, x: Tensor, y: Tensor) -> np.ndarray:
    """The gradient of the loss at the first block's input, from the paths of each length: (L + 1, batch, features)."""
    with no_grad():
        z = model.project(model.flatten(x))
        inputs = []
        for block in model.units:
            inputs.append(z)
            z = block(z)
    last = z.detach().requires_grad_()
    parts = [ops.cross_entropy(model.head(last), y).gradient(last)[0]]
    for block, z in zip(reversed(list(model.units)), reversed(inputs), strict=True):
        z = z.detach().requires_grad_()
        update = block.activation(block.mm1(block.activation(block.mm2(z))))  # F(z), without the skip
        through = [update.gradient(z, gradient=v, retain_graph=True)[0] for v in parts]
        parts = [a + b for a, b in zip([*parts, 0.0], [0.0, *through], strict=True)]
    return np.stack([part.numpy() for part in parts])


def strengths(model: nn.Sequential, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The norm of the gradient from all paths of each length: (L + 1,)."""
    return np.linalg.norm(gradient_by_length(model, Tensor(x), Tensor(y)).reshape(len(model.units) + 1, -1), axis=1)


def lesions(model: nn.Sequential, x: np.ndarray, y: np.ndarray, draws: int, seed: int) -> np.ndarray:
    """Mean accuracy with 0, 1, ..., L blocks deleted at random."""
    rng, blocks = np.random.default_rng(seed), len(model.units)
    return np.array([np.mean([accuracy(predict(without(model, set(rng.choice(blocks, n, replace=False))), x), y)
                              for _ in range(1 if n in (0, blocks) else draws)]) for n in range(blocks + 1)])


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("paths", __doc__, draws=True)
    parser.add_argument("--blocks", type=cli.whole(1, 60), default=16, metavar="L", help="of the net")
    parser.add_argument("--width", type=cli.whole(1), default=64, help="features of each layer")
    parser.add_argument("--epochs", type=cli.whole(1), default=20, help="of training")
    parser.add_argument("--draws", type=cli.whole(1), default=10,
                        help="random choices of the blocks to delete, of each number")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="of weights, batches and choices")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> tuple[dict[str, np.ndarray], np.ndarray]:
    x, y, x_test, y_test = split_digits(None, 0)
    manual_seed(args.seed)
    model = residual(args.width, args.blocks)
    found = {"before training": strengths(model, x[:256], y[:256])}
    loader = DataLoader(x, y, batch_size=64, shuffle=True)
    optimizer = optim.AdamW(model.parameters(), lr=optim.schedule.one_cycle(2e-3, args.epochs * len(loader)))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    with cli.progress(total=args.epochs, unit="epoch") as bar:
        fit(model, loader, criterion, optimizer, args.epochs, progress=False,
            evaluate=lambda model: {"bar": float(bar.update() or 0)})
    found["after training"] = strengths(model, x[:256], y[:256])
    left = lesions(model, x_test, y_test, args.draws, args.seed)

    print(f"{2**args.blocks:,} paths through {args.blocks} blocks; a path of length k goes through k of them")
    print("length           paths  gradient before      after training  |  blocks deleted  paths left  test accuracy")
    for k in range(args.blocks + 1):
        before, after = (values[k] / values.sum() for values in found.values())
        print(f"{k:6}  {comb(args.blocks, k):14,}  {before:15.2%}  {after:18.2%}  |  {k:14}  {2.0**-k:10.3%}  "
              f"{left[k]:13.1%}")
    for name, values in found.items():
        most = np.cumsum(values) / values.sum()
        print(f"{name}: 90 % of it is from paths of at most {int(np.searchsorted(most, 0.9))} of {args.blocks} blocks")
    print(f"picture: {draw(args.out, args.blocks, found, left)}")
    return found, left


def draw(path: Path, blocks: int, found: dict[str, np.ndarray], left: np.ndarray) -> Path:
    k = np.arange(blocks + 1)
    paths = np.array([comb(blocks, i) / 2**blocks for i in k])
    with style():
        fig = figure(14, 4.4, f"The {2**blocks:,} paths through {blocks} residual blocks: the short ones count")
        one, total, lesion = fig.subplots(1, 3)
        for (name, values), colour in zip(found.items(), (BLUE, ORANGE), strict=True):
            each = values / np.array([comb(blocks, i) for i in k])
            one.plot(k, each / each[0], color=colour, marker="o", markersize=4, label=name)
            total.plot(k, 100 * values / values.sum(), color=colour, marker="o", markersize=4,
                       label=f"of the gradient, {name}")
        one.set(xlabel="length: blocks on the path", yscale="log", ylabel="relative to the path of length 0")
        one.set_title("Gradient of a path, mean of its length")
        key(one, 2)
        total.bar(k, 100 * paths, color=MUTED, alpha=0.3, label="of all paths")
        total.set(xlabel="length", ylabel="%")
        total.set_title("Share of each length")
        key(total, 2)
        lesion.bar(k, 100 * 2.0**-k, color=MUTED, alpha=0.3, label="paths left, %")
        lesion.plot(k, 100 * left, color=ORANGE, marker="o", markersize=4, label="test accuracy, %")
        level(lesion, 10, "guessing")
        lesion.set(xlabel="blocks deleted at random", ylim=(0, 104))
        lesion.set_title("With blocks deleted, after training")
        key(lesion, 2)
        for axes in (one, total, lesion):
            axes.xaxis.get_major_locator().set_params(integer=True)
        return save(fig, path)


if __name__ == "__main__":
    main()
