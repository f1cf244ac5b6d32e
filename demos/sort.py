"""An encoder-decoder Transformer learns to sort strings of digits, or to reverse them, only from examples.

It reads "40813" and writes "01348", one digit after the other. It is tested on strings that it was not trained on.
Prints how many of them are completely right, by length, and draws the decoder's attention to the source.

Writes to --out, as sort.csv and so on: the curve, the picture (.png), the weights (.safetensors) and a checkpoint
(.ckpt). After Ctrl-C, --resume continues from it.
"""

from __future__ import annotations

import argparse
from itertools import takewhile

import numpy as np

import nn
import optim
from demos import cli
from demos.attention import attention_maps, draw_cross_attention
from demos.networks import Seq2Seq
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.training import Log, fit, save_weights

TASKS = {"sort": sorted, "reverse": lambda digits: digits[::-1]}
PAD, START, END, VOCABULARY = 10, 11, 12, 13  # after the digits
NOT_SETTINGS = {"eager", "epochs", "out", "resume", "traceback"}  # options that may change when a run is resumed


def strings(longest: int, count: int, tested: int, generator: np.random.Generator) -> tuple[list[str], list[str]]:
    """`count` different training strings of up to `longest` digits, and different ones for the test: up to `tested` of
    each length, but at most a tenth of all strings of that length."""
    train, test = [], []
    for length in range(1, longest + 1):
        test_count = min(tested, 10**length // 10)
        train_count = min(10**length - test_count, (count - len(train)) // (longest + 1 - length))
        chosen = generator.choice(10**length, test_count + train_count, replace=False, shuffle=False)
        words = [f"{i:0{length}}" for i in generator.permutation(chosen)]
        test += words[:test_count]
        train += words[test_count:]
    return train, test


def tokens(words: list[str], length: int, start: bool = False) -> np.ndarray:
    """(words, length) of digits, END and padding; with `start`, START comes first, so (words, length + 1)."""
    rows = [[START] * start + [int(c) for c in word] + [END] + [PAD] * (length - len(word) - 1) for word in words]
    return np.array(rows)


def batches(words: list[str], task: str, length: int, batch_size: int) -> DataLoader:
    """Training batches: source and target up to each digit, side by side, and the next digits of the target."""
    answers = tokens(["".join(TASKS[task](word)) for word in words], length, start=True)
    return DataLoader(np.concatenate([tokens(words, length), answers[:, :-1]], axis=1), answers[:, 1:],
                      batch_size=batch_size, shuffle=True)


def loss(logits: Tensor, y: Tensor) -> Tensor:
    return nn.functional.cross_entropy(logits.transpose(1, 2), y, ignore_index=PAD)


class TeacherForcing(nn.Module):
    """The net in training: its input is source and target side by side, so that each digit follows the right ones."""

    def __init__(self, net: Seq2Seq, length: int):
        self.net, self.length = net, length

    def forward(self, pairs: Tensor) -> Tensor:
        return self.net(pairs[:, :self.length], pairs[:, self.length:])


def write(net: Seq2Seq, words: list[str], batch: int = 500) -> list[str]:
    """The net's answer for each word."""
    length, written = max(map(len, words)) + 1, []
    for i in range(0, len(words), batch):
        rows = net.generate(Tensor(tokens(words[i:i + batch], length)), START, END, max_new_tokens=length + 1).numpy()
        written += ["".join(map(str, takewhile(lambda token: token < PAD, row[1:]))) for row in rows]
    return written


def exact(net: Seq2Seq, words: list[str], task: str) -> np.ndarray:
    """Whether each word is completely right."""
    return np.array([made == "".join(TASKS[task](word)) for word, made in zip(words, write(net, words), strict=True)])


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("sort", __doc__)
    parser.add_argument("--task", choices=tuple(TASKS), default="sort", help="(default: sort)")
    parser.add_argument("--length", type=cli.whole(1, 18), default=10, help="length of the longest strings")
    parser.add_argument("--examples", type=cli.whole(1), default=20_000, help="training strings")
    parser.add_argument("--epochs", type=cli.whole(1), default=6, help="passes over the training strings")
    parser.add_argument("--batch-size", type=cli.whole(1), default=64, help="strings in a step")
    parser.add_argument("--d-model", type=cli.whole(1), default=64, help="features of a digit")
    parser.add_argument("--layers", type=cli.whole(1), default=2,
                        help="layers of the encoder, and of the decoder")
    parser.add_argument("--heads", type=cli.whole(1), default=4, help="attention heads")
    parser.add_argument("--lr", type=cli.RATE, default=2e-3, help="peak learning rate")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="random seed of strings, weights and order")
    parser.add_argument("--out", type=cli.folder, default="runs",
                        help="folder for the curves, the picture and the weights")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint in --out")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> float:
    if args.d_model % args.heads or args.d_model % 2:
        cli.refuse("--d-model", f"must be an even multiple of --heads {args.heads}, not {args.d_model}")
    cli.need_checkpoint(args.resume, args.out / f"{args.task}.ckpt")
    with cli.claim([args.out / args.task], args.resume):
        return run(args)


def run(args: argparse.Namespace) -> float:
    train, test = strings(args.length, args.examples, 200, np.random.default_rng(args.seed))
    steps = args.epochs * -(-len(train) // args.batch_size)
    if steps < 11:
        cli.refuse("--epochs", f"{args.epochs} with {len(train)} strings make {steps} steps; at least 11 are needed")
    manual_seed(args.seed)
    length = args.length + 1
    net = Seq2Seq(VOCABULARY, VOCABULARY, args.d_model, args.heads, args.layers, 4 * args.d_model, dropout=0.0,
                  padding_idx=PAD)
    rate = optim.schedule.one_cycle(args.lr, steps, warm=0.1)
    print(f"{args.task}: {len(train):,} training strings of 1 to {args.length} digits, {len(test):,} others for the "
          f"test, {sum(p.size for p in net.parameters()):,} parameters", flush=True)

    path, some = args.out / args.task, test[::4]
    with Log(path.with_suffix(".csv"), args.task) as log:
        rows = fit(TeacherForcing(net, length), batches(train, args.task, length, args.batch_size), loss,
                   optim.AdamW(optim.decay_groups(net, 0.01), lr=rate), args.epochs, metrics={}, clip_norm=1.0, log=log,
                   evaluate=lambda model: {"test_accuracy": float(exact(net, some, args.task).mean())},
                   checkpoint=path.with_suffix(".ckpt"), resume=path.with_suffix(".ckpt") if args.resume else None,
                   settings={k: v for k, v in vars(args).items() if k not in NOT_SETTINGS})
    seconds = sum(row["seconds"] for row in rows)
    right, lengths = exact(net, test, args.task), np.array([len(word) for word in test])
    print("\ndigits  strings    right")
    for n in range(1, args.length + 1):
        print(f"{n:6}  {(lengths == n).sum():7}  {right[lengths == n].mean():7.1%}")
    print(f"   all  {len(test):7}  {right.mean():7.2%}   after {seconds:.0f} s of training\n")
    shown = test[-5:]
    for word, made in zip(shown, write(net, shown), strict=True):
        print(f"{word} -> {made}")
    save_weights(net, path.with_suffix(".safetensors"))
    print(f"weights: {path.with_suffix('.safetensors')}")

    word = shown[-1]
    written = write(net, [word])[0]
    with attention_maps(layer.multihead_attn for layer in net.transformer.decoder.layers) as maps:
        net.eval()(*(Tensor(rows) for rows in (tokens([word], len(word) + 1),
                                               tokens([written], len(written) + 1, start=True)[:, :-1])))
    picture = draw_cross_attention(path.with_suffix(".png"), f"{args.task} {word}: attention to the source",
                                   np.concatenate(maps), f"{word}.", f"{written}.")
    print(f"picture: {picture}", flush=True)
    return float(right.mean())


if __name__ == "__main__":
    main()
