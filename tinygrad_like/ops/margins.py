"""Losses of distances and margins, and of distributions: PyTorch's others. `_reduce` is what loss.py says of it."""

from __future__ import annotations

import builtins
import math

import numpy as np

from .activation import logsigmoid, relu
from .along import gather
from .elementwise import abs, clip, exp, log, maximum, pow, sqrt, square, where
from .loss import _reduce
from .reduce import mean, sum
from .shape import reshape
from .softmax import check_input, check_labels, check_reduction
from .table import one_hot


def margin_ranking_loss(input1, input2, target, margin=0.0, *, reduction="mean"):
    """max(0, -t (x1 - x2) + margin): t = 1 where x1 is to be the larger, -1 where x2 is."""
    check_reduction("margin_ranking_loss", reduction)
    return _reduce(relu((input2 - input1) * target + margin), reduction)


def hinge_embedding_loss(input, target, margin=1.0, *, reduction="mean"):
    """Of distances x: x where t = 1, max(0, margin - x) where t = -1."""
    check_reduction("hinge_embedding_loss", reduction)
    return _reduce(where(target == -1, 0.0, input) + where(target == 1, 0.0, relu(margin - input)), reduction)


def soft_margin_loss(input, target, *, reduction="mean"):
    """log(1 + e^(-t x)) for t = 1 or -1."""
    check_reduction("soft_margin_loss", reduction)
    return _reduce(-logsigmoid(input * target), reduction)


def multilabel_soft_margin_loss(input, target, weight=None, *, reduction="mean"):
    """-(t log sigma(x) + (1 - t) log sigma(-x)), times `weight`, in the mean over the classes of the last axis."""
    check_reduction("multilabel_soft_margin_loss", reduction)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    return _reduce(mean(losses if weight is None else losses * weight, axis=-1), reduction)


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, *, reduction="mean"):
    """sum_j max(0, margin - x_t + x_j)^p / classes over the classes j other than t; p is 1 or 2.

    input (batch, classes) or (classes,), target: labels. weight: a factor of each class, that of t counts.
    """
    check_reduction("multi_margin_loss", reduction)
    if p not in (1, 2):
        raise ValueError(f"multi_margin_loss: p is 1 or 2, got {p}")
    check_input("multi_margin_loss", input, target)
    if input.ndim < 2:  # a single row
        row, label = reshape(input, shape=(1, -1)), reshape(target, shape=(1,))
        losses = multi_margin_loss(row, label, p, margin, weight, reduction="none")
        return _reduce(reshape(losses, shape=target.shape), reduction)
    check_labels("multi_margin_loss", input, target)
    classes = input.shape[-1]
    right = gather(input, target[..., None], axis=-1)
    losses = pow(relu(margin - right + input), p)
    if weight is not None:
        losses = losses * weight[target][..., None]
    others = one_hot(target, num_classes=classes) == 0
    return _reduce(sum(where(others, losses, 0.0), axis=-1) / classes, reduction)


