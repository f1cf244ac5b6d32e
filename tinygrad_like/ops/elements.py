"""More elementwise functions of PyTorch and NumPy, composed of other ops."""

from __future__ import annotations

import math

import numpy as np

from ..dtypes import FLOATS, finfo, get_default_dtype
from .compare import eq, isnan
from .elementwise import erf, exp, mod, where
from .functions import clamp
from .pointwise import pointwise
from .ufunc import ufunc


def deg2rad(x):
    """x pi / 180: degrees as radians."""
    return x * (math.pi / 180)


def rad2deg(x):
    """x 180 / pi: radians as degrees."""
    return x * (180 / math.pi)


@pointwise
def lerp(a, b, weight):
    """a + (b - a) weight: a for weight 0, b for weight 1, and linear in between."""
    return a + (b - a) * weight


lerp.vjp(a=lambda g, weight: g * (1 - weight),
         b=lambda g, weight: g * weight,
         weight=lambda g, a, b: g * (b - a))


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    """x with other numbers for NaN and the infinities, by default the largest and the least of its dtype."""
    if x.dtype.kind not in FLOATS:
        return x
    largest = float(finfo(x.dtype).max)
    y = where(isnan(x), nan, x)
    y = where(eq(x, math.inf), largest if posinf is None else posinf, y)
    return where(eq(x, -math.inf), -largest if neginf is None else neginf, y)


def remainder(a, b):
    """a - b floor(a / b), with the sign of b."""
    return mod(a, b)


def isposinf(x):
    """Where x is +infinity."""
    return eq(x, math.inf)


def isneginf(x):
    """Where x is -infinity."""
    return eq(x, -math.inf)


def clamp_min(x, min):
    """x, or min where that is larger."""
    return clamp(x, min, None)


def clamp_max(x, max):
    """x, or max where that is smaller."""
    return clamp(x, None, max)


def _erfinv(x):
    """An approximation (Winitzki 2008), then three Halley steps, each of which triples the digits."""
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
