"""Activations as modules (7.20, 7.24-7.28; 003). The functions are ops; the modules hold their options.

An activation has no parameters. Without one between them, affine layers collapse into one affine layer (7.29-7.33).
"""

from __future__ import annotations

from collections.abc import Callable

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import named

from .configured import Configured
from .module import Module, Parameter, check_positive, described


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

    op = staticmethod(ops.leaky_relu)
    negative_slope: float = 0.01


class PReLU(Configured):
    """x if x > 0, else a x, with a learned slope a for all channels (axis 1) or for each of them.

    weight: (num_parameters,), the slopes, at first `init`. Source: He et al. 2015.
    """

    num_parameters: int = 1
    init: float = 0.25

    def __post_init__(self):
        check_positive(self, num_parameters=self.num_parameters)
        self.weight = Parameter(Tensor.full(self.num_parameters, float(self.init)))

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

    op = staticmethod(ops.elu)
    alpha: float = 1.0


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

    op = staticmethod(ops.gelu)
    approximate: str = "none"

    def __post_init__(self):
        if self.approximate not in ("none", "tanh"):
            raise ValueError(f'GELU: approximate must be "none" or "tanh", got {self.approximate!r}')


class SiLU(InPlace):
    """x / (1 + e^-x), also called Swish."""

    forward = staticmethod(ops.silu)


class Softplus(Configured):
    """log(1 + e^(beta x)) / beta (7.28), a smooth ReLU; x itself where beta x exceeds the threshold."""

    op = staticmethod(ops.softplus)
    beta: float = 1.0
    threshold: float = 20.0

    def __post_init__(self):
        if not self.beta > 0:
            raise ValueError(f"Softplus: beta must be positive, got {self.beta}")


class CELU(InPlace):
    """x if x > 0, else alpha (e^(x / alpha) - 1)."""

    op = staticmethod(ops.celu)
    alpha: float = 1.0


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

    op = staticmethod(ops.hardtanh)
    min_val: float = -1.0
    max_val: float = 1.0


class _AlongAxis(Configured):
    dim: int = -1

    def forward(self, x: Tensor) -> Tensor:
        return self.op(x, axis=self.dim)


class Softmax(_AlongAxis):
    """e^(x_i) / sum_j e^(x_j) along axis dim. Losses want logits: CrossEntropyLoss takes no softmax before it (003)."""

    op = staticmethod(ops.softmax)


class LogSoftmax(_AlongAxis):
    """x_i - log sum_j e^(x_j) along axis dim."""

    op = staticmethod(ops.log_softmax)


class Softmin(_AlongAxis):
    """The softmax of -x along axis dim."""

    op = staticmethod(ops.softmin)


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


class Hardshrink(Configured):
    """x if |x| > lambd, else 0."""

    op = staticmethod(hardshrink)
    lambd: float = 0.5


class Softshrink(Configured):
    """x brought nearer to 0 by lambd, or to 0: the proximal map of lambd |x|. Raises ValueError for lambd < 0."""

    op = staticmethod(softshrink)
    lambd: float = 0.5

    def __post_init__(self):
        if not self.lambd >= 0:
            raise ValueError(f"Softshrink: lambd={self.lambd!r} must be >= 0")


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
