"""Activation functions (7.20, 7.24-7.28). Those worth a kernel are declared twice: the definition, and what runs.

An activation acts element by element, so its Jacobian is diagonal and its VJP is g times the derivative.
"""

from __future__ import annotations

import math

import numpy as np

from .. import kernels
from ..primitive import fused, primitive
from .axes import one_axis
from .elementwise import erf, expm1, mul, neg, where
from .index import take

LEAST = 64  # numbers from which a kernel beats NumPy at functions of this kind


@primitive
def relu(x):
    """max(x, 0) (7.20). The derivative at 0 is taken to be 0."""
    return kernels.elementwise.relu(x) if kernels.worth(x) else np.maximum(x, 0)


@primitive
def keep_positive(g, x):
    """0 where x <= 0, else g, also where x is NaN: relu's VJP, which is linear in g and its own adjoint."""
    # Not maximum(x, 0)'s rule, which would pass half of g at x = 0.
    return kernels.elementwise.keep_positive(g, x) if kernels.worth(g) and kernels.worth(x) else np.where(x <= 0, 0, g)


relu.vjp(x=lambda g, out: keep_positive(g, out))  # out > 0 exactly where x > 0, and out is needed anyway
keep_positive.vjp(g=lambda g, x: keep_positive(g, x),
                  x=lambda g: g * 0.0)


@fused(reference=lambda x, negative_slope=0.01: where(x > 0, x, x * negative_slope))
def leaky_relu(x, *, negative_slope=0.01):
    """x if x > 0, else negative_slope * x (7.26)."""
    if kernels.worth(x):
        return kernels.elementwise.forward(kernels.elementwise.LEAKY_RELU, x, negative_slope)
    return np.where(x > 0, x, x * negative_slope)


@leaky_relu.joint_vjp
def _(g, x, negative_slope):
    if kernels.worth(g) and kernels.worth(x):
        return [kernels.elementwise.backward(kernels.elementwise.LEAKY_RELU, g, x, negative_slope)]
    return [np.where(x > 0, g, g * negative_slope)]


@primitive
def binary_step(x):
    """1 if x >= 0, else 0; the gradient is 0."""
    return (x >= 0).astype(x.dtype if x.dtype.kind == "f" else np.float32)


binary_step.vjp(x=lambda g: g * 0.0)

# Sigmoid and tanh: their derivative is a polynomial in the output -----------------------------------------------------


@primitive
def sigmoid(x):
    """1 / (1 + e^-x) (7.24)."""
    if kernels.worth(x, LEAST):
        return kernels.elementwise.forward(kernels.elementwise.SIGMOID, x)
    z = np.exp(-np.abs(x))  # of -|x|, so that it never overflows
    return np.where(x >= 0, 1, z) / (1 + z)


@primitive
def tanh(x):
    """(e^x - e^-x) / (e^x + e^-x) (7.25)."""
    if kernels.worth(x, LEAST):
        return kernels.elementwise.forward(kernels.elementwise.TANH, x)
    return np.tanh(x)


@fused(reference=lambda g, y: g * (y * (1 - y)))
def sigmoid_vjp(g, y):
    """g y (1 - y), with y = sigma(x)."""
    if kernels.worth(g, LEAST) and kernels.worth(y, LEAST):
        return kernels.elementwise.backward(kernels.elementwise.SIGMOID, g, y)
    return g * (y * (1 - y))


@fused(reference=lambda g, y: g * (1 - y * y))
def tanh_vjp(g, y):
    """g (1 - y^2), with y = tanh x."""
    if kernels.worth(g, LEAST) and kernels.worth(y, LEAST):
        return kernels.elementwise.backward(kernels.elementwise.TANH, g, y)
    return g * (1 - y * y)


sigmoid.vjp(x=lambda g, out: sigmoid_vjp(g, out))
tanh.vjp(x=lambda g, out: tanh_vjp(g, out))

# Smooth relatives of relu ---------------------------------------------------------------------------------------------


def silu_reference(x):
    """x sigma(x)."""
    return x * sigmoid(x)


@fused(reference=silu_reference)
def silu(x):
    """x sigma(x), also called Swish."""
    if kernels.worth(x, LEAST):
        return kernels.elementwise.forward(kernels.elementwise.SILU, x)
    return x * sigmoid.forward(x)


