"""Scaled dot-product attention (004; Vaswani et al. 2017)."""

from __future__ import annotations

import math

import numpy as np

from .. import random
from ..core.primitive import primitive
from ..core.tensor import Tensor
from ..dtypes import BOOL
from ..errors import checked
from .axes import broadcasts
from .compare import gt, logical_and
from .composite import composite
from .contracts import fits
from .dropout import drop
from .elementwise import where
from .matmul import matmul
from .reduce import any as any_of
from .shape import expand, permute, repeat_interleave, reshape, transpose
from .softmax import softmax


@checked
def scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False) -> Tensor:
    """softmax(scale q k^T + mask) v: for every query, the mean of the values, weighted by how well their keys match the
    query.

    q (..., heads, L, d), k (..., heads, S, d), v (..., heads, S, d_v) -> (..., heads, L, d_v); the leading axes
    broadcast. The arrays may be transposed views, for instance of (batch, L, heads, d): they are read in place, and the
    output has q's layout.

    attn_mask: broadcasts to (..., L, S). Boolean, True where a query may see a key; or floating point, added to the
    scores. is_causal: query i sees keys 0 to i; with a mask, both must allow it. Default scale: 1 / sqrt(d). dropout_p:
    the probability of setting a weight to 0; the others are scaled by 1 / (1 - dropout_p). enable_gqa: k and v may have
    fewer heads (axis -3), each shared by the same number of neighbouring heads of q.

    A query that sees no key gets output 0 and gradient 0. Float32 runs in a kernel that never holds the (L, S) weights:
    memory is linear in the lengths (FlashAttention, Dao et al. 2022).

    Raises ValueError for shapes that do not fit, TypeError for dtypes that differ or an integer mask.
    """
    if enable_gqa:
        k, v = (_shared_heads(q, x) for x in (k, v))
    heads = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    return _attention(q, k, v, attn_mask, dropout_p=dropout_p, is_causal=is_causal, scale=_scale(q.shape[-1], scale),
                      **_noise(dropout_p, (*heads, q.shape[-2], k.shape[-2])))


