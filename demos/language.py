"""A small GPT, or an LSTM or GRU (--model), learns to write like a text, one character at a time.

The text is the source of Python's standard library on this machine, or any file given with --text. The model is tested
on unseen text (other files, or the last tenth of the file), in bits per character: the number of bits that it takes to
encode that text with the model's predictions. It should beat a character 5-gram with Kneser-Ney smoothing, counted in
the training text.

Writes to --out, as language.csv and so on, or language_lstm.csv: the curve, its picture (.png, redrawn during
training), the weights (.safetensors), from which --generate writes text, and a checkpoint (.ckpt). After Ctrl-C,
--resume continues from the checkpoint; more --steps and, in proportion, more --evaluations extend a finished run.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import nn
import optim
from demos import cli
from demos.figures import BLUE, MUTED, ORANGE, figure, legend, save, style
from demos.networks import RecurrentLanguageModel
from demos.text import Characters, NGram, Windows, split_text, standard_library
from tinygrad_like import Tensor, get_num_threads, manual_seed, ops
from tinygrad_like.training import Log, evaluating, fit, load_weights, read_metadata, save_weights

SIZE, HELD_OUT = 3_000_000, 100_000  # characters
ORDER = 5


Model = nn.LanguageModel | RecurrentLanguageModel
TITLES = {"gpt": "A GPT", "lstm": "An LSTM", "gru": "A GRU"}
RECURRENT = {"d_model": 256, "layers": 2}
SIZES = {"gpt": {"d_model": 128, "layers": 4}, "lstm": RECURRENT, "gru": RECURRENT}


def bits(model: Model, tokens: np.ndarray, context: int, batch: int = 32) -> np.ndarray:
    """-log2 of the probability of each token but the first: (length - 1,).

    The model reads windows that overlap by half; each token counts in the window where more precedes it.
    """
    half, total = context // 2, len(tokens) - 1
    starts = half * np.arange(1 + max(0, -(-(total - context) // half)))
    padded = np.concatenate([tokens, np.zeros(context, tokens.dtype)])
    windows = padded[starts[:, None] + np.arange(context + 1)]
    pieces = []
    with evaluating(model):
        for i in range(0, len(windows), batch):
            rows = windows[i:i + batch]
            logp = ops.log_softmax(model(Tensor(rows[:, :-1])).numpy(), axis=-1)
            pieces.append(np.take_along_axis(logp, rows[:, 1:, None], axis=-1)[..., 0])
    nats = np.concatenate(pieces)
    return -np.concatenate([nats[0], nats[1:, context - half:].ravel()])[:total] / np.log(2)


def write(model: Model, prompt: np.ndarray, length: int, context: int, temperature: float) -> np.ndarray:
    """The prompt and `length` more tokens. The model sees at most `context` tokens: when the context is full, its first
    eighth is dropped."""
    tokens, end = prompt, len(prompt) + length
    with cli.progress(total=length, desc="writing", unit="char") as bar:
        while len(tokens) < end:
            seen = tokens[-(context - max(1, context // 8)):]
            new = model.generate(Tensor(seen), min(context - len(seen), end - len(tokens)), temperature).numpy()
            bar.update(len(new) - len(seen))
            tokens = np.concatenate([tokens, new[len(seen):]])
    return tokens


def build(net: dict[str, Any]) -> Model:
    """A GPT with rotary positions, since learned positions need many more steps; or a recurrent network."""
    vocabulary, kind = len(net["characters"]), net.get("model", "gpt")  # older files do not name it
    if kind != "gpt":
        return RecurrentLanguageModel(vocabulary, net["d_model"], net["layers"], kind)
    return nn.LanguageModel(vocabulary, net["d_model"], net["layers"], net["heads"], positions="rotary")


def path_of(args: argparse.Namespace) -> Path:
    """The path of a run's files, without their endings."""
    return args.out / ("language" if args.model == "gpt" else f"language_{args.model}")


