"""Scaled dot-product attention (004; Vaswani et al. 2017)."""

from __future__ import annotations

import math

import numpy as np

from .. import random
from ..core.primitive import Residuals, fresh, fused, primitive
from ..core.replaceable import replaceable
from ..dtypes import BOOL, FLOATS
from .compare import gt, logical_and
from .elementwise import mul, where
from .matmul import matmul
from .reduce import any as any_of
from .shape import permute, repeat_interleave, reshape, transpose
from .softmax import softmax


def scaled_dot_product_attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
                                 enable_gqa=False):
    """softmax(scale q k^T + mask) v: for every query a mean of the values, weighed by how well their keys match it.

    q (..., heads, L, d), k (..., heads, S, d), v (..., heads, S, d_v) -> (..., heads, L, d_v); the leading axes
    broadcast. The arrays may be transposed views, such as of (batch, L, heads, d): they are read in place, and the
    output is laid out like q.

    attn_mask: broadcasts to (..., L, S). Boolean, True where a query may see a key; or floating, added to the scores.
    is_causal: query i sees keys 0 to i; with a mask, both must allow it. Default scale: 1 / sqrt(d).
    dropout_p: the probability with which a weight is set to 0, and the others scaled by 1 / (1 - dropout_p).
    enable_gqa: k and v may have fewer heads (axis -3), each of which serves as many neighbouring heads of q.

    A query that may see no key gives 0, with gradient 0. Float32 runs in a kernel that never holds the (L, S) weights:
    memory is linear in the lengths (FlashAttention, Dao et al. 2022).

    Raises ValueError for shapes that do not fit, TypeError for dtypes that differ or a mask of integers.
    """
    who = "scaled_dot_product_attention"
    for name, x in ("q", q), ("k", k), ("v", v):
        if x.ndim < 2:
            raise ValueError(f"{who}: {name} needs axes (..., length, size), got shape {x.shape}")
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"{who}: q of shape {q.shape} and k of shape {k.shape} must agree in their last axis")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"{who}: k of shape {k.shape} and v of shape {v.shape} must have as many keys as values "
                         "(axis -2)")
    if enable_gqa:
        k, v = (_shared_heads(who, q, x) for x in (k, v))
    try:
        heads = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    except ValueError:
        raise ValueError(f"{who}: the leading axes of q {q.shape}, k {k.shape} and v {v.shape} do not broadcast"
                         ) from None
    scale = _scale(who, q, q.shape[-1], scale)
    _check(who, attn_mask, (*heads, q.shape[-2], k.shape[-2]), dropout_p, q, k, v)
    return _attention(q, k, v, attn_mask, dropout_p=dropout_p, is_causal=is_causal, scale=scale,
                      **_noise(dropout_p, (*heads, q.shape[-2])))


