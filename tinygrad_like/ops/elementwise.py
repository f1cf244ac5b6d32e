"""Elementwise ops, from easy to hard. Inputs broadcast as in NumPy; the engine undoes that for every rule.

Each op has its VJP beneath it: `g` is the cotangent of the output, and a rule returns the cotangent of one input.
`ufunc` turns a NumPy function into an op (pointwise.py).

Outside an op's domain, and for NaN, the output is NaN. The gradient there is, as in PyTorch, what the formula of the
slope yields: mostly NaN, but still 1 / x for logarithms. An op that picks one of its inputs, such as maximum, relu and
max, treats NaN as picked. Docstrings state exceptions.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.primitive import fresh, primitive
from ..dtypes import BOOL, FLOAT32, FLOAT64, INT64, get_default_dtype
from ..rings import replaceable
from .compare import cast, eq, ge, logical_and
from .pointwise import pointwise, ufunc

# Sums and products --------------------------------------------------------------------------------------------------

add = ufunc("add", "a + b.", lambda a, b: np.add(a, b))
add.vjp(a=lambda g: g,
        b=lambda g: g)

sub = ufunc("sub", "a - b.", lambda a, b: np.subtract(a, b))
sub.vjp(a=lambda g: g,
        b=lambda g: -g)

mul = ufunc("mul", "a b, element by element.", lambda a, b: np.multiply(a, b))
mul.vjp(a=lambda g, b: g * b,
        b=lambda g, a: g * a)

div = ufunc("div", "a / b.", lambda a, b: np.true_divide(a, b))
div.vjp(a=lambda g, b: g / b,
        b=lambda g, b, out: -g * out / b)

neg = ufunc("neg", "-x.", lambda x: np.negative(x))
neg.vjp(x=lambda g: -g)

square = ufunc("square", "x^2.", lambda x: np.square(x))
square.vjp(x=lambda g, x: g * (2 * x))

reciprocal = ufunc("reciprocal", "1 / x.", lambda x: np.true_divide(1, x))
reciprocal.vjp(x=lambda g, out: -g * out * out)

# Exponentials and logarithms ----------------------------------------------------------------------------------------

exp = ufunc("exp", "e^x.", lambda x: np.exp(x))
exp.vjp(x=lambda g, out: g * out)

exp2 = ufunc("exp2", "2^x.", lambda x: np.exp2(x))
LN_2 = math.log(2)
exp2.vjp(x=lambda g, out: g * (out * LN_2))

expm1 = ufunc("expm1", "e^x - 1, accurate for small x.", lambda x: np.expm1(x))
expm1.vjp(x=lambda g, x: g * exp(x))  # out + 1 would lose e^x to rounding far below 0

log = ufunc("log", "The natural logarithm.", lambda x: np.log(x))
log.vjp(x=lambda g, x: g / x)

log2 = ufunc("log2", "The logarithm to base 2.", lambda x: np.log2(x))
log2.vjp(x=lambda g, x: g / (x * math.log(2)))

log10 = ufunc("log10", "The logarithm to base 10.", lambda x: np.log10(x))
log10.vjp(x=lambda g, x: g / (x * math.log(10)))

log1p = ufunc("log1p", "log(1 + x), accurate for small x.", lambda x: np.log1p(x))
log1p.vjp(x=lambda g, x: g / (1 + x))


_BLOCK = 8192
_FEW = 512  # fewer are faster one by one
_NEAR = ((1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2,
          3.20937758913846947e3),
         (1, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3))
_FAR = ((2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
         2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
         1.23033935479799725e3),
        (1, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
         3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3))


def _erf(x):
    """By Cody (1969): x P(x^2) / Q(x^2) up to 0.47, from there 1 - e^(-x^2) P(|x|) / Q(|x|). Within 4 ulp."""
    if x.size < _FEW:
        return np.array([*map(math.erf, x)])
    a = np.minimum(np.abs(x), 6)  # where erf is 1
    square = a * a
    near = a * np.polyval(_NEAR[0], square) / np.polyval(_NEAR[1], square)
    far = 1 - np.exp(-square) * np.polyval(_FAR[0], a) / np.polyval(_FAR[1], a)
    return np.copysign(np.where(a < 0.46875, near, far), x)


@pointwise
def erf(x):
    """The error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x."""
    x = np.asarray(x)
    wide, y = x.astype(float).ravel(), np.empty(x.size)
    for i in range(0, x.size, _BLOCK):  # whose steps stay in the cache
        y[i : i + _BLOCK] = _erf(wide[i : i + _BLOCK])
    return y.astype(x.dtype if x.dtype is FLOAT32 else float, copy=False).reshape(x.shape)


@erf.requires
def real(x):
    return TypeError(f"takes real numbers, got {x.dtype}") if getattr(x, "dtype", FLOAT32).kind not in "fiub" else None


ERF_SLOPE_AT_0 = 2 / math.sqrt(math.pi)
erf.vjp(x=lambda g, x: g * (exp(-x * x) * ERF_SLOPE_AT_0))

# Ops with points where the derivative does not exist: the docstring states the convention -----------------------------


@primitive
def where(condition, a, b):
    """a where the condition is true, else b.

    A NaN in the branch not taken never leaks into a gradient: it is replaced, not multiplied by 0.
    """
    return select(a if getattr(a, "ndim", 0) else b, condition, a, b)


@where.requires
def _(condition):
    if type(condition) is not bool and getattr(condition, "dtype", None) is not BOOL:
        return TypeError(f"the condition must be boolean, got {getattr(condition, 'dtype', type(condition).__name__)}; "
                         "compare, as in x > 0, or cast with .bool()")


@replaceable
def select(like, condition, a, b):
    """np.where. `like` is a or b, whichever is an array: the dispatcher chooses a kernel by the first argument."""
    return np.where(condition, *_same_type(a, b))


where.vjp(a=fresh(lambda g, condition: where(condition, g, 0.0)),
          b=fresh(lambda g, condition: where(condition, 0.0, g)))


def _same_type(a, b):
    """a and b as arrays of one dtype. np.where would turn a float32 array and a Python number into float64."""
    dtype = np.result_type(a, b)
    if dtype is FLOAT64 and not any(getattr(x, "dtype", None) is FLOAT64 for x in (a, b)):
        dtype = get_default_dtype()
    return np.asarray(a, dtype), np.asarray(b, dtype)


@pointwise
def sqrt(x):
    """The square root.

    At 0, where the slope is infinite, the gradient is 0: ||x|| then has gradient 0 at the origin.
    """
    return np.sqrt(x)


def _sqrt_vjp(g, out):
    # Replace both the divisor and the result at 0: otherwise g / 0 would make the next derivative NaN.
    zero = out == 0
    return where(zero, 0.0, g * 0.5 / where(zero, 1.0, out))


sqrt.vjp(x=_sqrt_vjp)

rsqrt = ufunc("rsqrt", "1 / sqrt(x).", lambda x: np.true_divide(1, np.sqrt(x)))
rsqrt.vjp(x=lambda g, out: g * (-0.5 * out * (out * out)))  # out^3 would overflow first


@primitive
def pow(a, b):
    """a^b. The gradient with respect to b is NaN where a < 0, which has no logarithm, and 0 where a = 0 and b >= 0."""
    if type(b) in (int, float) and b in _PRODUCTS and isinstance(a, np.ndarray) and a.dtype.kind == "f":
        return _PRODUCTS[b](a)
    return np.power(a, b)


@pow.explains
def _(a, b):
    if np.result_type(a, b).kind in "iu" and np.any(np.less(b, 0)):
        return "an integer to a negative power is not an integer; cast the base with .float()"


def _cube(a):
    return a * a * a


def _cube_vjp(g, a):
    return g * (a * a * 3)


cube = replaceable(_cube, formula=_cube)
cube_vjp = replaceable(_cube_vjp, formula=_cube_vjp)

# Exponents for which np.power is slow.
_PRODUCTS = {2: square.forward, 3: cube, 4: lambda a: square.forward(square.forward(a)), -1: reciprocal.forward,
             -2: lambda a: square.forward(reciprocal.forward(a)), 0.5: sqrt.forward}


def _power_vjp(g, a, b):
    if type(b) in (int, float) and b == 3 and type(g) is np.ndarray:  # in one pass
        return cube_vjp(g, a)
    return mul(g, _power_slope(a, b))


pow.vjp(a=fresh(_power_vjp), b=fresh(lambda g, a, b, out: g * (out * _log_base(a, b))))


def _power_slope(a, b):
    """b a^(b-1). b = 0 needs its own branch: at a = 0, 0 * a^-1 would be 0 * inf."""
    if type(b) in (int, float):
        return 0.0 if b == 0 else 1.0 if b == 1 else mul(a if b == 2 else rsqrt(a) if b == 0.5 else pow(a, b - 1), b)
    return where(eq(b, 0), 0.0, b * pow(where(eq(b, 0), 1.0, a), _less_one(b)))


def _less_one(b):
    """b - 1. Integers and booleans become floats first: with int64, the power would be float64."""
    return (cast(b, dtype=get_default_dtype()) if getattr(b, "dtype", FLOAT32).kind in "iub" else b) - 1


def _log_base(a, b):
    """log a, but 0 where 0^b is constant. For a Python number it returns a Python number, which keeps out's dtype."""
    if isinstance(a, int | float) and a != 0:
        return math.log(a) if a > 0 else math.nan
    return log(where(logical_and(eq(a, 0), ge(b, 0)), 1.0, a))


