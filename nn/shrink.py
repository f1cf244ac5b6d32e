"""Activations that cut off what is small or below a threshold, softmin, and the softmax of channels."""

from __future__ import annotations

from typing import Any

from tinygrad_like import ops, random
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import named

from .activation import InPlace
from .module import Configured


@named
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """x if x > threshold, else value."""
    return ops.where(ops.le(input, threshold), value, input)  # NaN stays


@named
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x if |x| > lambd, else 0."""
    return ops.where(ops.le(ops.abs(input), lambd), 0.0, input)


@named
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x - lambd if x > lambd, x + lambd if x < -lambd, else 0."""
    return input - ops.clip(input, min=-lambd, max=lambd)


@named
def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh x."""
    return input - ops.tanh(input)


@named
def softmin(input: Tensor, dim: int = -1, dtype: Any = None) -> Tensor:
    """The softmax of -x along axis dim."""
    return ops.softmin(input if dtype is None else input.cast(dtype), axis=dim)


@named
def rrelu(input: Tensor, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """x if x >= 0, else a x: in training a is uniform on [lower, upper) for each number, else (lower + upper) / 2.

    Source: Xu et al. 2015. Raises ValueError if lower > upper.
    """
    if not lower <= upper:
        raise ValueError(f"rrelu: lower={lower!r} must not be more than upper={upper!r}")
    if not training:
        return ops.leaky_relu(input, negative_slope=(lower + upper) / 2)
    slopes = random.drawn(lambda: random.generator.uniform(lower, upper, input.shape).astype(input.dtype))
    return ops.where(ops.ge(input, 0), input, input * slopes)


class Threshold(InPlace):
    """x if x > threshold, else value."""

    def __init__(self, threshold: float, value: float):
        self.threshold, self.value = threshold, value

    def forward(self, x: Tensor) -> Tensor:
        return threshold(x, self.threshold, self.value)


class Hardshrink(Configured):
    """x if |x| > lambd, else 0."""

    def __init__(self, lambd: float = 0.5):
        self.lambd = lambd

    def forward(self, x: Tensor) -> Tensor:
        return hardshrink(x, self.lambd)


class Softshrink(Configured):
    """x brought nearer to 0 by lambd, or to 0: the proximal map of lambd |x|. Raises ValueError for lambd < 0."""

    def __init__(self, lambd: float = 0.5):
        if not lambd >= 0:
            raise ValueError(f"Softshrink: lambd={lambd!r} must be >= 0")
        self.lambd = lambd

    def forward(self, x: Tensor) -> Tensor:
        return softshrink(x, self.lambd)


class Tanhshrink(Configured):
    """x - tanh x."""

    forward = staticmethod(tanhshrink)


class RReLU(InPlace):
    """A leaky ReLU with slopes drawn at random in training, see `nn.functional.rrelu`."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3):
        self.lower, self.upper = lower, upper

    def forward(self, x: Tensor) -> Tensor:
        return rrelu(x, self.lower, self.upper, self.training)


class Softmin(Configured):
    """The softmax of -x along axis dim."""

    def __init__(self, dim: int = -1):
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return softmin(x, self.dim)


class Softmax2d(Configured):
    """The softmax over the channels of each pixel: (batch, channels, height, width), or without a batch."""

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: takes (batch, channels, height, width) or (channels, height, width), got "
                             f"shape {x.shape}")
        return ops.softmax(x, axis=-3)
