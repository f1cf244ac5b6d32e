"""The features of a convolutional net: its first filters, and feature maps of all its stages.

It trains a small ResNet on the digits, or uses one that demos.train has saved (--net). Each of the first filters is
named after the edge, line or spot that it resembles, if any. Below each filter is its feature map for one image, and
further below are maps of the later stages. Orange is above zero, white zero, blue below; each map has its own scale.
"""

from __future__ import annotations

import argparse

import numpy as np

import nn
from demos import cli
from demos.figures import DIVERGING, GREYS, MUTED, bare, slide
from demos.recipes import DATA, MODELS, RECIPES, Arrays, load_data, load_net, one_cycle
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.data import DataLoader
from tinygrad_like.training import evaluating

RAMP, RIDGE, FLAT = (-1, 0, 1), (-1, 2, -1), (1, 1, 1)
KINDS = {"edge |": np.outer(FLAT, RAMP), "edge —": np.outer(RAMP, FLAT), "line |": np.outer(FLAT, RIDGE),
         "line —": np.outer(RIDGE, FLAT), "edge \\": np.array([[0, 1, 1], [-1, 0, 1], [-1, -1, 0]]),
         "edge /": np.array([[1, 1, 0], [1, 0, -1], [0, -1, -1]]), "line \\": 3 * np.eye(3) - 1,
         "line /": 3 * np.eye(3)[::-1] - 1, "spot": np.array([[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]]),
         "blur": np.ones((3, 3))}


def resembles(kernel: np.ndarray) -> tuple[str, float]:
    """The pattern of KINDS that a filter (3, 3), or its negative, is most similar to, and their cosine similarity."""
    cosines = {name: float((kernel * kind).sum() / (np.linalg.norm(kernel) * np.linalg.norm(kind) + 1e-12))
               for name, kind in KINDS.items()}
    name = max(cosines, key=lambda name: abs(cosines[name]))
    return name, cosines[name]


def train(data: str, arrays: Arrays, epochs: int) -> nn.Module:
    """The ResNet of demos.train, by its recipe for this data, except for the number of epochs."""
    recipe, (x, y, _, _) = RECIPES[data, "resnet8"], arrays
    model = MODELS["resnet8"].build(x.shape[1:], len(DATA[data].classes), recipe["width"], recipe["depth"])
    loader = DataLoader(x, y, batch_size=recipe["batch_size"], shuffle=True, transform=DATA[data].augment)
    one_cycle(model, loader, recipe["lr"], epochs, nn.CrossEntropyLoss(label_smoothing=0.1), progress=True)
    return model


def feature_maps(model: nn.Module, image: np.ndarray) -> dict[str, np.ndarray]:
    """Maps of the first convolution and of each stage, for an image (channels, height, width): (maps, rows, columns).

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
    parser = cli.parser("filters", __doc__, draws=True, quick=dict(epochs=1, maps=4))
    parser.add_argument("--net", type=cli.file, metavar="FILE",
                        help="a resnet saved by demos.train, for images of --data")
    parser.add_argument("--data", choices=tuple(DATA), default="digits", help="(default: digits)")
    parser.add_argument("--data-dir", type=cli.folder, help="folder with its files; missing ones are downloaded")
    parser.add_argument("--image", type=cli.whole(), default=3, help="number of the test image to show")
    parser.add_argument("--epochs", type=cli.whole(1), help="epochs of training, without --net (default: 20)")
    parser.add_argument("--maps", type=cli.whole(1), default=8, help="filters and maps in a row")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="random seed of the training")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    if args.net is not None and args.epochs is not None:
        cli.refuse("--epochs", "cannot be combined with --net, which is already trained")
    data = load_data(args.data, args.data_dir)
    *_, images, labels = data
    if args.image >= len(images):
        cli.refuse("--image", f"{args.image} is beyond the last test image, {len(images) - 1}")
    manual_seed(args.seed)
    model = train(args.data, data, args.epochs or 20) if args.net is None else load_net(args.net)[0]
    if not isinstance(model, nn.ResNet):
        cli.refuse("--net", f"is a {type(model).__name__}, whose features are not images; use a resnet")
    if model.conv1.weight.shape[1] != images.shape[1]:
        cli.refuse("--net", f"needs images with {model.conv1.weight.shape[1]} channels, but those of --data have "
                            f"{images.shape[1]}")
    image, label = images[args.image], DATA[args.data].classes[labels[args.image]]
    maps = feature_maps(model, image)
    for name, values in maps.items():
        print(f"{name:8} {values.shape[0]:3d} maps of {values.shape[1]} x {values.shape[2]}")
    draw(args, model.conv1.weight.detach().numpy().mean(axis=1), image, label, maps)
    return maps


def draw(args: argparse.Namespace, filters: np.ndarray, image: np.ndarray, label: str, maps: dict[str, np.ndarray]
         ) -> None:
    """filters: (number, kh, kw), the mean over channels. Those most similar to one of KINDS come first."""
    kinds = [resembles(kernel) if kernel.shape == (3, 3) else ("", 0.0) for kernel in filters]
    first = sorted(range(len(filters)), key=lambda i: -abs(kinds[i][1]))[:args.maps]
    rows = {"first filters": filters[first], "their maps": maps["conv1"][first],
            **{name.replace("layer", "stage "): values[:args.maps] for name, values in maps.items() if name != "conv1"}}
    with slide(args.out, "The first filters are lines, edges and mixtures; later maps are coarser", len(rows),
               args.maps + 1, "Orange: above zero; blue: below zero.", squeeze=False) as panels:
        panels[0, 0].figure.get_layout_engine().set(w_pad=0.03, h_pad=0.03, wspace=0, hspace=0)
        for axes in panels.flat:
            bare(axes)
        panels[0, 0].imshow(image.mean(axis=0), cmap=GREYS, vmin=0, vmax=1)
        panels[0, 0].set_title(f"“{label}”", loc="center")
        for line, (name, values) in zip(panels, rows.items(), strict=True):
            line[1].set_ylabel(f"{name}\n{values.shape[1]} x {values.shape[2]}", rotation=0, ha="right", va="center",
                               labelpad=14)
            for axes, value in zip(line[1:], values, strict=False):
                most = max(float(np.abs(value).max()), 1e-12)
                axes.imshow(value, cmap=DIVERGING, vmin=-most, vmax=most)
                axes.spines[:].set(visible=True, color=MUTED, linewidth=0.8)
        for axes, i in zip(panels[0, 1:], first, strict=False):
            axes.set_title(kinds[i][0] if abs(kinds[i][1]) > 0.7 else "mixed", loc="center", pad=4)


if __name__ == "__main__":
    main()
