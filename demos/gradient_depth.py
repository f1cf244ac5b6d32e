"""Signals and gradients in untrained deep nets, by skip connections, norms, activations and initial weights.

F is two layers, each Linear and activation. A block is one of


    plain      z <- F(z)
    residual   z <- z + F(z)                   (7.38)
    scaled     z <- z + F(z) / sqrt(L)         with L blocks (003)
    pre-norm   z <- z + F(norm(z))             (003)
    post-norm  z <- norm(z + F(z))
    sandwich   z <- norm(z + F(norm(z)))

For one batch of digits it measures, at the output of every block, the norm of the loss's gradient and the variance of
the residual stream. Prints the ratio of the gradients at the first and the last block by the number of blocks, and the
growth of the variance; then the ratio for equally deep plain nets with sigmoid, tanh and ReLU, each with the initial
weights of nn.Linear, Xavier and Kaiming. It computes in float64: in float32, gradients below 1e-45 are 0.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product

import numpy as np

import nn
from demos import cli
from demos.figures import BLUE, GOLD, INK, MUTED, ORANGE, PURPLE, TEAL, level, over_seeds, slide, spread, table, ticks
from tinygrad_like import Tensor
from tinygrad_like.data import load_digits

KINDS = {"plain": INK, "residual": BLUE, "scaled": TEAL, "pre-norm": PURPLE, "post-norm": ORANGE, "sandwich": GOLD}
ACTIVATIONS: dict[str, type[nn.Module]] = {"sigmoid": nn.Sigmoid, "tanh": nn.Tanh, "relu": nn.ReLU}
INITS: dict[str, Callable[[Tensor], Tensor] | None] = {
    "default": None,
    "xavier": nn.init.xavier_normal_,
    "kaiming": lambda weight: nn.init.kaiming_normal_(weight, nonlinearity="relu"),
}


class Block(nn.Module):
    """A block of one of KINDS, of `width` features; `blocks`: the number of blocks of its net."""

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
    parser = cli.parser("gradient_depth", __doc__, draws=True, seeds=3, quick=dict(blocks=[2, 12], width=32, seeds=1))
    parser.add_argument("--blocks", type=cli.whole(1), nargs="+", default=[4, 8, 16, 32, 64], metavar="L",
                        help="numbers of blocks")
    parser.add_argument("--width", type=cli.whole(1), default=64, help="features of each layer")
    parser.add_argument("--init", choices=tuple(INITS), default="kaiming",
                        help="initial weights in the comparison of blocks")
    parser.add_argument("--activation", choices=tuple(ACTIVATIONS), default="relu",
                        help="activation in the comparison of blocks")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[tuple, np.ndarray]:
    """The results of `measure` for each seed, by (kind, blocks) or (activation, init)."""
    images, labels = load_digits()
    x, y = Tensor(images[:256].astype(np.float64)), Tensor(labels[:256])
    depths = sorted(set(args.blocks))
    nets = {(kind, depth): (kind, depth, args.width, args.init, args.activation)
            for kind, depth in product(KINDS, depths)}
    nets |= {(activation, init): ("plain", depths[-1], args.width, init, activation)
             for activation, init in product(ACTIVATIONS, INITS)}
    found = over_seeds(args, nets, lambda case: measure(build(*nets[case]), x, y))
    ratios = {kind: np.stack([end_to_end(found[kind, n])[:, 0] for n in depths], axis=1) for kind in KINDS}
    table(f"gradient at the first block / at the last, by the number of blocks; {args.init} weights, median", depths,
          ratios, ".1e", 1)
    table(f"variance of the stream after {depths[-1]} blocks / after 1", [""],
          {kind: 1 / end_to_end(found[kind, depths[-1]])[:, 1:] for kind in KINDS}, ".1e", 1)
    table(f"plain nets of {2 * depths[-1]} layers: gradient at the first block / at the last", INITS,
          {name: np.stack([end_to_end(found[name, init])[:, 0] for init in INITS], axis=1) for name in ACTIVATIONS},
          ".1e", 1)
    draw(args, depths, found, ratios)
    return found


def end_to_end(values: np.ndarray) -> np.ndarray:
    """Both numbers of `measure` at the first block relative to the last: (seeds, 2, blocks) -> (seeds, 2)."""
    return values[..., 0] / values[..., -1]


def draw(args: argparse.Namespace, depths: list[int], found: dict[tuple, np.ndarray],
         ratios: dict[str, np.ndarray]) -> None:
    blocks = np.arange(1, depths[-1] + 1)
    with slide(args.out, "Without skips or suitable weights, no gradient reaches the first layers", 1, 3) as panels:
        plain, ratio, variance = panels
        for (name, init), values in found.items():
            if name in ACTIVATIONS and init != "xavier":
                spread(plain, blocks, values[:, 0], color={"relu": INK, "tanh": MUTED, "sigmoid": "#b3bac4"}[name],
                       linestyle="-" if init == "default" else "--", label=name + ", Kaiming" * (init == "kaiming"))
        for kind, colour in list(KINDS.items())[1:]:
            line = dict(color=colour, linestyle=":" if kind == "sandwich" else "-", label=kind)
            spread(ratio, depths, ratios[kind], marker="o", **line)
            spread(variance, blocks, found[kind, depths[-1]][:, 1], **line)
        level(plain, 1e-45, "below: 0 in float32")
        level(ratio, 1, "equal at both ends")
        ticks(ratio, depths)
        plain.set(title="Gradient norm, plain nets", xlabel="block of two layers")
        ratio.set(title="Gradient, first / last block", xlabel="blocks of the net")
        variance.set(title="Variance of the stream", xlabel="block")
        for axes in panels:
            axes.set(yscale="log")
        ratio.set_ylim(bottom=0.1 * ratio.get_ylim()[0])  # room for the label
        low = int(np.log10(plain.get_ylim()[0]))
        plain.set_yticks(10.0 ** np.arange(0, low, -20 if low < -40 else -5))


if __name__ == "__main__":
    main()
