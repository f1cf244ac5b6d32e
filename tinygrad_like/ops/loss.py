"""Losses other than cross-entropy. Each compares `input` with `target` and reduces: "mean", "sum" or "none"."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..core.listener import effect, pure
from ..core.primitive import Residuals, fresh, fused
from ..core.replaceable import replaceable
from .activation import log1p_unit, logsigmoid, sigmoid
from .elementwise import abs, exp, log, maximum, minimum, mul, neg, square, where
from .index import gather
from .on_arrays import on_arrays
from .pointwise import pointwise
from .reduce import mean, sum
from .shape import permute, reshape
from .softmax import (
    _plain,
    check_ignore_index,
    check_input,
    check_labels,
    check_reduction,
    check_weight,
    reduced,
)


def _reduce(losses, reduction):
    return mean(losses) if reduction == "mean" else sum(losses) if reduction == "sum" else losses


def _check(who, input, target, reduction):
    check_reduction(who, reduction)
    check_input(who, input, target)
    if not hasattr(target, "shape"):
        raise TypeError(f"{who}: the target must be a Tensor or an array of shape {input.shape}, "
                        f"got {type(target).__name__}")
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"{who}: input has shape {tuple(input.shape)} but target {tuple(target.shape)}; "
                         "they must agree (broadcasting a loss is nearly always a mistake: reshape one)")
    if reduction == "mean" and 0 in input.shape:
        raise ValueError(f"{who}: an input of shape {tuple(input.shape)} is empty, and nothing has no mean")


def _compiled(name, formula, slope):
    """The loss made of a formula of input and target, and g times its slope, reduced or not."""

    losses, slopes = on_arrays(formula), on_arrays(slope)

    @partial(replaceable, name=name, formula=formula)
    def loss(input, target, reduction):
        return _reduce(losses(input, target), reduction)

    @partial(replaceable, name=f"{name}_vjp", formula=slope)
    def vjp(input, target, g, reduction):
        return slopes(g / input.size if reduction == "mean" else g, input, target)

    return loss, vjp


def mse_loss_reference(input, target, reduction="mean"):
    """The squared error (input - target)^2."""
    return _reduce(square(input - target), reduction)


_mse, _mse_vjp = _compiled("mse_loss", lambda input, target: square(input - target),
                           lambda g, input, target: 2 * g * (input - target))


@fused(reference=mse_loss_reference)
def mse_loss(input, target, *, reduction="mean"):
    """The squared error (input - target)^2. Both of one shape; reduction "mean", "sum" or "none"."""
    _check("mse_loss", input, target, reduction)
    return _mse(input, target, reduction)


@mse_loss.joint_vjp
@fresh
def _(g, input, target, reduction, wanted):
    d = _mse_vjp(input, target, g, reduction)
    return [d, -d if wanted[1] else None]


def l1_loss(input, target, *, reduction="mean"):
    """The absolute error |input - target|; its gradient is 0 where they agree."""
    _check("l1_loss", input, target, reduction)
    return _reduce(abs(input - target), reduction)


@pointwise
def huber(d, *, delta=1.0):
    """d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2): both are c (|d| - c / 2), with c = min(|d|, delta)."""
    c = minimum(abs(d), delta)
    return c * (abs(d) - 0.5 * c)


huber.vjp(d=lambda g, d, delta: g * minimum(maximum(d, -delta), delta))


def huber_loss(input, target, reduction="mean", delta=1.0):
    """`huber` of d = input - target: d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2)."""
    _check("huber_loss", input, target, reduction)
    if not delta > 0:
        raise ValueError(f"huber_loss: delta must be positive, got {delta}")
    return _reduce(huber(input - target, delta=delta), reduction)


def smooth_l1_loss(input, target, *, reduction="mean", beta=1.0):
    """d^2 / (2 beta) for |d| < beta, else |d| - beta / 2: the Huber loss divided by beta; the L1 loss for beta = 0."""
    _check("smooth_l1_loss", input, target, reduction)
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    if not beta > 0:
        raise ValueError(f"smooth_l1_loss: beta must not be negative, got {beta}")
    loss = _reduce(huber(input - target, delta=beta), reduction)
    return loss if beta == 1 else loss * (1 / beta)


def nll_loss(input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    """-input[i, target[i]]: the negative log-likelihood of labels, given log-probabilities (as log_softmax makes them).

    input (batch, classes), (classes,) or (batch, classes, d1, ...); target: indices without the axis of classes.
    Weights, ignore_index and mean as in `cross_entropy`. Raises ValueError, TypeError or IndexError for what does not
    fit.
    """
    check_reduction("nll_loss", reduction)
    target = target if hasattr(target, "dtype") else np.asarray(target)
    check_input("nll_loss", input, target, "the log-probabilities")
    if input.ndim == 0:
        raise ValueError("nll_loss: the log-probabilities need an axis of classes, got a 0-d Tensor")
    check_labels("nll_loss", input.shape, target)
    axis = 0 if input.ndim == 1 else 1
    classes = input.shape[axis]
    check_weight("nll_loss", weight, classes)
    check_ignore_index("nll_loss", ignore_index)
    if axis == 0:
        input, target = reshape(input, shape=(1, classes)), reshape(target, shape=(1,))
    out = _nll_loss(input, target, weight, ignore_index=ignore_index, reduction=reduction)
    return reshape(out, shape=()) if axis == 0 else out


def _nll_reference(input, target, weight=None, ignore_index=-100, reduction="mean"):
    labels, w, counts, divisor = _labels(_plain(target), _plain(weight), input.shape[1], ignore_index, input.dtype)
    last = permute(input, axes=(0, *range(2, input.ndim), 1))
    picked = reshape(gather(last, labels[..., None], axis=-1), shape=labels.shape)
    losses = neg(mul(where(counts, picked, 0.0), w))  # an ignored row counts for nothing, also if it holds -inf
    return reduced(losses, reduction, divisor, sum)


@fused(reference=_nll_reference)
def _nll_loss(input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    loss, totals = nll(input, target, weight, ignore_index, reduction)
    return loss, Residuals(totals=totals)


@_nll_loss.joint_vjp
@fresh
def _(g, input_shape, target, weight, totals, ignore_index, reduction):
    if totals is None:
        return NotImplemented
    return [nll_vjp(g, target, weight, totals, input_shape, ignore_index, reduction), None, None]


@replaceable
def nll(input, target, weight, ignore_index, reduction):
    """The loss, and what `nll_vjp` needs; here None, as the reference is differentiated."""
    labels, w, counts, divisor = _labels(target, weight, input.shape[1], ignore_index, input.dtype)
    picked = np.take_along_axis(input, labels[:, None], 1)[:, 0]
    return reduced(-(np.where(counts, picked, 0) * w), reduction, divisor, sum.forward), None


@replaceable
def nll_vjp(g, target, weight, totals, input_shape, ignore_index, reduction):
    """The gradient of the input, if `nll` gave totals."""
    return NotImplemented


@pure
def _labels(labels, weight, classes, ignore_index, dtype) -> tuple:
    """Labels that can be gathered, 0 for those to ignore; how much each counts, whether it does, and all together."""
    valid = labels != ignore_index
    if ((labels < 0) | (labels >= classes))[valid].any():
        bad = labels[valid & ((labels < 0) | (labels >= classes))][0]
        raise IndexError(f"nll_loss: label {bad} is out of range for {classes} classes (0 to {classes - 1}); "
                         f"ignore_index is {ignore_index}")
    labels = np.where(valid, labels, 0)
    w = valid.astype(dtype) if weight is None else valid * np.asarray(weight, dtype)[labels]
    return labels, w, w != 0, w.sum(dtype=dtype)


def binary_cross_entropy(input, target, weight=None, *, reduction="mean"):
    """-(t log p + (1 - t) log(1 - p)) of probabilities p; logarithms are kept above -100, as in PyTorch.

    As there, the slope is (p - t) / max(p (1 - p), 1e-12): finite where p has vanished or become 1, and then too small.
    `binary_cross_entropy_with_logits` has no such limits.
    """
    _check("binary_cross_entropy", input, target, reduction)
    effect("binary_cross_entropy", _check_probabilities, getattr(input, "_data", input), writes=())
    losses = _binary_cross_entropy(input, target)
    weighted = losses if weight is None else losses * weight
    if weighted.shape != losses.shape:
        raise ValueError(f"binary_cross_entropy: a weight of shape {weight.shape} does not broadcast to the input's, "
                         f"{input.shape}")
    return _reduce(weighted, reduction)


def _check_probabilities(p) -> None:
    if (p < 0).any() or (p > 1).any():
        raise ValueError("binary_cross_entropy: probabilities must lie in [0, 1]; for logits use "
                         "binary_cross_entropy_with_logits")


def _log_above(p):
    """log p, and -100 from e^-100 down, in float32 a denormal number."""
    none = p < 3.72e-44
    return where(none, -100.0, log(where(none, 1.0, p)))


def _log_rest(p):
    """log(1 - p): times what is missing of p in 1 - (1 - p), which keeps the digits of a small p."""
    rest = 1 - p
    small = rest == 1
    return where(small, -p, _log_above(rest) * (p / where(small, 1.0, 1 - rest)))


@pointwise
def _binary_cross_entropy(p, t):
    """-(t log p + (1 - t) log(1 - p))."""
    return -(t * _log_above(p) + (1 - t) * _log_rest(p))


_binary_cross_entropy.vjp(p=lambda g, p, t: g * (p - t) / maximum(p * (1 - p), 1e-12),
                          t=lambda g, p: g * (_log_rest(p) - _log_above(p)))


def binary_cross_entropy_with_logits_reference(input, target, weight=None, pos_weight=None, reduction="mean"):
    """(1 - t) x + (1 + (w - 1) t) softplus(-x), which never overflows.

    That is -(w t log p + (1 - t) log(1 - p)) with p = sigma(x).
    """
    scale = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
    losses = (1 - target) * input + scale * neg(logsigmoid(input))
    return _reduce(losses if weight is None else losses * weight, reduction)


_bce, _bce_vjp = _compiled(
    "binary_cross_entropy_with_logits",
    lambda x, t: (1 - t) * x + maximum(-x, 0) + log1p_unit(exp(-abs(x))),
    lambda g, x, t: g * (sigmoid(x) - t))


@fused(reference=binary_cross_entropy_with_logits_reference)
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, *, reduction="mean"):
    """-(w t log p + (1 - t) log(1 - p)) of logits x, with p = sigma(x), targets t in [0, 1] and w = pos_weight.

    input, target: of one shape. weight: a factor per element; weight and pos_weight broadcast to that shape.
    """
    _check("binary_cross_entropy_with_logits", input, target, reduction)
    if isinstance(pos_weight, bool):
        check_reduction("binary_cross_entropy_with_logits", pos_weight)  # which tells what to write instead
    if weight is None is pos_weight:
        return _bce(input, target, reduction)
    losses = binary_cross_entropy_with_logits_reference(input, target, weight, pos_weight, "none")
    if losses.shape != input.shape:
        raise ValueError("operands could not be broadcast")  # the caller says which
    return _reduce(losses, reduction)


@binary_cross_entropy_with_logits.joint_vjp
@fresh
def _(g, input, target, weight, pos_weight, reduction, wanted):
    if any(wanted[1:]):
        return NotImplemented  # rare enough for the reference
    if weight is None is pos_weight:
        return [_bce_vjp(input, target, g, reduction), None, None, None]
    w, g = 1 if pos_weight is None else pos_weight, g / input.size if reduction == "mean" else g
    return [g * (1 if weight is None else weight) * ((1 + (w - 1) * target) * sigmoid(input) - w * target),
            None, None, None]


def kl_div(input, target, *, reduction="mean", log_target=False):
    """t (log t - input), with input = log-probabilities and t = target (or e^target if log_target); 0 where t = 0, and
    NaN where t < 0.

    reduction: also "batchmean", the sum divided by the batch size, which is the mathematical divergence.
    """
    _check("kl_div", input, target, "mean" if reduction == "batchmean" else reduction)
    if log_target:
        losses = exp(target) * (target - input)
    else:
        losses = target * (log(where(target == 0, 1.0, target)) - input)
    if reduction == "batchmean":
        return sum(losses) * (1 / (input.shape[0] if input.ndim else 1))
    return _reduce(losses, reduction)
