"""Activations as modules (7.20, 7.24-7.28; 003). The functions are ops; the modules hold their arguments.

An activation has no parameters. Without one between them, affine layers collapse into one affine layer (7.29-7.33).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import named

from .module import Configured, Module, Parameter, check_positive, described


class InPlace(Configured):
    """A layer that takes PyTorch's `inplace=True`, which turns its input into its output, as `x.relu_()` does.

    So in `x + block(x)` the first x is activated too, if the block begins with it. Between layers that run as one op
    there is nothing to change. Raises RuntimeError if another Tensor shares the input's memory.
    """

    inplace = False

    def __call__(self, input: Tensor) -> Tensor:
        return input._become(f"{type(self).__name__}(inplace=True)", super().__call__) if self.inplace else \
            super().__call__(input)

    def extra_repr(self) -> str:
        return ", ".join(filter(None, (super().extra_repr(), "inplace=True" if self.inplace else "")))


class BinaryStep(Configured):
    """1 if x >= 0, else 0. Its gradient is 0, so gradients cannot train anything before it."""

    forward = staticmethod(ops.binary_step)


class ReLU(InPlace):
    """max(x, 0) (7.20). The derivative at 0 is taken to be 0."""

    forward = staticmethod(ops.relu)


class LeakyReLU(InPlace):
    """x if x > 0, else negative_slope * x (7.26)."""

    def __init__(self, negative_slope: float = 0.01):
        self.negative_slope = negative_slope

    def forward(self, x: Tensor) -> Tensor:
        return ops.leaky_relu(x, negative_slope=self.negative_slope)


class PReLU(Configured):
    """x if x > 0, else a x, with a learned slope a for all channels (axis 1) or for each of them.

    weight: (num_parameters,), the slopes, at first `init`. Source: He et al. 2015.
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25):
        check_positive(self, num_parameters=num_parameters)
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(Tensor.full(num_parameters, float(init)))

    def forward(self, x: Tensor) -> Tensor:
        return prelu(x, self.weight)


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """x if x > 0, else weight x; weight has one number, or one for each channel (axis 1)."""
    if weight.shape not in ((), (1,)) and (x.ndim < 2 or weight.shape != (x.shape[1],)):
        raise ValueError(f"prelu: weight must have one number, or one for each channel of axis 1, got shape "
                         f"{weight.shape} for an input of shape {x.shape}")
    slopes = ops.reshape(weight, shape=(-1,) + (1,) * (x.ndim - 2) if x.ndim > 1 else ())
    return ops.where(x > 0, x, slopes * x)


class ELU(InPlace):
    """x if x > 0, else alpha (e^x - 1)."""

    def __init__(self, alpha: float = 1.0):
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return ops.elu(x, alpha=self.alpha)


class Sigmoid(Configured):
    """1 / (1 + e^-x) (7.24)."""

    forward = staticmethod(ops.sigmoid)


class LogSigmoid(Configured):
    """log(1 / (1 + e^-x)), without overflow."""

    forward = staticmethod(ops.logsigmoid)


class Tanh(Configured):
    """(e^x - e^-x) / (e^x + e^-x) (7.25)."""

    forward = staticmethod(ops.tanh)


class GELU(Configured):
    """x Phi(x) = x/2 (1 + erf(x / sqrt 2)) (7.27), exactly, or with approximate="tanh" as in 003 and GPT-2."""

    def __init__(self, approximate: str = "none"):
        if approximate not in ("none", "tanh"):
            raise ValueError(f'GELU: approximate must be "none" or "tanh", got {approximate!r}')
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return ops.gelu(x, approximate=self.approximate)


class SiLU(InPlace):
    """x / (1 + e^-x), also called Swish."""

    forward = staticmethod(ops.silu)


class Softplus(Configured):
    """log(1 + e^(beta x)) / beta (7.28), a smooth ReLU; x itself where beta x exceeds the threshold."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0):
        if not beta > 0:
            raise ValueError(f"Softplus: beta must be positive, got {beta}")
        self.beta, self.threshold = beta, threshold

    def forward(self, x: Tensor) -> Tensor:
        return ops.softplus(x, beta=self.beta, threshold=self.threshold)


class CELU(InPlace):
    """x if x > 0, else alpha (e^(x / alpha) - 1)."""

    def __init__(self, alpha: float = 1.0):
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return ops.celu(x, self.alpha)


class SELU(InPlace):
    """ELU, scaled so that means 0 and variances 1 stay (Klambauer et al. 2017)."""

    forward = staticmethod(ops.selu)


class Mish(InPlace):
    """x tanh(log(1 + e^x))."""

    forward = staticmethod(ops.mish)


class Softsign(Configured):
    """x / (1 + |x|)."""

    forward = staticmethod(ops.softsign)


class ReLU6(InPlace):
    """min(max(x, 0), 6)."""

    forward = staticmethod(ops.relu6)


class Hardsigmoid(InPlace):
    """min(max(x / 6 + 1/2, 0), 1)."""

    forward = staticmethod(ops.hardsigmoid)


class Hardswish(InPlace):
    """x min(max(x / 6 + 1/2, 0), 1)."""

    forward = staticmethod(ops.hardswish)


class Hardtanh(InPlace):
    """min(max(x, min_val), max_val)."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0):
        self.min_val, self.max_val = min_val, max_val

    def forward(self, x: Tensor) -> Tensor:
        return ops.hardtanh(x, min_val=self.min_val, max_val=self.max_val)


class _AlongAxis(Configured):
    op: Callable

    def __init__(self, dim: int = -1):
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return self.op(x, axis=self.dim)


class Softmax(_AlongAxis):
    """e^(x_i) / sum_j e^(x_j) along axis dim. Losses want logits: CrossEntropyLoss takes no softmax before it (003)."""

    op = staticmethod(ops.softmax)


class LogSoftmax(_AlongAxis):
    """x_i - log sum_j e^(x_j) along axis dim."""

    op = staticmethod(ops.log_softmax)


class GLU(_AlongAxis):
    """value * sigmoid(gate), the first and second half of axis dim, which must be even (003)."""

    op = staticmethod(ops.glu)


class SwiGLU(_AlongAxis):
    """value * silu(gate), the first and second half of axis dim, which must be even (003)."""

    op = staticmethod(ops.swiglu)


@named
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x if |x| > lambd, else 0."""
    return ops.where(ops.le(ops.abs(input), lambd), 0.0, input)


@named
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x - lambd if x > lambd, x + lambd if x < -lambd, else 0."""
    return input - ops.clip(input, min=-lambd, max=lambd)


@named
def softmin(input: Tensor, dim: int = -1, dtype: Any = None) -> Tensor:
    """The softmax of -x along axis dim."""
    return ops.softmin(input if dtype is None else input.cast(dtype), axis=dim)


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


class Softmin(Configured):
    """The softmax of -x along axis dim."""

    def __init__(self, dim: int = -1):
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return softmin(x, self.dim)


def make_activation(who: str, activation: Callable[[], Module]) -> Module:
    """The layer that `activation()` makes. Raises TypeError, in the name of `who`, if it is not a Module."""
    try:
        made = None if isinstance(activation, Module) else activation()
    except TypeError:  # it is no function, or needs an input
        made = None
    if not isinstance(made, Module):
        raise TypeError(f"{who}: activation must make a Module when called without arguments, as nn.ReLU and "
                        f"lambda: nn.ELU(0.5) do; got {described(activation)}")
    return made
