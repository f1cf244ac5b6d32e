"""What regularization does when data are few: an MLP learns the digits from a few images of each.

Each method on its own is added to the same net, trained the same way with SGD on the same images:

    none             nothing
    L2               + c sum w^2 in the loss (002)
    L1               + c sum |w|
    L1 as w = a b    each weight is a product of two, with c (sum a^2 + sum b^2) / 2 in the loss: no less than
                     c sum |w|, equal to it where |a| = |b|, and without its corner at 0 (002)
    early stopping   a fifth of the images is not trained on, and decides when to stop
    augmentation     each image is rotated, zoomed and shifted a little, at random each time
    dropout          half of the hidden activations, and a tenth of the input, are dropped
    label smoothing  a tenth of each label is spread over all classes

Prints a table of accuracy, loss and calibration error on the test images and of the weights that are close to zero,
averaged over seeds (weights, order and choice of the images), and draws it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import nn
import optim
from tinygrad_like import Tensor, manual_seed, ops
from tinygrad_like.data import (
    Compose,
    DataLoader,
    RandomRotation,
    RandomShift,
    RandomZoom,
    load_digits,
    stratified_split,
)
from tinygrad_like.training import EarlyStopping, accuracy, calibration_error, fit, predict

from . import cli
from .figures import BLUE, DOTTED, HAIR, INK, MUTED, ORANGE, PAPER, figure, save, style


class ProductLinear(nn.Module):
    """nn.Linear with the weight w = a b, element by element: spred. Source: Ziyin and Wang 2023, in 002."""

    def __init__(self, in_features: int, out_features: int):
        start = nn.Linear(in_features, out_features)
        w = start.weight.data
        self.a = nn.Parameter(np.sqrt(np.abs(w)))
        self.b = nn.Parameter(np.sign(w) * np.sqrt(np.abs(w)))
        self.bias = start.bias

    @property
    def weight(self) -> Tensor:
        return self.a * self.b

    def forward(self, x: Tensor) -> Tensor:
        return ops.linear(x, self.weight, self.bias)


@dataclass(frozen=True)
class Method:
    """What is added to the plain run. penalty: of the layers. drop: of input and of hidden activations.

    lr: the gradient of w reaches a and b multiplied by each other, which are below 1, so larger steps are needed.
    """

    penalty: Callable[[list], Tensor] | None = None
    layer: Callable[[int, int], nn.Module] = nn.Linear
    augment: Callable | None = None
    drop: tuple[float, float] = (0.0, 0.0)
    label_smoothing: float = 0.0
    patience: int | None = None
    lr: float = 0.05


# Strengths chosen by accuracy on training images that these runs do not use.
METHODS = {
    "none": Method(),
    "L2": Method(lambda layers: 2e-3 * optim.l2_penalty(layer.weight for layer in layers)),
    "L1": Method(lambda layers: 3e-4 * optim.l1_penalty(layer.weight for layer in layers)),
    "L1 as w = a b": Method(lambda layers: 1e-3 * optim.l2_penalty(p for layer in layers for p in (layer.a, layer.b)),
                            ProductLinear, lr=0.2),
    "early stopping": Method(patience=20),
    "augmentation": Method(augment=Compose([RandomRotation(15), RandomZoom((0.9, 1.1)), RandomShift(1, p=0.3)])),
    "dropout": Method(drop=(0.1, 0.5)),
    "label smoothing": Method(label_smoothing=0.1),
}
NEAR_ZERO = 1e-3


def build(method: Method, width: int) -> tuple[nn.Module, list]:
    """The net, and its linear layers."""
    sizes = [64, width, width, 10]
    layers = [method.layer(n, m) for n, m in zip(sizes, sizes[1:], strict=False)]
    parts: list[nn.Module] = [nn.Flatten()]
    for i, layer in enumerate(layers):
        if method.drop[i > 0]:
            parts.append(nn.Dropout(method.drop[i > 0]))
        parts += [layer, nn.ReLU()]
    return nn.Sequential(*parts[:-1]), layers


def run(method: Method, x: np.ndarray, y: np.ndarray, x_test: np.ndarray, y_test: np.ndarray, epochs: int,
        width: int) -> list[float]:
    """Train, and measure: training and test accuracy, test loss, calibration error, and weights near zero."""
    model, layers = build(method, width)
    stopper, evaluate, trained_on = None, None, np.arange(len(y))
    if method.patience is not None:
        trained_on, held_out = stratified_split(y, 0.2)
        stopper = EarlyStopping(model, method.patience, "min")
        loss = nn.CrossEntropyLoss()

        def evaluate(model: nn.Module) -> dict[str, float]:
            return {"val_loss": loss(Tensor(predict(model, x[held_out])), Tensor(y[held_out])).item()}

    loader = DataLoader(x[trained_on], y[trained_on], batch_size=32, shuffle=True, transform=method.augment)
    rate = optim.schedule.cosine(method.lr, epochs * len(loader))
    penalty = method.penalty
    fit(model, loader, nn.CrossEntropyLoss(label_smoothing=method.label_smoothing),
        optim.SGD(model.parameters(), lr=rate, momentum=0.9), epochs, evaluate=evaluate, stopper=stopper,
        monitor="val_loss" if stopper else None, progress=False, penalty=penalty and (lambda: penalty(layers)))
    logits = predict(model, x_test)
    weights = np.concatenate([layer.weight.data.ravel() for layer in layers])
    return [accuracy(predict(model, x[trained_on]), y[trained_on]), accuracy(logits, y_test),
            nn.functional.cross_entropy(Tensor(logits), Tensor(y_test)).item(),
            calibration_error(ops.softmax(logits, axis=-1), y_test), float((np.abs(weights) < NEAR_ZERO).mean())]


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("regularization", __doc__, draws=True)
    parser.add_argument("--each", type=cli.whole(3, 139), default=15, help="training images of each digit")
    parser.add_argument("--epochs", type=cli.whole(1), default=200, help="(default: 200)")
    parser.add_argument("--width", type=cli.whole(1), default=128, help="of both hidden layers")
    parser.add_argument("--seeds", type=cli.whole(1), default=5, help="(default: 5)")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    images, labels = load_digits()
    train, test = stratified_split(labels, 0.2)
    results: dict[str, np.ndarray] = {name: np.zeros((args.seeds, 5)) for name in METHODS}
    with cli.progress(total=args.seeds * len(METHODS), unit="run") as bar:
        for seed in range(args.seeds):
            order = np.random.default_rng(seed).permutation(train)
            chosen = np.concatenate([order[labels[order] == c][:args.each] for c in range(10)])
            for name, method in METHODS.items():
                manual_seed(seed)
                results[name][seed] = run(method, images[chosen], labels[chosen], images[test], labels[test],
                                          args.epochs, args.width)
                bar.update()

    print(f"{10 * args.each} training images, {len(test)} test images, mean of {args.seeds} seeds")
    print(f"{'':16} train acc   test acc (sd)    test loss  calibration error  |w| < {NEAR_ZERO:g}")
    for name, values in results.items():
        a, b, loss, calibration, zero = values.mean(axis=0)
        print(f"{name:16} {a:9.1%}   {b:8.1%} ({100 * values[:, 1].std():3.1f})  {loss:11.3f}  {calibration:17.3f}  "
              f"{zero:10.1%}")
    print(f"picture: {draw(args.out, results, 10 * args.each)}", flush=True)
    return results


def draw(path: Path, results: dict[str, np.ndarray], images: int) -> Path:
    """A row per method: every seed as a dot, their mean as a line, compared with the mean without regularization."""
    panels = [("Test accuracy, %", 1, 100, ".1f"), ("Test loss", 2, 1, ".2f"), ("Calibration error, %", 3, 100, ".1f"),
              ("Weights near zero, %", 4, 100, ".1f")]
    names = list(results)
    with style():
        fig = figure(11.5, 4.4, f"Regularization, with {images} images to learn from")
        for axes, (title, column, scale, form) in zip(fig.subplots(1, 4, sharey=True), panels, strict=True):
            for row, name in enumerate(names):
                values = scale * results[name][:, column]
                colour = MUTED if name == "none" else BLUE
                axes.plot([values.min(), values.max()], [row, row], color=colour, linewidth=1, alpha=0.35)
                axes.scatter(values, np.full(len(values), row), s=13, color=colour, alpha=0.4, linewidths=0)
                axes.scatter(values.mean(), row, s=64, color=colour, zorder=3)
                axes.annotate(format(values.mean(), form), (values.mean(), row), (0, 9), textcoords="offset points",
                              ha="center", color=colour, fontsize=8,
                              bbox=dict(facecolor=PAPER, edgecolor="none", pad=0.5))
            axes.axvline(scale * results["none"][:, column].mean(), color=ORANGE, linewidth=1, linestyle=DOTTED,
                         zorder=1)
            axes.set(title=title, ylim=(len(names) - 0.5, -0.7), yticks=range(len(names)), yticklabels=names)
            axes.tick_params(axis="y", length=0, labelsize=9.5, labelcolor=INK)
            axes.grid(False, axis="y")
            axes.spines["left"].set_color(HAIR)
            axes.margins(x=0.14)
        axes.set_xlabel("large dots: means; small ones: seeds; dotted: without any", loc="right")
        return save(fig, path)


if __name__ == "__main__":
    main()
