"""Activation functions (7.20, 7.24-7.28), each a formula and the rule that its slope makes; see pointwise.py.

An activation acts element by element, so its Jacobian is diagonal and its VJP is g times the slope.
"""

from __future__ import annotations

import math

import numpy as np

from ..primitive import primitive
from .axes import one_axis
from .elementwise import abs, clip, erf, exp, expm1, log1p, maximum, mul, neg, where
from .index import take
from .pointwise import pointwise


@pointwise
def relu(x):
    """max(x, 0) (7.20). The derivative at 0 is taken to be 0."""
    return maximum(x, 0)


# Of out, which is needed anyway. Not maximum's rule, which would pass half of g at x = 0.
relu.vjp(x=lambda g, out: where(out <= 0, 0.0, g))


@pointwise
def keep_positive(g, x):
    """0 where x <= 0, else g, also where x is NaN: relu's VJP, which is linear in g and its own adjoint."""
    return where(x <= 0, 0.0, g)


keep_positive.vjp(g=lambda g, x: keep_positive(g, x),
                  x=lambda g: g * 0.0)


@pointwise
def leaky_relu(x, *, negative_slope=0.01):
    """x if x > 0, else negative_slope * x (7.26)."""
    return where(x > 0, x, x * negative_slope)


leaky_relu.vjp(x=lambda g, x, negative_slope: where(x > 0, g, g * negative_slope))


@primitive
def binary_step(x):
    """1 if x >= 0, else 0; the gradient is 0."""
    return (x >= 0).astype(x.dtype if x.dtype.kind == "f" else np.float32)


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
    x = clip(x, min=-40, max=40)  # where the slope is 0 or 1 already, and x^2 does not overflow
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
    return x * sigmoid(SCALE * (x + CUBIC * (x * x * x)))


def gelu_tanh_slope(x):
    x = clip(x, min=-20, max=20)
    s = sigmoid(SCALE * (x + CUBIC * (x * x * x)))
    return s + x * (s * (1 - s)) * (SCALE * (1 + 3 * CUBIC * (x * x)))


gelu_tanh.vjp(x=lambda g, x: g * gelu_tanh_slope(x))


def gelu(x, approximate="none"):
    """x Phi(x) = x/2 (1 + erf(x / sqrt 2)) (7.27); with approximate="tanh" the form 003 and GPT-2 use."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f'gelu: approximate must be "none" or "tanh", got {approximate!r}')
    return gelu_tanh(x) if approximate == "tanh" else _gelu(x)


def log1p_unit(x):
    """log(1 + x) for 0 <= x <= 1: for such, compiled code has a short formula."""
    return log1p(x)


@pointwise
def _softplus(x, *, beta=1.0):
    """log(1 + e^(beta x)) / beta."""
    z = beta * x
    return (maximum(z, 0) + log1p_unit(exp(-abs(z)))) / beta  # which does not overflow


_softplus.vjp(x=lambda g, x, beta: g * sigmoid(beta * x))  # not of the formula: its kinks at 0 cancel only once


def softplus(x, beta=1.0):
    """log(1 + e^(beta x)) / beta (7.28): a smooth relu; its derivative is sigma(beta x)."""
    if not beta > 0:
        raise ValueError(f"softplus: beta must be positive, got {beta}")
    return _softplus(x, beta=beta)


def logsigmoid(x):
    """log sigma(x) = -softplus(-x)."""
    return neg(softplus(neg(x)))


@pointwise
def elu(x, *, alpha=1.0):
    """x if x > 0, else alpha (e^x - 1)."""
    # The branch not taken sees 0 instead of x: expm1 of a large x would be infinite.
    return where(x > 0, x, alpha * expm1(where(x > 0, 0.0, x)))


elu.vjp(x=lambda g, x, alpha: where(x > 0, g, g * (alpha * exp(where(x > 0, 0.0, x)))))

# Gates: half of the features decide how much of the other half passes (003) -------------------------------------------


def glu(x, axis=-1):
    """GLU: value * sigma(gate), the two halves of x along `axis`."""
    value, gate = _halves("glu", x, axis)
    return mul(value, sigmoid(gate))


def swiglu(x, axis=-1):
    """SwiGLU: value * silu(gate), the two halves of x along `axis`."""
    value, gate = _halves("swiglu", x, axis)
    return mul(value, silu(gate))


def _halves(who, x, axis):
    axis = one_axis(who, axis, x.ndim)
    n = x.shape[axis]
    if n % 2:
        raise ValueError(f"{who}: axis {axis} of shape {x.shape} must have an even size, "
                         "to be split into value and gate")
    before = (slice(None),) * axis
    return take(x, index=(*before, slice(0, n // 2))), take(x, index=(*before, slice(n // 2, n)))
