"""The Transformer: an encoder that reads one sequence, and a decoder that writes another (004; Vaswani et al. 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinygrad_like.core.tensor import Tensor
from tinygrad_like.dtypes import get_default_dtype

from .. import init
from ..module import Module
from ..norm import LayerNorm
from ..transformer import (
    Activation,
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)


class Transformer(Module):
    """Encoder and decoder over vectors, like PyTorch's Transformer: you add the embeddings and the output layer.

    src (source length, batch, d_model), tgt (length, batch, d_model) -> (length, batch, d_model); with batch_first=True
    the batch is the first axis. Weight matrices are initialised Xavier-uniform.
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
        """(sz, sz): -inf where a key comes after its query, else 0, to add to the scores."""
        return Tensor(np.triu(np.full((sz, sz), -np.inf), 1), dtype=dtype or get_default_dtype())
