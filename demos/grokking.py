"""Grokking: a net memorizes its training examples, and generalizes only long afterwards (002; Power et al. 2022).

It learns addition modulo p, (a, b) -> a + b mod p, and sees --part of the p^2 pairs in training. It soon knows all of
these and none of the others: the test loss rises, and early stopping would stop here. With weight decay the test
accuracy rises long afterwards from guessing to nearly 100%; without weight decay it stays low.

    logits = W relu(A[a] + B[b])

The tables A and B show the solution: with weight decay each feature, as a function of the numbers on a circle of
length p, becomes a wave of one frequency; at first, and without weight decay, it is a mixture of all. Prints the
accuracy by step, the step at which it reaches 99% on training and on test pairs, and the share of a feature's variance
in its strongest frequency.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import nn
import optim
from demos import cli
from demos.figures import BLUE, MUTED, ORANGE, PURPLE, TEAL, level, over_seeds, slide, spread, table
from tinygrad_like import Tensor, capture
from tinygrad_like.training import accuracy, evaluating


class Adder(nn.Module):
    """Pairs of numbers (batch, 2) -> logits of their sum modulo p, (batch, p)."""

    def __init__(self, p: int, width: int):
        self.a, self.b = nn.Embedding(p, width), nn.Embedding(p, width)
        for part in (self.a, self.b):
            nn.init.normal_(part.weight, std=width**-0.5)
        self.out = nn.Linear(width, p, bias=False)

    def forward(self, pairs: Tensor) -> Tensor:
        return self.out((self.a(pairs[:, 0]) + self.b(pairs[:, 1])).relu())


def all_pairs(p: int, part: float, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pairs (n, 2) and their sums modulo p (n,), for training and test. order: a permutation of the p^2 pairs."""
    pairs = np.stack(np.divmod(order, p), axis=1)
    n = round(part * len(pairs))
    sums = pairs.sum(axis=1) % p
    return pairs[:n], sums[:n], pairs[n:], sums[n:]


def frequencies(net: Adder) -> np.ndarray:
    """The share of a feature's variance in its strongest frequency, its second strongest, and so on: mean over the
    features, (p // 2,)."""
    tables = np.concatenate([net.a.weight.detach().numpy(), net.b.weight.detach().numpy()], axis=1)
    power = np.abs(np.fft.rfft(tables, axis=0)[1:]) ** 2
    return np.sort(power / power.sum(axis=0), axis=0)[::-1].mean(axis=1)


def run(args: argparse.Namespace, weight_decay: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A row (step, training loss and accuracy, test loss and accuracy) for each measurement, and the `frequencies`
    before and after training."""
    order = Tensor.randperm(args.p**2).numpy()
    pairs, sums, test_pairs, test_sums = (Tensor(a) for a in all_pairs(args.p, args.part, order))
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
    return np.array(rows), first, frequencies(net)


def passes(rows: np.ndarray, column: int) -> float:
    """The first measured step with an accuracy of at least 99%; infinite if there is none."""
    good = rows[rows[:, column] >= 0.99, 0]
    return float(good[0]) if len(good) else np.inf


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("grokking", __doc__, draws=True, seeds=3,
                        quick=dict(p=31, part=0.7, width=64, steps=700, weight_decay=1.0, seeds=1))
    parser.add_argument("--p", type=cli.whole(3, 500), default=59, metavar="P", help="the modulus")
    parser.add_argument("--part", type=cli.number(above=0, below=1), default=0.5, help="share of pairs for training")
    parser.add_argument("--width", type=cli.whole(1), default=128, help="hidden features")
    parser.add_argument("--steps", type=cli.whole(2), default=6000,
                        help="steps of training, each on all training pairs")
    parser.add_argument("--lr", type=cli.RATE, default=1e-2, help="learning rate of AdamW")
    parser.add_argument("--weight-decay", type=cli.number(above=0, most=10), default=0.3,
                        help="weight decay of AdamW, compared with none")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    """The rows of `run` for each seed, (seeds, rows, 5), by weight decay."""
    cases = {f"weight decay {args.weight_decay:g}": args.weight_decay, "no weight decay": 0.0}
    waves: dict[str, list] = {"at first": [], **{name: [] for name in cases}}

    def train(name: str) -> np.ndarray:
        rows, first, last = run(args, cases[name])
        waves["at first"].append(first)
        waves[name].append(last)
        return rows

    found = over_seeds(args, cases, train)
    print(f"{args.p**2:,} pairs of numbers modulo {args.p}, {round(args.part * args.p**2):,} of them for training")
    for part, column in (("on training pairs", 2), ("on test pairs", 4)):
        rows = {name: runs[:, ::-16, column][:, ::-1] for name, runs in found.items()}
        table(f"accuracy {part}, %, by step", next(iter(found.values()))[0, ::-16, 0][::-1], rows)
    for name, runs in found.items():
        steps = [[f"{passes(rows, column):g}" for rows in runs] for column in (2, 4)]
        print(f"{name}: 99% of the training pairs at step {', '.join(steps[0])}; of the test pairs at step "
              f"{', '.join(steps[1])}".replace("inf", "(never)"))
    for name, powers in waves.items():
        most = [power[0] for power in powers]
        print(f"{name}: the strongest of {len(powers[0])} frequencies has {min(most):.0%} to {max(most):.0%} of a "
              "feature's variance")
    draw(args.out, found, {name: np.array(powers) for name, powers in waves.items()})
    return found


def draw(path: Path, found: dict[str, np.ndarray], waves: dict[str, np.ndarray]) -> None:
    with slide(path, "Grokking: generalization comes long after memorization", 1, 3) as (share, loss, spectrum):
        for (name, runs), dashes in zip(found.items(), ("-", "--"), strict=True):
            for column, colour, part in ((1, BLUE, "training"), (3, ORANGE, "test")):
                line = dict(color=colour, linestyle=dashes, label=f"{part}, {name}")
                spread(share, runs[0, :, 0], 100 * runs[:, :, column + 1], **line)
                spread(loss, runs[0, :, 0], runs[:, :, column], **line)
        level(share, 100 / (2 * waves["at first"].shape[1] + 1), "guessing", above=True)
        share.set_title("Accuracy, %")
        loss.set(yscale="log")
        loss.set_title("Cross-entropy")
        for axes in (share, loss):
            axes.set(xscale="log", xlabel="step")
        for (name, powers), colour in zip(waves.items(), (MUTED, TEAL, PURPLE), strict=True):
            spread(spectrum, np.arange(1, powers.shape[1] + 1), 100 * powers, color=colour, label=name)
        spectrum.legend(loc="upper right", fontsize=13)
        spectrum.set(xlabel="frequencies, strongest first", ylim=(0, None))
        spectrum.set_title("Share of a feature's variance, %")


if __name__ == "__main__":
    main()
