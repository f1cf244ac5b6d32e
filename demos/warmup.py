"""The position of the norm decides how deep a Transformer can be, and whether it needs warmup (003).

    post-norm   z <- norm(z + F(z))     the gradient passes every norm: deep nets fail without warmup
    pre-norm    z <- z + F(norm(z))     an identity connects input and output: deep nets train without warmup

Transformers of 2 to 12 layers classify the digits, a row of pixels per token, with Adam at the same peak rate: from the
first step, or after a warmup in which the rate rises from 0. Prints and draws the test accuracy. With warmup, deep
post-norm is the best of all, which is why it was used despite the trouble.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

import nn
import optim
from demos import cli
from demos.figures import BLUE, ORANGE, level, over_seeds, slide, spread, table
from demos.recipes import split_digits
from tinygrad_like import Tensor
from tinygrad_like.data import DataLoader
from tinygrad_like.training import accuracy, fit, predict

NORMS = {"pre-norm": BLUE, "post-norm": ORANGE}
WARMUPS = {"no warmup": 0.0, "warmup": 0.3}  # share of the steps


class Reader(nn.Module):
    """Images (batch, 1, 8, 8) -> logits (batch, 10)."""

    def __init__(self, norm: str, layers: int, dim: int):
        first = norm == "pre-norm"
        self.embed, self.positions = nn.Linear(8, dim), nn.LearnedEncoding(8, dim)
        self.layers = nn.Sequential(*[nn.TransformerEncoderLayer(dim, 2, 2 * dim, dropout=0.0, batch_first=True,
                                                                 norm_first=first) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(dim) if first else nn.Identity(), nn.Linear(dim, 10)

    def forward(self, x: Tensor) -> Tensor:
        z = self.layers(self.positions(self.embed(x.squeeze(1))))
        return self.head(self.norm(z).mean(axis=1))


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("warmup", __doc__, draws=True, seeds=3, quick=dict(layers=[1, 10], epochs=4, seeds=1))
    parser.add_argument("--layers", type=cli.whole(1), nargs="+", default=[2, 6, 12], help="numbers of layers")
    parser.add_argument("--dim", type=cli.whole(2), default=32, help="features of a token")
    parser.add_argument("--epochs", type=cli.whole(1), default=6, help="epochs of training")
    parser.add_argument("--lr", type=cli.RATE, default=6e-3, help="peak learning rate")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[tuple, np.ndarray]:
    """The test accuracy by norm and warmup: (seeds, depths)."""
    x, y, x_test, y_test = split_digits(None, 0)
    depths = sorted(set(args.layers))

    def run(case: tuple[str, str, int]) -> float:
        norm, warmup, layers = case
        model, loader = Reader(norm, layers, args.dim), DataLoader(x, y, batch_size=64, shuffle=True)
        steps = args.epochs * len(loader)
        warm = round(WARMUPS[warmup] * steps)
        rate = optim.schedule.cosine(args.lr, steps - warm)
        optimizer = optim.Adam(model.parameters(), lr=optim.schedule.warmup(warm, rate) if warm else rate)
        fit(model, loader, nn.CrossEntropyLoss(), optimizer, args.epochs, progress=False)
        return accuracy(predict(model, x_test), y_test)

    runs = over_seeds(args, product(NORMS, WARMUPS, depths), run)
    found = {(norm, warmup): np.stack([runs[norm, warmup, n] for n in depths], axis=1)
             for norm, warmup in product(NORMS, WARMUPS)}
    table("test accuracy, %, by the number of layers", depths, {", ".join(k): v for k, v in found.items()})
    with slide(args.out, "Deep post-norm needs warmup; pre-norm trains without", 1, 2, sharey=True) as panels:
        for axes, warmup in zip(panels, WARMUPS, strict=True):
            for norm, colour in NORMS.items():
                spread(axes, depths, 100 * found[norm, warmup], color=colour, marker="o", label=norm)
            level(axes, 10, "guessing", left=True)
            axes.set(title=f"Test accuracy, %, {warmup}", xlabel="layers", xticks=depths, ylim=(0, 102))
    return found


if __name__ == "__main__":
    main()
