"""Softmax and its logarithm, and the cross-entropy between logits and labels (003)."""

from __future__ import annotations

import math

import numpy as np

from ..core.primitive import fresh, primitive
from ..dtypes import FLOATS, get_default_dtype
from ..errors import refusal
from ..rings import replaceable
from .along import gather
from .axes import axes, one_axis
from .compare import cast, isfinite, logical_or, ne
from .composite import composite
from .elementwise import exp, where
from .reduce import max_over, mean, not_empty, sum, sum_over, with_axes, without_axes
from .shape import reshape

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
    """log p_i = x_i - log sum_j e^(x_j) along `axis`, accurate even where softmax rounds to 0."""
    axis = one_axis("log_softmax", axis, x.ndim, scalar=True)
    if not x.ndim:
        return log_softmax.forward(x.reshape(1))[0]
    x = x - _top("log_softmax", x, axis)
    return x - np.log(sum_over(np.exp(x), (axis,), True))


def _top(who, x, axis):
    if x.shape[axis] == 0:
        raise ValueError(f"{who}: axis {axis} of shape {x.shape} is empty, so there is nothing to normalise")
    top = x.max(axis, keepdims=True)
    return np.where(top > -np.inf, top, 0).astype(x.dtype)  # so that inf, or -inf everywhere, yields NaN along the axis


@composite
def softmax_vjp(g, p, *, axis=-1):
    """p (g - sum_j g_j p_j), with p = softmax(x), whose Jacobian diag(p) - p p^T is symmetric."""
    return p * (g - sum(g * p, axis=axis, keepdim=True))


@composite
def log_softmax_vjp(g, y, *, axis=-1):
    """g - e^y sum_j g_j, with y = log_softmax(x)."""
    return g - exp(y) * sum(g, axis=axis, keepdim=True)


softmax.vjp(x=fresh(lambda g, out, axis: softmax_vjp(g, out, axis=axis)))
log_softmax.vjp(x=fresh(lambda g, out, axis: log_softmax_vjp(g, out, axis=axis)))


@primitive
def logsumexp(x, *, axis=None, keepdim=False):
    """log sum_j e^(x_j) over `axis`, as m + log sum_j e^(x_j - m) with m = max_j x_j."""
    y = logsumexp_over(x if x.dtype.kind == "f" else x.astype(get_default_dtype()), axes("logsumexp", axis, x.ndim))
    return y if keepdim else y.reshape(without_axes(x.shape, axis))


logsumexp.requires(not_empty("logsumexp"))


@replaceable
def logsumexp_over(x, over):
    m = max_over(x, over, True)
    if not np.isfinite(m).all():  # inf - inf would be NaN
        m = np.where(np.isfinite(m), m, x.dtype.type(0))
    return np.log(sum_over(exp.forward(x - m), over, True)) + m


@composite
def logsumexp_vjp(x, y, g, *, over):
    """g times the softmax of x: e^(x - y) with y = logsumexp(x), divided by its sum to undo the rounding of y."""
    p = exp(x - y)
    total = where(y == math.inf, 1.0, sum(p, axis=over, keepdim=True))  # next to an infinity, all shares are 0
    return g * (p / total)


@fresh
def _to_terms(g, x, out, axis):
    kept = with_axes(x.shape, axis)
    return logsumexp_vjp(x, reshape(out, shape=kept), reshape(g, shape=kept), over=axes("logsumexp", axis, x.ndim))


logsumexp.vjp(x=_to_terms)


# Cross-entropy --------------------------------------------------------------------------------------------------------


