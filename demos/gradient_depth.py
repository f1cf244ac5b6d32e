"""How far gradients reach: their size at every block of untrained deep nets, with and without skip connections.

All nets have the same layers, Linear and ReLU twice to a block. Plain blocks pass on what they compute,

    plain      z <- F(z)                  F(z) = relu(MM_1(relu(MM_2(z))))
    residual   z <- z + F(z)              (7.38)
    scaled     z <- z + F(z) / sqrt(L)    with L blocks

For one batch of digits it prints, and draws for every block, the norm of the loss's gradient at the block's output.
With nn.Linear's own weights, gradients vanish in plain nets, and skip connections preserve them. With Kaiming's larger
weights, --init kaiming, plain nets preserve them, but a stream to which every block adds as much as it holds explodes,
unless it is scaled (003).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import nn
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.data import load_digits

from . import cli
from .figures import BLUE, ORANGE, figure, save, style

KINDS = {"plain": "plain: z ← F(z)", "residual": "residual: z ← z + F(z)",
         "scaled": "scaled: z ← z + F(z) / √L"}  # fmt: skip
INITS = {"default": None, "kaiming": lambda weight: nn.init.kaiming_normal_(weight, nonlinearity="relu")}


def build(kind: str, blocks: int, width: int, init: str = "default") -> nn.Module:
    """A net for images of 8x8 with a projection, `blocks` blocks of one of KINDS, and a head."""
    def block() -> nn.Module:
        if kind == "plain":
            return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        return nn.Res(width, scale=blocks**-0.5 if kind == "scaled" else 1.0)

    model = nn.Sequential({"flatten": nn.Flatten(), "project": nn.Linear(64, width),
                           "blocks": nn.Sequential(*[block() for _ in range(blocks)]), "head": nn.Linear(width, 10)})
    if INITS[init] is not None:
        for layer in model.modules():
            if isinstance(layer, nn.Linear):
                INITS[init](layer.weight)
                nn.init.zeros_(layer.bias)
    return model


def gradient_norms(model: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    """The norm of the gradient of the loss with respect to the output of each block."""
    norms: list[float] = []

    def note(block: nn.Module, grad_input: tuple, grad_output: tuple) -> None:
        norms.append(float(np.linalg.norm(grad_output[0].numpy().astype(np.float64))))  # float32 squares underflow

    handles = [block.register_full_backward_hook(note) for block in model.blocks]
    nn.functional.cross_entropy(model(x), y).backward()
    for handle in handles:
        handle.remove()
    return np.array(norms[::-1])  # backward meets the last block first


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("gradient_depth", __doc__, draws=True)
    parser.add_argument("--blocks", type=cli.whole(1), nargs="+", default=[4, 8, 16, 32, 64], metavar="L",
                        help="numbers of blocks")
    parser.add_argument("--width", type=cli.whole(1), default=64, metavar="N", help="features of each layer")
    parser.add_argument("--init", choices=tuple(INITS), default="default",
                        help="of the weights; kaiming keeps the size of what passes through F")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="of the weights")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[tuple[str, int], np.ndarray]:
    images, labels = load_digits()
    x, y = Tensor(images[:256]), Tensor(labels[:256])
    depths = sorted(set(args.blocks))
    norms = {}
    print("gradient norm at the first block / at the last block")
    print(f"{'blocks':10}" + "".join(f"{depth:>10}" for depth in depths))
    for kind in KINDS:
        for depth in depths:
            manual_seed(args.seed)
            norms[kind, depth] = gradient_norms(build(kind, depth, args.width, args.init), x, y)
        ratios = [norms[kind, depth][0] / norms[kind, depth][-1] for depth in depths]
        print(f"{kind:10}" + "".join(f"{ratio:>10.1e}" for ratio in ratios), flush=True)
    print(f"picture: {draw(args.out, depths, norms, args.init)}")
    return norms


def draw(path: Path, depths: list[int], norms: dict[tuple[str, int], np.ndarray], init: str) -> Path:
    with style():
        fig = figure(11.5, 4.3, f"How far gradients reach before training, with weights by {init} initialisation")
        panels = fig.subplots(1, len(KINDS), sharey=True)
        for axes, (kind, title) in zip(panels, KINDS.items(), strict=True):
            for i, depth in enumerate(depths):
                values = np.where(norms[kind, depth] > 0, norms[kind, depth], np.nan)
                blocks = np.arange(1, depth + 1)
                shade = 0.3 + 0.7 * (i + 1) / len(depths)
                axes.plot(blocks, values, color=ORANGE if kind == "plain" else BLUE, alpha=shade, linewidth=1.8)
                axes.plot(blocks[-1], values[-1], "o", color=ORANGE if kind == "plain" else BLUE, alpha=shade,
                          markersize=4)
            axes.set(xlabel="block; a line per net, with a dot at its last", xscale="log", yscale="log",
                     xlim=(0.93, depths[-1] * 1.1))
            ticks = sorted({1, *depths})
            axes.set_xticks(ticks, ticks)
            axes.minorticks_off()
            axes.set_title(title, fontweight="bold")
        panels[0].set_ylabel("norm of the gradient at the block's output")
        return save(fig, path)


if __name__ == "__main__":
    main()
