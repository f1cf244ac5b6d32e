"""Networks of the demos: a CNN without skips, a recurrent language model, and a sequence-to-sequence Transformer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import nn
from nn.activation import make_activation
from nn.blocks import conv3x3
from nn.models.language_model import continued
from nn.module import modes_restored
from nn.norm import Norm, make_norm
from tinygrad_like import Tensor, no_grad, ops


class CNN(nn.Sequential):
    """Stages of 3x3 convolutions, each with its norm and activation; a global average; a linear head (002).

    x: (batch, in_channels, height, width) -> logits (batch, num_classes).

    layers: the number of convolutions in each stage; every stage but the first begins with a stride of 2.
    widths: the channels of each stage.
    norm, activation, dropout: as in `ResNet`; channels are dropped before each convolution but the first.

    It is the plain network with which He et al. (2016) compare residual networks: CNN([6, 6, 6], (16, 32, 64)) has all
    convolutions of a ResNet-20 but the first. Weights are drawn from He et al.'s normal distribution with fan_out.
    Raises ValueError if layers and widths differ in length.
    """

    def __init__(self, layers: Sequence[int], widths: Sequence[int], num_classes: int = 10, in_channels: int = 3,
                 norm: Norm = nn.BatchNorm2d, activation: Callable[[], nn.Module] = nn.ReLU, dropout: float = 0.0):
        if len(layers) != len(widths) or not layers or min(layers) < 1:
            raise ValueError(f"CNN: layers and widths need one positive integer per stage, got "
                             f"layers={list(layers)} and widths={list(widths)}")
        made: list[nn.Module] = []
        channels = in_channels
        for stage, (count, width) in enumerate(zip(layers, widths, strict=True)):
            for i in range(count):
                if made and dropout:
                    made.append(nn.Dropout2d(dropout))
                conv = conv3x3(channels, width, 2 if stage and not i else 1, bias=norm is None)
                nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
                made.append(conv)
                made += [] if norm is None else [make_norm("CNN", norm, width)]
                made.append(make_activation("CNN", activation))
                channels = width
        super().__init__(*made, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, num_classes))


_KINDS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


class RecurrentLanguageModel(nn.Module):
    """Embeddings, an RNN, LSTM or GRU, and logits of the next token: the predecessor of GPTs (Mikolov et al. 2010).

    token ids (batch, T) -> logits (batch, T, vocabulary); the logits at position t depend on tokens[:, : t + 1]. The
    state has to summarize these tokens, so the cost of a next token does not grow with their number.

    kind: "rnn", "lstm" or "gru". dim: size of embeddings and state. dropout: before, between and after the layers.
    Raises ValueError for another kind, or sizes that are not positive.
    """

    def __init__(self, vocabulary: int, dim: int, num_layers: int = 2, kind: str = "lstm", dropout: float = 0.0):
        if kind not in _KINDS:
            raise ValueError(f"RecurrentLanguageModel: kind must be one of {', '.join(_KINDS)}, got {kind!r}")
        self.vocabulary, self.kind = vocabulary, kind
        self.embedding = nn.Embedding(vocabulary, dim)
        self.dropout = nn.Dropout(dropout)
        self.layers = _KINDS[kind](dim, dim, num_layers, batch_first=True, dropout=dropout)
        self.head = nn.Linear(dim, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.read(tokens)[0]

    def read(self, tokens: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """The logits, and the state after the tokens; `state` is the state before them."""
        y, state = self.layers(self.dropout(self.embedding(tokens)), state)
        return self.head(self.dropout(y)), state

    @no_grad()
    def generate(self, prompt: Tensor, max_new_tokens: int, temperature: float = 1.0, top_k: int | None = None,
                 top_p: float | None = None) -> Tensor:
        """The prompt (batch, T) or (T,), T > 0, and max_new_tokens more, drawn as in `LanguageModel.generate`."""
        seen, state = 0, None

        def logits(tokens: np.ndarray) -> Tensor:
            nonlocal seen, state
            y, state = self.read(Tensor(tokens[:, seen:]), state)
            seen = tokens.shape[1]
            return y

        return continued(self, prompt, max_new_tokens, logits, temperature, top_k, top_p)

    def extra_repr(self) -> str:
        return f"kind={self.kind!r}"


class Seq2Seq(nn.Module):
    """Sequence-to-sequence model: embeddings, sin/cos positions, a Transformer, and logits (004).

    token ids source (batch, S), target (batch, T) -> logits (batch, T, target_vocabulary). The logits at position t
    predict target[:, t + 1] from target[:, : t + 1] and all of the source except its padding.

    The output layer shares its weights with the target embeddings (tied); inputs are scaled by sqrt(dim). The other
    arguments are those of Transformer.
    """

    def __init__(self, source_vocabulary: int, target_vocabulary: int, dim: int = 512, num_heads: int = 8,
                 num_layers: int = 6, hidden: int | None = 2048, dropout: float = 0.1, padding_idx: int | None = None,
                 norm_first: bool = True):
        self.source = nn.Embedding(source_vocabulary, dim, padding_idx)
        self.target = nn.Embedding(target_vocabulary, dim, padding_idx)
        for embedding in (self.source, self.target):
            nn.init.normal_(embedding.weight, std=dim**-0.5)
        self.positions, self.dropout, self.padding_idx = nn.SinusoidalEncoding(dim), nn.Dropout(dropout), padding_idx
        self.transformer = nn.Transformer(dim, num_heads, num_layers, num_layers, hidden, dropout, batch_first=True,
                                          norm_first=norm_first)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        memory, hidden = self.encode(source)
        return self._decode(target, memory, hidden)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor | None]:
        """The encoder's output (batch, S, dim), and the mask of the source's padding."""
        hidden = None if self.padding_idx is None else source == self.padding_idx
        return self.transformer.encoder(self._embed(self.source, source), src_key_padding_mask=hidden), hidden

    def _embed(self, embedding: nn.Embedding, tokens: Tensor) -> Tensor:
        return self.dropout(self.positions(embedding(tokens) * math.sqrt(embedding.embedding_dim)))

    def _decode(self, target: Tensor, memory: Tensor, hidden: Tensor | None) -> Tensor:
        y = self.transformer.decoder(self._embed(self.target, target), memory, memory_key_padding_mask=hidden,
                                     tgt_is_causal=True)
        return ops.linear(y, self.target.weight)

    @no_grad()
    def generate(self, source: Tensor, start: int, end: int | None = None, max_new_tokens: int = 64) -> Tensor:
        """Greedy decoding: (batch, at most 1 + max_new_tokens) tokens, beginning with `start`.

        Stops when every sequence contains `end`, which also pads sequences that end early.
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
