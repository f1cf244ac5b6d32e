"""A residual net as a sum over paths: its gradient by the length of the path (002; Veit et al. 2016).

Each block outputs z + F(z), so its VJP is v + vjp_F(v): a gradient either skips the block or goes through F. L blocks
make 2^L paths, and the gradient at the input is the sum over all of them; binomial(L, k) have length k. Let a formal
variable t count the passes through F. Then the backward walk computes a polynomial,

    v(t) <- v(t) + t vjp_F(v(t))      from the last block to the first

and its coefficient of t^k is the sum over the paths of length k: L (L + 1) / 2 VJPs cover all 2^L paths, exactly.

A ResNet-S is trained on the digits. For each length, the gradients of all paths are added up. Prints and draws the
norms of these sums, each as a share of their total, before and after training. demos.lesion deletes blocks.
"""

from __future__ import annotations

import argparse
from math import comb

import numpy as np

import nn
from demos import cli
from demos.figures import BLUE, MUTED, ORANGE, over_seeds, slide, spread, table
from demos.lesion import residual
from demos.recipes import one_cycle, split_digits
from tinygrad_like import Tensor, no_grad, ops
from tinygrad_like.data import DataLoader


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


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("paths", __doc__, draws=True, seeds=3, quick=dict(blocks=8, width=32, epochs=5, seeds=1))
    parser.add_argument("--blocks", type=cli.whole(1, 60), default=16, metavar="L", help="blocks of the net")
    parser.add_argument("--width", type=cli.whole(1), default=64, help="features of each layer")
    parser.add_argument("--epochs", type=cli.whole(1), default=20, help="epochs of training")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    """The norm of the gradient from all paths of each length, before and after training: (seeds, L + 1)."""
    x, y, _, _ = split_digits(None, 0)

    def run(case: str) -> list[np.ndarray]:
        model = residual(args.width, args.blocks)
        before = strengths(model, x[:256], y[:256])
        loader = DataLoader(x, y, batch_size=64, shuffle=True)
        one_cycle(model, loader, 2e-3, args.epochs, nn.CrossEntropyLoss(label_smoothing=0.1))
        return [before, strengths(model, x[:256], y[:256])]

    runs, k = over_seeds(args, ["net"], run)["net"], np.arange(args.blocks + 1)
    found = {"before training": runs[:, 0], "after training": runs[:, 1]}
    shares = {name: values / values.sum(axis=1, keepdims=True) for name, values in found.items()}
    counts = np.array([comb(args.blocks, i) for i in k])
    print(f"{2**args.blocks:,} paths through {args.blocks} blocks; a path of length k goes through k of them")
    table("share of the gradient, %, by the length of the path", k[:9], {n: v[:, :9] for n, v in shares.items()})
    table("share of all paths, %", k[:9], {"": (counts / counts.sum())[None, :9]})
    for name, values in shares.items():
        most = (values.cumsum(axis=1) < 0.9).sum(axis=1)
        print(f"{name}: 90 % of the gradient is from paths through at most {most.max()} of {args.blocks} blocks, in "
              "every run")
    title = f"Of {2**args.blocks:,} paths through {args.blocks} residual blocks, the short ones count"
    with slide(args.out, title, 1, 2) as (one, total):
        total.bar(k, 100 * counts / counts.sum(), color=MUTED, alpha=0.35, label="share of all paths")
        for (name, values), colour in zip(found.items(), (BLUE, ORANGE), strict=True):
            each = values / counts
            spread(one, k, each / each[:, :1], color=colour, marker="o", label=f"gradient, {name}")
            spread(total, k, 100 * shares[name], color=colour, marker="o", label=f"gradient, {name}")
        one.set(title="Gradient of one path, relative to length 0", yscale="log", xlabel="length: blocks on the path")
        total.set(title="All paths of a length together, %", xlabel="length")
        total.xaxis.get_major_locator().set_params(integer=True)
    return found


if __name__ == "__main__":
    main()
