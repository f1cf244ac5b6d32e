"""Read image files with a net that demos.train has saved, and print the probability of each class.

The net is one that demos.train left in its --out. Images are scaled to the size the net was trained on, in grey if it
was. Digits are light on dark there: for ink on paper give --invert.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from tinygrad_like import ops
from training import predict

from .recipes import Shape, load_net

try:
    from PIL import Image, UnidentifiedImageError
except ImportError:
    raise SystemExit("reading images needs Pillow: pip install 'tinygrad-like[demos]'") from None


def read_image(path: Path, shape: Shape, invert: bool = False) -> np.ndarray:
    """An image file as float32 in [0, 1], of shape (channels, height, width), channels being 1 or 3."""
    channels, height, width = shape
    with Image.open(path) as file:
        image = file.convert("L" if channels == 1 else "RGB")
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BOX if image.width > width else Image.Resampling.BICUBIC)
    pixels = np.asarray(image, dtype=np.float32).reshape(height, width, channels).transpose(2, 0, 1) / 255
    return 1 - pixels if invert else pixels


def main(argv: list[str] | None = None) -> np.ndarray:
    parser = argparse.ArgumentParser(prog="python -m demos.predict", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", nargs="+", type=Path, metavar="IMAGE", help="image files, such as PNG or JPEG")
    parser.add_argument("--net", type=Path, default=Path("runs/mlp_digits_split0.safetensors"), metavar="FILE",
                        help="a net saved by demos.train (default: %(default)s)")
    parser.add_argument("--invert", action="store_true", help="exchange light and dark")
    parser.add_argument("--top", type=int, default=3, metavar="N", help="print the N likeliest classes (default: 3)")
    args = parser.parse_args(argv)
    try:
        model, net = load_net(args.net)
        images = np.stack([read_image(path, net["shape"], args.invert) for path in args.images])
    except (OSError, UnidentifiedImageError, ValueError) as error:
        raise SystemExit(f"error: {error}") from None
    probabilities = ops.softmax(predict(model, images), axis=-1)
    for path, p in zip(args.images, probabilities, strict=True):
        best = np.argsort(-p)[:args.top]
        print(f"{path}: " + "  ".join(f"{net['classes'][i]} {p[i]:.1%}" for i in best))
    return probabilities


if __name__ == "__main__":
    main()
