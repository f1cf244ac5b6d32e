"""Train an MLP or a ResNet-S on the embedded digits, MNIST or Fashion-MNIST.

Without --model, both are trained one after the other. Each run prints a line per epoch and leaves, in --out, its curves
(<model>_<data>.csv) and a picture of them with the confusion matrix and misread images (<model>_<data>.png).
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

import nn
import optim
from tinygrad_like import get_num_threads, manual_seed, no_grad, set_num_threads
from tinygrad_like.data import DataLoader, RandomShift, load_digits, load_fashion_mnist, load_mnist, stratified_split

from .progress import Progress

try:
    from . import figures
except ImportError:  # matplotlib belongs to the extra `demos`
    figures = None

EPILOG = """\
defaults that depend on data and model:
                       width  depth  epochs  batch size
{defaults}

examples:
  python -m demos.train
      both models on the digits: a few seconds once the kernels are compiled
  python -m demos.train --model resnet_s --repeat-splits 0,1,2
      mean held-out accuracy over three splits
  python -m demos.train --model mlp --data mnist --data-dir ~/mnist --threads 2
      --data-dir holds the four IDX files (train-images-idx3-ubyte.gz, ...)
"""

# The digits' were chosen by accuracy on parts of the training sets that were held out for it. Fashion-MNIST: as MNIST.
DEFAULTS = {
    ("digits", "mlp"): dict(width=128, depth=2, epochs=60, batch_size=64),
    ("digits", "resnet_s"): dict(width=128, depth=4, epochs=60, batch_size=64),
    ("mnist", "mlp"): dict(width=512, depth=2, epochs=10, batch_size=128),
    ("mnist", "resnet_s"): dict(width=256, depth=8, epochs=10, batch_size=128),
}
LEARNING_RATES = {"sgd": 0.05, "adam": 3e-3, "adamw": 3e-3, "rmsprop": 1e-3}
MODELS = ("mlp", "resnet_s")

TITLES = {"mlp": "MLP", "resnet_s": "ResNet-S", "digits": "8x8 digits", "mnist": "MNIST", "fashion": "Fashion-MNIST"}
DIGITS = [str(i) for i in range(10)]
CLOTHES = ["T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]


@dataclass
class Data:
    """Images (n, 1, height, width) and labels (n,), for training and for the test."""

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


@dataclass
class Epoch:
    """One row of the curves. Training loss and accuracy are means over the epoch's batches, as they were trained on."""

    epoch: int
    loss: float
    train_accuracy: float
    test_accuracy: float
    lr: float
    seconds: float
    images_per_second: float


@dataclass
class Result:
    """What a run gives: the curves, and what the trained model reads in each test image."""

    model: str
    split: str
    parameters: int
    seconds: float
    epochs: list[Epoch]
    predictions: np.ndarray

    @property
    def accuracy(self) -> float:
        return self.epochs[-1].test_accuracy


def load(args: argparse.Namespace, split_seed: int) -> Data:
    if args.data == "digits":
        images, labels = load_digits()
        train, test = stratified_split(labels, 0.2, split_seed)
        data = Data(images[train], labels[train], images[test], labels[test])
    else:
        data = Data(*(load_mnist if args.data == "mnist" else load_fashion_mnist)(args.data_dir))
    if args.limit:
        data = Data(data.x_train[:args.limit], data.y_train[:args.limit], data.x_test, data.y_test)
    return data


def build_model(name: str, in_features: int, width: int, depth: int) -> nn.Module:
    if name == "mlp":
        body = nn.MLP([in_features, *[width] * depth, 10])
    else:
        body = nn.ResNetS(in_features, width, depth, 10)
    return nn.Sequential(nn.Flatten(), body)


def build_optimizer(args: argparse.Namespace, model: nn.Module, lr: float, steps: int) -> optim.Optimizer:
    rate: float | optim.schedule.Schedule = lr
    if args.schedule == "one_cycle":
        rate = optim.schedule.one_cycle(lr, steps)
    elif args.schedule == "cosine":
        rate = optim.schedule.cosine(lr, steps)
    decay = args.weight_decay
    if args.optimizer == "sgd":
        return optim.SGD(model.parameters(), lr=rate, momentum=0.9, nesterov=True, weight_decay=decay)
    kind = {"adam": optim.Adam, "adamw": optim.AdamW, "rmsprop": optim.RMSProp}[args.optimizer]
    return kind(model.parameters(), lr=rate, weight_decay=decay)