def cosine_embedding_loss(input1, input2, target, margin=0.0, *, reduction="mean"):
    """1 - c where t = 1, max(0, c - margin) where t = -1, with c the cosine of the angle of two rows."""
    check_reduction("cosine_embedding_loss", reduction)
    lengths = (sum(square(input1), axis=-1) + 1e-12) * (sum(square(input2), axis=-1) + 1e-12)
    c = sum(input1 * input2, axis=-1) / sqrt(lengths)
    return _reduce(where(target == 1, 1 - c, relu(c - margin)), reduction)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, *, reduction="mean"):
    """max(0, d(a, p) - d(a, n) + margin), with d(x, y) = |x - y + eps|_p over the last axis (Balntas et al. 2016).

    swap: take d(p, n) instead of d(a, n) where it is smaller.
    """
    check_reduction("triplet_margin_loss", reduction)

    def distance(x, y):
        d = abs(x - y + eps)
        return sqrt(sum(square(d), axis=-1)) if p == 2 else pow(sum(pow(d, p), axis=-1), 1 / p)

    other = distance(anchor, negative)
    if swap:
        other = -maximum(-other, -distance(positive, negative))
    return _reduce(relu(distance(anchor, positive) - other + margin), reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """(log v + (input - target)^2 / v) / 2 with v = max(var, eps): the negative log-likelihood of normal numbers.

    var: a number, or of the shape of the input, or of that without its last axis, or with 1 there. full: with its
    constant, log(2 pi) / 2. The gradient reaches var also where eps was taken.
    Raises ValueError for other shapes and for a negative var.
    """
    check_reduction("gaussian_nll_loss", reduction)
    if np.any(np.less(getattr(var, "_data", var), 0)):
        raise ValueError("gaussian_nll_loss: var must not be negative, got "
                         f"{np.min(getattr(var, '_data', var))}; take its square, or its softplus")
    if isinstance(var, int | float):
        var = builtins.max(var, eps)
        level = math.log(var)
    else:
        if var.shape != input.shape and var.shape == input.shape[:-1]:
            var = var[..., None]
        if var.ndim and var.shape not in (input.shape, (*input.shape[:-1], 1)):
            raise ValueError(f"gaussian_nll_loss: var of shape {var.shape} does not fit the input's, {input.shape}; it "
                             "must have that, or that without its last axis, or with 1 there")
        var = var + (clip(var, min=eps) - var).detach()
        level = log(var)
    losses = 0.5 * (level + square(input - target) / var)
    return _reduce(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


def poisson_nll_loss(input, target, log_input=True, full=False, *, eps=1e-8, reduction="mean"):
    """e^x - t x, or x - t log(x + eps) with log_input=False: the negative log-likelihood of Poisson numbers.

    full: with Stirling's approximation of log t! where t > 1.
    """
    check_reduction("poisson_nll_loss", reduction)
    losses = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        t = where(target > 1, target, 1.0)
        losses = losses + where(target > 1, t * log(t) - t + 0.5 * log(2 * math.pi * t), 0.0)
    return _reduce(losses, reduction)


def multilabel_margin_loss(input, target, *, reduction="mean"):
    """sum over labels t of the example and classes j that are none of max(0, 1 - x_t + x_j), divided by the classes.

    input (batch, classes) or (classes,); target, of the same shape: the labels of an example, then -1.
    Raises ValueError for other shapes and labels out of range.
    """
    check_reduction("multilabel_margin_loss", reduction)
    check_input("multilabel_margin_loss", input, target)
    if target.dtype.kind not in "iu":
        raise TypeError(f"multilabel_margin_loss: labels are integers, got {target.dtype}; cast the target with "
                        ".long()")
    if input.shape == target.shape == ():
        input, target = reshape(input, shape=(1,)), reshape(target, shape=(1,))
    if input.shape != target.shape or input.ndim not in (1, 2):
        raise ValueError(f"multilabel_margin_loss: takes input and target (batch, classes) of one shape, got "
                         f"{input.shape} and {target.shape}")
    if input.ndim == 1:
        rows = multilabel_margin_loss(reshape(input, shape=(1, -1)), reshape(target, shape=(1, -1)), reduction="none")
        return _reduce(reshape(rows, shape=()), reduction)
    labels = target.numpy() if hasattr(target, "numpy") else np.asarray(target)
    counted = np.cumprod(labels != -1, axis=1).astype(bool)
    labels = np.where(counted, labels, 0)
    if labels.size and not 0 <= labels.min() <= labels.max() < input.shape[1]:
        bad = labels.min() if labels.min() < 0 else labels.max()
        raise ValueError(f"multilabel_margin_loss: label {bad} is out of range for {input.shape[1]} classes")
    own = np.zeros(labels.shape, bool)
    row, place = np.nonzero(counted)
    own[row, labels[row, place]] = True
    chosen = gather(input, labels, axis=1)
    gaps = relu(1 - reshape(chosen, shape=(*chosen.shape, 1)) + reshape(input, shape=(len(input), 1, -1)))
    losses = sum(where(counted[:, :, None] & ~own[:, None, :], gaps, 0.0), axis=(1, 2))
    return _reduce(losses / input.shape[1], reduction)
