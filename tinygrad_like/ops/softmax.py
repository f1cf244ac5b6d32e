"""Softmax and its logarithm, and the cross-entropy between logits and labels (003)."""

from __future__ import annotations

import math

import numpy as np

from ..core.graph import mode
from ..core.listener import pure
from ..core.primitive import Residuals, fresh, fused, primitive
from ..core.replaceable import replaceable
from ..core.tensor import wrap
from ..dtypes import FLOATS, get_default_dtype
from .axes import axes, one_axis
from .compare import eq, isfinite, logical_or
from .elementwise import exp, log, mul, sub, where
from .reduce import max, max_over, nonempty, sum, sum_over, with_axes, without_axes
from .shape import permute, reshape

# Softmax --------------------------------------------------------------------------------------------------------------


@primitive
@replaceable
def softmax(x, *, axis=-1):
    """p_i = e^(x_i) / sum_j e^(x_j) along `axis`."""
    axis = one_axis("softmax", axis, x.ndim, scalar=True)
    if not x.ndim:
        return softmax.forward(x.reshape(1))[0]
    e = np.exp(x - _top("softmax", x, axis))  # shifting x does not change p, and keeps every e^x in [0, 1]
    return e / sum_over(e, (axis,), True)


@primitive
@replaceable
def log_softmax(x, *, axis=-1):
    """log p_i = x_i - log sum_j e^(x_j) along `axis`, exact where softmax itself would round to 0."""
    axis = one_axis("log_softmax", axis, x.ndim, scalar=True)
    if not x.ndim:
        return log_softmax.forward(x.reshape(1))[0]
    x = x - _top("log_softmax", x, axis)
    return x - np.log(sum_over(np.exp(x), (axis,), True))


def _top(who, x, axis):
    if x.shape[axis] == 0:
        raise ValueError(f"{who}: axis {axis} of shape {x.shape} is empty, so there is nothing to normalise")
    top = x.max(axis, keepdims=True)
    return np.where(top > -np.inf, top, 0).astype(x.dtype)  # so an inf, or all -inf, gives NaN along the axis


@fused(reference=lambda g, p, axis=-1: p * (g - sum(g * p, axis=axis, keepdim=True)))
@replaceable
def softmax_vjp(g, p, *, axis=-1):
    """p (g - sum_j g_j p_j), with p = softmax(x), whose Jacobian diag(p) - p p^T is symmetric."""
    return p * (g - sum_over(g * p, axes("softmax", axis, p.ndim), True))


@fused(reference=lambda g, y, axis=-1: g - exp(y) * sum(g, axis=axis, keepdim=True))
@replaceable
def log_softmax_vjp(g, y, *, axis=-1):
    """g - e^y sum_j g_j, with y = log_softmax(x)."""
    return g - np.exp(y) * sum_over(g, axes("log_softmax", axis, y.ndim), True)


softmax.vjp(x=fresh(lambda g, out, axis: softmax_vjp(g, out, axis=axis)))
log_softmax.vjp(x=fresh(lambda g, out, axis: log_softmax_vjp(g, out, axis=axis)))


def logsumexp_reference(x, axis=None, keepdim=False):
    m = max(x, axis=axis, keepdim=True)
    m = m.detach() if hasattr(m, "detach") else m  # the result does not depend on m
    m = where(isfinite(m), m, 0.0)
    y = log(sum(exp(sub(x, m)), axis=axis, keepdim=True)) + m
    return y if keepdim else reshape(y, shape=without_axes(x.shape, axis))


@fused(reference=logsumexp_reference)
def logsumexp(x, *, axis=None, keepdim=False):
    """log sum_j e^(x_j) over `axis`, as m + log sum_j e^(x_j - m) with m = max_j x_j."""
    axis = nonempty("logsumexp", x, axis)
    y = logsumexp_over(x if x.dtype.kind == "f" else x.astype(get_default_dtype()), axis)
    return y if keepdim else y.reshape(without_axes(x.shape, axis))


@replaceable
def logsumexp_over(x, over):
    m = max_over(x, over, True)
    if not np.isfinite(m).all():  # inf - inf would be NaN
        m = np.where(np.isfinite(m), m, x.dtype.type(0))
    return np.log(sum_over(exp.forward(x - m), over, True)) + m


@logsumexp.joint_vjp
@fresh
def _(g, x, out, axis):
    kept = with_axes(x.shape, axis)
    return [logsumexp_vjp(x, out.reshape(kept), g.reshape(kept), axes("logsumexp", axis, x.ndim))]


@replaceable
def logsumexp_vjp(x, out, g, over):
    """g times the softmax of x, which is e^(x - out), but for the rounding of out."""
    p = exp.forward(x - out)
    p /= np.where(np.isposinf(out), x.dtype.type(1), sum_over(p, over, True))  # beside an infinity, none has a share
    p *= g
    return p