def train(args: argparse.Namespace, name: str, data: Data, split: str) -> Result:
    """Train the model called `name` on `data`, from `args.seed`, printing a line per epoch."""
    options = settings(args, name)
    manual_seed(args.seed)
    model = build_model(name, math.prod(data.x_train.shape[1:]), options["width"], options["depth"])
    criterion = nn.CrossEntropyLoss(label_smoothing=args.label_smoothing)
    shift = RandomShift(args.shift) if args.shift else None
    loader = DataLoader(data.x_train, data.y_train, batch_size=options["batch_size"], shuffle=True, transform=shift)
    steps = options["epochs"] * len(loader)
    optimizer = build_optimizer(args, model, options["lr"], steps)
    parameters = sum(p.size for p in model.parameters())
    print(f"\n{name} on {args.data}{split and f', split {split}'}: {len(data.x_train):,} training images, "
          f"{len(data.x_test):,} test images, {parameters:,} parameters")
    print("epoch    loss  train acc   test acc        lr  seconds   images/s", flush=True)

    epochs: list[Epoch] = []
    start = time.perf_counter()
    with Progress(steps, f"{name} on {args.data}") as progress:
        for number in range(1, options["epochs"] + 1):
            began, lr = time.perf_counter(), optimizer.lr
            loss, accuracy = train_epoch(model, criterion, optimizer, loader, progress)
            seconds = time.perf_counter() - began
            predictions = predict(model, data.x_test)
            row = Epoch(number, loss, accuracy, float((predictions == data.y_test).mean()), lr, seconds,
                        len(data.x_train) / seconds)
            epochs.append(row)
            progress.write(f"{row.epoch:5d}  {row.loss:6.4f}   {row.train_accuracy:8.2%}   {row.test_accuracy:8.2%}  "
                           f"{row.lr:8.2e}  {row.seconds:7.3f}  {row.images_per_second:9,.0f}")
    seconds = time.perf_counter() - start
    print(f"test accuracy {epochs[-1].test_accuracy:.2%} after {seconds:.1f} s", flush=True)
    return Result(name, split, parameters, seconds, epochs, predictions)


