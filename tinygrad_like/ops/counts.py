"""What depends on the order or the number of values: medians, quantiles, modes, histograms, distinct values."""

from __future__ import annotations

import numpy as np

from ..core.listener import pure
from ..core.primitive import primitive
from ..dtypes import FLOATS
from .along import gather, take_along
from .axes import one_axis
from .compare import cast, eq, isnan
from .elementwise import ceil, floor, round, where
from .order import Found, argsort, searchsorted, sort
from .reduce import sum
from .shape import getitem, reshape, stack, unsqueeze
from .values import values_of, varying


@primitive
def rank_places(x, *, axis, k, nan):
    """Where, along `axis`, the number stands that has k smaller ones, or, without a k, half of the others; NaN is the
    largest. nan: what stands there if there is one: "last" such a NaN, "left out" the number of that rank among the
    others, "" what the order says."""
    order, before, n = argsort.forward(x, axis=axis), (slice(None),) * axis, x.shape[axis]
    index = order[(*before, (n - 1) // 2 if k is None else k)]
    if nan and x.dtype.kind == "f" and x.size and np.isnan(np.maximum.reduce(x, axis=None)):
        bad = np.isnan(x)
        if nan == "last":
            return np.where(bad.any(axis), order[(*before, n - 1)], index)
        rank = np.maximum(n - 1 - bad.sum(axis, keepdims=True), 0) // 2
        return np.take_along_axis(order, rank, axis).reshape(index.shape)
    return index.copy()


def _ranked(who, x, axis, keepdim, k=None, nan=""):
    """The element of a rank along the axis, and its index, see `rank_places`."""
    axis = one_axis(who, axis, x.ndim, scalar=True)
    if not x.ndim:
        order = argsort(x, axis=axis)
        return Found(gather(x, order, axis=axis), order)
    _some(who, x, axis)
    index = rank_places(x, axis=axis, k=k, nan=nan)
    values = take_along(x, index, axis=axis, keepdim=False)
    return Found(unsqueeze(values, axis), unsqueeze(index, axis)) if keepdim else Found(values, index)


def _some(who, x, axis) -> None:
    if not x.shape[axis]:
        raise ValueError(f"{who}: nothing to choose from along axis {axis} of shape {x.shape}")


def kthvalue(x, k, axis=-1, keepdim=False):
    """The k-th smallest value along the axis, counted from 1, and its index: (values, indices)."""
    n = x.shape[one_axis("kthvalue", axis, x.ndim)] if x.ndim else 1
    if not 1 <= k <= n:
        raise ValueError(f"kthvalue: k={k} must lie between 1 and {n}")
    return _ranked("kthvalue", x, axis, keepdim, k - 1)


def median(x, axis=None, keepdim=False):
    """The middle value, of two the lower; along an axis, with its index: (values, indices). NaN if there is one."""
    if axis is None:
        return _ranked("median", reshape(x, shape=(-1,)), 0, False, nan="last")[0]
    return _ranked("median", x, axis, keepdim, nan="last")


def nanmedian(x, axis=None, keepdim=False):
    """The median of the numbers that are not NaN; along an axis, with its index: (values, indices)."""
    if axis is None:
        return _ranked("nanmedian", reshape(x, shape=(-1,)), 0, False, nan="left out")[0]
    return _ranked("nanmedian", x, axis, keepdim, nan="left out")


def nansum(x, axis=None, keepdim=False):
    """The sum of the numbers that are not NaN."""
    return sum(where(isnan(x), 0.0, x) if x.dtype.kind in FLOATS else x, axis=axis, keepdim=keepdim)


def nanmean(x, axis=None, keepdim=False):
    """The mean of the numbers that are not NaN."""
    return nansum(x, axis, keepdim) / sum(isnan(x) == False, axis=axis, keepdim=keepdim)  # noqa: E712


def quantile(x, q, axis=None, keepdim=False, interpolation="linear"):
    """The value below which a share q of the numbers lies, between two of them on a straight line.

    q: a number in [0, 1], or several, which come first in the result. interpolation: or "lower", "higher", "nearest",
    "midpoint". Raises ValueError for a q outside [0, 1], or where there are no numbers.
    """
    if getattr(q, "requires_grad", False):
        raise TypeError("quantile: q is an option, which no gradient reaches; pass its detach()")
    shares = values_of("quantile", q, "reads its shares in NumPy", "give them as numbers")
    if shares.dtype.kind not in "fiu":
        raise TypeError(f"quantile: q must be a number in [0, 1], or several in one axis, got {q!r}")
    shares = shares.astype(np.result_type(shares, np.float32))  # in float64, float32's 0.6 times 5 would be above 3
    if shares.ndim > 1 or not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"quantile: q must be a number in [0, 1], or several in one axis, got {q!r}")
    if interpolation not in ("linear", "lower", "higher", "nearest", "midpoint"):
        raise ValueError(f"quantile: interpolation={interpolation!r} must be linear, lower, higher, nearest or "
                         "midpoint")
    if not x.ndim and axis is not None:
        y, axis, keepdim = reshape(x, shape=(1,)), 0, False
        return quantile(y, q, axis, keepdim, interpolation)
    flat = axis is None
    axis, y = (0, reshape(x, shape=(-1,))) if flat else (one_axis("quantile", axis, x.ndim), x)
    _some("quantile", y, axis)
    ordered = sort(y, axis)[0]
    parts = [_between(ordered, float(s * (ordered.shape[axis] - 1)), axis, interpolation) for s in np.ravel(shares)]
    if flat and keepdim:
        parts = [reshape(p, shape=(1,) * x.ndim) for p in parts]
    elif keepdim:
        parts = [unsqueeze(p, axis) for p in parts]
    return parts[0] if shares.ndim == 0 else stack(*parts)


def _between(ordered, place, axis, interpolation):
    low, high = int(np.floor(place)), int(np.ceil(place))
    share = {"linear": place - low, "lower": 0.0, "higher": 1.0, "midpoint": 0.5 * (high > low),
             "nearest": float(round(place) - low)}[interpolation]
    before = (slice(None),) * axis
    a, b = getitem(ordered, (*before, low)), getitem(ordered, (*before, high))
    last = getitem(ordered, (*before, -1))  # NaN, if there is one
    # Of one of them alone where the other may be infinite; else from the nearer one, as PyTorch's lerp.
    y = a if share == 0 else b if share == 1 else a + (b - a) * share if share < 0.5 else b - (b - a) * (1 - share)
    return where(isnan(last), last, y)


def nanquantile(x, q, axis=None, keepdim=False, interpolation="linear"):
    """`quantile` of the numbers that are not NaN; where there are none, NaN. The places are found row by row."""
    if getattr(q, "requires_grad", False):
        raise TypeError("nanquantile: q is an option, which no gradient reaches; pass its detach()")
    if np.ndim(q):
        shares = q.tolist() if hasattr(q, "tolist") else q
        return stack(*[nanquantile(x, s, axis, keepdim, interpolation) for s in shares])
    q = float(q)
    if not 0 <= q <= 1:
        raise ValueError(f"nanquantile: q must lie in [0, 1], got {q}")
    if axis is None or not x.ndim:
        y = nanquantile(reshape(x, shape=(-1,)), q, 0, False, interpolation)
        return reshape(y, shape=(1,) * x.ndim) if keepdim else y
    axis = one_axis("nanquantile", axis, x.ndim)
    _some("nanquantile", x, axis)
    ordered = sort(x, axis)[0]
    count = sum(isnan(x) == False, axis=axis, keepdim=True)  # noqa: E712
    place = where(count > 0, cast(count - 1, dtype=x.dtype) * q, 0.0)
    low, high = floor(place), ceil(place)
    if interpolation in ("lower", "higher", "nearest"):
        low = high = {"lower": low, "higher": high, "nearest": round(place)}[interpolation]
    a, b = (gather(ordered, cast(i, dtype=np.dtype("int64")), axis=axis) for i in (low, high))
    share = (high - low) * 0.5 if interpolation == "midpoint" else place - low
    difference = where(eq(low, high), 0.0, b - a)  # not NaN of one that is infinite
    y = where(share < 0.5, a + difference * share, b - difference * (1 - share))
    return y if keepdim else reshape(y, shape=(*x.shape[:axis], *x.shape[axis + 1:]))


def mode(x, axis=-1, keepdim=False):
    """The value that is there most often along the axis, of several the least, and where it is last."""
    if not x.ndim:
        return Found(*[reshape(y, shape=()) for y in mode(reshape(x, shape=(1,)), 0)])
    axis = one_axis("mode", axis, x.ndim)
    _some("mode", x, axis)
    varying("mode counts values in NumPy")
    rows = np.moveaxis(np.asarray(getattr(x, "_data", x)), axis, -1)
    rows = rows.astype(np.uint8) if rows.dtype.kind == "b" else rows
    counts = (rows[..., :, None] == rows[..., None, :]).sum(-1)
    best = np.where(counts == counts.max(-1, keepdims=True), rows, np.inf if rows.dtype.kind in FLOATS else
                    np.iinfo(rows.dtype).max).min(-1, keepdims=True)
    n = rows.shape[-1]
    index = np.moveaxis(n - 1 - (rows == best)[..., ::-1].argmax(-1)[..., None], -1, axis)
    values = gather(x, index, axis=axis)
    if not keepdim:
        shape = (*x.shape[:axis], *x.shape[axis + 1:])
        values, index = reshape(values, shape=shape), index.reshape(shape)
    from ..core.tensor import wrap

    return Found(values, wrap(index))


# Counting: without gradients ------------------------------------------------------------------------------------------


def _wrapped(*arrays):
    from ..core.tensor import wrap

    return tuple([wrap(np.array(a, order="C")) for a in arrays])


def bincount(x, weights=None, minlength=0):
    """How often each of 0, 1, 2, ... is among integers, or the sums of their weights.

    A captured function needs a `minlength` above all integers to come. Raises ValueError for others than integers from
    0 in one axis.
    """
    from ..core.tensor import wrap

    values, weights = [a._data if hasattr(a, "_data") else a if a is None else np.asarray(a) for a in (x, weights)]
    counts = _counted(values, weights, minlength)
    if counts.size != minlength:
        varying("bincount gives a number of elements that depends on values", "give a minlength above them")
    return wrap(counts)


@pure
def _counted(values, weights, minlength):
    if values.ndim != 1 or values.dtype.kind not in "iub" or values.size and values.min() < 0:
        raise ValueError(f"bincount: takes integers from 0 in one axis, got {values.dtype} {values.shape}")
    counts = np.bincount(values, weights, minlength)
    floats = weights is not None and weights.dtype.kind in FLOATS
    return counts.astype("int64" if weights is None else weights.dtype if floats else "float64")


def count_nonzero(x, axis=None):
    """How many numbers are not 0, over the axis."""
    return sum(x != 0, axis=axis)


def histc(x, bins=100, min=0, max=0):
    """How many numbers lie in each of `bins` equal parts of [min, max]; of the whole range, if both are 0."""
    values = values_of("histc", x, "counts values in NumPy").reshape(-1)
    if min == max == 0 and values.size:
        min, max = float(values.min()), float(values.max())
    if min == max:
        min, max = min - 1, max + 1
    if not bins > 0 or not min < max:
        raise ValueError(f"histc: needs bins > 0 and min < max, got bins={bins}, min={min}, max={max}")
    return _wrapped(np.histogram(values, bins, (min, max))[0].astype(values.dtype))[0]


def isin(x, values):
    """Where a number of x is one of the values."""
    return _wrapped(np.isin(*[values_of("isin", part, "compares in NumPy") for part in (x, values)]))[0]


def unique(x, sorted=True, return_inverse=False, return_counts=False, axis=None):
    """The distinct numbers in rising order, or slices along an axis; and which of them each is, and how often.

    Every NaN differs from every other.
    """
    values = values_of("unique", x, "gives a number of elements that depends on values")
    found, inverse, counts = np.unique(values, return_inverse=True, return_counts=True, axis=axis,
                                       equal_nan=False)
    inverse = inverse.reshape(values.shape if axis is None else -1)
    results = _wrapped(found, *[inverse] * return_inverse, *[counts] * return_counts)
    return results[0] if len(results) == 1 else results


def unique_consecutive(x, return_inverse=False, return_counts=False, axis=None):
    """Each run of equal numbers, or of equal slices along an axis, once; the run of each; and how long they are."""
    values = values_of("unique_consecutive", x, "gives a number of elements that depends on values")
    rows = values.reshape(-1) if axis is None else np.moveaxis(values, axis, 0)
    begins = np.ones(len(rows), bool)
    if len(rows) > 1:
        begins[1:] = (rows[1:] != rows[:-1]).reshape(len(rows) - 1, -1).any(1)
    found, inverse = rows[begins], np.cumsum(begins) - 1
    counts = np.diff(np.append(np.flatnonzero(begins), len(rows)))
    found = found if axis is None else np.moveaxis(found, 0, axis)
    results = _wrapped(found, *[inverse.reshape(values.shape if axis is None else -1)] * return_inverse,
                       *[counts] * return_counts)
    return results[0] if len(results) == 1 else results


def bucketize(x, boundaries, *, out_int32=False, right=False):
    """The number of the interval between rising boundaries in which each number lies, int64 or int32."""
    places = searchsorted(boundaries, x, right=right)
    return cast(places, dtype=np.dtype("int32")) if out_int32 else places
