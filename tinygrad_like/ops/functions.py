"""More elementwise functions of PyTorch and NumPy. elementwise.py says how they behave outside their domains."""

from __future__ import annotations

import math

import numpy as np

from ..core.primitive import primitive
from ..core.tensor import Tensor
from ..dtypes import BOOL, FLOATS, as_dtype, finfo, get_default_dtype
from ..errors import checked
from .activation import sigmoid
from .compare import eq, isnan, logical_or
from .elementwise import div, divided, erf, exp, floordiv, mod, sign, where
from .pointwise import pointwise, ufunc
from .reduce import all

logaddexp = ufunc("logaddexp", "log(e^a + e^b), without overflow.", lambda a, b: np.logaddexp(a, b))
logaddexp.vjp(a=lambda g, a, b: g * sigmoid(a - b),
              b=lambda g, a, b: g * sigmoid(b - a))

signbit = ufunc("signbit", "Where x is below 0, or -0.", lambda x: np.signbit(x))

copysign = ufunc("copysign", "|a| with the sign of b; the gradient of b is 0.", lambda a, b: np.copysign(a, b))
copysign.vjp(a=lambda g, a, b: g * (sign(a) * where(signbit(b), -1.0, 1.0)),
             b=lambda g: g * 0.0)

fmod = ufunc("fmod", "a - b trunc(a / b), with the sign of a. Raises ZeroDivisionError for integers by 0.",
             lambda a, b: divided("fmod", np.fmod, a, b))
fmod.vjp(a=lambda g: g,
         b=lambda g, a, b: -g * truncdiv(a, b))


@primitive
def truncdiv(a, b):
    """a / b rounded towards 0, without a gradient; exact for integers, which stay integers."""
    if np.result_type(a, b).kind in "iu":
        return (a - divided("div", np.fmod, a, b)) // b
    return np.trunc(np.true_divide(a, b))


@checked
def divide(a, b, rounding_mode=None) -> Tensor:
    """a / b. rounding_mode="trunc" rounds towards 0, "floor" down; both without a gradient."""
    return _DIVISIONS[rounding_mode](a, b)


divide.called = "div"
_DIVISIONS = {None: div, "trunc": truncdiv, "floor": floordiv}


@divide.requires
def _(rounding_mode):
    if rounding_mode not in _DIVISIONS:
        return f'rounding_mode must be None, "trunc" or "floor", got {rounding_mode!r}'


@checked
def clamp(x, low=None, high=None) -> Tensor:
    """x limited to [low, high], numbers or arrays that broadcast; high where low > high, NaN where any of the three is.

    The cotangent goes to x where x lies inside or on a limit, else to that limit.
    """
    x = x if low is None else where(_or_nan(x < low, low), low, x)
    return x if high is None else where(_or_nan(x > high, high), high, x)


clamp.called = "clip"


@clamp.requires
def _(low, high):
    return "give min, max or both" if low is None and high is None else None


def _or_nan(beyond, limit):
    """Where x lies beyond a limit, or where the limit, if it is an array, is NaN."""
    return logical_or(beyond, isnan(limit)) if getattr(limit, "dtype", BOOL).kind in FLOATS else beyond

# Bits, and closeness --------------------------------------------------------------------------------------------------

lshift = ufunc("lshift", "a 2^b, for integers.", lambda a, b: np.left_shift(a, b))

rshift = ufunc("rshift", "floor(a / 2^b), for integers.", lambda a, b: np.right_shift(a, b))


@primitive
def bitcast(x, *, dtype):
    """The bits of x read as another dtype; if the item size differs, the last axis shrinks or grows."""
    dtype = as_dtype(dtype, "bitcast")
    return np.ascontiguousarray(x).view(dtype) if x.ndim else x.view(dtype)


@bitcast.requires
def _(x, dtype):
    if not x.ndim and (dtype := as_dtype(dtype, "bitcast")).itemsize != x.itemsize:
        return f"a 0-d Tensor of {x.dtype} does not have the item size of {dtype}"


@primitive
def isclose(a, b, *, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Where |a - b| <= atol + rtol |b|, or a and b are the same infinity; with equal_nan, also where both are NaN."""
    return np.isclose(a, b, rtol, atol, equal_nan)


def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False) -> Tensor:
    """Whether all elements are close, see `isclose`."""
    return all(isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


# Compositions ---------------------------------------------------------------------------------------------------------


def deg2rad(x) -> Tensor:
    """x pi / 180: degrees as radians."""
    return x * (math.pi / 180)


def rad2deg(x) -> Tensor:
    """x 180 / pi: radians as degrees."""
    return x * (180 / math.pi)


@pointwise
def lerp(a, b, weight):
    """a + (b - a) weight: a at weight 0, b at weight 1, linear in between."""
    return a + (b - a) * weight


lerp.vjp(a=lambda g, weight: g * (1 - weight),
         b=lambda g, weight: g * weight,
         weight=lambda g, a, b: g * (b - a))


def nan_to_num(x, nan=0.0, posinf=None, neginf=None) -> Tensor:
    """x with NaN and the infinities replaced, by default with 0 and the largest and smallest numbers of its dtype."""
    if x.dtype.kind not in FLOATS:
        return x
    largest = float(finfo(x.dtype).max)
    y = where(isnan(x), nan, x)
    y = where(eq(x, math.inf), largest if posinf is None else posinf, y)
    return where(eq(x, -math.inf), -largest if neginf is None else neginf, y)


def remainder(a, b) -> Tensor:
    """a - b floor(a / b), with the sign of b."""
    return mod(a, b)


def isposinf(x) -> Tensor:
    """Where x is +infinity."""
    return eq(x, math.inf)


def isneginf(x) -> Tensor:
    """Where x is -infinity."""
    return eq(x, -math.inf)


def clamp_min(x, min) -> Tensor:
    """x, or min where that is larger."""
    return clamp(x, min, None)


def clamp_max(x, max) -> Tensor:
    """x, or max where that is smaller."""
    return clamp(x, None, max)


def _erfinv(x):
    """An approximation (Winitzki 2008), then three Halley steps, each tripling the correct digits."""
    a = np.asarray(x, np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log = np.log1p(-a * a)
        t = 2 / (math.pi * 0.147) + log / 2
        y = np.copysign(np.sqrt(np.sqrt(t * t - log / 0.147) - t), a)
        for _ in range(3):
            step = (erf.forward(y) - a) * (math.sqrt(math.pi) / 2) * np.exp(y * y)
            y = y - step / (1 + y * step)
        y = np.where(np.abs(a) == 1, a * math.inf, y)
    return y.astype(x.dtype if x.dtype.kind == "f" else get_default_dtype())


erfinv = ufunc("erfinv", "The y with erf y = x: infinite at -1 and 1, NaN beyond.", lambda x: _erfinv(x))
ERFINV_SLOPE_AT_0 = math.sqrt(math.pi) / 2
erfinv.vjp(x=lambda g, out: g * (exp(out * out) * ERFINV_SLOPE_AT_0))
