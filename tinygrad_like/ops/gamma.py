"""The logarithm of the gamma function and its derivatives."""

from __future__ import annotations

import math

import numpy as np

from ..core.primitive import primitive
from ..dtypes import get_default_dtype
from ..errors import refusal

# The Bernoulli numbers B_2, B_4 ... of Stirling's series. With these the derivative of order n has 1e-16 from 10 + 2n
# on.
_BERNOULLI = 1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6
_ENOUGH, _MOST = 10, 10_000


@primitive
def polygamma(x, *, n):
    """The derivative of order n + 1 of log |gamma(x)|; for n = -1 that itself, for n = 0 digamma.

    Poles, the integers from 0 down, give infinity for n = -1, else NaN or infinity; so does -infinity. Raises
    ValueError for n < -1, and for n > 0 and finite x below -10,000.
    """
    y = np.asarray(x).astype(np.float64, casting="same_kind")
    with np.errstate(all="ignore"):
        out = _log_gamma(y) if n < 0 else _digamma(y) if n == 0 else _higher(n, y)
    return out.astype(x.dtype if x.dtype.kind == "f" else get_default_dtype())


@polygamma.requires
def _(x, n):
    if not isinstance(n, int) or n < -1:
        return f"n={n!r} must be an integer >= -1"


polygamma.vjp(x=lambda g, x, n: g * polygamma(x, n=n + 1))


def lgamma(x):
    """log |gamma(x)|, where gamma(n) = (n - 1)!. Infinity at 0, -1, -2 ..."""
    return polygamma(x, n=-1)


def digamma(x):
    """The derivative of lgamma: gamma'(x) / gamma(x)."""
    return polygamma(x, n=0)


def _shifted(x, first, step, enough=_ENOUGH):
    """x increased by 1 until it is large, and `step(total, y)` folded over the values y before that, from `first`."""
    total, x = np.full(x.shape, float(first)), x.copy()
    while (small := x < enough).any():
        total = np.where(small, step(total, x), total)
        x += small
    return x, total


def _log_gamma(x):
    low = x < 0.5
    y, product = _shifted(np.where(low, 1 - x, x), 1, lambda total, y: total * y)
    out = (y - 0.5) * np.log(y) - y + 0.5 * math.log(2 * math.pi) - np.log(product)
    out += sum(b / (2 * k * (2 * k - 1)) * y ** (1.0 - 2 * k) for k, b in enumerate(_BERNOULLI, 1))
    out = np.where(np.isposinf(y), y, out)
    out = np.where(low, math.log(math.pi) - np.log(np.abs(np.sin(math.pi * (x - np.round(x))))) - out, out)
    return np.where(np.isneginf(x), math.inf, out)


def _digamma(x):
    low = x < 0.5
    y, sums = _shifted(np.where(low, 1 - x, x), 0, lambda total, y: total + 1 / y)
    out = np.log(y) - 0.5 / y - sums - sum(b / (2 * k) * y ** (-2.0 * k) for k, b in enumerate(_BERNOULLI, 1))
    out = np.where(low, out - math.pi / np.tan(math.pi * (x - np.round(x))), out)
    return np.where((x < 0) & (x == np.round(x)), math.nan, out)  # a pole, with another sign on either side


def _higher(n, x):
    x = np.where(np.isneginf(x), math.nan, x)
    if (x < -_MOST).any():
        raise refusal("polygamma", f"of order {n}, x={np.nanmin(x):g} must not be below {-_MOST}")
    y, sums = _shifted(x, 0, lambda total, y: total + y ** (-1.0 - n), _ENOUGH + 2 * n)
    tail = math.factorial(n - 1) * y ** float(-n) + math.factorial(n) * (y ** (-1.0 - n) / 2 + sums)
    tail += sum(b * math.factorial(2 * k + n - 1) / math.factorial(2 * k) * y ** (-2.0 * k - n)
                for k, b in enumerate(_BERNOULLI, 1))
    return tail if n % 2 else -tail
