"""exp, log, tanh, erf and the like of one float32, written so that LLVM turns a loop over them into vector code.

A call into the C library keeps a loop scalar, 4 to 7 times slower. Straight-line arithmetic vectorises: a polynomial, a
ratio of two polynomials, or integer arithmetic on the exponent bits of a float; `a if c else b` becomes a select. Every
constant is a float32, because one double would widen the whole expression.

Errors are in ulp (units in the last place of the exact result): the largest found over all magnitudes, with and without
fused multiply-add. NaN returns NaN.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .late import cgutils, intrinsic, njit, types

F, I = np.float32, np.int32  # noqa: E741

# "contract" allows a * b + c in one instruction. Nothing else may be relaxed: `exp` needs the rounding of x + BIG.
# Only kernels call these, always inlined, since a call in a loop would keep it scalar.
SCALAR = dict(fastmath={"contract"}, forceinline=True)

INF, NAN = F(np.inf), F(np.nan)
HALF, ONE, TWO = F(0.5), F(1), F(2)
LOG2_E = F(1.44269504)
LN2_HIGH, LN2_LOW = F(0.693359375), F(-2.12194440e-4)  # k * LN2_HIGH is exact for |k| < 2^15
BIG = F(1.5 * 2**23)  # x + BIG has no bits left for a fraction: it rounds x, and its lowest bits are the integer
MANTISSA = I(23)

FUNCTIONS: dict[str, Any] = {"abs": abs}  # what a formula may name (formula.py)


def scalar(function: Callable, name: str = "") -> Any:
    """Compile a function of float32 numbers, and let formulas name it."""
    function.__name__ = function.__qualname__ = name or function.__name__
    FUNCTIONS[function.__name__] = compiled = njit(**SCALAR)(function)
    return compiled


maximum = scalar(lambda a, b: b if a <= b or b != b else a, "maximum")  # like all comparisons here, it keeps a NaN
minimum = scalar(lambda a, b: b if a >= b or b != b else a, "minimum")
where = scalar(lambda condition, a, b: a if condition else b, "where")
sign = scalar(lambda x: ONE if x > F(0) else -ONE if x < F(0) else F(0) if x == F(0) else x, "sign")
square = scalar(lambda x: x * x, "square")
neg = scalar(lambda x: -x, "neg")
sqrt = scalar(lambda x: np.sqrt(x), "sqrt")
reciprocal = scalar(lambda x: ONE / x, "reciprocal")
rsqrt = scalar(lambda x: ONE / np.sqrt(x), "rsqrt")


@scalar
def clip(x, min, max):
    x = min if x < min else x
    return max if x > max else x


ARITHMETIC = frozenset(FUNCTIONS)


@intrinsic
def polynomial(typing, x, coefficients):
    """The value at x, highest power first, by Horner's rule; without a loop, so that a loop around it vectorises."""

    def codegen(context, b, signature, values):
        y, *rest = cgutils.unpack_tuple(b, values[1])
        for c in rest:
            y = b.fadd(b.fmul(y, values[0]), c)
        return y

    return types.float32(types.float32, coefficients), codegen


@njit(**SCALAR)
def _exp_parts(x):
    """(q, h) with e^x = 2 h (1 + q): x = k ln 2 + r, q = e^r - 1, h = 2^(k - 1), which unlike 2^k never overflows."""
    x = F(-87.4) if x < F(-87.4) else x
    x = F(89) if x > F(89) else x
    shifted = x * LOG2_E + BIG
    k = shifted - BIG
    r = x - k * LN2_HIGH
    r = r - k * LN2_LOW
    q = polynomial(r, (F(1.38144530e-3), F(8.36877897e-3), F(4.16683890e-2), F(1.66665196e-1), F(4.99999934e-1), ONE))
    h = I((F(shifted).view(I) << MANTISSA) + I(126 << 23)).view(F)
    return q * r, h


@scalar
def exp(x):
    """e^x, within 1.2 ulp; 0 for x < -87 (e^x < 1.7e-38), inf for x > 88.7228."""
    q, h = _exp_parts(x)
    return (TWO * q + TWO) * h


@scalar
def expm1(x):
    """e^x - 1, within 2.1 ulp."""
    q, h = _exp_parts(x)
    return TWO * (q * h + (h - HALF))


