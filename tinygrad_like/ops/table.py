"""Embedding, its adjoint, and one-hot rows."""

from __future__ import annotations

import numpy as np

from ..core.primitive import fresh, primitive
from ..dtypes import FLOAT32, FLOAT64
from ..errors import refusal
from ..rings import replaceable
from .along import out_of_range
from .contracts import fits
from .elementwise import where


@primitive
def embedding(index, weight, *, padding_idx=None):
    """Rows of a table looked up by index: integers index (...), weight (rows, size) -> (..., size).

    padding_idx: the row that gets no gradient, counted from the end if negative. The lookup treats it like any other.

    Raises IndexError for an index below 0 or past the last row, ValueError for a padding_idx that is not a row.
    """
    return _there(take_rows(weight, index), index, weight.shape)


embedding.requires(fits("int index (...), any weight (rows, size)"))


@embedding.requires
def _(weight, padding_idx):
    rows = len(weight)
    if padding_idx is not None and not (isinstance(padding_idx, int | np.integer) and -rows <= padding_idx < rows):
        return f"padding_idx={padding_idx!r} is out of range for a table of {rows} rows"


@replaceable
def take_rows(table, index):
    """The rows at an index; None if it is out of range."""
    return None if _wrong(index, len(table)).any() else table.take(index, axis=0)


def _wrong(index, rows):
    return (index < 0) | (index >= rows)


def _there(y, index, shape):
    """y; raises if it is None, since the index is then out of range for a table of this shape."""
    if y is None:
        raise refusal("embedding", out_of_range(shape, index, 0) or IndexError("the index changed while it was used"))
    return y


@primitive
def add_rows(x, index, *, rows, padding_idx=None):
    """Zeros (rows, size) with the rows of x (..., size) added at the index. The adjoint of `embedding`."""
    skipped = -1 if padding_idx is None else padding_idx % rows
    return _there(sum_rows_by(x, index, rows, skipped), index, (rows, x.shape[-1]))


@replaceable
def sum_rows_by(x, index, rows, skipped):
    """Zeros (rows, size) with the rows of x added, except where the index is `skipped`; None if it is out of range."""
    index = np.array(index)  # a copy: another thread may be changing it
    if _wrong(index, rows).any():
        return None
    exact = FLOAT64 if index.size > 255 and x.dtype is FLOAT32 else x.dtype  # rounding errors add up
    out, kept = np.zeros((rows, x.shape[-1]), exact), index != skipped
    np.add.at(out, index[kept], x[kept])
    return out.astype(x.dtype, copy=False)


embedding.vjp(weight=fresh(lambda g, index, weight_shape, padding_idx: add_rows(
    g, index, rows=weight_shape[0], padding_idx=padding_idx)))
add_rows.vjp(x=lambda g, index, rows, padding_idx: where(
    (index != (-1 if padding_idx is None else padding_idx % rows))[..., None], embedding(index, g), 0.0))


@primitive
def one_hot(index, *, num_classes=-1):
    """A new last axis of size num_classes, 1 at the index and 0 elsewhere (int64); -1 takes the largest index + 1."""
    low, high = (int(index.min()), int(index.max())) if index.size else (0, -1)
    n = high + 1 if num_classes == -1 else num_classes
    if low < 0 or high >= n:
        raise refusal("one_hot", IndexError(f"index {low if low < 0 else high} is out of range for {n} classes"))
    out = np.zeros((index.size, n), np.int64)
    out[np.arange(index.size), index.reshape(-1)] = 1
    return out.reshape(*index.shape, n)


one_hot.requires(fits("int index (...)"))


@one_hot.requires
def _(num_classes):
    if not isinstance(num_classes, int | np.integer) or num_classes < -1:
        return f"num_classes must be a non-negative integer, or -1 to infer it, got {num_classes!r}"
