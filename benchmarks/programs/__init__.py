"""Training steps written by hand, without layers, here and in PyTorch. Nothing is tuned for them.

    python -m benchmarks.programs                            all of them
    python -m benchmarks.programs --only lstm --seconds 2

Each program is written twice, line for line, as a function from the weights, by name, to the training step.
`step(*inputs)` changes the weights and returns the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

Arrays = dict[str, np.ndarray]
Step = Callable[..., Any]


class Program(NamedTuple):
    text: str
    weights: Callable[[np.random.Generator], Arrays]
    inputs: Callable[[np.random.Generator], tuple[np.ndarray, ...]]
    ours: Callable[[dict], Step]
    torch: Callable[[dict], Step]

    def make(self, library: str, seed: int = 0) -> tuple[Step, tuple, dict]:
        """The step, its arguments, and the weights that it changes, in "ours" or "torch"."""
        rng = np.random.default_rng(seed)
        weights, inputs = self.weights(rng), self.inputs(rng)
        if library == "ours":
            from tinygrad_like import Tensor

            made = {name: Tensor(array, requires_grad=True) for name, array in weights.items()}
            return self.ours(made), tuple(Tensor(array) for array in inputs), made
        import torch

        made = {name: torch.from_numpy(array).requires_grad_() for name, array in weights.items()}
        return self.torch(made), tuple(torch.from_numpy(array) for array in inputs), made


def normal(rng: np.random.Generator, *shape: int, scale: float | None = None) -> np.ndarray:
    """Normal numbers, with variance 1 / shape[0] by default: weights of `x @ w`."""
    scale = shape[0] ** -0.5 if scale is None else scale
    return (scale * rng.standard_normal(shape)).astype(np.float32)


def layers(rng: np.random.Generator, prefix: str, *sizes: int) -> Arrays:
    """Weights w1, b1, w2, b2, ... of layers `x @ w + b`."""
    made = {}
    for i, (a, b) in enumerate(zip(sizes, sizes[1:], strict=False), 1):
        made[f"{prefix}w{i}"], made[f"{prefix}b{i}"] = normal(rng, a, b), np.zeros(b, np.float32)
    return made


_FAMILIES = ("recurrent", "language", "equations", "fluids", "meta", "flows", "adversarial", "representation")


def programs() -> dict[str, Program]:
    """Every program, by name."""
    return {name: program for family in _FAMILIES
            for name, program in import_module(f".{family}", __name__).PROGRAMS.items()}
