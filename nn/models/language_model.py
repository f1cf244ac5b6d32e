"""A language model with attention, and text generation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tinygrad_like import ops, random
from tinygrad_like.core.tensor import Tensor
from tinygrad_like.transforms.switches import no_grad

from .. import init
from ..attention import KeyValueCache
from ..containers import ModuleList
from ..dropout import Dropout
from ..embedding import Embedding
from ..linear import Linear
from ..module import Module, modes_restored
from ..norm import LayerNorm
from ..position import LearnedEncoding, RotaryEncoding, SinusoidalEncoding
from ..transformer import Activation, TransformerEncoderLayer


class LanguageModel(Module):
    """A GPT: embeddings, positions, causal pre-norm Transformer blocks, and a layer for the logits of the next token.

    tokens (batch, T), integers -> logits (batch, T, vocabulary), which at position t depend on tokens[:, : t + 1].

    max_length: the longest sequence for learned positions; other positions have no limit and ignore it.
    positions: "learned", "sinusoidal", "rotary", or None.
    tied: whether the output layer is the transposed embedding table; else it is a Linear of its own.
    The blocks' options are those of TransformerEncoderLayer. Weights start as in GPT-2: normal with standard deviation
    0.02, and for the last projection of every residual block 0.02 / sqrt(2 num_layers).

    Raises ValueError for sizes that do not fit. A call raises ValueError for a sequence longer than max_length, and
    IndexError for a token outside the vocabulary.
    """

    def __init__(self, vocabulary: int, dim: int, num_layers: int, num_heads: int, max_length: int = 1024,
                 hidden: int | None = None, activation: Activation = "gelu", dropout: float = 0.0,
                 positions: str | None = "learned", tied: bool = True, bias: bool = True, norm: Callable = LayerNorm):
        makers = {"learned": lambda: LearnedEncoding(max_length, dim), "sinusoidal": lambda: SinusoidalEncoding(dim),
                  "rotary": lambda: None, None: lambda: None}
        if positions not in makers:
            raise ValueError(f"LanguageModel: positions must be learned, sinusoidal, rotary or None, got {positions!r}")
        self.vocabulary = vocabulary
        self.embedding = Embedding(vocabulary, dim)
        self.positions = makers[positions]()
        self.dropout = Dropout(dropout)
        self.layers = ModuleList([
            TransformerEncoderLayer(
                dim, num_heads, hidden, dropout, activation, batch_first=True, norm_first=True, bias=bias, norm=norm,
                rotary=RotaryEncoding(dim // num_heads) if positions == "rotary" else None)
            for _ in range(num_layers)])
        self.norm = norm(dim)
        self.head = None if tied else Linear(dim, vocabulary, bias=False)
        for name, parameter in self.named_parameters():
            if parameter.ndim > 1:
                last = name.endswith(("out_proj.weight", "linear2.weight"))
                init.normal_(parameter, std=0.02 / (2 * num_layers) ** 0.5 if last else 0.02)

    def forward(self, tokens: Tensor, caches: list[KeyValueCache] | None = None) -> Tensor:
        """caches: one per layer, with the positions before these tokens, which are appended. See `generate`."""
        x = self.embedding(tokens)
        if self.positions is not None:
            x = self.positions(x, caches[0].length if caches else 0)
        x = self.dropout(x)
        for i, layer in enumerate(self.layers):
            x = layer(x, is_causal=True, cache=caches[i] if caches else None)
        x = self.norm(x)
        return ops.linear(x, self.embedding.weight) if self.head is None else self.head(x)

    @no_grad()
    def generate(self, prompt: Tensor, max_new_tokens: int, temperature: float = 1.0, top_k: int | None = None,
                 top_p: float | None = None, use_cache: bool = True) -> Tensor:
        """The prompt (batch, T) or (T,), T > 0, continued by max_new_tokens tokens, each sampled given all before it.

        temperature: divides the logits; 0 takes the most likely token. top_k: sample only from the k most likely.
        top_p: sample from the smallest set of most likely tokens whose total probability is at least top_p.
        use_cache: cache keys and values of earlier positions: O(T) per token, instead of a pass over all T.
        """
        caches = [KeyValueCache() for _ in self.layers] if use_cache else None
        return continued(self, prompt, max_new_tokens, lambda tokens: self(
            Tensor(tokens[:, caches[0].length if caches else 0:]), caches), temperature, top_k, top_p)


def continued(model: Module, prompt: Tensor, count: int, logits: Callable[[np.ndarray], Tensor], *how: Any) -> Tensor:
    """The prompt with `count` more tokens; logits(tokens)[..., -1, :] are the next token's. how: options of
    `sample`."""
    if prompt.ndim not in (1, 2) or prompt.shape[-1] == 0:
        raise ValueError(f"generate: the prompt must be (batch, T) or (T,) with T > 0, got shape {prompt.shape}")
    tokens = np.atleast_2d(prompt.numpy())
    with modes_restored(model):
        model.eval()
        for _ in range(count):
            tokens = np.concatenate([tokens, sample(logits(tokens).numpy()[:, -1], *how)[:, None]], 1)
    return Tensor(tokens if prompt.ndim == 2 else tokens[0])


def sample(logits: np.ndarray, temperature: float = 1.0, top_k: int | None = None,
           top_p: float | None = None) -> np.ndarray:
    """A class per row of logits (batch, classes), sampled as `LanguageModel.generate` describes.

    Raises ValueError for a negative temperature, top_k < 1, or top_p outside (0, 1].
    """
    if temperature < 0 or top_k is not None and top_k < 1 or top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"sample: temperature must be at least 0, top_k at least 1 and top_p in (0, 1]; got "
                         f"{temperature}, {top_k}, {top_p}")
    if temperature == 0:
        return logits.argmax(-1)
    order = np.argsort(-logits, axis=-1, kind="stable")
    p = ops.softmax(np.take_along_axis(logits, order, -1).astype(np.float64) / temperature)
    if top_k is not None:
        p[:, top_k:] = 0
    if top_p is not None:
        p[np.cumsum(p, -1) - p >= top_p * p.sum(-1, keepdims=True)] = 0  # the tokens before it have top_p already
    total = np.cumsum(p, -1)
    drawn = random.numbers().random((len(p), 1)) * total[:, -1:]
    return np.take_along_axis(order, (total <= drawn).sum(-1, keepdims=True), -1)[:, 0]
