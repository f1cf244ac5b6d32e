"""Compositions of reductions: variance with mean, normalised vectors, sums in a dtype, weighted draws."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import random
from ..core.tensor import Tensor, wrap
from ..dtypes import as_dtype
from ..errors import checked, refusal
from .axes import axes
from .compare import cast
from .contracts import fits
from .elementwise import maximum, neg
from .normalization import scaled, standardize
from .norms import vector_norm
from .reduce import mean, std, var
from .shape import reshape
from .softmax import softmax


def in_dtype(op, x, dtype, **options):
    """op of x cast to dtype, as that dtype; None leaves x as it is."""
    if dtype is None:
        return op(x, **options)
    dtype = as_dtype(dtype, op.__name__)
    return cast(op(cast(x, dtype=dtype), **options), dtype=dtype)


def placed(who, place, axis, keepdim, correction):
    """(axis, keepdim, correction) from positional arguments: PyTorch's (axis), (unbiased), (axis, unbiased), (axis,
    unbiased, keepdim), where unbiased is a bool; or tinygrad's (axis, keepdim, correction), which ends in a number."""
    if axis is not None or len(place) > 3:
        raise TypeError(f"{who}: too many arguments, or axis given twice; it takes (axis, unbiased, keepdim)")
    if type(place[0]) is bool and len(place) < 3:
        place = (None, *place)
    axis, *rest = place
    if not rest:
        return axis, keepdim, correction
    if len(rest) == 2 and type(rest[1]) is not bool:
        return axis, *rest
    if type(rest[0]) is not bool:
        raise TypeError(f"{who}: takes (axis, unbiased, keepdim) or (axis, keepdim, correction) by position, got "
                        f"{rest[0]!r} after the axis; write correction={rest[0]!r}")
    return axis, rest[1] if len(rest) == 2 else keepdim, int(rest[0])


def _and_mean(op, what) -> Callable[..., tuple[Tensor, ...]]:
    def both(x, *place, axis=None, keepdim=False, correction=1) -> tuple[Tensor, ...]:
        if place:
            axis, keepdim, correction = placed(both.__name__, place, axis, keepdim, correction)
        return op(x, axis=axis, keepdim=keepdim, correction=correction), mean(x, axis=axis, keepdim=keepdim)

    both.__name__ = both.__qualname__ = f"{op.__name__}_mean"
    both.__doc__ = f"The {what} and the mean over `axis`."
    return both


var_mean, std_mean = _and_mean(var, "variance"), _and_mean(std, "standard deviation")


def normalize(x, p=2.0, axis=1, eps=1e-12) -> Tensor:
    """x / max(||x||_p, eps) along `axis`."""
    return x / maximum(vector_norm(x, p, axis=axis, keepdim=True), eps)


def layernorm(x, axis=-1, eps=1e-5) -> Tensor:
    """(x - mean) / sqrt(variance + eps) over any `axis`: layer_norm without weights."""
    return standardize(x, axis, eps)


def batchnorm(x, weight, bias, mean, invstd, axis=1) -> Tensor:
    """(x - mean) invstd weight + bias, for known statistics, each a vector along `axis`."""
    shape = tuple(n if a in axes("batchnorm", axis, x.ndim) else 1 for a, n in enumerate(x.shape))
    mean, invstd, weight, bias = (p if p is None else reshape(p, shape=shape) for p in (mean, invstd, weight, bias))
    return scaled((x - mean) * invstd, weight, bias)


def softmin(x, axis=-1) -> Tensor:
    """softmax(-x)."""
    return softmax(neg(x), axis=axis)


@checked
def multinomial(weights, num_samples=1, replacement=False, generator=None) -> Tensor:
    """Indices drawn with probabilities proportional to weights (n) or (rows, n) -> (num_samples) or (rows, ...).

    generator: the source of random numbers, by default the package's. Raises ValueError for weights that are negative,
    infinite or sum to 0, and without replacement, for more samples than positive weights.
    """
    drawn = random.sampled("multinomial", _drawn_rows, weights, num_samples, replacement, generator=generator)
    return wrap(drawn) if hasattr(weights, "_data") else drawn  # type: ignore[return-value]


def _drawn_rows(numbers, weights, num_samples, replacement):
    rows = np.atleast_2d(weights).astype(np.float64)
    if (why := _impossible(rows, num_samples, replacement)) is not None:
        raise refusal("multinomial", why)
    if replacement:
        ends = np.cumsum(rows / rows.max(1, keepdims=True), axis=1)  # the sum itself may overflow
        drawn = numbers.random((len(rows), num_samples)) * ends[:, -1:]
        out = np.stack([np.searchsorted(e, u, side="right") for e, u in zip(ends, drawn, strict=True)])
    else:  # the first to ring of exponential clocks with these rates (Efraimidis, Spirakis 2006)
        with np.errstate(divide="ignore"):
            clocks = numbers.exponential(size=rows.shape) / rows
        out = np.argsort(clocks, axis=1)[:, :num_samples]
    return out.reshape(*weights.shape[:-1], num_samples)


multinomial.requires(fits("any weights (n) or (rows, n)"))


def _impossible(rows, num_samples, replacement) -> str | None:
    if not ((rows >= 0) & (rows < np.inf)).all() or not rows.any(1).all():
        return f"takes weights (n) or (rows, n), none negative or infinite and not all 0, got shape {rows.shape}"
    if not replacement and num_samples > (rows > 0).sum(1).min(initial=num_samples):
        return f"{num_samples} samples without replacement need as many positive weights"
    return None
