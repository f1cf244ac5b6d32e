"""Running products, extremes and logsumexp along an axis, and the recurrence behind their gradients.

    s[i] = x[i] + decay[i] s[i - 1]

is linear in x, and its adjoint is the same recurrence run backwards. The cotangents of a running product and of a
running logsumexp have this form too. Nothing is divided, so zeros are exact.
"""

from __future__ import annotations

import math

import numpy as np

from ..core.primitive import fresh, primitive
from ..dtypes import FLOAT32, FLOAT64
from .along import gather
from .axes import axes, one_axis
from .compare import cast, eq
from .composite import composite
from .elementwise import exp, mul, where
from .order import Found
from .parts import surround, take
from .reduce import _count, with_axes
from .shape import cat, flip, permute, reshape


@primitive
def recurrence(x, decay, *, axis=0, reverse=False):
    """s[i] = x[i] + decay[i] s[i - 1] along `axis`, with s[-1] = 0; reverse runs backwards, with s[i + 1].

    x and decay have the same shape. Raises ValueError otherwise. Sums float32 in float64, since errors add up.
    """
    axis = one_axis("recurrence", axis, x.ndim, scalar=True)
    if not x.ndim:
        return np.array(x)
    dtype = np.result_type(x, decay)
    wide = np.array(x, FLOAT64 if dtype is FLOAT32 else dtype)
    s, a = (np.moveaxis(y, axis, 0)[:: -1 if reverse else 1] for y in (wide, decay))
    for i in range(1, len(s)):
        s[i] += a[i] * s[i - 1]
    return wide.astype(dtype, copy=False)


@recurrence.requires
def _(x, decay):
    return f"x has shape {x.shape} but decay {decay.shape}; they must agree" if x.shape != decay.shape else None


# t[i] = g[i] + decay[i + 1] t[i + 1] collects the cotangents of all sums that contain x[i].
recurrence.vjp(x=lambda g, decay, axis, reverse: _sums_owed(g, decay, axis, reverse),
               decay=lambda g, decay, out, axis, reverse: mul(_sums_owed(g, decay, axis, reverse),
                                                              _before(out, axis, reverse)))


def _sums_owed(g, decay, axis, reverse):
    return recurrence(g, _before(decay, axis, not reverse), axis=axis, reverse=not reverse)


def _before(x, axis, reverse=False, first=0.0):
    """x[i - 1] in place of x[i], and `first` in place of x[0]; x[i + 1], if reverse."""
    axis = one_axis("recurrence", axis, x.ndim, scalar=True)
    if not x.ndim or not x.shape[axis]:
        return x * 0.0 + first
    front = (slice(None),) * axis
    here, there = (slice(1, None), slice(0, -1)) if reverse else (slice(0, -1), slice(1, None))
    return surround(take(x, index=(*front, here)), shape=x.shape, index=(*front, there), value=first)


@primitive
def cumprod(x, *, axis=0):
    """Running products along `axis`: out[i] = x[0] ... x[i]; the gradient is exact where factors are 0."""
    return _running(np.multiply, x, one_axis("cumprod", axis, x.ndim, scalar=True))


def cumprod_vjp(g, x, y, *, axis=0):
    """The cotangent of x in y = cumprod(x): y[j - 1] t[j], with t[j] = g[j] + x[j + 1] t[j + 1]."""
    return mul(_sums_owed(g, x, axis, False), _before(y, axis, first=1.0))


# d out[i] / d x[j] is the product of all factors up to i but x[j].
cumprod.vjp(x=fresh(lambda g, x, out, axis: cumprod_vjp(g, x, out, axis=axis)))


# The whole product ----------------------------------------------------------------------------------------------------


@primitive
def prod(x, *, axis=None, keepdim=False):
    """The product over `axis` (all axes if None); its gradient is exact where factors are 0."""
    return np.multiply.reduce(x, axis=axes("prod", axis, x.ndim), keepdims=keepdim)


