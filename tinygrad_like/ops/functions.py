"""More elementwise functions, most of them of two numbers. Outside their domains they behave as elementwise.py says.
"""

from __future__ import annotations

import numpy as np

from ..core.primitive import primitive
from ..dtypes import BOOL, FLOATS, as_dtype
from ..errors import checked
from .activation import sigmoid
from .compare import isnan, logical_or
from .elementwise import div, divided, floordiv, sign, where
from .reduce import all
from .ufunc import ufunc

logaddexp = ufunc("logaddexp", "log(e^a + e^b), without overflow.", lambda a, b: np.logaddexp(a, b))
logaddexp.vjp(a=lambda g, a, b: g * sigmoid(a - b),
              b=lambda g, a, b: g * sigmoid(b - a))

signbit = ufunc("signbit", "Where x is below 0, or -0.", lambda x: np.signbit(x))


copysign = ufunc("copysign", "|a| with the sign of b, whose gradient is 0.", lambda a, b: np.copysign(a, b))
copysign.vjp(a=lambda g, a, b: g * (sign(a) * where(signbit(b), -1.0, 1.0)),
             b=lambda g: g * 0.0)

fmod = ufunc("fmod", "a - b trunc(a / b), with the sign of a. Raises ZeroDivisionError for integers by 0.",
             lambda a, b: divided("fmod", np.fmod, a, b))
fmod.vjp(a=lambda g: g,
         b=lambda g, a, b: -g * truncdiv(a, b))


@primitive
def truncdiv(a, b):
    """a / b rounded towards 0; exact for integers, which stay integers. No gradient."""
    if np.result_type(a, b).kind in "iu":
        return (a - divided("div", np.fmod, a, b)) // b
    return np.trunc(np.true_divide(a, b))


@checked
def divide(a, b, rounding_mode=None):
    """a / b; rounded towards 0 with rounding_mode="trunc", down with "floor", and then without a gradient."""
    return _DIVISIONS[rounding_mode](a, b)


divide.called = "div"
_DIVISIONS = {None: div, "trunc": truncdiv, "floor": floordiv}


@divide.requires
def _(rounding_mode):
    if rounding_mode not in _DIVISIONS:
        return f'rounding_mode must be None, "trunc" or "floor", got {rounding_mode!r}'


@checked
def clamp(x, low=None, high=None):
    """x limited to [low, high], arrays that broadcast or numbers; high where low > high, NaN where one of them is.

    The cotangent goes to x where it lies inside or on a limit, else to the limit.
    """
    x = x if low is None else where(_or_nan(x < low, low), low, x)
    return x if high is None else where(_or_nan(x > high, high), high, x)


clamp.called = "clip"


@clamp.requires
def _(low, high):
    return "give min, max or both" if low is None and high is None else None


def _or_nan(beyond, limit):
    """Where x lies beyond a limit, or the limit, if it is an array, is NaN."""
    return logical_or(beyond, isnan(limit)) if getattr(limit, "dtype", BOOL).kind in FLOATS else beyond

# Bits, and closeness --------------------------------------------------------------------------------------------------

lshift = ufunc("lshift", "a 2^b, for integers.", lambda a, b: np.left_shift(a, b))

rshift = ufunc("rshift", "floor(a / 2^b), for integers.", lambda a, b: np.right_shift(a, b))


@primitive
def bitcast(x, *, dtype):
    """The bits of x as numbers of another dtype; if its size differs, so does the last axis."""
    dtype = as_dtype(dtype, "bitcast")
    return np.ascontiguousarray(x).view(dtype) if x.ndim else x.view(dtype)


@bitcast.requires
def _(x, dtype):
    if not x.ndim and (dtype := as_dtype(dtype, "bitcast")).itemsize != x.itemsize:
        return f"a 0-d Tensor of {x.dtype} does not have the size of {dtype}"


@primitive
def isclose(a, b, *, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Where |a - b| <= atol + rtol |b|, or both are the same infinity; or both NaN, with equal_nan."""
    return np.isclose(a, b, rtol, atol, equal_nan)


def allclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    """Whether all are close, see `isclose`."""
    return all(isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))