@composite
def cross_entropy(input, target, weight=None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """The cross-entropy between logits and labels: L = -sum_c q_c log softmax(input)_c, with dL/dinput = p - q (003).

    input: logits (batch, classes), (classes,) or (batch, classes, d1, ...); not probabilities.
    target: class indices, of input's shape without the class axis, or probabilities, of input's shape.
    weight: (classes,), a factor per class. ignore_index: the loss ignores rows with this label.
    reduction: "mean" (divided by the sum of the targets' weights, as in PyTorch), "sum" or "none".
    label_smoothing: eps; q = (1 - eps) q + eps / classes.

    Raises ValueError for shapes that do not fit, IndexError for a label out of range, TypeError for a wrong dtype.
    """
    axis = axis_of_classes(input)
    log_p, even = log_softmax(input, axis=axis), label_smoothing / input.shape[axis]
    if target.dtype.kind in FLOATS:
        losses = _against(target * (1 - label_smoothing) + even, log_p, weight, axis)
        return reduced(losses, None, reduction)
    losses, weights = at_labels("cross_entropy", log_p, target, weight, ignore_index)
    if label_smoothing:
        counted = ne(target, ignore_index)
        losses = (1 - label_smoothing) * losses + where(counted, _against(even, log_p, weight, axis), 0.0)
    return reduced(losses, weights, reduction)


def _against(q, log_p, weight, axis):
    """-sum_c w_c q_c log p_c, in which terms with w_c q_c = 0 are 0 even if the logit is -inf, as for a masked
    class."""
    if weight is not None:
        q = q * reshape(cast(weight, dtype=log_p.dtype), shape=(-1, *[1] * (log_p.ndim - 1 - axis)))
    return -sum(q * where(logical_or(ne(q, 0), isfinite(log_p)), log_p, 0.0), axis=axis)


def axis_of_classes(x):
    return 0 if x.ndim == 1 else 1


def at_labels(who, log_p, target, weight, ignore_index):
    """(-w log_p at the labels, w): w is the label's weight, 1 without weights, and 0 for ignored labels."""
    axis = axis_of_classes(log_p)
    label = labels(target, classes=log_p.shape[axis], ignore_index=ignore_index, who=who)
    w = cast(ne(target, ignore_index), dtype=log_p.dtype)
    if weight is not None:
        w = w * reshape(gather(cast(weight, dtype=log_p.dtype), reshape(label, shape=(-1,)), axis=0), shape=w.shape)
    kept = with_axes(log_p.shape, axis)
    picked = reshape(gather(log_p, reshape(label, shape=kept), axis=axis), shape=w.shape)
    return -(where(ne(w, 0), picked, 0.0) * w), w  # an ignored row adds 0, even if it holds -inf


@primitive
def labels(target, *, classes, ignore_index, who):
    """The labels, with 0 in place of ignored ones. Raises IndexError, in the name of `who`, for a label that is not a
    class."""
    wrong = (target != ignore_index) & ((target < 0) | (target >= classes))
    if wrong.any():
        raise IndexError(f"{who}: label {target[wrong][0]} is out of range for {classes} classes (0 to "
                         f"{classes - 1}); ignore_index is {ignore_index}")
    return np.where(target == ignore_index, 0, target)


def reduced(losses, weights, reduction):
    """The losses, their sum, or their sum divided by the sum of the weights, which default to 1."""
    if reduction == "none":
        return losses
    if reduction == "sum" or weights is None:
        return sum(losses) if reduction == "sum" else mean(losses)
    n = sum(weights)
    return where(n == 0, math.nan, sum(losses) / where(n == 0, 1.0, n))  # the mean over no labels is NaN, as in PyTorch


# Contracts of the losses, see `Primitive.requires` --------------------------------------------------------


def a_reduction(reduction):
    if reduction in ("mean", "sum", "none"):
        return None
    if reduction is None or isinstance(reduction, bool):
        return TypeError("size_average and reduce must be passed by name, or replaced, as in PyTorch today, by "
                         f'reduction="sum" or "none", got {reduction!r}')
    return f'reduction must be "mean", "sum" or "none", got {reduction!r}'


def of_floats(input, target):
    if not hasattr(target, "shape"):
        return TypeError(f"the target must be a Tensor or an array, got {type(target).__name__}")
    if input.dtype.kind in FLOATS:
        return None
    swapped = getattr(getattr(target, "dtype", None), "kind", "") in FLOATS
    return TypeError(f"the input must be floating point, got {input.dtype}; cast with .float()" + (
        f", or swap the two: the target, here {target.dtype}, comes second" if swapped else ""))


def of_labels(input, target):
    """Class indices have the input's shape without the class axis."""
    axis = axis_of_classes(input)
    wanted = (*input.shape[:axis], *input.shape[axis + 1 :])
    if target.dtype.kind not in "iu":
        cast = target.dtype.kind in (*FLOATS, "b")
        return TypeError(f"labels must be integers, got {target.dtype}" + "; cast the target with .long()" * cast)
    if target.shape == wanted:
        return None
    remedy = (f"; reshape the target to {wanted}" if math.prod(wanted) == math.prod(target.shape) else
              f"; turn one-hot labels into indices with .argmax({axis})" if target.shape == input.shape else "")
    return (f"an input of shape {input.shape} (classes on axis {axis}) needs labels of shape {wanted}, got "
            f"{target.shape}{remedy}")


def of_classes(input, weight):
    if input.ndim == 0:
        return "the input needs a class axis, got a 0-d Tensor"
    classes = input.shape[axis_of_classes(input)]
    if weight is not None and np.shape(weight) != (classes,):
        return f"weight has shape {np.shape(weight)} but there are {classes} classes; it needs ({classes},)"


def of_64_bits(ignore_index):
    if not isinstance(ignore_index, np.integer | int) or not -(1 << 63) <= ignore_index < 1 << 63:
        return f"ignore_index must be a 64-bit integer, got {ignore_index!r}"


cross_entropy.requires(a_reduction, of_floats, of_classes, of_64_bits)


@cross_entropy.requires
def _(input, target, label_smoothing):
    if not 0 <= label_smoothing <= 1:
        return f"label_smoothing must lie in [0, 1], got {label_smoothing}"
    axis = axis_of_classes(input)
    if 0 in input.shape[axis : axis + 1]:
        return f"logits of shape {input.shape} have no classes (axis {axis})"
    if target.dtype.kind not in FLOATS or target.shape == input.shape[:axis] + input.shape[axis + 1 :]:
        return of_labels(input, target)
    if target.shape != input.shape:
        swapped = input.shape == target.shape[:1] + target.shape[2:]
        return (f"probabilities of shape {target.shape} for logits of shape {input.shape}; they must agree"
                f"{'. The logits come first' if swapped else ' (class indices are integers)'}")


def check_reduction(who: str, reduction) -> None:
    if (why := a_reduction(reduction)) is not None:
        raise refusal(who, why)
