"""The worked example of a 2-D convolution, 8x8 with a 3x3 filter (004): all outputs, and how each is computed.

    y[n, m] = sum over i, j of w[i, j] x[n + i, m + j]

A window of the filter's size slides over the input; each output is the dot product of the filter with the numbers in
the window. Prints the 36 outputs, and the output sizes with padding and stride,
H_out = floor((H_in + 2 pad - K) / stride) + 1. Draws input, filter and output, the window of the output --at, and
padding and stride: an orange dot marks the middle of each output's window.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from demos import cli
from demos.figures import BLUE, BLUES, DIVERGING, HAIR, INK, MUTED, ORANGE, slide
from tinygrad_like import Tensor, ops

# As on the first pages of the slides; the image on their last page has a row too many.
IMAGE = np.array([[0, 0, 0, 0, 0, 0, 0, 0],
                  [0, 0, 0, 0, 0, 1, 1, 0],
                  [0, 1, 1, 1, 1, 1, 1, 0],
                  [0, 1, 1, 1, 1, 1, 1, 0],
                  [0, 1, 1, 1, 1, 1, 1, 0],
                  [0, 0, 1, 1, 1, 0, 0, 0],
                  [0, 0, 1, 1, 1, 0, 0, 0],
                  [0, 0, 0, 0, 0, 0, 0, 0]], np.float32)  # fmt: skip
FILTER = np.array([[1, 2, 1], [0, 0, 0], [-1, -2, -1]], np.float32)
SIZES = {"padding 1": dict(padding=1), "padding 1, stride 2": dict(padding=1, stride=2)}


def convolve(image: np.ndarray, **options: int) -> np.ndarray:
    """nn.functional.conv2d of an image (height, width) with FILTER."""
    return ops.conv2d(Tensor(image[None, None]), Tensor(FILTER[None, None]), **options).numpy()[0, 0]


def in_words(window: np.ndarray) -> str:
    """The dot product of the filter and a window, without terms of weight 0."""
    terms = [f"{w:+g}·{x:g}" for w, x in zip(FILTER.ravel(), window.ravel(), strict=True) if w]
    return " ".join(terms).replace("+", "+ ").replace("-", "− ").removeprefix("+ ")


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("convolution", __doc__, draws=True)
    parser.add_argument("--at", type=cli.whole(0, 5), nargs=2, default=[0, 3], metavar=("ROW", "COLUMN"),
                        help="output whose window is shown, from 0 to 5 (default: 0 3)")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> np.ndarray:
    y, (row, column) = convolve(IMAGE), args.at
    for line in y:
        print(" ".join(f"{value:3g}" for value in line))
    print(f"\noutput [{row}, {column}] = {in_words(IMAGE[row:row + 3, column:column + 3])} = {y[row, column]:g}")
    print(f"{'8 x 8, filter 3 x 3':24} -> {y.shape[0]} x {y.shape[1]}")
    for name, options in SIZES.items():
        height, width = convolve(IMAGE, **options).shape
        print(f"{name:24} -> {height} x {width}")
    draw(args.out, y, row, column)
    return y


def draw(path: Path, y: np.ndarray, row: int, column: int) -> None:
    with slide(path, "Convolution: a filter slides over the input", 2, 4, width_ratios=[10, 8, 10, 6],
               note="Orange dots: centres of the windows. Grey frame: the image inside its padding."
               ) as (top, bottom):
        image, kernel, output, unused = top
        unused.set_visible(False)
        grid(image, IMAGE, BLUES, 3)
        grid(kernel, FILTER, DIVERGING, 3)
        grid(output, y, DIVERGING, 6)
        box(image, column, row, 3, ORANGE)
        box(output, column, row, 1, ORANGE)
        for (i, j), w in np.ndenumerate(FILTER):
            image.text(column + j + 0.44, row + i + 0.42, f"{w:g}", color=ORANGE, fontsize=9, ha="right", va="bottom",
                       fontweight="bold")
        image.set_title("input 8 x 8, and a window")
        kernel.set_title("filter 3 x 3")
        output.set_title("output 6 x 6")
        output.set_xlabel(f"{in_words(IMAGE[row:row + 3, column:column + 3])} = {y[row, column]:g}", color=ORANGE,
                          labelpad=6)
        for (name, options), (left, right) in zip(SIZES.items(), bottom.reshape(2, 2), strict=True):
            made, stride = convolve(IMAGE, **options), options.get("stride", 1)
            grid(left, np.pad(IMAGE, 1), BLUES, 3, size=10)
            box(left, 1, 1, 8, MUTED)
            centres = 1 + stride * np.arange(len(made))
            left.plot(*(a.ravel() + 0.33 for a in np.meshgrid(centres, centres)), "o", color=ORANGE, markersize=2.4)
            grid(right, made, DIVERGING, 6, size=10)
            left.set_title(name)
            right.set_title(f"output {made.shape[0]} x {made.shape[1]}")


def grid(axes: Any, values: np.ndarray, colours: str, most: float, size: float = 11) -> None:
    """A table of numbers, coloured from 0 (white), or from -most, to most."""
    axes.imshow(values, cmap=colours, vmin=-most if colours == DIVERGING else 0, vmax=most)
    for (i, j), value in np.ndenumerate(values):
        axes.text(j, i, f"{value:g}", ha="center", va="center", fontsize=size, color=INK)
    axes.set(xticks=np.arange(0.5, values.shape[1] - 1), yticks=np.arange(0.5, values.shape[0] - 1))
    axes.tick_params(length=0, labelbottom=False, labelleft=False)
    axes.grid(color=HAIR, linewidth=0.7)
    axes.set_axisbelow(False)
    axes.spines[:].set(visible=True, color=BLUE, linewidth=0.8)
    axes.set_anchor("N")


def box(axes: Any, left: int, top: int, size: int, colour: str) -> None:
    x, y = left - 0.5, top - 0.5
    axes.plot([x, x + size, x + size, x, x], [y, y, y + size, y + size, y], color=colour, linewidth=2.2,
              clip_on=False, solid_joinstyle="miter", zorder=5)


if __name__ == "__main__":
    main()
