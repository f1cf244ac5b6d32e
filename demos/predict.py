"""Classify image files with a net saved by demos.train: print the net's input, and the probability of each class.

A drawing may be light on dark or dark on light, of any size and anywhere in the image: it is cropped, scaled and placed
like the training images. An image that already has their size is only inverted if needed.

A net knows only its training data. 13 people wrote the embedded digits, of 8x8 pixels each; a net trained on MNIST
(demos.train --data mnist) is better at other handwriting, and at print.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from demos import cli
from demos.recipes import DATA, Frame, Shape, load_net
from tinygrad_like import ops
from tinygrad_like.training import predict

SHADES = " .:-=+*#%@"
FAINT = 0.3  # of the strongest ink: weaker ink is ignored when the drawing is cropped


def read_image(path: Path, shape: Shape, frame: Frame | None, ink: str = "auto") -> np.ndarray:
    """An image file as float32 in [0, 1] of shape (channels, height, width), with 1 or 3 channels.

    With a frame, the image is one drawing. Its ink is "light", "dark", or "auto", which assumes that the edge of the
    image is paper. Raises ValueError if the file cannot be read or the image is blank.
    """
    from PIL import Image, ImageOps

    channels, height, width = shape
    try:
        with Image.open(path) as file:
            image = ImageOps.exif_transpose(file)
            if image.has_transparency_data:
                image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
            image = image.convert("L" if channels == 1 else "RGB")
    except Exception as error:  # a decoder may raise anything for a damaged file
        raise ValueError(f"{path} cannot be read as an image ({error})") from None
    pixels = np.asarray(image, dtype=np.float32).reshape(image.height, image.width, channels) / 255
    if frame is not None:
        pixels = drawn(pixels[..., 0], ink)
        if not pixels.any():
            raise ValueError(f"{path} is blank: all of it has one colour")
        if pixels.shape != (height, width):
            pixels = framed(pixels, height, width, frame)
        return pixels[None]
    return np.stack([resized(pixels[..., c], height, width) for c in range(channels)])


def drawn(pixels: np.ndarray, ink: str = "auto") -> np.ndarray:
    """The amount of ink at each pixel, from 0 to 1: pixels (height, width) in grey."""
    edge = np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]])
    if ink == "dark" or (ink == "auto" and 2 * np.median(edge) > pixels.min() + pixels.max()):
        pixels, edge = 1 - pixels, 1 - edge
    amount = (pixels - np.quantile(edge, 0.25)).clip(0)  # some of the edge may be ink
    return amount / max(amount.max(), 1 / 255)


def framed(ink: np.ndarray, height: int, width: int, frame: Frame) -> np.ndarray:
    """A drawing cut out, scaled and placed as `frame` says, in an image (height, width)."""
    strong = ink > FAINT * ink.max()
    rows, columns = np.flatnonzero(strong.any(axis=1)), np.flatnonzero(strong.any(axis=0))
    ink = ink[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1]
    finer = -(-8 * height // len(ink))  # so that it can be shifted by parts of a pixel of a small image
    ink = ink.repeat(finer, axis=0).repeat(finer, axis=1)
    h, w = ink.shape
    # Put the drawing in the middle of a sheet that has the size of the image relative to the drawing.
    scale = h / frame.rows if frame.narrow else max(h / frame.rows, w / frame.columns)
    tall, wide = round(scale * height), round(max(scale, w / frame.columns) * width)
    y, x = (np.average(np.arange(n), weights=ink.sum(axis=1 - i)) if frame.by_mass else (n - 1) / 2
            for i, n in enumerate((h, w)))
    top, left = (int(np.clip(round((whole - 1) / 2 - middle), 0, whole - n))
                 for whole, middle, n in ((tall, y, h), (wide, x, w)))
    paper = np.zeros((max(tall, h), max(wide, w)), np.float32)
    paper[top:top + h, left:left + w] = ink
    return resized(paper, height, width)


def resized(pixels: np.ndarray, height: int, width: int) -> np.ndarray:
    """Pixels scaled to this height and width; a smaller image has the means of the pixels."""
    from PIL import Image

    how = Image.Resampling.BOX if pixels.shape[0] >= height else Image.Resampling.BICUBIC
    return np.asarray(Image.fromarray(pixels).resize((width, height), how)).clip(0, 1)


def in_characters(image: np.ndarray) -> str:
    """An image (height, width) in [0, 1] as lines of text; characters are twice as tall as they are wide."""
    if len(image) > 16:
        image = image[:len(image) // 2 * 2].reshape(len(image) // 2, 2, -1).mean(axis=1)
    else:
        image = image.repeat(2, axis=1)
    return "\n".join("".join(SHADES[i] for i in row) for row in (image * (len(SHADES) - 1)).round().astype(int))


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("predict", __doc__)
    parser.add_argument("images", nargs="+", type=cli.file, metavar="IMAGE", help="image files, such as PNG or JPEG")
    parser.add_argument("--net", type=Path, default=Path("runs/mlp_digits_split0.safetensors"), metavar="FILE",
                        help="a net saved by demos.train")
    parser.add_argument("--ink", choices=("auto", "light", "dark"), default="auto",
                        help="ink of a drawing; auto: unlike the edge of the image")
    parser.add_argument("--top", type=cli.whole(1), default=3, help="number of likeliest classes to print")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> np.ndarray:
    if not args.net.is_file():
        cli.refuse("--net", f"there is no file {str(args.net)!r}; python -m demos.train writes one")
    model, net = load_net(args.net)
    if net.get("data") not in DATA:
        raise ValueError(f"{args.net} does not name the data that its net was trained on; train it again")
    frame = DATA[net["data"]].frame
    if frame is None and args.ink != "auto":
        cli.refuse("--ink", f"is for nets trained on drawings; {args.net} was trained on photographs")
    images = np.stack([read_image(path, net["shape"], frame, args.ink) for path in args.images])
    probabilities = ops.softmax(predict(model, images), axis=-1)
    for path, image, p in zip(args.images, images, probabilities, strict=True):
        if frame is not None:
            print(in_characters(image[0]))
        best = np.argsort(-p)[:args.top]
        print(f"{path}: " + "  ".join(f"{net['classes'][i]} {p[i]:.1%}" for i in best))
    return probabilities


if __name__ == "__main__":
    main()
