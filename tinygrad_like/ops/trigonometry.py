"""Trigonometric and hyperbolic functions, their inverses, and hypot.

elementwise.py says how they behave outside their domains.
"""

from __future__ import annotations

import numpy as np

from .elementwise import abs, rsqrt, where
from .pointwise import ufunc

sin = ufunc("sin", "sin x.", lambda x: np.sin(x))
sin.vjp(x=lambda g, x: g * cos(x))

cos = ufunc("cos", "cos x.", lambda x: np.cos(x))
cos.vjp(x=lambda g, x: -g * sin(x))

tan = ufunc("tan", "tan x.", lambda x: np.tan(x))
tan.vjp(x=lambda g, out: g * (1 + out * out))

asin = ufunc("asin", "The angle in [-pi/2, pi/2] whose sine is x.", lambda x: np.arcsin(x))
asin.vjp(x=lambda g, x: g * rsqrt((1 - x) * (1 + x)))  # near 1, 1 - x * x would be mostly rounding error

acos = ufunc("acos", "The angle in [0, pi] whose cosine is x.", lambda x: np.arccos(x))
acos.vjp(x=lambda g, x: -g * rsqrt((1 - x) * (1 + x)))

atan = ufunc("atan", "The angle in (-pi/2, pi/2) whose tangent is x.", lambda x: np.arctan(x))
atan.vjp(x=lambda g, x: g / (1 + x * x))

sinh = ufunc("sinh", "(e^x - e^-x) / 2.", lambda x: np.sinh(x))
sinh.vjp(x=lambda g, x: g * cosh(x))

cosh = ufunc("cosh", "(e^x + e^-x) / 2.", lambda x: np.cosh(x))
cosh.vjp(x=lambda g, x: g * sinh(x))

asinh = ufunc("asinh", "The number whose sinh is x.", lambda x: np.arcsinh(x))
asinh.vjp(x=lambda g, x: g / hypot(x, 1.0))  # x * x + 1 would overflow first

acosh = ufunc("acosh", "The non-negative number whose cosh is x.", lambda x: np.arccosh(x))
acosh.vjp(x=lambda g, x: g * (rsqrt(abs(x) - 1) * rsqrt(abs(x) + 1)))  # x * x - 1 would overflow first

atanh = ufunc("atanh", "The number whose tanh is x.", lambda x: np.arctanh(x))
atanh.vjp(x=lambda g, x: g / ((1 - x) * (1 + x)))

# The sides of a triangle ----------------------------------------------------------------------------------------------

hypot = ufunc("hypot", "sqrt(a^2 + b^2), without overflow; at (0, 0) both gradients are 0.",
              lambda a, b: np.hypot(a, b))
hypot.vjp(a=lambda g, a, out: g * (a / where(out == 0, 1.0, out)),
          b=lambda g, b, out: g * (b / where(out == 0, 1.0, out)))

atan2 = ufunc("atan2", "The angle in [-pi, pi] of the point (b, a); at (0, 0) both gradients are 0.",
              lambda a, b: np.arctan2(a, b))


def over_square(x, a, b):
    """x / (a^2 + b^2). Compiled code computes it in float64."""
    r = hypot(a, b)
    r = where(r == 0, 1.0, r)
    return x / r / r  # unlike a * a + b * b, this neither overflows nor underflows


atan2.vjp(a=lambda g, a, b: g * over_square(b, a, b),
          b=lambda g, a, b: -g * over_square(a, a, b))
