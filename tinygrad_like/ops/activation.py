"""Activation functions (7.20, 7.24-7.28), each a formula and the rule that its slope makes; see pointwise.py.

An activation acts element by element, so its Jacobian is diagonal and its VJP is g times the slope.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.primitive import primitive
from ..core.tensor import Tensor
from ..dtypes import get_default_dtype
from .axes import one_axis
from .elementwise import abs, clip, erf, exp, expm1, log1p, maximum, minimum, mul, neg, square, where
from .parts import take
from .pointwise import pointwise


@pointwise
def relu(x):
    """max(x, 0) (7.20). The derivative at 0 is 0 by convention."""
    return maximum(x, 0)


# The rule saves out, which the next layer keeps anyway. The rule of maximum would pass half of g at x = 0.
relu.vjp(x=lambda g, out: where(out <= 0, 0.0, g))


@pointwise
def leaky_relu(x, *, negative_slope=0.01):
    """x if x > 0, else negative_slope * x (7.26)."""
    return where(x > 0, x, x * negative_slope)


leaky_relu.vjp(x=lambda g, x, negative_slope: where(x > 0, g, g * negative_slope))


@primitive
def binary_step(x):
    """1 if x >= 0, else 0; the gradient is 0."""
    return (x >= 0).astype(x.dtype if x.dtype.kind == "f" else get_default_dtype())


binary_step.vjp(x=lambda g: g * 0.0)

# Sigmoid and tanh: their slope is a polynomial in the output ----------------------------------------------------------


@pointwise
def sigmoid(x):
    """1 / (1 + e^-x) (7.24)."""
    z = exp(-abs(x))  # of -|x|, so that it never overflows
    return where(x >= 0, 1, z) / (1 + z)


@pointwise
def tanh(x):
    """(e^x - e^-x) / (e^x + e^-x) (7.25)."""
    return np.tanh(x)


sigmoid.vjp(x=lambda g, out: g * (out * (1 - out)))
tanh.vjp(x=lambda g, out: g * (1 - out * out))

# Smooth relatives of relu ---------------------------------------------------------------------------------------------


@pointwise
def silu(x):
    """x sigma(x), also called Swish."""
    return x * sigmoid(x)


def silu_slope(x):
    s = sigmoid(x)
    return s * (1 + x * (1 - s))


silu.vjp(x=lambda g, x: g * silu_slope(x))


SQRT_HALF, DENSITY_AT_0 = math.sqrt(0.5), 1 / math.sqrt(2 * math.pi)


def normal(x):
    """Phi(x), the probability that a standard normal number is less than x."""
    return 0.5 * (1 + erf(x * SQRT_HALF))


def gelu_slope(x):
    """Phi(x) + x Phi'(x). Compiled code has a shorter formula for it, a ratio of polynomials."""
    x = clip(x, min=-40, max=40)  # beyond, the slope is 0 or 1, and x^2 might overflow
    return normal(x) + x * (exp(-0.5 * (x * x)) * DENSITY_AT_0)


@pointwise
def _gelu(x):
    """x Phi(x)."""
    return x * normal(x)


_gelu.vjp(x=lambda g, x: g * gelu_slope(x))

SCALE, CUBIC = math.sqrt(8 / math.pi), 0.044715


@pointwise
def gelu_tanh(x):
    """x sigma(2 u) = x/2 (1 + tanh u), with u = sqrt(2 / pi) (x + 0.044715 x^3)."""
    z = clip(x, min=-40, max=40)  # beyond, sigma is 0 or 1, and z^3 might overflow
    return x * sigmoid(SCALE * (z + CUBIC * (z * z * z)))


def gelu_tanh_slope(x):
    x = clip(x, min=-20, max=20)
    s = sigmoid(SCALE * (x + CUBIC * (x * x * x)))
    return s + x * (s * (1 - s)) * (SCALE * (1 + 3 * CUBIC * (x * x)))


gelu_tanh.vjp(x=lambda g, x: g * gelu_tanh_slope(x))


def gelu(x, approximate="none") -> Tensor:
    """x Phi(x) = x/2 (1 + erf(x / sqrt 2)) (7.27); with approximate="tanh" the form 003 and GPT-2 use."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f'gelu: approximate must be "none" or "tanh", got {approximate!r}')
    return gelu_tanh(x) if approximate == "tanh" else _gelu(x)


def log1p_unit(x):
    """log(1 + x) for 0 <= x <= 1, where compiled code has a shorter formula."""
    return log1p(x)


@pointwise
def softplus(x, *, beta=1.0, threshold=20.0):
    """log(1 + e^(beta x)) / beta (7.28): a smooth relu; its derivative is sigma(beta x).

    As in PyTorch, it is x, with slope 1, where beta x exceeds the threshold; at the default, float32 rounds to x
    anyway. math.inf turns the threshold off. Raises ValueError unless beta is positive.
    """
    z = beta * x
    return where(z > threshold, x, (maximum(z, 0) + log1p_unit(exp(-abs(z)))) / beta)  # does not overflow


# Written by hand: the formula's kinks at 0 cancel only in the first derivative.
softplus.vjp(x=lambda g, x, beta, threshold: where(beta * x > threshold, g, g * sigmoid(beta * x)))


@softplus.requires
def _(beta):
    return None if beta > 0 else f"beta must be positive, got {beta}"


def logsigmoid(x) -> Tensor:
    """log sigma(x) = -softplus(-x), without softplus's threshold."""
    return neg(softplus(neg(x), threshold=math.inf))


