"""What norms average over (002, fig. 4): the numbers whose mean and variance normalize one output.

The engine finds them: they are the numbers where the gradient of that output is not zero. In a table of examples (rows)
and features (columns) BatchNorm averages over a column and LayerNorm over a row; images allow more choices.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

import nn
from demos import cli
from demos.figures import BLUES, INK, MUTED, ORANGE, bare, slide
from tinygrad_like import Tensor, manual_seed

IMAGES, CHANNELS, SIDE, OUTPUT = 4, 6, 3, (1, 2, 1, 1)  # a small batch, and the index of the output
AVERAGES: dict[str, Callable[[Tensor], Tensor]] = {
    "BatchNorm of vectors": lambda x: nn.BatchNorm1d(CHANNELS)(x),
    "LayerNorm of vectors": lambda x: nn.LayerNorm(CHANNELS)(x),
    "BatchNorm": lambda x: nn.BatchNorm2d(CHANNELS)(x),
    "LayerNorm, variant A": lambda x: nn.LayerNorm((CHANNELS, SIDE, SIDE))(x),
    "LayerNorm, variant B": lambda x: nn.LayerNorm(CHANNELS)(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2),
    "InstanceNorm": lambda x: nn.InstanceNorm2d(CHANNELS)(x),
    "GroupNorm, 2 groups": lambda x: nn.GroupNorm(2, CHANNELS)(x),
}


def depends_on(name: str) -> np.ndarray:
    """The numbers of a batch that one output depends on: bool (images, channels, height, width), or (rows, columns)."""
    shape = (IMAGES, CHANNELS, SIDE, SIDE)[: 2 if "vectors" in name else 4]
    x = Tensor.randn(*shape).requires_grad_()
    AVERAGES[name](x)[OUTPUT[: x.ndim]].backward()
    return np.abs(x.grad.numpy()) > 1e-6


def make_parser() -> argparse.ArgumentParser:
    return cli.parser("norm_axes", __doc__, draws=True)


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    manual_seed(0)
    sets = {name: depends_on(name) for name in AVERAGES}
    print(f"of {IMAGES} images with {CHANNELS} channels of {SIDE} x {SIDE}, or {IMAGES} vectors of {CHANNELS}, "
          "an output depends on")
    for name, chosen in sets.items():
        rows, columns = chosen.any(axis=(1, 2, 3)[: chosen.ndim - 1]), chosen.any(axis=(0, 2, 3)[: chosen.ndim - 1])
        print(f"  {name:22} {chosen.sum():3d} numbers; examples: {rows.sum()}, channels: {columns.sum()}")
    with slide(args.out, "Norms differ in what they average over", 2, 4,
               note="Rows: examples; columns: features or channels. Blue: the numbers whose mean and variance "
                    "normalize the output in orange.") as panels:
        order = [panels[0, 0], panels[0, 1], *panels[0, 2:], *panels[1]]
        for axes, (name, chosen) in zip(order, sets.items(), strict=False):
            draw_set(axes, chosen)
            axes.set_title(name)
        for axes in order[len(sets):]:
            axes.set_visible(False)
    return sets


def draw_set(axes: Any, chosen: np.ndarray) -> None:
    """Draw a row per example and a column per channel; a cell is one number, or a small map of pixels."""
    side = chosen.shape[2] if chosen.ndim == 4 else 1
    step, cells = side + (0.8 if side > 1 else 0), chosen.reshape(IMAGES, CHANNELS, side, side)
    for i, j in np.ndindex(IMAGES, CHANNELS):
        axes.pcolormesh(j * step + np.arange(side + 1), i * step + np.arange(side + 1), cells[i, j].astype(float),
                        vmin=0, vmax=1, cmap=BLUES, edgecolors=MUTED, linewidth=0.7)
    i, j, y, x = OUTPUT[:2] + (OUTPUT[2:] if side > 1 else (0, 0))
    axes.fill(j * step + x + np.array([0, 1, 1, 0]), i * step + y + np.array([0, 0, 1, 1]), color=ORANGE,
              edgecolor=INK)
    axes.set(aspect="equal")
    axes.invert_yaxis()
    bare(axes)


if __name__ == "__main__":
    main()
