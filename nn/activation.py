"""Activations as modules (7.20, 7.24-7.28; 003): each module holds the options of an op.

Without an activation between them, affine layers collapse into one affine layer (7.29-7.33).
"""

from __future__ import annotations

from collections.abc import Callable

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import named

from .configured import Configured
from .module import Module, Parameter, check_positive, described


class InPlace(Configured):
    """A layer with PyTorch's `inplace=True`, which overwrites its input with its output, like `x.relu_()`.

    So `x + block(x)` adds an activated x if the block begins with such a layer. Layers fused into one op have no input
    to overwrite. Raises RuntimeError if another Tensor shares the input's memory.
    """

    inplace = False

    def __call__(self, input: Tensor) -> Tensor:
        return input._become(f"{type(self).__name__}(inplace=True)", super().__call__) if self.inplace else \
            super().__call__(input)

    def extra_repr(self) -> str:
        return ", ".join(filter(None, (super().extra_repr(), "inplace=True" if self.inplace else "")))


class BinaryStep(Configured, op=ops.binary_step):
    """1 if x >= 0, else 0. Its gradient is 0, so the layers before it cannot be trained by gradients."""


class ReLU(InPlace, op=ops.relu):
    """max(x, 0) (7.20). The derivative at 0 is 0 by convention."""


class LeakyReLU(InPlace, op=ops.leaky_relu):
    """x if x > 0, else negative_slope * x (7.26)."""


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """x if x > 0, else weight x; weight has one element, or one per channel (axis 1)."""
    if weight.shape not in ((), (1,)) and (x.ndim < 2 or weight.shape != (x.shape[1],)):
        raise ValueError(f"prelu: weight must have one element, or one per channel of axis 1, got shape "
                         f"{weight.shape} for an input of shape {x.shape}")
    slopes = ops.reshape(weight, shape=(-1,) + (1,) * (x.ndim - 2) if x.ndim > 1 else ())
    return ops.where(x > 0, x, slopes * x)


class PReLU(Module):
    """x if x > 0, else a x, with one learned slope a for all channels (axis 1), or one per channel. weight:
    (num_parameters,), the slopes, which start at `init`. Source: He et al. 2015.
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25):
        check_positive(self, num_parameters=num_parameters)
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(Tensor.full(num_parameters, float(init)))

    def forward(self, x: Tensor) -> Tensor:
        return prelu(x, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}, init={self.init}"


class ELU(InPlace, op=ops.elu):
    """x if x > 0, else alpha (e^x - 1)."""


class Sigmoid(Configured, op=ops.sigmoid):
    """1 / (1 + e^-x) (7.24)."""


class LogSigmoid(Configured, op=ops.logsigmoid):
    """log(1 / (1 + e^-x)), without overflow."""


class Tanh(Configured, op=ops.tanh):
    """(e^x - e^-x) / (e^x + e^-x) (7.25)."""


class GELU(Configured, op=ops.gelu):
    """x Phi(x) = x/2 (1 + erf(x / sqrt 2)) (7.27), exactly, or with approximate="tanh" as in 003 and GPT-2."""

    approximate: str

    def __post_init__(self):
        if self.approximate not in ("none", "tanh"):
            raise ValueError(f'GELU: approximate must be "none" or "tanh", got {self.approximate!r}')


class SiLU(InPlace, op=ops.silu):
    """x / (1 + e^-x), also called Swish."""


class Softplus(Configured, op=ops.softplus):
    """log(1 + e^(beta x)) / beta (7.28), a smooth ReLU; x itself where beta x exceeds the threshold."""

    beta: float

    def __post_init__(self):
        if not self.beta > 0:
            raise ValueError(f"Softplus: beta must be positive, got {self.beta}")


class CELU(InPlace, op=ops.celu):
    """x if x > 0, else alpha (e^(x / alpha) - 1)."""


class SELU(InPlace, op=ops.selu):
    """ELU, scaled to preserve mean 0 and variance 1 (Klambauer et al. 2017)."""


class Mish(InPlace, op=ops.mish):
    """x tanh(log(1 + e^x))."""


class Softsign(Configured, op=ops.softsign):
    """x / (1 + |x|)."""


class ReLU6(InPlace, op=ops.relu6):
    """min(max(x, 0), 6)."""


class Hardsigmoid(InPlace, op=ops.hardsigmoid):
    """min(max(x / 6 + 1/2, 0), 1)."""

    takes = ()


class Hardswish(InPlace, op=ops.hardswish):
    """x min(max(x / 6 + 1/2, 0), 1)."""


class Hardtanh(InPlace, op=ops.hardtanh):
    """min(max(x, min_val), max_val)."""


class Softmax(Configured, op=ops.softmax):
    """e^(x_i) / sum_j e^(x_j) along axis dim. Do not apply it before CrossEntropyLoss, which takes logits (003)."""


class LogSoftmax(Configured, op=ops.log_softmax):
    """x_i - log sum_j e^(x_j) along axis dim."""


class Softmin(Configured, op=ops.softmin):
    """The softmax of -x along axis dim."""


class GLU(Configured, op=ops.glu):
    """value * sigmoid(gate), the first and second half of axis dim, which must be even (003)."""


class SwiGLU(Configured, op=ops.swiglu):
    """value * silu(gate), the first and second half of axis dim, which must be even (003)."""


@named
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x if |x| > lambd, else 0."""
    return ops.where(ops.le(ops.abs(input), lambd), 0.0, input)


@named
def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x - lambd if x > lambd, x + lambd if x < -lambd, else 0."""
    return input - ops.clip(input, min=-lambd, max=lambd)


class Hardshrink(Configured, op=hardshrink):
    """x if |x| > lambd, else 0."""


class Softshrink(Configured, op=softshrink):
    """x moved towards 0 by lambd, at most to 0: the proximal map of lambd |x|. Raises ValueError for lambd < 0."""

    lambd: float

    def __post_init__(self):
        if not self.lambd >= 0:
            raise ValueError(f"Softshrink: lambd={self.lambd!r} must be >= 0")


def make_activation(who: str, activation: Callable[[], Module]) -> Module:
    """The layer that `activation()` makes. Raises TypeError, in the name of `who`, if it is not a Module."""
    try:
        made = None if isinstance(activation, Module) else activation()
    except TypeError:  # not a function, or one that needs an input
        made = None
    if not isinstance(made, Module):
        raise TypeError(f"{who}: activation must return a Module when called without arguments, such as nn.ReLU or "
                        f"lambda: nn.ELU(0.5); got {described(activation)}")
    return made
