"""The kernels that replace composite ops: forward and VJP together, for float32 arrays.

`Composite.accelerate` (ops/composite.py) says what they take and return. The residuals that pass from forward to VJP
are private to the two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from .. import kernels
from ..core.graph import mode
from ..dtypes import FLOAT32
from ..ops import collective, conv
from ..ops.activation import log1p_unit, sigmoid
from ..ops.attention import _attention, _self_attention
from ..ops.collective import sync_batch_norm
from ..ops.composite import Composite
from ..ops.elementwise import abs, exp, maximum, square, sub
from ..ops.loss import binary_cross_entropy_with_logits, mse_loss, nll_loss
from ..ops.matmul import _rows, linear
from ..ops.normalization import batch_norm, batch_norm_relu, group_norm, layer_norm, rms_norm
from ..ops.recurrent import gru, lstm
from ..ops.reduce import sum_over
from ..ops.softmax import cross_entropy, log_softmax_vjp, logsumexp_vjp, softmax_vjp
from .registry import SMALL, makers


def accelerate(op: Composite, least: int, forward: Callable, vjp: Callable | None = None, out: bool = False) -> None:
    """Replace a composite by `forward` if its first input is a float32 array of at least `least` elements. Without a
    VJP, it keeps no residuals, and backward differentiates the definition."""

    def kernel(x, *others, **options):
        if type(x) is np.ndarray and x.dtype is FLOAT32 and (x.size >= least or mode.compiled):
            y = forward(x, *others, **options)
            return y if vjp is not None or y is NotImplemented else (y, None)
        return NotImplemented

    op.accelerate(kernel, vjp, out)


def functions(module: str, name: str) -> tuple[Callable, Callable]:
    """The kernel of this name and its VJP, from a module that loads at the first call."""

    def of(name: str) -> Callable:
        return lambda *inputs, **options: getattr(getattr(kernels, module), name)(*inputs, **options)

    return of(name), of(f"{name}_vjp")


def loss(name: str, formula: Callable, slope: Callable, of_difference: bool) -> tuple[Callable, Callable]:
    """Kernels for a loss, reduced or not, and its VJP, made from its formula of input and target.

    slope: g * scale times the derivative by the input. of_difference: whether that by the target is its negative.
    """

    @lru_cache
    def made() -> tuple[Callable, Callable]:
        return kernels.formula.pointwise(formula, name), kernels.formula.pointwise(slope, f"{name}_vjp", ("scale",))

    makers.append(made)

    def forward(input, target, weight=None, pos_weight=None, *, reduction):
        if weight is not None or pos_weight is not None or not input.size or target.dtype is not FLOAT32:
            return NotImplemented
        losses = made()[0](input, target)
        return losses if reduction == "none" else kernels.reduce.total(losses, reduction == "mean"), None

    def vjp(g, wanted, input, target, *others):
        if any(wanted[1 + of_difference :]) or target.dtype is not FLOAT32 or g.dtype is not FLOAT32:
            return NotImplemented
        d = np.empty(input.shape, FLOAT32)
        made()[1].each(np.asarray(g), input, target, 1 / d.size if others[-2] == "mean" else 1.0, 0.0, d)
        return [d, -d if wanted[1] else None, *[None] * len(wanted[2:])]

    return forward, vjp


def _attention_kernel(q, k, v, attn_mask, *, dropout_p, is_causal, scale, key, spread):
    added = attn_mask is None or attn_mask.dtype is FLOAT32
    mask = attn_mask if added else np.where(attn_mask, np.float32(0), np.float32(-np.inf))
    found = kernels.attention.attention(q, k, v, mask, is_causal, scale, dropout_p, key, spread)
    return found if found is NotImplemented else (found[0], (mask, found[1]))


def _attention_vjp(g, wanted, q, k, v, attn_mask, dropout_p, is_causal, scale, key, spread, residuals, out):
    if wanted[3]:
        return NotImplemented
    mask, stats = residuals
    return [*kernels.attention.attention_backward(g, q, k, v, out, stats, mask, is_causal, scale, dropout_p, key,
                                                  spread), None]


def _heads(x, num_heads, parts):
    """(..., T, parts * E) as views (..., num_heads, T, size), one for each part."""
    apart = x.reshape(*x.shape[:-1], parts, num_heads, x.shape[-1] // parts // num_heads)
    return [apart[..., i, :, :].swapaxes(-2, -3) for i in range(parts)]


def _self_attention_kernel(qkv, attn_mask, *, num_heads, dropout_p, is_causal, scale, key, spread):
    found = _attention_kernel(*_heads(qkv, num_heads, 3), attn_mask, dropout_p=dropout_p, is_causal=is_causal,
                              scale=scale, key=key, spread=spread)
    if found is NotImplemented:
        return found
    return found[0].swapaxes(-2, -3).reshape(*qkv.shape[:-1], qkv.shape[-1] // 3), found[1]


def _self_attention_vjp(g, wanted, qkv, attn_mask, num_heads, dropout_p, is_causal, scale, key, spread, residuals,
                        out):
    if wanted[1]:
        return NotImplemented
    (g,), (out,), (mask, stats) = _heads(g, num_heads, 1), _heads(out, num_heads, 1), residuals
    dqkv = np.empty_like(qkv, order="C")
    kernels.attention.attention_backward(g, *_heads(qkv, num_heads, 3), out, stats, mask, is_causal, scale, dropout_p,
                                         key, spread, _heads(dqkv, num_heads, 3))
    return [dqkv, None]


def _lstm_vjp(g, wanted, x, h, c, weight, reverse, residuals, out):
    return kernels.recurrent.backward(g, h, c, weight, out, *residuals, reverse)[:4]


def _gru_vjp(g, wanted, x, h, weight, bias, reverse, residuals, out):
    dx, dh, _, dweight, dbias = kernels.recurrent.backward(g, h, None, weight, out, *residuals, reverse)
    return [dx, dh, dweight, None if bias is None else dbias]


def _linear(x, weight, bias):
    y = kernels.gemm.affine(_rows(x), weight, bias)
    return (y if x.ndim == 2 else y.reshape(*x.shape[:-1], len(weight))), None


def _linear_vjp(g, wanted, x, weight, bias, residuals):
    g, rows = _rows(g), _rows(x)
    found = kernels.gemm.linear_vjp(g, rows, weight, wanted)
    if found is NotImplemented:
        found = [np.dot(g, weight) if wanted[0] else None, np.dot(g.T, rows) if wanted[1] else None,
                 g.sum(0) if wanted[2] else None]
    dx, dweight, dbias = found
    return [dx if dx is None or x.ndim == 2 else dx.reshape(x.shape), dweight, dbias]


def _conv2d(x, weight, bias, *, stride, padding, dilation, groups):
    if not x.size:
        return NotImplemented
    how = (*conv.geometry("conv2d", x.shape[2:], weight.shape[2:], stride, padding, dilation)[1:4], groups)
    return kernels.conv.correlation(x, weight, bias, *how), how


def _conv2d_vjp(g, wanted, x, weight, bias, stride, padding, dilation, groups, how):
    return [kernels.conv.input_gradient(g, weight, x.shape, *how) if wanted[0] else None,
            kernels.conv.weight_gradient(g, x, weight.shape, *how) if wanted[1] else None,
            sum_over(sum_over(g, (2, 3), False), (0,), False) if wanted[2] else None]


def _sync_batch_norm(x, weight, bias, *, eps, shift, stats):
    channels, real = x.shape[1], collective.counts(x)
    here = np.zeros((2, channels))
    if real:
        kernels.norm.batch_norm(x, None, None, eps=1.0, stats=here)
    found = _moments(here, x.size // channels * real, shift)
    if stats is not None:
        stats[...] = found
    running = tuple(found[:2].astype(x.dtype))
    y, moments = kernels.norm.batch_norm(x, weight, bias, *running, eps=eps)
    return y, (moments, running, int(found[2, 0]), real)


def _sync_batch_norm_vjp(g, wanted, x, weight, bias, eps, shift, stats, residuals):
    moments, running, n, real = residuals
    dx, dweight, dbias, _ = kernels.norm.channels_vjp(g, x, weight, bias, moments, fixed=True)
    both = np.concatenate([dweight, dbias], dtype=np.float64)
    both = collective.all_reduce(both if real else np.zeros_like(both)).reshape(2, -1)
    means = (both * (moments[1] / n if weight is None else moments[1] * weight / n)).astype(x.dtype)
    if not real:
        return [np.zeros_like(x), np.zeros_like(dweight), np.zeros_like(dbias)]
    # The gradient of x through mean and variance, r (E[w g xhat] xhat + E[w g]), in one pass.
    return [sub.forward(dx, kernels.norm.batch_norm(x, *means, *running, eps=eps)[0]), dweight, dbias]


def _moments(here, n, shift):
    """Mean, variance and count over all ranks, from this rank's, by one all-reduce of sums, in float64."""
    channels = here.shape[1]
    shift = np.zeros(channels) if shift is None else shift.astype(np.float64)
    centred = here[0] - shift
    totals = collective.all_reduce(np.concatenate([n * centred, n * (here[1] + centred * centred), [n]]))
    n = int(totals[-1])
    if n <= 1:
        raise ValueError(collective.TOO_FEW.format(n))
    centred, squares = totals[:channels] / n, totals[channels:-1] / n
    return np.stack([shift + centred, np.maximum(squares - centred * centred, 0), np.full(channels, float(n))])


