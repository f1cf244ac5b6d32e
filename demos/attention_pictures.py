"""Pictures of attention: the sin/cos position encoding, the similarity of positions, and attention weights (004).

    p[t, 2i] = sin(t / 10000^(2i/d)),  p[t, 2i + 1] = cos(t / 10000^(2i/d))

The dot product of two encodings depends only on the distance between their positions. A small encoder-decoder
Transformer learns to reverse strings of digits. For an unseen string, its attention weights softmax(q k / sqrt(d)) are
drawn, mean over the heads: a row per query, a column per key. In the decoder's self-attention a query sees no later
key, so a triangle is 0. The cross-attention must read the source backwards: a diagonal from the upper right. Prints
how much of the attention of each head lies on that diagonal.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import nn
from demos import cli
from demos.attention import attention_maps
from demos.figures import BLUES, DIVERGING, GREYS, INK, ORANGES, scale, slide
from demos.networks import Seq2Seq
from demos.recipes import one_cycle
from demos.sort import PAD, TASKS, VOCABULARY, TeacherForcing, batches, exact, loss, strings, tokens
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.training import evaluating


def train(length: int, examples: int, epochs: int, dim: int, heads: int, seed: int) -> tuple[Seq2Seq, list[str]]:
    """A Transformer of one layer that reverses strings, and strings that it was not trained on."""
    learned, others = strings(length, examples, 50, np.random.default_rng(seed))
    net = Seq2Seq(VOCABULARY, VOCABULARY, dim, heads, 1, 4 * dim, dropout=0.0, padding_idx=PAD)
    with cli.progress(total=epochs, unit="epoch") as bar:
        one_cycle(TeacherForcing(net, length + 1), batches(learned, "reverse", length + 1, 64), 4e-3, epochs, loss,
                  metrics={}, clip_norm=1.0, evaluate=lambda model: {"bar": float(bar.update() or 0)})
    return net, others


def attention_weights(net: Seq2Seq, word: str) -> dict[str, np.ndarray]:
    """The attention weights (heads, queries, keys) of encoder, decoder and cross-attention as the net reverses a word.
    """
    encoder, decoder = net.transformer.encoder.layers[0], net.transformer.decoder.layers[0]
    source = Tensor(tokens([word], len(word) + 1))
    target = Tensor(tokens([TASKS["reverse"](word)], len(word) + 1, start=True)[:, :-1])
    with (evaluating(net), attention_maps([encoder.self_attn]) as first,
          attention_maps([decoder.self_attn], is_causal=True) as second,
          attention_maps([decoder.multihead_attn]) as third):
        net(source, target)
    return {"encoder": first[0][0], "decoder": second[0][0], "cross": third[0][0]}


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("attention_pictures", __doc__, draws=True)
    parser.add_argument("--positions", type=cli.whole(2), default=100, help="positions of the encoding drawn")
    parser.add_argument("--dim", type=cli.whole(2), default=64, help="size of a position's encoding")
    parser.add_argument("--length", type=cli.whole(2, 18), default=8, help="length of the longest strings")
    parser.add_argument("--examples", type=cli.whole(64), default=6000, help="training strings")
    parser.add_argument("--epochs", type=cli.whole(1), default=8, help="epochs of training")
    parser.add_argument("--heads", type=cli.whole(1, 4), default=2, help="attention heads")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="random seed of strings, weights and order")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> tuple[np.ndarray, dict[str, np.ndarray], float]:
    if args.dim % (2 * args.heads):
        cli.refuse("--dim", f"must be a multiple of twice --heads {args.heads}, not {args.dim}")
    encoding = nn.sinusoidal_encoding(args.positions, args.dim)
    manual_seed(args.seed)
    net, others = train(args.length, args.examples, args.epochs, args.dim, args.heads, args.seed)
    right = float(exact(net, others, "reverse").mean())
    word = max(others, key=lambda word: (len(word), len(set(word))))
    maps = attention_weights(net, word)
    near = encoding @ encoding.T
    print("dot product of the encodings of two positions, by distance: mean, and largest deviation from it")
    for distance in (0, 1, 2, 4, 8, 16, 32):
        if distance < args.positions:
            values = np.diagonal(near, distance)
            print(f"{distance:4} {values.mean():10.3f} {np.abs(values - values.mean()).max():10.1e}")
    print(f"reversed without a mistake: {right:.1%} of {len(others)} unseen strings")
    for i, head in enumerate(maps["cross"]):
        n = len(word)
        print(f"cross-attention, head {i + 1}: {np.mean([head[t, n - 1 - t] for t in range(n)]):.1%} is on the next "
              "digit to write")
    draw(args.out, encoding, near, word, maps)
    return encoding, maps, right


def draw(path: Path, encoding: np.ndarray, near: np.ndarray, word: str, maps: dict[str, np.ndarray]) -> None:
    positions, source, written = len(encoding), [*word, "end"], ["start", *TASKS["reverse"](word)]
    lesson = "Sin/cos encodes distances; to reverse a string, a Transformer reads it backwards"
    with slide(path, lesson, 2, 3) as ((heat, alike, distance), panels):
        coloured(heat, encoding, DIVERGING, -1, "sin/cos encoding p")
        heat.set(xlabel="dimension", ylabel="position t", aspect="auto")
        coloured(alike, near, GREYS, near.min(), "Similarity p[s] · p[t]", near.max())
        alike.set(xlabel="position t", ylabel="position s", aspect="auto")
        for s, style in zip((positions // 4, positions // 2, 3 * positions // 4), ("-", "--", ":"), strict=True):
            distance.plot(np.arange(positions) - s, near[s], color=INK, linestyle=style, linewidth=1.8,
                          label=f"p[{s}] · p[t]")
        distance.set(xlabel="distance t - s", title="It depends on the distance alone")
        titles = {"encoder": ("Self-attention: encoder", source, source, BLUES),
                  "decoder": ("Self-attention: decoder, masked", written, written, BLUES),
                  "cross": ("Cross-attention: decoder to source", written, source, ORANGES)}
        for axes, (name, (title, queries, keys, colours)) in zip(panels, titles.items(), strict=True):
            coloured(axes, maps[name].mean(axis=0), colours, 0, title, 1)
            axes.set_xticks(range(len(keys)), keys)
            axes.set_yticks(range(len(queries)), queries)
            axes.tick_params(length=0, labelsize=11)
            axes.set(ylabel="query", xlabel="key", aspect="auto")


def coloured(axes: Any, values: np.ndarray, colours: str, least: float, title: str, most: float = 1) -> None:
    """A map with its colour bar."""
    shown = axes.imshow(values, cmap=colours, vmin=least, vmax=most, interpolation="nearest")
    axes.grid(False)
    axes.set_title(title)
    scale(axes.figure, shown, axes)


if __name__ == "__main__":
    main()