def _shared_heads(q, x):
    return x if x.shape[-3] == q.shape[-3] else repeat_interleave(x, q.shape[-3] // x.shape[-3], -3)


scaled_dot_product_attention.requires(fits("float q (..., L, d), k (..., S, d), v (..., S, e)"))


@scaled_dot_product_attention.requires
def _(q, k, v, attn_mask, dropout_p, scale, enable_gqa):
    shapes = [x.shape[:-2] for x in (q, k, v)]
    for i, x in (1, k), (2, v):
        if enable_gqa and (q.ndim < 3 or x.ndim < 3 or not x.shape[-3] or q.shape[-3] % x.shape[-3]):
            return (f"with enable_gqa the heads of q {q.shape} must be a multiple of those of {x.shape} (axis -3)")
        if enable_gqa:
            shapes[i] = (*x.shape[:-3], q.shape[-3])
    try:
        heads = np.broadcast_shapes(*shapes)
    except ValueError:
        return f"the leading axes of q {q.shape}, k {k.shape} and v {v.shape} do not broadcast"
    return _fit(q, q.shape[-1], scale) or _mask_fits(attn_mask, (*heads, q.shape[-2], k.shape[-2]), dropout_p, q)


@checked
def self_attention(qkv, attn_mask=None, *, num_heads, dropout_p=0.0, is_causal=False, scale=None) -> Tensor:
    """Self-attention, from one projection that holds queries, keys and values side by side.

    qkv (..., T, 3 E) -> (..., T, E). Axis -1 splits into q, k and v, and each of these into num_heads heads of size E /
    num_heads; the heads' outputs are concatenated. Nothing is copied to split or join them, forward or backward. The
    other arguments are those of `scaled_dot_product_attention`; attn_mask broadcasts to (..., num_heads, T, T).
    """
    *batch, length, width = qkv.shape
    scale, noise = _scale(width // 3 // num_heads, scale), _noise(dropout_p, (*batch, num_heads, length, length))
    return _self_attention(qkv, attn_mask, num_heads=num_heads, dropout_p=dropout_p, is_causal=is_causal, scale=scale,
                           **noise)


self_attention.requires(fits("float qkv (..., T, 3*num_heads*size)"))


@self_attention.requires
def _(qkv, attn_mask, num_heads, dropout_p, scale):
    *batch, length, width = qkv.shape
    return _fit(qkv, width // 3 // num_heads, scale) or _mask_fits(
        attn_mask, (*batch, num_heads, length, length), dropout_p, qkv)


def _scale(size, scale):
    return 1 / math.sqrt(size) if scale is None else 1.0 * scale


def _fit(q, size, scale):
    if scale is None and not size:
        return (f"heads of size 0 in an input of shape {q.shape} have no default scale, 1 / sqrt(size); use larger "
                "heads, or pass scale")


def _mask_fits(mask, shape, dropout_p, q):
    """The contract of every kind of attention. shape: the scores' shape."""
    if not 0 <= dropout_p <= 1:
        return f"dropout_p must lie in [0, 1], got {dropout_p}"
    if mask is None:
        return None
    if mask.dtype.kind != "b" and mask.dtype is not q.dtype:
        return TypeError(f"attn_mask must be boolean, or {q.dtype} like the inputs; got {mask.dtype}")
    if not broadcasts(mask.shape, shape):
        return (f"attn_mask of shape {mask.shape} does not broadcast to the scores' shape (..., queries, keys) = "
                f"{shape}")


def _noise(dropout_p, weights) -> dict:
    """The options that decide which weights (batch, ..., queries, keys) are dropped."""
    if not dropout_p:
        return {}
    places = weights[0], math.prod(weights)
    return {"key": random.draw(None, *places), "spread": random.spread(*places)}


@composite
def _attention(q, k, v, attn_mask=None, *, dropout_p=0.0, is_causal=False, scale=1.0, key=None, spread=0):
    weights = attention_weights(q, k, attn_mask, is_causal, scale)
    if dropout_p == 1:
        weights = where(False, weights, 0.0)
    elif dropout_p:  # each output head has its own dropout mask, even if only v has several heads
        heads = np.broadcast_shapes(weights.shape[:-2], v.shape[:-2])
        weights = drop(expand(weights, shape=(*heads, *weights.shape[-2:])), p=dropout_p, key=key, spread=spread)
    return matmul(weights, v)


@checked
def attention_weights(q, k, attn_mask=None, is_causal=False, scale=None) -> Tensor:
    """softmax(scale q k^T + mask) (..., L, S), or 0 for a query that may see no key: the weights of v."""
    scores = matmul(q, transpose(k, -1, -2)) * _scale(q.shape[-1], scale)
    allowed = None
    if attn_mask is not None:
        allowed = attn_mask if attn_mask.dtype is BOOL else gt(attn_mask, -np.inf)
        scores = scores if attn_mask.dtype is BOOL else scores + attn_mask
    if is_causal:
        past = np.tri(*scores.shape[-2:], dtype=BOOL)
        allowed = past if allowed is None else logical_and(allowed, past)
    if not k.shape[-2]:
        return scores  # there are none
    if allowed is None:
        return softmax(scores)
    sees = any_of(allowed, axis=-1, keepdim=True)  # softmax over no key is NaN, here and in the gradient
    scores = where(sees, where(allowed, scores, -np.inf), 0.0)
    return where(sees, softmax(scores), 0.0)


@attention_weights.requires
def _(q, scale):
    return _fit(q, q.shape[-1], scale)


@composite
def _self_attention(qkv, attn_mask=None, *, num_heads=1, dropout_p=0.0, is_causal=False, scale=1.0, key=None, spread=0):
    *batch, length, width = qkv.shape
    n = len(batch)
    apart = reshape(qkv, shape=(*batch, length, 3, num_heads, width // 3 // num_heads))
    q, k, v = permute(apart, axes=(n + 1, *range(n), n + 2, n, n + 3))
    y = _attention(q, k, v, attn_mask, dropout_p=dropout_p, is_causal=is_causal, scale=scale, key=key, spread=spread)
    return reshape(transpose(y, -2, -3), shape=(*batch, length, width // 3))


@primitive
def rotate_halves(x, cos, sin):
    """The pairs (x[..., i], x[..., i + n]), n half the last axis, rotated by angles with cos and sin (..., n)."""
    n = x.shape[-1] // 2
    a, b = x[..., :n], x[..., n:]
    out = np.empty(x.shape, x.dtype)
    out[..., :n] = a * cos - b * sin
    out[..., n:] = a * sin + b * cos
    return out


rotate_halves.vjp(x=lambda g, cos, sin: rotate_halves(g, cos, -sin))


rotate_halves.requires(fits("any x (..., 2*n), any cos (..., n), any sin (..., n)"))