@logsumexp.joint_vjp_in_ops
def _(g, x, out, axis):
    kept = with_axes(x.shape, axis)
    out = reshape(out, shape=kept)
    p = exp(x - out)  # the softmax of x, but for the rounding of out
    total = where(eq(out, math.inf), 1.0, sum(p, axis=axis, keepdim=True))  # beside an infinity numbers have no share
    return [reshape(g, shape=kept) * (p / total)]


# Cross-entropy --------------------------------------------------------------------------------------------------------


def cross_entropy(input, target, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """The cross-entropy between logits and labels: L = -sum_c q_c log softmax(input)_c, with dL/dinput = p - q (003).

    input: logits (batch, classes), (classes,) or (batch, classes, d1, ...); not probabilities.
    target: class indices, of the shape without classes, or probabilities, of input's shape.
    weight: (classes,), a factor per class. ignore_index: an index whose rows count for nothing.
    reduction: "mean" (divided by the sum of the targets' weights, as in PyTorch), "sum" or "none".
    label_smoothing: eps; q = (1 - eps) q + eps / classes.

    Raises ValueError for shapes that do not fit, IndexError for a label out of range, TypeError for a wrong dtype.
    """
    who = "cross_entropy"
    check_reduction(who, reduction)
    if not 0 <= label_smoothing <= 1:
        raise ValueError(f"{who}: label_smoothing must lie in [0, 1], got {label_smoothing}")
    target = target if hasattr(target, "dtype") else np.asarray(target)
    check_input(who, input, target, "the logits")
    if input.ndim == 0:
        raise ValueError(f"{who}: the logits need an axis of classes, got a 0-d Tensor")
    axis = 0 if input.ndim == 1 else 1
    classes = input.shape[axis]
    if classes == 0:
        raise ValueError(f"{who}: logits of shape {input.shape} have no classes (axis {axis})")
    check_ignore_index(who, ignore_index)
    if target.dtype.kind not in FLOATS or target.shape == input.shape[:axis] + input.shape[axis + 1 :]:
        check_labels(who, input.shape, target)
    elif target.shape != input.shape:
        swapped = input.shape == target.shape[:1] + target.shape[2:]
        raise ValueError(f"{who}: probabilities of shape {target.shape} for logits of shape {input.shape}; they must "
                         f"agree{'. The logits come first' if swapped else ' (class indices are integers)'}")
    check_weight(who, weight, classes)
    if input.ndim == 1:
        input, target = reshape(input, shape=(1, classes)), reshape(target, shape=(1, *target.shape))
    out = _cross_entropy(input, target, weight, ignore_index=ignore_index, reduction=reduction,
                         label_smoothing=label_smoothing)
    return reshape(out, shape=()) if axis == 0 else out


def check_input(who, input, target, name="the input"):
    """Raise TypeError for an input of a loss that is not floating point."""
    if input.dtype.kind not in FLOATS:
        swapped = getattr(getattr(target, "dtype", None), "kind", "") in FLOATS
        raise TypeError(f"{who}: {name} must be floating point, got {input.dtype}; cast with .float()" + (
            f", or swap the two: the target, here {target.dtype}, comes second" if swapped else ""))


def check_labels(who, shape, target):
    """Raise TypeError or ValueError unless the target holds class indices of the shape without the axis of classes."""
    axis = 0 if len(shape) == 1 else 1
    wanted = tuple(shape[:axis] + shape[axis + 1 :])
    if target.dtype.kind not in "iu":
        cast = target.dtype.kind in (*FLOATS, "b")
        raise TypeError(f"{who}: labels are integers, got {target.dtype}" + "; cast the target with .long()" * cast)
    if tuple(target.shape) != wanted:
        count = math.prod(wanted) == math.prod(target.shape)
        raise ValueError(f"{who}: an input of shape {tuple(shape)} (classes on axis {axis}) takes labels of shape "
                         f"{wanted}, got {tuple(target.shape)}" + f"; reshape the target to {wanted}" * count)


@pure
def _soft_labels(target, classes, weight, ignore_index, label_smoothing, dtype):
    """The weighted, smoothed distribution q (rows, classes) of labels given as indices, and what a mean divides by."""
    valid = target != ignore_index
    wrong = valid & ((target < 0) | (target >= classes))
    if wrong.any():
        raise IndexError(f"cross_entropy: label {target[wrong][0]} is out of range for {classes} classes "
                         f"(0 to {classes - 1}); ignore_index is {ignore_index}")
    weight = np.ones(classes, dtype) if weight is None else weight.astype(dtype)
    rows, label = np.flatnonzero(valid), target[valid]
    q = np.zeros((len(target), classes), dtype)
    q[rows] = label_smoothing / classes * weight
    q[rows, label] += (1 - label_smoothing) * weight[label]
    return q, weight[label].sum()


def _cross_entropy_reference(input, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    input, target, shape = _in_rows(input, target)
    q, divisor = _distribution(input, target, weight, ignore_index, label_smoothing)
    log_p = log_softmax(input, axis=-1)
    # Where q is 0 the loss is 0, even if the logit is -inf, as for a masked class.
    losses = -sum(mul(q, where(logical_or(q != 0, isfinite(log_p)), log_p, 0.0)), axis=-1)
    out = reduced(losses, reduction, divisor, sum)
    return reshape(out, shape=shape) if reduction == "none" else out


def _in_rows(input, target, permute=permute, reshape=reshape):
    """Logits (rows, classes), what they are compared with, and the shape of the losses; with ops or their forwards."""
    n, classes, *others = input.shape
    if others:
        last = (0, *range(2, input.ndim), 1)
        input, target = [permute(x, axes=last) if len(x.shape) == len(last) else x for x in (input, target)]
        input = reshape(input, shape=(-1, classes))
        target = reshape(target, shape=input.shape if target.dtype.kind in FLOATS else (-1,))
    return input, target, (n, *others)


def _plain(x):
    return x if x is None or isinstance(x, np.ndarray) else x._data


def reduced(losses, reduction, divisor, sum):
    if reduction == "none":
        return losses
    if isinstance(divisor, np.ndarray) and hasattr(losses, "_data") and mode.listener is not None:
        if reduction == "sum":
            return sum(losses)
        scale, shift = _scale_and_shift(divisor, losses.dtype)
        return sum(losses) * wrap(scale) + wrap(shift)
    if reduction == "mean" and not divisor:
        return sum(losses) + float("nan")  # a mean over no label at all is NaN and its gradient 0, as in PyTorch
    return sum(losses) * (1.0 if reduction == "sum" else 1.0 / float(divisor))


@pure
def _scale_and_shift(divisor: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """What `reduced` multiplies with and adds."""
    scale = 1 / float(divisor) if divisor else 0.0
    return np.asarray(scale, dtype), np.asarray(0.0 if divisor else np.nan, dtype)


@fused(reference=_cross_entropy_reference)
@replaceable
def _cross_entropy(input, target, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    input, target, shape = _in_rows(input, target, permute.forward, reshape.forward)
    q, divisor = _distribution(input, target, weight, ignore_index, label_smoothing)
    losses = -sum_over(q * np.where(q != 0, log_softmax.forward(input), 0), (1,), False)
    return reduced(losses.reshape(shape), reduction, divisor, sum.forward), Residuals(stats=None, totals=None)


@_cross_entropy.joint_vjp
@fresh
def _(g, input, target, weight, stats, totals, ignore_index, reduction, label_smoothing, wanted):
    if wanted[1]:
        return NotImplemented  # rare enough for the reference
    return [cross_entropy_vjp(input, g, target, weight, stats, totals, ignore_index, reduction, label_smoothing),
            None, None]


@replaceable
def cross_entropy_vjp(input, g, target, weight, stats, totals, ignore_index, reduction, label_smoothing):
    input, target, (n, *others) = _in_rows(input, target, permute.forward, reshape.forward)
    q, divisor = _distribution(input, target, weight, ignore_index, label_smoothing)
    if reduction == "mean":
        g = g / input.dtype.type(divisor or 1)
    dx = np.reshape(g, (-1, 1)) * (softmax.forward(input) * sum_over(q, (1,), True) - q)  # p - q, if q sums to 1
    return np.moveaxis(dx.reshape(n, *others, input.shape[1]), -1, 1)


def _distribution(input, target, weight, ignore_index, label_smoothing):
    """What log_softmax is weighed with, (rows, classes), and what a mean divides by; on arrays or on Tensors."""
    n, classes = input.shape
    if target.dtype.kind not in FLOATS:
        q, divisor = _soft_labels(_plain(target), classes, _plain(weight), ignore_index, label_smoothing, input.dtype)
        return wrap(q) if hasattr(input, "_data") else q, divisor
    q = target * (1 - label_smoothing) + label_smoothing / classes
    return (q if weight is None else q * weight), n


def check_weight(who: str, weight, classes: int) -> None:
    if weight is not None and np.shape(weight) != (classes,):
        raise ValueError(f"{who}: weight has shape {np.shape(weight)} but there are {classes} classes; "
                         f"it needs ({classes},)")
    if getattr(weight, "requires_grad", False):
        raise ValueError(f"{who}: the class weights are taken as constants; pass weight.detach()")


def check_ignore_index(who: str, ignore_index: int) -> None:
    if type(ignore_index) is not int and not isinstance(ignore_index, np.integer | int) or not (
            -(1 << 63) <= ignore_index < 1 << 63):
        raise ValueError(f"{who}: ignore_index must be an integer of 64 bits, got {ignore_index!r}")


def check_reduction(who: str, reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        if reduction is None or isinstance(reduction, bool):
            raise TypeError(f'{who}: size_average and reduce are given by name, or, as PyTorch writes it by now, as '
                            f'reduction="sum" or "none", got {reduction!r}')
        raise ValueError(f'{who}: reduction must be "mean", "sum" or "none", got {reduction!r}')
