"""Teach a trained net new classes from a few examples, and compare with training from scratch on the same examples.

A net is trained on the digits 0 to 6. It has never seen 7 to 9, and is now trained on 1, 2, 5, ... examples of each:

    new head      the head is replaced, and only the new head is trained; the body is frozen
    whole net     the head is replaced, and everything is trained, the body with smaller steps
    from scratch  a new net of the same kind is trained

Prints and draws the accuracy on the test images of the new classes. --net takes a net saved by demos.train instead.

The features of a convolutional net transfer: with few examples, fine-tuning the whole net beats training from scratch
by a few per cent; with 1 or 2 examples, runs differ by more than that. A new head alone soon falls behind. Features do
not always transfer: the body of an MLP (--model mlp) has learned little but its own classes from so few small images,
and training from scratch does as well.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product

import numpy as np

import nn
import optim
from demos import cli
from demos.figures import BLUE, MUTED, ORANGE, level, over_seeds, slide, spread, table, ticks
from demos.recipes import DATA, MODELS, RECIPES, load_data, load_net, parts_of
from tinygrad_like import manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.training import accuracy, fit, predict, replace_head

LR, HEAD_LR, BODY_LR = 3e-3, 1e-2, 2e-3
METHODS = {"new head": BLUE, "whole net": ORANGE, "from scratch": MUTED}


def fresh(net: dict) -> nn.Module:
    return MODELS[net["model"]].build(tuple(net["shape"]), len(net["classes"]), net["width"], net["depth"],
                                      **parts_of(net))


def pretrain(net: dict, x: np.ndarray, y: np.ndarray, augment: Callable, images: int) -> nn.Module:
    """Train the body on augmented images, without label smoothing: that would reduce its features to the old classes
    (Kornblith et al. 2021)."""
    model = fresh(net)
    loader = DataLoader(x, y, batch_size=64, shuffle=True, transform=augment)
    fit(model, loader, nn.CrossEntropyLoss(), optim.AdamW(model.parameters(), lr=1e-3), max(5, images // len(x)),
        progress=False)
    return model


def learn(method: str, trained: nn.Module, net: dict, classes: int, x: np.ndarray, y: np.ndarray,
          steps: int) -> nn.Module:
    """A net for the new classes, trained by one of METHODS on the examples x and y."""
    model = fresh(net)
    if method == "from scratch":
        replace_head(model, classes)
        optimizer = optim.AdamW(model.parameters(), lr=LR)
    else:
        model.load_state_dict(trained.state_dict())
        model.requires_grad_(method == "whole net")
        if method == "new head" and any(isinstance(part, nn.BatchNorm2d) for part in model.modules()):
            nn.freeze_batch_norm(model)
        head = replace_head(model, classes)
        groups = [{"params": head.parameters(), "lr": HEAD_LR}]
        if method == "whole net":
            body = set(model.parameters()) - set(head.parameters())
            groups.append({"params": [p for p in model.parameters() if p in body], "lr": BODY_LR})
        optimizer = optim.AdamW(groups)
    loader = DataLoader(x, y, batch_size=32, shuffle=True)
    fit(model, loader, nn.CrossEntropyLoss(), optimizer, -(-steps // len(loader)), progress=False)
    return model


def examples(y: np.ndarray, classes: list[int], each: int, seed: int) -> np.ndarray:
    """Indices of `each` random examples of each class."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.choice(np.flatnonzero(y == c), each, replace=False) for c in classes])


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("finetune", __doc__, draws=True, seeds=3,
                        quick=dict(examples=[5, 10], images=15_000, steps=40, seeds=2))
    parser.add_argument("--net", type=cli.file, metavar="FILE",
                        help="a net saved by demos.train, for images of --data's size")
    parser.add_argument("--model", choices=tuple(MODELS), help="model to train, without --net (default: resnet8)")
    parser.add_argument("--data", choices=tuple(DATA), default="digits", help="(default: digits)")
    parser.add_argument("--data-dir", type=cli.folder, help="folder with its files; missing ones are downloaded")
    parser.add_argument("--classes", type=cli.whole(), nargs="+", default=[7, 8, 9],
                        help="numbers of the new classes")
    parser.add_argument("--examples", type=cli.whole(1), nargs="+", default=[1, 2, 5, 10],
                        help="examples of each new class")
    parser.add_argument("--images", type=cli.whole(1), default=50_000, help="images that train the body, in all epochs")
    parser.add_argument("--steps", type=cli.whole(1), default=60, help="steps of training on the examples")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    data, new = DATA[args.data], sorted(set(args.classes))
    name = args.model or "resnet8"
    if args.net is not None and args.model is not None:
        cli.refuse("--model", "cannot be combined with --net, which has a model")
    if args.net is None and (args.data, name) not in RECIPES:
        cli.refuse("--model", f"there is no recipe for {name} on {args.data}")
    if new[-1] >= len(data.classes) or not 2 <= len(new) <= len(data.classes) - 2:
        cli.refuse("--classes", f"must be 2 to {len(data.classes) - 2} of the numbers from 0 to "
                                f"{len(data.classes) - 1}, so that at least two old classes are left")
    x, y, x_test, y_test = load_data(args.data, args.data_dir)
    most = min(np.bincount(y)[new])
    if max(args.examples) > most:
        cli.refuse("--examples", f"must be at most {most}, the number of images of the smallest new class")
    old = [c for c in range(len(data.classes)) if c not in new]
    manual_seed(0)
    if args.net is not None:
        trained, net = load_net(args.net)
        if tuple(net["shape"]) != x.shape[1:]:
            cli.refuse("--net", f"is for images of shape {tuple(net['shape'])}, but those of --data are {x.shape[1:]}")
        known = [data.classes[c] for c in new if data.classes[c] in net["classes"]]
        if known:
            print(f"note: --net was already trained on {', '.join(known)}; its scores below do not show how well it "
                  "learns new classes", flush=True)
        trained.train()
    else:
        recipe = RECIPES[args.data, name]
        net = {"model": name, "shape": x.shape[1:], "classes": old, "width": recipe.get("width"),
               "depth": recipe.get("depth")}
        member, member_test = np.isin(y, old), np.isin(y_test, old)
        trained = pretrain(net, x[member], np.searchsorted(old, y[member]), data.augment, args.images)
        right = accuracy(predict(trained, x_test[member_test]), np.searchsorted(old, y_test[member_test]))
        print(f"a net trained on {', '.join(data.classes[c] for c in old)}: {right:.1%} accuracy on their "
              f"{member_test.sum():,} test images", flush=True)

    of_new, sizes = np.isin(y_test, new), sorted(set(args.examples))
    names = ", ".join(data.classes[c] for c in new)
    draws = {(each, seed): examples(y, new, each, seed) for each in sizes for seed in range(args.seeds)}
    counts = dict.fromkeys(product(METHODS, sizes), 0)

    def run(case: tuple[str, int]) -> float:
        method, each = case
        chosen = draws[each, counts[case]]
        counts[case] += 1
        model = learn(method, trained, net, len(new), x[chosen], np.searchsorted(new, y[chosen]), args.steps)
        return accuracy(predict(model, x_test[of_new]), np.searchsorted(new, y_test[of_new]))

    runs = over_seeds(args, counts, run)
    scores = {method: np.stack([runs[method, each] for each in sizes], axis=1) for method in METHODS}
    table(f"accuracy on {of_new.sum():,} test images of {names}, %, by the number of examples of each", sizes, scores)
    with slide(args.out, f"{len(new)} new classes from a few examples: features transfer") as axes:
        for method, colour in METHODS.items():
            spread(axes, sizes, 100 * scores[method], color=colour, marker="o", label=method)
        ticks(axes, sizes)
        level(axes, 100 / len(new), "guessing")
        axes.set(title=f"Accuracy on test images of {names}, %", xlabel="examples of each new class", ylim=(0, 102))
    return scores


if __name__ == "__main__":
    main()
