"""Monte Carlo dropout on the digits: which images is a net certain about, and is it right to be certain?

It trains an MLP with dropout, and then classifies each test image many times with dropout left on (002; Gal and
Ghahramani 2016): the mean of the predicted distributions is the prediction, and its entropy is the uncertainty. Draws
the most and the least certain images with their distributions, and the accuracy without the most uncertain images.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import nn
from demos import cli
from demos.figures import BLUE, GREYS, HAIR, INK, ORANGE, bare, figure, legend, level, save, style
from demos.recipes import one_cycle, split_digits
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.data import DataLoader


def build(width: int, p: float) -> nn.Sequential:
    return nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.ReLU(), nn.Dropout(p), nn.Linear(width, width),
                         nn.ReLU(), nn.Dropout(p), nn.Linear(width, 10))


def retained_accuracy(uncertainty: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The accuracy on the n most certain images, for n = 1, ..., all."""
    return np.cumsum(right[np.argsort(uncertainty, kind="stable")]) / np.arange(1, len(right) + 1)


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("uncertainty", __doc__, draws=True,
                        quick=dict(epochs=15, width=64, samples=30, show=3))
    parser.add_argument("--p", type=cli.number(least=0, below=1), default=0.5, help="probability of dropping a feature")
    parser.add_argument("--samples", type=cli.whole(1), default=200, help="predictions of each image")
    parser.add_argument("--width", type=cli.whole(1), default=128, help="features of the hidden layers")
    parser.add_argument("--epochs", type=cli.whole(1), default=40, help="epochs of training")
    parser.add_argument("--show", type=cli.whole(1, 20), default=5, help="images of each kind")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="random seed of weights, batches and masks")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> tuple[nn.MonteCarlo, np.ndarray]:
    manual_seed(args.seed)
    x, y, x_test, y_test = split_digits(None, 0)
    model = build(args.width, args.p)
    loader = DataLoader(x, y, batch_size=64, shuffle=True)
    one_cycle(model, loader, 3e-3, args.epochs, progress=True)

    found = nn.mc_predict(model, Tensor(x_test), samples=args.samples)
    mean, entropy = found.mean.numpy(), found.entropy.numpy()
    right = mean.argmax(axis=1) == y_test
    retained = retained_accuracy(entropy, right)
    print(f"{right.mean():.1%} of {len(y_test)} test images are classified correctly")
    print(f"mean entropy of right predictions {entropy[right].mean():.3f} nats"
          + ("" if right.all() else f", of wrong predictions {entropy[~right].mean():.3f}"))
    print("accuracy on the most certain  " + "  ".join(
        f"{part:.0%}: {retained[round(part * len(y_test)) - 1]:.1%}" for part in (0.5, 0.8, 0.9, 0.95, 1)))
    print(f"picture: {draw(args.out, x_test, y_test, found, retained, args.show)}")
    return found, right


def draw(path: Path, images: np.ndarray, labels: np.ndarray, found: nn.MonteCarlo, retained: np.ndarray,
         show: int) -> Path:
    mean, std, entropy = found.mean.numpy(), found.std.numpy(), found.entropy.numpy()
    right = mean.argmax(axis=1) == labels
    order = np.argsort(entropy, kind="stable")
    with style():
        fig = figure(title="A net that knows when it may be wrong: Monte Carlo dropout")
        left, side = fig.subfigures(1, 2, width_ratios=[2.3, 1])
        certain, uncertain = left.subfigures(2, 1)
        for part, title, chosen in ((certain, "Most certain", order[:show]),
                                    (uncertain, "Least certain", order[::-1][:show])):
            part.suptitle(f"{title}: mean and standard deviation of the predictions", x=0.02,
                          ha="left", fontsize=13, color=INK)
            panels = part.subplots(2, show, squeeze=False, height_ratios=[1, 0.9])
            for (image, bars), i in zip(panels.T, chosen, strict=True):
                draw_reading(image, bars, images[i, 0], labels[i], mean[i], std[i])
        curve, histogram = side.subplots(2, 1)
        n = len(retained)
        curve.plot(100 * np.arange(1, n + 1) / n, 100 * retained, color=BLUE)
        level(curve, 100 * retained[-1], "all images", above=True, left=True)
        curve.set(xlabel="% kept, most certain first", ylim=(min(95, 100 * retained.min()), 100.15))
        curve.set_title("Accuracy, %")
        bins = np.linspace(0, max(entropy.max(), 0.1), 16)
        histogram.hist([entropy[right], entropy[~right]], bins=bins, stacked=True, color=[BLUE, ORANGE],
                       label=["right", "wrong"])
        histogram.set(xlabel="entropy, nats", ylabel="images", yscale="symlog")
        histogram.set_title("Test images by uncertainty")
        legend(fig)
        return save(fig, path)


def draw_reading(image: Any, bars: Any, pixels: np.ndarray, label: int, mean: np.ndarray, std: np.ndarray) -> None:
    """An image above, and below it the probability of each digit: of the true one in blue."""
    bare(image)
    image.imshow(pixels, cmap=GREYS, vmin=0, vmax=1)
    right = mean.argmax() == label
    image.set_title(f"is {label}" + ("" if right else f", read as {mean.argmax()}"), loc="center", fontsize=12, pad=4,
                    color=INK if right else ORANGE)
    bars.bar(range(10), mean, color=[BLUE if i == label else ORANGE for i in range(10)], width=0.75)
    bars.errorbar(range(10), mean, yerr=[np.minimum(std, mean), std], fmt="none", ecolor=INK, elinewidth=0.9)
    bars.axhline(1, color=HAIR, linewidth=0.7)
    bars.set(ylim=(0, 1.05), xticks=range(10), yticks=[0, 1])
    bars.tick_params(length=0, labelsize=10)
    bars.grid(False)
    bars.spines["left"].set_visible(False)
    bars.spines["bottom"].set_color(HAIR)


if __name__ == "__main__":
    main()
