"""Position encodings, which tell attention the position of each token (004)."""

from __future__ import annotations

import functools

import numpy as np

from tinygrad_like import ops
from tinygrad_like.core.tensor import Tensor

from . import init
from .module import Module, Parameter


@functools.lru_cache(maxsize=8)
def sinusoidal_encoding(length: int, dim: int) -> np.ndarray:
    """p[t, 2i] = sin(t / 10000^(2i / dim)), p[t, 2i + 1] = the cosine of the same angle: (length, dim), read-only.

    Vaswani et al. 2017; the slides of 004 count i from 1. Raises ValueError for an odd dim.
    """
    if dim < 2 or dim % 2:
        raise ValueError(f"sinusoidal_encoding: dim must be even, since sine and cosine come in pairs; got {dim}")
    cos, sin = _rotations(length, dim, 10000.0)
    encoding = np.stack([sin, cos], -1).reshape(length, dim)
    encoding.flags.writeable = False
    return encoding


class SinusoidalEncoding(Module):
    """y[..., t, :] = x[..., t, :] + p[offset + t], p as in `sinusoidal_encoding`; x (..., T, dim), of any length T."""

    def __init__(self, dim: int):
        sinusoidal_encoding(1, dim)
        self.dim = dim

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        if x.ndim < 2 or x.shape[-1] != self.dim:
            raise ValueError(f"SinusoidalEncoding: takes (..., T, {self.dim}), got shape {x.shape}")
        length = _checked("SinusoidalEncoding", offset) + x.shape[-2]
        table = sinusoidal_encoding(max(256, 1 << (length - 1).bit_length()), self.dim)  # only a few lengths are cached
        return x + table[offset:length].astype(x.dtype, copy=False)

    def extra_repr(self) -> str:
        return f"{self.dim}"


class LearnedEncoding(Module):
    """y[..., t, :] = x[..., t, :] + weight[offset + t] with a learned weight (max_length, dim); x (..., T, dim).

    weight: initially normal with standard deviation 0.02, as in GPT-2 and ViT.
    Raises ValueError for a sequence longer than the table, which cannot be extended.
    """

    def __init__(self, max_length: int, dim: int):
        self.weight = Parameter(Tensor.empty(max_length, dim))
        init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        if x.ndim < 2:
            raise ValueError(f"LearnedEncoding: takes (..., T, {self.weight.shape[1]}), got shape {x.shape}")
        start, stop = _checked("LearnedEncoding", offset), offset + x.shape[-2]
        if stop > len(self.weight):
            raise ValueError(f"LearnedEncoding: positions {start} to {stop - 1} of an input {x.shape} exceed "
                             f"the table of {len(self.weight)} (weight shape {self.weight.shape})")
        return x + (self.weight if stop - start == len(self.weight) else self.weight[start:stop])

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}"


class RotaryEncoding(Module):
    """Rotate the pair (x[i], x[i + dim/2]) of queries and keys by the angle t base^(-2i / dim) at position t.

    x: (..., T, heads, dim) -> same shape, for positions offset to offset + T - 1. The product of a query and a key then
    depends on their distance alone. RoFormer, Su et al. 2021, with pairs as in GPT-NeoX and Llama. Raises ValueError
    for an odd dim.
    """

    def __init__(self, dim: int, base: float = 10000.0):
        if not 2 <= dim < 1 << 31 or dim % 2:
            raise ValueError(f"RotaryEncoding: dim must be even, since it rotates pairs; got {dim}")
        self.dim, self.base = dim, base

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        if x.ndim < 3:
            raise ValueError(f"RotaryEncoding: takes (..., T, heads, {self.dim}), got shape {x.shape}")
        cos, sin = self._tables(x.shape[-3], offset)
        return _turned(x, cos[:, None], sin[:, None])

    def turn_packed(self, qkv: Tensor, num_heads: int, offset: int = 0) -> Tensor:
        """qkv (..., T, 3 * num_heads * dim) with queries and keys rotated."""
        cos, sin = self._tables(qkv.shape[-2], offset)
        cos = np.stack([cos, cos, np.ones_like(cos)], 1)[:, :, None]  # (T, 3, 1, dim / 2)
        sin = np.stack([sin, sin, np.zeros_like(sin)], 1)[:, :, None]
        apart = qkv.reshape(*qkv.shape[:-1], 3, num_heads, self.dim)
        return _turned(apart, cos, sin).reshape(*qkv.shape)

    def _tables(self, length: int, offset: int) -> tuple[np.ndarray, np.ndarray]:
        offset = _checked("RotaryEncoding", offset)
        cos, sin = _rotations(max(256, 1 << (offset + length - 1).bit_length()), self.dim, self.base)
        return cos[offset : offset + length], sin[offset : offset + length]

    def extra_repr(self) -> str:
        return f"{self.dim}, base={self.base:g}"


def _checked(who: str, offset: int) -> int:
    if not hasattr(offset, "__index__"):
        raise TypeError(f"{who}: offset must be an integer, got {offset!r}")
    if offset < 0:
        raise ValueError(f"{who}: offset must be 0 or more, got {offset}; positions count from 0")
    return offset


def _turned(x: Tensor, cos: np.ndarray, sin: np.ndarray) -> Tensor:
    y = ops.rotate_halves(x, cos, sin)
    return y if y.dtype is x.dtype else ops.cast(y, dtype=x.dtype)  # the tables are float32 even if x has 16 bits


@functools.lru_cache(maxsize=8)
def _rotations(length: int, dim: int, base: float) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine of the angles (length, dim / 2)."""
    angles = np.arange(length)[:, None] * base ** (-np.arange(0, dim, 2) / dim)
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
