"""A learned vector for each token of a vocabulary, or for any other item."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.errors import named

from . import init
from .module import Module, Parameter, check_positive


@named
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, *, sparse: bool = False) -> Tensor:
    """Rows of a table looked up by index, see `ops.embedding`; sparse has no effect."""
    return ops.embedding(input, weight, padding_idx=padding_idx)


class Embedding(Module):
    """Rows of a table looked up by index: integers (...) -> (..., embedding_dim).

    weight: (num_embeddings, embedding_dim), initially standard normal, as in PyTorch
    padding_idx: a row, counted from the end if negative, that starts at 0 and gets no gradient
    sparse: accepted without effect: gradients are dense

    Raises ValueError for sizes that are not positive integers and a padding_idx out of range; when called, IndexError
    for an index out of range.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, *,
                 sparse: bool = False, _weight: Any = None, _freeze: bool = False):
        check_positive(self, num_embeddings=num_embeddings, embedding_dim=embedding_dim)
        if padding_idx is not None and not (isinstance(padding_idx, int | np.integer)
                                            and -num_embeddings <= padding_idx < num_embeddings):
            raise ValueError(f"Embedding: padding_idx={padding_idx!r} is out of range for {num_embeddings} rows")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
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
        """An Embedding with the rows of a matrix (num_embeddings, embedding_dim), trained only with freeze=False."""
        if np.ndim(embeddings) != 2:
            raise ValueError(f"Embedding.from_pretrained: takes a matrix, got shape {np.shape(embeddings)}")
        rows, size = np.shape(embeddings)
        return cls(rows, size, padding_idx, _weight=embeddings, _freeze=freeze, **options)

    def reset_parameters(self) -> None:
        """Initialise the table again."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            self.weight.detach()[self.padding_idx] = 0

    def forward(self, index: Tensor) -> Tensor:
        return ops.embedding(index, self.weight, padding_idx=self.padding_idx)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"
