"""How far signals and gradients reach in untrained deep nets: by skip connections, norms, activations and weights.

F is two layers, Linear and activation. What is made of a block:

    plain      z <- F(z)
    residual   z <- z + F(z)                   (7.38)
    scaled     z <- z + F(z) / sqrt(L)         with L blocks (003)
    pre-norm   z <- z + F(norm(z))             (003)
    post-norm  z <- norm(z + F(z))
    sandwich   z <- norm(z + F(norm(z)))

For one batch of digits it measures, at the output of every block, the norm of the loss's gradient and the variance of
the stream. Prints how many times larger the gradient is at the first block than at the last, by the number of blocks,
and how the variance grows on the way; then the same for plain nets of as many layers with sigmoid, tanh and ReLU, each
with the weights of nn.Linear, Xavier and Kaiming. Draws both for the deepest nets. It computes in float64: in float32,
gradients below 1e-45 are 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import nn
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.data import load_digits

from . import cli
from .figures import BLUE, GOLD, INK, MUTED, ORANGE, PURPLE, TEAL, figure, key, level, save, style

KINDS = {"plain": ORANGE, "residual": BLUE, "scaled": TEAL, "pre-norm": PURPLE, "post-norm": GOLD, "sandwich": MUTED}
ACTIVATIONS: dict[str, type[nn.Module]] = {"sigmoid": nn.Sigmoid, "tanh": nn.Tanh, "relu": nn.ReLU}
INITS: dict[str, Callable[[Tensor], Tensor] | None] = {
    "default": None,
    "xavier": nn.init.xavier_normal_,
    "kaiming": lambda weight: nn.init.kaiming_normal_(weight, nonlinearity="relu"),
}


class Block(nn.Module):
    """One of KINDS around F, two layers of `width` features; one of `blocks` in its net."""

    def __init__(self, kind: str, width: int, blocks: int, activation: str):
        act = ACTIVATIONS[activation]
        self.kind, self.scale = kind, blocks**-0.5 if kind == "scaled" else 1.0
        self.f = nn.Sequential(nn.Linear(width, width), act(), nn.Linear(width, width), act())
        norms = {"pre-norm": 1, "post-norm": 1, "sandwich": 2}.get(kind, 0)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(norms)])

    def forward(self, z: Tensor) -> Tensor:
        if self.kind == "plain":
            return self.f(z)
        first = self.norms[0] if self.kind in ("pre-norm", "sandwich") else nn.Identity()
        z = z + self.scale * self.f(first(z))
        return self.norms[-1](z) if self.kind in ("post-norm", "sandwich") else z


def build(kind: str, blocks: int, width: int, init: str = "default", activation: str = "relu") -> nn.Module:
    """A net for images of 8x8 with a projection, `blocks` blocks of one of KINDS, and a head; in float64."""
    model = nn.Sequential({"flatten": nn.Flatten(), "project": nn.Linear(64, width),
                           "blocks": nn.Sequential(*[Block(kind, width, blocks, activation) for _ in range(blocks)]),
                           "head": nn.Linear(width, 10)})
    if INITS[init] is not None:
        for layer in model.modules():
            if isinstance(layer, nn.Linear):
                INITS[init](layer.weight)
                nn.init.zeros_(layer.bias)
    return model.double()


def measure(model: nn.Module, x: Tensor, y: Tensor) -> np.ndarray:
    """At each block's output, the norm of the loss's gradient and the variance of the stream: (2, blocks)."""
    norms: list[float] = []
    variances: list[float] = []

    def seen(block: nn.Module, args: tuple, z: Tensor) -> None:
        variances.append(float(z.detach().numpy().var()))

    def note(block: nn.Module, grad_input: tuple, grad_output: tuple) -> None:
        norms.append(float(np.linalg.norm(grad_output[0].numpy())))

    handles = [block.register_full_backward_hook(note) for block in model.blocks]
    handles += [block.register_forward_hook(seen) for block in model.blocks]
    nn.functional.cross_entropy(model(x), y).backward()
    for handle in handles:
        handle.remove()
    return np.array([norms[::-1], variances])  # backward meets the last block first


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("gradient_depth", __doc__, draws=True)
    parser.add_argument("--blocks", type=cli.whole(1), nargs="+", default=[4, 8, 16, 32, 64], metavar="L",
                        help="numbers of blocks")
    parser.add_argument("--width", type=cli.whole(1), default=64, help="features of each layer")
    parser.add_argument("--init", choices=tuple(INITS), default="default",
                        help="of the weights in the nets with blocks of all kinds")
    parser.add_argument("--activation", choices=tuple(ACTIVATIONS), default="relu", help="in those nets")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="of the weights")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[tuple, np.ndarray]:
    """(kind, blocks) or (activation, init) to what `measure` gives."""
    images, labels = load_digits()
    x, y = Tensor(images[:256].astype(np.float64)), Tensor(labels[:256])
    depths = sorted(set(args.blocks))
    nets = {(kind, depth): (kind, depth, args.width, args.init, args.activation)
            for kind, depth in product(KINDS, depths)}
    nets |= {(activation, init): ("plain", depths[-1], args.width, init, activation)
             for activation, init in product(ACTIVATIONS, INITS)}
    found = {}
    with cli.progress(total=len(nets), unit="net") as bar:
        for name, options in nets.items():
            manual_seed(args.seed)
            found[name] = measure(build(*options), x, y)
            bar.update()

    print(f"gradient at the first block / at the last, by the number of blocks; variance after {depths[-1]} blocks / "
          "after 1")
    print(f"{'':10}" + "".join(f"{depth:>10}" for depth in depths) + f"{'variance':>12}")
    for kind in KINDS:
        print(f"{kind:10}" + "".join(f"{reach(found[kind, depth][0]):>10.1e}" for depth in depths)
              + f"{growth(found[kind, depths[-1]][1]):12.1e}")
    print(f"\nplain nets of {2 * depths[-1]} layers: gradient at the first block / at the last; variance likewise")
    print(f"{'':10}" + "".join(f"{init:>20}" for init in INITS))
    for activation in ACTIVATIONS:
        print(f"{activation:10}" + "".join(f"{reach(gradient):>10.1e}{growth(variance):>10.1e}" for gradient, variance
                                            in (found[activation, init] for init in INITS)))
    print(f"picture: {draw(args.out, depths, found, args.init, args.activation)}")
    return found


def reach(gradient: np.ndarray) -> float:
    """The size at the first block relative to the last."""
    return gradient[0] / gradient[-1]


def growth(variance: np.ndarray) -> float:
    return variance[-1] / variance[0]


def draw(path: Path, depths: list[int], found: dict[tuple, np.ndarray], init: str, activation: str) -> Path:
    deepest, blocks = depths[-1], np.arange(1, depths[-1] + 1)
    with style():
        fig = figure(13, 8.2, "How far signals and gradients reach before training")
        top, bottom = fig.subfigures(2, 1)
        top.suptitle(f"Blocks of all kinds, {activation}, {init} weights", x=0.012, ha="left", fontsize=11.5, color=INK)
        gradient, variance, ratio = top.subplots(1, 3)
        for kind, colour in KINDS.items():
            for axes, values in zip((gradient, variance), found[kind, deepest], strict=True):
                axes.plot(blocks, values, color=colour, label=kind)
            ratio.plot(depths, [reach(found[kind, depth][0]) for depth in depths], color=colour, marker="o",
                       markersize=4, label=kind)
        level(ratio, 1, "as large at the first block")
        ratio.set_xscale("log")
        ratio.set_xticks(depths, depths)
        ratio.minorticks_off()
        for axes, title, label in ((gradient, f"Gradient in nets of {deepest} blocks", "block"),
                                   (variance, f"Variance in nets of {deepest} blocks", "block"),
                                   (ratio, "Gradient at the first block / at the last", "blocks of the net")):
            finish(axes, title, label, 3)
            if axes is not variance:
                axes.set_ylim(1e-4, None)  # plain nets leave the picture, and are drawn below
        gradient.set_ylabel("norm of the loss's gradient")
        variance.set_ylabel("variance of the stream")

        bottom.suptitle(f"Plain nets of {2 * deepest} layers, by activation and initial weights", x=0.012, ha="left",
                        fontsize=11.5, color=INK)
        panels = bottom.subplots(1, 3, sharey=True)
        for axes, name in zip(panels, ACTIVATIONS, strict=True):
            for weights, colour in zip(INITS, (MUTED, BLUE, ORANGE), strict=True):
                axes.plot(blocks, found[name, weights][0], color=colour, label=weights)
            level(axes, 1e-45, "below: 0 in float32")
            finish(axes, {"relu": "ReLU"}.get(name, name), "block of two layers", 3)
        panels[0].set_ylabel("norm of the loss's gradient")
        return save(fig, path)


def finish(axes: Any, title: str, label: str, columns: int) -> None:
    axes.set(yscale="log", xlabel=label)
    axes.set_title(title)
    key(axes, columns)


if __name__ == "__main__":
    main()
