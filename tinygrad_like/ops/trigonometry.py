"""Trigonometric and hyperbolic functions, their inverses, and the two sides of a triangle.

Inputs broadcast, and outside an op's domain holds what elementwise.py says.
"""

from __future__ import annotations

import numpy as np

from ..primitive import primitive
from .compare import eq
from .elementwise import rsqrt, where


@primitive
def sin(x):
    """sin x."""
    return np.sin(x)


sin.vjp(x=lambda g, x: g * cos(x))


@primitive
def cos(x):
    """cos x."""
    return np.cos(x)


cos.vjp(x=lambda g, x: -g * sin(x))


@primitive
def tan(x):
    """tan x."""
    return np.tan(x)


tan.vjp(x=lambda g, out: g * (1 + out * out))


@primitive
def asin(x):
    """The angle in [-pi/2, pi/2] whose sine is x."""
    return np.arcsin(x)


asin.vjp(x=lambda g, x: g * rsqrt((1 - x) * (1 + x)))  # of 1 - x * x little is left near 1, mostly rounding


@primitive
def acos(x):
    """The angle in [0, pi] whose cosine is x."""
    return np.arccos(x)


acos.vjp(x=lambda g, x: -g * rsqrt((1 - x) * (1 + x)))


@primitive
def atan(x):
    """The angle in (-pi/2, pi/2) whose tangent is x."""
    return np.arctan(x)


atan.vjp(x=lambda g, x: g / (1 + x * x))


@primitive
def sinh(x):
    """(e^x - e^-x) / 2."""
    return np.sinh(x)


sinh.vjp(x=lambda g, x: g * cosh(x))


@primitive
def cosh(x):
    """(e^x + e^-x) / 2."""
    return np.cosh(x)


cosh.vjp(x=lambda g, x: g * sinh(x))


@primitive
def asinh(x):
    """The number whose sinh is x."""
    return np.arcsinh(x)


@primitive
def acosh(x):
    """The number not below 0 whose cosh is x."""
    return np.arccosh(x)


@primitive
def atanh(x):
    """The number whose tanh is x."""
    return np.arctanh(x)


asinh.vjp(x=lambda g, x: g / hypot(x, 1.0))  # x * x + 1 would overflow first
acosh.vjp(x=lambda g, x: g * (rsqrt(x - 1) * rsqrt(x + 1)))
atanh.vjp(x=lambda g, x: g / ((1 - x) * (1 + x)))

# Of the sides of a triangle -------------------------------------------------------------------------------------------


@primitive
def hypot(a, b):
    """sqrt(a^2 + b^2), without overflow; at (0, 0) both gradients are 0."""
    return np.hypot(a, b)


hypot.vjp(a=lambda g, a, out: g * (a / where(eq(out, 0), 1.0, out)),
          b=lambda g, b, out: g * (b / where(eq(out, 0), 1.0, out)))


@primitive
def atan2(a, b):
    """The angle in [-pi, pi] of the point (b, a), as seen from the first axis; at (0, 0) both gradients are 0."""
    return np.arctan2(a, b)


atan2.vjp(a=lambda g, a, b: g * (b / _square_sum(a, b)),
          b=lambda g, a, b: -g * (a / _square_sum(a, b)))


def _square_sum(a, b):
    total = a * a + b * b
    return where(eq(total, 0), 1.0, total)