@composite
def other_products(x, g, *, axis):
    """g times the product of all other factors: a running product from the front times one from the back."""
    rest = tuple(a for a in range(x.ndim) if a not in axis)
    order = (*axis, *rest)
    shape = [x.shape[a] for a in order]
    y = reshape(permute(x, axes=order), shape=(_count(x.shape, axis), math.prod(x.shape[a] for a in rest)))
    one = np.ones((1, y.shape[1]), x.dtype)
    before = cat(one, cumprod(y[:-1], axis=0), axis=0)
    after = cat(flip(cumprod(flip(y[1:], axis=0), axis=0), axis=0), one, axis=0)
    others = reshape(before * after, shape=shape)
    return permute(others, axes=tuple([order.index(a) for a in range(x.ndim)])) * g


def _other_products(x, g, axis):
    """By division, in one pass, unless a product is 0, or too small or large to divide."""
    y = np.multiply.reduce(x, axis=axis, keepdims=True)
    size, out = np.abs(y), np.empty_like(x)
    if size.size and size.min() > 1e-30 and size.max() < 1e30:
        return np.multiply(np.divide(y, x, out), g, out), None
    out[...] = other_products.definition(x, g, axis=axis)
    return out, None


other_products.accelerate(_other_products)
prod.vjp(x=fresh(lambda g, x, axis: other_products(
    x, reshape(g, shape=with_axes(x.shape, axis)), axis=axes("prod", axis, x.ndim)) if x.size else x * 0.0))


# Running logsumexp -----------------------------------------------------------------------------------------


@primitive
def logcumsumexp(x, *, axis=0):
    """log of the running sums of e^x along `axis`, without overflow."""
    axis = one_axis("logcumsumexp", axis, x.ndim, scalar=True)
    return _running(np.logaddexp, x, axis)


def _logcumsumexp_vjp(g, x, axis):
    """d out[i] / d x[j] is e^(x[j] - out[j]) e^(out[j] - out[i]), both at most 1; out[j] - out[i] accumulates by steps.

    In float64, since the difference of large numbers depends on their last digits.
    """
    wide = cast(x, dtype=FLOAT64)
    out = logcumsumexp(wide, axis=axis)
    decay, share = _ratio(_before(out, axis, first=-np.inf), out), _ratio(wide, out)
    return mul(_sums_owed(g, cast(decay, dtype=x.dtype), axis, False), cast(share, dtype=x.dtype))


logcumsumexp.vjp(x=_logcumsumexp_vjp)


def _ratio(a, b):
    """e^(a - b), but 0 where both are -inf."""
    empty = eq(b, -np.inf)
    return where(empty, 0.0, exp(where(empty, 0.0, a) - where(empty, 0.0, b)))


def _running(function, x, axis):
    """function.accumulate, for float32 in float64, since errors add up."""
    if not x.ndim:  # no axis to run along, but the dtype changes all the same
        return function.accumulate(x[None])[0, ...]
    if x.dtype is FLOAT32:
        return function.accumulate(x, axis, np.float64).astype(np.float32)
    return function.accumulate(x, axis)


# Running extremes -----------------------------------------------------------------------------------------------------


def cummax(x, axis=0) -> Found:
    """The largest value so far along `axis` and its index, the last of ties: (values, indices).

    The value is NaN from the first NaN on.
    """
    return _extreme("cummax", 1, x, axis)


def cummin(x, axis=0) -> Found:
    """The smallest value so far along `axis` and its index, the last of ties: (values, indices)."""
    return _extreme("cummin", -1, x, axis)


def _extreme(who, sign, x, axis):
    axis = one_axis(who, axis, x.ndim, scalar=True)
    index = _places(x, sign=sign, axis=axis)
    return Found(gather(x, index, axis=axis), index)


@primitive
def _places(x, *, sign, axis):
    """The index of the largest value so far, or of the smallest if sign is -1."""
    if not x.ndim:
        return np.zeros((), np.int64)
    best = (np.maximum if sign > 0 else np.minimum).accumulate(x, axis=axis)
    new = np.equal(x, best) | (np.not_equal(x, x) if x.dtype.kind == "f" else False)
    place = np.arange(x.shape[axis]).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
    return np.maximum.accumulate(np.where(new, place, 0), axis=axis)