@silu.joint_vjp
def _(g, x):
    if kernels.worth(g, LEAST) and kernels.worth(x, LEAST):
        return [kernels.elementwise.backward(kernels.elementwise.SILU, g, x)]
    s = sigmoid.forward(x)
    return [g * (s * (1 + x * (1 - s)))]


def gelu_reference(x, approximate="none"):
    """x Phi(x), with the normal distribution Phi(x) = (1 + erf(x / sqrt 2)) / 2; or its tanh form."""
    if approximate == "tanh":
        return 0.5 * x * (1 + tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))
    return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))


@fused(reference=gelu_reference)
def gelu(x, *, approximate="none"):
    """x Phi(x) = x/2 (1 + erf(x / sqrt 2)) (7.27); with approximate="tanh" the form 003 and GPT-2 use."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f'gelu: approximate must be "none" or "tanh", got {approximate!r}')
    if kernels.worth(x, LEAST):
        return kernels.elementwise.forward(_gelu_kernel(approximate), x)
    return gelu_reference(x, approximate)


def _gelu_kernel(approximate):
    return kernels.elementwise.GELU_TANH if approximate == "tanh" else kernels.elementwise.GELU


@gelu.joint_vjp
def _(g, x, approximate):
    if kernels.worth(g, LEAST) and kernels.worth(x, LEAST):
        return [kernels.elementwise.backward(_gelu_kernel(approximate), g, x)]
    x = np.clip(x, -40, 40)  # where the slope is 0 or 1 already, and no power of x overflows
    if approximate == "tanh":
        c = math.sqrt(2 / math.pi)
        t = np.tanh(c * (x + 0.044715 * (x * x * x)))
        return [g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * (c * (1 + 3 * 0.044715 * (x * x))))]
    phi = np.exp(-0.5 * (x * x)) * (1 / math.sqrt(2 * math.pi))
    return [g * (0.5 * (1 + erf.forward(x * math.sqrt(0.5))) + x * phi)]  # Phi + x Phi'


@primitive
def softplus(x, *, beta=1.0):
    """log(1 + e^(beta x)) / beta (7.28): a smooth relu; its derivative is sigma(beta x)."""
    if not beta > 0:
        raise ValueError(f"softplus: beta must be positive, got {beta}")
    if kernels.worth(x, LEAST):
        return kernels.elementwise.forward(kernels.elementwise.SOFTPLUS, x, beta)
    z = x if beta == 1 else x * beta
    y = np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))  # which does not overflow
    return y if beta == 1 else y * (1 / beta)


@fused(reference=lambda g, x, beta=1.0: g * sigmoid(x * beta))
def softplus_vjp(g, x, *, beta=1.0):
    """g sigma(beta x)."""
    if kernels.worth(g, LEAST) and kernels.worth(x, LEAST):
        return kernels.elementwise.backward(kernels.elementwise.SOFTPLUS, g, x, beta)
    return g * sigmoid.forward(x * beta)


softplus.vjp(x=lambda g, x, beta: softplus_vjp(g, x, beta=beta))


def logsigmoid(x):
    """log sigma(x) = -softplus(-x)."""
    return neg(softplus(neg(x)))


def elu_reference(x, alpha=1.0):
    """x if x > 0, else alpha (e^x - 1)."""
    # The branch not taken sees 0 instead of x: expm1 of a large x would be infinite, and its gradient NaN.
    return where(x > 0, x, alpha * expm1(where(x > 0, 0.0, x)))


@fused(reference=elu_reference)
def elu(x, *, alpha=1.0):
    """x if x > 0, else alpha (e^x - 1)."""
    if kernels.worth(x, LEAST):
        return kernels.elementwise.forward(kernels.elementwise.ELU, x, alpha)
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


@elu.joint_vjp
def _(g, x, alpha):
    if kernels.worth(g, LEAST) and kernels.worth(x, LEAST):
        return [kernels.elementwise.backward(kernels.elementwise.ELU, g, x, alpha)]
    return [g * np.where(x > 0, 1, alpha * np.exp(np.minimum(x, 0))).astype(x.dtype)]

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
