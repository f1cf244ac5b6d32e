"""A learned vector for each token of a vocabulary, or for any other item."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import named
from tinygrad_like.transforms.switches import no_grad

from . import init
from .module import Module, Parameter, check_positive


@named
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """The rows of a table at an index, see `ops.embedding`.

    max_norm: longer rows in the index, by their norm_type-norm, are first scaled to that length, in place.
    scale_grad_by_freq: the gradient of a row is divided by its number of occurrences in the index.
    sparse: without effect here.

    Raises RuntimeError if max_norm would change a table that was computed.
    """
    if max_norm is not None:
        limit_rows(input, weight, max_norm, norm_type)
    y = ops.embedding(input, weight, padding_idx=padding_idx)
    return y if not scale_grad_by_freq else by_frequency(y, input, weight)


def limit_rows(index: Tensor, weight: Tensor, max_norm: float, norm_type: float) -> None:
    """Scale the rows of the table that the index names, and that are longer than max_norm, to this length, in place."""
    with no_grad():
        index = index.reshape(-1)
        rows = ops.embedding(index, weight.detach())
        length = ops.linalg.vector_norm(rows, norm_type, 1, True)
        weight[index] = ops.where(length > max_norm, rows * (max_norm / (length + 1e-7)), rows)


def by_frequency(taken: Tensor, index: Tensor, weight: Tensor) -> Tensor:
    """Rows that were taken, whose gradient is divided by how often the index names each."""
    count = ops.table.add_rows(Tensor.ones(*index.shape, 1, dtype=weight.dtype), index, rows=weight.shape[0])
    return taken.detach() + (taken - taken.detach()) / ops.embedding(index, count)


def limits_of(layer: Any) -> str:
    """How max_norm, norm_type and scale_grad_by_freq of a layer are shown."""
    parts = [] if layer.max_norm is None else [f"max_norm={layer.max_norm}"]
    parts += [f"norm_type={layer.norm_type}"] if layer.norm_type != 2 else []
    parts += ["scale_grad_by_freq=True"] if layer.scale_grad_by_freq else []
    return "".join(f", {part}" for part in parts)


class Embedding(Module):
    """Rows of a table: index (...), of integers -> (..., embedding_dim).

    weight: (num_embeddings, embedding_dim), standard normal at first, as in PyTorch
    padding_idx: a row, counted from the end if negative, that starts at 0 and gets no gradient
    max_norm, norm_type: rows that are named and longer are first scaled to this length, by this norm, in place
    scale_grad_by_freq: the gradient of a row is divided by how often the index names it
    sparse: taken, without effect: gradients are dense

    Raises ValueError for sizes that are not positive integers or a padding_idx out of range; when called, IndexError
    for an index out of range.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                 sparse: bool = False, _weight: Any = None, _freeze: bool = False):
        check_positive(self, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if padding_idx is not None and not (isinstance(padding_idx, int | np.integer)
                                            and -num_embeddings <= padding_idx < num_embeddings):
            raise ValueError(f"Embedding: padding_idx={padding_idx!r} is out of range for {num_embeddings} rows")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.sparse = sparse
        if _weight is not None and np.shape(_weight) != (num_embeddings, embedding_dim):
            raise ValueError(f"Embedding: _weight has shape {np.shape(_weight)}, not {(num_embeddings, embedding_dim)}")
        self.weight = Parameter(Tensor.empty(num_embeddings, embedding_dim) if _weight is None else _weight)
        self.weight.requires_grad_(not _freeze)
        if _weight is None:
            self.reset_parameters()

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None,
                        **options: Any) -> Embedding:
        """With the rows of a matrix (num_embeddings, embedding_dim), which are trained only with freeze=False."""
        if np.ndim(embeddings) != 2:
            raise ValueError(f"Embedding.from_pretrained: takes a matrix, got shape {np.shape(embeddings)}")
        rows, size = np.shape(embeddings)
        return cls(rows, size, padding_idx, _weight=embeddings, _freeze=freeze, **options)

    def reset_parameters(self) -> None:
        """Draw the table anew."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.data[self.padding_idx] = 0

    def forward(self, index: Tensor) -> Tensor:
        if self.max_norm is None and not self.scale_grad_by_freq:
            return ops.embedding(index, self.weight, padding_idx=self.padding_idx)
        return embedding(index, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}{limits_of(self)}"
