"""A language model that reads with a recurrent network."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinygrad_like.core.tensor import Tensor
from tinygrad_like.transforms.switches import no_grad

from ..dropout import Dropout
from ..embedding import Embedding
from ..linear import Linear
from ..module import Module, modes_restored
from ..recurrent import GRU, LSTM, RNN
from .language_model import sample

_KINDS = {"rnn": RNN, "lstm": LSTM, "gru": GRU}


class RecurrentLanguageModel(Module):
    """Embeddings, an RNN, LSTM or GRU, and logits of the next token: what GPTs replaced (Mikolov et al. 2010).

    tokens (batch, T), of ids -> logits (batch, T, vocabulary): those at position t have seen tokens[:, : t + 1], all of
    which the state has to hold; so a next token costs the same after any number of others.

    kind: "rnn", "lstm" or "gru". dim: of embeddings and of the state. dropout: before, between and after the layers.
    Raises ValueError for another kind, or sizes that are not positive.
    """

    def __init__(self, vocabulary: int, dim: int, num_layers: int = 2, kind: str = "lstm", dropout: float = 0.0):
        if kind not in _KINDS:
            raise ValueError(f"RecurrentLanguageModel: kind must be one of {', '.join(_KINDS)}, got {kind!r}")
        self.vocabulary, self.kind = vocabulary, kind
        self.embedding = Embedding(vocabulary, dim)
        self.dropout = Dropout(dropout)
        self.layers = _KINDS[kind](dim, dim, num_layers, batch_first=True, dropout=dropout)
        self.head = Linear(dim, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.read(tokens)[0]

    def read(self, tokens: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """The logits, and the state after the tokens, from which to go on; `state` is that before them."""
        y, state = self.layers(self.dropout(self.embedding(tokens)), state)
        return self.head(self.dropout(y)), state

    @no_grad()
    def generate(self, prompt: Tensor, max_new_tokens: int, temperature: float = 1.0, top_k: int | None = None,
                 top_p: float | None = None) -> Tensor:
        """The prompt (batch, T) or (T,), T > 0, with max_new_tokens more, as `LanguageModel.generate` draws them."""
        if prompt.ndim not in (1, 2) or prompt.shape[-1] == 0:
            raise ValueError(f"generate: the prompt must be (batch, T) or (T,) with T > 0, got shape {prompt.shape}")
        tokens = [np.atleast_2d(prompt.numpy())]
        state = None
        with modes_restored(self):
            self.eval()
            for _ in range(max_new_tokens):
                logits, state = self.read(Tensor(tokens[-1]), state)
                tokens.append(sample(logits.numpy()[:, -1], temperature, top_k, top_p)[:, None])
        joined = np.concatenate(tokens, 1)
        return Tensor(joined if prompt.ndim == 2 else joined[0])

    def extra_repr(self) -> str:
        return f"kind={self.kind!r}"
