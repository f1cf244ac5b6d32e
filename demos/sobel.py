"""Two Sobel filters make two feature maps of one image; layers of 3x3 filters see 3, 5, 7, 9 pixels (004; 002).

One filter responds to horizontal edges, the other, its transpose, to vertical edges: one filter, one feature. Below is
the receptive field of one output after 1, 2, 3, ... layers of 3x3 convolutions with equal weights, found by its
gradient. It grows by 2 pixels with each layer, and its middle counts most. With stride 2 it doubles with each layer.
"""

from __future__ import annotations

import argparse

import numpy as np

import nn
from demos import cli
from demos.convolution import IMAGE
from demos.figures import BLUES, DIVERGING, GREYS, HAIR, ORANGE, bare, scale, slide
from tinygrad_like import Tensor, ops

SOBEL = np.array([[1, 2, 1], [0, 0, 0], [-1, -2, -1]], np.float32)


def maps(image: np.ndarray) -> np.ndarray:
    """The feature maps (2, height, width) of both filters for the image (height, width)."""
    filters = Tensor(np.stack([SOBEL, SOBEL.T])[:, None])
    return ops.conv2d(Tensor(image[None, None]), filters, padding=1).numpy()[0]


def receptive_field(layers: int, stride: int = 1, size: int = 19) -> np.ndarray:
    """The gradient of the middle output with respect to the input (size, size), relative to its largest number."""
    x = Tensor.zeros(1, 1, size, size, requires_grad=True)
    z: Tensor = x
    for _ in range(layers):
        convolution = nn.Conv2d(1, 1, 3, stride=stride, padding=1, bias=False)
        nn.init.constant_(convolution.weight, 1.0)
        z = convolution(z)
    z[0, 0, z.shape[2] // 2, z.shape[3] // 2].backward()
    return x.grad.numpy()[0, 0] / x.grad.numpy().max()


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("sobel", __doc__, draws=True)
    parser.add_argument("--layers", type=cli.whole(1, 8), nargs="+", default=[1, 2, 3, 4], help="numbers of layers")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[int, np.ndarray]:
    """The receptive field by the number of layers."""
    seen, depths = maps(IMAGE), sorted(set(args.layers))
    fields = {n: receptive_field(n) for n in depths}
    strided = {n: receptive_field(n, stride=2) for n in depths[:3]}
    for name, found in (("stride 1", fields), ("stride 2", strided)):
        print(f"receptive field, {name}: " + ", ".join(
            f"{n} layer{'s' * (n > 1)} {(found[n] > 0).any(axis=0).sum()}" for n in found))
    with slide(args.out, "One filter, one feature; more layers see more", 2, 4,
               note="Below, blue: gradient of the middle output at each pixel; orange: its receptive field."
               ) as (top, bottom):
        pictures = [(IMAGE, GREYS, 0, 2, "image"), (seen[0], DIVERGING, -4, 4, "horizontal edges"),
                    (seen[1], DIVERGING, -4, 4, "vertical edges"), (np.hypot(*seen), BLUES, 0, 5, "both: √(a² + b²)")]
        for axes, (values, colours, least, most, title) in zip(top, pictures, strict=True):
            shown = axes.imshow(values, cmap=colours, vmin=least, vmax=most)
            bare(axes)
            axes.set_title(title)
            if title != "image":
                scale(axes.figure, shown, axes)
        for axes, n in zip(bottom, depths, strict=False):
            middle, half = len(fields[n]) // 2, n + 0.5
            axes.pcolormesh(np.arange(-middle - 0.5, middle + 1), np.arange(-middle - 0.5, middle + 1), fields[n],
                            cmap=BLUES, vmin=0, vmax=1, edgecolors=HAIR, linewidth=0.8)
            axes.plot(half * np.array([-1, 1, 1, -1, -1]), half * np.array([-1, -1, 1, 1, -1]), color=ORANGE)
            bare(axes)
            axes.set(xlim=(-5.5, 5.5), ylim=(-5.5, 5.5), aspect="equal")
            axes.set_title(f"{n} layer{'s' * (n > 1)}: {2 * n + 1} x {2 * n + 1}")
    return fields


if __name__ == "__main__":
    main()
