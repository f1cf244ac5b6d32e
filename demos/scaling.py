"""A scaling law: the loss falls towards a floor as a power of a net's size, as long as there are enough data (002).

MLPs of many widths learn to predict the next character of Python's standard library from the eight before it, each
from a short, a longer and a long text. Prints and draws the smallest test loss of each net during training, in bits per
character, by its number of weights (without the embeddings, which are the same in all nets). Also fits the law
floor + factor size^-power to the nets on the longest text. The floor is the entropy that remains, given eight
characters.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

import nn
from demos import cli
from demos.figures import BLUE, GOLD, INK, MUTED, TEAL, over_seeds, slide, spread, table, ticks
from demos.recipes import one_cycle
from demos.text import Characters, Windows, standard_library
from tinygrad_like import Tensor
from tinygrad_like.training import predict

CONTEXT, EMBEDDED, TESTED = 8, 12, 20_000


def build(vocabulary: int, width: int) -> nn.Module:
    return nn.Sequential(nn.Embedding(vocabulary, EMBEDDED), nn.Flatten(),
                         nn.MLP([CONTEXT * EMBEDDED, width, vocabulary]))


def law(sizes: np.ndarray, losses: np.ndarray) -> tuple[float, float, float]:
    """floor, factor and power of the least squares fit floor + factor size^-power."""
    def best(power: float) -> tuple[np.ndarray, float]:
        columns = np.stack([np.ones(len(sizes)), sizes**-power], axis=1)
        factors = np.linalg.lstsq(columns, losses, rcond=None)[0]
        return factors, float(((columns @ factors - losses) ** 2).sum())

    power = min(np.linspace(0.01, 1.5, 150), key=lambda power: best(power)[1])
    floor, factor = best(power)[0]
    return float(floor), float(factor), float(power)


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("scaling", __doc__, draws=True, seeds=2,
                        quick=dict(widths=[4, 64], texts=[3000, 100_000], steps=300, seeds=1))
    parser.add_argument("--widths", type=cli.whole(1), nargs="+", default=[4, 8, 16, 32, 64, 128, 256],
                        help="numbers of hidden features")
    parser.add_argument("--texts", type=cli.whole(1000), nargs="+", default=[10_000, 50_000, 1_000_000],
                        help="lengths of the training texts")
    parser.add_argument("--steps", type=cli.whole(10), default=1500, help="steps of training, with 128 characters each")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[int, np.ndarray]:
    """The smallest test loss in bits, by the length of the text: (seeds, widths)."""
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
        one_cycle(model, loader, 1e-2, 10, lambda z, y: criterion(z, y[:, -1]), metrics={}, evaluate=evaluate)
        return least

    runs = over_seeds(args, product(lengths, widths), run)
    found = {n: np.stack([runs[n, width] for width in widths], axis=1) for n in lengths}
    sizes = np.array([sum(p.size for p in build(len(characters), width)[2].parameters()) for width in widths])
    table("bits per character, by the number of weights and the length of the text", sizes,
          {f"{n:,} characters": v for n, v in found.items()}, ".3f", 1)
    floor, factor, power = law(sizes, found[lengths[-1]].mean(axis=0))
    words = f"{floor:.2f} + {factor:.3g} size^-{power:.2f}"
    print(f"fit on the longest text: {words}")
    with slide(args.out, "Larger nets are better by a power law, if there are enough data") as axes:
        for n, colour in zip(lengths, (GOLD, TEAL, BLUE, MUTED) * len(lengths), strict=False):
            spread(axes, sizes, found[n], color=colour, marker="o", label=f"{n:,} characters")
        axes.plot(sizes, floor + factor * sizes**-power, color=INK, linestyle="--", linewidth=1.4, label=words)
        ticks(axes, sizes)
        axes.set(yscale="log", xlabel="weights of the net",
                 title="Smallest test loss, bits per character, by length of the training text")
        axes.yaxis.set_minor_formatter("{x:g}")
    return found


if __name__ == "__main__":
    main()
