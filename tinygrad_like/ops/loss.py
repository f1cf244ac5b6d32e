"""Losses other than cross-entropy. Each compares `input` with `target` and reduces: "mean", "sum" or "none"."""

from __future__ import annotations

import math

import numpy as np

from ..core.listener import effect
from ..core.tensor import Tensor
from ..errors import checked
from .activation import logsigmoid, relu
from .axes import broadcasts
from .composite import composite
from .elementwise import abs, clip, exp, log, maximum, minimum, pow, sqrt, square, where
from .pointwise import pointwise
from .reduce import sum
from .softmax import (
    a_reduction,
    at_labels,
    of_64_bits,
    of_classes,
    of_floats,
    of_labels,
    reduced,
)


def alike(input, target, reduction):
    if input.shape != target.shape:
        return (f"input has shape {input.shape} but target {target.shape}; they must agree (broadcasting in a loss is "
                "nearly always a mistake: reshape one)")
    if reduction == "mean" and 0 in input.shape:
        return f"an input of shape {input.shape} is empty and has no mean"


@composite
def mse_loss(input, target, *, reduction="mean"):
    """The squared error (input - target)^2, for input and target of one shape; reduction "mean", "sum" or "none"."""
    return reduced(square(input - target), None, reduction)


mse_loss.requires(a_reduction, of_floats, alike)


@checked
def l1_loss(input, target, *, reduction="mean") -> Tensor:
    """The absolute error |input - target|, with gradient 0 where they are equal."""
    return reduced(abs(input - target), None, reduction)


@pointwise
def huber(d, *, delta=1.0):
    """d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2): both are c (|d| - c / 2), with c = min(|d|, delta)."""
    c = minimum(abs(d), delta)
    return c * (abs(d) - 0.5 * c)


huber.vjp(d=lambda g, d, delta: g * minimum(maximum(d, -delta), delta))


@checked
def huber_loss(input, target, reduction="mean", delta=1.0) -> Tensor:
    """`huber` of d = input - target: d^2 / 2 for |d| <= delta, else delta (|d| - delta / 2)."""
    return reduced(huber(input - target, delta=delta), None, reduction)


@huber_loss.requires
def _(delta):
    return None if delta > 0 else f"delta must be positive, got {delta}"


@checked
def smooth_l1_loss(input, target, *, reduction="mean", beta=1.0) -> Tensor:
    """d^2 / (2 beta) for |d| < beta, else |d| - beta / 2: the Huber loss divided by beta; the L1 loss for beta = 0."""
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    loss = reduced(huber(input - target, delta=beta), None, reduction)
    return loss if beta == 1 else loss * (1 / beta)


@smooth_l1_loss.requires
def _(beta):
    return None if beta >= 0 else f"beta must not be negative, got {beta}"


for loss in l1_loss, huber_loss, smooth_l1_loss:
    loss.requires(a_reduction, of_floats, alike)


@composite
def nll_loss(input, target, weight=None, *, ignore_index=-100, reduction="mean"):
    """-input[i, target[i]]: the negative log-likelihood of labels, given log-probabilities such as log_softmax's.

    input (batch, classes), (classes,) or (batch, classes, d1, ...); target: class indices, without the class axis.
    Weights, ignore_index and mean as in `cross_entropy`. Raises ValueError, TypeError or IndexError for bad arguments.
    """
    return reduced(*at_labels("nll_loss", input, target, weight, ignore_index), reduction)


nll_loss.requires(a_reduction, of_floats, of_classes, of_labels, of_64_bits)


@checked
def binary_cross_entropy(input, target, weight=None, *, reduction="mean") -> Tensor:
    """-(t log p + (1 - t) log(1 - p)) of probabilities p; logarithms are at least -100, as in PyTorch.

    The slope is PyTorch's too, (p - t) / max(p (1 - p), 1e-12): finite, but too small where p has rounded to 0 or 1.
    `binary_cross_entropy_with_logits` has no such limits.
    """
    effect("binary_cross_entropy", _check_probabilities, getattr(input, "_data", input), writes=())
    losses = _binary_cross_entropy(input, target)
    return reduced(losses if weight is None else losses * weight, None, reduction)


@binary_cross_entropy.requires
def _(input, weight):
    return _misfit("weight", weight, input)


def _misfit(name, factor, input):
    if factor is not None and not broadcasts(np.shape(factor), input.shape):
        return f"a {name} of shape {np.shape(factor)} does not broadcast to the input's, {input.shape}"


binary_cross_entropy.requires(a_reduction, of_floats, alike)


def _check_probabilities(p) -> None:
    if (p < 0).any() or (p > 1).any():
        raise ValueError("binary_cross_entropy: probabilities must lie in [0, 1]; for logits use "
                         "binary_cross_entropy_with_logits")


def _log_above(p):
    """log p, but -100 for p <= e^-100, which is denormal in float32."""
    none = p < 3.72e-44
    return where(none, -100.0, log(where(none, 1.0, p)))


