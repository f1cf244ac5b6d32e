"""Which kernels stand in for which composite ops: forward and VJP together, for float32 arrays.

`core/primitive.py` says what they are given and have to give. What passes between the two is their own affair.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from .. import kernels
from ..core.graph import mode
from ..core.primitive import Composite
from ..dtypes import FLOAT32
from ..ops.activation import log1p_unit, sigmoid
from ..ops.attention import _attention, _self_attention
from ..ops.elementwise import abs, exp, maximum, square
from ..ops.loss import binary_cross_entropy_with_logits, mse_loss, nll_loss
from ..ops.recurrent import gru, lstm
from ..ops.softmax import cross_entropy, log_softmax_vjp, logsumexp_vjp, softmax_vjp

LOSSES: dict[str, Callable] = {}  # those made of a formula: a function that gives forward and VJP
SMALL = 16  # in NumPy they are many calls; but numba need not be imported for a few numbers


def accelerate(op: Composite, least: int, forward: Callable, vjp: Callable | None = None, out: bool = False) -> None:
    """Have `forward` stand in for a composite where the first input is a float32 array of at least so many numbers."""

    def kernel(x, *others, **options):
        if type(x) is np.ndarray and x.dtype is FLOAT32 and (x.size >= least or mode.compiled):
            return forward(x, *others, **options)
        return NotImplemented

    op.accelerate(kernel, vjp, out)


def alone(module: str, name: str) -> Callable:
    """The kernel of this name, which keeps nothing for a VJP."""

    def forward(*inputs, **options):
        y = getattr(getattr(kernels, module), name)(*inputs, **options)
        return y if y is NotImplemented else (y, None)

    return forward


def loss(name: str, formula: Callable, slope: Callable, of_difference: bool) -> tuple[Callable, Callable]:
    """Kernels of the loss made of a formula of input and target, and of g times its slope, reduced or not.

    of_difference: whether the slope in the target is minus that in the input.
    """

    @lru_cache
    def made() -> tuple[Callable, Callable]:
        return kernels.formula.loss(formula, name), kernels.formula.loss_vjp(slope, f"{name}_vjp")

    LOSSES[name] = made

    def forward(input, target, weight=None, pos_weight=None, *, reduction):
        if weight is not None or pos_weight is not None or not input.size:
            return NotImplemented
        y = made()[0](input, target, reduction)
        return y if y is NotImplemented else (y, None)

    def vjp(g, wanted, input, target, *others):
        if any(wanted[1 + of_difference :]):
            return NotImplemented
        d = made()[1](input, target, g, others[-2])  # the reduction
        return d if d is NotImplemented else [d, -d if wanted[1] else None, *[None] * len(wanted[2:])]

    return forward, vjp


def _cross_entropy(x, target, weight, *, ignore_index, reduction, label_smoothing):
    if x.ndim < 2:
        return NotImplemented
    found = kernels.softmax.cross_entropy(x, target, weight, ignore_index=ignore_index, reduction=reduction,
                                          label_smoothing=label_smoothing)
    return found if found is NotImplemented else (found[0], tuple(found[1].values()))


def _cross_entropy_vjp(g, wanted, x, target, weight, ignore_index, reduction, label_smoothing, residuals):
    if any(wanted[1:]):
        return NotImplemented
    return [kernels.softmax.cross_entropy_vjp(x, g, target, weight, *residuals, ignore_index, reduction,
                                              label_smoothing), None, None]


def _nll(x, target, weight, *, ignore_index, reduction):
    return kernels.nll.nll(x, target, weight, ignore_index, reduction) if x.ndim > 1 else NotImplemented


def _nll_vjp(g, wanted, x, target, weight, ignore_index, reduction, totals):
    if wanted[2]:
        return NotImplemented
    return [kernels.nll.nll_vjp(g, target, weight, totals, x.shape, ignore_index, reduction), None, None]


def _attention_kernel(q, k, v, attn_mask, *, dropout_p, is_causal, scale, seed, spread):
    mask = _added(attn_mask)
    found = kernels.attention.attention(q, k, v, mask, is_causal, scale, dropout_p, seed, spread)
    return found if found is NotImplemented else (found[0], (mask, found[1]))


def _attention_vjp(g, wanted, q, k, v, attn_mask, dropout_p, is_causal, scale, seed, spread, residuals, out):
    if wanted[3]:
        return NotImplemented
    mask, stats = residuals
    return [*kernels.attention.attention_backward(g, q, k, v, out, stats, mask, is_causal, scale, dropout_p, seed,
                                                  spread), None]


def _added(mask):
    """The mask as numbers to add to the scores."""
    return mask if mask is None or mask.dtype is FLOAT32 else np.where(mask, np.float32(0), np.float32(-np.inf))


def _heads(x, num_heads, parts):
    """(..., T, parts * E) as views (..., num_heads, T, size), one for each part."""
    apart = x.reshape(*x.shape[:-1], parts, num_heads, x.shape[-1] // parts // num_heads)
    return [apart[..., i, :, :].swapaxes(-2, -3) for i in range(parts)]


def _self_attention_kernel(qkv, attn_mask, *, num_heads, dropout_p, is_causal, scale, seed, spread):
    found = _attention_kernel(*_heads(qkv, num_heads, 3), attn_mask, dropout_p=dropout_p, is_causal=is_causal,
                              scale=scale, seed=seed, spread=spread)
    if found is NotImplemented:
        return found
    return found[0].swapaxes(-2, -3).reshape(*qkv.shape[:-1], qkv.shape[-1] // 3), found[1]


def _self_attention_vjp(g, wanted, qkv, attn_mask, num_heads, dropout_p, is_causal, scale, seed, spread, residuals,
                        out):
    if wanted[1]:
        return NotImplemented
    (g,), (out,), (mask, stats) = _heads(g, num_heads, 1), _heads(out, num_heads, 1), residuals
    dqkv = np.empty_like(qkv, order="C")
    kernels.attention.attention_backward(g, *_heads(qkv, num_heads, 3), out, stats, mask, is_causal, scale, dropout_p,
                                         seed, spread, _heads(dqkv, num_heads, 3))
    return [dqkv, None]


def _lstm(x, h, c, weight, *, reverse):
    found = kernels.recurrent.lstm_steps(x, h, c, weight, reverse)
    return found if found is NotImplemented else (found[0], found[1:])


def _lstm_vjp(g, wanted, x, h, c, weight, reverse, residuals, out):
    dx, dweight, dh, dc = kernels.recurrent.lstm_steps_vjp(g, weight, h, c, out, *residuals, reverse)
    return [dx, dh, dc, dweight]


def _gru_vjp(g, wanted, x, h, weight, bias, reverse, gates, out):
    dx, dweight, dh, dbias = kernels.recurrent.gru_steps_vjp(g, weight, h, out, gates, reverse)
    return [dx, dh, dweight, None if bias is None else dbias]


accelerate(softmax_vjp, SMALL, alone("softmax", "softmax_vjp"))
accelerate(log_softmax_vjp, SMALL, alone("softmax", "log_softmax_vjp"))
accelerate(logsumexp_vjp, SMALL, alone("columns", "logsumexp_vjp"))
accelerate(cross_entropy, SMALL, _cross_entropy, _cross_entropy_vjp)
accelerate(nll_loss, SMALL, _nll, _nll_vjp)
accelerate(mse_loss, 1, *loss("mse_loss", lambda x, t: square(x - t), lambda g, x, t: 2 * g * (x - t), True))
accelerate(binary_cross_entropy_with_logits, 1, *loss(
    "binary_cross_entropy_with_logits", lambda x, t: (1 - t) * x + maximum(-x, 0) + log1p_unit(exp(-abs(x))),
    lambda g, x, t: g * (sigmoid(x) - t), False))
accelerate(_attention, 0, _attention_kernel, _attention_vjp, out=True)
accelerate(_self_attention, 0, _self_attention_kernel, _self_attention_vjp, out=True)
accelerate(lstm, 0, _lstm, _lstm_vjp, out=True)
accelerate(gru, 0, lambda x, h, weight, bias, *, reverse: kernels.recurrent.gru_steps(x, h, weight, bias, reverse),
           _gru_vjp, out=True)