def train_epoch(model: nn.Module, criterion: nn.Module, optimizer: optim.Optimizer, loader: DataLoader,
                progress: Progress) -> tuple[float, float]:
    """One pass over the training set; returns mean loss and accuracy of the batches, each taken before its step."""
    loss_sum, correct, count = 0.0, 0, 0
    for x, y in loader:
        logits = model(x)
        loss = criterion(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss_sum += loss.item() * len(y)
        correct += int((logits.numpy().argmax(axis=1) == y.numpy()).sum())
        count += len(y)
        progress.update()
    return loss_sum / count, correct / count


def predict(model: nn.Module, images: np.ndarray) -> np.ndarray:
    """The class with the largest logit, for each image."""
    model.eval()
    with no_grad():
        logits = [model(x).numpy() for (x,) in DataLoader(images, batch_size=1000)]
    model.train()
    return np.concatenate(logits).argmax(axis=1)


def report(args: argparse.Namespace, result: Result, data: Data) -> None:
    """Write the curves as CSV and, where matplotlib is installed, the picture; print where they are."""
    path = args.out / f"{result.model}_{args.data}{result.split and f'_split{result.split}'}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Epoch)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in result.epochs)
    print(f"curves:  {path}")
    if figures is None:
        print("picture: none, as matplotlib is not installed (pip install 'tinygrad-like[demos]')")
        return
    title = f"{TITLES[result.model]} on {TITLES[args.data]}"
    picture = figures.training_report(path.with_suffix(".png"), title, result.epochs, data.x_test, data.y_test,
                                      result.predictions, CLOTHES if args.data == "fashion" else DIGITS,
                                      least_loss(args.label_smoothing, 10))
    print(f"picture: {picture}", flush=True)


def least_loss(smoothing: float, classes: int) -> float:
    """The entropy of a smoothed label: cross-entropy with it cannot be lower."""
    p = np.full(classes, smoothing / classes)
    p[0] += 1 - smoothing
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


def print_table(results: list[Result]) -> None:
    """One line per run, and the mean of each model that was trained on several splits."""
    print(f"\n{'model':10}  parameters  split  test accuracy  seconds")
    for name in dict.fromkeys(r.model for r in results):
        runs = [r for r in results if r.model == name]
        for r in runs:
            print(f"{name:10}  {r.parameters:10,}  {r.split or '-':>5}  {r.accuracy:13.2%}  {r.seconds:7.1f}")
        if len(runs) > 1:
            mean, seconds = np.mean([r.accuracy for r in runs]), sum(r.seconds for r in runs)
            print(f"{name:10}  {runs[0].parameters:10,}   mean  {mean:13.2%}  {seconds:7.1f}")


# Command line ---------------------------------------------------------------------------------------------------------


def settings(args: argparse.Namespace, name: str) -> dict[str, Any]:
    """The options whose default depends on other options: as given, else that default."""
    chosen = {**DEFAULTS["digits" if args.data == "digits" else "mnist", name], "lr": LEARNING_RATES[args.optimizer]}
    return {k: default if getattr(args, k) is None else getattr(args, k) for k, default in chosen.items()}


def parse(argv: list[str] | None) -> argparse.Namespace:
    defaults = "\n".join(f"  {data:8} {name:9} {d['width']:7}  {d['depth']:5}  {d['epochs']:6}  {d['batch_size']:10}"
                         for (data, name), d in DEFAULTS.items())
    parser = argparse.ArgumentParser(prog="python -m demos.train", description=__doc__,
                                     epilog=EPILOG.format(defaults=defaults),
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    at_least_1, at_least_0 = _whole(1), _whole(0)

    what = parser.add_argument_group("what to train, on what")
    what.add_argument("--model", choices=MODELS, help="(default: mlp, then resnet_s)")
    what.add_argument("--data", choices=("digits", "mnist", "fashion"), default="digits", help="(default: digits)")
    what.add_argument("--data-dir", type=Path, metavar="DIR",
                      help="folder with the four IDX files of MNIST or Fashion-MNIST")
    what.add_argument("--limit", type=at_least_1, metavar="N", help="train on the first N images only (default: all)")
    what.add_argument("--split-seed", type=at_least_0, default=0, metavar="N",
                      help="which stratified 80/20 split of the digits; MNIST has its own (default: 0)")
    what.add_argument("--repeat-splits", type=_seeds, metavar="N,N,...",
                      help="train anew on each of these splits, and print the mean accuracy")

    size = parser.add_argument_group("size of the model")
    size.add_argument("--width", type=at_least_1, metavar="N", help="features of the hidden layers (default: below)")
    size.add_argument("--depth", type=at_least_1, metavar="N",
                      help="hidden layers of the MLP, residual blocks of ResNet-S (default: below)")

    rates = ", ".join(f"{name} {rate:g}" for name, rate in LEARNING_RATES.items())
    how = parser.add_argument_group("how to train it")
    how.add_argument("--epochs", type=at_least_1, metavar="N", help="passes over the training set (default: below)")
    how.add_argument("--batch-size", type=at_least_1, metavar="N", help="images in a step (default: below)")
    how.add_argument("--optimizer", choices=tuple(LEARNING_RATES), default="adamw",
                     help="sgd has Nesterov momentum 0.9 (default: adamw)")
    how.add_argument("--lr", type=float, metavar="RATE",
                     help=f"highest learning rate (default: {rates})")
    how.add_argument("--schedule", choices=("one_cycle", "cosine", "constant"), default="one_cycle",
                     help="of the learning rate, by step (default: one_cycle)")
    how.add_argument("--weight-decay", type=float, default=0.01, metavar="X", help="(default: 0.01)")
    how.add_argument("--label-smoothing", type=float, default=0.1, metavar="X",
                     help="probability spread evenly over all classes (default: 0.1)")
    how.add_argument("--shift", type=at_least_0, default=0, metavar="PIXELS",
                     help="move each training image at random, by up to so many pixels (default: 0)")

    run = parser.add_argument_group("the run")
    run.add_argument("--seed", type=at_least_0, default=0, metavar="N",
                     help="of initial weights, order of batches and shifts: same seed, same numbers (default: 0)")
    run.add_argument("--threads", type=at_least_1, metavar="N",
                     help=f"threads of the kernels (default: all, {get_num_threads()})")
    run.add_argument("--out", type=Path, default=Path("runs"), metavar="DIR",
                     help="folder for curves and pictures (default: runs)")

    args = parser.parse_args(argv)
    if args.data != "digits" and args.data_dir is None:
        parser.error(f"--data {args.data} needs --data-dir, the folder with its four IDX files")
    if args.data != "digits" and args.repeat_splits:
        parser.error(f"--repeat-splits is for the digits: {args.data} comes with a test set of its own")
    return args


def _whole(least: int) -> Callable[[str], int]:
    def whole(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least {least}")
        return int(text)

    return whole


def _seeds(text: str) -> list[int]:
    return [_whole(0)(part.strip()) for part in text.split(",")]


def main(argv: list[str] | None = None) -> list[Result]:
    args = parse(argv)
    if args.threads is not None:
        set_num_threads(args.threads)
    results = []
    for name in [args.model] if args.model else MODELS:
        for seed in args.repeat_splits or [args.split_seed]:
            data = load(args, seed)
            results.append(train(args, name, data, str(seed) if args.data == "digits" else ""))
            report(args, results[-1], data)
    print_table(results)
    return results


if __name__ == "__main__":
    main()
