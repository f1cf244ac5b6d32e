"""LSTM and GRU layers compared with PyTorch's (oneDNN), forward and backward; ratio above 1: ours is faster.

    python -m benchmarks.recurrent            every shape
    python -m benchmarks.recurrent --quick    fewer rounds
    python -m benchmarks.recurrent --only gru

Both libraries run as in a training step: nn.LSTM or nn.GRU is recorded on a sequence, then backward computes the
gradients of the input and of all weights.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from . import compare

LIBRARIES = "ours", "torch"


class Case(NamedTuple):
    kind: str
    steps: int
    batch: int
    inputs: int
    hidden: int

    @property
    def name(self) -> str:
        return f"{self.kind.lower()}, {self.steps} steps, batch {self.batch}, {self.inputs}-{self.hidden}"

    @property
    def flops(self) -> int:
        """Operations of the matrix products: one forward, two backward."""
        gates = 4 if self.kind == "LSTM" else 3
        return 6 * self.steps * self.batch * gates * self.hidden * (self.inputs + self.hidden)


SHAPES = ((28, 64, 28, 128), (64, 32, 128, 128), (35, 20, 200, 200), (100, 8, 64, 64), (100, 1, 64, 64),
          (128, 16, 256, 256), (64, 64, 512, 512))  # fmt: skip
CASES = tuple(Case(kind, *shape) for kind in ("LSTM", "GRU") for shape in SHAPES)


def step(library: str, case: Case) -> Callable[[], object]:
    """A function without arguments that does one forward and backward pass over a sequence."""
    rng = np.random.default_rng(0)
    x, g = (rng.standard_normal((case.steps, case.batch, n), np.float32) for n in (case.inputs, case.hidden))
    if library == "ours":
        import nn
        from tinygrad_like import Tensor

        layer, x, g = getattr(nn, case.kind)(case.inputs, case.hidden), Tensor(x), Tensor(g)
    else:
        import torch

        layer = getattr(torch.nn, case.kind)(case.inputs, case.hidden)
        x, g = torch.from_numpy(x), torch.from_numpy(g)
    x.requires_grad_(True)

    def run() -> None:
        x.grad = None
        layer.zero_grad()
        layer(x)[0].backward(g)

    return run


def figures(i: int, seconds: dict[str, float]) -> str:
    ours, theirs = (seconds[library] for library in LIBRARIES)
    return f"{ours * 1e3:9.2f}{theirs * 1e3:11.2f}{CASES[i].flops / ours / 1e9:15.0f}"


if __name__ == "__main__":
    compare.main("recurrent", LIBRARIES, lambda: [case.name for case in CASES],
                 lambda library, i: step(library, CASES[i]), f"{'ours, ms':>9}{'torch, ms':>11}{'ours, GFLOP/s':>15}",
                 figures, budget=0.1)