@scalar
def log(x):
    """The natural logarithm, within 1 ulp; -inf at 0, NaN below."""
    subnormal = x < F(2.0**-126)
    bits = F(x * F(2.0**23) if subnormal else x).view(I)
    exponent = I(bits - I(0x3F3504F3)) >> MANTISSA  # x = 2^exponent (1 + f) with 1 + f in [sqrt 1/2, sqrt 2)
    f = I(bits - I(exponent << MANTISSA)).view(F) - ONE
    k = F(exponent) - (F(23) if subnormal else F(0))
    p = polynomial(f, (F(6.74664147e-2), F(-1.16756521e-1), F(1.18881622e-1), F(-1.24055889e-1), F(1.42195522e-1),
                       F(-1.66679957e-1), F(2.00021192e-1), F(-2.50000105e-1), F(3.33333130e-1)))
    y = k * LN2_HIGH + (f + (f * f * (f * p - HALF) + k * LN2_LOW))
    y = y if x < INF else x
    return y if x > F(0) else (-INF if x == F(0) else NAN)


@scalar
def log1p_unit(x):
    """log(1 + x) for 0 <= x <= 1, within 3 ulp: 2 artanh(s) = 2 s (1 + s^2 / 3 + ...), s = x / (2 + x)."""
    s = x / (TWO + x)
    z = s * s
    p = polynomial(z, (F(2.81783350e-1), F(2.79606030e-1), F(4.00249100e-1), F(6.66663150e-1), TWO))
    return s * p


@scalar
def sigmoid(x):
    """1 / (1 + e^-x), within 3 ulp."""
    return ONE / (ONE + exp(-x))


@scalar
def tanh(x):
    """The hyperbolic tangent, within 1.2 ulp: x + x^3 P(x^2) up to |x| = 0.7, from there 1 - 2 / (e^(2 |x|) + 1).

    Not a ratio of polynomials, which is faster, since its 5 ulp are a large part of 1 - tanh(x) where that is small.
    """
    a = abs(x)
    a = F(10) if a > F(10) else a  # where it is 1
    shifted = a * (LOG2_E + LOG2_E) + BIG
    r = a - (shifted - BIG) * F(0.34657359)  # (log 2) / 2 needs no more digits, since the fraction is below 0.4
    q = polynomial(r, (F(8.8593350e-2), F(2.6799890e-1), F(6.6668890e-1), F(1.3333137), F(1.9999998), TWO, ONE))
    h = I((F(shifted).view(I) << MANTISSA) + I(126 << 23)).view(F)  # q h = e^(2 a) / 2
    s = a * a
    p = polynomial(s, (F(-5.1386520e-3), F(2.0091958e-2), F(-5.3558856e-2), F(1.3329111e-1), F(-3.3333190e-1)))
    return math.copysign(a + a * s * p if a < F(0.7) else ONE - ONE / (q * h + HALF), x)


@scalar
def erf(x):
    """The error function, within 7 ulp: x P(x^2) / Q(x^2), a minimax fit up to |x| = 3.9, where it is 1."""
    x = F(-4.1) if x < F(-4.1) else x
    x = F(4.1) if x > F(4.1) else x
    s = x * x
    p = polynomial(s, (F(2.0665070223913062e-06), F(2.8506325907073915e-04), F(3.7383292801678181e-03),
                       F(5.2668038755655289e-02), F(1.8966633081436157e-01), F(1.1283791065216064e00)))
    q = polynomial(s, (F(3.8270405639195815e-05), F(1.1573744704946876e-03), F(1.4914242550730705e-02),
                       F(1.1381871998310089e-01), F(5.0142037868499756e-01), ONE))
    y = x * p / q  # clipped: the fit ends a few ulp above 1, so that rounding errors cannot keep it below
    y = F(-1) if y < F(-1) else y
    return ONE if y > ONE else y


@scalar
def gelu_slope(x):
    """Phi(x) + x phi(x), within 2e-7: 1/2 + x P(x^2) / Q(x^2), fitted up to |x| = 6.2; half the work of erf and exp."""
    x = F(-6.2) if x < F(-6.2) else x
    x = F(6.2) if x > F(6.2) else x
    s = x * x
    p = polynomial(s, (F(-3.0672041295698450e-11), F(1.5008165377139450e-08), F(1.4067854863242246e-06),
                       F(3.1996874895412475e-05), F(3.9099380956031380e-04), F(1.3338061049580574e-02),
                       F(-1.2208671309053898e-02), F(7.9788452386856079e-01)))
    q = polynomial(s, (F(4.4217827621650940e-07), F(1.2178627912362572e-05), F(2.8499308973550797e-04),
                       F(4.4493726454675198e-03), F(4.7729372978210449e-02), F(3.1803134083747864e-01), ONE))
    return HALF + x * p / q


@scalar
def logaddexp(a, b):
    """log(e^a + e^b), without overflow: within 4 ulp of the larger of |a|, |b| and the result."""
    d = F(0) if a == b else abs(a - b)  # of two infinities the difference would be NaN
    return maximum(a, b) + log1p_unit(exp(-d))
