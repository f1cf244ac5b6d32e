"""Padding: adding or removing elements around an array."""

from __future__ import annotations

import math
import operator
from functools import lru_cache

import numpy as np

from ..core.tensor import Tensor
from ..errors import refusal
from .parts import surround, take

_INDEX_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(x, *, padding, mode="constant", value=0.0) -> Tensor:
    """Add elements around x.

    padding: a (before, after) pair for each axis, or PyTorch's flat tuple, which starts at the last axis: (left, right,
    top, bottom, ...). A negative number removes elements, after padding, but before it in circular mode. mode: constant
    (`value`), reflect (without the edge), replicate, circular.
    """
    pairs = _pairs(padding, x.ndim)
    if any([before < 0 or after < 0 for before, after in pairs]):
        added, gone = (tuple([tuple([max(sign * n, 0) for n in pair]) for pair in pairs]) for sign in (1, -1))
        if mode == "circular":
            return pad(_cut(x, gone), padding=added, mode=mode)
        return _cut(pad(x, padding=added, mode=mode, value=value), gone)
    if mode == "constant":
        inner = tuple([slice(before, before + n) for (before, _), n in zip(pairs, x.shape, strict=True)])
        shape = tuple([before + n + after for (before, after), n in zip(pairs, x.shape, strict=True)])
        return surround(x, shape=shape, index=inner, value=value)
    if (why := _too_far(x.shape, pairs, mode)) is not None:
        raise refusal("pad", why)
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            x = take(x, index=(*(slice(None),) * axis, _places(x.shape[axis], before, after, mode)))
    return x


def _too_far(shape, pairs, mode) -> str | None:
    """The error if an axis is too short for its padding."""
    if mode not in _INDEX_MODES:
        return f"mode must be one of constant, {', '.join(_INDEX_MODES)}"
    for axis, (n, (before, after)) in enumerate(zip(shape, pairs, strict=True)):
        limit = {"reflect": n - 1, "circular": n, "replicate": math.inf if n else 0}[mode]
        if 0 < max(before, after) > limit:
            return f"{mode} padding {before, after} of axis {axis} exceeds {limit}, the limit for size {n}"
    return None


@lru_cache(64)
def _places(n: int, before: int, after: int, mode: str) -> np.ndarray:
    """The source index of each element of a padded axis. Cached, so never written to."""
    return np.pad(np.arange(n), (before, after), mode=_INDEX_MODES[mode])  # type: ignore[call-overload]


def _cut(x, pairs):
    if any([before + after > n for (before, after), n in zip(pairs, x.shape, strict=True)]):
        raise refusal("pad", f"negative padding {pairs} removes more than shape {x.shape} has")
    return take(x, index=tuple([slice(before, n - after) for (before, after), n in zip(pairs, x.shape, strict=True)]))


def _pairs(padding, ndim) -> tuple[tuple[int, int], ...]:
    """A pair (before, after) for each axis. Raises ValueError if `padding` has another form."""
    padding = tuple(padding)
    if (why := _no_pairs(padding, ndim)) is not None:
        raise refusal("pad", why)
    if padding and isinstance(padding[0], int | np.integer):
        padding = tuple(zip(padding[0::2], padding[1::2], strict=True))[::-1]
        padding = ((0, 0),) * (ndim - len(padding)) + padding
    return tuple([(0, 0) if p is None else (operator.index(p[0]), operator.index(p[1])) for p in padding])


def _no_pairs(padding: tuple, ndim: int) -> str | None:
    """The error for a `padding` that is not a pair for each axis."""
    if padding and isinstance(padding[0], int | np.integer):
        return f"flat padding {padding} must hold a (before, after) pair for at most {ndim} axes, last axis first" if (
            len(padding) % 2 or len(padding) > 2 * ndim) else None
    if len(padding) != ndim:
        return f"{len(padding)} (before, after) pairs for a Tensor of {ndim} axes"
    pairs = tuple([(0, 0) if p is None else tuple(p) for p in padding])
    bad = any([len(p) != 2 for p in pairs])
    return f"padding must be (before, after) pairs of numbers, got {pairs}" if bad else None
