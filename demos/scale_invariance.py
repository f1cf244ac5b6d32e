"""A norm makes the scale of the weights before it irrelevant (7.42-7.47), both for the outputs and for learning.

In a net of Linear layers, all but the last are followed by a norm. It is compared with the same net after multiplying
all weights and biases of these layers by a; likewise a net without norms. With norms

    f(x; a W) = f(x; W)               the logits stay the same, to rounding
    df/dW (a W) = 1/a df/dW (W)       gradients shrink as the weights grow

so a step of gradient descent rotates a W as much as a step with the rate / a^2 rotates W.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import nn
from demos import cli
from demos.figures import BLUE, MUTED, ORANGE, level, slide
from tinygrad_like import Tensor, manual_seed
from tinygrad_like.data import load_digits

NORMS = {"LayerNorm": nn.LayerNorm, "RMSNorm": nn.RMSNorm, "BatchNorm": nn.BatchNorm1d, "no norm": None}
EPS = 1e-30  # a norm divides by sqrt(var + eps): it is invariant only if eps is negligible


def build(norm: str, width: int, layers: int) -> nn.Sequential:
    """`layers` times Linear, norm and ReLU, and a Linear head; for 8x8 images, in float64."""
    parts: list[nn.Module] = [nn.Flatten()]
    for i in range(layers):
        parts.append(nn.Linear(width if i else 64, width))
        if NORMS[norm] is not None:
            parts.append(NORMS[norm](width, eps=EPS))
        parts.append(nn.ReLU())
    return nn.Sequential(*parts, nn.Linear(width, 10)).double()


def scaled_layers(model: nn.Sequential) -> list[nn.Linear]:
    """The Linear layers before the head."""
    return [layer for layer in model if isinstance(layer, nn.Linear)][:-1]


def measure(model: nn.Sequential, a: float, x: Tensor, y: Tensor) -> tuple[np.ndarray, float]:
    """The logits, and the norm of the loss's gradient with respect to the scaled weights, after multiplying them by a.
    """
    layers = scaled_layers(model)
    for layer in layers:
        for parameter in layer.parameters():
            parameter.assign(parameter * a)
    model.zero_grad()
    logits = model(x)
    nn.functional.cross_entropy(logits, y).backward()
    gradient = np.sqrt(sum(float((layer.weight.grad.numpy() ** 2).sum()) for layer in layers))
    for layer in layers:
        for parameter in layer.parameters():
            parameter.assign(parameter / a)
    return logits.detach().numpy(), gradient


def make_parser() -> argparse.ArgumentParser:
    parser = cli.parser("scale_invariance", __doc__, draws=True)
    parser.add_argument("--scales", type=cli.number(least=1e-6, most=1e6), nargs="+", metavar="A",
                        default=[0.01, 0.1, 0.5, 1, 2, 10, 100],
                        help="factors of the weights")
    parser.add_argument("--width", type=cli.whole(1), default=32, help="features of each layer")
    parser.add_argument("--layers", type=cli.whole(1), default=3, help="Linear layers with a norm")
    parser.add_argument("--seed", type=cli.whole(), default=0, help="random seed of the weights")
    return parser


@cli.command(make_parser)
def main(args: argparse.Namespace) -> dict[str, np.ndarray]:
    images, labels = load_digits()
    x, y = Tensor(images[:128].astype(np.float64)), Tensor(labels[:128])
    scales = sorted(set(args.scales))
    found = {}
    for norm in NORMS:
        manual_seed(args.seed)
        model = build(norm, args.width, args.layers)
        logits, gradient = measure(model, 1.0, x, y)
        rows = [measure(model, a, x, y) for a in scales]
        found[norm] = np.array([(np.abs(z - logits).max() / np.abs(logits).max(), g / gradient) for z, g in rows])
    print("largest change of a logit, relative to the largest logit")
    for norm, values in found.items():
        print(f"  {norm:10}" + "".join(f"  a={a:g}: {v:.1e}" for a, v in zip(scales, values[:, 0], strict=True)))
    print("gradient norm at a W, times a, relative to that at W")
    for norm, values in found.items():
        print(f"  {norm:10}" + "".join(f"  a={a:g}: {v * a:.4g}" for a, v in zip(scales, values[:, 1], strict=True)))
    draw(args.out, scales, found)
    return found


def draw(path: Path, scales: list[float], found: dict[str, np.ndarray]) -> None:
    with slide(path, "Before a norm, the scale of the weights does not matter", 1, 2) as (change, gradient):
        markers = dict(zip(NORMS, "osD^", strict=True))
        for norm, values in found.items():
            colour = ORANGE if NORMS[norm] is None else BLUE
            line = dict(color=colour, marker=markers[norm], markersize=8, label=norm, fillstyle="none", linewidth=1.6)
            others = np.array(scales) != 1  # a = 1 changes nothing
            change.plot(np.array(scales)[others], np.maximum(values[others, 0], 1e-17), **line)
            gradient.plot(scales, values[:, 1], **line)
        gradient.plot(scales, 1 / np.array(scales), color=MUTED, alpha=0.25, linewidth=9, zorder=0, label="1 / a")
        level(change, np.finfo(np.float64).eps, "rounding")
        change.set(title="Largest relative change of a logit")
        gradient.set(title="Gradient norm, relative to a = 1")
        for axes in (change, gradient):
            axes.set(xscale="log", yscale="log", xlabel="weights multiplied by a")
            axes.minorticks_off()
        change.set_ylim(bottom=1e-18)


if __name__ == "__main__":
    main()