accelerate(softmax_vjp, SMALL, functions("softmax", "softmax")[1])
accelerate(log_softmax_vjp, SMALL, functions("softmax", "log_softmax")[1])
accelerate(logsumexp_vjp, SMALL, functions("softmax", "logsumexp")[1])
accelerate(cross_entropy, SMALL, *functions("cross_entropy", "cross_entropy"))
accelerate(nll_loss, SMALL, *functions("cross_entropy", "nll_loss"))
accelerate(mse_loss, 1, *loss(
    "mse_loss", lambda x, t: square(x - t), lambda g, x, t, scale: 2 * (g * scale) * (x - t), True))
accelerate(binary_cross_entropy_with_logits, 1, *loss(
    "binary_cross_entropy_with_logits", lambda x, t: (1 - t) * x + maximum(-x, 0) + log1p_unit(exp(-abs(x))),
    lambda g, x, t, scale: g * scale * (sigmoid(x) - t), False))
accelerate(_attention, 0, _attention_kernel, _attention_vjp, out=True)
accelerate(_self_attention, 0, _self_attention_kernel, _self_attention_vjp, out=True)
accelerate(lstm, 0, lambda x, h, c, weight, *, reverse: kernels.recurrent.forward(x, h, c, weight, None, reverse),
           _lstm_vjp, out=True)
accelerate(gru, 0, lambda x, h, weight, bias, *, reverse: kernels.recurrent.forward(x, h, None, weight, bias, reverse),
           _gru_vjp, out=True)
for normalization in layer_norm, rms_norm, group_norm, batch_norm:
    accelerate(normalization, 0, *functions("norm", normalization.name))
accelerate(batch_norm_relu, 0, *functions("norm", "batch_norm_relu"), out=True)
accelerate(linear, 0, _linear, _linear_vjp)
accelerate(sync_batch_norm, 0, _sync_batch_norm, _sync_batch_norm_vjp)
accelerate(conv.conv2d, 1, _conv2d, _conv2d_vjp)
