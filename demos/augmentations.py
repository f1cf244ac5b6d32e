"""Draw what each augmentation does to real images: one picture for each, a row per image, a new draw per column."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from demos import cli
from demos.figures import BLUE, GREYS, HAIR, MUTED, figure, save, style
from demos.recipes import DATA, load_data
from tinygrad_like import data, manual_seed


def transforms(height: int) -> dict[str, tuple[Callable, str]]:
    """File name to transform and its description, for images of this height."""
    step = max(1, height // 8)
    return {
        "gaussian_noise": (data.GaussianNoise(0.15), "Gaussian noise, standard deviation 0.15"),
        "horizontal_flip": (data.RandomHorizontalFlip(), "Horizontal flip, with probability 1/2"),
        "crop": (data.RandomCrop(height, padding=step), f"Crop of {height} pixels out of the image padded by {step}"),
        "shift": (data.RandomShift(step), f"Shift by up to {step} pixel{'s' if step > 1 else ''}"),
        "rotation": (data.RandomRotation(30), "Rotation by up to 30 degrees"),
        "zoom": (data.RandomZoom(0.4), "Zoom by 0.6 to 1.4"),
        "brightness": (data.RandomBrightness(0.7), "Brightness times 0.3 to 1.7"),
        "contrast": (data.RandomContrast(0.7), "Contrast times 0.3 to 1.7"),
        "cutout": (data.Cutout(3 * step), f"Cutout of {3 * step} x {3 * step} pixels"),
        "randaugment": (data.RandAugment(2, 9), "RandAugment: 2 operations of magnitude 9"),
        "compose": (data.Compose([data.RandomCrop(height, padding=step), data.RandAugment(), data.Cutout(2 * step)]),
                    "Composed: crop, RandAugment and cutout"),
        "mixup": (data.MixUp(10, alpha=1.0), "Mixup, Beta(1, 1): images and labels mixed"),
        "cutmix": (data.CutMix(10), "CutMix, Beta(1, 1): a box of another image, labels mixed by area"),
    }  # fmt: skip


def in_words(label: np.ndarray) -> str:
    """The classes of a mixed label, largest share first: "70% 3, 30% 8"."""
    classes = [c for c in np.argsort(-label)[:2] if label[c] >= 0.005]
    return ", ".join(f"{label[c]:.0%} {c}" for c in classes)


def show(axes: Any, image: np.ndarray, title: str = "", colour: str = MUTED) -> None:
    axes.imshow(image.transpose(1, 2, 0).clip(0, 1), cmap=GREYS, vmin=0, vmax=1, interpolation="nearest")
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    for spine in axes.spines.values():  # so that the edge of a white image is visible
        spine.set(visible=True, color=HAIR if colour == MUTED else colour, linewidth=0.8 if colour == MUTED else 1.4)
    axes.set_title(title, loc="center", fontsize=8, pad=3, color=colour)


def sheet(path: Path, title: str, transform: Callable, images: np.ndarray, labels: np.ndarray, columns: int) -> Path:
    """Draw the images (rows, channels, height, width) in the first column, and a new augmentation in each other column.
    """
    mixes = isinstance(transform, data.MixUp | data.CutMix)
    with style():
        fig = figure(max(1.12 * (columns + 1), 0.12 * len(title)), (1.25 if mixes else 1.1) * len(images) + 0.6, title)
        fig.get_layout_engine().set(w_pad=0.03, h_pad=0.06, wspace=0, hspace=0,  # narrow margins
                                    rect=(0.008, 0, 0.984, 1))
        panels = fig.subplots(len(images), columns + 1, squeeze=False)
        for row, (image, label) in enumerate(zip(images, labels, strict=True)):
            show(panels[row, 0], image, str(label) if mixes else "" if row else "original", BLUE)
        for column in range(1, columns + 1):
            drawn, shares = transform(images, labels) if mixes else (transform(images), labels)
            for row, image in enumerate(drawn):
                show(panels[row, column], image, in_words(shares[row]) if mixes else "")
        return save(fig, path)


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("augmentations", __doc__)
    parser.add_argument("--data", choices=tuple(DATA), default="digits", help="data set of the images")
    parser.add_argument("--data-dir", type=cli.folder, help="folder with its files; missing ones are downloaded")
    parser.add_argument("--rows", type=cli.whole(1, 10), default=4,
                        help="images in a picture, of different classes")
    parser.add_argument("--columns", type=cli.whole(1), default=9, help="augmentations of each image")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="random seed")
    parser.add_argument("--out", type=cli.folder, default="runs/augmentations", help="folder for the pictures")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> None:
    images, labels = load_data(args.data, args.data_dir)[:2]
    first = np.unique(labels, return_index=True)[1][:args.rows]
    manual_seed(args.seed)
    for name, (transform, title) in transforms(images.shape[2]).items():
        path = sheet(args.out / f"{name}.png", title, transform, images[first], labels[first], args.columns)
        print(f"picture: {path}", flush=True)


if __name__ == "__main__":
    main()
