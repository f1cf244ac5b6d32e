"""Five position encodings, within and beyond the sequence length of training (004).

    none       attention sees a set, without order
    append t   the position as one more feature, [x_t; t]
    sin/cos    waves of many lengths are added
    learned    a learned vector for each position is added
    rotary     queries and keys are rotated by their position, so that their product depends on the distance alone

A one-layer Transformer learns to name the token --back places earlier, in sequences of --length. Then it is tested on
longer sequences. Prints and draws the accuracy by position.
"""

from __future__ import annotations

import argparse

import numpy as np

import nn
from demos import cli
from demos.figures import GOLD, HAIR, MUTED, ORANGE, PURPLE, TEAL, level, over_seeds, slide, spread, table
from demos.recipes import one_cycle
from tinygrad_like import Tensor, random
from tinygrad_like.data import DataLoader
from tinygrad_like.training import predict

KINDS = {"none": MUTED, "append t": GOLD, "sin/cos": TEAL, "learned": PURPLE, "rotary": ORANGE}
TOKENS, DIM, HEADS = 8, 64, 2


class Reader(nn.Module):
    """Tokens (batch, T) -> logits of the token --back places before each, (batch, T, TOKENS)."""

    def __init__(self, kind: str, trained: int, longest: int):
        self.embed, self.head, self.trained = nn.Embedding(TOKENS, DIM), nn.Linear(DIM, TOKENS), trained
        self.appended = nn.Linear(DIM + 1, DIM) if kind == "append t" else None
        self.added = {"sin/cos": nn.SinusoidalEncoding(DIM), "learned": nn.LearnedEncoding(longest, DIM)}.get(
            kind, nn.Identity())
        rotary = nn.RotaryEncoding(DIM // HEADS) if kind == "rotary" else None
        self.layer = nn.TransformerEncoderLayer(DIM, HEADS, 2 * DIM, dropout=0.0, batch_first=True, norm_first=True,
                                                rotary=rotary)

    def forward(self, tokens: Tensor) -> Tensor:
        z = self.added(self.embed(tokens))
        if self.appended is not None:
            t = np.arange(tokens.shape[1], dtype=np.float32)[:, None] / self.trained
            z = self.appended(z.cat(Tensor(np.tile(t, (len(tokens), 1, 1))), axis=-1))
        return self.head(self.layer(z))


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("positions", __doc__, draws=True, seeds=3, quick=dict(length=8, steps=400, seeds=1))
    parser.add_argument("--length", type=cli.whole(4), default=16, help="length of training sequences")
    parser.add_argument("--back", type=cli.whole(1, 3), default=2, help="distance of the token to name")
    parser.add_argument("--steps", type=cli.whole(4), default=1000, help="steps of training, with 64 sequences each")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    """The accuracy by position, of each kind: (seeds, positions)."""
    back, longest, criterion = args.back, 3 * args.length, nn.CrossEntropyLoss()

    def run(kind: str) -> np.ndarray:
        x = random.numbers().integers(0, TOKENS, (64 * args.steps, args.length))
        model = Reader(kind, args.length, longest)
        one_cycle(model, DataLoader(x, np.roll(x, back, axis=1), batch_size=64), 5e-3, 1,
                  lambda z, y: criterion(z[:, back:].transpose(1, 2), y[:, back:]), metrics={})
        x = random.numbers().integers(0, TOKENS, (500, longest))
        return (predict(model, x).argmax(axis=-1) == np.roll(x, back, axis=1)).mean(axis=0)[back:]

    found, positions = over_seeds(args, KINDS, run), np.arange(back, longest)
    parts = {f"{a + 1} to {b}": (positions >= a) & (positions < b)
             for a, b in ((0, args.length), (args.length, 2 * args.length), (2 * args.length, longest))}
    table(f"the token {back} back, % correct, by position; trained on positions up to {args.length}", parts,
          {kind: np.stack([runs[:, part].mean(axis=1) for part in parts.values()], axis=1)
           for kind, runs in found.items()})
    with slide(args.out, "Only relative positions work beyond the training length") as axes:
        axes.axvspan(0.5, args.length + 0.5, color=HAIR, alpha=0.6, linewidth=0)
        axes.annotate("training length", (1, 103), va="bottom", color=MUTED)
        for kind, colour in KINDS.items():
            spread(axes, positions + 1, 100 * found[kind], color=colour, label=kind)
        level(axes, 100 / TOKENS, "guessing", left=True)
        axes.set(title=f"“Which token was {back} places earlier?”, % correct", xlabel="position", ylim=(0, 110),
                 xlim=(0.5, longest + 0.5))
    return found


if __name__ == "__main__":
    main()