def _shared_heads(who, q, x):
    if q.ndim < 3 or x.ndim < 3 or not x.shape[-3] or q.shape[-3] % x.shape[-3]:
        raise ValueError(f"{who}: with enable_gqa the heads of q {q.shape} must be a multiple of those of {x.shape} "
                         "(axis -3)")
    return x if x.shape[-3] == q.shape[-3] else repeat_interleave(x, q.shape[-3] // x.shape[-3], -3)


def self_attention(qkv, attn_mask=None, *, num_heads, dropout_p=0.0, is_causal=False, scale=None):
    """Attention of a sequence to itself, from one projection that holds queries, keys and values side by side.

    qkv (..., T, 3 E) -> (..., T, E). Axis -1 is cut into q, k and v, each of them into num_heads heads of E / num_heads
    numbers; the heads' outputs lie side by side again. All are read and written in place, and so are their gradients.
    The other arguments are those of `scaled_dot_product_attention`; attn_mask broadcasts to (..., num_heads, T, T).
    """
    who = "self_attention"
    if qkv.ndim < 2 or num_heads < 1 or qkv.shape[-1] % (3 * num_heads):
        raise ValueError(f"{who}: qkv must be (..., T, 3 E) with E a multiple of num_heads={num_heads}, "
                         f"got shape {qkv.shape}")
    *batch, length, width = qkv.shape
    scale = _scale(who, qkv, width // 3 // num_heads, scale)
    _check(who, attn_mask, (*batch, num_heads, length, length), dropout_p, qkv)
    return _self_attention(qkv, attn_mask, num_heads=num_heads, dropout_p=dropout_p, is_causal=is_causal, scale=scale,
                           **_noise(dropout_p, (*batch, num_heads, length)))


def _scale(who, q, size, scale):
    if scale is not None:
        return 1.0 * scale
    if not size:
        raise ValueError(f"{who}: heads of size 0 in an input of shape {q.shape} have no default scale, which is "
                         "1 / sqrt(size); give them at least one number, or pass scale")
    return 1 / math.sqrt(size)


def _check(who, mask, shape, dropout_p, *inputs):
    if any(x.dtype is not inputs[0].dtype or x.dtype.kind not in FLOATS for x in inputs):
        given = ", ".join(str(x.dtype) for x in inputs)
        raise TypeError(f"{who}: all inputs must be of one floating dtype, got {given}")
    if not 0 <= dropout_p <= 1:
        raise ValueError(f"{who}: dropout_p must lie in [0, 1], got {dropout_p}")
    if mask is not None:
        if mask.dtype.kind != "b" and mask.dtype is not inputs[0].dtype:
            raise TypeError(f"{who}: attn_mask must be boolean or {inputs[0].dtype}, as the inputs are; "
                            f"got {mask.dtype}")
        try:
            fits = np.broadcast_shapes(mask.shape, shape) == shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"{who}: attn_mask of shape {mask.shape} does not broadcast to the scores' shape "
                             f"(..., queries, keys) = {shape}")


def _noise(dropout_p, queries) -> dict:
    """Options that say what is dropped. queries: (batch, ...), for each of which the positions have a mask."""
    if not dropout_p:
        return {}
    places = queries[0], math.prod(queries)
    return {"seed": random.drawn(lambda: random.placed(int(random.generator.integers(2**63)), *places)),
            "spread": random.spread(*places)}


def attention_reference(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=1.0, seed=0, spread=0):
    weights = attention_weights(q, k, attn_mask, is_causal, scale)
    if dropout_p:  # every head of the output has its own mask, even if only v has several
        heads = np.broadcast_shapes(weights.shape[:-2], v.shape[:-2])
        factors = dropout_factors((*heads, *weights.shape[-2:]), dropout_p, seed, spread)
        weights = mul(weights, factors.astype(q.dtype))
    return matmul(weights, v)


@replaceable
def dropout_factors(shape, p, seed, spread):
    """What weights (..., queries, keys) are multiplied with: 0 with probability p, else 1 / (1 - p).

    The lower half of the seed is added to the number of the query, as `random.placed` counts them.
    """
    if p == 1:
        return np.zeros(shape, np.float32)
    *queries, keys = shape
    places = random.places(math.prod(queries), spread)
    hashed = random.bits(np.arange(keys), random.bits(places, seed)[:, None])
    return np.where(hashed >= random.threshold(p), np.float32(1 / (1 - p)), np.float32(0)).reshape(shape)


def attention_weights(q, k, attn_mask=None, is_causal=False, scale=None):
    """softmax(scale q k^T + mask) (..., L, S), and 0 for a query that may see no key: what multiplies v."""
    scale = _scale("attention_weights", q, q.shape[-1], scale)
    scores = matmul(q, transpose(k, -1, -2)) * scale
    allowed = None
    if attn_mask is not None:
        allowed = attn_mask if attn_mask.dtype is BOOL else gt(attn_mask, -np.inf)
        scores = scores if attn_mask.dtype is BOOL else scores + attn_mask
    if is_causal:
        past = np.tri(*scores.shape[-2:], dtype=bool)
        allowed = past if allowed is None else logical_and(allowed, past)
    if not k.shape[-2]:
        return scores  # there are none
    if allowed is None:
        return softmax(scores)
    sees = any_of(allowed, axis=-1, keepdim=True)  # the softmax of nothing is NaN, here and in the gradient
    scores = where(sees, where(allowed, scores, -np.inf), 0.0)
    return where(sees, softmax(scores), 0.0)


def _added(mask, dtype):
    """The mask as numbers to add to the scores."""
    return np.where(mask, dtype.type(0), dtype.type(-np.inf)) if mask is not None and mask.dtype is BOOL else mask


@replaceable
def attention(q, k, v, mask, causal, scale, dropout_p, seed, spread):
    """The output, and what `attention_vjp` needs; here None, as the reference is differentiated."""
    return attention_reference(q, k, v, mask, dropout_p, causal, scale, seed, spread), None


@replaceable
def attention_vjp(g, q, k, v, out, stats, mask, causal, scale, dropout_p, seed, spread, into=None):
    """The gradients of q, k and v, if `attention` gave stats; written to the arrays `into`, if there are any."""
    return NotImplemented


@fused(reference=attention_reference)
def _attention(q, k, v, attn_mask=None, *, dropout_p=0.0, is_causal=False, scale=1.0, seed=0, spread=0):
    added = _added(attn_mask, q.dtype)
    out, stats = attention(q, k, v, added, is_causal, scale, dropout_p, seed, spread)
    return out, Residuals(stats=stats, added=added)


@_attention.joint_vjp
@fresh
def _(g, q, k, v, out, stats, added, is_causal, scale, dropout_p, seed, spread, wanted):
    if stats is None or wanted[3]:
        return NotImplemented
    return [*attention_vjp(g, q, k, v, out, stats, added, is_causal, scale, dropout_p, seed, spread), None]


def self_attention_reference(qkv, attn_mask=None, num_heads=1, dropout_p=0.0, is_causal=False, scale=1.0, seed=0,
                             spread=0):
    *batch, length, width = qkv.shape
    n = len(batch)
    apart = reshape(qkv, shape=(*batch, length, 3, num_heads, width // 3 // num_heads))
    parts = permute(apart, axes=(n + 1, *range(n), n + 2, n, n + 3))
    y = attention_reference(parts[0], parts[1], parts[2], attn_mask, dropout_p, is_causal, scale, seed, spread)
    return reshape(transpose(y, -2, -3), shape=(*batch, length, width // 3))


def _heads(x, num_heads, parts):
    """(..., T, parts * E) as views (..., num_heads, T, size), one for each part."""
    apart = x.reshape(*x.shape[:-1], parts, num_heads, x.shape[-1] // parts // num_heads)
    return [apart[..., i, :, :].swapaxes(-2, -3) for i in range(parts)]


@fused(reference=self_attention_reference)
def _self_attention(qkv, attn_mask=None, *, num_heads=1, dropout_p=0.0, is_causal=False, scale=1.0, seed=0, spread=0):
    added = _added(attn_mask, qkv.dtype)
    out, stats = attention(*_heads(qkv, num_heads, 3), added, is_causal, scale, dropout_p, seed, spread)
    return out.swapaxes(-2, -3).reshape(*qkv.shape[:-1], qkv.shape[-1] // 3), Residuals(stats=stats, added=added)


@_self_attention.joint_vjp
@fresh
def _(g, qkv, out, stats, added, num_heads, is_causal, scale, dropout_p, seed, spread, wanted):
    if stats is None or wanted[1]:
        return NotImplemented
    (g,), (out,) = _heads(g, num_heads, 1), _heads(out, num_heads, 1)
    dqkv = np.empty_like(qkv, order="C")
    attention_vjp(g, *_heads(qkv, num_heads, 3), out, stats, added, is_causal, scale, dropout_p, seed, spread,
                  _heads(dqkv, num_heads, 3))
    return [dqkv, None]


@primitive
def rotate_halves(x, cos, sin):
    """The pairs (x[..., i], x[..., i + n]), n half the last axis, turned by angles whose cos and sin are (..., n)."""
    n = x.shape[-1] // 2 if x.ndim else 0
    if x.ndim == 0 or x.shape[-1] % 2 or any(np.shape(t)[-1:] != (n,) for t in (cos, sin)):
        raise ValueError(f"rotate_halves: x {x.shape} needs a last axis of an even size 2 n, and cos {np.shape(cos)} "
                         f"and sin {np.shape(sin)} one of size n")
    a, b = x[..., :n], x[..., n:]
    out = np.empty(x.shape, x.dtype)
    out[..., :n] = a * cos - b * sin
    out[..., n:] = a * sin + b * cos
    return out


rotate_halves.vjp(x=lambda g, cos, sin: rotate_halves(g, cos, -sin))
