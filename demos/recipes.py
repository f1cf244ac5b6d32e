"""Data sets, models, and recipes to train them: one entry for each data set, each model, and each pair of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import nn
import optim
from demos import cli
from demos.networks import CNN
from tinygrad_like.data import (
    Compose,
    DataLoader,
    RandAugment,
    RandomCrop,
    RandomHorizontalFlip,
    RandomRotation,
    RandomShift,
    load_cifar10,
    load_digits,
    load_fashion_mnist,
    load_mnist,
    stratified_split,
)
from tinygrad_like.training import fit, load_weights, read_metadata, save_weights

Shape = tuple[int, ...]
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Frame:
    """The number of rows and columns of an image that a drawing fills in a data set.

    narrow: it always fills the rows, and is narrowed to fit the columns; otherwise it keeps its proportions.
    by_mass: its centre of mass is in the middle, not that of its bounding box.
    """

    rows: int
    columns: int
    narrow: bool = False
    by_mass: bool = False


@dataclass(frozen=True)
class DataSet:
    """load(folder, split) returns images (n, channels, height, width), labels (n,), and those of the test set.

    augment: changes that keep the class of an image; used with --augment light.
    frame: the place of drawings, light on dark; None for photographs.
    """

    title: str
    classes: list[str]
    load: Callable[[Path | None, int], Arrays]
    augment: Callable
    frame: Frame | None = None


@dataclass(frozen=True)
class Model:
    """make(shape, classes, width, depth, **parts) makes a net for images (batch, *shape), shape = (channels, height,
    width).

    width and depth come from the recipe or the command line; they are None for a net with a fixed size.
    parts: `norm`, `activation` and `dropout`, unless they are the net's own.
    norms: the norms that the net accepts, by name; empty if its parts are fixed.
    """

    title: str
    make: Callable[..., nn.Module]
    norms: Mapping[str, Callable[[int], nn.Module] | None] = field(default_factory=dict)

    def build(self, shape: Shape, classes: int, width: Any, depth: Any, norm: str | None = None,
              activation: str | None = None, dropout: float | None = None) -> nn.Module:
        """The net, with the norm and the activation of these names."""
        parts: dict[str, Any] = {} if norm is None else {"norm": self.norms[norm]}
        parts |= {} if activation is None else {"activation": ACTIVATIONS[activation]}
        parts |= {} if dropout is None else {"dropout": dropout}
        return self.make(shape, classes, width, depth, **parts)


def split_digits(folder: Path | None, split: int) -> Arrays:
    images, labels = load_digits()
    train, test = stratified_split(labels, 0.2, split)
    return images[train], labels[train], images[test], labels[test]


DIGITS = [str(i) for i in range(10)]
CLOTHES = ["T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]
THINGS = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]

DATA = {
    "digits": DataSet("8x8 digits", DIGITS, split_digits, RandomShift(1), Frame(8, 6, narrow=True)),
    "mnist": DataSet("MNIST", DIGITS, lambda folder, split: load_mnist(folder),
                     Compose([RandomShift(2), RandomRotation(10)]), Frame(20, 20, by_mass=True)),
    "fashion": DataSet("Fashion-MNIST", CLOTHES, lambda folder, split: load_fashion_mnist(folder),
                       Compose([RandomShift(2), RandomHorizontalFlip()]), Frame(28, 28)),
    "cifar10": DataSet("CIFAR-10", THINGS, lambda folder, split: load_cifar10(folder),
                       Compose([RandomCrop(32, padding=4), RandomHorizontalFlip()])),
}


def load_data(name: str, folder: Path | None, split: int = 0) -> Arrays:
    """The arrays of a data set, for --data and --data-dir."""
    if name == "digits" and folder is not None:
        cli.refuse("--data-dir", "the digits come with the package; it is for " +
                   ", ".join(name for name in DATA if name != "digits"))
    return DATA[name].load(folder, split)


def mlp(shape: Shape, classes: int, width: int, depth: int, **parts: Any) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.MLP([math.prod(shape), *[width] * depth, classes], **parts))


def resnet_s(shape: Shape, classes: int, width: int, depth: int, **parts: Any) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.ResNetS(math.prod(shape), width, depth, classes, **parts))


def resnet(shape: Shape, classes: int, width: int, depth: int, **parts: Any) -> nn.Module:
    """Three stages of `depth` blocks; the second and third have twice and four times the width."""
    return nn.ResNet(nn.BasicBlock, [depth] * 3, (width, 2 * width, 4 * width), classes, shape[0], stem="small",
                     **parts)


def cnn(shape: Shape, classes: int, width: int, depth: int, **parts: Any) -> nn.Module:
    """Like `resnet`, without shortcuts, and without norms by default."""
    return CNN([depth] * 3, (width, 2 * width, 4 * width), classes, shape[0], **{"norm": None, **parts})


def vit(shape: Shape, classes: int, width: int, depth: int, **parts: Any) -> nn.Module:
    """A grid of 4x4 patches, or of 8x8 if the image is large; heads of 16 features."""
    channels, size, _ = shape
    if "activation" in parts:
        parts["activation"] = parts["activation"]()
    return nn.ViT(size, size // (4 if size < 32 else 8), classes, width, depth, width // 16, channels=channels, **parts)


def groups(channels: int) -> nn.Module:
    """A GroupNorm of 8 channels per group, or fewer if 8 does not divide the channels."""
    return nn.GroupNorm(channels // math.gcd(channels, 8), channels)


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU, "leaky_relu": nn.LeakyReLU, "elu": nn.ELU, "gelu": nn.GELU, "silu": nn.SiLU,
    "softplus": nn.Softplus, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid,
}
OF_VECTORS = {"none": None, "batch": nn.BatchNorm1d, "layer": nn.LayerNorm, "rms": nn.RMSNorm}
OF_IMAGES = {"none": None, "batch": nn.BatchNorm2d, "group": groups, "layer": lambda n: nn.GroupNorm(1, n),
             "instance": lambda n: nn.InstanceNorm2d(n, affine=True)}
OF_TOKENS = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}

MODELS = {
    "mlp": Model("MLP", mlp, OF_VECTORS),
    "resnet_s": Model("ResNet-S", resnet_s, OF_VECTORS),
    "cnn": Model("CNN", cnn, OF_IMAGES),
    "resnet8": Model("ResNet-8", resnet, OF_IMAGES),
    "resnet20": Model("ResNet-20", resnet, OF_IMAGES),
    "vit": Model("ViT", vit, OF_TOKENS),
}
NORMS = tuple(dict.fromkeys(name for model in MODELS.values() for name in model.norms))
PARTS = "norm", "activation", "dropout"  # options that choose parts of a net

# A recipe may set any option of demos.train; the rest come from COMMON. The recipes for the digits were chosen by their
# accuracy on held-out parts of the training sets.
COMMON = dict(optimizer="adamw", schedule="one_cycle", weight_decay=0.01, label_smoothing=0.1, augment="none",
              norm=None, activation=None, dropout=None)  # None: the model's own
LEARNING_RATES = {"sgd": 0.05, "adam": 3e-3, "adamw": 3e-3, "rmsprop": 1e-3}
RECIPES: dict[tuple[str, str], dict[str, Any]] = {
    ("digits", "mlp"): dict(width=128, depth=2, epochs=60, batch_size=64),
    ("digits", "resnet_s"): dict(width=128, depth=4, epochs=60, batch_size=64),
    ("digits", "vit"): dict(width=64, depth=3, epochs=120, batch_size=32, lr=5e-3, weight_decay=0.05, augment="light"),
    ("mnist", "mlp"): dict(width=512, depth=2, epochs=10, batch_size=128),
    ("mnist", "resnet_s"): dict(width=256, depth=8, epochs=10, batch_size=128),
    ("fashion", "mlp"): dict(width=512, depth=2, epochs=10, batch_size=128),
    ("fashion", "resnet_s"): dict(width=256, depth=8, epochs=10, batch_size=128),
    ("cifar10", "mlp"): dict(width=1024, depth=2, epochs=10, batch_size=128, lr=1e-3),
    ("cifar10", "resnet_s"): dict(width=512, depth=4, epochs=10, batch_size=128, lr=1e-3),
}
RECIPES |= {
    (data, name): dict(width=16, depth=depth, epochs=epochs, batch_size=batch_size, lr=1e-2, augment="light")
    for data, epochs, batch_size in (("digits", 45, 64), ("mnist", 6, 128), ("fashion", 15, 128), ("cifar10", 30, 128))
    for name, depth in (("cnn", 2), ("resnet8", 1), ("resnet20", 3))
}

AUGMENTATIONS: dict[str, Callable[[DataSet], Callable | None]] = {
    "none": lambda data: None,
    "light": lambda data: data.augment,
    "randaugment": lambda data: Compose([data.augment, RandAugment()]),
}


def one_cycle(model: nn.Module, loader: DataLoader, lr: float, epochs: int, criterion: Callable | None = None,
              **options: Any) -> list[dict[str, Any]]:
    """Train with AdamW, at a rate that rises to `lr` and then falls to 0; returns the rows of `fit`.

    criterion: cross-entropy by default. options: of `fit`.
    """
    optimizer = optim.AdamW(model.parameters(), lr=optim.schedule.one_cycle(lr, epochs * len(loader)))
    return fit(model, loader, criterion or nn.CrossEntropyLoss(), optimizer, epochs, **{"progress": False, **options})


# Trained nets on disk -------------------------------------------------------------------------------------------------


def save_net(path: Path, model: nn.Module, name: str, data: str, shape: Shape, options: Mapping[str, Any]) -> None:
    """Write the weights, and the metadata to rebuild the net and to prepare its input as in training."""
    net = {"model": name, "data": data, "shape": shape, "classes": DATA[data].classes,
           **{name: options.get(name) for name in ("width", "depth", *PARTS)}}
    save_weights(model, path, {"net": json.dumps(net)})


def load_net(path: Path) -> tuple[nn.Module, dict[str, Any]]:
    """A net written by `save_net`, in evaluation mode, and its description: "shape", "classes" and so on."""
    metadata = read_metadata(path)
    if "net" not in metadata:
        raise ValueError(f"{path} does not describe the net of its weights; use a file that demos.train has written")
    try:
        net = json.loads(metadata["net"])
        _check_net(net, path.stat().st_size)
        model = MODELS[net["model"]].build(tuple(net["shape"]), len(net["classes"]), net["width"], net["depth"],
                                           **parts_of(net))
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ValueError(f"{path} has an invalid description of its net ({type(error).__name__}: {error}); use a file "
                         "that demos.train has written") from None
    load_weights(model, path)
    return model.eval(), net


def parts_of(net: Mapping[str, Any]) -> dict[str, Any]:
    """The parts of the net, for `build`; older files lack them."""
    return {name: net.get(name) for name in PARTS}


def _check_net(net: Mapping[str, Any], size: int) -> None:
    """Raise an error if the net's weights do not fit into a file of that many bytes."""
    name, width, depth = net["model"], net["width"] or 1, net["depth"] or 1  # None: the net has a fixed size
    channels, height, side = net["shape"]
    for number in (width, depth, channels, height, side):
        if not isinstance(number, int) or not 1 <= number <= 4096:
            raise ValueError(f"{number!r} is not a size")
    if not all(isinstance(title, str) for title in net["classes"]):
        raise ValueError("classes must be strings")
    # All of MODELS have `depth` matrices of width x width, an MLP one less; `flat` models also have pixels x width.
    pixels, flat = channels * height * side, name in ("mlp", "resnet_s")
    if width * max(width * (depth - (name == "mlp")), pixels * flat, depth) > size / 4 or pixels > 1 << 18:
        raise ValueError("the net is larger than its weights")
