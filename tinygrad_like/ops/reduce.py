"""Reductions over axes, and `spread`, the adjoint of `sum`, which repeats."""

from __future__ import annotations

import math

import numpy as np

from ..core.primitive import fresh, primitive
from ..core.tensor import Tensor
from ..dtypes import FLOAT32, FLOAT64, FLOATS, get_default_dtype
from ..errors import checked
from ..rings import replaceable
from .axes import axes, one_axis
from .elementwise import sqrt, square, where
from .shape import flip, reshape

# Sums ---------------------------------------------------------------------------------------------------------------


@replaceable
def sum_over(x: np.ndarray, axis: tuple[int, ...], keepdim: bool):
    """The sum. Many float32 numbers are summed in float64, since NumPy adds rows one by one, and rounding errors
    accumulate."""
    if x.size > 255 and x.dtype is FLOAT32:
        return np.add.reduce(x, axis, FLOAT64, keepdims=keepdim).astype(FLOAT32)  # type: ignore[call-overload]
    return np.add.reduce(x, axis=axis, keepdims=keepdim)  # type: ignore[call-overload]


@primitive
def sum(x, *, axis=None, keepdim=False):
    """The sum over `axis` (all axes if None). Booleans and small integers are summed as int64."""
    return sum_over(x, axes("sum", axis, x.ndim), keepdim)


@primitive
def spread(x, *, shape, axis=None, keepdim=False, divisor=1):
    """x / divisor, repeated along `axis` to `shape`: the adjoint of sum over that axis, divided by a number."""
    return spread_over(x, shape, axes("spread", axis, len(shape)), keepdim, divisor)


@replaceable
def spread_over(x, shape, axis, keepdim, divisor):
    out = np.empty(shape, x.dtype)
    x = x if divisor == 1 else x / np.asarray(divisor, x.dtype)
    out[...] = x if keepdim or not x.ndim else x.reshape([1 if a in axis else n for a, n in enumerate(shape)])
    return out


sum.vjp(x=fresh(lambda g, x_shape, axis, keepdim: spread(g, shape=x_shape, axis=axis, keepdim=keepdim)))
spread.vjp(x=fresh(lambda g, axis, keepdim, divisor: sum(g, axis=axis, keepdim=keepdim) / divisor))


@checked
def sum_to(x, shape: tuple[int, ...]) -> Tensor:
    """Sum x down to `shape`, undoing broadcasting: added axes and axes of size 1 are summed over."""
    return summed_to(x, shape)


@sum_to.requires
def _(x, shape):
    if len(shape) > x.ndim or False in [n in (1, m) for n, m in zip(shape[::-1], x.shape[::-1], strict=False)]:
        return f"{x.shape} is not a broadcast of {shape}"


def summed_to(x, shape: tuple[int, ...]):
    """`sum_to`, or None if `shape` does not broadcast to x's shape."""
    extra = x.ndim - len(shape)
    if extra > 0 and x.shape[extra:] == shape:  # only leading axes, as for a bias
        axis = (0,) if extra == 1 else tuple(range(extra))
        return sum_over(x, axis, False) if type(x) is np.ndarray else sum(x, axis=axis)
    axis = tuple([i for i, n in enumerate(x.shape) if i < extra or extra >= 0 and shape[i - extra] == 1 != n])
    y = sum_over(x, axis, True) if type(x) is np.ndarray else sum(x, axis=axis, keepdim=True)
    if extra < 0 or y.shape[extra:] != shape:
        return None
    return y.reshape(shape) if extra else y


def _count(shape, axis) -> int:
    """The number of elements along `axis`, given as by the user but already checked."""
    if axis is None or not shape:
        return math.prod(shape)
    return math.prod([shape[a] for a in axis]) if isinstance(axis, tuple | list) else shape[axis]


@primitive
def mean(x, *, axis=None, keepdim=False):
    """The mean over `axis` (all axes if None), in the default dtype for integers."""
    axis = axes("mean", axis, x.ndim)
    if x.dtype.kind != "f":  # in integers the sum might overflow
        return np.mean(x, axis=axis, keepdims=keepdim)
    return mean_over(x, axis, keepdim)


@mean.requires
def _(x, axis):
    if not x.size and _count(x.shape, axis := axes("mean", axis, x.ndim)) == 0:
        return f"nothing to average over axis {axis} of shape {x.shape}"


@replaceable
def mean_over(x: np.ndarray, axis: tuple[int, ...], keepdim: bool):
    return sum_over(x, axis, keepdim) / _count(x.shape, axis)


mean.vjp(x=fresh(lambda g, x_shape, axis, keepdim: spread(
    g, shape=x_shape, axis=axis, keepdim=keepdim, divisor=_count(x_shape, axis))))


def with_axes(shape, axis) -> tuple[int, ...]:
    """The shape after a reduction over `axis`, already checked, with keepdim."""
    axis = axes("sum", axis, len(shape))
    return tuple([1 if a in axis else n for a, n in enumerate(shape)])


def without_axes(shape, axis) -> tuple[int, ...]:
    """The shape after it without keepdim."""
    axis = axes("sum", axis, len(shape))
    return tuple([n for a, n in enumerate(shape) if a not in axis])


def centred(x, axis):
    """x minus its mean over `axis`, twice: the rounding error of a large mean may be as large as the result."""
    x = x - mean(x, axis=axis, keepdim=True)
    return x - mean(x, axis=axis, keepdim=True)


@primitive
def var(x, *, axis=None, keepdim=False, correction=1):
    """The variance over `axis`: the sum of squared distances to the mean, divided by n - correction."""
    axis = axes("var", axis, x.ndim)
    n, d = _count(x.shape, axis), np.asarray(x - mean.forward(x, axis=axis, keepdim=True))
    d = d if d.dtype is x.dtype else d.astype(get_default_dtype())
    off = sum_over(d, axis, keepdim)  # 0 apart from rounding
    return np.maximum(sum_over(np.square(d, out=d), axis, keepdim) - off * off / n, 0) / (n - correction)