def load(path: Path) -> tuple[Model, dict[str, Any]]:
    """A model saved by this demo, in evaluation mode, and its description: "characters", "context" and so on."""
    metadata = read_metadata(path)
    if "language" not in metadata:
        raise ValueError(f"{path} is not a language model; use a file that demos.language has written")
    net = json.loads(metadata["language"])
    model = build(net)
    load_weights(model, path)
    return model.eval(), net


def train(args: argparse.Namespace) -> dict[str, float]:
    """Train, print and draw the progress, and save; returns the bits per character of the model and of the 5-gram."""
    name = args.text.name if args.text else "Python's standard library"
    text, held = split_text(args.text, SIZE, HELD_OUT) if args.text else standard_library(SIZE, HELD_OUT)
    characters = Characters.of(text)
    x, y = characters.encode(text), characters.encode(held)
    print(f"{name}: {len(x):,} characters for training, {len(y):,} for the test, {len(characters)} different")
    baseline = float(-np.log2(NGram(x, len(characters), ORDER).probabilities(y)).mean())
    print(f"{ORDER}-gram: {baseline:.3f} bits per character", flush=True)

    manual_seed(args.seed)
    net = {"model": args.model, "characters": characters.characters, "d_model": args.d_model, "layers": args.layers,
           "heads": args.heads, "context": args.context}
    model = build(net)
    epochs = min(args.evaluations, args.steps)
    loader = Windows(x, args.context, args.batch_size, args.steps // epochs)
    steps = epochs * len(loader)
    warm = max(1, steps // 20)
    rate = optim.schedule.warmup(warm, optim.schedule.cosine(args.lr, max(1, steps - warm)))
    optimizer = optim.AdamW(optim.decay_groups(model, 0.1), lr=rate, betas=(0.9, 0.99))
    title = TITLES[args.model].split()[1]
    print(f"{title}: {sum(p.size for p in model.parameters()):,} parameters, {steps:,} steps of "
          f"{args.batch_size} x {args.context} characters, tested every {len(loader):,} (an epoch, below)", flush=True)

    path = path_of(args)
    checkpoint = path.with_suffix(".ckpt")
    with Log(path.with_suffix(".csv"), "language", picture_seconds=10,
             picture=lambda rows: draw(path.with_suffix(".png"), f"{TITLES[args.model]} learns to write like {name}",
                                         rows, baseline, len(loader))) as log:
        rows = fit(model, loader, lambda logits, y: nn.functional.cross_entropy(logits.transpose(1, 2), y), optimizer,
                   epochs, metrics={}, clip_norm=1.0,
                   evaluate=lambda model: {"test_bits": float(bits(model, y, args.context)[ORDER - 2:].mean())},
                   checkpoint=checkpoint, resume=checkpoint if args.resume else None, log=log,
                   settings={k: v for k, v in vars(args).items() if k not in NOT_SETTINGS}
                   | {"text": name, "steps per evaluation": len(loader)})
    seconds = sum(row["seconds"] for row in rows)
    result = rows[-1]["test_bits"]
    verdict = (f"{1 - result / baseline:.1%} less" if result < baseline
               else f"not better yet after {steps:,} steps; use more --steps")
    print(f"{title} {result:.3f} bits per character after {seconds:.0f} s of training, {ORDER}-gram {baseline:.3f}: "
          f"{verdict}")
    save_weights(model, path.with_suffix(".safetensors"), {"language": json.dumps(net)})
    print("", sample(model, net, "\n", args).strip(), "", sep="\n")
    print(f"weights: {path.with_suffix('.safetensors')}")
    print(f"picture: {path.with_suffix('.png')}", flush=True)
    return {"model": result, "baseline": baseline}


# Options that may change when a run is resumed.
NOT_SETTINGS = {"eager", "evaluations", "generate", "length", "out", "resume", "steps", "temperature", "text",
                "threads", "traceback"}


def sample(model: Model, net: Mapping[str, Any], prompt: str, args: argparse.Namespace) -> str:
    characters = Characters(net["characters"])
    return characters.decode(write(model, characters.encode(prompt), args.length, net["context"], args.temperature))


def draw(path: Path, title: str, rows: Sequence[Mapping[str, Any]], baseline: float, steps: int) -> Path:
    """Bits per character by step, compared with the 5-gram; each row covers `steps` steps."""
    with style():
        fig = figure(title=title)
        axes = fig.subplots()
        x = steps * np.array([row["epoch"] for row in rows])
        train, test = np.array([(row["loss"] / np.log(2), row["test_bits"]) for row in rows]).T
        dots = {"marker": "o", "markersize": 4}
        axes.plot(x - steps / 2, train, color=BLUE, label="training text", **dots)  # a mean over the steps before
        axes.plot(x, test, color=ORANGE, label=f"unseen text, final {test[-1]:.2f}", **dots)
        axes.axhline(baseline, color=MUTED, linewidth=1.2, linestyle=(0, (4, 2)),
                     label=f"{ORDER}-gram on the unseen text: {baseline:.2f}")
        axes.set(xlabel="step", xlim=(0, None))
        axes.set_title("Bits per character")
        legend(fig)
        return save(fig, path)


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("language", __doc__)
    parser.add_argument("--text", type=cli.file, metavar="FILE",
                        help="text to train on (default: Python's standard library)")
    parser.add_argument("--model", choices=tuple(TITLES), default="gpt", help="kind of model")
    parser.add_argument("--d-model", type=cli.whole(1),
                        help="features of a character (default: 128; 256 for a recurrent network)")
    parser.add_argument("--layers", type=cli.whole(1), help="number of layers (default: 4; 2 for a recurrent network)")
    parser.add_argument("--heads", type=cli.whole(1), default=4, help="attention heads in a layer of the GPT")
    parser.add_argument("--context", type=cli.whole(2), default=128,
                        help="characters that the model sees at once")
    parser.add_argument("--batch-size", type=cli.whole(1), default=16,
                        help="pieces of text in a step")
    parser.add_argument("--steps", type=cli.whole(1), default=3000, help="steps of training")
    parser.add_argument("--lr", type=cli.RATE, default=3e-3, help="peak learning rate")
    parser.add_argument("--evaluations", type=cli.whole(1), default=10,
                        help="how many times it is tested and saved")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="random seed of weights, batches and samples")
    parser.add_argument("--threads", type=cli.thread_count, metavar="N",
                        help=f"threads of the kernels (default: all, {get_num_threads()})")
    parser.add_argument("--out", type=cli.folder, default="runs", help="(default: runs)")
    parser.add_argument("--resume", action="store_true", help="continue from the checkpoint in --out")
    parser.add_argument("--generate", metavar="PROMPT",
                        help="do not train; continue this text with the model in --out")
    parser.add_argument("--length", type=cli.whole(1), default=600, help="characters to write")
    parser.add_argument("--temperature", type=cli.number(least=0), default=0.7,
                        help="sampling temperature: below 1 prefers likely characters, 0 takes the likeliest")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, float] | str:
    for name, size in SIZES[args.model].items():
        if getattr(args, name) is None:
            setattr(args, name, size)
    if args.model == "gpt" and args.d_model % (2 * args.heads):
        cli.refuse("--d-model", f"must be a multiple of twice --heads {args.heads}, since rotary positions turn pairs "
                                f"of features, not {args.d_model}")
    if args.generate == "":
        cli.refuse("--generate", "needs a prompt of at least one character")
    if args.generate is None:
        cli.need_checkpoint(args.resume, path_of(args).with_suffix(".ckpt"))
        with cli.claim([path_of(args)], args.resume):
            return train(args)
    model, net = load(path_of(args).with_suffix(".safetensors"))
    manual_seed(args.seed)
    text = sample(model, net, args.generate, args)
    print(text)
    return text


if __name__ == "__main__":
    main()
