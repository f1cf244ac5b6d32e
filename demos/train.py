"""Train a net on the embedded digits, MNIST, Fashion-MNIST or CIFAR-10.

Without --model, it trains an MLP and then a ResNet-S. Each run prints a line per epoch and writes to --out, as
<model>_<data>...: its curves (.csv), a picture of them with the confusion matrix and misread images (.png, redrawn
during training), the trained weights (.safetensors), and a checkpoint for --resume (.ckpt).
"""

from __future__ import annotations

import argparse
import difflib
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import nn
import optim
from demos import attention, cli, figures
from demos.recipes import (
    ACTIVATIONS,
    AUGMENTATIONS,
    COMMON,
    DATA,
    LEARNING_RATES,
    MODELS,
    NORMS,
    PARTS,
    RECIPES,
    load_data,
    parts_of,
    save_net,
)
from tinygrad_like import distributed, get_num_threads, manual_seed
from tinygrad_like.data import CutMix, DataLoader, MixUp, stratified_split
from tinygrad_like.training import EarlyStopping, Log, accuracy, fit, predict, previous
from tinygrad_like.transforms.switches import compiling_seconds

EPILOG = """\
defaults that depend on data and model:
                       width  depth  epochs  batch size
{defaults}

examples:
  python -m demos.train
      both models on the digits: a few seconds once the kernels are compiled
  python -m demos.train --model resnet_s --repeat-splits 0,1,2
      mean held-out accuracy over three splits
  python -m demos.train --model resnet8 --norm group --activation silu --dropout 0.1
      a net with other parts
  python -m demos.train --model mlp --data mnist --augment light --early-stop 3
      the data set is downloaded, unless --data-dir has it
  python -m demos.train --model mlp --resume
      continues an interrupted run, with the same result as an uninterrupted one
  python -m demos.train --model mlp --epochs 120 --resume
      extends a finished run; the learning rate rises again, to that of a run of 120 epochs
  mpiexec -n 4 python -m demos.train --model resnet8
      on four cores or machines, which share each batch; the result is the same as with one process
  python -m demos.train --config run.toml --seed 1
      options from a file, with lines such as batch_size = 32; the command line takes precedence
"""


VALIDATION = 0.1  # of the training images
DEFAULT_MODELS = ["mlp", "resnet_s"]


@dataclass
class Data:
    """Images (n, channels, height, width) and labels (n,), for training and for the test.

    x_val: held-out training images if `validates`, else empty.
    """

    x_train: np.ndarray
    y_train: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    x_val: np.ndarray
    y_val: np.ndarray


@dataclass
class Result:
    """The result of a run: a row of numbers per epoch, and the trained net's prediction for each test image."""

    model: str
    split: str
    parameters: int
    seconds: float
    rows: list[dict[str, Any]]
    predictions: np.ndarray
    accuracy: float


def load(args: argparse.Namespace, split: int) -> Data:
    x, y, x_test, y_test = load_data(args.data, args.data_dir, split)
    x, y = x[:args.limit], y[:args.limit]
    held_out = np.zeros(0, dtype=np.int64)
    if validates(args):
        rest, held_out = stratified_split(y, args.validation or VALIDATION, split)
        return Data(x[rest], y[rest], x_test, y_test, x[held_out], y[held_out])
    return Data(x, y, x_test, y_test, x[held_out], y[held_out])


def validates(args: argparse.Namespace) -> bool:
    """Whether decisions in training need validation images; the test set must not decide anything."""
    return args.early_stop is not None or args.schedule == "plateau"


