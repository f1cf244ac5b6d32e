"""The modified Bessel functions of the first kind."""

from __future__ import annotations

import numpy as np

from ..core.primitive import primitive
from ..dtypes import get_default_dtype
from .elementwise import sign

_FAR = 30.0  # from here on the series of 1 / x has all digits, for orders n with n^2 <= x
_STEPS = 6  # times n, after which ratios of higher orders no longer count, where x < n^2


@primitive
def bessel_i(x, *, order, scaled):
    """I_n(x) = sum_k (x / 2)^(2k + n) / (k! (k + n)!), n = order; scaled: e^-|x| I_n(x), which does not overflow.

    Computed in float64. Raises ValueError for an order that is no integer >= 0, TypeError for complex numbers.
    """
    if not isinstance(order, int) or order < 0:
        raise ValueError(f"bessel_i: order={order!r} must be an integer >= 0")
    if x.dtype.kind not in "fiub":
        raise TypeError(f"bessel_i: takes real numbers, got {x.dtype}")
    y = np.abs(np.asarray(x, np.float64))
    far = y > _FAR
    with np.errstate(all="ignore"):
        near = np.where(far, 0.0, y)
        out = np.exp(-near) * _near(near, order) if scaled else _near(near, order)
        if far.any():
            large = _far(np.where(far, y, _FAR), order)
            out = np.where(far, large if scaled else np.exp(y / 2) * large * np.exp(y / 2), out)
        out = np.where(np.isposinf(y), 0.0 if scaled else np.inf, out)
        if order % 2:
            out = np.copysign(out, x)
        return out.astype(x.dtype if x.dtype.kind == "f" else get_default_dtype())


bessel_i.vjp(x=lambda g, x, order, scaled: g * _slope(x, order, scaled))


def _slope(x, order, scaled):
    """I_0' = I_1 and I_n' = (I_(n-1) + I_(n+1)) / 2."""
    above = bessel_i(x, order=order + 1, scaled=scaled)
    slope = 0.5 * (bessel_i(x, order=order - 1, scaled=scaled) + above) if order else above
    return slope - sign(x) * bessel_i(x, order=order, scaled=True) if scaled else slope


def i0(x):
    """The modified Bessel function of order 0: sum_k (x / 2)^(2k) / k!^2."""
    return bessel_i(x, order=0, scaled=False)


def i0e(x):
    """e^-|x| i0(x), which does not overflow."""
    return bessel_i(x, order=0, scaled=True)


def i1(x):
    """The modified Bessel function of order 1, the derivative of i0."""
    return bessel_i(x, order=1, scaled=False)


def i1e(x):
    """e^-|x| i1(x), which does not overflow."""
    return bessel_i(x, order=1, scaled=True)


def _near(x, n):
    """The series in x, all of whose terms are positive."""
    term = np.ones(x.shape)
    for k in range(1, n + 1):
        term = term * (x / (2 * k))
    total, k = term.copy(), 0
    while (term > 1e-17 * total).any():
        k += 1
        term = term * (x * x / (4 * k * (k + n)))
        total = total + term
    return total


def _far(x, n):
    """e^-x I_n(x): its asymptotic series where n^2 <= x, elsewhere that of order 0 times I_k / I_(k-1), for all k <= n.

    The ratios are a continued fraction, 1 / (2k / x + the next one), which neither overflows nor cancels.
    """
    if (between := n * n > x).any():
        ratio, product = 0.0, _asymptotic(x, 0)
        for k in range((_STEPS + 1) * n, 0, -1):
            ratio = 1 / (2 * k / x + ratio)
            product = product * ratio if k <= n else product
        return np.where(between, product, _asymptotic(x, n))
    return _asymptotic(x, n)


def _asymptotic(x, n):
    """(1 - (4n^2 - 1) / (8x) + (4n^2 - 1)(4n^2 - 9) / (2! (8x)^2) - ...) / sqrt(2 pi x)."""
    term = np.ones(x.shape)
    total, k = term.copy(), 0
    while (np.abs(term) > 1e-17 * np.abs(total)).any() and k < 2 * _FAR:
        k += 1
        term = term * (((2 * k - 1) ** 2 - 4 * n * n) / (8 * k * x))
        total = total + term
    return total / np.sqrt(2 * np.pi * x)