maximum = ufunc("maximum", "The larger of a and b; where they are equal, each gets half of the cotangent.",
                lambda a, b: np.maximum(a, b))
minimum = ufunc("minimum", "The smaller of a and b; where they are equal, each gets half of the cotangent.",
                lambda a, b: np.minimum(a, b))


@primitive
def tie_weight(a, b, extreme):
    """a's share of the cotangent: 1/2 where a and b are equal, 0 where only b is the extreme, else 1."""
    # NaN equals nothing, so where either is NaN both get the whole cotangent, as in PyTorch.
    return np.where(np.equal(a, b), 0.5, np.not_equal(b, extreme)).astype(np.result_type(a, b))


maximum.vjp(a=fresh(lambda g, a, b, out: g * tie_weight(a, b, out)),
            b=fresh(lambda g, a, b, out: g * tie_weight(b, a, out)))
minimum.vjp(a=fresh(lambda g, a, b, out: g * tie_weight(a, b, out)),
            b=fresh(lambda g, a, b, out: g * tie_weight(b, a, out)))


@primitive
def clip(x, *, min=None, max=None):
    """x limited to [min, max]; the gradient is 1 inside and at the limits, 0 outside and for NaN."""
    return x.clip(min, max)


@clip.requires
def _(min, max):
    return "give min, max or both" if min is None and max is None else None


