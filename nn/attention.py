"""Multi-head attention (004; Vaswani et al. 2017)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor

from . import init
from .linear import Linear
from .module import Module, Parameter
from .position import RotaryEncoding


class KeyValueCache:
    """The keys and values of the positions that a causal model has seen."""

    def __init__(self) -> None:
        self.length = 0
        self._both: np.ndarray | None = None  # (2, ..., heads, capacity, size)

    def extend(self, keys: np.ndarray, values: np.ndarray) -> tuple[Tensor, Tensor]:
        """Append keys and values (..., heads, T, size) of T more positions; return those of all positions."""
        start, self.length = self.length, self.length + keys.shape[-2]
        if self._both is None or self.length > self._both.shape[-2]:  # doubling: O(1) per position on average
            grown = np.empty((2, *keys.shape[:-2], max(64, 2 * self.length), keys.shape[-1]), keys.dtype)
            if self._both is not None:
                grown[..., :start, :] = self._both[..., :start, :]
            self._both = grown
        self._both[0, ..., start : self.length, :] = keys
        self._both[1, ..., start : self.length, :] = values
        keys, values = self._both[..., : self.length, :]
        return Tensor.from_numpy(keys), Tensor.from_numpy(values)


class MultiheadAttention(Module):
    """MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O, head_i = attention(Q W_i^Q, K W_i^K, V W_i^V) (004).

    query (L, batch, embed_dim), key (S, batch, kdim), value (S, batch, vdim) -> output (L, batch, embed_dim), weights
    With batch_first=True the batch is the first axis instead; without a batch, (L, embed_dim) and so on. Called with
    the query alone, or with the same Tensor three times, it is self-attention.

    in_proj_weight: (3 embed_dim, embed_dim), the W^Q, W^K and W^V of all heads stacked, or q_proj_weight,
    k_proj_weight and v_proj_weight if kdim or vdim differ from embed_dim; in_proj_bias: (3 embed_dim,); out_proj: a
    Linear. Names, initial values and arguments are PyTorch's.

    dropout: the probability of dropping an attention weight in training.
    rotary: a RotaryEncoding of size head_dim, which rotates queries and keys (self-attention only).

    Raises ValueError if num_heads does not divide embed_dim, and when called with shapes that do not fit.
    """

    drops = True  # drops attention weights in training

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True, *,
                 kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
                 rotary: RotaryEncoding | None = None):
        if num_heads < 1 or embed_dim < 1 or embed_dim % num_heads:
            raise ValueError(f"MultiheadAttention: num_heads={num_heads} must divide embed_dim={embed_dim}: "
                             "every head has size embed_dim / num_heads")
        if rotary is not None and rotary.dim != embed_dim // num_heads:
            raise ValueError(f"MultiheadAttention: rotary has dim {rotary.dim} but a head has size "
                             f"{embed_dim // num_heads} (embed_dim={embed_dim}, num_heads={num_heads})")
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = embed_dim if kdim is None else kdim, embed_dim if vdim is None else vdim
        together = self.kdim == self.vdim == embed_dim
        self.in_proj_weight = Parameter(Tensor.empty(3 * embed_dim, embed_dim)) if together else None
        self.q_proj_weight = None if together else Parameter(Tensor.empty(embed_dim, embed_dim))
        self.k_proj_weight = None if together else Parameter(Tensor.empty(embed_dim, self.kdim))
        self.v_proj_weight = None if together else Parameter(Tensor.empty(embed_dim, self.vdim))
        self.in_proj_bias = Parameter(Tensor.empty(3 * embed_dim)) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias)
        self.rotary = rotary
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise the parameters again."""
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        self.out_proj.reset_parameters()
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)

    def forward(self, query: Tensor, key: Tensor | None = None, value: Tensor | None = None,
                key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: Tensor | None = None,
                average_attn_weights: bool = True, is_causal: bool = False,
                cache: KeyValueCache | None = None) -> tuple[Tensor, Tensor | None]:
        """Output and attention weights.

        key_padding_mask: (batch, S), True for padding keys, which are hidden; or numbers to add to the scores.
        attn_mask: (L, S) or (batch * num_heads, L, S), likewise. True means *hidden*, as in PyTorch's layer; in
        `scaled_dot_product_attention` it means allowed, also as in PyTorch. is_causal: position i sees positions up to
        i; unlike in PyTorch, no mask is needed. need_weights: whether to return the weights too, before dropout:
        (batch, L, S), the mean over heads, or with average_attn_weights=False (batch, heads, L, S). They need O(L S)
        memory; the output alone does not. cache: also attend to the positions of earlier calls, in causal
        self-attention under no_grad().
        """
        key = query if key is None else key
        value = key if value is None else value
        self._check(query, key, value)
        turned = not self.batch_first and query.ndim == 3
        if turned:
            same = query is key, key is value
            query = query.transpose(0, 1)
            key = query if same[0] else key.transpose(0, 1)
            value = key if same[1] else value.transpose(0, 1)
        mask = self._mask(key_padding_mask, attn_mask, query, key)
        dropout_p = self.dropout if self.training else 0.0
        weights = None
        if query is key is value and self.in_proj_weight is not None:
            qkv = ops.linear(query, self.in_proj_weight, self.in_proj_bias)
            if self.rotary is not None:
                qkv = self.rotary.turn_packed(qkv, self.num_heads, 0 if cache is None else cache.length)
            if cache is not None:
                y = self._continue(qkv, cache, mask)
            else:
                y = ops.self_attention(qkv, mask, num_heads=self.num_heads, dropout_p=dropout_p, is_causal=is_causal)
            if need_weights:
                q, k, _ = (self._heads(x) for x in qkv.chunk(3, -1))
        else:
            if self.rotary is not None or cache is not None:
                raise ValueError("MultiheadAttention: rotary and cache are for self-attention")
            q, k, v = (self._heads(x) for x in self._project(query, key, value))
            y = self._merge(ops.scaled_dot_product_attention(q, k, v, mask, dropout_p=dropout_p, is_causal=is_causal))
        if need_weights:
            weights = ops.attention_weights(q, k, mask, is_causal)
            weights = weights.mean(axis=-3) if average_attn_weights else weights
        y = self.out_proj(y)
        return y.transpose(0, 1) if turned else y, weights

    @property
    def head_dim(self) -> int:
        """The size of a head."""
        return self.embed_dim // self.num_heads

    def _heads(self, x: Tensor) -> Tensor:
        """(..., T, embed_dim) -> (..., heads, T, head_dim), a view."""
        return x.reshape(*x.shape[:-1], self.num_heads, self.head_dim).transpose(-2, -3)

    def _merge(self, x: Tensor) -> Tensor:
        x = x.transpose(-2, -3)
        return x.reshape(*x.shape[:-2], self.embed_dim)

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        bias = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        if self.in_proj_weight is None:
            weights: Any = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        else:
            weights = self.in_proj_weight.chunk(3)
        return [ops.linear(x, w, b) for x, w, b in zip((query, key, value), weights, bias, strict=True)]

    def _continue(self, qkv: Tensor, cache: KeyValueCache, mask: Tensor | None) -> Tensor:
        if mask is not None or qkv.requires_grad:
            raise ValueError("MultiheadAttention: a cache needs a call without masks under no_grad()")
        q, k, v = (self._heads(x) for x in qkv.chunk(3, -1))
        new, before = q.shape[-2], cache.length
        k, v = cache.extend(k.numpy(), v.numpy())
        if before and new > 1:  # causal, but the queries do not start at position 0
            mask = Tensor(np.tri(new, before + new, before, dtype=bool))
        return self._merge(ops.scaled_dot_product_attention(q, k, v, mask, is_causal=before == 0))

    def _mask(self, padding: Tensor | None, mask: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
        """Both masks combined, broadcasting to (..., heads, L, S); True means allowed."""
        batch, length, total = query.shape[:-2], query.shape[-2], key.shape[-2]
        if padding is not None:
            if padding.shape != (*batch, total):
                raise ValueError(f"MultiheadAttention: key_padding_mask has shape {padding.shape} but must be "
                                 f"(batch, keys) = {(*batch, total)}")
            padding = _allowed("key_padding_mask", padding).reshape(*batch, 1, 1, total)
        if mask is not None:
            per_head = (int(np.prod(batch)) * self.num_heads, length, total)
            if mask.shape not in ((length, total), per_head):
                raise ValueError(f"MultiheadAttention: attn_mask has shape {mask.shape} but must be (queries, keys) = "
                                 f"{(length, total)} or (batch * num_heads, queries, keys) = {per_head}")
            mask = _allowed("attn_mask", mask)
            mask = mask if mask.ndim == 2 else mask.reshape(*batch, self.num_heads, length, total)
        if padding is None or mask is None:
            return mask if padding is None else padding
        if padding.dtype == mask.dtype == bool:
            return padding & mask
        return _added(padding, query.dtype) + _added(mask, query.dtype)

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        for name, x, size in ("query", query, self.embed_dim), ("key", key, self.kdim), ("value", value, self.vdim):
            if x.ndim != query.ndim or x.ndim not in (2, 3) or x.shape[-1] != size:
                axes = "batch, length" if self.batch_first else "length, batch"
                alike = "" if x is query else f", with as many axes as query, {query.shape}"
                raise ValueError(f"MultiheadAttention: {name} has shape {x.shape} but must be ({axes}, {size}) or "
                                 f"(length, {size}){alike}")
        batch = 0 if self.batch_first else 1
        if query.ndim == 3 and not query.shape[batch] == key.shape[batch] == value.shape[batch]:
            raise ValueError(f"MultiheadAttention: query {query.shape}, key {key.shape} and value {value.shape} must "
                             f"agree in the batch, axis {batch} (batch_first={self.batch_first})")

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, num_heads={self.num_heads}, dropout={self.dropout}, batch_first={self.batch_first}"


MultiHeadAttention = MultiheadAttention


def _allowed(name: str, mask: Tensor) -> Tensor:
    """A boolean mask inverted, since True means hidden; an additive mask unchanged."""
    mask = mask if isinstance(mask, Tensor) else Tensor(mask)
    if mask.dtype == bool:
        return ops.logical_not(mask)
    if not mask.is_floating_point():
        raise TypeError(f"MultiheadAttention: {name} must be boolean, True for hidden, or floating, got {mask.dtype}")
    return mask


def _added(mask: Tensor, dtype: np.dtype) -> Tensor:
    return ops.cast(ops.where(mask, 0.0, -np.inf), dtype=dtype) if mask.dtype == bool else mask
