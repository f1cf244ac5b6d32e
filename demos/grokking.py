"""Grokking: a net that has learned its examples by heart understands them long after (002; Power et al. 2022).

It adds numbers modulo p: (a, b) -> a + b mod p, for all p^2 pairs, of which it sees --part in training. Soon it knows
all of those, and nothing of the others: the test loss rises, and early stopping would stop here. With weight decay the
test accuracy then rises from guessing to nearly 100 %, long after; without, it stays low for as long as is drawn.

    logits = W relu(A[a] + B[b])

What it has found can be seen in the tables A and B: with weight decay each feature, as a function of the numbers on a
circle of length p, becomes a wave of one frequency; at first, and without, it is a mixture of all. Prints the accuracy
by step, when it passes 99 % in training and in the test, and how much of a feature's variance its strongest frequency
has.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import nn
import optim
from tinygrad_like import Tensor, capture, manual_seed
from tinygrad_like.training import accuracy, evaluating

from . import cli
from .figures import BLUE, MUTED, ORANGE, PURPLE, TEAL, level, slide


class Adder(nn.Module):
    """Pairs of numbers (batch, 2) -> logits of their sum modulo p, (batch, p)."""

    def __init__(self, p: int, width: int):
        self.a, self.b = nn.Embedding(p, width), nn.Embedding(p, width)
        for table in (self.a, self.b):
            nn.init.normal_(table.weight, std=width**-0.5)
        self.out = nn.Linear(width, p, bias=False)

    def forward(self, pairs: Tensor) -> Tensor:
        return self.out((self.a(pairs[:, 0]) + self.b(pairs[:, 1])).relu())


def all_pairs(p: int, part: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pairs (n, 2) and their sums modulo p (n,), for training and for the test."""
    pairs = np.stack(np.divmod(np.arange(p * p), p), axis=1)
    pairs = np.random.default_rng(seed).permutation(pairs)
    n = round(part * len(pairs))
    sums = pairs.sum(axis=1) % p
    return pairs[:n], sums[:n], pairs[n:], sums[n:]


def frequencies(net: Adder) -> np.ndarray:
    """The share of a feature's variance over the numbers that its strongest frequency has, its second strongest, and
    so on: mean over the features, (p // 2,)."""
    tables = np.concatenate([net.a.weight.detach().numpy(), net.b.weight.detach().numpy()], axis=1)
    power = np.abs(np.fft.rfft(tables, axis=0)[1:]) ** 2
    return np.sort(power / power.sum(axis=0), axis=0)[::-1].mean(axis=1)


def run(args: argparse.Namespace, weight_decay: float, bar: object) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A row (step, training loss and accuracy, test loss and accuracy) for each measurement; frequencies before and
    after."""
    manual_seed(args.seed)
    pairs, sums, test_pairs, test_sums = (Tensor(a) for a in all_pairs(args.p, args.part, args.seed))
    net, criterion = Adder(args.p, args.width), nn.CrossEntropyLoss()
    optimizer = optim.AdamW(net.parameters(), lr=args.lr, weight_decay=weight_decay, betas=(0.9, 0.98))

    @capture
    def step() -> tuple[Tensor, Tensor]:
        logits = net(pairs)
        loss = criterion(logits, sums)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return logits, loss

    @capture
    def test() -> tuple[Tensor, Tensor]:
        logits = net(test_pairs)
        return logits, criterion(logits, test_sums)

    rows, first = [], frequencies(net)
    measured = {round(args.steps ** (i / 120)) for i in range(121)}
    for i in range(1, args.steps + 1):
        logits, loss = step()
        if i in measured:
            with evaluating(net):
                test_logits, test_loss = test()
            rows.append((i, loss.item(), accuracy(logits, sums), test_loss.item(), accuracy(test_logits, test_sums)))
        bar.update()
    return np.array(rows), first, frequencies(net)


def passes(rows: np.ndarray, column: int) -> float:
    """The first measured step at which an accuracy is at least 99 %; infinite if there is none."""
    good = rows[rows[:, column] >= 0.99, 0]
    return float(good[0]) if len(good) else np.inf


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("grokking", __doc__, draws=True,
                        quick=dict(p=31, part=0.7, width=64, steps=700, weight_decay=1.0))
    parser.add_argument("--p", type=cli.whole(3, 500), default=59, metavar="P", help="the modulus")
    parser.add_argument("--part", type=cli.number(above=0, below=1), default=0.5, help="of all pairs, to learn from")
    parser.add_argument("--width", type=cli.whole(1), default=128, help="hidden features")
    parser.add_argument("--steps", type=cli.whole(2), default=6000,
                        help="of training, each on all its pairs")
    parser.add_argument("--lr", type=cli.RATE, default=1e-2, help="of AdamW")
    parser.add_argument("--weight-decay", type=cli.number(above=0, most=10), default=0.3,
                        help="compared with none")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="of weights, and of which pairs are learned")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    """The rows of `run`, by weight decay."""
    found, waves = {}, {}
    with cli.progress(total=2 * args.steps, unit="step") as bar:
        for name, decay in ((f"weight decay {args.weight_decay:g}", args.weight_decay), ("none", 0.0)):
            found[name], waves["at first"], waves[name] = run(args, decay, bar)
    print(f"{args.p**2:,} sums modulo {args.p}, of which {round(args.part * args.p**2):,} are learned; accuracy in "
          "training and in the test, %")
    print("  step  " + "  ".join(f"{name:>22}" for name in found))
    for lines in [*zip(*found.values(), strict=True)][::-8][::-1]:
        print(f"{lines[0][0]:6.0f}  " + "  ".join(f"{100 * row[2]:10.1f}, {100 * row[4]:10.1f}" for row in lines))
    for name, rows in found.items():
        train, test = passes(rows, 2), passes(rows, 4)
        print(f"{name}: 99 % of the training pairs at step {train:g}, of the test at "
              + (f"step {test:g}" if np.isfinite(test) else "no step"))
    for name, power in waves.items():
        print(f"strongest of {len(power)} frequencies of a feature, {name}: {power[0]:.0%} of its variance")
    draw(args.out, found, waves)
    return found


def draw(path: Path, found: dict[str, np.ndarray], waves: dict[str, np.ndarray]) -> None:
    with slide(path, "Grokking: understanding comes long after knowing by heart", 1, 3) as (share, loss, spectrum):
        for (name, rows), dashes in zip(found.items(), ("-", "--"), strict=True):
            for column, colour, part in ((1, BLUE, "training"), (3, ORANGE, "test")):
                line = dict(color=colour, linestyle=dashes, label=f"{part}, {name}")
                share.plot(rows[:, 0], 100 * rows[:, column + 1], **line)
                loss.plot(rows[:, 0], rows[:, column], **line)
        level(share, 100 / (2 * len(waves["at first"]) + 1), "guessing", above=True)
        share.set_title("Accuracy, %")
        loss.set(yscale="log")
        loss.set_title("Cross-entropy")
        for axes in (share, loss):
            axes.set(xscale="log", xlabel="step")
        for (name, power), colour in zip(waves.items(), (MUTED, TEAL, PURPLE), strict=True):
            spectrum.plot(np.arange(1, len(power) + 1), 100 * power, color=colour,
                          label=name)
        spectrum.legend(loc="upper right", fontsize=13)
        spectrum.set(xlabel="frequencies, strongest first", ylim=(0, None))
        spectrum.set_title("Share of a feature's variance, %")


if __name__ == "__main__":
    main()