clip.vjp(x=fresh(lambda g, x, out: where(eq(x, out), g, 0.0)))

# Step functions: the gradient is 0 wherever it exists -----------------------------------------------------------------

sign = ufunc("sign", "-1, 0 or 1; the gradient is 0.", lambda x: np.sign(x))
floor = ufunc("floor", "The largest whole number not above x; the gradient is 0.", lambda x: np.floor(x))
ceil = ufunc("ceil", "The smallest whole number not below x; the gradient is 0.", lambda x: np.ceil(x))
round = ufunc("round", "The nearest whole number, halves to even; the gradient is 0.", lambda x: np.round(x))
trunc = ufunc("trunc", "x without its fraction; the gradient is 0.", lambda x: np.trunc(x))
frac = ufunc("frac", "x - trunc(x): the fractional part, with the sign of x.", lambda x: x - np.trunc(x))
frac.vjp(x=lambda g: g)

for step in (sign, floor, ceil, round, trunc):
    step.vjp(x=fresh(lambda g: g * 0.0))

# Its rule names sign, whose kernel is looked up when the rule is declared.
abs = ufunc("abs", "|x|, with gradient 0 at 0, and NaN for NaN (PyTorch: 0).", lambda x: np.absolute(x))
abs.vjp(x=lambda g, x: g * sign(x))


def divided(who, function, a, b):
    """function(a, b), but raise ZeroDivisionError for integers by 0, where NumPy returns 0. Floats become inf or NaN
    there."""
    if getattr(b, "dtype", INT64).kind in "iub" and getattr(a, "dtype", INT64).kind in "iub" and type(b) is not float:
        if np.count_nonzero(b) < b.size if isinstance(b, np.ndarray) else b == 0:  # faster than np.errstate
            if np.size(a) and type(a) is not float:
                raise ZeroDivisionError(f"{who}: an integer is divided by 0; cast with .float() to get "
                                        "infinite or NaN")
    return function(a, b)


floordiv = ufunc("floordiv", "floor(a / b), without a gradient. Raises ZeroDivisionError for integers by 0.",
                 lambda a, b: divided("floordiv", np.floor_divide, a, b))

def _remainder(a, b):
    """np.mod(a, b), but several times as fast for float32 or int64 and a positive number b."""
    if type(b) is int and b > 0 and getattr(a, "dtype", None) is INT64:
        return a - np.floor_divide(a, b) * b
    if type(b) not in (int, float) or getattr(a, "dtype", None) is not FLOAT32 or not 0 < b < 1e38:
        return divided("mod", np.mod, a, b)
    wide, b = a.astype(FLOAT64), float(FLOAT32.type(b))
    times = np.floor(wide / b) if b else math.inf  # exact, since a and b have 24 bits; so is its product with b
    if not np.max(np.abs(times), initial=0) < 1 << 29:
        return np.mod(a, FLOAT32.type(b))
    times *= b
    wide -= times
    return wide.astype(FLOAT32)


mod = ufunc("mod", "a - b floor(a / b), with the sign of b. Raises ZeroDivisionError for integers by 0.",
            lambda a, b: _remainder(a, b))
mod.vjp(a=lambda g: g,
        b=lambda g, a, b: -g * floordiv(a, b))