def _log_rest(p):
    """log(1 - p), corrected for the rounding of 1 - p, so that a small p keeps its digits."""
    rest = 1 - p
    small = rest == 1
    return where(small, -p, _log_above(rest) * (p / where(small, 1.0, 1 - rest)))


@pointwise
def _binary_cross_entropy(p, t):
    """-(t log p + (1 - t) log(1 - p))."""
    return -(t * _log_above(p) + (1 - t) * _log_rest(p))


_binary_cross_entropy.vjp(p=lambda g, p, t: g * (p - t) / maximum(p * (1 - p), 1e-12),
                          t=lambda g, p: g * (_log_rest(p) - _log_above(p)))


@composite
def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, *, reduction="mean"):
    """-(w t log p + (1 - t) log(1 - p)) of logits x, with p = sigma(x), targets t in [0, 1] and w = pos_weight.

    input, target: of one shape. weight: a factor per element; weight and pos_weight broadcast to that shape. Computed
    as (1 - t) x + (1 + (w - 1) t) softplus(-x), it never overflows.
    """
    scale = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
    losses = (1 - target) * input - scale * logsigmoid(input)
    return reduced(losses if weight is None else losses * weight, None, reduction)


@binary_cross_entropy_with_logits.requires
def _(input, weight, pos_weight):
    if weight is pos_weight is None:
        return None
    if isinstance(pos_weight, bool):
        return a_reduction(pos_weight)  # its error names the replacement
    return _misfit("weight", weight, input) or _misfit("pos_weight", pos_weight, input)


binary_cross_entropy_with_logits.requires(a_reduction, of_floats, alike)


@checked
def kl_div(input, target, *, reduction="mean", log_target=False) -> Tensor:
    """t (log t - input), with input = log-probabilities and t = target (or e^target if log_target); 0 where t = 0, and
    NaN where t < 0.

    reduction: also "batchmean", the sum divided by the batch size, which is the mathematical divergence.
    """
    if log_target:
        losses = exp(target) * (target - input)
    else:
        losses = target * (log(where(target == 0, 1.0, target)) - input)
    if reduction == "batchmean":
        return sum(losses) * (1 / (input.shape[0] if input.ndim else 1))
    return reduced(losses, None, reduction)


@kl_div.requires
def _(input, target, reduction):
    reduction = "mean" if reduction == "batchmean" else reduction
    return a_reduction(reduction) or of_floats(input, target) or alike(input, target, reduction)


@checked
def margin_ranking_loss(input1, input2, target, margin=0.0, *, reduction="mean") -> Tensor:
    """max(0, -t (x1 - x2) + margin): t = 1 where x1 should be larger, -1 where x2 is."""
    return reduced(relu((input2 - input1) * target + margin), None, reduction)


@checked
def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, *,
                        reduction="mean") -> Tensor:
    """max(0, d(a, p) - d(a, n) + margin), with d(x, y) = |x - y + eps|_p over the last axis (Balntas et al. 2016).

    swap: use d(p, n) instead of d(a, n) where it is smaller.
    """
    def distance(x, y):
        d = abs(x - y + eps)
        return sqrt(sum(square(d), axis=-1)) if p == 2 else pow(sum(pow(d, p), axis=-1), 1 / p)

    other = distance(anchor, negative)
    if swap:
        other = -maximum(-other, -distance(positive, negative))
    return reduced(relu(distance(anchor, positive) - other + margin), None, reduction)


@checked
def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean") -> Tensor:
    """(log v + (input - target)^2 / v) / 2 with v = max(var, eps): the negative log-likelihood of a normal
    distribution.

    var: a number, or of the input's shape, in which the last axis may be missing or 1. full: add the constant log(2 pi)
    / 2. The gradient passes through the limit eps. Raises ValueError for other shapes and for a negative var.
    """
    if np.any(np.less(getattr(var, "_data", var), 0)):
        raise ValueError("gaussian_nll_loss: var must not be negative, got "
                         f"{np.min(getattr(var, '_data', var))}; pass its square or its softplus")
    if isinstance(var, int | float):
        var = eps if var < eps else var
        level = math.log(var)
    else:
        if var.shape != input.shape and var.shape == input.shape[:-1]:
            var = var[..., None]
        if var.ndim and var.shape not in (input.shape, (*input.shape[:-1], 1)):
            raise ValueError(f"gaussian_nll_loss: var of shape {var.shape} does not fit the input's, {input.shape}; it "
                             "must have the input's shape, in which the last axis may be missing or 1")
        var = var + (clip(var, min=eps) - var).detach()
        level = log(var)  # type: ignore[assignment]
    losses = 0.5 * (level + square(input - target) / var)
    return reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, None, reduction)


margin_ranking_loss.requires(a_reduction)
triplet_margin_loss.requires(a_reduction)
gaussian_nll_loss.requires(a_reduction)
