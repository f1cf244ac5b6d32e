"""A scaling law: the loss falls as a power of a net's size, until the data are too few for it (002).

MLPs of many widths learn to predict the next character of Python's standard library from the eight before it, each
from a short, a longer and a long text. Prints and draws the least loss on other text that a net reaches in training, in
bits per character, by its number of weights; and the exponent of the power law through the nets on the longest text.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

import nn
import optim
from tinygrad_like import Tensor
from tinygrad_like.training import fit, predict

from . import cli
from .figures import BLUE, GOLD, INK, MUTED, TEAL, over_seeds, slide, spread, table, ticks
from .text import Characters, Windows, standard_library

CONTEXT, EMBEDDED, TESTED = 8, 12, 20_000


def build(vocabulary: int, width: int) -> nn.Module:
    return nn.Sequential(nn.Embedding(vocabulary, EMBEDDED), nn.Flatten(),
                         nn.MLP([CONTEXT * EMBEDDED, width, vocabulary]))


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("scaling", __doc__, draws=True, seeds=2,
                        quick=dict(widths=[4, 64], texts=[3000, 100_000], steps=300, seeds=1))
    parser.add_argument("--widths", type=cli.whole(1), nargs="+", default=[4, 16, 64, 256],
                        help="hidden features")
    parser.add_argument("--texts", type=cli.whole(1000), nargs="+", default=[10_000, 50_000, 1_000_000],
                        help="characters to learn from")
    parser.add_argument("--steps", type=cli.whole(10), default=1500, help="of training, with 128 characters each")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[int, np.ndarray]:
    """The least test loss in bits, by the length of the text: (seeds, widths)."""
    widths, lengths, criterion = sorted(set(args.widths)), sorted(set(args.texts)), nn.CrossEntropyLoss()
    text, other = standard_library(lengths[-1], TESTED)
    characters = Characters.of(text)
    learned, tested = characters.encode(text), characters.encode(other)
    stretches = np.lib.stride_tricks.sliding_window_view(tested, CONTEXT + 1)

    def run(case: tuple[int, int]) -> float:
        length, width = case
        model, least = build(len(characters), width), np.inf

        def evaluate(model: nn.Module) -> dict[str, float]:
            nonlocal least
            loss = criterion(Tensor(predict(model, stretches[:, :-1])), Tensor(stretches[:, -1])).item()
            least = min(least, loss / np.log(2))
            return {}

        loader = Windows(learned[:length], CONTEXT, 128, args.steps // 10)
        optimizer = optim.AdamW(model.parameters(), lr=optim.schedule.one_cycle(1e-2, 10 * len(loader)))
        fit(model, loader, lambda z, y: criterion(z, y[:, -1]), optimizer, 10, metrics={}, evaluate=evaluate,
            progress=False)
        return least

    runs = over_seeds(args, product(lengths, widths), run)
    found = {n: np.stack([runs[n, width] for width in widths], axis=1) for n in lengths}
    sizes = np.array([sum(p.size for p in build(len(characters), width).parameters()) for width in widths])
    table("bits per character, by the number of weights and the length of the text", sizes,
          {f"{n:,} characters": v for n, v in found.items()}, ".3f", 1)
    slope, start = np.polyfit(np.log(sizes), np.log(found[lengths[-1]].mean(axis=0)), 1)
    print(f"on the longest text the loss falls as size^{slope:.3f}")
    with slide(args.out, "Larger nets are better by a power law, while there are data") as axes:
        for n, colour in zip(lengths, (GOLD, TEAL, BLUE, MUTED) * len(lengths), strict=False):
            spread(axes, sizes, found[n], color=colour, marker="o", label=f"{n:,} characters to learn from")
        axes.plot(sizes, np.exp(start) * sizes**slope, color=INK, linestyle="--", linewidth=1.4,
                  label=f"power law, size^{slope:.2f}")
        ticks(axes, sizes)
        axes.set(yscale="log", title="Least loss on other text, bits per character", xlabel="weights of the net")
        axes.yaxis.set_minor_formatter("{x:g}")
    return found


if __name__ == "__main__":
    main()