@pointwise
def elu(x, *, alpha=1.0):
    """x if x > 0, else alpha (e^x - 1)."""
    # The branch not taken sees 0 instead of x: expm1 of a large x would be infinite.
    return where(x > 0, x, alpha * expm1(where(x > 0, 0.0, x)))


elu.vjp(x=lambda g, x, alpha: where(x > 0, g, g * (alpha * exp(where(x > 0, 0.0, x)))))


@pointwise
def celu(x, *, alpha=1.0):
    """x if x > 0, else alpha (e^(x / alpha) - 1): an ELU whose slope at 0 is 1 for every alpha (Barron 2017)."""
    return where(x > 0, x, alpha * expm1(where(x > 0, 0.0, x) / alpha))


celu.vjp(x=lambda g, x, alpha: where(x > 0, g, g * exp(where(x > 0, 0.0, x) / alpha)))


@celu.requires
def _(alpha):
    return None if alpha > 0 else f"alpha must be positive, got {alpha}"


SELU_SCALE, SELU_ALPHA = 1.0507009873554805, 1.6732632423543772
SELU_LEFT = SELU_SCALE * SELU_ALPHA


@pointwise
def selu(x):
    """1.0507 x if x > 0, else 1.7581 (e^x - 1): its layers keep mean 0 and variance 1 (Klambauer et al. 2017)."""
    return where(x > 0, SELU_SCALE * x, SELU_LEFT * expm1(where(x > 0, 0.0, x)))


selu.vjp(x=lambda g, x: g * where(x > 0, SELU_SCALE, SELU_LEFT * exp(where(x > 0, 0.0, x))))


@pointwise
def softsign(x):
    """x / (1 + |x|)."""
    return x / (1 + abs(x))


softsign.vjp(x=lambda g, x: g / square(1 + abs(x)))


@pointwise
def quick_gelu(x):
    """x sigma(1.702 x), close to gelu."""
    return x * sigmoid(1.702 * x)


def quick_gelu_slope(x):
    s = sigmoid(1.702 * x)
    return s * (1 + 1.702 * x * (1 - s))


quick_gelu.vjp(x=lambda g, x: g * quick_gelu_slope(x))


@pointwise
def mish(x):
    """x tanh(softplus(x)) (Misra 2019)."""
    z = exp(minimum(x, 20))  # beyond, tanh(softplus(x)) is 1
    return x * (z * (z + 2) / (z * (z + 2) + 2))


def mish_slope(x):
    x = minimum(x, 20)  # beyond, the second summand is 0 to all digits; computed, it would grow with x
    z = exp(x)
    n = z * (z + 2)
    return n / (n + 2) + x * (z * (z + 1) / (n + 2)) * (4 / (n + 2))


mish.vjp(x=lambda g, x: g * mish_slope(x))

# Pieces of straight lines ---------------------------------------------------------------------------------------------


@pointwise
def hardtanh(x, *, min_val=-1.0, max_val=1.0):
    """x limited to [min_val, max_val]. Unlike clip, its gradient at the limits is 0, as relu's is at 0."""
    return clip(x, min=min_val, max=max_val)


hardtanh.vjp(x=lambda g, out, min_val, max_val: where(out <= min_val, 0.0, where(out >= max_val, 0.0, g)))


@hardtanh.requires
def _(min_val, max_val):
    return None if min_val <= max_val else f"min_val {min_val} must not exceed max_val {max_val}"


@pointwise
def relu6(x):
    """min(max(x, 0), 6); the gradient at 0 and at 6 is 0."""
    return minimum(maximum(x, 0), 6)


relu6.vjp(x=lambda g, out: where(out <= 0, 0.0, where(out >= 6, 0.0, g)))


@pointwise
def hardsigmoid(x, *, alpha=1 / 6, beta=0.5):
    """alpha x + beta limited to [0, 1]: sigmoid as three straight pieces; the gradient is 0 where they meet."""
    return clip(alpha * x + beta, min=0, max=1)


hardsigmoid.vjp(x=lambda g, out, alpha: where(out <= 0, 0.0, where(out >= 1, 0.0, g * alpha)))


@pointwise
def hardswish(x):
    """x hardsigmoid(x) (Howard et al. 2019)."""
    return x * clip(x / 6 + 0.5, min=0, max=1)


hardswish.vjp(x=lambda g, x: where(x <= -3, 0.0, where(x >= 3, g, g * (x / 3 + 0.5))))

# Gates: half of the features decide how much of the other half passes (003) -------------------------------------------


def glu(x, axis=-1) -> Tensor:
    """GLU: value * sigma(gate), the two halves of x along `axis`."""
    value, gate = _halves("glu", x, axis)
    return mul(value, sigmoid(gate))


def swiglu(x, axis=-1) -> Tensor:
    """SwiGLU: value * silu(gate), the two halves of x along `axis`."""
    value, gate = _halves("swiglu", x, axis)
    return mul(value, silu(gate))


def _halves(who, x, axis):
    axis = one_axis(who, axis, x.ndim)
    n = x.shape[axis]
    if n % 2:
        raise ValueError(f"{who}: axis {axis} of shape {x.shape} must have an even size "
                         "to split into value and gate")
    before = (slice(None),) * axis
    return take(x, index=(*before, slice(0, n // 2))), take(x, index=(*before, slice(n // 2, n)))