@var.requires
def _(x, axis, correction):
    if x.dtype.kind not in "fiub":
        return TypeError(f"takes real numbers, got {x.dtype}")
    if (n := _count(x.shape, axes("var", axis, x.ndim))) <= correction:
        return (f"{n} values along axis {axis} of shape {x.shape} with correction={correction}; var divides by "
                "n - correction, so use correction=0 or more values")


@fresh
def _from_variance(g, x, axis, keepdim, correction):
    n = _count(x.shape, axes("var", axis, x.ndim))
    kept = g if keepdim else reshape(g, shape=with_axes(x.shape, axis))
    return centred(x, axis) * (kept * (2 / (n - correction)))


var.vjp(x=_from_variance)


def std(x, axis=None, keepdim=False, correction=1) -> Tensor:
    """The square root of `var`, with gradient 0 where all values are equal."""
    return sqrt(var(x, axis=axis, keepdim=keepdim, correction=correction))


@primitive
def norm(x, *, axis=None, keepdim=False):
    """The Euclidean norm sqrt(sum x^2) over `axis`, with gradient 0 at 0."""
    exact = x if x.dtype.kind in FLOATS else x.astype(FLOAT64, casting="same_kind")
    y = sqrt.forward(sum_of_squares(exact, axes("norm", axis, x.ndim), keepdim))
    return y if exact is x else y.astype(get_default_dtype())


@replaceable
def sum_of_squares(x, axis, keepdim):
    return sum_over(square.forward(x), axis, keepdim)


@fresh
def _along(g, x, out, axis, keepdim):
    if not keepdim:
        g, out = (reshape(v, shape=with_axes(x.shape, axis)) for v in (g, out))
    return x * (g / where(out == 0, math.inf, out))


norm.vjp(x=_along)


# Extremes: the cotangent goes to the largest (smallest) element, shared evenly among ties ------------------------


@primitive
def max(x, *, axis=None, keepdim=False):
    """The largest value over `axis`; NaN if any is NaN. Ties share the cotangent evenly."""
    return max_over(x, axes("max", axis, x.ndim), keepdim)


@primitive
def min(x, *, axis=None, keepdim=False):
    """The smallest value over `axis`; NaN if any is NaN. Ties share the cotangent evenly."""
    return min_over(x, axes("min", axis, x.ndim), keepdim)


@replaceable
def max_over(x, axis, keepdim):
    return np.maximum.reduce(x, axis=axis, keepdims=keepdim)


@replaceable
def min_over(x, axis, keepdim):
    return np.minimum.reduce(x, axis=axis, keepdims=keepdim)


@primitive
def tie_weights(x, extreme, *, axis=None):
    """1 / (number of ties) where x is the extreme, else 0."""
    hit = np.equal(x, extreme)
    if np.count_nonzero(hit) == extreme.size and not np.isnan(extreme).any():  # no ties
        return hit.astype(x.dtype)
    hit |= np.isnan(x) & np.isnan(extreme)
    return (hit / np.add.reduce(hit, axis=axes("max", axis, x.ndim), keepdims=True)).astype(x.dtype)


def _to_extremes(g, x, x_shape, out, axis):
    kept = with_axes(x_shape, axis)
    return reshape(g, shape=kept) * tie_weights(x, reshape(out, shape=kept), axis=axis)


max.vjp(x=fresh(_to_extremes))
min.vjp(x=_to_extremes)


def _axis_of_place(who, axis, ndim):
    return None if axis is None else one_axis(who, axis, ndim, scalar=True)


@primitive
def argmax(x, *, axis=None, keepdim=False):
    """The index of the largest value, the first of ties; in the flattened Tensor if axis is None."""
    return x.argmax(_axis_of_place("argmax", axis, x.ndim), keepdims=keepdim)


@primitive
def argmin(x, *, axis=None, keepdim=False):
    """The index of the smallest value, the first of ties; in the flattened Tensor if axis is None."""
    return x.argmin(_axis_of_place("argmin", axis, x.ndim), keepdims=keepdim)


def not_empty(who):
    """The contract of an op `who` whose axis must not be empty."""
    def contract(x, axis):
        if not x.size and _count(x.shape, axis := axes(who, axis, x.ndim)) == 0:
            return f"axis {axis} of shape {x.shape} is empty, and so has no {who}"
    return contract


for op in (max, min, argmax, argmin):
    op.requires(not_empty(op.name))


@primitive
def any(x, *, axis=None, keepdim=False):
    """Whether any value is true (not 0)."""
    return np.logical_or.reduce(x, axis=axes("any", axis, x.ndim), keepdims=keepdim)


@primitive
def all(x, *, axis=None, keepdim=False):
    """Whether all values are true (not 0)."""
    return np.logical_and.reduce(x, axis=axes("all", axis, x.ndim), keepdims=keepdim)


# Running sums ------------------------------------------------------------------------------------------


@primitive
def cumsum(x, *, axis=0):
    """Running sums along `axis`: out[i] = x[0] + ... + x[i]."""
    axis = one_axis("cumsum", axis, x.ndim, scalar=True)
    sums = np.cumsum(x, axis, FLOAT64).astype(FLOAT32) if x.dtype is FLOAT32 else np.cumsum(x, axis)
    return sums.reshape(x.shape)  # NumPy returns 1-d for 0-d


cumsum.vjp(x=fresh(lambda g, axis: flip(cumsum(flip(g, axis=axis), axis=axis), axis=axis)))
