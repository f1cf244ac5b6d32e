"""Sums, means or maxima of rows of a table: a text as the bag of its words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import named

from . import init
from .embedding import embedding, limit_rows, limits_of
from .module import Module, Parameter, check_positive

_MODES = ("sum", "mean", "max")


@named
def embedding_bag(input: Any, weight: Tensor, offsets: Any = None, max_norm: float | None = None,
                  norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:
    """The sum, mean or maximum of the rows of weight (rows, size) that each bag of indices names -> (bags, size).

    input: (bags, length), or all indices one after the other, with the place in it where each bag begins as offsets;
    with include_last_offset, their last is the end. per_sample_weights: a factor for each index, of a sum.
    padding_idx: an index that does not count. An empty bag gives 0.
    max_norm, norm_type, scale_grad_by_freq: as of `embedding`, the last not with mode="max". PyTorch's own
    bags divide by the count of another row where one before it is named more than once.

    Raises ValueError for offsets that do not begin with 0, fall or go too far, and for weights of another shape.
    """
    who = "embedding_bag"
    index = input if isinstance(input, Tensor) else Tensor(input)
    if mode not in _MODES:
        raise ValueError(f"{who}: mode={mode!r} must be one of {', '.join(_MODES)}")
    if scale_grad_by_freq and mode == "max":
        raise ValueError(f"{who}: scale_grad_by_freq is for mode='sum' and 'mean'; leave it out")
    if per_sample_weights is not None and (mode != "sum" or per_sample_weights.shape != index.shape):
        raise ValueError(f"{who}: per_sample_weights are for mode='sum', with the shape of the input, {index.shape}")
    if max_norm is not None:
        limit_rows(index, weight, max_norm, norm_type)
    if index.ndim == 2 and offsets is None and padding_idx is None and mode != "max" and index.shape[1]:
        # Whatever the indices are, so this can be captured.
        taken = embedding(index, weight, scale_grad_by_freq=scale_grad_by_freq)
        if per_sample_weights is not None:
            taken = taken * per_sample_weights.unsqueeze(2)
        return taken.sum(axis=1) if mode == "sum" else taken.mean(axis=1)
    starts, n = _starts(who, index, offsets, include_last_offset)
    flat = _read(index).reshape(-1)
    bag = np.searchsorted(starts, np.arange(flat.size), side="right") - 1
    rows = weight.shape[0] if weight.ndim else 0
    counted = np.ones(flat.size, bool) if padding_idx is None else flat != padding_idx % max(rows, 1)
    factors = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    if not counted.all():
        flat, bag = flat[counted], bag[counted]
        factors = None if factors is None else factors[np.flatnonzero(counted)]
    taken = embedding(Tensor(flat), weight, scale_grad_by_freq=scale_grad_by_freq)
    if mode == "max":
        return _largest(taken, bag, n)
    if factors is not None:
        taken = taken * factors.unsqueeze(1)
    sums = ops.parts.put_onto(Tensor.zeros(n, weight.shape[1], dtype=taken.dtype), taken, index=(bag,))
    if mode == "sum":
        return sums
    return sums / np.maximum(np.bincount(bag, minlength=n), 1).astype(taken.dtype)[:, None]


def _read(x: Any) -> np.ndarray:
    return ops.values.values_of("embedding_bag", x, "reads indices and offsets in NumPy")


def _starts(who: str, index: Tensor, offsets: Any, include_last_offset: bool) -> tuple[np.ndarray, int]:
    """Where each bag begins in the indices one after the other, and how many bags there are."""
    if index.ndim == 2:
        if offsets is not None:
            raise ValueError(f"{who}: offsets are for an input of one axis; this has shape {index.shape}")
        bags, length = index.shape
        return np.arange(bags) * length, bags
    if index.ndim != 1 or offsets is None:
        raise ValueError(f"{who}: takes an input (bags, length), or of one axis with offsets; got shape {index.shape}")
    starts = _read(offsets)
    n = len(starts) - include_last_offset
    if starts.ndim != 1 or starts.dtype.kind not in "iu" or n < 0 or len(starts) and (
            starts[0] != 0 or starts[-1] > index.size or np.any(np.diff(starts) < 0)):
        raise ValueError(f"{who}: offsets must be integers that begin with 0 and rise up to the {index.size} indices, "
                         f"got {starts.tolist()[:8]}")
    return starts[:n], n


def _largest(taken: Tensor, bag: np.ndarray, n: int) -> Tensor:
    """The maximum of the rows of each bag, laid out side by side; -inf fills the shorter bags, 0 the empty ones."""
    counts = np.bincount(bag, minlength=n)
    longest, size = max(int(counts.max(initial=0)), 1), taken.shape[1]
    places = bag * longest + np.arange(len(bag)) - np.concatenate([[0], np.cumsum(counts)])[bag]
    laid = ops.parts.surround(taken, shape=(n * longest, size), index=(places,), value=float("-inf"))
    first = laid.reshape(n, longest, size)
    found = first.detach().argmax(axis=1, keepdim=True)  # the first of equals gets the whole cotangent, as in PyTorch
    return ops.where((counts > 0)[:, None], first.gather(1, found).squeeze(1), 0.0)


class EmbeddingBag(Module):
    """The sum, mean or maximum of the rows of a table for each bag of indices, see `nn.functional.embedding_bag`.

    weight: (num_embeddings, embedding_dim), standard normal at first; a row padding_idx is 0 and does not count.
    input: (bags, length), or of one axis with offsets -> (bags, embedding_dim)
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Any = None,
                 include_last_offset: bool = False, padding_idx: int | None = None):
        check_positive(self, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if mode not in _MODES:
            raise ValueError(f"EmbeddingBag: mode={mode!r} must be one of {', '.join(_MODES)}")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(f"EmbeddingBag: padding_idx={padding_idx} is out of range for {num_embeddings} rows")
        self.num_embeddings, self.embedding_dim, self.mode = num_embeddings, embedding_dim, mode
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.include_last_offset = include_last_offset
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = Parameter(Tensor.empty(num_embeddings, embedding_dim) if _weight is None else _weight)
        if _weight is None:
            self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, **options: Any) -> EmbeddingBag:
        """With the rows of a matrix, which are trained only with freeze=False."""
        rows, size = np.shape(embeddings)
        bag = cls(rows, size, _weight=embeddings, **options)
        bag.weight.requires_grad_(not freeze)
        return bag

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx] = 0

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                             self.mode, per_sample_weights=per_sample_weights,
                             include_last_offset=self.include_last_offset, padding_idx=self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{limits_of(self)}, mode={self.mode!r}{padding}"