def build_optimizer(options: dict[str, Any], model: nn.Module, steps: int) -> optim.Optimizer:
    lr = options["lr"]
    rate = {
        "one_cycle": lambda: optim.schedule.one_cycle(lr, steps),
        "cosine": lambda: optim.schedule.cosine(lr, steps),
        "warmup_cosine": lambda: optim.schedule.warmup(max(1, steps // 20), optim.schedule.cosine(lr, steps)),
        "plateau": lambda: optim.schedule.ReduceOnPlateau(lr, "max", factor=0.3, patience=4),
        "constant": lambda: lr,
    }[options["schedule"]]()
    groups = optim.decay_groups(model, options["weight_decay"])
    if options["optimizer"] == "sgd":
        return optim.SGD(groups, lr=rate, momentum=0.9, nesterov=True)
    return {"adam": optim.Adam, "adamw": optim.AdamW, "rmsprop": optim.RMSProp}[options["optimizer"]](groups, lr=rate)


def train(args: argparse.Namespace, name: str, data: Data, split: str) -> Result:
    """Train the model called `name` on `data`, printing a line per epoch; save and draw the result."""
    options, dataset = settings(args, name), DATA[args.data]
    path = run_path(args, name, split)
    manual_seed(args.seed)
    model = MODELS[name].build(data.x_train.shape[1:], len(dataset.classes), options.get("width"),
                               options.get("depth"), **parts_of(options))
    mix = (MixUp(len(dataset.classes), args.mixup) if args.mixup else
           CutMix(len(dataset.classes), args.cutmix) if args.cutmix else None)
    loader = DataLoader(data.x_train, data.y_train, batch_size=options["batch_size"], shuffle=True, mix=mix,
                        transform=AUGMENTATIONS[options["augment"]](dataset))
    steps = options["epochs"] * -(-len(loader) // args.accumulate)
    if options["schedule"] == "one_cycle" and steps < 4:
        cli.refuse("--epochs", f"{options['epochs']} with {len(data.x_train)} images make {steps} steps, but one_cycle "
                               "needs 4; train longer, or with --schedule constant")
    optimizer = build_optimizer(options, model, steps)
    weights = [p for p in model.parameters() if p.ndim > 1]
    rate = optimizer.param_groups[0]["lr"]
    parameters = sum(p.size for p in model.parameters())
    print(f"\n{name} on {args.data}{split and f', split {split}'}: {len(data.x_train):,} training images, "
          f"{len(data.x_test):,} test images, {parameters:,} parameters", flush=True)
    title, least = titled(name, dataset, options)
    if least:
        print(f"label smoothing of {options['label_smoothing']:g} keeps the loss above {least:.2f}", flush=True)

    def evaluate(model: nn.Module) -> dict[str, float]:
        def share(x, y):
            return accuracy(predict(model, x, shared=True), y)

        row = {"test_accuracy": share(data.x_test, data.y_test)}
        return row if not len(data.x_val) else {"val_accuracy": share(data.x_val, data.y_val)} | row

    with Log(path.with_suffix(".csv"), f"{name} on {args.data}",
             tensorboard=args.out / "tensorboard" / path.name if args.tensorboard else None,
             picture=lambda rows: figures.training_curves(path.with_suffix(".png"), title, rows, least),
             picture_seconds=10) as log:
        rows = fit(model, loader, nn.CrossEntropyLoss(label_smoothing=options["label_smoothing"]), optimizer,
                   options["epochs"], evaluate=evaluate, monitor="val_accuracy" if validates(args) else None,
                   stopper=EarlyStopping(model, args.early_stop) if args.early_stop else None,
                   plateau=rate if isinstance(rate, optim.schedule.ReduceOnPlateau) else None,
                   ema=optim.EMA(model, args.ema) if args.ema else None, checkpoint=path.with_suffix(".ckpt"),
                   resume=checkpoint_to_resume(args, path), log=log, accumulate=args.accumulate,
                   clip_norm=args.clip_norm, penalty=(lambda: args.l1 * optim.l1_penalty(weights)) if args.l1 else None,
                   settings={k: v for k, v in {**vars(args), **options}.items() if k not in NOT_SETTINGS})
    seconds = sum(row["seconds"] for row in rows)
    predictions = predict(model, data.x_test, shared=True).argmax(axis=1)
    result = Result(name, split, parameters, seconds, rows, predictions, accuracy(predictions, data.y_test))
    if distributed.rank == 0:
        report(args, result, model, data, path, options)
    return result


def report(args: argparse.Namespace, result: Result, model: nn.Module, data: Data, path: Path,
           options: dict[str, Any]) -> None:
    """Print the result of a run, save the net, and draw the report."""
    name, dataset = result.model, DATA[args.data]
    title, least = titled(name, dataset, options)
    print(f"test accuracy {result.accuracy:.2%} after {result.seconds:.1f} s of training and {len(result.rows)} epochs")
    save_net(path.with_suffix(".safetensors"), model, name, args.data, data.x_train.shape[1:], options)
    print(f"weights: {path.with_suffix('.safetensors')}")
    print(f"curves:  {path.with_suffix('.csv')}")
    picture = figures.training_report(path.with_suffix(".png"), title, result.rows, data.x_test, data.y_test,
                                      result.predictions, dataset.classes, least)
    print(f"picture: {picture}", flush=True)
    if isinstance(model, nn.ViT):
        one = np.unique(data.y_test, return_index=True)[1][:7]  # of each class
        picture = attention.draw_vit(path.with_name(f"{path.name}_attention.png"), f"{title}: attention", model,
                                     data.x_test[one], data.y_test[one], dataset.classes)
        print(f"picture: {picture}", flush=True)


def titled(name: str, dataset: Any, options: dict[str, Any]) -> tuple[str, float]:
    """The title of a run's pictures, and the smallest possible loss."""
    parts = parts_of(options)
    made = [f"{parts['norm']} norm".replace("none norm", "no norm")] if parts["norm"] else []
    made += [parts["activation"]] if parts["activation"] else []
    made += [f"dropout {parts['dropout']:g}"] if parts["dropout"] else []
    return (f"{MODELS[name].title}{' with ' * bool(made)}{', '.join(made)} on {dataset.title}",
            least_loss(options["label_smoothing"], len(dataset.classes)))


def run_path(args: argparse.Namespace, name: str, split: str) -> Path:
    """The path of a run's files, without their endings."""
    return args.out / f"{name}_{args.data}{split and f'_split{split}'}"


# Options that may change when a run is resumed.
NOT_SETTINGS = {"config", "data_dir", "eager", "epochs", "model", "out", "repeat_splits", "resume", "split_seed",
                "tensorboard", "threads", "traceback"}


def checkpoint_to_resume(args: argparse.Namespace, path: Path) -> Path | None:
    """The checkpoint of this run; None if there is none, such as for a second run that had not begun."""
    path = path.with_suffix(".ckpt")
    path = previous(path) if args.resume == "previous" else path
    return path if args.resume and distributed.from_rank_0(path.exists) else None


def least_loss(smoothing: float, classes: int) -> float:
    """The entropy of a smoothed label, which is the smallest possible cross-entropy."""
    p = np.full(classes, smoothing / classes)
    p[0] += 1 - smoothing
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


def print_table(results: list[Result], compiled: float = 0.0) -> None:
    """One line per run, the mean of each model that was trained on several splits, and the seconds of compilation."""
    print(f"\n{'model':10}  parameters  split  test accuracy  seconds")
    for name in dict.fromkeys(r.model for r in results):
        runs = [r for r in results if r.model == name]
        for r in runs:
            print(f"{name:10}  {r.parameters:10,}  {r.split or '-':>5}  {r.accuracy:13.2%}  {r.seconds:7.1f}")
        if len(runs) > 1:
            mean, seconds = np.mean([r.accuracy for r in runs]), sum(r.seconds for r in runs)
            print(f"{name:10}  {runs[0].parameters:10,}   mean  {mean:13.2%}  {seconds:7.1f}")
    if compiled > 1:
        print(f"{compiled:.1f} s of this went into compiling kernels, which only the first run on a machine needs")


# Command line ---------------------------------------------------------------------------------------------------------


def settings(args: argparse.Namespace, name: str) -> dict[str, Any]:
    """The options whose default depends on data, model or optimizer: the given value, or the default."""
    recipe = {**COMMON, **RECIPES[args.data, name]}
    given = {k: v for k, v in vars(args).items() if v is not None}
    optimizer = given.get("optimizer", recipe["optimizer"])
    lr = LEARNING_RATES[optimizer] if optimizer != recipe["optimizer"] else recipe.get("lr", LEARNING_RATES[optimizer])
    return {k: given.get(k, default) for k, default in {**recipe, "lr": lr}.items()}


def make_parser() -> argparse.ArgumentParser:
    defaults = "\n".join(f"  {data:8} {name:9} {d.get('width', '-'):>7}  {d.get('depth', '-'):>5}  {d['epochs']:6}  "
                         f"{d['batch_size']:10}" for (data, name), d in RECIPES.items())
    parser = cli.parser("train", __doc__, EPILOG.format(defaults=defaults))
    at_least_1, at_least_0 = cli.whole(1), cli.whole(0)

    what = parser.add_argument_group("model and data")
    what.add_argument("--model", choices=tuple(MODELS), help="(default: mlp, then resnet_s)")
    what.add_argument("--data", choices=tuple(DATA), default="digits", help="(default: digits)")
    what.add_argument("--data-dir", type=cli.folder,
                      help="folder with the data set's files; missing ones are downloaded into it "
                           "(default: your cache folder)")
    what.add_argument("--limit", type=at_least_1, metavar="N", help="train on the first N images only (default: all)")
    what.add_argument("--split-seed", type=at_least_0, metavar="N",
                      help="which stratified 80/20 split of the digits; other data come with a split (default: 0)")
    what.add_argument("--repeat-splits", type=_seeds, metavar="N,N,...",
                      help="train on each of these splits, and print the mean accuracy")

    size = parser.add_argument_group("size of the model")
    size.add_argument("--width", type=at_least_1, metavar="N",
                      help="features of the hidden layers, channels of the first stage of the CNN or ResNet (default: "
                           "below)")
    size.add_argument("--depth", type=at_least_1, metavar="N",
                      help="hidden layers of the MLP, blocks of ResNet-S and ViT, convolutions of the CNN or blocks of "
                           "the ResNet in each stage (default: below)")

    parts = parser.add_argument_group("parts of the model (default: its own norm and activation, no dropout)")
    parts.add_argument("--norm", choices=NORMS, help="norm of hidden layers; " + "; ".join(
        f"{name}: {', '.join(model.norms)}" for name, model in MODELS.items() if model.norms))
    parts.add_argument("--activation", choices=tuple(ACTIVATIONS), help="activation of hidden layers")
    parts.add_argument("--dropout", type=cli.number(least=0, below=1), metavar="P",
                       help="drop each hidden feature, or channel of images, with this probability in training")

    _add_training(parser.add_argument_group("training"))

    run = parser.add_argument_group("the run")
    run.add_argument("--seed", type=at_least_0, default=0, metavar="N",
                     help="random seed of initial weights, batch order and augmentation (default: 0)")
    run.add_argument("--threads", type=cli.thread_count, metavar="N",
                     help=f"threads of the kernels (default: all, {get_num_threads()})")
    run.add_argument("--out", type=cli.folder, default="runs",
                     help="folder for curves, pictures and weights (default: runs)")
    run.add_argument("--resume", nargs="?", const="latest", choices=("latest", "previous"),
                     help="continue from the checkpoint in --out; previous: from the one before, if it is damaged")
    run.add_argument("--tensorboard", action=argparse.BooleanOptionalAction, default=False,
                     help="log to --out/tensorboard as well (default: no)")
    run.add_argument("--config", type=cli.file, metavar="FILE.toml", help="a file with more of these options")
    return parser


def _add_training(how: Any) -> None:
    at_least_1 = cli.whole(1)
    rates = ", ".join(f"{name} {rate:g}" for name, rate in LEARNING_RATES.items())
    how.add_argument("--epochs", type=at_least_1, metavar="N", help="passes over the training set (default: below)")
    how.add_argument("--batch-size", type=at_least_1, metavar="N", help="images in a step (default: below)")
    how.add_argument("--optimizer", choices=tuple(LEARNING_RATES),
                     help="sgd has Nesterov momentum 0.9 (default: adamw)")
    how.add_argument("--lr", type=cli.RATE, help=f"highest learning rate (default: {rates})")
    how.add_argument("--schedule", choices=("one_cycle", "cosine", "warmup_cosine", "plateau", "constant"),
                     help="schedule of the learning rate; plateau: reduce it when the validation accuracy stops "
                          "rising (default: one_cycle)")
    how.add_argument("--weight-decay", type=cli.number(least=0, most=100),
                     help="weight decay of matrices, not of biases (default: 0.01)")
    how.add_argument("--label-smoothing", type=cli.number(least=0, below=1),
                     help="probability spread evenly over all classes (default: 0.1)")
    how.add_argument("--augment", choices=tuple(AUGMENTATIONS),
                     help="change training images at random; light: shifts, crops or flips that suit the data "
                          "(default: none)")
    mixing = how.add_mutually_exclusive_group()
    mixing.add_argument("--mixup", type=cli.number(above=0), metavar="ALPHA",
                        help="blend pairs of images, and their labels")
    mixing.add_argument("--cutmix", type=cli.number(above=0), metavar="ALPHA",
                        help="put a box of one image into another, and mix their labels")
    how.add_argument("--ema", type=cli.number(least=0, below=1), metavar="DECAY",
                     help="evaluate an average of the weights with this decay, such as 0.999 (default: no)")
    how.add_argument("--early-stop", type=at_least_1, metavar="EPOCHS",
                     help="stop if the validation accuracy has not risen for EPOCHS epochs, and restore the best")
    how.add_argument("--validation", type=cli.number(above=0, below=1), metavar="PART",
                     help="share of training images held out for --early-stop and --schedule plateau (default: 0.1)")
    how.add_argument("--accumulate", type=at_least_1, default=1, metavar="N",
                     help="add up the gradients of N batches for a step (default: 1)")
    how.add_argument("--clip-norm", type=cli.number(above=0), help="largest norm of the gradient")
    how.add_argument("--l1", type=cli.number(least=0), default=0.0,
                     help="add X times the sum of |w| over all matrices to the loss (default: 0)")


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = make_parser()
    args = parser.parse_args(argv)
    if args.config is not None:
        args = parser.parse_args([*options_from_file(parser, args.config), *(sys.argv[1:] if argv is None else argv)])
    if args.data != "digits" and args.repeat_splits:
        cli.refuse("--repeat-splits", f"is for the digits; {args.data} has its own test set")
    if args.split_seed is not None and args.repeat_splits:
        cli.refuse("--split-seed", "is for one split; --repeat-splits names several")
    if args.model is not None and (args.data, args.model) not in RECIPES:
        cli.refuse("--model", f"there is no recipe for {args.model} on {args.data}")
    if args.validation is not None and not validates(args):
        cli.refuse("--validation", "has no use without --early-stop or --schedule plateau")
    if args.model == "vit" and args.width is not None and args.width % 16:
        cli.refuse("--width", f"must be a multiple of 16, the width of a head, not {args.width}")
    for model in [args.model] if args.model else DEFAULT_MODELS:
        for name in PARTS:
            if getattr(args, name) is not None and not MODELS[model].norms:
                cli.refuse(f"--{name}", f"the parts of {model} are fixed")
        if args.norm is not None and args.norm not in MODELS[model].norms:
            cli.refuse("--norm", f"{model} has {', '.join(MODELS[model].norms)}, not {args.norm}")
    for name in ("width", "depth"):
        if args.model is not None and getattr(args, name) is not None and name not in RECIPES[args.data, args.model]:
            cli.refuse(f"--{name}", f"the size of {args.model} is fixed")
    return args


def options_from_file(parser: argparse.ArgumentParser, path: Path) -> list[str]:
    """The options in a TOML file as on the command line, so that the parser checks them."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        texts = {key: ",".join(map(str, value)) if isinstance(value, list) else str(value)
                 for key, value in table.items()}  # may raise: str refuses integers of more than 4300 digits
    except (OSError, RecursionError, ValueError) as error:
        cli.refuse("--config", f"{path}: {error}")
    known = {name for action in parser._actions for name in action.option_strings} - {"--help", "--config"}
    words = []
    for key, value in table.items():
        name = "--" + key.replace("_", "-")
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            cli.refuse("--config", f"{path}: unknown key {key!r}"
                       + (f"; did you mean {near[0][2:]!r}?" if near else ""))
        if isinstance(value, bool):
            words.append(name if value else f"--no-{name[2:]}")
        else:
            words.append(f"{name}={texts[key]}")
    return words


def _seeds(text: str) -> list[int]:
    return [cli.whole()(part.strip()) for part in text.split(",")]


@cli.command(make_parser, parse, ranks=True)
def main(args: argparse.Namespace) -> list[Result]:
    names = [args.model] if args.model else DEFAULT_MODELS
    runs = [(name, split, str(split) if args.data == "digits" else "")
            for name in names for split in args.repeat_splits or [args.split_seed or 0]]
    paths = [run_path(args, name, split) for name, _, split in runs]
    if args.resume and checkpoint_to_resume(args, paths[0]) is None:
        cli.refuse("--resume", f"there is no checkpoint {paths[0]}.ckpt; start without --resume")
    results = []
    with cli.claim(paths, bool(args.resume)):
        for name, number, split in runs:
            results.append(train(args, name, load(args, number), split))
    print_table(results, compiling_seconds())
    return results


if __name__ == "__main__":
    main()
