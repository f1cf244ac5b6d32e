"""What a convolutional net has learned to look for: its first filters, and feature maps of all its stages.

It trains a small ResNet on the digits, or uses one that demos.train has saved (--net). Above are the filters of the
first layer; below, for one image, what the filters see in it, and some feature maps of each later stage.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import nn
import optim
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.training import evaluating, fit

from . import cli
from .figures import BLUES, DIVERGING, GREYS, HAIR, MUTED, figure, save, style
from .recipes import DATA, MODELS, RECIPES, Arrays, load_data, load_net


def train(data: str, arrays: Arrays, epochs: int) -> nn.Module:
    """The ResNet of demos.train, by its recipe for this data, except for the number of epochs."""
    recipe, (x, y, _, _) = RECIPES[data, "resnet8"], arrays
    model = MODELS["resnet8"].build(x.shape[1:], len(DATA[data].classes), recipe["width"], recipe["depth"])
    loader = DataLoader(x, y, batch_size=recipe["batch_size"], shuffle=True, transform=DATA[data].augment)
    rate = optim.schedule.one_cycle(recipe["lr"], epochs * len(loader))
    fit(model, loader, nn.CrossEntropyLoss(label_smoothing=0.1), optim.AdamW(model.parameters(), lr=rate), epochs)
    return model


def feature_maps(model: nn.Module, image: np.ndarray) -> dict[str, np.ndarray]:
    """What the first convolution and each stage compute from an image (channels, height, width): (maps, rows, columns).

    The net is a ResNet. A hook on each layer stores its output.
    """
    maps: dict[str, np.ndarray] = {}
    handles = []
    for name in ("conv1", *model.stages):
        def store(layer: nn.Module, args: tuple, y: Tensor, name: str = name) -> None:
            maps[name] = y.detach().numpy()[0]

        handles.append(model.get_submodule(name).register_forward_hook(store))
    try:
        with evaluating(model):
            model(Tensor(image[None]))
    finally:
        for handle in handles:
            handle.remove()
    return maps


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("filters", __doc__, draws=True)
    parser.add_argument("--net", type=cli.file, metavar="FILE",
                        help="a resnet saved by demos.train, for --data's images")
    parser.add_argument("--data", choices=tuple(DATA), default="digits", help="(default: digits)")
    parser.add_argument("--data-dir", type=cli.folder, help="where its files are, or are downloaded to")
    parser.add_argument("--image", type=cli.whole(), default=3, help="which test image to show")
    parser.add_argument("--epochs", type=cli.whole(1), help="of training, without --net (default: 20)")
    parser.add_argument("--maps", type=cli.whole(1), default=16, help="filters and maps in a row")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="of the training")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    if args.net is not None and args.epochs is not None:
        cli.refuse("--epochs", "is for a net that is trained here; --net has been")
    data = load_data(args.data, args.data_dir)
    *_, images, labels = data
    if args.image >= len(images):
        cli.refuse("--image", f"{args.image} is beyond the last test image, {len(images) - 1}")
    manual_seed(args.seed)
    model = train(args.data, data, args.epochs or 20) if args.net is None else load_net(args.net)[0]
    if not isinstance(model, nn.ResNet):
        cli.refuse("--net", f"holds a {type(model).__name__}, whose features are no images; use a resnet")
    if model.conv1.weight.shape[1] != images.shape[1]:
        cli.refuse("--net", f"is for images of {model.conv1.weight.shape[1]} channels, those of --data have "
                            f"{images.shape[1]}")
    image, label = images[args.image], DATA[args.data].classes[labels[args.image]]
    maps = feature_maps(model, image)
    for name, values in maps.items():
        print(f"{name:8} {values.shape[0]:3d} maps of {values.shape[1]} x {values.shape[2]}")
    print(f"picture: {draw(args.out, model.conv1.weight.data, image, label, maps, args.maps)}")
    return maps


def draw(path: Path, filters: np.ndarray, image: np.ndarray, label: str, maps: dict[str, np.ndarray],
         columns: int) -> Path:
    """filters: (number, channels, kh, kw), of which the mean over channels is drawn."""
    rows = {"image": image.mean(axis=0, keepdims=True), "filters": filters.mean(axis=1), **maps}
    titles = {"image": f"image of “{label}”", "filters": "first filters", "conv1": "what they see"}
    with style():
        fig = figure(1.7 + 0.72 * columns, 0.8 * len(rows) + 0.8, "What a small ResNet sees")
        fig.get_layout_engine().set(w_pad=0.03, h_pad=0.07, wspace=0, hspace=0, rect=(0.008, 0, 0.984, 1))
        fig.supxlabel("Each map has its own scale: blue is below zero, orange above; after a ReLU, white is zero and "
                      "blue the most.", x=0.012, ha="left", fontsize=8.5, color=MUTED)
        panels = fig.subplots(len(rows), columns + 1, squeeze=False, width_ratios=[2.2, *[1] * columns])
        for line, (name, values) in zip(panels, rows.items(), strict=True):
            for axes in line:
                axes.set(xticks=[], yticks=[])
                axes.grid(False)
                axes.spines[:].set_visible(False)
            size = f"{values.shape[1]} x {values.shape[2]}"
            count = f"{columns} of {len(values)}, " if len(values) > columns else ""
            line[0].text(0.1, 0.52, titles.get(name, name.replace("layer", "stage ")), fontweight="bold", va="bottom",
                         transform=line[0].transAxes)
            line[0].text(0.1, 0.44, count + size, color=MUTED, fontsize=8, va="top", transform=line[0].transAxes)
            for axes, value in zip(line[1:], values, strict=False):
                show(axes, value, GREYS if name == "image" else DIVERGING if name in ("filters", "conv1") else BLUES)
        return save(fig, path)


def show(axes: Any, value: np.ndarray, colours: Any) -> None:
    """One map on its own scale: blue below zero and orange above, or white to one colour if all is positive."""
    most = max(float(np.abs(value).max()), 1e-12)
    axes.imshow(value, cmap=colours, vmin=-most if colours is DIVERGING else 0, vmax=most)
    axes.spines[:].set(visible=True, color=HAIR, linewidth=0.8)


if __name__ == "__main__":
    main()
