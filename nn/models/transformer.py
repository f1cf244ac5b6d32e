"""The Transformer: an encoder that reads one sequence, and a decoder that writes another (004; Vaswani et al. 2017)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.dtypes import get_default_dtype
from tinygrad_like.transforms.switches import no_grad

from .. import init
from ..dropout import Dropout
from ..embedding import Embedding
from ..module import Module, modes_restored
from ..norm import LayerNorm
from ..position import SinusoidalEncoding
from ..transformer import (
    Activation,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)


class Transformer(Module):
    """Encoder and decoder over vectors, as PyTorch's class of this name: embeddings and output layer come on top.

    src (source length, batch, d_model), tgt (length, batch, d_model) -> (length, batch, d_model); with batch_first=True
    the batch is the first axis. Weight matrices start Xavier-uniform.
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int | None = 2048, dropout: float = 0.1, activation: Activation = "relu",
                 layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, bias: bool = True):
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        self.encoder = TransformerEncoder(TransformerEncoderLayer(*options), num_encoder_layers,
                                          LayerNorm(d_model, layer_norm_eps, bias=bias))
        self.decoder = TransformerDecoder(TransformerDecoderLayer(*options), num_decoder_layers,
                                          LayerNorm(d_model, layer_norm_eps, bias=bias))
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
                memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                src_is_causal: bool = False, tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:
        """The masks are those of MultiheadAttention: True means hidden. To generate, use tgt_is_causal=True."""
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                            tgt_is_causal, memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """(sz, sz): minus infinity where a key comes after its query, else 0; to be added to scores."""
        return Tensor(np.triu(np.full((sz, sz), -np.inf), 1), dtype=dtype or get_default_dtype())


class Seq2Seq(Module):
    """From a sequence of tokens to another: embeddings, sin/cos positions, a Transformer, and logits (004).

    source (batch, S), target (batch, T), of token ids -> logits (batch, T, target_vocabulary): those at position t
    predict target[:, t + 1] from target[:, : t + 1] and all of the source except its padding.

    The output layer is the transposed table of target embeddings (tied), which the input scales by sqrt(dim). options
    are those of Transformer.
    """

    def __init__(self, source_vocabulary: int, target_vocabulary: int, dim: int = 512, num_heads: int = 8,
                 num_layers: int = 6, hidden: int | None = 2048, dropout: float = 0.1, padding_idx: int | None = None,
                 norm_first: bool = True):
        self.source = Embedding(source_vocabulary, dim, padding_idx)
        self.target = Embedding(target_vocabulary, dim, padding_idx)
        for embedding in (self.source, self.target):
            init.normal_(embedding.weight, std=dim**-0.5)
        self.positions, self.dropout, self.padding_idx = SinusoidalEncoding(dim), Dropout(dropout), padding_idx
        self.transformer = Transformer(dim, num_heads, num_layers, num_layers, hidden, dropout, batch_first=True,
                                       norm_first=norm_first)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory, hidden = self.encode(source)
        return self._decode(target, memory, hidden)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor | None]:
        """The encoder's output (batch, S, dim), and where the source is padding."""
        hidden = None if self.padding_idx is None else source == self.padding_idx
        return self.transformer.encoder(self._embed(self.source, source), src_key_padding_mask=hidden), hidden

    def _embed(self, embedding: Embedding, tokens: Tensor) -> Tensor:
        return self.dropout(self.positions(embedding(tokens) * math.sqrt(embedding.embedding_dim)))

    def _decode(self, target: Tensor, memory: Tensor, hidden: Tensor | None) -> Tensor:
        y = self.transformer.decoder(self._embed(self.target, target), memory, memory_key_padding_mask=hidden,
                                     tgt_is_causal=True)
        return ops.linear(y, self.target.weight)

    @no_grad()
    def generate(self, source: Tensor, start: int, end: int | None = None, max_new_tokens: int = 64) -> Tensor:
        """Repeatedly the most likely next token: (batch, at most 1 + max_new_tokens), beginning with `start`.

        Stops when every sequence contains `end`, which pads sequences that end before the others.
        """
        tokens = np.full((len(source), 1), start)
        with modes_restored(self):
            self.eval()
            memory, hidden = self.encode(source)
            for _ in range(max_new_tokens):
                best = self._decode(Tensor(tokens), memory, hidden).numpy()[:, -1].argmax(-1)
                if end is not None:
                    best = np.where((tokens == end).any(1), end, best)
                tokens = np.concatenate([tokens, best[:, None]], 1)
                if end is not None and (tokens == end).any(1).all():
                    break
        return Tensor(tokens)
