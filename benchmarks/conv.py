"""Convolutions compared with PyTorch's (oneDNN), forward and backward, batch 64; ratio above 1: ours is faster.

    python -m benchmarks.conv            every shape
    python -m benchmarks.conv --quick    fewer rounds
    python -m benchmarks.conv --only depthwise

Both libraries run as in a training step: the op is recorded, then backward computes the gradients of the weight and,
except in the first layer of a network, of the image.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import compare

LIBRARIES = "ours", "torch"
BATCH = 64


@dataclass(frozen=True)
class Convolution:
    channels: int
    filters: int
    size: int  # of the image, which is square
    kernel: int = 3
    stride: int = 1
    groups: int = 1
    first: bool = False  # first layer: its input is data, without a gradient

    @property
    def name(self) -> str:
        parts = [f"{self.channels} -> {self.filters} @ {self.size}", f"{self.kernel}x{self.kernel}"]
        parts += [f"stride {self.stride}"] if self.stride > 1 else []
        parts += ["depthwise"] if self.groups == self.channels else [f"{self.groups} groups"] if self.groups > 1 else []
        return ", ".join([*parts, "no input gradient"] if self.first else parts)

    @property
    def options(self) -> dict[str, int]:
        return dict(stride=self.stride, padding=self.kernel // 2, groups=self.groups)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Image, weight and output gradient."""
        rng = np.random.default_rng(0)
        out = (self.size - 1) // self.stride + 1
        shapes = ((BATCH, self.channels, self.size, self.size),
                  (self.filters, self.channels // self.groups, self.kernel, self.kernel),
                  (BATCH, self.filters, out, out))
        x, w, g = (rng.standard_normal(shape, np.float32) for shape in shapes)
        return x, w, g

    @property
    def flops(self) -> int:
        """Operations of the output and the gradients: a multiplication and an addition per output, tap and channel."""
        _, w, g = self.arrays
        return 2 * g.size * w[0].size * (2 if self.first else 3)


CASES = (
    Convolution(3, 16, 32, first=True),
    Convolution(16, 16, 32), Convolution(32, 32, 16), Convolution(64, 64, 8),
    Convolution(16, 32, 32, stride=2), Convolution(32, 64, 16, stride=2),
    Convolution(64, 64, 32), Convolution(128, 128, 16),
    Convolution(16, 32, 32, kernel=1, stride=2), Convolution(32, 64, 16, kernel=1, stride=2),
    Convolution(64, 256, 16, kernel=1),
    Convolution(128, 128, 16, groups=32),
    Convolution(64, 64, 16, kernel=7, groups=64),
)  # fmt: skip


def step(library: str, case: Convolution) -> Callable[[], object]:
    """A function without arguments that does one forward and backward pass."""
    if library == "ours":
        from tinygrad_like import Tensor
        from tinygrad_like.ops import conv2d

        x, w, g = (Tensor(a) for a in case.arrays)
    else:
        import torch
        from torch.nn.functional import conv2d

        x, w, g = (torch.from_numpy(a) for a in case.arrays)
    x.requires_grad_(not case.first)
    w.requires_grad_(True)

    def run() -> None:
        x.grad = w.grad = None
        conv2d(x, w, **case.options).backward(g)

    return run


def figures(i: int, seconds: dict[str, float]) -> str:
    ours, theirs = (seconds[library] for library in LIBRARIES)
    return f"{ours * 1e3:9.2f}{theirs * 1e3:11.2f}{CASES[i].flops / ours / 1e9:15.0f}"


if __name__ == "__main__":
    compare.main("conv", LIBRARIES, lambda: [case.name for case in CASES], lambda library, i: step(library, CASES[i]),
                 f"{'ours, ms':>9}{'torch, ms':>11}{'ours, GFLOP/s':>15}", figures, budget=0.1)
